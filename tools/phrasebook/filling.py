"""Templates with their slots filled: {name}, {name2} for another one, {city:in} for a form of it.

Which fillers a template gets is no chance: the fillers of a kind stand in the order of a checksum,
and every template goes on where the one before it stopped. So all of them are used equally often.
"""

import re
from zlib import crc32

from tools.phrasebook.tables import LANGUAGES, Filler, Sentence, fillers, templates

MOST = 24  # sentences of one template
SLOT = re.compile(r"\{([a-z]+)(\d?)(?::([a-z]+))?\}")  # kind, number, form

Slot = tuple[str, str]  # kind and number


class Walk:
    """The fillers of every kind in a fixed order, round and round."""

    def __init__(self) -> None:
        self.orders = {
            kind: sorted(found, key=lambda filler: (crc32(filler.english.encode()), filler.english))
            for kind, found in fillers().items()
        }
        self.places = dict.fromkeys(self.orders, 0)

    def next(self, kind: str) -> Filler:
        order = self.orders[kind]
        self.places[kind] += 1
        return order[(self.places[kind] - 1) % len(order)]

    def sentences(self, template: Sentence) -> list[Sentence]:
        """As many as the largest kind of a slot has fillers, at most MOST."""
        slots = sorted({(kind, number) for kind, number, _ in SLOT.findall(template["en"])})
        number = min(MOST, max(len(self.orders[kind]) for kind, _ in slots))
        return [
            filled(template, {slot: self.next(slot[0]) for slot in slots}) for _ in range(number)
        ]


def filled(template: Sentence, chosen: dict[Slot, Filler]) -> Sentence:
    """One sentence, in every language, with a capital letter at its beginning."""

    def text(language: str) -> str:
        def form(slot: re.Match[str]) -> str:
            kind, number, name = slot.groups("")
            return chosen[kind, number].forms[language][name]

        said = SLOT.sub(form, template[language])
        return said[0].upper() + said[1:]

    return {language: text(language) for language in LANGUAGES}


def sentences() -> list[Sentence]:
    """Those of all templates, in the order of the file."""
    walk = Walk()
    return [sentence for template in templates() for sentence in walk.sentences(template)]
