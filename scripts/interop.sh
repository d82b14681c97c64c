#!/usr/bin/env bash
# Installs the packages that exports are made for, each in an environment of its own where its
# versions clash with ours, and runs the tests marked `interop` against them. Options go to pytest.
# A second run finds what is installed; a package that cannot be installed leaves a note beside its
# place, which its tests give as their reason to skip. Under CI=true that is a failure.
set -u
cd "$(dirname "$0")/.."
place=.venv-interop
python=$(.venv/bin/python -c 'import sys; print(sys._base_executable)')
mkdir -p "$place"

# environment NAME CONSTRAINTS PACKAGE…
environment() {
    local name=$1 constraints=$2
    shift 2
    local stamp
    stamp=$place/$name/installed-$(echo "$* $(cat "$constraints")" | sha256sum | cut -c1-16)
    [ -e "$stamp" ] && return
    echo "installing $* in $place/$name"
    rm -rf "${place:?}/$name" "$place/$name.failed"
    if "$python" -m venv "$place/$name" >"$place/$name.log" 2>&1 &&
        "$place/$name/bin/pip" install -q --disable-pip-version-check -c "$constraints" "$@" \
            >>"$place/$name.log" 2>&1; then
        touch "$stamp"
    else
        grep -v WARNING "$place/$name.log" | tail -n 1 >"$place/$name.failed"
        echo "cannot install $*: $(cat "$place/$name.failed")"
    fi
}

# LibreTranslate pins an older numpy than ours: of our constraints it gets torch's alone.
grep '^torch==' constraints.txt >"$place/torch.txt"
environment huggingface constraints.txt torch==2.13.0 transformers==5.22.2 sentencepiece
environment argos constraints.txt torch==2.13.0 argostranslate==1.11.0
environment libretranslate "$place/torch.txt" libretranslate==1.9.6
environment ray constraints.txt 'ray[data]==2.60.0' torch==2.13.0 ctranslate2 sentencepiece safetensors typer rich
environment notebook constraints.txt nbconvert==7.17.2 ipykernel==7.4.0

# The ends of the range that pyproject.toml allows. Other versions than ours are CUDA builds that ask
# for gigabytes of libraries: these stay away, and stand-ins let torch run on the CPU.
grep -v '^torch==' constraints.txt >"$place/others.txt"
other_torch() {
    local name=$1 version=$2 site
    environment "$name" "$place/others.txt" numpy sentencepiece safetensors ctranslate2 sacrebleu \
        typer rich fastapi uvicorn filelock networkx jinja2 fsspec sympy typing_extensions
    [ -e "$place/$name/torch-$version" ] || [ -e "$place/$name.failed" ] && return
    echo "installing torch $version alone in $place/$name"
    if "$place/$name/bin/pip" install -q --disable-pip-version-check --no-deps "torch==$version" \
        >>"$place/$name.log" 2>&1 &&
        site=$("$place/$name/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))') &&
        "$python" tests/interop/cuda_stubs.py "$site/torch/lib" >>"$place/$name.log" 2>&1; then
        touch "$place/$name/torch-$version"
    else
        tail -n 1 "$place/$name.log" >"$place/$name.failed"
        echo "cannot install torch $version: $(cat "$place/$name.failed")"
    fi
}
other_torch torch_oldest 2.6.0
other_torch torch_newest 2.15.0

# The page's scripts are checked by programs of their own kind; no script of theirs is run.
tools=$place/page/node_modules/.bin
if ! cmp -s scripts/page/package-lock.json "$place/page/package-lock.json" ||
    ! "$tools/tsc" --version >/dev/null 2>&1; then
    rm -rf "$place/page" "$place/page.failed"
    cp -r scripts/page "$place/page"
    { timeout 300 npm ci --ignore-scripts --silent --no-audit --no-fund --prefix "$place/page" &&
        "$tools/tsc" --version && "$tools/prettier" --version
    } >"$place/page.log" 2>&1 ||
        echo "npm gives no prettier and typescript" | tee "$place/page.failed"
fi

# LibreOffice recomputes exported spreadsheets; without it that test skips and says so.
if ! command -v soffice >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing libreoffice-calc with apt-get, for the test of exported spreadsheets"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends libreoffice-calc; } >"$place/libreoffice.log" 2>&1
fi

missing=$(cd "$place" && ls -- *.failed 2>/dev/null | sed 's/\.failed$//' | tr '\n' ' ')
command -v soffice >/dev/null || missing="${missing}libreoffice"
if [ -n "${missing// /}" ] && [ "${CI:-}" = true ]; then
    echo "CI=true: these must be installed, and cannot be: $missing (logs in $place)" >&2
    exit 1
fi

OMP_NUM_THREADS=1 exec .venv/bin/python -m pytest -m interop tests/interop tests/model "$@"
