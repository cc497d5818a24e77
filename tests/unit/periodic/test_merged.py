from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.config import Backend, Pin
from layline.git import open_repository
from layline.history.commits import read_commit
from layline.periodic.merged import (
    changes_comments,
    find_backend_moves,
    find_moves,
    find_submodules,
    find_variables,
    read_merged,
)

A, B = "a" * 40, "b" * 40

FINDS = [
    (f"  ENGINE_COMMIT: {A}", ("ENGINE_COMMIT", A)),
    (f"  ENGINE_COMMIT: {A} # pinned for now (#12)", ("ENGINE_COMMIT", A)),
    (f'ENGINE_COMMIT="{A}"', ("ENGINE_COMMIT", A)),
    (f"ARG ENGINE_COMMIT={A}", ("ENGINE_COMMIT", A)),
    (f"ENV ENGINE_COMMIT={A}", ("ENGINE_COMMIT", A)),
    (f"export ENGINE_COMMIT=${{ENGINE_COMMIT:-{A}}}", ("ENGINE_COMMIT", A)),
    (f"ENGINE: {A}", ("ENGINE", A)),
    ("ENGINE_SHA: abcdef1", ("ENGINE_SHA", "abcdef1")),
]
IGNORES = [
    "ENGINE_COMMIT: ${{ env.ENGINE_COMMIT }}",
    "ENGINE_VERSION: 20260101",
    "ENGINE: abcdef1",
    f"# ENGINE_COMMIT: {A}",
    f"  --build-arg ENGINE_COMMIT={A} \\",
    f"uses: actions/checkout@{A}",
    f"image: registry/name@sha256:{A}",
    "ENGINE_COMMIT: main",
]


@pytest.mark.parametrize(("line", "found"), FINDS)
def test_finds_commit_variables(line: str, found: tuple[str, str]) -> None:
    assert list(find_variables(f"name: x\n{line}\n")) == [(2, *found)]


@pytest.mark.parametrize("line", IGNORES)
def test_ignores_what_is_no_commit_variable(line: str) -> None:
    assert list(find_variables(line)) == []


def test_every_move_has_its_commit_and_both_values(tmp_path: Path) -> None:
    history = History.start(tmp_path / "down")
    history.gitlink("third_party/engine", A)
    first = history.commit(
        "start", {"ci/Dockerfile": f"ARG LOADER_COMMIT={A}\n", ".github/workflows/ci.yaml": "x: 1\n"}
    )
    history.gitlink("third_party/engine", B)
    bump = history.commit("bump (#1)", {"ci/Dockerfile": f"ARG LOADER_COMMIT={B}\n"})
    new = history.commit("new (#2)", {".github/workflows/ci.yaml": f"x: 1\nTOOL_COMMIT: {A}\n"})
    gone = history.commit("gone (#3)", {"ci/Dockerfile": "FROM x\n"})
    with_repository = open_repository(history.path)
    merged = read_merged(with_repository, first, gone)
    moves = list(find_moves(with_repository, merged, find_submodules(with_repository, gone)))
    assert [(move.name, move.before, move.after, move.commit.hash) for move in moves] == [
        ("LOADER_COMMIT", B, None, gone),
        ("TOOL_COMMIT", None, A, new),
        ("LOADER_COMMIT", A, B, bump),
        ("third_party/engine", A, B, bump),
    ]
    assert moves[1].line == 2


@pytest.mark.parametrize(
    ("pin", "old", "new", "name", "expected"),
    [
        (Pin(file="engine.commit"), f"{A}\n", f"{B}\n", "engine", (A, B)),
        (
            Pin(file="deps.txt", requirement="engine"),
            "engine==1.2.0\n",
            "engine==1.3.0\n",
            "engine",
            ("v1.2.0", "v1.3.0"),
        ),
        (Pin(file="setup.sh", variable="ENGINE"), f"ENGINE={A}\n", f"ENGINE={B}\n", "ENGINE", (A, B)),
    ],
)
def test_pins_of_backends_are_followed_wherever_they_are_written(
    tmp_path: Path, pin: Pin, old: str, new: str, name: str, expected: tuple[str, str]
) -> None:
    history = History.start(tmp_path / "down")
    first = history.commit("start", {str(pin.file): old})
    bump = history.commit("bump (#1)", {str(pin.file): new})
    moves = list(find_backend_moves(open_repository(history.path), first, bump, "engine", Backend(pin=pin)))
    assert [(move.name, (move.before, move.after), move.commit.hash) for move in moves] == [(name, expected, bump)]


def test_variables_of_workflows_are_not_told_twice(tmp_path: Path) -> None:
    history = History.start(tmp_path / "down")
    file = ".github/workflows/ci.yaml"
    first = history.commit("start", {file: f"ENGINE_COMMIT: {A}\n"})
    bump = history.commit("bump (#1)", {file: f"ENGINE_COMMIT: {B}\n"})
    backend = Backend(pin=Pin(file=file, variable="ENGINE_COMMIT"))
    assert list(find_backend_moves(open_repository(history.path), first, bump, "engine", backend)) == []


def test_merge_requests_of_other_forges_are_read_from_the_body(tmp_path: Path) -> None:
    history = History.start(tmp_path / "down")
    first = history.commit("start")
    history.commit("feat: flat\n\nSome words.\n\nSee merge request: group/project!7\n")
    history.git("checkout", "-q", "-b", "topic")
    history.commit("work")
    history.git("checkout", "-q", "main")
    message = "Merge branch 'topic' into 'main'\n\nA real title\n\nSee merge request group/sub/project!8"
    history.git("merge", "-q", "--no-ff", "-m", message, "topic")
    history.commit("See merge request group/project!9 in the middle\n\nfor more, see merge request x!10 there")
    repository = open_repository(history.path)
    merged = read_merged(repository, first, repository.resolve("main"))
    assert [(item.number, item.title) for item in merged] == [
        (None, "See merge request group/project!9 in the middle"),
        (8, "A real title"),
        (7, "feat: flat"),
    ]


def test_a_change_of_comments_alone_is_seen(tmp_path: Path) -> None:
    history = History.start(tmp_path / "repo")
    history.commit("first", {"a.py": "x = 1\n"})
    history.commit("header", {"a.py": "# from elsewhere\n\nx = 1\n"})
    history.commit("code", {"a.py": "# from elsewhere\n\nx = 2  # two\n"})
    history.commit("include", {"a.c": "#include <math.h>\n"})
    downstream = open_repository(history.path)
    found = [changes_comments(downstream, read_commit(downstream, one)) for one in history.commits]
    assert found == [False, True, False, False]
