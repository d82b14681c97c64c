"""One model at work for the page: translations and training steps, recorded on demand and kept.

Everything here runs in the model's one thread; the routes only wait for it.
"""

import contextlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutaway.decode import Translation, Translator
from cutaway.errors import CutawayError, InputError
from cutaway.glass import Trace
from cutaway.glass.api import Served
from cutaway.glass.html import Carried
from cutaway.glass.pair import Sides, record_step, record_translation
from cutaway.model import Transformer
from cutaway.serve.changes import Changes
from cutaway.train.folder import ModelFolder
from cutaway.train.places import run_folder
from cutaway.train.snapshots import read_index, read_snapshot

LONGEST = 160  # tokens of a sentence the page can still show as matrices
KEPT = 6  # recorded runs held in memory


@dataclass
class Recorded:
    """A run the page can ask about, and what it was told when the run was made."""

    key: str
    kind: str  # "translation", "training" or "trace"
    served: Served
    answer: dict[str, Any]

    def carried(self) -> Carried:
        """The run made ready for a file of its own."""
        title = str(self.served.trace.meta.get("model", ""))
        return Carried("0", title, self.kind, self.served.bundle())


class Session:
    """Answers the page's questions about one model folder."""

    def __init__(
        self,
        translator: Translator | None,
        folder: Path | None = None,
        beside: Mapping[str, Translator] | None = None,
    ) -> None:
        self._own = translator
        self.beside = dict(beside or {})  # other models to compare with, by name
        self.folder = folder
        self.runs: OrderedDict[str, Recorded] = OrderedDict()
        self.held: dict[str, Recorded] = {}  # runs that stay until they are released
        self.stamp = self._written() if translator is not None else 0  # of the weights at work
        self.asked: dict[str, str] = {}  # question → key of its run
        self.count = 0

    def warm(self) -> None:
        """Translate and record something small, so that the first reader need not wait."""
        if self._own is not None:
            with contextlib.suppress(CutawayError):
                self.translate("a")
            self.runs.clear()
            self.asked.clear()

    @property
    def translator(self) -> Translator:
        """The model at work; a session of recorded traces has none, nor a run still preparing."""
        if self._own is None and self.folder is not None:
            raise InputError(
                f"{self.folder.name} has no model yet; wait until its run has prepared its data",
                zh=f"{self.folder.name} 还没有模型；请等它的训练准备好数据",
            )
        if self._own is None:
            raise InputError(
                "this page shows recorded runs; to translate, serve a model folder",
                zh="本页显示记录好的运行；要翻译，请打开一个模型文件夹",
            )
        return self._own

    @property
    def translates(self) -> bool:
        """Whether there is a model to ask."""
        return self._own is not None

    @property
    def snapshots(self) -> list[dict[str, Any]]:
        """The training's snapshots, oldest first, as the page's scrubber names them."""
        place = self._snapshot_folder()
        entries = read_index(place) if place else []
        return [{"name": str(entry["update"]), "step": entry["update"]} for entry in entries]

    def translate(
        self,
        text: str,
        *,
        prefix: list[int] | None = None,
        beam: int = 0,
        target: str = "",
        snapshot: str = "",
        model: str = "",
        change: str = "",
        sample: int = 0,
        temperature: float = 1.0,
    ) -> dict[str, Any]:
        """Translate and record; the same question is answered from memory."""
        question = json.dumps(
            ["translate", text, prefix, beam, target, snapshot, model, change, sample, temperature]
        )
        return self._once(
            question,
            lambda: self._translate(
                self._other(model) if model else self._translator(snapshot),
                text,
                prefix or [],
                beam,
                target,
                change,
                sample,
                temperature,
            ),
        )

    def training_step(
        self, source: str, target: str = "", *, snapshot: str = "", rate: float = 1e-3
    ) -> dict[str, Any]:
        """Record one training step on a pair; without a target, the model's own translation."""
        question = json.dumps(["step", source, target, snapshot, rate])
        return self._once(question, lambda: self._step(source, target, snapshot, rate))

    def hold(self, key: str, trace: Trace) -> None:
        """Show a trace recorded elsewhere, until it is released."""
        if key not in self.held:
            self.held[key] = Recorded(key, "trace", Served(trace), {"key": key})

    def release(self, key: str | None) -> None:
        """Let a held trace go."""
        if key is not None:
            self.held.pop(key, None)

    def run(self, key: str) -> Recorded:
        """A recorded run by its key."""
        if key in self.held:
            return self.held[key]
        found = self.runs.get(key)
        if found is None:
            raise KeyError(key)
        self.runs.move_to_end(key)
        return found

    # -- the work ------------------------------------------------------------------------------

    def _translate(
        self,
        translator: Translator,
        text: str,
        prefix: list[int],
        beam: int,
        target: str,
        change: str,
        sample: int,
        temperature: float,
    ) -> Recorded:
        source = self._ids(translator, text)
        self._check_prefix(translator, prefix)
        options: dict[str, Any] = {}
        if sample:
            options = {"sample": True, "seed": sample, "temperature": temperature}
        elif beam:
            options = {"beam": beam}
        changes = Changes.read(change)
        translation = None
        if target:
            ids = translator.target_tokenizer.encode(target, end=True)
        else:
            (translation,) = translator.translate(
                [text],
                prefix=prefix,
                tree=not sample,
                split=translator.model.config.max_length,
                **options,
            )
            if not translation.tokens:
                reason = "; ".join(notice.message for notice in translation.warnings)
                raise InputError(
                    f"nothing to show for {text[:40]!r}: {reason}",
                    zh=f"{text[:40]!r} 中没有可以翻译的内容",
                )
            ids = [token.id for token in translation.tokens]
        if changes:
            source = changes.reordered(source)
            text = translator.tokenizer.decode(source)
            if not target:
                ids, translation = changes.decode(translator, source, ids, len(prefix)), None
        sides = Sides(translator.tokenizer, translator.target_tokenizer, translator.special)
        with changes.made(translator.model):
            trace = record_translation(translator.model, source, ids, sides)
        answer = self._answer(translator, text, source, ids, prefix, translation)
        answer["options"] = {"beam": beam or translator.defaults.beam, **options}
        trace.meta["translation"] = answer
        trace.meta["name"] = self.name
        return self._keep(self._key(), "translation", trace, answer)

    def _step(self, source: str, target: str, snapshot: str, rate: float) -> Recorded:
        translator = self._translator(snapshot)
        source_ids = self._ids(translator, source)
        if not target:
            (translation,) = translator.translate([source])
            target = translation.text
        target_ids = translator.target_tokenizer.encode(target, end=True)
        if len(target_ids) > LONGEST:
            raise InputError(
                f"the target has {len(target_ids)} tokens; the page shows at most {LONGEST}",
                zh=f"目标句有 {len(target_ids)} 个词元；本页最多显示 {LONGEST} 个",
            )
        sides = Sides(translator.tokenizer, translator.target_tokenizer, translator.special)
        trace, facts = record_step(translator.model, source_ids, target_ids, sides, rate=rate)
        answer = {"source": source, "target": target, **facts}
        trace.meta["training"] = answer
        return self._keep(self._key(), "training", trace, answer)

    # -- parts -----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the page calls the model: its folder and languages."""
        if self._own is None:
            return ""
        languages = self._own.folder.languages
        direction = f" {languages[0]}→{languages[1]}" if languages else ""
        return f"{self.folder.resolve().name if self.folder else 'model'}{direction}"

    def _other(self, name: str) -> Translator:
        """A model served beside the page's own."""
        if name not in self.beside:
            known = ", ".join(self.beside)
            raise InputError(
                f"no model {name!r} beside this one; there are: "
                f"{known or 'none; serve some with --beside FOLDER'}",
                zh=f"没有与此模型并列的模型 {name!r}；现有：{known or '无，请用 --beside 加入'}",
            )
        return self.beside[name]

    def _translator(self, snapshot: str) -> Translator:
        """The translator, or one with the weights of a moment of its training."""
        if not snapshot:
            self.follow()
            return self.translator
        folder = self.translator.folder
        place = self._snapshot_folder()
        if not snapshot.isdigit():
            raise InputError(
                f"snapshot {snapshot!r}; expected the number of an update",
                zh=f"快照 {snapshot!r} 应为更新的序号",
            )
        if place is None:
            raise InputError(
                f"no snapshot {snapshot!r}; this model was trained without --keep",
                zh=f"没有快照 {snapshot!r}；此模型训练时未用 --keep",
            )
        weights = read_snapshot(place, int(snapshot))
        model = Transformer(folder.model.config)
        model.load_state_dict(weights)
        return Translator(
            ModelFolder(
                model.eval(),
                folder.tokenizer,
                folder.target_tokenizer,
                languages=folder.languages,
                generation=folder.generation,
            )
        )

    def _written(self) -> int:
        """When the folder's files were written, in nanoseconds; 0 if there is none."""
        try:
            return (self.folder / "manifest.json").stat().st_mtime_ns if self.folder else 0
        except OSError:
            return 0

    def follow(self) -> None:
        """A training beside the page writes weights, then better ones: read them once there."""
        stamp = self._written()
        if stamp == self.stamp or self.folder is None:
            return
        self.stamp = stamp
        with contextlib.suppress(CutawayError, OSError):  # no translator, or being replaced
            self._own = Translator.load(self.folder)
            self.asked.clear()

    def _snapshot_folder(self) -> Path | None:
        if self.folder is None:
            return None
        # The run has them first; the folder gets its copies at the next validation.
        for place in (run_folder(self.folder) / "snapshots", self.folder / "snapshots"):
            if (place / "index.json").is_file():
                return place
        return None

    def _ids(self, translator: Translator, text: str) -> tuple[int, ...]:
        source = translator.task(text).source or ()
        if len(source) > LONGEST:
            raise InputError(
                f"the sentence has {len(source)} tokens; the page shows at most {LONGEST}: "
                f"give one sentence at a time",
                zh=f"句子有 {len(source)} 个词元；本页最多显示 {LONGEST} 个：请一次输入一句",
            )
        return source

    def _check_prefix(self, translator: Translator, prefix: list[int]) -> None:
        size = translator.target_tokenizer.vocabulary
        wrong = [number for number in prefix if not 0 <= number < size]
        if wrong:
            raise InputError(
                f"prefix holds the id {wrong[0]}; expected ids 0 to {size - 1}",
                zh=f"前缀中有编号 {wrong[0]}；编号应为 0 到 {size - 1}",
            )

    def _answer(
        self,
        translator: Translator,
        text: str,
        source: tuple[int, ...],
        ids: list[int],
        prefix: list[int],
        translation: Translation | None,
    ) -> dict[str, Any]:
        pieces = translator.target_tokenizer.pieces
        tree = None
        if translation is not None and translation.trees:
            tree = translation.trees[0].to_dict()
            for node, piece in zip(
                tree["nodes"], pieces(node["token"] for node in tree["nodes"]), strict=True
            ):
                node["piece"] = piece
        others = translation.alternatives if translation is not None else ()
        notices = translation.warnings if translation is not None else ()
        return {
            "text": text,
            "output": translator.target_tokenizer.decode(ids),
            "ids": ids,
            "pieces": pieces(ids),
            "source": translator.tokenizer.pieces(source),
            "score": translation.score if translation is not None else None,
            "prefix": prefix,
            "tree": tree,
            "alternatives": [{"text": other.text, "score": other.score} for other in others],
            "warnings": list(dict.fromkeys(notice.kind for notice in notices)),
        }

    def _once(self, question: str, work: Callable[[], Recorded]) -> dict[str, Any]:
        self.follow()
        known = self.asked.get(question)
        if known is None or known not in self.runs:
            known = self.asked[question] = work().key
        run = self.run(known)
        return {**run.answer, "key": run.key}

    def _key(self) -> str:
        self.count += 1
        return f"run-{self.count}"

    def _keep(self, key: str, kind: str, trace: Trace, answer: dict[str, Any]) -> Recorded:
        run = self.runs[key] = Recorded(key, kind, Served(trace), answer)
        run.served.structure()  # built here, in the model's thread, so that the page need not wait
        while len(self.runs) > KEPT:
            old, _ = self.runs.popitem(last=False)
            self.asked = {question: kept for question, kept in self.asked.items() if kept != old}
        return run
