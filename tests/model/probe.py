"""Every variable the model's own code computes, by address, without touching that code."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

import cutaway.model

FOLDER = str(Path(cutaway.model.__file__).parent)


@contextmanager
def watching(model: nn.Module | None = None) -> Iterator[dict[str, NDArray[np.float64]]]:
    """Within the block, `{module path}.{variable}` → the value it had when its function returned.

    What a return statement computes is called `output`; the second call of a module is `@2`;
    outside every module a variable has its bare name.
    """
    paths = {module: path for path, module in model.named_modules()} if model else {}
    calls: Counter[str] = Counter()
    seen: dict[str, NDArray[np.float64]] = {}

    def owner(frame: FrameType | None) -> str:
        while frame is not None:
            module = frame.f_locals.get("self")
            if isinstance(module, nn.Module) and frame.f_code.co_filename.startswith(FOLDER):
                return str(paths[module])
            frame = frame.f_back
        return ""

    def note(frame: FrameType, event: str, result: object) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(FOLDER)
        if not ours or code.co_name not in ("forward", "explicit_attention", "attention_weights"):
            return
        path = owner(frame)
        if event == "call" and code.co_name == "forward":
            calls[path] += 1
        if event != "return":
            return
        call = "" if calls[path] <= 1 else f"@{calls[path]}"
        values = dict(frame.f_locals)
        if code.co_name == "forward":
            values["output"] = result
        for name, value in values.items():
            if isinstance(value, Tensor) and value.is_floating_point():
                seen[f"{path}.{name}{call}" if path else name] = value.detach().numpy().copy()

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
