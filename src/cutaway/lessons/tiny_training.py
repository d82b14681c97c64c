"""A tiny model of one family, trained in seconds by the parts the trainer itself uses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from cutaway.artifact.folder import ModelFolder
from cutaway.config import ModelConfig, Task, TrainConfig
from cutaway.corpus import BatchPlan, embedded, encode_texts
from cutaway.model import Transformer
from cutaway.text import Tokenizer
from cutaway.training.objective import Objective, ask
from cutaway.training.optimizer import make_optimizer, set_rate
from cutaway.training.schedule import learning_rate
from cutaway.training.validation import validation_loss

COUNTED = r"There (is|are) (a|an|one|two|three|four|some) \w+ (on|in|under|near|behind)"
SENTENCES, HELD_OUT = 700, 100
UPDATES, TOKENS, RATE = 180, 600, 4e-3
FAMILY = {"generate": "decoder", "fill": "encoder"}


@dataclass(frozen=True)
class Trained:
    """A trained model, and how its training went."""

    folder: ModelFolder
    sentences: int  # it learned from
    losses: list[float]  # of the training batches, per token
    held_out: float  # loss per token on sentences it has not seen


def texts() -> tuple[list[str], list[str]]:
    """Short English sentences of the embedded corpus: to learn from, and to be judged by."""
    pairs = embedded("en-fr", "train")
    found = [source for source, _ in pairs if re.match(COUNTED, source)][:SENTENCES]
    return found[HELD_OUT:], found[:HELD_OUT]


def word_tokenizer(sentences: Sequence[str]) -> Tokenizer:
    """Whole words, so that a blank is a word."""
    return Tokenizer.train(sentences, kind="word", vocabulary=600)


@cache
def trained(task: Task) -> Trained:
    """The lesson's model of a task; trained once per process."""
    seen, unseen = texts()
    return train_tiny(task, word_tokenizer([*seen, *unseen]), seen, unseen)


def train_tiny(
    task: Task, tokenizer: Tokenizer, seen: Sequence[str], unseen: Sequence[str]
) -> Trained:
    """Two layers, 64 wide, a few hundred updates."""
    config = ModelConfig.from_dict(
        {
            "vocabulary": tokenizer.vocabulary, "family": FAMILY[task], "encoder_layers": 2,
            "decoder_layers": 2, "d_model": 64, "heads": 4, "d_ff": 128, "dropout": 0.0,
            "norm": "pre", "max_length": 64, "pad": tokenizer.pad,
        }
    )  # fmt: skip
    settings = TrainConfig(
        task=task, smoothing=0.0, seed=1, schedule="cosine", warmup=20, learning_rate=RATE
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        model = Transformer(config)
    objective = Objective(model, settings).train()
    optimizer = make_optimizer(model.named_parameters(), settings)
    pairs, _ = encode_texts(seen, tokenizer)
    losses: list[float] = []
    epoch = 0
    while len(losses) < UPDATES:
        for batch in BatchPlan(pairs.lengths, TOKENS, seed=1, epoch=epoch).batches(pairs):
            number = len(losses) + 1
            set_rate(optimizer, learning_rate(settings, number, peak=RATE, updates=UPDATES))
            question = ask(
                task, batch, device=torch.device("cpu"), draw=1000 * epoch + batch.number,
                vocabulary=tokenizer.vocabulary, share=settings.mask_share,
            )  # fmt: skip
            loss = objective(question) / question.asked
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
            if len(losses) == UPDATES:
                break
        epoch += 1
    folder = ModelFolder(model=model.eval(), tokenizer=tokenizer, task=task)
    held_out, _ = encode_texts(unseen, tokenizer)
    loss_held_out = validation_loss(model, task, held_out, settings)["loss"]
    return Trained(folder, len(seen), losses, loss_held_out)
