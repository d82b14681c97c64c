#!/usr/bin/env bash
# Installs the packages that exports are made for, each in an environment of its own where its
# versions clash with ours, and runs the tests marked `interop` against them. Options go to pytest.
# A second run finds what is installed; a package that cannot be installed leaves a note beside its
# place, which its tests give as their reason to skip.
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
environment notebook constraints.txt nbconvert==7.17.2 ipykernel==7.4.0

# The page's scripts are checked by programs of their own kind.
tools=$place/page/node_modules/.bin
if ! "$tools/tsc" --version >/dev/null 2>&1; then
    rm -f "$place/page.failed"
    { timeout 300 npm install --silent --no-audit --no-fund --prefix "$place/page" \
        prettier@3.9.10 typescript@7.0.2 && "$tools/tsc" --version && "$tools/prettier" --version
    } >"$place/page.log" 2>&1 ||
        echo "npm gives no prettier and typescript" | tee "$place/page.failed"
fi

# LibreOffice recomputes exported spreadsheets; without it that test skips and says so.
if ! command -v soffice >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing libreoffice-calc"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends libreoffice-calc; } >"$place/libreoffice.log" 2>&1
fi

OMP_NUM_THREADS=1 exec .venv/bin/python -m pytest -m interop tests/interop tests/model "$@"
