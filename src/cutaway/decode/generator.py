"""`Generator`: a language model (decoder family) continues a text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.config import DecodeOptions
from cutaway.decode.forced import force
from cutaway.decode.guards import Notice, loop
from cutaway.decode.search import search
from cutaway.decode.tasks import Special, Task
from cutaway.decode.translation import Alternative, Token
from cutaway.decode.translator import special_ids
from cutaway.decode.walk import Walk
from cutaway.errors import InputError


@dataclass(frozen=True)
class Generation:
    """A text and its continuation."""

    prompt: str
    text: str  # prompt and continuation
    score: float
    tokens: tuple[Token, ...]  # of the continuation
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[Notice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


class Generator:
    """Continues texts with a language model; takes the options of translation."""

    def __init__(self, folder: ModelFolder) -> None:
        if folder.model.config.family != "decoder":
            raise InputError(
                f"this model is of family {folder.model.config.family!r}; "
                f"to generate text, expected 'decoder'"
            )
        self.folder = folder
        self.model = folder.model.eval()
        self.tokenizer = folder.tokenizer
        self.defaults = DecodeOptions.from_dict(folder.generation, where="generation.json")

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> "Generator":
        """The generator of a model folder."""
        return cls(read_model_folder(Path(path), device=device))

    @cached_property
    def special(self) -> Special:
        """The ids decoding must know."""
        return special_ids(self.tokenizer)

    def generate(
        self,
        prompts: Sequence[str],
        *,
        max_tokens: int = 100,  # new ones, <end> counted
        **options: Any,  # of DecodeOptions
    ) -> list[Generation]:
        """Continue each prompt; an empty one starts from nothing."""
        if isinstance(prompts, str):
            raise InputError("generate takes a list of prompts; put the one prompt into a list")
        chosen = self.defaults.changed(**options)
        tasks = [self.task(prompt, max_tokens) for prompt in prompts]
        results = search(self.model, tasks, chosen, self.special) if tasks else []
        return [
            self._generation(prompt, task, result.hypotheses)
            for prompt, task, result in zip(prompts, tasks, results, strict=True)
        ]

    def task(self, prompt: str, max_tokens: int = 100) -> Task:
        """A prompt as ids; one that leaves no room is an InputError."""
        ids = tuple(self.tokenizer.encode(prompt)) if prompt else ()
        room = self.model.config.max_length
        if len(ids) >= room:
            raise InputError(
                f"the prompt has {len(ids)} tokens; this model takes at most {room - 1}: shorten it"
            )
        return Task(None, ids, longest=min(len(ids) + max_tokens, room))

    def walk(self, prompt: str, *, top: int = 10, temperature: float = 1.0) -> Walk:
        """Continue a prompt token by token."""
        task = self.task(prompt)
        return Walk(
            self.model, self.tokenizer, self.special, task, top=top, temperature=temperature
        )

    def score(self, texts: Sequence[str]) -> list[tuple[Token, ...]]:
        """Score given texts: every token, <end> too, with its log-probability."""
        tasks = [Task(None, tuple(self.tokenizer.encode(text, end=True))) for text in texts]
        judged = force(self.model, tasks, self.special)
        return [
            self._tokens(task.prefix, forced.log_probabilities)
            for task, forced in zip(tasks, judged, strict=True)
        ]

    def _tokens(self, ids: Sequence[int], costs: Sequence[float]) -> tuple[Token, ...]:
        pieces = self.tokenizer.pieces(ids)
        return tuple(Token(*token) for token in zip(ids, pieces, costs, strict=True))

    def _generation(self, prompt: str, task: Task, hypotheses: Sequence[Any]) -> Generation:
        best, *others = hypotheses
        start = len(task.prefix)
        warnings: list[Notice] = []
        if loop(best.ids[start:]) is not None:
            warnings.append(
                Notice("loop", "the output repeats itself; sample, or set no_repeat to 3")
            )
        elif not best.finished:
            warnings.append(
                Notice("truncated", f"cut off after {len(best.ids) - start} new tokens")
            )
        return Generation(
            prompt=prompt,
            text=self.tokenizer.decode(best.ids),
            score=best.score,
            tokens=self._tokens(best.ids[start:], best.log_probabilities[start:]),
            alternatives=tuple(
                Alternative(self.tokenizer.decode(other.ids), other.score) for other in others
            ),
            warnings=tuple(warnings),
        )
