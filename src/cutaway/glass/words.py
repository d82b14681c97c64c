"""One or two sentences a student understands, for every rule, in several languages.

`locales/LANGUAGE.json` goes from a rule's name to its sentence; "" is for rules that have none.
{out} is the name of the result, {0}, {1}, … those of the operands, {n} the number of terms, {rule}
the rule's name. Adding a file adds a language.
"""

import json
from functools import cache
from importlib import resources


@cache
def sentences() -> dict[str, dict[str, str]]:
    """The sentences of all rules, by language."""
    folder = resources.files("cutaway.glass").joinpath("locales")
    files = sorted(
        (each for each in folder.iterdir() if each.name.endswith(".json")),
        key=lambda each: each.name,
    )
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in files
    }


def words(rule: str) -> dict[str, str]:
    """The sentence of a rule, by language."""
    return {
        language: known.get(rule, known[""]).replace("{rule}", rule)
        for language, known in sentences().items()
    }


def fill(sentence: str, out: str, names: list[str], terms: int) -> str:
    """A sentence with the names put in."""
    sentence = sentence.replace("{out}", out).replace("{n}", str(terms))
    for place, name in enumerate(names):
        sentence = sentence.replace(f"{{{place}}}", name)
    return sentence
