#!/usr/bin/env python3
"""Which tests belong to a room: `make test T=gap` runs what this prints. The one table; CONTRIBUTING.md shows it.

A room is a package of `src/layline`. Its tests are `tests/unit/<room>` and the functional, property and browser tests
named here; `architecture` stands for the tests of the docs and the packaging, `timing` for those that measure or wait for
processes, wherever they live, and `app` has the functional tests that no other room takes.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BESIDES = {
    "architecture": ("architecture",),
    "campaign": ("functional/test_campaign*.py", "functional/test_bench_csv.py", "properties/test_campaign.py", "properties/test_judge.py"),
    "change": ("properties/test_source.py",),
    "cli": ("functional/test_output.py", "functional/test_missing_packages.py", "functional/test_skills.py", "functional/test_ci_checks.py"),
    "core": ("properties/test_records.py",),
    "coupling": ("functional/sample/test_drift.py",),
    "dashboard": ("functional/test_dashboard_*.py", "functional/test_site_*.py", "browser"),
    "editor": ("functional/test_editor.py",),
    "gap": ("functional/test_gap_*.py", "functional/sample/test_gap.py"),
    "git": ("functional/test_fetch.py",),
    "interpreter": ("unit/patches/test_idioms.py",),
    "mcp": ("functional/test_mcp.py",),
    "patches": (
        "functional/test_patches_upstream.py", "functional/test_namespaces.py", "functional/test_without_registry.py", "functional/test_retarget*.py", "functional/test_drift*.py", "functional/sample/test_drift.py",
        "functional/sample/test_inventory.py", "functional/sample/test_kept_answers.py", "functional/sample/test_notes.py", "functional/sample/test_port*.py", "functional/sample/test_trace.py",
        "functional/sample/test_retarget.py", "properties/test_shortcuts.py",
    ),
    "periodic": ("functional/test_periodic*.py",),
    "render": ("functional/test_pdf.py", "properties/test_render.py"),
    "sample": ("functional/sample/test_answers.py", "functional/sample/test_demo.py", "functional/sample/test_world.py"),
    "source": ("properties/test_source.py",),
    "timing": (
        "unit/campaign/devices", "unit/campaign/measure", "unit/campaign/proposers", "functional/test_campaign*.py", "unit/executors", "unit/source/test_index.py", "functional/test_cache_commands.py",
        "functional/test_editor.py", "functional/test_mcp.py",
    ),
    "upgrade": ("functional/test_upgrade*.py", "functional/test_retarget*.py"),
}  # fmt: skip
"""Room → paths below `tests`, beside `unit/<room>`; what is not there yet, or no more, is left out."""


def find_rooms() -> list[str]:
    packages = {path.parent.name for path in (ROOT / "src" / "layline").glob("*/__init__.py")}
    return sorted(room for room in packages | set(BESIDES) if find_tests(room))


def find_tests(room: str) -> list[str]:
    """The paths of a room's tests, relative to the repository."""
    tests = ROOT / "tests"
    found = [path for pattern in (f"unit/{room}", *BESIDES.get(room, ())) for path in sorted(tests.glob(pattern))]
    if room == "app":
        held = {path for patterns in BESIDES.values() for pattern in patterns for path in tests.glob(pattern)}
        found += sorted(set(tests.glob("functional/test_*.py")) - held)
    return [path.relative_to(ROOT).as_posix() for path in found]


def main(room: str) -> int:
    if room not in find_rooms():
        print(f"There is no room called {room!r} with tests. Rooms: {', '.join(find_rooms())}.", file=sys.stderr)
        return 2
    print(*find_tests(room))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or [""]))
