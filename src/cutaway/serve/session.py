"""One model served to the page: translations and training steps, recorded on demand and cached.

Everything here runs in the model's one thread; the routes wait for it.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cutaway.artifact.places import snapshot_folder
from cutaway.artifact.snapshots import read_snapshot
from cutaway.decode import Translation, Translator
from cutaway.decode.recording import record_training, record_translation
from cutaway.errors import CutawayError, InputError, NotFoundError
from cutaway.model import Transformer
from cutaway.serve.changes import Changes
from cutaway.serve.progress import snapshots
from cutaway.serve.requests import TrainingRequest, TranslationRequest, UpdateRequest
from cutaway.serve.runs import OutdatedRun, Recorded, Runs, key_of, question_of
from cutaway.serve.updates import Updates

LONGEST = 160  # tokens of a sentence the page can still show as matrices


class Session:
    """Answers the page's requests to one model folder."""

    def __init__(
        self,
        translator: Translator | None,
        folder: Path | None = None,
        compared: Mapping[str, Translator] | None = None,
    ) -> None:
        self._own = translator
        self.compared = dict(compared or {})  # other models to compare with, by name
        self.folder = folder
        self.runs = Runs()
        self.updates = Updates(folder, self.runs)
        self.stamp = self._written() if translator is not None else 0  # of the weights in use
        # Recorders of other kinds of runs, by the kind in the run's key.
        self.recorders: dict[str, Callable[[dict[str, Any]], object]] = {
            "translation": lambda fields: self.translation(TranslationRequest(**fields)),
            "training": lambda fields: self.training_step(**TrainingRequest(**fields).model_dump()),
            "update": lambda fields: self.updates.record(UpdateRequest(**fields).update),
        }

    def warm(self) -> None:
        """Translate and record something small, so that the first request is fast."""
        if self._own is not None:
            with contextlib.suppress(CutawayError):
                self.translate("a")
            self.runs.clear()

    @property
    def translator(self) -> Translator:
        """The model in use; a session of recorded traces has none, nor a run still preparing."""
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
        """Whether there is a model."""
        return self._own is not None

    @property
    def snapshots(self) -> list[dict[str, Any]]:
        """The training's snapshots, oldest first, as the page's scrubber names them."""
        return snapshots(self.folder)

    def translate(self, text: str, **options: Any) -> dict[str, Any]:
        """`translation` of a request with these fields."""
        return self.translation(TranslationRequest(text=text, **options))

    def translation(self, asked: TranslationRequest) -> dict[str, Any]:
        """Translate and record; a repeated request is answered from memory."""
        self.follow()
        stamp = 0 if asked.snapshot or asked.model else self.stamp
        key = key_of("translation", stamp, asked.model_dump())
        run = self.runs.known(key) or self._translate(key, asked)
        return {**run.answer, "key": key}

    def training_step(
        self, text: str, target: str = "", *, snapshot: str = "", rate: float = 1e-3
    ) -> dict[str, Any]:
        """Record one training step on a pair; without a target, the model's own translation."""
        self.follow()
        fields = {"text": text, "target": target, "snapshot": snapshot, "rate": rate}
        key = key_of("training", 0 if snapshot else self.stamp, fields)
        run = self.runs.known(key) or self._step(key, text, target, snapshot, rate)
        return {**run.answer, "key": key}

    def run(self, key: str) -> Recorded:
        """A recorded run by its key; one that was dropped is recorded again."""
        found = self.runs.known(key)
        if found is not None:
            return found
        kind, stamp, fields = question_of(key)
        self.follow()
        if stamp not in (0, self.stamp):
            raise OutdatedRun(
                "the model has learned since this run was recorded; translate again",
                zh="这次运行记录之后模型又有了更新；请重新翻译",
            )
        if kind in self.recorders:
            with contextlib.suppress(ValidationError, KeyError):
                self.recorders[kind](fields)
        found = self.runs.known(key)
        if found is None:
            raise NotFoundError(
                f"no trace {key[:40]!r} here; translate again",
                zh=f"这里没有记录 {key[:40]!r}；请重新翻译",
            )
        return found

    # -- the work ------------------------------------------------------------------------------

    def _translate(self, key: str, asked: TranslationRequest) -> Recorded:
        translator = self._other(asked.model) if asked.model else self._translator(asked.snapshot)
        sentences = _sentences(translator, asked.text)
        # a run is one sentence: the first
        text = sentences[0] if len(sentences) > 1 else asked.text
        source = self._ids(translator, text)
        self._check_prefix(translator, asked.prefix)
        options: dict[str, Any] = {}
        if asked.sample:
            options = {"sample": True, "seed": asked.sample, "temperature": asked.temperature}
        elif asked.beam:
            options = {"beam": asked.beam}
        changes = Changes.read(asked.change)
        translation = None
        if asked.target:
            ids = translator.target_tokenizer.encode(asked.target, end=True)
        else:
            (translation,) = translator.translate(
                [text], prefix=asked.prefix, tree=not asked.sample, split=False, **options
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
            if not asked.target:
                ids, translation = changes.decode(translator, source, ids, len(asked.prefix)), None
        with changes.made(translator.model):
            trace = record_translation(translator, source, ids)
        answer = self._answer(translator, text, source, ids, asked.prefix, translation)
        answer["options"] = {"beam": asked.beam or translator.defaults.beam, **options}
        if len(sentences) > 1:
            (whole,) = translator.translate([asked.text], **options)
            answer["whole"] = {"text": asked.text, "output": whole.text, "sentences": sentences}
        trace.meta["translation"] = answer
        trace.meta["name"] = self.name
        return self.runs.keep(key, "translation", trace, answer)

    def _step(self, key: str, source: str, target: str, snapshot: str, rate: float) -> Recorded:
        translator = self._translator(snapshot)
        if not target:  # a pair that was given is trained on as it is
            source = next(iter(_sentences(translator, source)), source)
        source_ids = self._ids(translator, source)
        if not target:
            (translation,) = translator.translate([source], split=False)
            target = translation.text
        target_ids = translator.target_tokenizer.encode(target, end=True)
        if len(target_ids) > LONGEST:
            raise InputError(
                f"the target has {len(target_ids)} tokens; the page shows at most {LONGEST}",
                zh=f"目标句有 {len(target_ids)} 个词元；本页最多显示 {LONGEST} 个",
            )
        trace, facts = record_training(translator, source_ids, target_ids, rate=rate)
        answer = {"source": source, "target": target, **facts}
        trace.meta["training"] = answer
        return self.runs.keep(key, "training", trace, answer)

    # -- parts -----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The model's name on the page: its folder and languages; of the package's, the latter."""
        if self._own is None:
            return ""
        folder = self.folder.resolve().name if self.folder else "model"
        direction = "→".join(self._own.folder.languages or ())
        return (
            direction if folder == direction.replace("→", "-") else f"{folder} {direction}".strip()
        )

    def _other(self, name: str) -> Translator:
        """Another model, served for comparison."""
        if name not in self.compared:
            known = ", ".join(self.compared)
            raise InputError(
                f"no model {name!r} to compare with; there are: "
                f"{known or 'none; serve some with --compare FOLDER'}",
                zh=f"没有与此模型并列的模型 {name!r}；现有：{known or '无，请用 --compare 加入'}",
            )
        return self.compared[name]

    def _translator(self, snapshot: str) -> Translator:
        """The translator, or one with the weights of a moment of its training."""
        if not snapshot:
            self.follow()
            return self.translator
        folder = self.translator.folder
        place = snapshot_folder(self.folder)
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
        return Translator(replace(folder, model=model.eval()))

    def _written(self) -> int:
        """When the folder's files were written, in nanoseconds; 0 if there is none."""
        try:
            return (self.folder / "manifest.json").stat().st_mtime_ns if self.folder else 0
        except OSError:
            return 0

    def follow(self) -> None:
        """Reload the weights when a training run has written newer ones."""
        stamp = self._written()
        if stamp == self.stamp or self.folder is None:
            return
        self.stamp = stamp
        with contextlib.suppress(CutawayError, OSError):  # no translator, or being replaced
            self._own = Translator.load(self.folder)

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
        trees = translation.trees if translation is not None else ()
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
            "tree": trees[0].to_dict() if trees else None,
            "alternatives": [{"text": other.text, "score": other.score} for other in others],
            "warnings": list(dict.fromkeys(notice.kind for notice in notices)),
        }


def _sentences(translator: Translator, text: str) -> list[str]:
    """The sentences of a text; of one that is too long for the model, no parts."""
    pieces = [piece for piece in translator.pieces(text) if piece.translate]
    return [piece.text.strip() for piece in pieces if not piece.broken]
