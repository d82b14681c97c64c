"""Limits of untrusted model folders, checked before anything large is built.

A model folder may come from anywhere. Its configuration could name a model of a terabyte, its
languages a path, its manifest a device: each is compared with what is on disk, or refused.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cutaway.config import ModelConfig
from cutaway.errors import ConfigError, CutawayError, ModelFolderError, TokenizerError

LARGEST_JSON = 16 * 2**20  # bytes of a JSON file or a model card
LARGEST_TABLE = 2**26  # cells of a position table: 65,536 positions of width 1,024


def read_text(path: Path) -> str:
    """A text file of the folder, if it is of a size that such files have."""
    if path.stat().st_size > LARGEST_JSON:
        raise ModelFolderError(
            f"{path} has {path.stat().st_size:,} bytes; expected at most {LARGEST_JSON:,}"
        )
    return path.read_text(encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of the folder."""
    try:
        value = json.loads(read_text(path))
    except RecursionError:
        raise ModelFolderError(f"{path} is nested too deeply; expected plain settings") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    return value


def check_size(path: Path, config: ModelConfig) -> None:
    """The table of positions, which no file bounds, is of a size that tables have."""
    if config.max_length * config.d_model > LARGEST_TABLE:
        raise ModelFolderError(
            f"{path} describes {config.max_length:,} positions of width {config.d_model:,}; "
            f"expected at most {LARGEST_TABLE:,} numbers"
        )


@contextmanager
def read_whole(path: Path) -> Iterator[None]:
    """Whatever goes wrong while the files of a folder are read is one ModelFolderError."""
    from safetensors import SafetensorError

    try:
        yield
    except (ConfigError, TokenizerError) as error:
        raise ModelFolderError(f"{path}: {error}") from None
    except CutawayError:
        raise
    except (
        SafetensorError,
        RuntimeError,
        OSError,
        ArithmeticError,
        ValueError,
        KeyError,
        TypeError,
    ) as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ModelFolderError(
            f"{path} cannot be read ({type(error).__name__}: {reason}); its files do not belong "
            f"together: copy the folder again from a good source"
        ) from None
