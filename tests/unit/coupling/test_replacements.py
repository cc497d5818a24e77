from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.evidence import Location
from layline.coupling.replacements import Replacements
from layline.git import open_repository
from layline.source import Tree

TEXT = """\
def install(ctx):
    @functools.wraps(orig)
    def replacement(a, *args, **kwargs):
        return orig(a, *args, **kwargs)
    m.f = replacement
    m.g = lambda *a, **k: None
    m.h = (lambda: 1), (lambda: 2)
class Ours(Base):
    def __init__(self, a): ...
"""
PLACES = [
    (2, "(a, *args, **kwargs)"),
    (3, "(a, *args, **kwargs)"),
    (6, "(*a, **k)"),
    (7, None),
    (5, None),
    (8, "()"),
]


@pytest.fixture(scope="module")
def replacements(tmp_path_factory: pytest.TempPathFactory) -> Replacements:
    history = History.start(tmp_path_factory.mktemp("downstream") / "repo")
    commit = history.commit("all", {"p.py": TEXT, "bad.py": "def f(:\n"})
    return Replacements(Tree(open_repository(history.path), commit))


@pytest.mark.parametrize(("line", "signature"), PLACES)
def test_the_replacement_at_a_line(replacements: Replacements, line: int, signature: str | None) -> None:
    found = replacements.read(Location("p.py", line))
    assert (found.definition.signature if found else None) == signature


def test_a_class_shows_its_constructor(replacements: Replacements) -> None:
    found = replacements.read(Location("p.py", 8))
    assert found is not None
    made = found.constructor()
    assert made is not None
    assert made.signature == "(self, a)"


def test_what_cannot_be_read_is_nothing(replacements: Replacements) -> None:
    assert replacements.read(None) is None
    assert replacements.read(Location("bad.py", 1)) is None
    assert replacements.read(Location("missing.py", 1)) is None


def test_paths_are_of_the_tree_alone(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(TEXT)
    history = History.start(tmp_path / "repo")
    commit = history.commit("none", {"other.py": ""})
    assert Replacements(Tree(open_repository(history.path), commit)).read(Location("../p.py", 2)) is None
