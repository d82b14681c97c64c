"""How a number is written for people and coloured, the same in terminal, reports and notebooks.

A true minus sign, ∞ as itself, NaN as NaN. Colours are those of the page: blue below zero, orange
above. Counts are written with `:,`, shares with `:.1%`, losses and probabilities in a column with
a fixed number of decimals; everything else that was measured goes through `short`.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def short(value: float, digits: int = 4) -> str:
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
    """A number with so many decimals, as a column of a table wants it; a smaller one by `short`."""
    if not math.isfinite(value):
        return _endless(value)
    if float(value).is_integer() and abs(value) < 1e9:
        digits = 0
    elif abs(value) < 10**-digits:
        return short(value, 2)
    return f"{value:.{digits}f}".replace("-", "−")


def figures(metrics: Mapping[str, float], between: str = "  ") -> str:
    """Scores in one line: `loss 1.234  bleu 39.1`."""
    return between.join(f"{name} {short(value)}" for name, value in metrics.items())


def size(count: int) -> str:
    """A number of bytes: 1536 → 1.5 KB, in steps of 1024."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if amount < 1024:
            return (
                f"{amount:.0f} {unit}"
                if amount >= 100 or unit == "bytes"
                else f"{amount:.1f} {unit}"
            )
        amount /= 1024
    return f"{amount:.1f} TB"


def duration(seconds: float) -> str:
    """A time: 7 s, 1 min 15 s, 1 h 07 min."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02} min"


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
