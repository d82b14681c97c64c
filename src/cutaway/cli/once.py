"""Commands whose options are given once: the last of two would win without a word."""

from typing import Any

from typer.core import TyperCommand

from cutaway.errors import InputError


class OnceCommand(TyperCommand):
    """A command that refuses an option given twice, unless it collects."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, and count each option first."""
        seen: set[str] = set()
        for parameter in self.make_parser(ctx).parse_args(args=list(args))[2]:
            collects = getattr(parameter, "multiple", False) or getattr(parameter, "count", False)
            if parameter.param_type_name == "option" and not collects and parameter.name in seen:
                raise InputError(f"{parameter.opts[0]} is given twice; give it once")
            seen.add(parameter.name or "")
        return super().parse_args(ctx, args)
