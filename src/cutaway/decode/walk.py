"""Interactive decoding, one token at a time: candidates, next, back."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from cutaway.decode.stepper import Stepper
from cutaway.decode.tasks import Special, Task
from cutaway.decode.translation import Token
from cutaway.errors import InputError
from cutaway.model import Transformer
from cutaway.text import Tokenizer


@dataclass(frozen=True)
class Candidate:
    """A token that could come next."""

    id: int
    piece: str
    log_probability: float  # the model's own, at temperature 1
    probability: float  # at the walk's temperature


@dataclass(frozen=True)
class Step:
    """The state of a walk."""

    tokens: tuple[Token, ...]  # so far
    text: str  # so far
    candidates: tuple[Candidate, ...]  # what could come next, the most probable first
    finished: bool  # <end> was chosen, or the maximum length is reached

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


class Walk:
    """Decodes one token per call: the most probable or any other, and back again.

    P(t) = softmax(log P / temperature); candidates are shown among the tokens that may come
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,  # of the target
        special: Special,
        task: Task,  # its prefix is where the walk begins
        *,
        top: int = 10,
        temperature: float = 1.0,
    ) -> None:
        if top < 1 or not temperature > 0:
            raise InputError(
                f"top is {top} and temperature {temperature}; expected at least 1 and above 0"
            )
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.special = special
        self.task = task
        self.top = top
        self.temperature = temperature
        self.ids: list[int] = []
        self._costs: list[float] = []
        self._log_p: Tensor  # (V,) of the next token
        self._restart(list(task.prefix))

    @property
    def step(self) -> Step:
        """The present state."""
        finished = bool(self.ids) and self.ids[-1] == self.special.end
        finished = finished or len(self.ids) >= self.model.config.max_length
        return Step(
            tokens=tuple(
                Token(*token)
                for token in zip(
                    self.ids, self.tokenizer.pieces(self.ids), self._costs, strict=True
                )
            ),
            text=self.tokenizer.decode(self.ids),
            candidates=() if finished else self._candidates(),
            finished=finished,
        )

    def next(self, token: int | None = None) -> Step:
        """Append the most probable token, or the given one."""
        now = self.step
        if now.finished:
            raise InputError("this output is finished; go back, or start another")
        chosen = now.candidates[0].id if token is None else token
        if not 0 <= chosen < len(self._log_p) or chosen in self.special.forbidden:
            raise InputError(f"token {chosen} cannot come next; choose one of the candidates")
        self._costs.append(float(self._log_p[chosen]))
        self.ids.append(chosen)
        if not self._ended():
            with torch.inference_mode():
                fed = torch.tensor([[chosen]], device=self._stepper.device)
                self._log_p = self._stepper.step(fed)[0, -1]
        return self.step

    def back(self) -> Step:
        """Remove the last token."""
        if not self.ids:
            raise InputError("this is the beginning; there is nothing to take back")
        self._restart(self.ids[:-1])
        return self.step

    def __iter__(self) -> Iterator[Step]:
        """The present state, then greedy steps to the end."""
        yield self.step
        while not self.step.finished:
            yield self.next()

    def _ended(self) -> bool:
        return self.ids[-1] == self.special.end or len(self.ids) >= self.model.config.max_length

    @torch.inference_mode()
    def _restart(self, ids: list[int]) -> None:
        """Feed these tokens in one pass."""
        self._stepper = Stepper(self.model, [self.task])
        fed = torch.tensor([[self.special.start, *ids]], device=self._stepper.device)
        log_p = self._stepper.step(fed[:, : self.model.config.max_length])[0]  # (T, V)
        self.ids = ids
        self._costs = [float(log_p[place, token]) for place, token in enumerate(ids)]
        self._log_p = log_p[-1]

    def _candidates(self) -> tuple[Candidate, ...]:
        log_p = self._log_p.cpu().double()  # MPS has no float64
        probabilities = torch.softmax(log_p / self.temperature, 0)
        open_ = probabilities.clone()
        open_[list(self.special.forbidden)] = -1.0
        count = min(self.top, len(open_) - len(self.special.forbidden))
        ids: list[int] = open_.topk(count).indices.tolist()
        return tuple(
            Candidate(token, piece, float(self._log_p[token]), float(probabilities[token]))
            for token, piece in zip(ids, self.tokenizer.pieces(ids), strict=True)
        )
