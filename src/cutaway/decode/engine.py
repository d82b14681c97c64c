"""What computes hypotheses: this package's model, or another runtime behind the same call."""

from collections.abc import Sequence
from typing import Protocol

from cutaway.decode.hypothesis import SearchResult
from cutaway.decode.options import DecodeOptions
from cutaway.decode.search import TOKENS, search
from cutaway.decode.stepper import Special, Task
from cutaway.model import Transformer


class Engine(Protocol):
    """Tasks in, hypotheses out, best first and in order; same options, same output."""

    @property
    def name(self) -> str:
        """What `--engine` calls it."""
        ...

    def search(
        self,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
    ) -> list[SearchResult]:
        """The hypotheses of each task; an option it cannot honour is an InputError."""
        ...


class TorchEngine:
    """The glass-box path: the very model that training, recording and the page use."""

    name = "torch"

    def __init__(self, model: Transformer, *, tokens: int = TOKENS) -> None:
        self.model = model.eval()
        self.tokens = tokens

    def search(
        self,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
    ) -> list[SearchResult]:
        """Decode with the cache, in batches by token budget."""
        return search(self.model, tasks, options, special, tokens=self.tokens, tree=tree)
