from __future__ import annotations

import pytest

from layline.core.revision import Commit


@pytest.mark.parametrize(
    ("subject", "number"),
    [
        ("fix: the loader (#12)", 12),
        ("fix: the loader (#12) ", 12),
        ("fix: the loader (#12) [skip ci]", 12),
        ("Merge pull request #34 from someone/topic", 34),
        ('Revert "fix: the loader (#12)" (#13)', 13),
        ("fix: the loader, see (#12) for more", None),
        ("fix: the loader", None),
        ("Merge branch 'main' into topic", None),
    ],
)
def test_the_subject_names_the_pull_request(subject: str, number: int | None) -> None:
    commit = Commit(
        hash="a" * 40, committed="2026-05-08T00:00:00Z", authored="2026-05-08T00:00:00Z", author="Ada", subject=subject
    )
    assert commit.pull_request == number
