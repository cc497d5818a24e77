"""What the history says of a commit is asked only since the nearest ancestor that was asked about."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from histories import History
from layline.coupling.removals import find_removals
from layline.git import open_repository
from layline.workspace.past import Past

Places = tuple[tuple[str, str], ...]
F: Places = (("a.py", "f"),)
G: Places = (("a.py", "g"),)
NONE: Places = (("a.py", "never"),)


@pytest.fixture
def upstream(tmp_path: Path) -> History:
    """`f` is there until the second commit, `g` until the fourth; a file goes with the third, another with the last."""
    made = History.start(tmp_path / "up")
    f, g = "def f():\n    return 1\n", "def g():\n    return 2\n"
    made.commit("both", {"a.py": f + g, "b.py": "x = 1\n", "c.py": "x = 1\n"})
    made.commit("no f", {"a.py": g})
    made.commit("no b", {"b.py": None})
    made.commit("no g", {"a.py": "x = 1\n"})
    made.commit("no c", {"c.py": None})
    return made


def test_a_later_commit_is_asked_only_since_the_earlier_one(upstream: History) -> None:
    repository = open_repository(upstream.path)
    walked: list[str | None] = []

    def ask(commit: str, places: list[Places]) -> dict[Places, str]:
        def search(base: str | None, asked: list[Places]) -> dict[Places, str]:
            walked.append(base)
            return find_removals(repository, base, commit, asked)

        return Past(repository, commit).find_losses(places, search)

    middle, last = upstream.commits[2], upstream.commits[4]
    assert ask(middle, [F, NONE]) == {F: upstream.commits[1]}
    assert ask(last, [F, G, NONE]) == {F: upstream.commits[1], G: upstream.commits[3]}
    assert ask(last, [F, G, NONE]) == {F: upstream.commits[1], G: upstream.commits[3]}
    # of g nothing was known at the commit in the middle
    assert walked == [None, middle, None]


def test_an_earlier_commit_learns_nothing_from_a_later_one(upstream: History) -> None:
    repository = open_repository(upstream.path)
    for commit, wanted in ((upstream.commits[4], {F: upstream.commits[1]}), (upstream.commits[0], {})):
        search = partial(_ask_whole, repository, commit)
        assert Past(repository, commit).find_losses([F], search) == wanted


def _ask_whole(repository: object, commit: str, base: str | None, asked: list[Places]) -> dict[Places, str]:
    assert base is None
    return find_removals(repository, base, commit, asked)  # type: ignore[arg-type]


def test_deleted_files_and_changed_lines_are_found_on_both_stretches(upstream: History) -> None:
    repository = open_repository(upstream.path)
    for number in (2, 4):
        past = Past(repository, upstream.commits[number])
        deleted = past.find_deletions([("b.py",), ("c.py",)])
        changed = past.find_binding_changes([("a.py", "f"), ("a.py", "g")])
        gone = {group[0]: found.commit for group, found in deleted.items()}
        lines = {name: found.commit for (_, name), found in changed.items()}
        hashes = upstream.commits
        if number == 2:
            assert (gone, lines) == ({"b.py": hashes[2]}, {"f": hashes[1], "g": hashes[0]})
        else:
            assert (gone, lines) == ({"b.py": hashes[2], "c.py": hashes[4]}, {"f": hashes[1], "g": hashes[3]})
