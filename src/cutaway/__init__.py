"""Cutaway: a Transformer you can train, translate with, and see through.

    folder = cutaway.train("model", {"data": {"source": "train.en", "target": "train.fr"}})
    translator = cutaway.load("model")
    translator.translate(["The cat sleeps."])[0].text
    cutaway.evaluate(translator, [("The cat sleeps.", "Le chat dort.")]).scores.bleu
    with cutaway.glass.record(model) as trace: ...

Importing the package loads neither torch nor any other heavy dependency: each function imports
what it needs when it is called.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cutaway.version import __version__

if TYPE_CHECKING:
    from cutaway import glass
    from cutaway.artifact.folder import ModelFolder
    from cutaway.config import RunConfig
    from cutaway.decode import Translator
    from cutaway.evaluation import Evaluation
    from cutaway.training.events import Watch

__all__ = ["__version__", "evaluate", "glass", "load", "train"]

_ENGINES = ("auto", "ctranslate2", "int8", "torch")


def train(
    out: str | Path,
    settings: "RunConfig | Mapping[str, Mapping[str, Any]] | str | Path",
    *,
    watch: "Watch" = lambda event: None,
    allow_changes: bool = False,
    at_once: bool = False,
) -> "ModelFolder":
    """Train a model and write it to the folder `out`; an interrupted run of `out` is resumed.

    `settings` are the tables `data`, `tokenizer`, `model` and `train` of a run.toml: as a mapping,
    as the path of the file, or as a RunConfig. What is not given has a default.
    `watch` is called with each event of the run (`cutaway.training.events`).
    `allow_changes` resumes although data or settings differ from those of the interrupted run.
    `at_once` writes a model folder before the first update, for a page that shows it learning.

    Returns what the folder holds. Raises `cutaway.training.interrupts.Interrupted` after SIGINT or
    SIGTERM, when everything is saved.
    """
    from cutaway.config import RunConfig, read_toml, sleep_while_waiting

    sleep_while_waiting()
    from cutaway.evaluation.validation import validator
    from cutaway.training.run import train as run

    if isinstance(settings, str | Path):
        config = RunConfig.from_tables(read_toml(Path(settings)), where=str(settings))
    elif isinstance(settings, RunConfig):
        config = settings
    else:
        config = RunConfig.from_tables({name: dict(table) for name, table in settings.items()})
    validate = validator(config.train.validation_beam)
    if config.train.diversify:
        from cutaway.decode.batch_translator import BatchTranslator
        from cutaway.training.diversify import diversified

        config = diversified(
            config,
            Path(out),
            translator=lambda folder, language: BatchTranslator(folder, language=language).texts,
            validate=validate,
            watch=watch,
            allow_changes=allow_changes,
        )
    return run(
        config,
        Path(out),
        validate=validate,
        watch=watch,
        allow_changes=allow_changes,
        at_once=at_once,
    )


def load(
    folder: "str | Path | ModelFolder" = "en-fr",
    *,
    engine: str = "auto",
    device: str = "cpu",
    ensemble: "Sequence[str | Path | ModelFolder]" = (),
    back: "str | Path | ModelFolder | None" = None,
    tell: Callable[[str], object] = lambda message: None,
) -> "Translator":
    """The translator of a model folder: `load(folder).translate(["…"], beam=5)`.

    "en-fr" and "en-zh" are the everyday models of the package, where no folder has that name.
    `engine` is "ctranslate2" (fast, without torch), "int8" (the same with weights of eight bits:
    faster, and its output may differ), "torch" (this package's model, on `device`), or "auto":
    CTranslate2 wherever it computes the same as the model, else the model. What CTranslate2 does
    not do is left to the model for that call.
    `ensemble` are further folders with the same vocabulary, which translate together with the
    first: by the mean of their probabilities at each step, in torch.
    `back` is a folder of the other direction, which `rerank="round-trip"` asks.
    `tell` is called with one line whenever the model is used instead, and why.
    """
    from cutaway.artifact.folder import ModelFolder, open_model_folder
    from cutaway.config import one_of
    from cutaway.data import located
    from cutaway.decode.ctranslate2_engine import CTranslate2Engine, why_not
    from cutaway.decode.translator import Translator
    from cutaway.errors import InputError

    one_of("engine", engine, _ENGINES)
    home = None if back is None else load(back, engine=engine, device=device, tell=tell)
    contents, *others = (
        one if isinstance(one, ModelFolder) else open_model_folder(located(one), device=device)
        for one in (folder, *ensemble)
    )
    if others:
        from cutaway.decode.ensemble import EnsembleEngine

        if engine in ("ctranslate2", "int8"):
            raise InputError("several models translate together in torch; leave engine out")
        return Translator(contents, EnsembleEngine([contents, *others]), home)
    if engine == "torch" or contents.config.family != "encoder-decoder":
        return Translator(contents, back=home)

    def explain(reason: str) -> None:
        tell(f"the torch engine is used: {reason}")

    if engine == "auto":
        reason = f"device is {device}" if device != "cpu" else why_not(contents)
        if reason:
            explain(reason)
            return Translator(contents, back=home)
    kind: Literal["int8", "float32"] = "int8" if engine == "int8" else "float32"
    fast = CTranslate2Engine(contents, quantization=kind, tell=explain)
    return Translator(contents, fast, home)


def evaluate(
    model: "Translator | ModelFolder | str | Path",
    pairs: Iterable[tuple[str, str]] | str | Path,
    *,
    name: str = "",
    language: str | None = None,
    lowercase: bool = False,
    bootstrap: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> "Evaluation":
    """Translate a test set and score it with BLEU, chrF and TER as sacreBLEU computes them.

    `model` is a translator or a model folder. `pairs` are (source, reference) texts, or a file
    with both sides (TSV, JSONL, TMX, PO).
    `name` is what reports call the system; by default its folder.
    `language` is the target language; by default the folder's.
    `lowercase` ignores case in BLEU and chrF.
    `bootstrap` is the number of samples for 95 % intervals; 0: none.
    `progress` is called with (sentences done, all sentences).
    `options` are those of decoding (`cutaway.decode.DecodeOptions`), as `beam=5`.
    """
    from cutaway.corpus import read_pairs
    from cutaway.decode import Translator
    from cutaway.evaluation import evaluate as score

    if isinstance(model, Translator):
        translator = model
    else:
        translator = load(model)
        name = name or (str(model) if isinstance(model, str | Path) else "")
    return score(
        translator,
        read_pairs(pairs) if isinstance(pairs, str | Path) else pairs,
        name=name or "model",
        language=language,
        lowercase=lowercase,
        bootstrap=bootstrap,
        progress=progress,
        **options,
    )


if not TYPE_CHECKING:  # a type checker knows the names above, and refuses any other

    def __getattr__(name: str) -> Any:
        """`cutaway.glass`, imported when it is first used: it loads torch."""
        if name == "glass":
            return importlib.import_module("cutaway.glass")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
