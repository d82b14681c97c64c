"""Learn the pieces of a tokenizer with sentencepiece."""

import io
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from cutaway.errors import TokenizerError
from cutaway.text.model_file import (
    BYTES,
    CONTROL,
    NORMAL,
    SPACE,
    SPECIALS,
    Kind,
    ModelFile,
    Piece,
    parse_trained,
)

# sentencepiece keeps these for itself and would leave out every sentence that has one: NUL, its
# boundary mark (tab), ends of line, the space mark and the unknown mark. They still encode, as
# bytes; only learning does without them.
RESERVED = re.compile("[\0\t\n\r▁▅]")
CHUNK = 1000  # characters; longer sentences are cut for learning, not left out
THREADS = 2  # part of the result for unigram (order of sums), so not the machine's own number


def lower(text: str) -> str:
    """Each character in lower case by itself, so that a table of characters says it all.

    `str.lower` looks around only for Σ, which ends a word as ς.
    """
    return text.replace("Σ", "σ").lower()


def train_model(
    sentences: Iterable[str],
    *,
    kind: Kind,
    vocabulary: int,
    languages: Sequence[str],
    seed: int,
    lowercase: bool,
    limit: int,
    marks: Sequence[str] = (),
) -> ModelFile:
    """Learn a file of at most `vocabulary` pieces."""
    if isinstance(sentences, str):
        raise TokenizerError("one text was given where several are expected; put it in a list")
    controls = [SPECIALS[4], *map(tag, languages), *(f"<#{mark}>" for mark in marks)]
    reserved = len(SPECIALS) - 1 + len(controls) + len(BYTES)
    if len(set(controls)) != len(controls):
        raise TokenizerError(f"tags {[*languages, *marks]}: each may be named once")
    if vocabulary < reserved + 2:
        raise TokenizerError(
            f"vocabulary {vocabulary} is too small: special symbols and bytes take {reserved}; "
            f"ask for at least {reserved + 2}"
        )
    chunks = list(_chunks(_sample(sentences, limit, seed), lowercase))
    if not chunks:
        raise TokenizerError("no text to learn a tokenizer from; give at least one sentence")
    if kind in ("bpe", "unigram"):
        chunks = _common(chunks, (vocabulary - reserved) // 2)
    pieces, charsmap = _run(
        chunks,
        lowercase,
        model_type=kind,
        vocab_size=vocabulary,
        control_symbols=controls,
        character_coverage=1.0,
    )
    if all(piece.text != SPACE for piece in pieces):  # a word vocabulary has words only
        kept = pieces[: vocabulary - 1]
        pieces = (*kept, Piece(SPACE, min(piece.score for piece in kept) - 1.0, NORMAL))
    model = ModelFile(pieces, kind, vocabulary, lowercase, charsmap)
    return ModelFile.from_bytes(model.to_bytes(), "the trained tokenizer")


def grow_model(
    model: ModelFile,
    sentences: Iterable[str],
    *,
    vocabulary: int,
    languages: Sequence[str],
    seed: int,
    limit: int,
) -> ModelFile:
    """Append what new sentences would have taught, below everything known so far."""
    tags = [Piece(tag(name), 0.0, CONTROL) for name in languages if name not in model.languages]
    room = vocabulary - len(model.pieces) - len(tags)
    if room < 0:
        raise TokenizerError(
            f"vocabulary {vocabulary} adds no piece: the tokenizer has {len(model.pieces)} pieces "
            f"and {len(tags)} new tags; ask for more"
        )
    taught = train_model(
        sentences,
        kind=model.kind,
        vocabulary=vocabulary,
        languages=(),
        seed=seed,
        lowercase=model.lowercase,
        limit=limit,
    )
    known = {piece.text for piece in model.pieces}
    new = [p for p in taught.pieces if p.type == NORMAL and p.text not in known]
    # Characters first: without them the merges above them could never happen.
    new.sort(key=lambda piece: len(piece.text) > 1)
    new = new[:room]
    if model.kind == "bpe":  # scores are ranks: old merges keep going first
        lowest = min(piece.score for piece in model.pieces)
        new = [Piece(p.text, lowest - 1.0 - rank, NORMAL) for rank, p in enumerate(new)]
    return model.extended([*tags, *new], vocabulary)


def tag(language: str) -> str:
    """The control symbol that names a language: fr → <2fr>."""
    if not language or not language.isprintable() or set(language) & set(" <>▁"):
        raise TokenizerError(f"language {language!r}: expected a code such as fr or zh-Hans")
    return f"<2{language}>"


class Reservoir:
    """At most `limit` of the sentences that pass, each with the same chance."""

    def __init__(self, limit: int, seed: int) -> None:
        self.limit = limit
        self.sentences: list[str] = []
        self._random = Random(seed)
        self._seen = 0

    def add(self, sentence: str) -> None:
        """One more sentence passes."""
        if self._seen < self.limit:
            self.sentences.append(sentence)
        elif (place := self._random.randrange(self._seen + 1)) < self.limit:
            self.sentences[place] = sentence
        self._seen += 1


def _sample(sentences: Iterable[str], limit: int, seed: int) -> list[str]:
    reservoir = Reservoir(limit, seed)
    for sentence in sentences:
        reservoir.add(sentence)
    return reservoir.sentences


def _chunks(sentences: Iterable[str], lowercase: bool) -> Iterator[str]:
    for sentence in sentences:
        sentence = unicodedata.normalize("NFC", sentence)
        text = RESERVED.sub(" ", lower(sentence) if lowercase else sentence)
        text = text.encode("utf-8", "replace").decode()
        for at in range(0, len(text), CHUNK):
            if chunk := text[at : at + CHUNK].strip():
                yield chunk


def _common(chunks: list[str], most: int) -> list[str]:
    """The text without all but its `most` most frequent characters.

    Every character learnt takes a place; rare ones are left to the bytes, so that they cannot
    crowd out the merges.
    """
    rare = _by_frequency(chunks)[max(1, most - 1) :]
    if not rare:
        return chunks
    table = str.maketrans(dict.fromkeys(rare, " "))
    return [left for chunk in chunks if (left := chunk.translate(table).strip())]


def _by_frequency(chunks: list[str]) -> list[str]:
    """The characters of the text, the space left out: the most frequent first, then by number."""
    import numpy as np

    counts = np.zeros(sys.maxunicode + 1, dtype=np.int64)
    for at in range(0, len(chunks), 10_000):
        text = "".join(chunks[at : at + 10_000]).encode("utf-32-le")
        counts += np.bincount(np.frombuffer(text, dtype=np.uint32), minlength=len(counts))
    counts[ord(" ")] = 0
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    return [chr(number) for number in order]


def _run(chunks: list[str], lowercase: bool, **settings: Any) -> tuple[tuple[Piece, ...], bytes]:
    import sentencepiece

    written = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        if lowercase:
            rules = Path(folder) / "lowercase.tsv"
            rules.write_text(_lowercase_rules(), encoding="ascii")
            settings["normalization_rule_tsv"] = str(rules)
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(chunks),
                model_writer=written,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                pad_piece=SPECIALS[0],
                unk_piece=SPECIALS[1],
                bos_piece=SPECIALS[2],
                eos_piece=SPECIALS[3],
                normalization_rule_name="identity",
                remove_extra_whitespaces=False,
                byte_fallback=True,
                hard_vocab_limit=False,
                max_sentence_length=8 * CHUNK,
                num_threads=THREADS,
                minloglevel=3,
                **settings,
            )
        except (RuntimeError, OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise TokenizerError(f"sentencepiece could not learn a tokenizer: {reason}") from None
    return parse_trained(written.getvalue())


def _lowercase_rules() -> str:
    """sentencepiece's table: hexadecimal code points TAB the code points they become."""
    lines = []
    for code in range(sys.maxunicode + 1):
        lowered = lower(chr(code))
        if lowered != chr(code):
            becomes = " ".join(f"{ord(character):X}" for character in lowered)
            lines.append(f"{code:X}\t{becomes}\n")
    return "".join(lines)
