"""Argos Translate installs an export and LibreTranslate serves it, both without a network."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cutaway.artifact.folder import ModelFolder
from cutaway.decode import DecodeOptions, Translator
from cutaway.export.argos import export_argos
from tests.export.helpers import phrases, trained_folder
from tests.interop.conftest import Ask, interpreter, offline

pytestmark = pytest.mark.interop


def expected(folder: ModelFolder, texts: list[str], language: str | None = None) -> list[str]:
    """What we find with the options of Argos, without the guard that decodes repetitions again."""
    translator = Translator(folder)
    tasks = [translator.task(text, language=language) for text in texts]
    results = translator.engine.search(
        tasks, DecodeOptions(beam=4, length_penalty=0.2, min_length=1), translator.special
    )
    return [translator.target_tokenizer.decode(each.hypotheses[0].ids) for each in results]


def test_argos_translate_installs_and_translates(tmp_path: Path, ask: Ask) -> None:
    package = tmp_path / "en_fr.argosmodel"
    export_argos(trained_folder(), package, quantization="float32")
    texts = phrases(23, seed=17)
    first, second = texts[0].capitalize(), texts[1].capitalize()
    answer = ask(
        "argos",
        "run_argos.py",
        {
            "packages": [str(package)],
            "pair": ["en", "fr"],
            "texts": texts,
            "paragraph": f"{first} {second} It was J. Smith!",
        },
    )
    assert answer["languages"] == {"en": "English", "fr": "French"}
    assert answer["texts"] == expected(trained_folder(), texts)
    assert answer["sentences"] == [first, second, "It was J. Smith!"]
    assert answer["readme"] == "# Word for word\n"


def test_a_vocabulary_for_each_side_and_the_tag_of_a_language(tmp_path: Path, ask: Ask) -> None:
    folder = trained_folder(sides=True)
    export_argos(folder, tmp_path / "en_fr.argosmodel", quantization="float32")
    texts = phrases(11, seed=4)
    request = {
        "packages": [str(tmp_path / "en_fr.argosmodel")],
        "pair": ["en", "fr"],
        "texts": texts,
        "paragraph": "One. Two.",
    }
    answer = ask("argos", "run_argos.py", request)
    assert answer["texts"] == expected(folder, texts, "fr")
    assert answer["texts"] != expected(folder, texts, "it")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def fetched(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def test_libretranslate_serves_it(tmp_path: Path) -> None:
    python = interpreter("libretranslate")
    packages = tmp_path / ".local/share/argos-translate/packages"
    packages.mkdir(parents=True)
    folder = trained_folder()
    for pair in (
        ("en", "fr"),
        ("fr", "en"),
    ):  # with fewer than two it looks for more in the network
        package = tmp_path / "x.argosmodel"
        export_argos(folder, package, quantization="float32", languages=pair)
        with zipfile.ZipFile(package) as archive:
            archive.extractall(packages)
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [
                python.with_name("libretranslate"),
                *("--host", "127.0.0.1", "--port", str(port)),
                *("--disable-web-ui", "--disable-files-translation"),
            ],
            env=offline(tmp_path),
            cwd=tmp_path,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + 240
        while True:
            try:
                languages = fetched(f"{url}/languages")
                break
            except (urllib.error.URLError, OSError):
                alive = server.poll() is None and time.monotonic() < deadline
                assert alive, (tmp_path / "log").read_text()[-3000:]
                time.sleep(1)
        assert {each["code"]: each["name"] for each in languages} == {
            "en": "English",
            "fr": "French",
        }
        texts = phrases(7, seed=17)
        answer = fetched(f"{url}/translate", {"q": texts, "source": "en", "target": "fr"})
        assert answer["translatedText"] == expected(trained_folder(), texts)
    finally:
        server.terminate()
        server.wait(timeout=30)
