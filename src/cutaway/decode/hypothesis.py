"""What a search returns: hypotheses token by token, and on request the tree of the search."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Fate = Literal["kept", "pruned", "finished", "truncated"]


@dataclass(frozen=True)
class Hypothesis:
    """One output: its ids (with <end> where it was reached) and their log-probabilities."""

    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]  # of each id, given the ones before
    score: float  # what hypotheses are ranked by
    finished: bool  # False: cut off at the length limit

    @property
    def log_probability(self) -> float:
        """log P(target | source) = Σ_t log P(y_t | y_<t, source)."""
        return sum(self.log_probabilities)


@dataclass(frozen=True)
class TreeNode:
    """One hypothesis the beam looked at; `parent` is its place in the tree's list."""

    number: int
    parent: int | None
    step: int  # 0 for the root, the start token
    token: int
    log_probability: float  # of this token
    total: float  # of the hypothesis so far
    score: float  # the total after penalties: what it was ranked by
    fate: Fate
    piece: str = ""  # the token as text, where a tokenizer was at hand


@dataclass(frozen=True)
class BeamTree:
    """Every hypothesis a beam kept, finished or pruned, parents before children."""

    beam: int
    nodes: tuple[TreeNode, ...]
    best: int  # the node where the chosen hypothesis ends

    def path(self, number: int) -> list[TreeNode]:
        """From the root to a node."""
        path: list[TreeNode] = []
        place: int | None = number
        while place is not None:
            path.append(self.nodes[place])
            place = self.nodes[place].parent
        return path[::-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass
class SearchResult:
    """The best hypotheses of one sentence, and whether rounding could have changed them."""

    hypotheses: list[Hypothesis]
    near_tie: bool = False  # a choice was closer than the rounding error
    tree: BeamTree | None = field(default=None)
