#!/usr/bin/env bash
# Makes .venv in the project's root and installs what requirements.lock lists, torch and the project.
# A second run finds the stamp of the same files and does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
stamp=.venv/installed-$(cat pyproject.toml constraints.txt requirements.lock scripts/setup.sh | sha256sum | cut -c1-16)
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
pip() { .venv/bin/pip install -q --disable-pip-version-check "$@"; }
# Files by hash, in one step without looking for others. torch exactly but by version: its build
# differs between accelerators, and a looser pin would pull gigabytes.
pip --require-hashes --no-deps -r requirements.lock
pip -c constraints.txt torch==2.13.0
pip --no-deps --no-build-isolation -e .
.venv/bin/pip check --disable-pip-version-check -q >&2
rm -f .venv/installed-*
touch "$stamp"
