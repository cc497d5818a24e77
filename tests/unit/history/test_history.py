from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import layline
from histories import History
from layered import make_layered
from layline.config import Backend, Pin
from layline.core.revision import Commit, Relation
from layline.errors import ConfigError
from layline.git import open_repository
from layline.history.changes import FileChange, read_diff
from layline.history.commits import (
    compare_commits,
    count_commits,
    count_own,
    find_copied,
    find_tip_at,
    read_commit,
    read_commits,
    read_log,
    say_count,
)
from layline.history.pins import find_pin_moves, read_pin
from layline.history.tags import (
    find_newest_release,
    find_releases,
    find_releases_around,
    is_final,
    is_version,
    nearest_tag,
)

SUBJECTS = [
    ("Fix the rudder (#12)", 12),
    ("Merge pull request #7 from ada/rudder", 7),
    ('Revert "Fix the rudder (#12)" (#13)', 13),
    ("Mention #12 in passing", None),
    ("(#12) at the front", None),
    ("Fix (#12) twice (#14) ", 14),
]


@pytest.mark.parametrize(("subject", "number"), SUBJECTS)
def test_pull_request_of_a_subject(subject: str, number: int | None) -> None:
    commit = Commit(hash="a" * 40, committed="2026-01-01T00:00:00Z", authored="", author="", subject=subject)
    assert commit.pull_request == number


