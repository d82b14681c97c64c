"""Runs where Argos Translate is installed: installs packages and translates with them."""

import json
import sys
from pathlib import Path

import argostranslate.package
import argostranslate.translate


def main() -> None:
    request = json.load(sys.stdin)
    for path in request["packages"]:
        argostranslate.package.install_from_path(Path(path))
    languages = argostranslate.translate.get_installed_languages()
    source, target = request["pair"]
    translation = argostranslate.translate.get_translation_from_codes(source, target)
    answer = {
        "languages": {language.code: language.name for language in languages},
        "sentences": translation.underlying.sentencizer.split_sentences(request["paragraph"]),
        "texts": [
            argostranslate.translate.translate(text, source, target) for text in request["texts"]
        ],
        "readme": translation.underlying.pkg.get_readme(),
    }
    Path(sys.argv[1]).write_text(json.dumps(answer), encoding="utf-8")


main()
