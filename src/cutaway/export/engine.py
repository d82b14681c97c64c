"""The CTranslate2 engine: the same tasks and options as this package's model, the same output.

It searches; what each token cost is then read off one pass over the finished outputs, so that the
figures are those of the full distribution, as everywhere in this package. What CTranslate2 defines
otherwise (draws, coverage, a beam under a ban) or not at all (trees) is left to the model itself.
"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutaway.decode import DecodeOptions, Hypothesis, SearchResult, Special, Task, search
from cutaway.errors import InputError
from cutaway.export.ctranslate2 import Quantization, save, specification, vocabulary
from cutaway.export.place import extra
from cutaway.train.folder import ModelFolder

TOKENS = 2048  # of a batch, padding included: two small batches keep two workers busy


class CTranslate2Engine:
    """Greedy and plain beam search by CTranslate2, one thread a worker; the rest by the model."""

    name = "ctranslate2"

    def __init__(
        self,
        folder: ModelFolder,
        *,
        quantization: Quantization = "float32",
        workers: int | None = None,  # None: one for each processor this process may use
    ) -> None:
        if folder.model.config.family != "encoder-decoder":
            raise InputError(
                f"the model is of family {folder.model.config.family!r}; the ctranslate2 engine "
                "translates only: use --engine torch"
            )
        ctranslate2 = extra("ctranslate2", "ctranslate2")
        self.model = folder.model
        self.source_pieces = vocabulary(folder.tokenizer)
        self.target_pieces = vocabulary(folder.target_tokenizer or folder.tokenizer)
        self.numbers = {piece: number for number, piece in enumerate(self.target_pieces)}
        spec = specification(folder)
        spec.config.add_source_eos = False  # a task's source has its <end> already
        with tempfile.TemporaryDirectory(prefix="cutaway-") as scratch:
            save(spec, Path(scratch), quantization)
            self.translator: Any = ctranslate2.Translator(
                scratch,
                compute_type=quantization,
                inter_threads=workers or _processors(),
                intra_threads=1,  # two threads on one int8 product are 15 times slower than one
            )

    def search(
        self,
        tasks: Sequence[Task],
        options: DecodeOptions,
        special: Special,
        *,
        tree: bool = False,
    ) -> list[SearchResult]:
        """The hypotheses of each task, best first."""
        if tree or not _same(options, tasks):
            return search(self.model, tasks, options, special, tree=tree)
        jobs = [_Job(task, task.limit(options, self.model)) for task in dict.fromkeys(tasks)]
        open_jobs = [job for job in jobs if not job.forced(special.end)]
        for job, outputs in zip(open_jobs, self._outputs(open_jobs, options, special), strict=True):
            job.outputs = outputs
        self._price(jobs, special.end)
        found = {job.task: job.result(options, special.end) for job in jobs}
        strayed = [job.task for job in jobs if options.beam > 1 and job.strayed(special)]
        if strayed:
            again = search(self.model, strayed, options, special)
            found |= dict(zip(strayed, again, strict=True))
        return [found[task] for task in tasks]

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
        """The log-probability of each token of each output, by one forced pass."""
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
            job.costs.append(tuple(result.log_probs[: len(ids)]))  # <end> is priced in any case

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

    def result(self, options: DecodeOptions, end: int) -> SearchResult:
        """Hypotheses ranked as this package ranks them: complete ones first, then by score."""
        hypotheses = [
            Hypothesis(
                ids=ids,
                log_probabilities=costs,
                score=sum(costs) / max(len(ids), 1) ** options.length_penalty,
                finished=bool(ids) and ids[-1] == end,
            )
            for ids, costs in zip(self.outputs, self.costs, strict=True)
        ]
        hypotheses.sort(key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
        return SearchResult(hypotheses[: options.n_best])


def _same(options: DecodeOptions, tasks: Sequence[Task]) -> bool:
    """Whether CTranslate2 means the same by these options."""
    if options.sample or options.coverage_penalty > 0:
        return False
    forced = options.no_repeat or options.min_length or any(task.prefix for task in tasks)
    return options.beam == 1 or not forced


def _processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


__all__ = ["CTranslate2Engine"]
