"""The pairs of the phrasebook for one pair of languages, without the sentences that are a test."""

from functools import cache
from pathlib import Path

from tools.phrasebook import filling, tables

EVERYDAY = Path(__file__).parents[2] / "tests" / "everyday"


def pairs(pair: str) -> list[tuple[str, str]]:
    """(English, translation) of "en-fr" or "en-zh", each English once, always in the same order."""
    source, target = pair.split("-")
    found: dict[str, str] = {}
    for sentence in (*tables.phrases(), *filling.sentences()):
        if plain(sentence[source]) not in held_out():
            found.setdefault(sentence[source], sentence[target])
    return list(found.items())


def write(path: Path, pair: str) -> None:
    """The pairs as a TSV file, which `[[data.sources]]` takes for its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{source}\t{target}\n" for source, target in pairs(pair))
    path.write_text(text, encoding="utf-8", newline="\n")


@cache
def held_out() -> frozenset[str]:
    """The everyday sentences of every pair, which are for the test alone, without marks."""
    texts = (file.read_text(encoding="utf-8") for file in EVERYDAY.glob("*.tsv"))
    return frozenset(plain(line.split("\t")[0]) for text in texts for line in text.splitlines())


# In this order: "can't" is "cannot", every other "n't" a "not" of its own.
SPOKEN = {"can't": "cannot", "n't": " not", "'m": " am", "'re": " are", "'s": " is", "'d": " would"}


def plain(text: str) -> str:
    """The letters of a text in lower case, "I'm" as "I am": as two sentences are compared."""
    text = text.casefold().replace("’", "'")
    for short, long in SPOKEN.items():
        text = text.replace(short, long)
    return "".join(character for character in text if character.isalnum())
