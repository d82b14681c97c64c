"""Options of decoding, the same for every engine and every command."""

from dataclasses import dataclass
from typing import Any

from cutaway.config.base import Config, at_least, setting
from cutaway.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(Config):
    """Greedy by default; `beam` above 1 searches, `sample` draws. Lengths are in tokens.

    score = (log P − coverage_penalty · Σ_s max(coverage_s − 1, 0)) / length^length_penalty
    """

    beam: int = setting(1, "hypotheses kept at each step; 1: greedy")
    n_best: int = setting(1, "hypotheses returned, best first; with sample: texts drawn")
    length_penalty: float = setting(
        1.0, "exponent of the length in the score; 0: plain log-probability"
    )
    coverage_penalty: float = setting(0.0, "penalty for attending to a source token more than once")
    min_length: int = setting(0, "least number of tokens")
    max_length: int | None = setting(
        None, "most tokens, <end> included; by default twice the source and 20 more"
    )
    sample: bool = setting(False, "draw each token instead of searching")
    temperature: float = setting(
        1.0, "with sample: below 1 sharpens the distribution, above 1 flattens it"
    )
    top_k: int = setting(0, "with sample: draw from the k most probable tokens only; 0: from all")
    top_p: float = setting(
        1.0, "with sample: draw from the fewest tokens that together have this probability"
    )
    seed: int = setting(0, "with sample: seed of the draws, which do not depend on the batch")
    no_repeat: int = setting(0, "forbid repeating an n-gram of this size; 0: allow")

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
        """These options with changes; a new beam size or sampling also sets n_best.

        A beam returns all its hypotheses unless n_best is given, and sampling sets beam to 1.
        """
        values = self.to_dict() | changes
        idle = [name for name in ("temperature", "top_k", "top_p", "seed") if name in changes]
        if idle and not values["sample"]:
            raise ConfigError(f"{idle[0]} acts on draws only; add sample=True (--sample)")
        if changes.get("sample") and "beam" not in changes:
            values["beam"] = 1
        if ("beam" in changes or changes.get("sample")) and "n_best" not in changes:
            values["n_best"] = 1 if values["sample"] else values["beam"]
        return DecodeOptions.from_dict(values)

    def longest(self, source: int, room: int) -> int:
        """The most tokens an output may have, <end> included, for a source of this many tokens."""
        wanted = 2 * source + 20 if self.max_length is None else self.max_length
        return min(wanted, room)
