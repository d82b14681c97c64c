"""The CTranslate2 engine: the same tasks and options as this package's model, the same output.

CTranslate2 searches; the log-probabilities come from one pass over the finished outputs, so that
they are those of the full distribution, as everywhere in this package. What CTranslate2 defines
otherwise (draws, coverage, a beam under a ban) or not at all (trees) is left to the model itself.
Nothing here imports torch unless the model itself is needed.
"""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cutaway.config import DecodeOptions
from cutaway.decode.ctranslate2_layout import model_files, unfit
from cutaway.decode.hypothesis import Hypothesis, SearchResult
from cutaway.decode.tasks import Special, Task
from cutaway.errors import ConfigError, InputError
from cutaway.system.processes import processors
from cutaway.system.trial import failure

if TYPE_CHECKING:
    from cutaway.artifact.folder import ModelFolder

Quantization = Literal["float32", "int8"]

TRIAL = Path(__file__).with_name("int8_trial.py")
TOKENS = 2048  # of a batch, padding included: two small batches keep two workers busy


class CTranslate2Engine:
    """Greedy and plain beam search by CTranslate2, one thread per worker; the rest by the model."""

    def __init__(
        self,
        folder: "ModelFolder",
        *,
        quantization: Quantization = "float32",  # int8 is faster, and no longer the same output
        workers: int | None = None,  # None: one for each processor this process may use
        tell: Callable[[str], object] = lambda reason: None,  # why the model itself is used
    ) -> None:
        import ctranslate2

        if reason := why_not(folder):
            raise InputError(f"{reason}; use --engine torch")
        reduced = quantization != "float32"
        if reduced and (reason := failure(quantization, TRIAL, ctranslate2.__version__)):
            raise ConfigError(f"{reason}; use --engine ctranslate2, which computes in float32")
        self.name = quantization if reduced else "ctranslate2"
        self.folder = folder
        self.tell = tell
        target = folder.target_tokenizer or folder.tokenizer
        self.source_pieces = folder.tokenizer.pieces(range(folder.tokenizer.vocabulary))
        self.target_pieces = target.pieces(range(target.vocabulary))
        self.numbers = {piece: number for number, piece in enumerate(self.target_pieces)}
        self.translator: Any = ctranslate2.Translator(
            "model",
            files=model_files(folder.config, folder.arrays(), folder.tokenizer, target),
            compute_type=quantization,
            inter_threads=workers or processors(),
            intra_threads=1,  # two threads on one product wait for each other at every operation
        )

    def search(
        self,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
        costs: bool = True,  # what tokens cost takes another pass, half of the time
    ) -> list[SearchResult]:
        """The hypotheses of each task, best first."""
        reason = "the tree of a beam is asked for" if tree else _differs(options, tasks)
        if reason:
            return self._by_the_model(reason, tasks, options, special, tree=tree)
        longest = self.folder.config.max_length
        jobs = [_Job(task, task.limit(options, longest)) for task in dict.fromkeys(tasks)]
        open_jobs = [job for job in jobs if not job.forced(special.end)]
        for job, outputs in zip(open_jobs, self._outputs(open_jobs, options, special), strict=True):
            job.outputs = outputs
        strayed = [job.task for job in jobs if options.beam > 1 and job.strayed(special)]
        for job in jobs:
            job.outputs = job.outputs[: options.n_best]  # ranked by the same score as here
        if costs or options.n_best > 1:
            self._price(jobs, special.end)
        found = {job.task: job.result(options, special.end) for job in jobs}
        if strayed:
            reason = "a beam was cut off or reached a token that is never put out"
            again = self._by_the_model(reason, strayed, options, special)
            found |= dict(zip(strayed, again, strict=True))
        return [found[task] for task in tasks]

    def _by_the_model(
        self,
        reason: str,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
    ) -> list[SearchResult]:
        from cutaway.decode.search import search

        self.tell(reason)
        return search(self.folder.model, tasks, options, special, tree=tree)

    def _outputs(
        self, jobs: Sequence["_Job"], options: DecodeOptions, special: Special
    ) -> list[list[tuple[int, ...]]]:
        """Ids of every hypothesis of each job, prefix and <end> included."""
        if not jobs:
            return []
        limit = max(job.limit for job in jobs)
        found = self._translate(jobs, options, special, limit)
        if options.beam == 1:  # a greedy output cut short is that of the shorter limit
            return [
                [ids[: job.limit] for ids in outputs]
                for job, outputs in zip(jobs, found, strict=True)
            ]
        for place, job in enumerate(jobs):
            if any(len(ids) > job.limit for ids in found[place]):
                (found[place],) = self._translate([job], options, special, job.limit)
        return found

    def _translate(
        self,
        jobs: Sequence["_Job"],
        options: DecodeOptions,
        special: Special,
        limit: int,
    ) -> list[list[tuple[int, ...]]]:
        prefixes = [self._pieces(job.task.prefix) for job in jobs]
        results = self.translator.translate_batch(
            self._sources(jobs),
            target_prefix=prefixes if any(prefixes) else None,
            beam_size=options.beam,
            num_hypotheses=options.beam,
            length_penalty=options.length_penalty,
            min_decoding_length=options.min_length,
            max_decoding_length=limit,
            max_input_length=0,
            no_repeat_ngram_size=options.no_repeat,
            # CTranslate2 bans a token before it normalises: no greedy choice changes by that, but
            # the sums a beam compares would.
            suppress_sequences=(
                [[self.target_pieces[number]] for number in special.forbidden]
                if options.beam == 1
                else None
            ),
            return_end_token=True,
            max_batch_size=TOKENS // options.beam,
            batch_type="tokens",
        )
        return [
            [tuple(self.numbers[piece] for piece in pieces) for pieces in result.hypotheses]
            for result in results
        ]

    def _price(self, jobs: Sequence["_Job"], end: int) -> None:
        """The log-probability of each token of each output, from one forced pass."""
        pairs = [(job, ids) for job in jobs for ids in job.outputs]
        bodies = [ids[:-1] if ids and ids[-1] == end else ids for _, ids in pairs]
        scored = self.translator.score_batch(
            self._sources([job for job, _ in pairs]),
            [self._pieces(body) for body in bodies],
            max_input_length=0,
            max_batch_size=TOKENS,
            batch_type="tokens",
        )
        for (job, ids), result in zip(pairs, scored, strict=True):
            job.costs.append(tuple(result.log_probs[: len(ids)]))  # <end> is scored in any case

    def _sources(self, jobs: Sequence["_Job"]) -> list[list[str]]:
        return [[self.source_pieces[number] for number in job.task.source or ()] for job in jobs]

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.target_pieces[number] for number in ids]


