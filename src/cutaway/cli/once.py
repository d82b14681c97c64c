"""Commands whose options are given once, and whose flags are shown without a type."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

from cutaway.errors import InputError


class PlainFlags:
    """Of a command or group: a flag takes no value, so its help shows no `<bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, --help among them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Group(PlainFlags, TyperGroup):
    """A command that has commands."""


class OnceCommand(PlainFlags, TyperCommand):
    """A command that refuses an option given twice, unless it collects: the last one would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and count each option first."""
        seen: set[str] = set()
        for parameter in self.make_parser(ctx).parse_args(args=list(args))[2]:
            collects = getattr(parameter, "multiple", False) or getattr(parameter, "count", False)
            if parameter.param_type_name == "option" and not collects and parameter.name in seen:
                raise InputError(f"{parameter.opts[0]} is given twice; give it once")
            seen.add(parameter.name or "")
        return super().parse_args(ctx, args)
