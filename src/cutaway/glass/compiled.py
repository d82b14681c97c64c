"""Compiled code while recording: it runs as it is written, so that its operations are seen."""

import functools
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from cutaway.glass.record import Recorder

COMPILER = "torch._dynamo"


@contextmanager
def as_written(recorder: "Recorder") -> Iterator[None]:
    """Within the block, what `torch.compile` returned (before or within) runs uncompiled.

    The compiler takes a second to import, so its stance is set only if it is loaded: now, or as
    soon as `torch.compile` is called (as flex_attention and torch.cond do themselves).
    """
    stance: Any = torch.compiler.set_stance
    with ExitStack() as stack:
        # The recorder's hooks see a compiled module twice, as intended; torch warns of it.
        warnings.filterwarnings("ignore", message=r"Using `torch.compile\(module\)` when there are")
        stack.callback(_remove, warnings.filters[0])
        if COMPILER in sys.modules:
            stack.enter_context(stance("force_eager"))
        else:
            finder = _Unrecorded(recorder)
            sys.meta_path.insert(0, finder)
            stack.callback(sys.meta_path.remove, finder)
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


class _Unrecorded(MetaPathFinder):
    """Loads the compiler unrecorded: in older torch (2.6) it tries operations while it loads."""

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """For the compiler, its usual spec, whose loader keeps the recorder from looking."""
        spec = PathFinder.find_spec(name, path, target) if name == COMPILER else None
        if spec is None or spec.loader is None:
            return None
        loader: Any = spec.loader
        load = loader.exec_module

        def unrecorded(module: ModuleType) -> None:
            self.recorder.busy += 1
            try:
                load(module)
            finally:
                self.recorder.busy -= 1

        loader.exec_module = unrecorded
        return spec


def _remove(entry: Any) -> None:
    """Take one filter of warnings away; those that the block itself added stay."""
    if entry in warnings.filters:
        filters: Any = warnings.filters
        filters.remove(entry)
