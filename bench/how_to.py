"""From nothing to answers, as a how-to of docs/how-to says: clone, settings, first answer, then the longer ones;
processor and wall seconds.

python -m bench how_to PAGE DOWNSTREAM KEY=UPSTREAM [KEY=UPSTREAM …] [--at REV] [--backend KEY] [--date YYYY-MM-DD]

The settings are the block of docs/how-to/PAGE.md; only where the upstream objects are is added. The cache is new.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import layline

SOURCE = str(Path(layline.__file__).resolve().parent.parent)
DOCS = Path(__file__).resolve().parent.parent / "docs"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench how_to")
    parser.add_argument("page")
    parser.add_argument("downstream", type=Path, help="a clone or bare mirror to clone from")
    parser.add_argument("objects", nargs="+", metavar="KEY=UPSTREAM", help="where each backend's objects are")
    parser.add_argument("--at", default="HEAD")
    parser.add_argument("--backend", default=None, help="default: the first one named")
    parser.add_argument("--date", default="2026-08-23")
    options = parser.parse_args(arguments)
    backend = options.backend or options.objects[0].partition("=")[0]
    with tempfile.TemporaryDirectory() as place:
        clone, cache = Path(place) / "clone", Path(place) / "cache"
        begun = time.monotonic()
        _time("git clone", "git", "clone", "-q", "--no-checkout", str(options.downstream), str(clone))
        at = subprocess.run(
            ["git", "rev-parse", options.at], cwd=options.downstream, capture_output=True, text=True, check=True
        )
        subprocess.run(["git", "update-ref", "--no-deref", "HEAD", at.stdout.strip()], cwd=clone, check=True)
        (clone / "layline.toml").write_text(
            _read_settings(options.page, dict(item.split("=", 1) for item in options.objects))
        )
        env = {**os.environ, "PYTHONPATH": SOURCE, "LAYLINE_CACHE": str(cache)}

        def ask(*words: str) -> str:
            return _time(
                "layline " + " ".join(words), sys.executable, "-P", "-m", "layline", *words, cwd=clone, env=env
            )

        ask("doctor")
        ask("gap", "show", backend, "--date", options.date)
        print(f"from nothing to the first answer: {time.monotonic() - begun:.1f} s wall")
        found = json.loads(ask("patches", "list", backend, "--format", "json"))
        print(
            f"  {len(found['patches'])} patches, {sum(len(patch['effects']) for patch in found['patches'])} "
            f"effects, {len(found['unregistered'])} outside any registration, {len(found['skipped'])} skipped"
        )
        drift = json.loads(ask("patches", "drift", backend, "--date", options.date, "--format", "json"))
        print(
            f"  {dict(Counter(row['kind'] for row in drift['rows']))}, "
            f"{dict(Counter(row['severity'] for row in drift['rows']))}, {len(drift['elsewhere'])} elsewhere"
        )
        print(ask("gap", "report", backend, "--date", options.date))
    return 0


def _read_settings(page: str, objects: dict[str, str]) -> str:
    """The complete block of the page, with `objects` in each backend's table."""
    blocks = re.findall(r"```toml\n(.*?)```", (DOCS / "how-to" / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
    text: str = next(block for block in blocks if "[project]" in block)
    for key, place in objects.items():
        text = text.replace(f"[backends.{key}]\n", f'[backends.{key}]\nobjects = "{Path(place).resolve()}"\n')
    return text


def _time(what: str, *command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{what}: {used:.1f} s processor, {time.monotonic() - begun:.1f} s wall, exit {done.returncode}", flush=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
