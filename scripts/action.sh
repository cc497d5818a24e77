#!/usr/bin/env bash
# The steps of the GitHub Action, runnable anywhere: one summary for all backends, one SARIF file each.
# Reads LAYLINE_BACKENDS, LAYLINE_TO, LAYLINE_CONFIG, LAYLINE_FETCH, LAYLINE_FAIL_ON; writes below $RUNNER_TEMP.
set -euo pipefail
out="${RUNNER_TEMP:-$(mktemp -d)}/layline"
summary="${GITHUB_STEP_SUMMARY:-$out/summary.md}"
mkdir -p "$out/sarif"
config=(-c "${LAYLINE_CONFIG:-layline.toml}")
to=(); [ -n "${LAYLINE_TO:-}" ] && to=(--to "$LAYLINE_TO")
fetch=(); [ "${LAYLINE_FETCH:-false}" = true ] && fetch=(--fetch)
fail_on="${LAYLINE_FAIL_ON:-breaks}"

backends="${LAYLINE_BACKENDS:-}"
if [ -z "$backends" ]; then
    backends=$(layline doctor "${config[@]}" --format json | python3 -c '
import json, sys
print(" ".join(dict.fromkeys(f["subject"] for f in json.load(sys.stdin)["findings"] if f["subject"] != "machine")))' || true)
fi
status=0
for backend in $backends; do
    layline gap show "$backend" "${config[@]}" "${to[@]}" "${fetch[@]}" --format md >> "$summary"
    set +e
    layline patches drift "$backend" "${config[@]}" "${to[@]}" --fail-on "$fail_on" --format md >> "$summary"
    code=$?
    layline patches drift "$backend" "${config[@]}" "${to[@]}" --fail-on none --format sarif -o "$out/sarif/$backend.sarif"
    layline patches drift "$backend" "${config[@]}" "${to[@]}" --fail-on none --format github
    set -e
    [ "$code" -gt "$status" ] && status=$code
    echo >> "$summary"
done
[ -n "${GITHUB_OUTPUT:-}" ] && echo "sarif=$out/sarif" >> "$GITHUB_OUTPUT"
exit "$status"
