"""A row stands once, under the backend it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.config import Backend, Project, Settings
from layline.patches.inventory.owners import find_home
from layline.patches.inventory.read import read_inventory
from snippets import open_reading

UP = Backend(path="third_party/up", packages=("up",))
DOWN = Backend(path="third_party/down", packages=("down",))
NESTED = Backend(path="third_party/nested", packages=("up.nested",))
TORCH = "import torch\ndef f(): pass\ntorch.load = f\n"
OBJECT = "def g(self): pass\ndef go(model):\n    model.forward = g\n"
TWO = {"up": UP, "down": DOWN}


def put(backend: Backend, *folders: str) -> Backend:
    return Backend(path=backend.path, packages=backend.packages, integration=folders)


HOMES = [
    # what it shows, backends, its folder, what it imports, where it belongs
    ("one backend without folders", {"up": UP}, "own/boot.py", [], "up"),
    ("one backend with folders elsewhere", {"up": put(UP, "own/up")}, "own/boot.py", [], None),
    ("the first of two that nothing tells apart", TWO, "own/boot.py", ["torch"], "up"),
    ("what the file imports", TWO, "own/boot.py", ["torch", "down.a"], "down"),
    ("what it imports most", TWO, "own/boot.py", ["up", "down.a", "down.b"], "down"),
    ("a folder before an import", {"up": put(UP, "own"), "down": DOWN}, "own/boot.py", ["down.a"], "up"),
    ("outside that folder", {"up": put(UP, "own/up"), "down": DOWN}, "own/boot.py", ["up.a"], "down"),
    ("the closest folder", {"up": put(UP, "own"), "down": put(DOWN, "own/down")}, "own/down/x.py", [], "down"),
    ("one folder of two", {"up": put(UP, "own"), "down": put(DOWN, "own/")}, "own/x.py", ["down"], "down"),
]


@pytest.mark.parametrize(("shows", "backends", "path", "imported", "home"), HOMES, ids=[row[0] for row in HOMES])
def test_a_file_has_one_home(
    shows: str, backends: dict[str, Backend], path: str, imported: list[str], home: str | None
) -> None:
    assert find_home(path, Settings(project=Project(name="own"), backends=backends), imported) == home


ONCE = [
    # what it shows, backends, file, who lists it
    ("a foreign package", TWO, TORCH, ["up"]),
    ("a foreign package beside an import", TWO, f"import down.a\n{TORCH}", ["down"]),
    ("an object of a run", TWO, OBJECT, ["up"]),
    ("a package of one of them", TWO, "import down.a as m\nm.f = print\n", ["down"]),
    ("the longest root", {"up": UP, "nested": NESTED}, "import up.nested.a as m\nm.f = print\n", ["nested"]),
]


@pytest.mark.parametrize(("shows", "backends", "source", "listed"), ONCE, ids=[row[0] for row in ONCE])
def test_a_row_stands_once(
    tmp_path: Path, shows: str, backends: dict[str, Backend], source: str, listed: list[str]
) -> None:
    reading = open_reading(tmp_path, {"own/boot.py": source}, backends=backends)
    found = {key: read_inventory(reading, key) for key in backends}
    assert [key for key, one in found.items() if one.unregistered] == listed
    fates = {fate.value for key, one in found.items() if key not in listed for fate, _ in one.balance.fates}
    assert fates <= {"listed-elsewhere"}


SAID = [
    # what it shows, file, backend, what is said
    (
        "nothing tells them apart",
        TORCH,
        "up",
        (
            "1 patch that names no package of a backend is listed under up alone, "
            "because their files import no backend and up is the first one in layline.toml"
        ),
    ),
    (
        "an import",
        f"import down.a\n{TORCH}torch.save = f\n",
        "down",
        (
            "2 patches that name no package of a backend are listed under down alone, "
            "because their files import down most"
        ),
    ),
    ("a package of one of them", "import down.a as m\nm.f = print\n", "down", None),
    ("another list", TORCH, "down", None),
]


@pytest.mark.parametrize(("shows", "source", "key", "said"), SAID, ids=[row[0] for row in SAID])
def test_why_a_patch_of_no_backend_is_listed_here_is_said(
    tmp_path: Path, shows: str, source: str, key: str, said: str | None
) -> None:
    skipped = read_inventory(open_reading(tmp_path, {"own/boot.py": source}, backends=TWO), key).skipped
    assert next((row.why for row in skipped if row.what == "patches of no backend"), None) == said
