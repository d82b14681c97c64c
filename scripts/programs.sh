#!/usr/bin/env bash
# Installs from the system's packages what tests drive or compare with, where that is allowed: two
# browsers and a Chinese font, g++, Node.js, gettext. What is missing then is named, and its tests
# skip; under CI=true that is a failure.
set -u
missing() { # package per program that is not on the path
    { command -v chromium-headless-shell || command -v chromium; } >/dev/null || echo chromium fonts-noto-cjk
    { command -v firefox-esr || command -v firefox; } >/dev/null || echo firefox-esr
    command -v g++ >/dev/null || echo g++
    command -v node >/dev/null || echo nodejs
    command -v npm >/dev/null || echo npm
    command -v msgfmt >/dev/null || echo gettext
}
install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return
    echo "installing with apt-get, for the tests: $*"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@"; } >/dev/null 2>&1
}
# Chromium without its window, where it is packaged: tests take a third less of the processor.
command -v chromium-headless-shell >/dev/null || install chromium-headless-shell fonts-noto-cjk
packages=$(missing | tr '\n' ' ')
[ -z "$packages" ] && exit 0
# shellcheck disable=SC2086 # a list of names
install $packages
packages=$(missing | tr '\n' ' ')
[ -z "$packages" ] && exit 0
echo "missing, so that their tests will skip: $packages(install them with: apt-get install $packages)"
if [ "${CI:-}" = true ]; then
    echo "CI=true: these tests must run" >&2
    exit 1
fi
