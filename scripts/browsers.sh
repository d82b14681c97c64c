#!/usr/bin/env bash
# Installs Chromium, Firefox and a Chinese font from the system's packages where that is allowed;
# otherwise says so and the browser tests skip. Under CI=true a missing browser is a failure.
set -u
has_chromium() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null; }
has_firefox() { command -v firefox-esr >/dev/null || command -v firefox >/dev/null; }
has_chromium && has_firefox && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium, firefox-esr and fonts-noto-cjk with apt-get, for the browser tests"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq chromium firefox-esr fonts-noto-cjk; } >/dev/null 2>&1
fi
has_chromium && has_firefox && exit 0
has_chromium || echo "no chromium: browser tests will skip (install it with: apt-get install chromium fonts-noto-cjk)"
has_firefox || echo "no firefox: its browser tests will skip (install it with: apt-get install firefox-esr)"
if [ "${CI:-}" = true ]; then
    echo "CI=true: the browser tests must run" >&2
    exit 1
fi
