"""What git tells of two commits is asked once; a tag more is another question."""

from __future__ import annotations

from pathlib import Path
from typing import Never

import pytest

from histories import History
from layline.gap import between
from layline.gap.between import Copies
from layline.git import open_repository

TEXT = "\n".join(f"line_{number} = {number}" for number in range(20)) + "\n"


def refuse(*_: object, **__: object) -> Never:
    raise AssertionError("git was asked again")


def test_a_diff_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    history = History.start(tmp_path / "up")
    pin = history.commit("one", {"a.py": TEXT, "caf\udce9.py": "x = 1\n"})
    tip = history.commit("two", {"a.py": None, "b.py": TEXT, "caf\udce9.py": "x = 2\n"})
    upstream = open_repository(history.path)
    first = between._read_between(upstream, pin, tip)
    assert [(one.status, one.old_path, one.path) for one in first.diff.files] == [
        ("R", "a.py", "b.py"),
        ("M", None, "caf\udce9.py"),
    ]
    copies = Copies(upstream)
    assert copies.read(tip) == first.diff
    copies.save()

    monkeypatch.setattr(between, "read_diff", refuse)
    assert between._read_between(upstream, pin, tip) == first
    assert Copies(upstream).read(tip) == first.diff
    history.git("tag", "v1.0", pin)
    with pytest.raises(AssertionError, match="again"):
        between._read_between(upstream, pin, tip)


def test_a_check_asks_git_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    history = History.start(tmp_path / "up")
    pin, tip = history.commit("one", {"a.py": TEXT}), history.commit("two", {"a.py": "x = 1\n"})
    upstream = open_repository(history.path)
    first = between._read_between(upstream, pin, tip)
    monkeypatch.setenv("LAYLINE_CHECK", "1")
    assert between._read_between(upstream, pin, tip) == first
    monkeypatch.setattr(between, "read_diff", refuse)
    with pytest.raises(AssertionError, match="again"):
        between._read_between(upstream, pin, tip)
