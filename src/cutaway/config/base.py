"""The base of all settings: frozen dataclasses, checked types, TOML in, JSON out."""

import dataclasses
import difflib
import re
import tomllib
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from cutaway.errors import ConfigError


def setting(default: Any, help: str) -> Any:
    """A field with a default and its description: what `--help` and `--dump-config` print."""
    if isinstance(default, dict):
        return dataclasses.field(default_factory=lambda: dict(default), metadata={"help": help})
    return dataclasses.field(default=default, metadata={"help": help})


def help_of(settings: "type[Config]", name: str) -> str:
    """The description of one setting."""
    fields = {field.name: field for field in dataclasses.fields(settings)}
    return str(fields[name].metadata["help"])


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value outside its list."""
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        words = [choice for choice in allowed if isinstance(choice, str)]
        advice = _meant(value, words) or f"set {name} to one of these"
        raise ConfigError(f"{name} is {value!r}; expected one of {choices}: {advice}")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a number below its least value."""
    if isinstance(value, bool) or not value >= least:
        raise ConfigError(f"{name} is {value!r}; expected at least {least}: give a larger number")


def fraction(name: str, value: float) -> None:
    """Refuse a number outside [0, 1)."""
    if isinstance(value, bool) or not 0 <= value < 1:
        raise ConfigError(f"{name} is {value!r}; expected 0 ≤ {name} < 1: set {name} in that range")


LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}")  # the shape of BCP 47


def language_code(name: str, value: object) -> None:
    """Refuse what is no language code: it may become part of a file name."""
    if not isinstance(value, str) or not LANGUAGE.fullmatch(value):
        raise ConfigError(
            f"{name} is {str(value)[:40]!r}; expected the code of a language, such as en or zh-Hans"
        )


def _meant(given: object, words: Iterable[str]) -> str:
    """The word that was probably meant, as advice; empty if none is near."""
    near = difflib.get_close_matches(str(given), list(words), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


def _fits(value: object, annotation: Any) -> bool:
    """Whether a value read from TOML or JSON is of a field's declared type."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, option) for option in typing.get_args(annotation))
    if origin is Literal:
        return value in typing.get_args(annotation)
    if origin is tuple:
        return isinstance(value, (list, tuple))
    if origin is dict:
        return isinstance(value, dict)
    if annotation is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation is type(None):
        return value is None
    return isinstance(value, annotation)


def _named(annotation: Any) -> str:
    """The name of a type in a message."""
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in typing.get_args(annotation))
    name = getattr(annotation, "__name__", "")
    return name if name not in ("", "Union") else str(annotation).replace("typing.", "")


def _check_type(name: str, value: object, annotation: Any, place: str = "") -> None:
    """Refuse a value that is not of its field's declared type."""
    if typing.get_origin(annotation) is Literal:
        one_of(name + place, value, typing.get_args(annotation))
    elif not _fits(value, annotation):
        raise ConfigError(
            f"{name}{place} is {value!r} ({type(value).__name__}); "
            f"expected {_named(annotation)}: give a value of that type"
        )


@dataclass(frozen=True, kw_only=True)
class Config:
    """Base of the frozen settings: from a dict or TOML table and back, nothing unknown accepted."""

    def __post_init__(self) -> None:
        """Refuse values of a wrong type, however the settings were made."""
        hints = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            _check_type(field.name, getattr(self, field.name), hints[field.name])

    @classmethod
    def from_dict(cls, values: dict[str, Any], *, where: str = "") -> Self:
        """Build from plain values; an unknown key or a wrong type is a ConfigError naming it."""
        known = {field.name: field for field in dataclasses.fields(cls)}
        hints = typing.get_type_hints(cls)
        place = f" in {where}" if where else ""
        if not isinstance(values, dict):
            raise ConfigError(f"{where or cls.__name__} is {str(values)[:40]!r}; expected settings")
        for name, value in values.items():
            if name not in known:
                advice = _meant(name, known) or "remove it"
                raise ConfigError(
                    f"unknown setting {name!r}{place}; expected one of "
                    f"{', '.join(sorted(known))}: {advice}"
                )
            _check_type(name, value, hints[name], place)
        prepared = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        missing = [
            name
            for name, field in known.items()
            if name not in values
            and field.default is dataclasses.MISSING
            and field.default_factory is dataclasses.MISSING
        ]
        if missing:
            raise ConfigError(f"missing setting {missing[0]!r}{place}; add it")
        return cls(**prepared)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON or TOML."""
        return dataclasses.asdict(self)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; a missing or broken file is a ConfigError with its line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}; give the path of a TOML file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
