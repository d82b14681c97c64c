"""What a lesson computes with: a trained model, and the learner's choices."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from cutaway.data import demo_model, located
from cutaway.decode import Translator
from cutaway.errors import InputError

T = TypeVar("T")


class LessonInputs:
    """A trained model, and the learner's choices by the names of controls.

    Without a folder or a translator it is the English→French model of the package.
    """

    def __init__(
        self,
        folder: Path | None = None,
        choices: Mapping[str, Any] | None = None,
        *,
        translator: Translator | None = None,
    ) -> None:
        self.folder = located(folder) if folder is not None else None
        if folder is None and translator is None:
            self.folder = demo_model()
        self.choices = dict(choices or {})
        self._translator = translator

    def choice(self, name: str, otherwise: T) -> T:
        """The learner's choice for a control, or the lesson's default; of the same type."""
        chosen = self.choices.get(name, otherwise)
        if isinstance(otherwise, float) and isinstance(chosen, int):
            chosen = float(chosen)
        if not isinstance(chosen, type(otherwise)):
            raise InputError(
                f"{name} is {chosen!r}; expected {type(otherwise).__name__} like {otherwise!r}"
            )
        return chosen

    @cached_property
    def translator(self) -> Translator:
        """The trained translator."""
        if self._translator is not None:
            return self._translator
        assert self.folder is not None
        return Translator.load(self.folder)
