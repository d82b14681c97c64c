"""Small models with real parts: random ones that are never unsure, and one that has learnt."""

import hashlib
import random
from functools import cache
from typing import Any, Literal

import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.config import ModelConfig
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from tests.decode.helpers import padded

DICTIONARY = {
    "the": "le",
    "cat": "chat",
    "dog": "chien",
    "sees": "voit",
    "eats": "mange",
    "red": "rouge",
    "small": "petit",
    "house": "maison",
    "and": "et",
    "under": "sous",
    "tree": "arbre",
    "quickly": "vite",
}


STEPS = 300  # of training, about ten seconds


def phrases(count: int, seed: int = 1) -> list[str]:
    """Sentences of 2 to 7 known words and a full stop."""
    draw = random.Random(seed)
    words = list(DICTIONARY)
    return [" ".join(draw.choices(words, k=draw.randint(2, 7))) + "." for _ in range(count)]


def translated(phrase: str) -> str:
    """Word for word."""
    words = phrase.removesuffix(".").split()
    return " ".join(DICTIONARY[word] for word in words) + "."


@cache
def tokenizer(
    kind: Any = "bpe", languages: tuple[str, ...] = (), lowercase: bool = False
) -> Tokenizer:
    """Trained on both sides of 300 sentences."""
    texts = phrases(300) + [translated(phrase) for phrase in phrases(300)]
    return Tokenizer.train(
        texts, kind=kind, vocabulary=331, languages=languages, lowercase=lowercase
    )


def random_folder(
    tokenizer_: Tokenizer | None = None, target: Tokenizer | None = None, **changes: Any
) -> ModelFolder:
    """A model whose random weights are large, so that one token is clearly ahead at each step."""
    tokenizer_ = tokenizer_ or tokenizer()
    settings = {
        "vocabulary": tokenizer_.vocabulary,
        "target_vocabulary": target.vocabulary if target else None,
        "d_model": 34,
        "heads": 2,
        "d_ff": 53,
        "encoder_layers": 2,
        "decoder_layers": 3,
        "max_length": 97,
        **changes,
    }
    torch.manual_seed(3)
    model = Transformer(ModelConfig(**settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(1.7)
            elif parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
        if model.output.bias is not None:
            end = Tokenizer.end
            forbidden = [number for number in range(5) if number != end]
            model.output.bias[forbidden] -= 40  # as in any trained model
            model.output.bias[end] += 4
    return ModelFolder(model=model, tokenizer=tokenizer_, target_tokenizer=target)


@cache
def trained_folder(norm: Literal["pre", "post"] = "pre", *, sides: bool = False) -> ModelFolder:
    """A translator of `phrases` into `translated`, learnt in a few seconds.

    With `sides` each side has its own vocabulary, and the source begins with the tag of French.
    """
    cut = tokenizer("bpe", languages=("it", "fr")) if sides else tokenizer()
    other = tokenizer("unigram") if sides else cut
    torch.manual_seed(5)
    config = ModelConfig(
        vocabulary=cut.vocabulary,
        target_vocabulary=other.vocabulary if sides else None,
        tied="output" if sides else "all",
        d_model=46,
        heads=2,
        d_ff=97,
        encoder_layers=1,
        decoder_layers=1,
        max_length=61,
        dropout=0.0,
        norm=norm,
    )
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    texts = phrases(4000, seed=7)
    language = "fr" if sides else None
    for step in range(STEPS):
        batch = texts[step * 31 % 3900 :][:31]
        source = padded([cut.encode(text, end=True, language=language) for text in batch])
        target = padded([other.encode(translated(text), start=True, end=True) for text in batch])
        logits = model(source, target[:, :-1])
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.param_groups[0]["lr"] = 4e-3 * min(1, (step + 1) / 50) * (1 - step / STEPS)
        optimizer.step()
    return ModelFolder(
        model=model.eval(),
        tokenizer=cut,
        target_tokenizer=other if sides else None,
        languages=("en", "fr"),
        card="# Word for word\n",
    )


def fingerprint(model: Transformer) -> str:
    """A hash of every parameter and buffer."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