class _Job:
    """A task, its limit of tokens, and what was found for it."""

    def __init__(self, task: Task, limit: int) -> None:
        self.task = task
        self.limit = limit
        self.outputs: list[tuple[int, ...]] = []
        self.costs: list[tuple[float, ...]] = []

    def forced(self, end: int) -> bool:
        """Whether the prefix leaves nothing to search; then it is the output."""
        prefix = self.task.prefix
        if end in prefix[: self.limit]:
            self.outputs = [prefix[: prefix.index(end) + 1]]
        elif len(prefix) >= self.limit:
            self.outputs = [prefix[: self.limit]]
        return bool(self.outputs)

    def strayed(self, special: Special) -> bool:
        """Whether a beam wrote a token it may not, or was cut off: it ranks those otherwise."""
        return any(
            ids[-1] != special.end or set(special.forbidden) & set(ids) for ids in self.outputs
        )

    def _unknown(self) -> list[tuple[float, ...]]:
        return [(math.nan,) * len(ids) for ids in self.outputs]

    def result(self, options: DecodeOptions, end: int) -> SearchResult:
        """Hypotheses ranked as this package ranks them: complete ones first, then by score."""
        hypotheses = [
            Hypothesis(
                ids=ids,
                log_probabilities=costs,
                score=sum(costs) / max(len(ids), 1) ** options.length_penalty,
                finished=bool(ids) and ids[-1] == end,
            )
            for ids, costs in zip(self.outputs, self.costs or self._unknown(), strict=True)
        ]
        hypotheses.sort(key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
        return SearchResult(hypotheses)


def why_not(folder: "ModelFolder") -> str:
    """Why CTranslate2 cannot compute the model of a folder, in a few words; empty: it can."""
    config, target = folder.config, folder.target_tokenizer or folder.tokenizer
    sizes = (folder.tokenizer.vocabulary, target.vocabulary)
    if reason := unfit(config):
        return reason
    if sizes != (config.vocabulary, config.output_vocabulary):
        return "the model has more or fewer tokens than its tokenizer"
    return ""


def _differs(options: DecodeOptions, tasks: Sequence[Task]) -> str:
    """What CTranslate2 computes otherwise under these options, in a few words; empty: nothing."""
    if options.sample:
        return "draws are those of this package"
    if options.coverage_penalty > 0:
        return "a coverage penalty is set"
    if options.beam > 1 and options.no_repeat:
        return "a beam may not repeat n-grams"
    if options.beam > 1 and options.min_length:
        return "a beam has a least length"
    if options.beam > 1 and any(task.prefix for task in tasks):
        return "a beam must begin with a prefix"
    return ""
