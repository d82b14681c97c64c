"""Compiled code while recording: it runs as it is written, so that its operations are seen."""

import functools
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch


@contextmanager
def as_written() -> Iterator[None]:
    """Within the block, what `torch.compile` returned (before or within) runs uncompiled.

    The compiler takes a second to import, so its stance is set only if it is loaded: now, or as
    soon as `torch.compile` is called (as flex_attention and torch.cond do themselves).
    """
    stance: Any = torch.compiler.set_stance
    with ExitStack() as stack:
        # The recorder's hooks see a compiled module twice, as intended; torch warns of it.
        warnings.filterwarnings("ignore", message=r"Using `torch.compile\(module\)` when there are")
        stack.callback(_remove, warnings.filters[0])
        if "torch._dynamo" in sys.modules:
            stack.enter_context(stance("force_eager"))
        else:
            original: Any = torch.compile
            entered: list[Any] = []

            @functools.wraps(original)
            def compile(*args: Any, **kwargs: Any) -> Any:
                made = original(*args, **kwargs)
                if not entered:
                    entered.append(stack.enter_context(stance("force_eager")))
                return made

            torch.compile = compile
            stack.callback(setattr, torch, "compile", original)
        yield


def _remove(entry: Any) -> None:
    """Take one filter of warnings away; those that the block itself added stay."""
    if entry in warnings.filters:
        filters: Any = warnings.filters
        filters.remove(entry)
