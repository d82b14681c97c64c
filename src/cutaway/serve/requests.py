"""Bodies of the page's requests: a translation, a training step, an update, a lesson."""

from typing import Any

from pydantic import BaseModel, Field


class TranslationRequest(BaseModel):
    """A sentence to translate and record, and how."""

    text: str = Field(min_length=1, max_length=2000)
    prefix: list[int] = Field(default=[], max_length=512)
    beam: int = Field(default=0, ge=0, le=16)
    target: str = Field(default="", max_length=2000)
    snapshot: str = Field(default="", max_length=20)
    model: str = Field(default="", max_length=200)
    change: str = Field(default="", max_length=4000)
    sample: int = Field(default=0, ge=0, le=1_000_000)
    temperature: float = Field(default=1.0, gt=0, le=10)


class TrainingRequest(BaseModel):
    """A pair to take one training step on."""

    text: str = Field(min_length=1, max_length=2000)
    target: str = Field(default="", max_length=2000)
    snapshot: str = Field(default="", max_length=20)
    rate: float = Field(default=1e-3, gt=0, le=1)


class UpdateRequest(BaseModel):
    """An update of the training run to replay."""

    update: int = Field(ge=-(2**53), le=2**53)


class LessonRequest(BaseModel):
    """The learner's choices in a lesson, by the names of its controls."""

    choices: dict[str, Any] = Field(default={}, max_length=50)
