"""What became of lost names is kept by pin and tip, and compared when asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.change.compare import Comparer
from layline.change.kept import KeptComparer, open_comparer
from layline.change.trace import Tracer
from layline.errors import Error
from layline.git import open_repository
from layline.source import Part, Tree, build_index

BODY = "def run(x):\n    total = 0\n    for one in x:\n        total += one * 2\n    return total\n"
NAMES = ("up.a.run", "up.a.gone", "up.a", "up.b.C.m")
BEFORE = {
    "up/__init__.py": "",
    "up/a.py": BODY + "\n\ndef gone():\n    pass\n",
    "up/b.py": "class C:\n    def m(self):\n        pass\n",
}
AFTER = {"up/a.py": None, "up/c.py": BODY, "up/b.py": "class C:\n    pass\n"}


@pytest.fixture
def comparer(tmp_path: Path, empty_cache: Path) -> KeptComparer:
    history = History.start(tmp_path / "up")
    pin, tip = history.commit("pin", dict(BEFORE)), history.commit("tip", dict(AFTER))
    repository = open_repository(history.path)
    then, now = (build_index([Part(tree=Tree(repository, one), packages=("up",))]) for one in (pin, tip))
    return open_comparer("test", then, now, [Tracer(repository, pin, tip)])


def again(comparer: KeptComparer) -> KeptComparer:
    """Another process: what was kept, and nothing that was remembered."""
    return open_comparer("test", comparer.pin.index, comparer.tip.index, [None])


def test_a_lost_name_is_followed_once(comparer: KeptComparer, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [comparer.compare(name) for name in NAMES]
    comparer.save()
    monkeypatch.setattr(Comparer, "find_lost", None)  # nothing is followed again
    assert [again(comparer).compare(name) for name in NAMES] == found
    assert found[0].new_home == "up.c.run"


def test_a_kept_answer_that_differs_is_found_when_checking(
    comparer: KeptComparer, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparer.compare(NAMES[0])
    comparer.save()
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    with pytest.raises(Error, match=r"lost up\.a\.run"):
        again(comparer).compare(NAMES[0])  # without its history it finds another answer