def test_diff_tells_renames_binaries_and_odd_names(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    body = "".join(f"line {number}\n" for number in range(40))
    odd = 'tab\tquote" new\nline é'
    old = history.commit("one", {"a.py": body, "gone.txt": "x\n", odd: "1\n"})
    new = history.commit("two", {"a.py": None, "b.py": body + "more\n", "gone.txt": None, "x.bin": b"\0\1", odd: "2\n"})
    changes = {change.path: change for change in read_diff(open_repository(history.path), old, new).files}
    assert changes["b.py"] == FileChange(path="b.py", old_path="a.py", status="R", insertions=1, deletions=0)
    assert (changes["gone.txt"].status, changes["gone.txt"].deletions) == ("D", 1)
    assert (changes["x.bin"].binary, changes["x.bin"].insertions) == (True, 0)
    assert (changes[odd].insertions, changes[odd].deletions) == (1, 1)
    assert len(changes) == 4


def test_relations(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    base = history.commit("base")
    main = history.commit("main")
    history.git("checkout", "-q", "-b", "side", base)
    side = history.commit("side", {"s": "1"})
    history.git("checkout", "-q", "--orphan", "other")
    other = history.commit("other", {"o": "1"})
    repository = open_repository(history.path)
    table = [
        (base, base, (0, 0), Relation.SAME),
        (base, main, (1, 0), Relation.BEHIND),
        (main, base, (0, 1), Relation.AHEAD),
        (main, side, (1, 1), Relation.DIVERGED),
        (main, other, (1, 2), Relation.UNRELATED),
    ]
    for pin, tip, counts, relation in table:
        distance = compare_commits(repository, pin, tip)
        assert ((distance.behind, distance.ahead), distance.relation) == (counts, relation)


def test_log_and_commits(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    repository = open_repository(layered.upstream.path)
    assert [commit.subject for commit in read_log(repository, layered.pin, layered.tip)] == [
        "Release (#4)",
        "Move run (#3)",
    ]
    assert [commit.subject for commit in read_log(repository, None, layered.tip, paths=("keel/engine.py",))] == [
        "Move run (#3)"
    ]
    assert [commit.hash for commit in read_commits(repository, layered.upstream.commits)] == layered.upstream.commits
    assert read_commit(repository, layered.pin).date == "2026-01-02"


def test_tip_at_a_time_is_the_last_first_parent_commit(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    first = history.commit("first")
    history.git("checkout", "-q", "-b", "side")
    history.commit("side, later merged", {"s": "1"})
    history.git("checkout", "-q", "main")
    history.git("merge", "-q", "--no-ff", "-m", "Merge pull request #1 from a/side", "side")
    history.commits.append(history.git("rev-parse", "HEAD"))
    repository = open_repository(history.path)
    tip = repository.resolve("main")
    table = [
        (datetime(2025, 12, 31, tzinfo=UTC), None),
        (datetime(2026, 1, 1, tzinfo=UTC), first),
        (datetime(2026, 1, 2, 12, tzinfo=UTC), first),
        (datetime(2026, 1, 3, tzinfo=UTC), tip),
    ]
    for moment, expected in table:
        assert find_tip_at(repository, tip, moment) == expected


TAG_NAMES = [
    ("v2", True),
    ("core_v0.16.1", True),
    ("2026.1", True),
    ("release/1.2", True),
    ("r/v3", True),
    ("nightly-x", False),
    ("loss-v1", False),
    ("ciflow/8gpu/4160", False),
    ("ciflow/h100.8/4224", False),
]


FINAL = ["v2", "core_v0.16.1", "2026.1", "v1.0.post1", "release/1.2"]
NOT_FINAL = ["v2rc1", "26.04-alpha.rc2", "v2.0.dev0", "core_v0.7.0.beta", "1.0a3", "v1.0-pre", "nightly-x"]


def test_the_newest_release_is_the_last_final_version(tmp_path: Path) -> None:
    assert [name for name in FINAL + NOT_FINAL if is_final(name)] == FINAL
    history = History.start(tmp_path / "r")
    for tag in ("v1.0", "core_v0.9", "v1.1rc1"):
        history.commit(tag, {"x": tag})
        history.git("tag", tag)
    assert find_newest_release(open_repository(history.path)) == "core_v0.9"
    history.git("tag", "-d", "v1.0", "core_v0.9")
    assert find_newest_release(open_repository(history.path)) == "v1.1rc1"
    history.git("tag", "-d", "v1.1rc1")
    assert find_newest_release(open_repository(history.path)) is None


@pytest.mark.parametrize(("name", "expected"), TAG_NAMES)
def test_a_tag_that_names_a_version(name: str, expected: bool) -> None:
    assert is_version(name) is expected


def test_tags(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    commits = [history.commit(str(number)) for number in range(5)]
    history.git("tag", "v1", commits[0])
    history.git("tag", "-a", "-m", "two", "v2", commits[3])
    repository = open_repository(history.path)
    assert nearest_tag(repository, commits[0]) == ("v1", 0)
    assert nearest_tag(repository, commits[2]) == ("v1", 2)
    assert nearest_tag(repository, commits[4]) == ("v2", 1)
    assert find_releases(repository, commits[0], commits[4]) == (("v2", commits[3]),)


A, B = "a" * 40, "b" * 40
MANIFEST = f"""{{
  "image": "keel:ref",
  "vcs": {{
    "spar": {{"repo": "https://example.org/Spar", "ref": "{B}"}},
    "keel": {{
      "repo": "https://example.org/Keel",
      "ref": "{A}"
    }}
  }},
  "odd": ["a \\" {{", {{"x.y": "{B}"}}],
  "none": {{}}
}}
"""
PINS = [
    ("x.commit", f"{A}\n", Pin(file="x.commit"), A),
    ("ci.yaml", f"  KEEL_COMMIT: {A} # (#1)\n", Pin(file="ci.yaml", variable="KEEL_COMMIT"), A),
    ("ci.yaml", f"  # KEEL_COMMIT: {B}\n  KEEL_COMMIT: '{A}'\n", Pin(file="ci.yaml", variable="KEEL_COMMIT"), A),
    ("Dockerfile", f"ARG KEEL_COMMIT={A}\n", Pin(file="Dockerfile", variable="KEEL_COMMIT"), A),
    (
        "Dockerfile",
        f"ARG OLD_KEEL_COMMIT={B}\nENV KEEL_COMMIT={A}\n",
        Pin(file="Dockerfile", variable="KEEL_COMMIT"),
        A,
    ),
    ("run.sh", f"KEEL_COMMIT=${{KEEL_COMMIT:-{A}}}\n", Pin(file="run.sh", variable="KEEL_COMMIT"), A),
    ("r.txt", "keel-core==1.0\nkeel==2.0.1\n", Pin(file="r.txt", requirement="keel"), "v2.0.1"),
    (
        "pyproject.toml",
        'dependencies = ["Keel[fast] == 2.0"]\n',
        Pin(file="pyproject.toml", requirement="keel", tag="{version}"),
        "2.0",
    ),
    ("deps.json", MANIFEST, Pin(file="deps.json", variable="vcs.keel.ref"), A),
    ("deps.json", MANIFEST, Pin(file="deps.json", variable="keel.ref"), A),
    ("deps.json", MANIFEST, Pin(file="deps.json", variable="odd.1.x.y"), B),
    ("deps.json", MANIFEST, Pin(file="deps.json", variable="ref"), None),
    ("deps.json", MANIFEST, Pin(file="deps.json", variable="el.ref"), None),
    ("deps.json", MANIFEST + "}", Pin(file="deps.json", variable="keel.ref"), None),
    ("ci.yaml", f"  KEEL_COMMIT: {A}\n  KEEL_COMMIT: {B}\n", Pin(file="ci.yaml", variable="KEEL_COMMIT"), None),
    ("ci.yaml", "  KEEL_COMMIT: main\n", Pin(file="ci.yaml", variable="KEEL_COMMIT"), None),
    ("r.txt", "keel>=2.0\n", Pin(file="r.txt", requirement="keel"), None),
]


@pytest.mark.parametrize(("name", "text", "pin", "expected"), PINS)
def test_written_pins(tmp_path: Path, name: str, text: str, pin: Pin, expected: str | None) -> None:
    history = History.start(tmp_path / "r")
    commit = history.commit("one", {name: text})
    repository = open_repository(history.path)
    if expected is None:
        with pytest.raises(ConfigError):
            read_pin(repository, commit, "keel", Backend(pin=pin))
    else:
        assert read_pin(repository, commit, "keel", Backend(pin=pin)).revision == expected


def test_a_range_is_no_pin_and_the_next_step_is_told(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    commit = history.commit("one", {"r.txt": "keel>=2.0\n"})
    with pytest.raises(ConfigError, match="gives no single version of keel") as error:
        read_pin(open_repository(history.path), commit, "keel", Backend(pin=Pin(file="r.txt", requirement="keel")))
    assert "A range has no commit" in (error.value.hint or "")


def test_a_pin_inside_json_says_its_line_and_which_keys_may_be_meant(tmp_path: Path) -> None:
    history = History.start(tmp_path / "r")
    commit = history.commit("one", {"deps.json": MANIFEST})
    repository = open_repository(history.path)
    found = read_pin(repository, commit, "keel", Backend(pin=Pin(file="deps.json", variable="keel.ref")))
    assert found.evidence.lines == (7, 7)
    for pin in (Pin(file="deps.json"), Pin(file="deps.json", variable="ref")):
        with pytest.raises(ConfigError) as error:
            read_pin(repository, commit, "keel", Backend(pin=pin))
        assert error.value.hint is not None
        assert '"vcs.keel.ref"' in error.value.hint
        assert error.value.hint.startswith('Name one of its keys as `variable`: "vcs.spar.ref"')


def test_pin_moves(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unrelated", {"x": "1"})
    layered.downstream.gitlink("third_party/keel", layered.tip)
    layered.downstream.commit("Bump keel (#5)")
    repository = open_repository(layered.downstream.path)
    moves = [
        (commit.subject, before and before.revision, after and after.revision)
        for commit, before, after in find_pin_moves(
            repository, None, repository.resolve("main"), "keel", Backend(path="third_party/keel")
        )
    ]
    assert moves == [("Bump keel (#5)", layered.pin, layered.tip), ("Layer over keel", None, layered.pin)]


def test_the_command_that_counts_stands_in_one_place() -> None:
    """Who tells a number of commits tells the command with the words of `say_count`."""
    source = Path(layline.__file__).parent
    written = [path for path in source.rglob("*.py") if "git rev-list --count" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(source)) for path in written] == ["history/commits.py"]
    assert say_count("a", "b") == "git rev-list --count a..b"


def test_the_releases_around_a_change(tmp_path: Path) -> None:
    """Each is cut on a branch of its own; an old series is mended after the change."""
    upstream = History.start(tmp_path / "up")
    pin = upstream.commit("begin", {"a.py": "x = 1\n"})

    def release(name: str, branch: str, subject: str) -> None:
        upstream.git("checkout", "-q", *(("-b", branch) if name.endswith(".0") else (branch,)))
        upstream.commit(subject, {"version": name})
        upstream.git("tag", name)
        upstream.git("checkout", "-q", "main")

    upstream.commit("go on", {"a.py": "x = 2\n"})
    release("v5.0.0", "five", "Release 5.0.0")
    change = upstream.commit("break", {"a.py": "y = 2\n"})
    repository = open_repository(upstream.path)
    assert find_releases_around(repository, pin, change) == (None, None)
    release("v5.1.0", "six", "Release 5.1.0")
    release("v5.0.1", "five", "Release 5.0.1")
    upstream.git("tag", "v5.1.0rc1", "v5.1.0")
    assert find_releases_around(open_repository(upstream.path), pin, change) == ("v5.0.1", "v5.1.0")
    assert find_releases_around(open_repository(upstream.path), pin, upstream.commits[1]) == (None, "v5.0.0")


def test_a_change_that_was_copied_to_the_other_branch_is_no_commit_of_its_own(tmp_path: Path) -> None:
    """Seven of nine commits of a release branch were told as lost on main, and one of them as new there."""
    upstream = History.start(tmp_path / "up")
    upstream.commit("begin", {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    upstream.git("checkout", "-q", "-b", "release")
    upstream.commit("release alone", {"version": "1"})
    copy = upstream.commit("mend", {"a.py": "x = 2\n"})
    upstream.git("checkout", "-q", "main")
    upstream.commit("go on", {"b.py": "y = 2\n"})
    origin = upstream.commit("mend on main", {"a.py": "x = 2\n"})
    repository = open_repository(upstream.path)
    assert count_commits(repository, copy, origin) == (2, 2)
    assert (count_own(repository, copy, origin), count_own(repository, origin, copy)) == (1, 1)
    assert find_copied(repository, copy, origin) == {origin}
    text = upstream.git("rev-parse", f"{copy}:a.py").strip()
    (upstream.path / ".git" / "objects" / text[:2] / text[2:]).unlink()
    repository = open_repository(upstream.path)
    assert (count_own(repository, copy, origin), find_copied(repository, copy, origin)) == (2, frozenset())
