"""How to decode: the one set of options that every engine and every verb understands."""

from dataclasses import dataclass
from typing import Any

from cutaway.config import Config, at_least
from cutaway.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(Config):
    """Greedy by default; `beam` above 1 searches, `sample` draws. Lengths are in tokens.

    score = (log P − coverage_penalty · Σ_s max(coverage_s − 1, 0)) / length^length_penalty
    """

    beam: int = 1  # hypotheses kept at each step; 1 is greedy
    n_best: int = 1  # finished hypotheses returned, best first; of samples: how many to draw
    length_penalty: float = 1.0  # exponent of the length, <end> counted; 0: plain log-probability
    coverage_penalty: float = 0.0  # price of attending a source token more than once in all
    min_length: int = 0  # no <end> before this many tokens
    max_length: int | None = None  # tokens with <end>; None: twice the source and 20 more
    sample: bool = False  # draw each token instead of taking the most probable
    temperature: float = 1.0  # of the draw: below 1 sharper, above 1 flatter
    top_k: int = 0  # draw from the k most probable tokens only; 0: from all
    top_p: float = 1.0  # draw from the fewest tokens that together have this probability
    seed: int = 0  # with the sentence itself it decides every draw, whatever the batch
    no_repeat: int = 0  # forbid to repeat an n-gram of this size; 0: allow

    def __post_init__(self) -> None:
        for name in ("beam", "n_best"):
            at_least(name, getattr(self, name), 1)
        for name in ("length_penalty", "coverage_penalty", "min_length", "top_k", "no_repeat"):
            at_least(name, getattr(self, name), 0)
        if self.max_length is not None:
            at_least("max_length", self.max_length, 1)
            if self.max_length < self.min_length:
                raise ConfigError(
                    f"max_length is {self.max_length} and min_length {self.min_length}; "
                    f"expected max_length to be the larger"
                )
        if not self.temperature > 0:
            raise ConfigError(f"temperature is {self.temperature!r}; expected a number above 0")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p is {self.top_p!r}; expected above 0 and at most 1")
        if self.sample and self.beam > 1:
            raise ConfigError(
                f"beam is {self.beam} and sample is on; choose one: a beam searches, sample draws"
            )
        if self.n_best > self.beam and not self.sample:
            raise ConfigError(
                f"n_best is {self.n_best} but a beam of {self.beam} keeps no more than "
                f"{self.beam}; raise beam to {self.n_best}"
            )

    def changed(self, **changes: Any) -> "DecodeOptions":
        """These options with changes; a new beam or draw asks for its own number of outputs.

        A beam returns all it found unless n_best says otherwise, and drawing leaves the beam.
        """
        values = self.to_dict() | changes
        if changes.get("sample") and "beam" not in changes:
            values["beam"] = 1
        if ("beam" in changes or changes.get("sample")) and "n_best" not in changes:
            values["n_best"] = 1 if values["sample"] else values["beam"]
        return DecodeOptions.from_dict(values)

    def longest(self, source: int, room: int) -> int:
        """The most tokens an output may have, <end> counted, for a source of so many tokens."""
        wanted = 2 * source + 20 if self.max_length is None else self.max_length
        return min(wanted, room)
