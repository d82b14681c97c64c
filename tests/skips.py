"""A skipped test is written down in skips.toml or fails the run: what is not run is not tested."""

import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).with_name("skips.toml")


class Skips:
    """A pytest plugin: counts skips by reason, and ends the run with a line about them."""

    def __init__(self, path: Path = LIST) -> None:
        self.entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["skip"]
        self.found: Counter[str] = Counter()
        self.ci = os.environ.get("CI", "").lower() in ("1", "true")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Every report of every worker passes here in the main process."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self.found[reason_of(report)] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A whole file may be skipped while it is imported."""
        if report.skipped:
            self.found[reason_of(report)] += 1

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """After all else that is printed at the end."""
        yield
        if hasattr(session.config, "workerinput") or not self.found:
            return
        refused = [reason for reason in self.found if not self.allowed(reason)]
        printer = session.config.get_terminal_writer()
        if refused:
            known = "not allowed under CI=true" if self.ci else "not in tests/skips.toml"
            printer.line(f"FAILED: skipped tests, {known}: {self.listed(refused)}", red=True)
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        else:
            printer.line(
                f"NOT TESTED on this machine: {self.listed(list(self.found))}", yellow=True
            )

    def allowed(self, reason: str) -> bool:
        """Whether an entry of the list covers the reason, here."""
        return any(
            re.match(entry["reason"], reason) and (entry["ci"] or not self.ci)
            for entry in self.entries
        )

    def listed(self, reasons: list[str]) -> str:
        """`12 × no chromium; 1 × …`."""
        return "; ".join(f"{self.found[reason]} × {reason}" for reason in sorted(reasons))


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The words given to pytest.skip."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return str(report.longrepr)
