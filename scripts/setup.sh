#!/bin/sh
# Sets up .venv with everything locked; where root and apt exist, also the system packages that tests and PDFs use.
# Says what is missing and goes on with what works.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
say() { printf '%s\n' "setup: $*" >&2; }

may_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }
apt_install() {
    may_apt || return 1
    if [ ! -e .stamps/apt-updated ]; then
        apt-get update -qq >/dev/null 2>&1 || return 1
        mkdir -p .stamps && : > .stamps/apt-updated
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    say "Python 3.11 or newer is needed (found: $("$PYTHON" --version 2>&1 || echo none)); set PYTHON=/path/to/python3.11"; exit 2; }
command -v git >/dev/null 2>&1 || apt_install git || { say "git is needed: install it and run again"; exit 2; }
command -v cc >/dev/null 2>&1 || apt_install gcc libc6-dev || say "no C compiler (cc): kernel campaigns on the CPU will say so and be skipped"

if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    rm -rf .venv
    if ! "$PYTHON" -m venv .venv >/dev/null 2>&1; then
        say "python's venv module cannot make an environment; trying apt's python3-venv"
        rm -rf .venv
        apt_install python3-venv || true
        "$PYTHON" -m venv .venv || { say "install python3-venv (or virtualenv) and run again"; exit 2; }
    fi
fi
.venv/bin/python -m pip install -qq --disable-pip-version-check -r requirements-dev.lock
.venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
.venv/bin/python -m compileall -q src tests  # as pip does for a package it installs: else the first commands pay for it

if [ "${LAYLINE_NO_BROWSER:-}" = "" ] && ! command -v chromium >/dev/null 2>&1; then
    apt_install chromium || say "no Chromium: browser tests will be skipped (apt-get install chromium)"
fi
mkdir -p .stamps
cat requirements-dev.lock pyproject.toml scripts/setup.sh | sha256sum > .stamps/setup
