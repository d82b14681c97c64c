"""How a number is written and coloured in text, the same everywhere.

A true minus sign, ∞ as itself, NaN as NaN. Colours are those of the page: blue below zero, orange
above.
"""

import math
from dataclasses import fields, is_dataclass
from typing import Any


def show(value: float, digits: int = 4) -> str:
    """A number with so many significant digits: 0.1235, −2, 1.5e−7."""
    if not math.isfinite(value):
        return _endless(value)
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value)}".replace("-", "−")
    text = f"{value:.{digits}g}".replace("-", "−")
    if "e" not in text:
        return text
    mantissa, _, power = text.partition("e")
    sign = "−" if power.startswith("−") else ""
    return f"{mantissa}e{sign}{power.lstrip('+−').lstrip('0') or '0'}"


def fixed(value: float, digits: int) -> str:
    """A number with so many decimals, as a column of a table wants it; a smaller one by `show`."""
    if not math.isfinite(value):
        return _endless(value)
    if float(value).is_integer() and abs(value) < 1e9:
        digits = 0
    elif abs(value) < 10**-digits:
        return show(value, 2)
    return f"{value:.{digits}f}".replace("-", "−")


def root(value: float) -> int | None:
    """n where the value is √n of a whole n and not whole itself: √68 reads better than 8.246."""
    square = value * value
    if value <= 1 or float(value).is_integer() or abs(square - round(square)) >= 1e-12 * square:
        return None
    return round(square)


def colour(value: float, top: float) -> str:
    """A terminal's colour for a value: paler towards zero, red where it is no number."""
    if not math.isfinite(value):
        return "bold red"
    share = min(abs(value) / top, 1.0) if top else 0.0
    fade = int(235 - 120 * share)
    if value > 0:
        return f"rgb(255,{fade},{max(fade - 90, 0)})"
    return f"rgb({fade - 60},{fade},255)" if value < 0 else "default"


def plain(value: Any) -> Any:
    """A value for JSON: dataclasses as objects, NaN and infinities as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value]


def _endless(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
