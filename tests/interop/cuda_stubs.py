"""Stand-ins for the CUDA libraries that a CUDA build of torch loads, where it runs on the CPU.

`python cuda_stubs.py TORCH_LIB` adds to torch/lib a library for each one that is asked for and that
this machine lacks, with the symbols that would be missing. Each call answers "no device" (100).
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

NO_DEVICE = 100  # cudaErrorNoDevice


def output(*command: str) -> list[str]:
    """The lines a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def versions_of(libraries: list[Path]) -> dict[str, str]:
    """Version of a symbol → the library it is asked of."""
    owners: dict[str, str] = {}
    for path in libraries:
        asked = ""
        for line in output("readelf", "--version-info", "--wide", str(path)):
            if found := re.search(r"File: (\S+)", line):
                asked = found[1]
            elif (found := re.search(r"Name: (\S+)  Flags", line)) and asked:
                owners[found[1]] = asked
    return owners


def missing_symbols(libraries: list[str], torch: list[Path]) -> dict[str, str]:
    """Symbol → its version, of those that torch asks for and no library has."""
    defined: set[str] = set()
    undefined: dict[str, str] = {}
    names = {str(path) for path in torch}
    for path in libraries:
        for line in output("nm", "--dynamic", path):
            *_, kind, symbol = line.split()
            name, _, version = symbol.replace("@@", "@").partition("@")
            if kind != "U":
                defined.add(name)
            elif path in names and not name.lstrip("_").startswith("Py"):
                undefined.setdefault(name, version)
    return {name: version for name, version in undefined.items() if name not in defined}


def main() -> None:
    """Find what is missing, and assemble it."""
    folder = Path(sys.argv[1])
    torch = [path for path in folder.glob("*.so*") if path.is_file()]
    system = dict(line.split(" => ") for line in output("ldconfig", "-p") if " => " in line)
    system = {name.split()[0]: path for name, path in system.items()}
    wanted = {
        found[1]
        for path in torch
        for line in output("readelf", "--dynamic", str(path))
        if (found := re.search(r"NEEDED.*\[(.*)\]", line))
    }
    missing = sorted(wanted - set(system) - {path.name for path in torch})
    there = [system[name] for name in wanted & set(system)]
    owners = versions_of(torch)
    symbols: dict[str, list[str]] = defaultdict(list)
    for name, version in missing_symbols([*map(str, torch), *there], torch).items():
        symbols[owners.get(version, *missing[:1])].append(name)
    source, script = folder / "stub.s", folder / "stub.versions"
    for library in missing:
        labels = [f".globl {name}\n.type {name}, @function\n{name}:" for name in symbols[library]]
        body = [".text", *labels, f"mov ${NO_DEVICE}, %eax", "ret"]
        source.write_text("\n".join([*body, '.section .note.GNU-stack,"",@progbits', ""]))
        named = [version for version, owner in owners.items() if owner == library]
        script.write_text("".join(f"{version} {{ global: *; }};\n" for version in named))
        options = [f"-Wl,--version-script={script}"] if named else []
        options += [f"-Wl,-soname,{library}", "-o", str(folder / library)]
        output("cc", "-shared", "-nostdlib", *options, str(source))


main()
