"""In which order `gap find` lists what names a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.evidence import Evidence
from layline.gap import find
from layline.gap.changes import UpstreamChange
from layline.gap.endpoints import Endpoints
from layline.gap.find import Touching, find_in_code, find_matches
from layline.git import Repository, open_repository

TITLES = (
    (1, "Add fused-moe tuning configs"),
    (2, "Rename FusedMoE to FusedMoEFactory"),
    (3, "Fix fused moe scales"),
    (4, "Add support of old FusedMoE layers"),
)
ORDERS = [
    # (the word, numbers of the changes in order)
    ("FusedMoE", [4, 2, 1, 3]),  # a name of code: as it is spelled first
    ("fused moe", [1, 4, 2, 3]),  # what brings something new first
]


@pytest.mark.parametrize(("word", "numbers"), ORDERS)
def test_a_name_as_code_spells_it_comes_first(word: str, numbers: list[int]) -> None:
    changes = [
        Touching(
            change=UpstreamChange(
                number=number, title=title, kind="", date="2026-01-01", commits=(str(number),), area="core", files=1
            ),
            paths=(),
        )
        for number, title in TITLES
    ]
    assert [match.change.number for match in find_matches(changes, word)] == numbers


CALLED = [
    # (the word, numbers of the changes)
    ("#3", [3]),
    ("3", [3]),
    ("33", []),
    ("abcdef0", [2]),
    ("abcdef", []),  # too short to be a hash
]


@pytest.mark.parametrize(("word", "numbers"), CALLED)
def test_a_change_is_found_by_its_number_and_by_its_hash(word: str, numbers: list[int]) -> None:
    hashes = {2: "abcdef0123456789"}
    changes = [
        Touching(
            change=UpstreamChange(
                number=number,
                title="Tidy",
                kind="",
                date="2026-01-01",
                commits=(hashes.get(number, str(number)),),
                area="core",
                files=1,
            ),
            paths=(),
        )
        for number in range(1, 6)
    ]
    assert [match.change.number for match in find_matches(changes, word)] == numbers


USES = [
    # (before, after, it adds uses, it removes uses)
    ("x = 1", "save_every = 1", True, False),
    ("save_every = 1", "save_every = 1\nprint(save_every)", True, False),  # a file that had the name already
    ("save_every = 1\nprint(save_every)", "save_every = 1", False, True),
    ("save_every = 1", "save_every_day = 1\nsave_every = 2", False, False),
]


@pytest.mark.parametrize(("before", "after", "adds", "removes"), USES)
def test_code_that_uses_a_name_more_or_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, adds: bool, removes: bool
) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    history = History.start(tmp_path / "up")
    pin, tip = history.commit("one", {"a.py": f"{before}\n"}), history.commit("two", {"a.py": f"{after}\n"})
    ends = Endpoints(pin=pin, tip=tip, pin_evidence=Evidence(repo="deck", commit=pin), ref="main")
    found = find_in_code(open_repository(history.path), ends, "save_every")
    assert (bool(found.get(tip) and found[tip].adds), bool(found.get(tip) and found[tip].removes)) == (adds, removes)


def test_what_commits_do_to_a_name_is_kept_but_not_for_a_history_that_may_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    history = History.start(tmp_path / "up")
    pin, tip = history.commit("one", {"a.py": "x = 1\n"}), history.commit("two", {"a.py": "save_every = 1\n"})
    upstream = open_repository(history.path)

    def ask(ours: str) -> dict[str, tuple[str, ...]]:
        ends = Endpoints(pin=pin, tip=tip, pin_evidence=Evidence(repo="deck", commit=ours), ref="main")
        return {commit: one.adds for commit, one in find_in_code(upstream, ends, "save_every").items()}

    assert ask("1" * 40) == {tip: ("a.py",)}
    monkeypatch.setattr(find, "_search", lambda *_: {})
    assert ask("2" * 40) == {tip: ("a.py",)}  # whatever our own commit is
    monkeypatch.setattr(Repository, "is_shallow", True)
    assert ask("2" * 40) == {}
