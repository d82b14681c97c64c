"""A model folder → one .argosmodel file, which Argos Translate installs and LibreTranslate serves.

A zip archive: metadata.json, the CTranslate2 model, the sentencepiece file, the card, and a model
of sentence ends, so that nothing is downloaded at the first translation.
"""

import zipfile
from pathlib import Path

from cutaway.artifact.files import write_json
from cutaway.artifact.folder import ModelFolder
from cutaway.errors import ExportError
from cutaway.export.ctranslate2 import Quantization, save, specification
from cutaway.export.languages import NAMES
from cutaway.export.place import export_file, refuse_file
from cutaway.export.sentences import sentence_model

VERSION = "1.0"  # of the package
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


def export_argos(
    folder: ModelFolder,
    out: Path,
    *,
    quantization: Quantization = "int8",
    languages: tuple[str, str] | None = None,
    force: bool = False,
) -> None:
    """Write an Argos Translate package; `languages` (source, target) overrides the folder's.

    A file that is no such package is refused, unless `force` is given.
    """
    refuse_file(out, ours=is_package, force=force)
    source, target = _languages(folder, languages)
    for tokenizer in (folder.tokenizer, folder.target_tokenizer):
        if tokenizer is not None and tokenizer.kind == "word":
            raise ExportError(
                "this model has a word tokenizer, which Argos Translate would cut differently; "
                "train with bpe, unigram or char"
            )
    tags = folder.tokenizer.languages
    if tags and target not in tags:
        raise ExportError(
            f"this model translates into {', '.join(tags)}, not {target!r}; "
            f"choose the pair with --languages {source}-{tags[0]}"
        )
    spec = specification(folder, language=target if tags else None)
    sentences = sentence_model(source)
    with export_file(out, ours=is_package, force=force) as scratch:
        root = scratch / f"translate-{source}_{target}-{VERSION.replace('.', '_')}"
        (root / "model").mkdir(parents=True)
        save(spec, root / "model", quantization)
        (root / "sentencepiece.model").write_bytes(folder.tokenizer.to_bytes())
        (root / "minisbd").mkdir()
        (root / "minisbd" / f"{source}.onnx").write_bytes(sentences)
        (root / "README.md").write_text(folder.card, encoding="utf-8")
        write_json(
            root / "metadata.json",
            {
                "package_version": VERSION,
                "argos_version": "1.9",
                "from_code": source,
                "from_name": NAMES.get(source, source),
                "to_code": target,
                "to_name": NAMES.get(target, target),
            },
        )
        _pack(root, scratch / out.name)


def is_package(path: Path) -> bool:
    """Whether a file is an Argos Translate package."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/metadata.json") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def _languages(folder: ModelFolder, given: tuple[str, str] | None) -> tuple[str, str]:
    if folder.model.config.family != "encoder-decoder":
        raise ExportError(
            f"the model is of family {folder.model.config.family!r}; Argos Translate takes "
            "translators only"
        )
    languages = given or folder.languages
    if languages is None:
        raise ExportError(
            "the model folder does not say its languages; give them with --languages en-fr"
        )
    return languages


def _pack(root: Path, archive: Path) -> None:
    """Zip a folder under its own name, in a fixed order and with a fixed time."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(root.parent).as_posix(), EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                file.writestr(entry, path.read_bytes())


__all__ = ["export_argos"]
