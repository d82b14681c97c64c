"""A real browser, a real server, a small model that has really learned."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cutaway.decode import Translator
from cutaway.lessons import Lesson, LessonInputs, find
from cutaway.lessons.lesson import Step
from cutaway.serve import page_lessons
from cutaway.serve.session import Session
from tests.browser.toy import build

IN_FIREFOX = os.environ.get("CUTAWAY_BROWSER") == "firefox"
collect_ignore = ["test_firefox.py"] if IN_FIREFOX else []  # which would run the same again
EXAMPLES = ["The cat is on the mat.", "A child looks at the tree.", "The dog sees the house."]


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the toy translator."""
    return build(tmp_path_factory.mktemp("toy") / "toy")


@pytest.fixture(scope="session")
def served(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Session]]:
    """A server for the toy: its address, and the session behind it."""
    from cutaway.serve.app import create_app
    from cutaway.serve.listening import bound
    from cutaway.serve.server import Server

    younger = Translator.load(build(tmp_path_factory.mktemp("beside") / "younger", updates=20))
    app = create_app(
        Translator.load(toy), folder=toy, compared={"younger": younger}, examples=EXAMPLES
    )
    with bound("127.0.0.1", 0) as listening:
        server = Server(app, listening).start()
        yield server.url, app.state.session
        server.stop()


Told = dict[tuple[str, Translator], list[Step]]


@pytest.fixture(scope="session", autouse=True)
def told() -> Iterator[Told]:
    """The steps of lessons as servers of this process computed them, by lesson and model."""
    steps: Told = {}

    def listened(name: str) -> Lesson:
        lesson = find(name)

        def computed(inputs: LessonInputs) -> Iterator[Step]:
            found = list(lesson.steps(inputs))
            if not inputs.choices:
                steps[name, inputs.translator] = found
            return iter(found)

        return replace(lesson, steps=computed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_lessons, "find", listened)
        yield steps


class Watched:
    """A page of which every request and complaint is noted."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error}\n{error.stack}"))
        self.page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text) if message.type == "error" else None
            ),
        )
        self.page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))

    def go(self, url: str) -> None:
        """Open an address and wait until the page has drawn itself."""
        page, _, place = url.partition("#")
        if self.page.url.partition("#")[0].rstrip("/") == page.rstrip("/"):
            self.hash(f"#{place}")  # the same document: nothing is loaded
        else:
            self.page.goto(url)
            self.settled()

    def settled(self) -> None:
        """Wait until nothing is being fetched or drawn."""
        self.page.wait_for_selector("#columns[aria-busy=false]", state="attached")
        self.page.wait_for_load_state("networkidle")

    def hash(self, text: str) -> None:
        """Go to a place by its URL, as a link would, and wait until it is drawn."""
        self.page.evaluate(
            """hash => new Promise((resolve) => {
              const before = location.hash;
              addEventListener('hashchange', resolve, { once: true });
              location.hash = hash;
              if (location.hash === before) resolve();
            })""",
            text,
        )
        self.settled()

    def write(self, selector: str, text: str) -> None:
        """Type over what stands in a box; Firefox's driver types behind it where it is a number."""
        self.page.press(selector, "ControlOrMeta+a")
        self.page.locator(selector).press_sequentially(text)

    def table(self, address: str) -> None:
        """Wait until the table shows this matrix, and all numbers of its window."""
        self.page.wait_for_selector(
            f"cut-table[aria-busy=false] table[aria-label='{address}'] td[aria-selected]"
        )

    def inspect(self, address: str) -> dict[str, str]:
        """Open a cell by its address; what the inspector says about it."""
        self.page.evaluate(
            "at => window.cutaway.inspector.open(at)",
            address,
        )
        return self.inspected(address)

    def inspected(self, address: str) -> dict[str, str]:
        """What the inspector says, once it shows this cell."""
        self.page.wait_for_function(
            "at => document.querySelector('cut-inspector').dataset.address === at", arg=address
        )
        found: dict[str, str] = self.page.evaluate(
            "() => ({...document.querySelector('cut-inspector').dataset,"
            " good: document.querySelector('.verdict')?.dataset.good ?? '',"
            " kind: document.querySelector('.verdict')?.className ?? ''})"
        )
        return found


def without_motion(browser: Any, **options: Any) -> Any:
    """A window of a reader who wants nothing to move."""
    if browser.browser_type.name == "firefox":
        pytest.skip("Firefox's driver cannot ask for reduced motion")
    return browser.new_context(reduced_motion="reduce", locale="en-US", **options)


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    """A fresh page on a large screen."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    watched = Watched(context)
    yield watched
    context.close()
