"""The safe pin over invented histories: which places break at each commit."""

from __future__ import annotations

import pytest

from layline.upgrade.safe import Verdict, find_safe_pin

CASES = [
    # (what it shows, places that break at each commit, culprits known, commits ahead, places the next one breaks)
    ("nothing breaks", ["", "", ""], True, 3, 0),
    ("the first breaks", ["a", "a", "a"], True, 0, 1),
    ("in the middle", ["", "", "a", "ab"], True, 2, 1),
    ("a window that was mended", ["a", "a", "", "b"], True, 3, 1),
    ("two windows", ["a", "", "b", "", "c", "c"], True, 4, 1),
    ("nobody is known to have done it", ["", "", "", "a", "a", "a"], False, 3, 1),
    ("mended at the end", ["a", "ab", ""], True, 3, 0),
    ("no commits", [], True, 0, 0),
]


@pytest.mark.parametrize(
    ("breaks", "known", "ahead", "after"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_the_newest_commit_that_breaks_nothing(breaks: list[str], known: bool, ahead: int, after: int) -> None:
    order = [f"c{number}" for number in range(len(breaks))]
    asked: list[str] = []

    def judge(commit: str) -> Verdict:
        asked.append(commit)
        at = order.index(commit)
        since = {
            one: max(
                k
                for k in range(at + 1)
                if all(one in word for word in breaks[k : at + 1]) and (k == 0 or one not in breaks[k - 1])
            )
            for one in breaks[at]
        }
        culprits = frozenset(order[k] for k in since.values()) if known else frozenset()
        return Verdict(broken=frozenset(breaks[at]), culprits=culprits)

    found = find_safe_pin("pin", order, judge)
    assert (found.ahead, found.next_breaks) == (ahead, after)
    assert found.commit == (order[ahead - 1] if ahead else "pin")
    if ahead:
        assert found.commit in asked  # confirmed there, and one commit later
    assert ahead == len(order) or order[ahead] in asked
