"""What a search is given: sources as ids with a beginning they must have, and the special ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from cutaway.config import DecodeOptions
from cutaway.errors import InputError

Ids = Sequence[int]


@dataclass(frozen=True)
class Task:
    """One thing to decode: a source (none for a language model) and a beginning it must have."""

    source: tuple[int, ...] | None
    prefix: tuple[int, ...] = ()
    sample: int = 0  # of several draws for the same source, which
    longest: int | None = None  # its own limit of tokens, in addition to that of the options

    @property
    def key(self) -> tuple[int, ...]:
        """What a draw depends on, in addition to the seed."""
        return (self.prefix if self.source is None else self.source) or (0,)

    def limit(self, options: DecodeOptions, longest: int) -> int:
        """The most tokens its output may have, <end> counted, of a model that takes `longest`."""
        room = min(longest, self.longest or longest)
        if self.source is None:
            return min(options.max_length or room, room)
        if len(self.source) > longest:
            raise InputError(
                f"a source of {len(self.source)} tokens is longer than this model takes "
                f"({longest}); split it into sentences"
            )
        return options.longest(len(self.source), room)


@dataclass(frozen=True)
class Special:
    """The ids with a meaning of their own."""

    start: int
    end: int
    forbidden: tuple[int, ...] = ()  # never put out: padding, start, mask, language tags
