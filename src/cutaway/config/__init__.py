"""Settings that every stage reads: frozen dataclasses; an unknown key is an error."""

from cutaway.config.base import (
    Config,
    at_least,
    help_of,
    language_code,
    one_of,
    read_toml,
    setting,
)
from cutaway.config.decode import DecodeOptions
from cutaway.config.model import PRESETS, Family, ModelConfig
from cutaway.config.run import CHOOSE, DataConfig, RunConfig, Task, TokenizerConfig, TrainConfig
from cutaway.config.sources import SourceConfig, given_files
from cutaway.config.threads import sleep_while_waiting

__all__ = [
    "CHOOSE",
    "PRESETS",
    "Config",
    "DataConfig",
    "DecodeOptions",
    "Family",
    "ModelConfig",
    "RunConfig",
    "SourceConfig",
    "Task",
    "TokenizerConfig",
    "TrainConfig",
    "at_least",
    "given_files",
    "help_of",
    "language_code",
    "one_of",
    "read_toml",
    "setting",
    "sleep_while_waiting",
]
