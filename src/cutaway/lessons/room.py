"""Where a lesson is given: the model at hand, and what the learner has chosen so far."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cutaway.decode import Translator
from cutaway.errors import InputError

T = TypeVar("T")


class Room:
    """A trained model where there is one, and the learner's choices by the names of controls."""

    def __init__(
        self,
        folder: Path | None = None,
        choices: Mapping[str, Any] | None = None,
        *,
        translator: Translator | None = None,
    ) -> None:
        self.folder = folder
        self.choices = dict(choices or {})
        self._translator = translator

    def choice(self, name: str, otherwise: T) -> T:
        """What the learner chose for a control, or the lesson's own start; of the same type."""
        chosen = self.choices.get(name, otherwise)
        if isinstance(otherwise, float) and isinstance(chosen, int):
            chosen = float(chosen)
        if not isinstance(chosen, type(otherwise)):
            raise InputError(
                f"{name} is {chosen!r}; expected {type(otherwise).__name__} like {otherwise!r}"
            )
        return chosen

    @property
    def has_model(self) -> bool:
        """Whether there is a trained model at hand."""
        return self._translator is not None or self.folder is not None

    @cached_property
    def translator(self) -> Translator:
        """The trained translator; a lesson that needs one says how to get it."""
        if self._translator is not None:
            return self._translator
        if self.folder is None:
            raise InputError(
                "this lesson needs a trained model; run `cutaway demo` first, "
                "or give a model folder with --model"
            )
        return Translator.load(self.folder)
