"""A training run of one sentence pair by the product's own trainer, its first update recorded."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cutaway import glass
from cutaway.config import RunConfig, TrainConfig
from cutaway.corpus import encode_pairs
from cutaway.decode import Translator
from cutaway.glass import Trace
from cutaway.lessons.trained_run import shown, target_language
from cutaway.model import Transformer
from cutaway.training.interrupts import Interrupts
from cutaway.training.loop import Trainer
from cutaway.training.loss import smoothed_cross_entropy
from cutaway.training.objective import TaskBatch
from cutaway.training.prepare import Prepared
from cutaway.training.processes import Processes
from cutaway.training.recording import input_names, label_batch

SOURCE = "The cat is on the mat."
TARGETS = {"fr": ("Le chat est sur le tapis.", "chat"), "zh": ("猫在垫子上。", "猫")}
UPDATES = 13
BIAS = "output.bias"


@dataclass(frozen=True)
class Pair:
    """One sentence pair as ids."""

    texts: tuple[str, str]
    source: Tensor  # (1, S)
    fed: Tensor  # (1, T) <start> first
    gold: Tensor  # (1, T) <end> last
    wanted: tuple[str, ...]  # tokens of gold
    word: int  # id of the token whose bias is followed
    name: str  # that token
    place: int  # where it is wanted


@dataclass(frozen=True)
class FirstUpdate:
    """The first update of the run, and what decided it."""

    trainer: Trainer  # after the update
    trace: Trace
    model: Transformer  # before the update
    losses: list[float]  # per token, of this update and all later ones
    norm: float  # of the mean gradient over all weights, before clipping
    rate: float

    @property
    def settings(self) -> TrainConfig:
        """The trainer's settings."""
        return self.trainer.settings

    @property
    def shortened(self) -> float:
        """By what clipping multiplied the gradient."""
        return min(1.0, self.settings.clip / self.norm) if self.settings.clip else 1.0


def pair_of(translator: Translator) -> Pair:
    """The cat on the mat and its translation in the model's target language."""
    target, word = TARGETS.get(target_language(translator), TARGETS["fr"])
    ids = translator.target_tokenizer.encode(target, start=True, end=True)
    names = shown(translator.target_tokenizer, ids)
    place = next((at for at, name in enumerate(names[1:]) if name == word), 1)
    return Pair(
        texts=(SOURCE, target),
        source=torch.tensor([translator.tokenizer.encode(SOURCE, end=True)]),
        fed=torch.tensor([ids[:-1]]),
        gold=torch.tensor([ids[1:]]),
        wanted=names[1:],
        word=ids[place + 1],
        name=names[place + 1],
        place=place,
    )


def trainer_of(translator: Translator, pair: Pair) -> Trainer:
    """The product's trainer with default settings, on a corpus of one pair; no dropout."""
    pairs = [pair.texts]
    encoded, _ = encode_pairs(pairs, translator.tokenizer, translator.folder.target_tokenizer)
    config = RunConfig.from_tables(
        {"data": {"embedded": "en-fr"}, "train": {"updates": UPDATES, "log_every": 1}}
    )
    prepared = Prepared(
        task="translate",
        train=encoded,
        rows=pairs,
        validation=None,
        validation_rows=[],
        tokenizer=translator.tokenizer,
        target_tokenizer=translator.folder.target_tokenizer,
        labels=(),
        languages=None,
        model=replace(
            translator.model.config, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0
        ),
        start=None,
    )
    return Trainer(
        prepared,
        config,
        processes=Processes(),
        device=torch.device("cpu"),
        watch=lambda _event: None,
        interrupts=Interrupts(),
    )


def smoothed_losses(model: Transformer, pair: Pair, smoothing: float) -> Tensor:
    """The trainer's loss of each target token, by its formula: (T,)."""
    logits = model(pair.source, pair.fed)[0]
    return smoothed_cross_entropy(logits, pair.gold[0], smoothing)


def run_pair(translator: Translator, pair: Pair) -> FirstUpdate:
    """Train on the pair to the end of the run; the first update is recorded."""
    trainer = trainer_of(translator, pair)
    before = Transformer(trainer.model.config)
    before.load_state_dict(trainer.model.state_dict())
    work = trainer.work()
    batches, cursor, _ = next(work)
    questions = [own_memory(question) for question in trainer.questions(batches)]
    with glass.record(trainer.model, inputs=input_names(questions)) as trace:
        *_, norm = trainer.update(batches, cursor, questions)
    label_batch(trace, translator.target_tokenizer, [[pair.texts[0]]])
    rate = float(trainer.optimizer[0].param_groups[0]["lr"])
    losses = [_loss(before, pair, trainer), _loss(trainer.model, pair, trainer)]
    after = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
    while trainer.progress.update < UPDATES:
        batches, cursor, _ = next(work)
        trainer.update(batches, cursor)
        losses.append(_loss(trainer.model, pair, trainer))
    trainer.model.load_state_dict(after)
    return FirstUpdate(trainer, trace, before.eval(), losses, norm, rate)


def own_memory(question: TaskBatch) -> TaskBatch:
    """The same question; target and gold of a single row are windows on the same memory."""
    assert question.target is not None
    return replace(question, target=question.target.clone(), gold=question.gold.clone())


@torch.no_grad()
def _loss(model: Transformer, pair: Pair, trainer: Trainer) -> float:
    return float(smoothed_losses(model, pair, trainer.settings.smoothing).mean())
