#!/usr/bin/env bash
# Installs Chromium and a Chinese font from the system's packages where that is allowed;
# otherwise says so and the browser tests skip.
set -u
have() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null; }
have && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing chromium for the browser tests"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-noto-cjk; } >/dev/null 2>&1
fi
have || echo "no chromium: browser tests will skip (install it with: apt-get install chromium fonts-noto-cjk)"
exit 0
