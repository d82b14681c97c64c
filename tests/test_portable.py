"""Linux, macOS and Windows differ in `cutaway.system` only: no other module calls POSIX.

The sources are searched; and in a Python without the functions and modules of POSIX everything is
imported, and what `system` has for other systems is used.
"""

import ast
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

import cutaway
from cutaway.system import files, locks, processes, signals, sockets
from cutaway.system.processes import processors

PACKAGE = Path(cutaway.__file__).parent
MODULES = {
    "fcntl", "resource", "termios", "tty", "pty", "pwd", "grp", "posix", "syslog", "crypt",
    "readline", "msvcrt", "winreg", "ctypes", "_winapi",
}  # fmt: skip
FUNCTIONS = {
    "chown", "chroot", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid",
    "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getsid", "getuid", "getxattr",
    "kill", "killpg", "lchown", "link", "mkfifo", "mknod", "nice", "openpty", "pipe2",
    "posix_spawn", "pread", "pwrite", "register_at_fork", "rename", "renames", "replace",
    "sched_getaffinity",
    "sched_setaffinity", "sendfile", "set_blocking", "setgid", "setpgid", "setpriority", "setsid",
    "setuid", "splice", "statvfs", "symlink", "sync", "sysconf", "tcgetpgrp", "uname", "wait",
    "wait3", "wait4", "waitid", "waitpid", "umask",
}  # fmt: skip
ARGUMENTS = {"pass_fds", "preexec_fn", "start_new_session", "process_group", "creationflags"}
PATHS = ("/proc", "/dev/", "/sys/", "/etc/", "/tmp", "/var/", "forkserver")
METHODS = {"rename", "symlink_to", "hardlink_to"}  # and `replace` with one argument
SIGNALS = {"SIGKILL", "SIGUSR1", "SIGUSR2", "SIGHUP", "SIGALRM", "SIGCHLD", "alarm", "pthread_kill"}
ALLOWED = {
    ("glass/store.py", "os.umask"),  # glass could be installed alone; Windows has it too
    ("glass/origin.py", "ctypes"),  # memory as bytes, the same on every system
    ("glass/updates.py", ".rename"),  # of a value, not of a file
}


def uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of everything in a module that belongs to one kind of system."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for name in [*named, module]:
                if name.partition(".")[0] in MODULES:
                    yield node.lineno, name
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id == "os" and node.attr in FUNCTIONS) or (
                node.value.id == "signal" and node.attr in SIGNALS
            ):
                yield node.lineno, f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call):
            for argument in node.keywords:
                if argument.arg in ARGUMENTS:
                    yield node.lineno, argument.arg or ""
            if isinstance(node.func, ast.Attribute):
                method = node.func.attr
                if method in METHODS or (method == "replace" and len(node.args) == 1):
                    yield node.lineno, f".{method}"
        elif isinstance(node, ast.Constant) and (
            str(node.value).startswith(PATHS) or node.value == "fork"
        ):
            yield node.lineno, str(node.value)


@pytest.mark.parametrize(
    "line",
    [
        "import fcntl", "from resource import getrusage", "os.kill(3, 0)", "os.replace(a, b)",
        "Path('a').replace(b)", "path.rename(b)", "Popen(x, pass_fds=[3])",
        "open('/proc/self/stat')", "get_context('fork')", "signal.SIGUSR1",
    ],
)  # fmt: skip
def test_the_search_finds_what_belongs_to_one_system(line: str) -> None:
    assert list(uses(ast.parse(line)))


def test_the_search_leaves_alone_what_every_system_has() -> None:
    fine = "os.path.join(a, b); text.replace('a', 'b'); replace(config, seed=1); signal.SIGTERM"
    assert not list(uses(ast.parse(fine)))


def test_only_the_modules_of_the_system_know_it() -> None:
    places = [
        f"{name}:{line} {what}"
        for file in sorted(PACKAGE.rglob("*.py"))
        if (name := file.relative_to(PACKAGE).as_posix()).partition("/")[0] != "system"
        for line, what in uses(ast.parse(file.read_text(encoding="utf-8")))
        if (name, what) not in ALLOWED
    ]
    assert not places, "belongs to cutaway.system:\n" + "\n".join(places)


WITHOUT_POSIX = """
import os, sys
import torch, numpy, fastapi, uvicorn, sentencepiece, safetensors, rich, typer, ctranslate2
import sacrebleu
for name in {modules!r}:
    sys.modules[name] = None
for name in {functions!r}:
    if hasattr(os, name) and name not in ("replace", "rename", "umask", "kill"):
        delattr(os, name)
import importlib, pkgutil, cutaway
for module in pkgutil.walk_packages(cutaway.__path__, "cutaway."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from cutaway.system import processes, locks
assert processes.processors() >= 1
assert processes.resident_bytes() == 0
processes.lower_priority(3)
assert locks.lock(open(sys.argv[1], "a+")) is None
"""


def test_everything_imports_in_a_python_without_posix(tmp_path: Path) -> None:
    gone = MODULES - {"ctypes", "msvcrt", "winreg", "_winapi", "posix", "readline"}
    code = WITHOUT_POSIX.format(modules=gone, functions=FUNCTIONS)
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "file")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]


def test_windows_is_asked_again_while_somebody_holds_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text("new")
    attempts: list[int] = []
    real = os.replace

    def held(one: Path, other: str) -> None:
        attempts.append(1)
        if len(attempts) < 3:
            raise PermissionError(13, "in use")
        real(one, other)

    monkeypatch.setattr(os, "replace", held)
    with pytest.raises(PermissionError):  # elsewhere it is an error at once
        files.replace(new, old)
    monkeypatch.setattr(files, "WINDOWS", True)
    files.replace(new, old)
    assert old.read_text() == "new"


def test_a_folder_is_exchanged_where_the_kernel_cannot_swap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_swap", lambda one, other: False)
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / folder.name).touch()
    files.exchange(new, old)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert [path.name for path in old.iterdir()] == ["new"]


def test_a_folder_is_not_flushed_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WINDOWS", True)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened a folder"))
    files.flush(tmp_path)


def test_a_socket_goes_to_a_child_through_its_standard_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on Windows, whose `share` and `fromshare` are played here by the descriptor's number."""
    pipe = BytesIO()
    sockets.send_socket(pipe, b"seven")
    pipe.seek(0)
    with socket.socket() as ours:
        known = {b"seven": ours}
        monkeypatch.setattr(socket, "fromshare", known.__getitem__, raising=False)
        assert sockets.inherited_socket(sockets.SHARED, pipe) is ours
    assert pipe.read() == b""


def test_who_is_alive() -> None:
    assert processes.alive(os.getpid())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not processes.alive(ended.pid)


def test_a_lock_is_taken_once(tmp_path: Path) -> None:
    with (tmp_path / "file").open("a+") as one, (tmp_path / "file").open("a+") as other:
        assert locks.lock(one) is True
        assert locks.lock(other) is False


def test_the_signals_that_stop_a_run_have_names() -> None:
    assert {signals.signal_name(number) for number in signals.STOPPING} >= {"SIGTERM", "SIGINT"}
    assert signals.signal_name(999) == "signal 999"


@pytest.mark.parametrize(
    ("asked", "most"),
    [("1", 1), ("1,2", 1), (" 1 ", 1), ("100000", None), ("0", None), ("x", None)],
)
def test_no_more_processors_are_used_than_asked_for(
    asked: str, most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    there = processors()
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert processors() == (most or there)
