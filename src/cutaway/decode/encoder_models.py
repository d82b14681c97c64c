"""Models of the encoder family: `Filler` predicts masked words, `Classifier` a class."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from cutaway.artifact.folder import ModelFolder, read_model_folder
from cutaway.decode.stepper import pad
from cutaway.decode.translator import special_ids
from cutaway.decode.walk import Candidate
from cutaway.errors import InputError
from cutaway.training.precision import require

BLANK = re.compile(r"_{3,}|<mask>|\[MASK\]")
SIGN = "\ue000"  # marks a blank while the text is tokenized; no text and no piece contains it


@dataclass(frozen=True)
class Filled:
    """A text with its blanks filled, and the candidates for each blank."""

    source: str
    text: str
    blanks: tuple[tuple[Candidate, ...], ...]  # guesses with all blanks open, best first

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Classified:
    """A text and the probability of every class, the most probable first."""

    source: str
    label: str
    probabilities: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


class _EncoderModel:
    """What both share: the check that the folder holds an encoder."""

    verb: str

    def __init__(self, folder: ModelFolder) -> None:
        if folder.model.config.family != "encoder":
            raise InputError(
                f"this model is of family {folder.model.config.family!r}; "
                f"to {self.verb}, expected 'encoder'"
            )
        require(folder.model)
        self.folder = folder
        self.model = folder.model.eval()
        self.tokenizer = folder.tokenizer
        self.device = next(self.model.parameters()).device

    def _fits(self, ids: Sequence[int]) -> None:
        if len(ids) > self.model.config.max_length:
            raise InputError(
                f"the text has {len(ids)} tokens; this model takes at most "
                f"{self.model.config.max_length}: shorten it"
            )


class Filler(_EncoderModel):
    """Guesses what was hidden: `fill(["The ___ sat on the mat."])`."""

    verb = "fill blanks"

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> "Filler":
        """The filler of a model folder."""
        return cls(read_model_folder(Path(path), device=device))

    def fill(self, texts: Sequence[str], *, top: int = 5) -> list[Filled]:
        """Fill blanks (___, <mask> or [MASK], one token each), the most certain first."""
        if isinstance(texts, str):
            raise InputError("fill takes a list of texts; put the one text into a list")
        return [self._fill(text, top) for text in texts]

    @torch.inference_mode()
    def _fill(self, text: str, top: int) -> Filled:
        ids = self._masked(text)
        never = [*special_ids(self.tokenizer).forbidden, self.tokenizer.end]
        guesses: list[tuple[Candidate, ...]] = []
        while self.tokenizer.mask in ids:
            logits = self.model(torch.tensor([ids], device=self.device))[0]  # (L, V)
            log_p = torch.log_softmax(logits, -1)
            open_ = log_p.index_fill(1, torch.tensor(never, device=self.device), -torch.inf)
            places = [place for place, token in enumerate(ids) if token == self.tokenizer.mask]
            if not guesses:
                guesses = [self._candidates(open_[place], top) for place in places]
            best = open_[places].max(1)
            surest = int(best.values.argmax())
            ids[places[surest]] = int(best.indices[surest])
        return Filled(text, self.tokenizer.decode(ids), tuple(guesses))

    def _masked(self, text: str) -> list[int]:
        """`<start> pieces… <end>` with <mask> for every blank and for the space before it."""
        if not BLANK.search(text):
            raise InputError(f"{text!r} has no blank; mark one with ___, <mask> or [MASK]")
        sign = self.tokenizer.encode(SIGN)
        space, *_ = self.tokenizer.pieces(sign[:1])
        body = sign[1:] if space == "▁" else sign
        ids = self.tokenizer.encode(BLANK.sub(SIGN, text), start=True, end=True)
        masked: list[int] = []
        place = 0
        while place < len(ids):
            if ids[place : place + len(body)] == body:
                if space == "▁" and masked[-1] == sign[0]:
                    masked.pop()
                masked.append(self.tokenizer.mask)
                place += len(body)
            else:
                masked.append(ids[place])
                place += 1
        self._fits(masked)
        return masked

    def _candidates(self, log_p: torch.Tensor, top: int) -> tuple[Candidate, ...]:
        values, ids = log_p.topk(min(top, len(log_p)))
        numbers: list[int] = ids.tolist()
        return tuple(
            Candidate(token, piece, value, float(torch.tensor(value).exp()))
            for token, piece, value in zip(
                numbers, self.tokenizer.pieces(numbers), values.tolist(), strict=True
            )
        )


class Classifier(_EncoderModel):
    """Names a text's class: `classify(["What a day!"])`."""

    verb = "classify"

    def __init__(self, folder: ModelFolder) -> None:
        super().__init__(folder)
        classes = folder.model.config.classes
        if not classes:
            raise InputError("this model has no classifier; train one with labelled texts")
        self.labels = folder.labels or tuple(str(number) for number in range(classes))
        if len(self.labels) != classes:
            raise InputError(
                f"the folder names {len(self.labels)} labels and its model has {classes} classes; "
                f"train again"
            )

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> "Classifier":
        """The classifier of a model folder."""
        return cls(read_model_folder(Path(path), device=device))

    @torch.inference_mode()
    def classify(self, texts: Sequence[str], *, together: int = 32) -> list[Classified]:
        """The probability of every class for each text."""
        if isinstance(texts, str):
            raise InputError("classify takes a list of texts; put the one text into a list")
        found: list[Classified] = []
        for place in range(0, len(texts), together):
            chunk = texts[place : place + together]
            rows = [self.tokenizer.encode(text, start=True, end=True) for text in chunk]
            for row in rows:
                self._fits(row)
            logits = self.model.classify(pad(rows, self.tokenizer.pad, self.device))
            for text, values in zip(chunk, torch.softmax(logits, -1).tolist(), strict=True):
                ranked = sorted(zip(self.labels, values, strict=True), key=lambda item: -item[1])
                found.append(Classified(text, ranked[0][0], dict(ranked)))
        return found
