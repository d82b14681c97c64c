"""The rules of the house: who may import whom, print, touch the disk, and what an import does."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import cutaway

PACKAGE = Path(cutaway.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# The journey of the data: a stage imports from itself and from stages before it.
STAGES = [
    "text",
    "corpus",
    "model",
    "artifact",
    "glass",
    "training",
    "decode",
    "evaluation",
    "export",
    "lessons",
    "serve",
    "cli",
]
EVERYWHERE = {"config", "errors", "version", "data", "numbers", "report", "system"}
WRITERS = {
    "text",
    "corpus",
    "artifact",
    "training",
    "evaluation",
    "glass",
    "export",
    "cli",
    "system",
}

HEAVY = {"torch", "numpy", "sentencepiece", "sacrebleu", "fastapi", "uvicorn", "safetensors"}
# These run what they read (S301, S307), or reach out to the network.
UNSAFE_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
NETWORK_MODULES = {"socket", "requests", "httpx", "aiohttp", "ftplib", "smtplib", "urllib3"}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "torch.load", "torch.save", "os.system"}


def name_of(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def stage_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imported(file: Path) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, inside functions too."""
    package = ["cutaway", *file.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{module}.{alias.name}"


def calls(file: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything called."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)


def broken(rule: str, places: list[str]) -> None:
    assert not places, f"{rule}:\n" + "\n".join(places)


def test_the_rules_see_the_whole_package() -> None:
    assert {stage_of(file) for file in FILES} <= {*STAGES, *EVERYWHERE, "__init__", "__main__"}
    assert set(STAGES) <= {stage_of(file) for file in FILES}


def test_a_stage_imports_only_from_stages_before_it() -> None:
    places = []
    for file in FILES:
        stage = stage_of(file)
        for line, module in imported(file):
            root, _, rest = module.partition(".")
            other = rest.partition(".")[0]
            if root != "cutaway" or other in EVERYWHERE or other not in STAGES:
                continue
            if stage in EVERYWHERE or (
                stage in STAGES and STAGES.index(other) > STAGES.index(stage)
            ):
                places.append(f"{name_of(file)}:{line} imports {module}")
    broken("a stage may import only from itself and from what comes before it", places)


def test_nothing_but_the_entry_point_imports_the_command_line() -> None:
    places = [
        f"{name_of(file)}:{line}"
        for file in FILES
        for line, module in imported(file)
        if module.startswith("cutaway.cli")
        and stage_of(file) != "cli"
        and name_of(file) != "__main__.py"
    ]
    broken("only __main__ imports cli", places)


def test_the_model_knows_torch_and_its_settings_and_nothing_else() -> None:
    allowed = {"torch", *sys.stdlib_module_names}
    places = [
        f"{name_of(file)}:{line} imports {module}"
        for file in FILES
        if stage_of(file) == "model"
        for line, module in imported(file)
        if module.partition(".")[0] not in allowed
        and not module.startswith(("cutaway.config.", "cutaway.errors.", "cutaway.model."))
    ]
    broken("model imports torch, cutaway.config, cutaway.errors and itself", places)


def test_glass_knows_torch_and_nothing_of_our_model() -> None:
    """`cutaway.glass` records any PyTorch model: it could be installed alone."""
    places = [
        f"{name_of(file)}:{line} imports {module}"
        for file in FILES
        if stage_of(file) == "glass"
        for line, module in imported(file)
        if module.startswith("cutaway.")
        and not module.startswith(("cutaway.glass", "cutaway.errors.", "cutaway.numbers."))
    ]
    broken("glass imports cutaway.errors, cutaway.numbers and itself", places)


def test_only_the_command_line_prints() -> None:
    places = [
        f"{name_of(file)}:{line}"
        for file in FILES
        for line, call in calls(file)
        if call in {"print", "rich.print", "typer.echo", "pprint"} and stage_of(file) != "cli"
    ]
    broken("only cli prints", places)


def writes(file: Path) -> Iterator[int]:
    """Lines that change the disk: writing methods, and open with a mode that writes."""
    methods = {"write_text", "write_bytes", "mkdir", "unlink", "rename", "rmdir", "touch"}
    functions = {"save_file", "os.replace", "os.remove", "os.makedirs", "shutil.rmtree"}
    for node in ast.walk(tree_of(file)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        modes = [
            argument.value
            for argument in [*node.args, *(keyword.value for keyword in node.keywords)]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ]
        opens = last == "open" and any(set(mode) & set("wax+") and len(mode) < 4 for mode in modes)
        if last in methods or name in functions or last == "save_file" or opens:
            yield node.lineno


def test_only_the_stages_that_keep_things_write_to_disk() -> None:
    places = [
        f"{name_of(file)}:{line}"
        for file in FILES
        if stage_of(file) not in WRITERS
        for line in writes(file)
    ]
    broken(f"only {', '.join(sorted(WRITERS))} write files", places)


def test_model_and_decode_do_not_read_files_either() -> None:
    reading = {"open", "read_text", "read_bytes", "load_file", "memmap"}
    places = [
        f"{name_of(file)}:{line} calls {call}"
        for file in FILES
        if stage_of(file) in {"model", "decode"}
        for line, call in calls(file)
        if call.rpartition(".")[2] in reading
    ]
    broken("model and decode work on tensors and text in memory", places)


def test_nothing_that_runs_what_it_reads() -> None:
    """No pickle in any dress, no eval, no exec."""
    places = [
        f"{name_of(file)}:{line} {what}"
        for file in FILES
        for line, what in [*imported(file), *calls(file)]
        if what.partition(".")[0] in UNSAFE_MODULES or what in UNSAFE_CALLS
    ]
    broken("no pickle, eval or exec", places)


def test_nothing_reaches_out_to_the_network() -> None:
    """The server listens on this machine; nothing calls another one."""
    places = [
        f"{name_of(file)}:{line} imports {module}"
        for file in FILES
        for line, module in imported(file)
        if (
            module.partition(".")[0] in NETWORK_MODULES
            and stage_of(file) not in {"serve", "cli", "system"}
        )
        or module.startswith(("urllib.request", "http.client"))
    ]
    broken("no network at run time", places)


QUIET = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.If,  # TYPE_CHECKING
    ast.Try,  # an optional package
)


def test_nothing_happens_at_import() -> None:
    """A module defines; only the command line registers its verbs, and only __main__ runs."""
    places = []
    for file in FILES:
        if stage_of(file) in {"cli", "__main__"}:
            continue
        for node in tree_of(file).body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not (docstring or isinstance(node, QUIET)):
                places.append(f"{name_of(file)}:{node.lineno} {ast.unparse(node)[:60]}")
    broken("nothing happens at import", places)


def in_fresh_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        "import cutaway",
        "import cutaway.config, cutaway.errors",
        "import cutaway.cli.main",
        "import sys; sys.argv = ['cutaway', '--help']; from cutaway.cli.main import app\n"
        "try: app(prog_name='cutaway')\nexcept SystemExit: pass",
    ],
    ids=["import cutaway", "settings", "command line", "cutaway --help"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    look = f"\nimport sys\nsys.exit(', '.join({HEAVY!r} & sys.modules.keys()) or 0)"
    result = in_fresh_python(code + look)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


TRANSLATED = (
    "from cutaway import load\nload('demo-en-fr', engine='torch').translate(['The cat sleeps.'])"
)
FITTED = """
import torch
from cutaway.lessons.fit import fit
number = torch.tensor(3.0, requires_grad=True)
assert fit([number], lambda: number.square(), updates=3, rate=0.5)[2] < 9
"""


@pytest.mark.parametrize("code", [TRANSLATED, FITTED])
def test_the_model_itself_works_without_torchs_compiler(code: str) -> None:
    """It takes two seconds to load; the meta device and torch's own optimizers would load it."""
    result = in_fresh_python(f"{code}\nimport sys\nsys.exit('torch._dynamo' in sys.modules)")
    assert result.returncode == 0, result.stderr


def test_translating_loads_no_torch() -> None:
    """`cutaway translate FOLDER TEXT` from the shell: what it loads decides how long one waits."""
    code = (
        "import sys; sys.argv = ['cutaway', 'translate', 'demo-en-fr', 'The cat is on the mat.']\n"
        "from cutaway.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'sacrebleu', 'fastapi', 'uvicorn', 'rich'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    result = in_fresh_python(code)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "Le chat est sur le tapis.\n"


def test_every_module_imports_in_silence() -> None:
    """All of them, in one fresh interpreter, with warnings as errors."""
    modules = [
        ".".join(["cutaway", *file.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(
            ".__init__"
        )
        for file in FILES
        if name_of(file) != "__main__.py"
    ]
    optional = "('onnx', 'onnxscript', 'onnxruntime', 'openpyxl', 'tensorboard')"
    code = (
        "import importlib\n"
        f"for name in {modules!r}:\n"
        "    try:\n"
        "        importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error:\n"
        f"        assert error.name in {optional}, error\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""


def public(file: Path) -> set[str]:
    """Names without an underscore that a file imports from the package or defines."""
    names = set()
    for node in tree_of(file).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cutaway"):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


PACKAGES = [PACKAGE / "__init__.py", *(PACKAGE / stage / "__init__.py" for stage in STAGES)]


@pytest.mark.parametrize("file", PACKAGES, ids=name_of)
def test_all_is_what_a_package_offers(file: Path) -> None:
    """Every name in __all__ is there, once; and no public name is left out."""
    path = ["cutaway", *file.relative_to(PACKAGE).parts[:-1]]
    module = importlib.import_module(".".join(path))
    offered = getattr(module, "__all__", [])
    for name in offered:
        assert hasattr(module, name), f"{module.__name__}.__all__ promises {name}"
    assert len(set(offered)) == len(offered)
    assert public(file) <= {*offered, "__version__"}


def test_the_models_public_names() -> None:
    """What others code against; a change here is a change of the interface."""
    from cutaway import model

    assert set(model.__all__) >= {
        "DecodingState",
        "MultiHeadAttention",
        "Transformer",
        "attention",
        "causal_mask",
        "explicit",
        "local_attention",
        "padding_mask",
        "sinusoidal",
    }
