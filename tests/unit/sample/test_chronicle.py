"""A chronicle is read as it is told; an impossible one is refused."""

from __future__ import annotations

import pytest

from layline.sample.chronicle import ChronicleError, Edit, Operation, Write, parse_chronicle
from layline.sample.plan import plan_history

TOLD = """\
# A chapter

Prose for the reader.

## Name the waves (#12)
2026-01-09 10:00 +0100 · Ines Duarte · committed 2026-01-10 08:30 +0000

Numbers are hard to remember.

- move waves.py → names.py

```diff names.py
-def speed(index):
+def speed(name):
@@
+# the end
```

~~~~markdown README.md
## Not a commit
```
code
```
~~~~
"""


def plan(text: str, hashes: dict[str, str] | None = None) -> list[dict[str, bytes | None]]:
    """What each commit does to which path."""
    made = plan_history(parse_chronicle(text), hashes or {})
    return [{change.path: change.data for change in commit.changes} for commit in made.commits]


def test_an_entry_has_subject_signature_body_and_steps() -> None:
    (entry,) = parse_chronicle(TOLD)

    assert (entry.subject, entry.author, entry.body) == (
        "Name the waves (#12)",
        "Ines Duarte",
        "Numbers are hard to remember.",
    )
    assert (entry.authored.isoformat(), entry.committed.isoformat()) == (
        "2026-01-09T10:00:00+01:00",
        "2026-01-10T08:30:00+00:00",
    )
    assert entry.steps == (
        Operation("move", "waves.py", "names.py"),
        Edit("names.py", ((("def speed(index):",), ("def speed(name):",)), ((), ("# the end",)))),
        Write("README.md", "## Not a commit\n```\ncode\n```\n"),
    )


FIRST = "## One\n2026-01-01 00:00 +0000 · Ada\n\n```text a/x\none\ntwo\n```\n\n```text b\nb\n```\n"
SECOND = "\n## Two (#2)\n2026-01-02 00:00 +0000 · Ada\n\n"


@pytest.mark.parametrize(
    ("steps", "changes"),
    [
        ("```diff a/x\n one\n-two\n+2\n```", {"a/x": b"one\n2\n"}),
        ("```diff a/x\n+three\n```", {"a/x": b"one\ntwo\nthree\n"}),
        ("- move a → c", {"a/x": None, "c/x": b"one\ntwo\n"}),
        ("- remove a", {"a/x": None}),
        ("- link l → b", {"l": b"b"}),
        ("- pin sub → up#1", {"sub": b"f" * 40}),
        ("```text b\n{{up#1}}\n```", {"b": b"f" * 40 + b"\n"}),
    ],
)
def test_steps_change_the_tree(steps: str, changes: dict[str, bytes | None]) -> None:
    assert plan(FIRST + SECOND + steps, {"up#1": "f" * 40})[1] == changes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("## One\nsometime · somebody\n", "does not say when and who"),
        (FIRST + SECOND + "```diff a/x\n-three\n```", "holds 0 times"),
        (FIRST + SECOND + "```diff missing\n-x\n```", "missing"),
        (FIRST + SECOND + "- move nothing → c", "no nothing to move"),
        (FIRST + SECOND + "- paint b", "nobody knows how to paint"),
        (FIRST + SECOND + "- pin sub → up#9", "up#9"),
        (FIRST + SECOND + "```text\nx\n```", "does not name its file"),
    ],
)
def test_impossible_histories_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ChronicleError, match=complaint):
        plan(text)


def test_a_merge_takes_what_its_branch_changed() -> None:
    topic = "\n## Topic\n2026-01-02 00:00 +0000 · Ada\n\n- on pull/7\n\n```text b\nB\n```\n"
    meanwhile = "\n## Meanwhile\n2026-01-03 00:00 +0000 · Ada\n\n```text c\nc\n```\n"
    merge = "\n## Merge pull request #7 from ada/topic\n2026-01-04 00:00 +0000 · Ada\n\n- merge pull/7\n"

    made = plan_history(parse_chronicle(FIRST + topic + meanwhile + merge), {})

    assert [commit.parents for commit in made.commits] == [(), (1,), (1,), (3, 2)]
    assert [change.path for change in made.commits[-1].changes] == ["b"]
    assert made.names["#7"] == 4


def test_a_merge_of_one_file_changed_twice_is_refused() -> None:
    topic = "\n## Topic\n2026-01-02 00:00 +0000 · Ada\n\n- on pull/7\n\n```text b\nB\n```\n"
    meanwhile = "\n## Meanwhile\n2026-01-03 00:00 +0000 · Ada\n\n```text b\nbb\n```\n"
    merge = "\n## Merge pull request #7 from ada/topic\n2026-01-04 00:00 +0000 · Ada\n\n- merge pull/7\n"

    with pytest.raises(ChronicleError, match="b changed on main and on pull/7"):
        plan(FIRST + topic + meanwhile + merge)
