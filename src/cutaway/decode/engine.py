"""The interface of engines that search for hypotheses, and the engine that runs the torch model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from cutaway.config import DecodeOptions
from cutaway.decode.hypothesis import SearchResult
from cutaway.decode.tasks import Special, Task

if TYPE_CHECKING:
    from cutaway.model import Transformer

TOKENS = 4096  # rows × longest source of a batch


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
        costs: bool = True,
    ) -> list[SearchResult]:
        """The hypotheses of each task; without `costs`, log-probabilities may be NaN.

        An option it cannot honour is an InputError.
        """
        ...


class TorchEngine:
    """The torch model itself, which training, recording and the page use too."""

    name = "torch"

    def __init__(self, model: "Transformer", *, tokens: int = TOKENS) -> None:
        self.model = model.eval()
        self.tokens = tokens

    def search(
        self,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
        costs: bool = True,
    ) -> list[SearchResult]:
        """Decode with the cache, in batches by token budget."""
        from cutaway.decode.search import search

        return search(self.model, tasks, options, special, tokens=self.tokens, tree=tree)
