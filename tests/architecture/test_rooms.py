"""`make test T=<room>`: every room and every test file has its place, and CONTRIBUTING says which."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "room_tests.py"


@pytest.fixture(scope="module")
def rooms() -> ModuleType:
    spec = importlib.util.spec_from_file_location("room_tests", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_test_file_belongs_to_a_room(rooms: ModuleType) -> None:
    held = {ROOT / path for room in rooms.find_rooms() for path in rooms.find_tests(room)}
    files = [
        path for path in (ROOT / "tests").rglob("test_*.py") if "gpu" not in path.parts and "corpus" not in path.parts
    ]
    alone = {"test_codec.py", "test_config.py", "test_files.py", "test_yaml_text.py"}
    homeless = [
        str(path.relative_to(ROOT)) for path in files if path.name not in alone and not held & {path, *path.parents}
    ]
    assert homeless == []


def test_contributing_names_every_room(rooms: ModuleType) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = page.partition("make test T=")[2].partition("\n## ")[0]
    assert [room for room in rooms.find_rooms() if f"`{room}`" not in part] == []


def _ask(room: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, room], capture_output=True, text=True, check=False)


def test_a_room_is_its_unit_tests_and_what_the_table_adds() -> None:
    done = _ask("mcp")
    assert (done.returncode, done.stdout.split()) == (0, ["tests/unit/mcp", "tests/functional/test_mcp.py"])


def test_an_unknown_room_is_a_sentence_that_lists_the_rooms() -> None:
    done = _ask("kitchen")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("There is no room called 'kitchen' with tests. Rooms: app, architecture, campaign, ")
