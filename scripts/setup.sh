#!/usr/bin/env bash
# Makes .venv in the project's root and installs everything pinned in constraints.txt.
# A second run finds the stamp of the same pyproject.toml and constraints.txt and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
stamp=.venv/installed-$(cat pyproject.toml constraints.txt scripts/setup.sh | sha256sum | cut -c1-16)
[ -e "$stamp" ] && exit 0

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "cutaway needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 and run make again" >&2
    exit 1
fi
if [ ! -x .venv/bin/pip ]; then
    echo "making .venv"
    rm -rf .venv
    if ! "$python" -m venv .venv 2>/dev/null; then  # Debian ships venv as a package of its own
        rm -rf .venv
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
        fi
        "$python" -m venv .venv || {
            echo "cannot make a virtual environment: install python3-venv and run make again" >&2
            exit 1
        }
    fi
fi
echo "installing (once; the largest part is torch)"
# torch first and exactly, so that no other package's looser range can pull a larger build.
.venv/bin/pip install -q --disable-pip-version-check -c constraints.txt torch==2.13.0
.venv/bin/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
rm -f .venv/installed-*
touch "$stamp"
