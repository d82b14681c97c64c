"""Pre-training and fine-tuning: a trained model learns a new word in seconds.

Also used for the word "it", which the embedded corpus does not have.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from cutaway.corpus.embedded import PAIRS, chosen_sentences
from cutaway.decode import Translator
from cutaway.decode.stepper import pad
from cutaway.lessons.fit import fit
from cutaway.lessons.lesson import Step
from cutaway.lessons.section import Sections
from cutaway.lessons.trained_run import pair_name, target_language
from cutaway.model import Transformer

TEXT = Sections("learning")
OLD = "The cat is on the mat."
STEPS, RATE = 40, 5e-4

Pairs = Sequence[tuple[str, str]]


def fine_tune(translator: Translator, model: Transformer, pairs: Pairs) -> list[float]:
    """Adam on a handful of pairs, all in one batch; returns the loss per token at each step."""
    tokenizer, target_tokenizer = translator.tokenizer, translator.target_tokenizer
    device = torch.device("cpu")
    source = pad([tokenizer.encode(a, end=True) for a, _ in pairs], tokenizer.pad, device)
    rows = [target_tokenizer.encode(b, start=True, end=True) for _, b in pairs]
    target = pad(rows, target_tokenizer.pad, device)
    fed, gold = target[:, :-1], target[:, 1:]

    def loss() -> Tensor:
        logits = model(source, fed).flatten(0, 1)
        return F.cross_entropy(logits, gold.flatten(), ignore_index=target_tokenizer.pad)

    return fit(model.parameters(), loss, updates=STEPS, rate=RATE, betas=(0.9, 0.98))


def fine_tuning_step(translator: Translator) -> Step:
    """The trained model and an untrained one learn the same eight sentences."""
    pair = pair_name(translator)
    pair = pair if pair in PAIRS else "en-fr"
    new, unseen = chosen_sentences(pair, "robot"), chosen_sentences(pair, "robot-unseen")
    tuned = copy.deepcopy(translator.model).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        fresh = Transformer(translator.model.config).eval()
    tuned_losses = fine_tune(translator, tuned, new)
    fresh_losses = fine_tune(translator, fresh, new)
    texts = [source for source, _ in unseen]
    right = [target for _, target in unseen]
    before = [one.text for one in translator.translate([*texts, OLD], beam=1)]
    after_tuning = Translator(replace(translator.folder, model=tuned))
    after = [one.text for one in after_tuning.translate([*texts, OLD], beam=1)]
    from_scratch = Translator(replace(translator.folder, model=fresh))
    scratch = [one.text for one in from_scratch.translate(texts, beam=1)]
    lines = "\n".join(
        f"  {text}\n    {a}  →  {b}   ({c})"
        for text, a, b, c in zip(texts, before, after, scratch, strict=False)
    )
    section = TEXT.section(
        "fine-tuning",
        sentences=len(new),
        steps=STEPS,
        lines=f"\n{lines}\n",
        old=OLD,
        kept=after[-1],
    )
    section.picture(
        "losses",
        "curves",
        section.series("tuned", range(STEPS), tuned_losses),
        section.series("fresh", range(STEPS), fresh_losses),
    )
    section.claim("right", after[:-1] == right and before[:-1] != right)
    section.claim("fresh", scratch != right)
    section.claim("kept", after[-1] == before[-1])
    return section.step("C15")


@dataclass(frozen=True)
class ItSentence:
    """A sentence in which "it" stands for a noun."""

    noun: str
    source: str
    target: str
    pronoun: str  # as it must come out: "il" or "elle"


@dataclass(frozen=True)
class Tuned:
    """A copy of a model that was taught sentences with "it"."""

    translator: Translator
    taught: tuple[ItSentence, ...]
    unseen: tuple[ItSentence, ...]  # with nouns that no taught sentence has

    @property
    def sentences(self) -> tuple[ItSentence, ...]:
        """The unseen ones first."""
        return (*self.unseen, *self.taught)

    def pronoun_right(self, sentence: ItSentence) -> bool:
        """Whether the translation has the pronoun of the noun, and no other."""
        output = self.translator.translate([sentence.source], beam=1)[0].text
        found = {"il", "elle"} & set(output.replace("'", " ").split())
        return found == {sentence.pronoun}


# noun → its translation; taught nouns, then unseen ones. French: article and noun, feminine or not.
FRENCH_NOUNS = {
    "taught": (
        ("cat", "Le chat", False), ("dog", "Le chien", False), ("rabbit", "Le lapin", False),
        ("horse", "Le cheval", False), ("goat", "La chèvre", True), ("mouse", "La souris", True),
        ("creature", "La créature", True),
    ),
    "unseen": (
        ("cow", "La vache", True), ("duck", "Le canard", False), ("fox", "Le renard", False),
    ),
}  # fmt: skip
FRENCH_STATES = {
    "tired": ("fatigué", "fatiguée"), "small": ("petit", "petite"),
    "happy": ("heureux", "heureuse"),
}  # fmt: skip


def it_sentences(language: str) -> dict[str, tuple[ItSentence, ...]]:
    """Sentences with "it", to be taught and unseen: for French, whose pronouns have a gender."""

    def source(noun: str, state: str) -> str:
        return f"The {noun} sleeps because it is {state}."

    if language == "fr":
        return {
            kind: tuple(
                ItSentence(
                    noun,
                    source(noun, state),
                    f"{french} dort parce qu'{'elle' if female else 'il'} est {said[female]}.",
                    "elle" if female else "il",
                )
                for noun, french, female in nouns
                for state, said in FRENCH_STATES.items()
            )
            for kind, nouns in FRENCH_NOUNS.items()
        }
    return {}


@lru_cache(maxsize=2)  # another choice in the lesson need not train again
def taught_it(translator: Translator) -> Tuned:
    """A copy of the model, fine-tuned on sentences with "it"."""
    sentences = it_sentences(target_language(translator))
    model = copy.deepcopy(translator.model).eval()
    fine_tune(translator, model, [(one.source, one.target) for one in sentences["taught"]])
    tuned = Translator(replace(translator.folder, model=model))
    return Tuned(tuned, sentences["taught"], sentences["unseen"])
