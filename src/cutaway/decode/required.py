"""Words a translation must contain: grid beam search (Hokamp and Liu 2017).

One beam for each amount of the required tokens already said; only what has said all may end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from cutaway.config import DecodeOptions
from cutaway.corpus.cleaning import UNSPACED
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.decode.next_token import allowed, best_of
from cutaway.decode.stepper import Stepper
from cutaway.decode.tasks import Special, Task
from cutaway.errors import InputError
from cutaway.model import Transformer
from cutaway.text import Tokenizer

if TYPE_CHECKING:
    from cutaway.decode.translator import Translator

Phrase = tuple[tuple[int, ...], ...]  # the ways to say a required word, as ids


@dataclass(frozen=True)
class _Path:
    """An output so far: which words are still missing, and what must follow of one begun."""

    row: int  # of the batch it grew from
    ids: tuple[int, ...]
    costs: tuple[float, ...]
    missing: tuple[int, ...]  # numbers of the phrases not yet begun
    rest: tuple[int, ...] = ()  # tokens of the phrase that was begun
    said: int = 0  # required tokens said

    @property
    def total(self) -> float:
        return sum(self.costs)


def phrases_of(words: Sequence[str], tokenizer: Tokenizer) -> list[Phrase]:
    """The ids of each required word; where no spaces are written, also without one before it."""
    found: list[Phrase] = []
    for word in words:
        if not word.strip():
            raise InputError("a required word is empty; give a word, or leave it out")
        ways = [tuple(tokenizer.encode(word.strip()))]
        if UNSPACED.match(word.strip()):
            ways.append(tuple(tokenizer.encode(word.strip(), inside=True)))
        found.append(tuple(ways))
    return found


def search_with_words(
    translator: "Translator", tasks: Sequence[Task], words: Sequence[str], options: DecodeOptions
) -> list[SearchResult]:
    """The hypotheses of the one sentence that must contain these words."""
    if len(tasks) > 1:
        raise InputError(f"words hold for one sentence; {len(tasks)} were given: one at a time")
    phrases = phrases_of(words, translator.target_tokenizer)
    return [required_search(translator.model, tasks[0], phrases, options, translator.special)]


@torch.inference_mode()
def required_search(
    model: Transformer,
    task: Task,
    phrases: Sequence[Phrase],
    options: DecodeOptions,
    special: Special,
) -> SearchResult:
    """The best hypotheses that contain one way of each phrase."""
    if options.sample:
        raise InputError("required words are searched for; leave sample out")
    limit = task.limit(options, model.config.max_length)
    stepper = Stepper(model, [task])
    growing = [_Path(0, (), (), tuple(range(len(phrases))))]
    ended: list[_Path] = []
    for step in range(limit):
        newest = [[path.ids[-1] if path.ids else special.start] for path in growing]
        log_p = stepper.step(torch.tensor(newest, device=stepper.device))[:, 0]  # (R, V)
        open_ = allowed(log_p, [path.ids for path in growing], step, options, special)
        free = _free(open_, options.beam)
        grown: list[_Path] = []
        for row, path in enumerate(growing):
            following = _forced(task, step) or path.rest[:1] or free[row]
            for token in following:
                if token == special.end and (path.missing or path.rest):
                    continue
                grown.append(_grown(path, row, token, float(open_[row, token])))
            if not path.rest and not _forced(task, step):
                grown += [
                    _begun(path, row, number, way, float(open_[row, way[0]]))
                    for number in path.missing
                    for way in phrases[number]
                ]
        grown = [path for path in grown if path.total > -torch.inf]
        ended += [path for path in grown if path.ids[-1] == special.end]
        growing = _kept([path for path in grown if path.ids[-1] != special.end], options.beam)
        if not growing or _decided(ended, growing, options, limit):
            break
        stepper.select(torch.tensor([path.row for path in growing], device=stepper.device))
    if not ended:
        raise InputError(
            f"no translation of at most {limit} tokens contains the required words; "
            f"raise max_length, or leave one out"
        )
    ended.sort(key=lambda path: -_score(path, options))
    return SearchResult(
        [
            Hypothesis(path.ids, path.costs, _score(path, options), True)
            for path in ended[: options.n_best]
        ]
    )


def _free(open_: Tensor, beam: int) -> list[list[int]]:
    """Of each row the most probable tokens."""
    _, tokens = best_of(open_, min(beam + 1, open_.shape[1]))
    chosen: list[list[int]] = tokens.tolist()
    return chosen


def _forced(task: Task, step: int) -> tuple[int, ...]:
    """What the task's prefix says at this step."""
    return task.prefix[step : step + 1]


def _grown(path: _Path, row: int, token: int, cost: float) -> _Path:
    """The path with one more token, which may be the next of a phrase begun."""
    ids, costs = (*path.ids, token), (*path.costs, cost)
    return _Path(row, ids, costs, path.missing, path.rest[1:], path.said + bool(path.rest))


def _begun(path: _Path, row: int, number: int, way: tuple[int, ...], cost: float) -> _Path:
    """The path with the first token of a phrase, which is then missing no more."""
    left = tuple(other for other in path.missing if other != number)
    ids, costs = (*path.ids, way[0]), (*path.costs, cost)
    return _Path(row, ids, costs, left, way[1:], path.said + 1)


def _kept(paths: Sequence[_Path], beam: int) -> list[_Path]:
    """The best of each amount said."""
    beams: dict[int, list[_Path]] = {}
    for path in sorted(paths, key=lambda path: -path.total):
        best = beams.setdefault(path.said, [])
        if len(best) < beam:
            best.append(path)
    return [path for best in beams.values() for path in best]


def _score(path: _Path, options: DecodeOptions) -> float:
    return float(path.total / len(path.ids) ** options.length_penalty)


def _decided(ended: list[_Path], growing: list[_Path], options: DecodeOptions, limit: int) -> bool:
    """Whether nothing that grows can still be among the best: no token raises a sum."""
    if len(ended) < options.n_best:
        return False
    scores = sorted((_score(path, options) for path in ended), reverse=True)
    hope = max(path.total for path in growing) / limit**options.length_penalty
    return bool(scores[options.n_best - 1] > hope)
