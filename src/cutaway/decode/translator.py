"""`Translator`: texts in, translations out, with guards for long, empty and repetitive text."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutaway.artifact.folder import ModelFolder, open_model_folder
from cutaway.config import DecodeOptions
from cutaway.decode.engine import Engine, TorchEngine
from cutaway.decode.guards import Notice, foreign, grouped, loop, odd_length
from cutaway.decode.hypothesis import BeamTree, Hypothesis, SearchResult
from cutaway.decode.rerank import ROUND_TRIP, reranked, several
from cutaway.decode.round_trip import way_back
from cutaway.decode.tasks import Special, Task
from cutaway.decode.translation import Alternative, Rival, Token, Translation
from cutaway.decode.whole_text import checked, joined_attention, others, score
from cutaway.errors import InputError
from cutaway.text import Tokenizer
from cutaway.text.sentences import Piece, cut, join

if TYPE_CHECKING:
    from cutaway.decode.forced import Forced
    from cutaway.decode.walk import Walk
    from cutaway.model import Transformer

    # What is known of one sentence of a text: its ids, what was found, what the model thinks of it.
    Part = tuple[Task, tuple[SearchResult, Notice | None], Forced | None]

WIDEST = 64  # beam that a folder may set as its default
LONGEST = 100  # tokens of a sentence; a longer one is cut at its commas
CHARACTERS = 4  # of an ordinary piece of bpe or unigram: a char model has so many tokens for one


class Translator:
    """Translates with a model folder: raw text in, raw text out."""

    def __init__(
        self,
        folder: ModelFolder,
        engine: Engine | None = None,
        back: "Translator | None" = None,  # of the other direction, for rerank="round-trip"
    ) -> None:
        if folder.config.family != "encoder-decoder":
            raise InputError(
                f"this model is of family {folder.config.family!r}; to translate, "
                f"expected 'encoder-decoder': use generate, fill or classify"
            )
        self.folder = folder
        self.tokenizer: Tokenizer = folder.tokenizer
        self.target_tokenizer: Tokenizer = folder.target_tokenizer or folder.tokenizer
        self.engine: Engine = engine if engine is not None else TorchEngine(folder.model)
        self.back = back
        self.defaults = DecodeOptions.from_dict(folder.generation, where="generation.json")
        if self.defaults.beam > WIDEST or self.defaults.n_best > WIDEST:
            raise InputError(
                f"generation.json asks for a beam of {self.defaults.beam:,} and the best "
                f"{self.defaults.n_best:,}; expected at most {WIDEST} of each"
            )

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> "Translator":
        """The translator of a model folder."""
        return cls(open_model_folder(Path(path), device=device))

    @property
    def model(self) -> "Transformer":
        """The model itself, read when it is first used: another engine does not need it."""
        return self.folder.model

    @property
    def languages(self) -> tuple[str, ...]:
        """The target languages that can be asked for by name; none: the model knows only one."""
        return self.tokenizer.languages

    @cached_property
    def special(self) -> Special:
        """The ids decoding must know."""
        return special_ids(self.target_tokenizer)

    def options(self, **changes: Any) -> DecodeOptions:
        """The folder's own options with changes."""
        return self.defaults.changed(**changes)

    def translate(
        self,
        texts: Iterable[str],
        *,
        language: str | None = None,  # of the target, for a model that knows several
        prefix: str | Sequence[int] = "",  # what every text's translation begins with: text or ids
        split: bool = True,  # cut texts into sentences; False: translate each line as one
        rivals: int = 0,  # name so many runners-up of every token
        alignment: bool = False,  # add the attention target × source
        tree: bool = False,  # add the tree of the beam
        costs: bool = True,  # False: log-probabilities may be NaN, where they take another pass
        words: Sequence[str] = (),  # what the translation of one sentence must contain
        rerank: str = "",  # "mbr", "mbr-bleu" or "round-trip": another choice among hypotheses
        **options: Any,  # of DecodeOptions: beam=5, sample=True, temperature=0.8 …
    ) -> list[Translation]:
        """Translate texts of any length, in order; one Translation per text.

        Each text is cut into sentences, and their translations are put together with the space
        and the line breaks that stood between them. Options hold for each sentence.
        """
        texts = checked(texts, split)
        chosen = several(self.options(**options), rerank)
        back = way_back(self, language) if rerank == ROUND_TRIP else None
        start = self._prefix(prefix)
        cuts = [self.pieces(text, split=split, language=language) for text in texts]
        tasks = [
            self.task(piece.text, language=language, prefix=() if number else start)
            for pieces in cuts
            for number, piece in enumerate(piece for piece in pieces if piece.translate)
        ]
        results: list[SearchResult] = []
        if tasks and words:
            from cutaway.decode.required import search_with_words

            results = search_with_words(self, tasks, words, chosen)
        elif tasks:
            costs = costs or bool(rerank)
            results = self.engine.search(tasks, chosen, self.special, tree=tree, costs=costs)
        if back:
            parts = [piece.text for pieces in cuts for piece in pieces if piece.translate]
            results = back.reordered(self._text, parts, results)
        else:
            results = [reranked(result, self._text, chosen, rerank) for result in results]
        repaired = self._without_loops(tasks, results, chosen)
        details: list[Forced | None] = [None] * len(tasks)
        if tasks and (rivals or alignment):
            from cutaway.decode.forced import force

            judged = [
                Task(task.source, result.hypotheses[0].ids)
                for task, (result, _) in zip(tasks, repaired, strict=True)
            ]
            details = list(
                force(self.model, judged, self.special, rivals=rivals, attention=alignment)
            )
        fresh = iter(zip(tasks, repaired, details, strict=True))
        return [
            self._assembled(
                text, pieces, [next(fresh) for piece in pieces if piece.translate], chosen
            )
            for text, pieces in zip(texts, cuts, strict=True)
        ]

    def pieces(self, text: str, *, split: bool = True, language: str | None = None) -> list[Piece]:
        """A text as `translate` cuts it: sentences to translate, and what stands between them."""
        ways = (way for way in self.folder.directions if way[1] == language)
        languages = next(ways, self.folder.languages)
        return cut(
            text,
            self._count,
            self.room(split),
            split=split,
            language=languages[0] if languages else "",
        )

    def task(self, text: str, *, language: str | None = None, prefix: Sequence[int] = ()) -> Task:
        """One sentence as ids, ready for a search."""
        tag = self._tag(language)
        source = tuple(self.tokenizer.encode(text, end=True, language=tag))
        return Task(source, tuple(prefix))

    def score(
        self, sources: Sequence[str], targets: Sequence[str], *, language: str | None = None
    ) -> list[tuple[Token, ...]]:
        """Score given translations: every token, <end> too, with its log-probability."""
        if len(sources) != len(targets):
            raise InputError(
                f"{len(sources)} sources and {len(targets)} targets; expected as many of each"
            )
        tasks = [
            self.task(
                source, language=language, prefix=self.target_tokenizer.encode(target, end=True)
            )
            for source, target in zip(sources, targets, strict=True)
        ]
        from cutaway.decode.forced import force

        judged = force(self.model, tasks, self.special)
        return [
            self._tokens(task.prefix, forced.log_probabilities, forced)
            for task, forced in zip(tasks, judged, strict=True)
        ]

    def alternatives(
        self,
        text: str,
        position: int,
        *,
        count: int = 5,
        language: str | None = None,
        **options: Any,
    ) -> list[Alternative]:
        """The best translation for each other token at a position."""
        chosen = self.options(**{**options, "n_best": 1})
        task = self.task(text, language=language)
        (result,) = self.engine.search([task], chosen, self.special)
        ids = result.hypotheses[0].ids
        if not 0 <= position < len(ids):
            raise InputError(
                f"position is {position}; this translation has tokens 0 to {len(ids) - 1}"
            )
        from cutaway.decode.forced import force

        never = len(self.special.forbidden)
        judged = Task(task.source, ids[: position + 1])
        (forced,) = force(self.model, [judged], self.special, rivals=count + never)
        others = [
            token for token, _ in forced.rivals[position] if token not in self.special.forbidden
        ]
        tasks = [Task(task.source, (*ids[:position], other)) for other in others[:count]]
        found = self.engine.search(tasks, chosen, self.special)
        return [
            Alternative(self._text(result.hypotheses[0]), result.hypotheses[0].score)
            for result in found
        ]

    def walk(
        self,
        text: str,
        *,
        language: str | None = None,
        prefix: str | Sequence[int] = "",
        top: int = 10,
        temperature: float = 1.0,
    ) -> "Walk":
        """Translate one sentence token by token: next, back, another word."""
        if not text.strip():
            raise InputError("the text is empty; give a sentence to translate")
        from cutaway.decode.walk import Walk

        task = self.task(text, language=language, prefix=self._prefix(prefix))
        return Walk(
            self.model,
            self.target_tokenizer,
            self.special,
            task,
            top=top,
            temperature=temperature,
        )

    def room(self, split: bool = True) -> int:
        """Most tokens of text in one sentence: about a hundred words, as far as the model reads."""
        most = self.folder.config.max_length
        longest = LONGEST * (CHARACTERS if self.tokenizer.kind == "char" else 1)
        return max(1, (min(longest, most) if split else most) - 2)  # <end> and a language tag

    def _tag(self, language: str | None) -> str | None:
        """The tag of a source: of the language asked for, or of the model's first direction."""
        own = self.folder.languages[1] if self.folder.languages else None
        if language is None:
            return own if own in self.languages else None
        return None if language == own and not self.languages else language

    def _prefix(self, prefix: str | Sequence[int]) -> tuple[int, ...]:
        if isinstance(prefix, str):
            return tuple(self.target_tokenizer.encode(prefix)) if prefix else ()
        return tuple(prefix)

    def _count(self, text: str) -> int:
        return len(self.tokenizer.encode(text))

    def _text(self, hypothesis: Hypothesis) -> str:
        return self.target_tokenizer.decode(hypothesis.ids)

    def _tokens(
        self, ids: Sequence[int], costs: Sequence[float], forced: "Forced | None"
    ) -> tuple[Token, ...]:
        pieces = self.target_tokenizer.pieces(ids)
        rivals: list[tuple[Rival, ...]] = [()] * len(ids)
        if forced is not None:
            rivals = [
                tuple(
                    Rival(token, piece, value)
                    for (token, value), piece in zip(
                        others,
                        self.target_tokenizer.pieces(token for token, _ in others),
                        strict=True,
                    )
                )
                for others in forced.rivals
            ]
        return tuple(
            Token(token, piece, cost, others)
            for token, piece, cost, others in zip(ids, pieces, costs, rivals, strict=True)
        )

    def _without_loops(
        self, tasks: Sequence[Task], results: Sequence[SearchResult], options: DecodeOptions
    ) -> list[tuple[SearchResult, Notice | None]]:
        """Decode looping outputs again without repeated n-grams, unless the source loops."""
        found: list[tuple[SearchResult, Notice | None]] = [(result, None) for result in results]
        circling = {
            place: circle
            for place, (task, result) in enumerate(zip(tasks, results, strict=True))
            if not options.no_repeat
            and (circle := loop(result.hypotheses[0].ids)) is not None
            and loop(task.source or ()) is None
        }
        if not circling:
            return found
        again = self.engine.search(
            [tasks[place] for place in circling], replace(options, no_repeat=3), self.special
        )
        for (place, (start, period)), second in zip(circling.items(), again, strict=True):
            repeated = self.target_tokenizer.decode(
                results[place].hypotheses[0].ids[start : start + period]
            )
            better = loop(second.hypotheses[0].ids) is None and second.hypotheses[0].finished
            done = (
                "decoded again without repeated 3-grams"
                if better
                else "and decoding again did not help: the text may be unlike the training data"
            )
            notice = Notice("loop", f"the output repeated {repeated.strip()!r} in a loop; {done}")
            tree = found[place][0].tree
            found[place] = (
                SearchResult(second.hypotheses, second.near_tie, tree)
                if better
                else results[place],
                notice,
            )
        return found

    def _assembled(
        self,
        text: str,
        pieces: Sequence[Piece],
        parts: "Sequence[Part]",
        options: DecodeOptions,
    ) -> Translation:
        """One text from the results of its pieces."""
        if not parts:
            why = "it is empty" if not text.strip() else "it has no letters"
            notice = Notice("unchanged", f"nothing to translate: {why}")
            return Translation(text, text, 0.0, (), warnings=(notice,))
        best = [result.hypotheses[0] for _, (result, _), _ in parts]
        tokens: tuple[Token, ...] = ()
        for hypothesis, (_, _, forced) in zip(best, parts, strict=True):
            tokens += self._tokens(hypothesis.ids, hypothesis.log_probabilities, forced)
        source_ids = tuple(token for task, _, _ in parts for token in task.source or ())
        return Translation(
            source=text,
            text=join(pieces, [self._text(hypothesis) for hypothesis in best]),
            score=score(best, options.length_penalty),
            tokens=tokens,
            alternatives=tuple(
                Alternative(join(pieces, [self._text(one) for one in chosen]), score)
                for score, chosen in others(
                    [found.hypotheses for _, (found, _), _ in parts], options
                )
            ),
            warnings=tuple(self._notices(pieces, parts)),
            source_tokens=tuple(self.tokenizer.pieces(source_ids)),
            source_ids=source_ids,
            alignment=joined_attention([forced for _, _, forced in parts]),
            trees=tuple(
                self._with_pieces(result.tree)
                for _, (result, _), _ in parts
                if result.tree is not None
            ),
        )

    def _with_pieces(self, tree: BeamTree) -> BeamTree:
        pieces = self.target_tokenizer.pieces(node.token for node in tree.nodes)
        nodes = (replace(node, piece=p) for node, p in zip(tree.nodes, pieces, strict=True))
        return replace(tree, nodes=tuple(nodes))

    def _notices(
        self,
        pieces: Sequence[Piece],
        parts: "Sequence[Part]",
    ) -> list[Notice]:
        notices: list[Notice] = []
        broken = sum(piece.broken for piece in pieces)
        if broken:
            notices.append(
                Notice("split", f"long sentence: translated in {broken} parts and joined again")
            )
        for task, (result, circling), _ in parts:
            best = result.hypotheses[0]
            if circling is not None:
                notices.append(circling)
            if not best.finished:
                notices.append(
                    Notice(
                        "truncated",
                        f"the output was cut off after {len(best.ids)} tokens; "
                        f"allow more with max_length, or split the text",
                    )
                )
            elif odd := odd_length(len(task.source or ()) - 1, len(best.ids) - 1):
                notices.append(Notice("length", odd))
        read = [token for task, _, _ in parts for token in task.source or ()]
        language = self.folder.languages[0] if self.folder.languages else ""
        spelled = 2 * self.tokenizer.spelled(read) > len(read)
        if spelled or foreign(self.tokenizer.decode(read), language):
            message = "most of these characters are unknown in the model's source language"
            notices.append(
                Notice("unknown", f"{message} {language}".strip() + ": is the text in it?")
            )
        return grouped(notices)


def special_ids(tokenizer: Tokenizer) -> Special:
    """Where an output starts and ends, and which ids are never part of it."""
    never = (tokenizer.pad, tokenizer.unk, tokenizer.start, tokenizer.mask, *tokenizer.tags)
    return Special(tokenizer.start, tokenizer.end, never)
