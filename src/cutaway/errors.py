"""Errors a user can cause; each is one line: what was given, what was expected, what to do."""

__all__ = [
    "CheckpointError",
    "ConfigError",
    "CutawayError",
    "DataError",
    "ExportError",
    "InputError",
    "ModelFolderError",
    "NotFoundError",
    "TokenizerError",
    "TraceError",
    "TrainingError",
]


class CutawayError(Exception):
    """Base of every error the package raises on purpose; its message is one line.

    `zh` is the same line in Chinese, where the page can show it.
    """

    def __init__(self, message: str, *, zh: str = "") -> None:
        super().__init__(message)
        self.zh = zh


class ConfigError(CutawayError, ValueError):
    """A setting that does not fit: unknown key, wrong type, impossible combination."""


class InputError(CutawayError, ValueError):
    """Ids, masks, texts or addresses that the called function cannot take."""


class DataError(CutawayError, ValueError):
    """A corpus file that is missing, malformed, misaligned or empty; carries file and line."""


class TokenizerError(CutawayError, ValueError):
    """A tokenizer that cannot be trained or loaded."""


class ModelFolderError(CutawayError, ValueError):
    """A folder that is no model, or one whose files are missing, altered or of another version."""


class CheckpointError(CutawayError, RuntimeError):
    """A checkpoint that cannot be written, read or trusted."""


class TrainingError(CutawayError, RuntimeError):
    """Training that must stop: a non-finite loss or gradient, changed data or settings."""


class TraceError(CutawayError, ValueError):
    """A trace that cannot be recorded, read, or has no such address."""


class NotFoundError(TraceError):
    """A trace, value or buffer that does not exist, though the question is well formed."""


class ExportError(CutawayError, RuntimeError):
    """A model that the other package's format cannot hold, or a missing extra."""
