#!/bin/sh
# Installs the built wheel and the built sdist, each into a fresh environment of each Python, and runs the demo there.
# Usage: scripts/check_packages.sh [PYTHON ...]     (default: python3; DEMO=--quick leaves out the measuring)
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m hatchling build -d "$work/dist" >/dev/null 2>&1
[ $# -gt 0 ] || set -- python3
for python in "$@"; do
    for package in "$work"/dist/layline-*.whl "$work"/dist/layline-*.tar.gz; do
        name="$("$python" -c 'import platform; print(platform.python_version())') from ${package##*/}"
        rm -rf "$work/env" "$work/demo"
        "$python" -m venv "$work/env"
        "$work/env/bin/python" -m pip install -qq --disable-pip-version-check "${package}[pdf,campaign,mcp]"
        # shellcheck disable=SC2086  # one option, or none
        if (cd "$work" && env/bin/layline demo demo ${DEMO:-} >said 2>&1); then
            echo "$name: ok, $(tail -1 "$work/said")"
        else
            echo "$name: FAILED"; tail -40 "$work/said"; exit 1
        fi
    done
done
