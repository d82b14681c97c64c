"""Evaluate a model on a test set: scores of the whole, by length, and per sentence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutaway.decode import Translation, Translator
from cutaway.evaluation.scores import Scores, detected_language, metrics, score, score_texts

EDGES = (5, 10, 15, 20, 30, 50)  # source tokens up to which a class of lengths goes
CHUNK = 512  # sentences between two calls of `progress`


@dataclass(frozen=True)
class Judged:
    """One sentence of the test set."""

    number: int  # its line, from 1
    source: str
    reference: str
    translation: Translation
    chrf: float


@dataclass(frozen=True)
class LengthClass:
    """The scores of sentences of similar length."""

    shortest: int
    longest: int | None  # None: no end
    sentences: int
    bleu: float
    chrf: float


@dataclass(frozen=True)
class Evaluation:
    """The results of one system on the test set."""

    name: str
    scores: Scores
    sentences: tuple[Judged, ...]
    by_length: tuple[LengthClass, ...]

    @property
    def hypotheses(self) -> list[str]:
        """The translations, in order, each one line."""
        return [one_line(judged.translation.text) for judged in self.sentences]

    def worst(self, count: int) -> list[Judged]:
        """The sentences with the lowest chrF, the lowest first."""
        return sorted(self.sentences, key=lambda judged: (judged.chrf, judged.number))[:count]


def evaluate(
    translator: Translator,
    pairs: Iterable[tuple[str, str]],
    *,
    name: str = "model",
    language: str | None = None,  # of the target; None: what the folder says
    lowercase: bool = False,
    bootstrap: int = 0,
    progress: Callable[[int, int], None] | None = None,  # (done, of)
    **options: Any,
) -> Evaluation:
    """Translate the sources and score them against the targets."""
    rows = list(pairs)
    sources = [source for source, _ in rows]
    references = [target for _, target in rows]
    tag = language if language in translator.languages else None
    translations = translated(translator, sources, tag, progress, **options)
    script = language or script_of(translator, references)
    hypotheses = [one_line(translation.text) for translation in translations]
    scores = score_texts(
        hypotheses, references, language=script, lowercase=lowercase, bootstrap=bootstrap
    )
    used = metrics(language=script, lowercase=lowercase)
    sentences = tuple(
        Judged(
            number,
            source,
            reference,
            translation,
            float(used["chrF2"].sentence_score(hypothesis, [reference]).score),
        )
        for number, ((source, reference), translation, hypothesis) in enumerate(
            zip(rows, translations, hypotheses, strict=True), start=1
        )
    )
    return Evaluation(name, scores, sentences, _by_length(sentences, used))


def translated(
    translator: Translator,
    sources: Sequence[str],
    language: str | None = None,  # a target language that the model knows by name
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> list[Translation]:
    """The translations of the sources, with progress after each chunk."""
    translations: list[Translation] = []
    for place in range(0, len(sources), CHUNK):
        chunk = sources[place : place + CHUNK]
        translations += translator.translate(chunk, language=language, **options)
        if progress is not None:
            progress(len(translations), len(sources))
    return translations


def script_of(translator: Translator, references: Sequence[str]) -> str | None:
    """The language by which references are cut into words: the folder's, or their script's."""
    languages = translator.folder.languages
    return languages[1] if languages else detected_language(references)


def one_line(text: str) -> str:
    """A text without line breaks, as one line of a file."""
    return " ".join(text.split("\n"))


def _by_length(sentences: Sequence[Judged], used: Mapping[str, Any]) -> tuple[LengthClass, ...]:
    """Scores of classes of source length; a class without sentences is left out."""
    classes: list[LengthClass] = []
    shortest = 0
    for longest in (*EDGES, None):
        inside = [
            judged
            for judged in sentences
            if shortest <= len(judged.translation.source_tokens)
            and (longest is None or len(judged.translation.source_tokens) <= longest)
        ]
        if inside:
            texts = [one_line(judged.translation.text) for judged in inside]
            references = [judged.reference for judged in inside]
            bleu, chrf = (score(used[name], texts, references).score for name in ("BLEU", "chrF2"))
            classes.append(LengthClass(shortest, longest, len(inside), bleu, chrf))
        shortest = (longest or 0) + 1
    return tuple(classes)
