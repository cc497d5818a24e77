"""Questions that others answer: the bytes of a local run, one writer, and what a second run costs."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from commands import layline
from layline.app.cache import cache_clear, cache_info
from layline.app.carried import Load, receive
from layline.app.doctor_executor import doctor_executor
from layline.app.many import _address, answer, ask_matrix
from layline.app.over_time import patches_matrix
from layline.core.report import Paragraph
from layline.errors import ConfigError
from layline.executors import Lost, Machine, Plain, Silent, read_machine
from layline.executors.local import LocalExecutor
from layline.executors.silence import ask_unknown, find_reason
from layline.project.cache import CARRIED
from layline.source.cache import FILE_NAME, Cache, collect_rows, read_contents, store_rows
from upgrading import Files, Project, make_project

ADDRESS = 'upstream = "https://example.org/keel"'
RUN = "def run(x):\n    return x\n"
STEPS: list[tuple[str, Files]] = [
    ("pin", {"keel/a.py": RUN, "keel/b.py": RUN}),
    ("Remove b (#2)", {"keel/b.py": None}),
    ("Change a (#3)", {"keel/a.py": "def run(x, y):\n    return x + 1\n"}),
]
OURS: Files = {
    f"own/patch_{name}.py": f"import keel.{name}\n\n\ndef mine(x):\n    return 2\n\n\nkeel.{name}.run = mine\n"
    for name in ("a", "b")
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_project(tmp_path_factory.mktemp("many"), STEPS, OURS)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("layline.app.many._seen", {})
    return tmp_path


def run(*words: str, cwd: Path = Path("/")) -> tuple[int, str]:
    done = layline(*words, cwd=cwd, env={"LAYLINE_CACHE": os.environ["LAYLINE_CACHE"]})
    return done.code, done.out or done.err


def ask(project: Project, *words: str) -> str:
    span = f"{project.upstream.commits[0]}..main"
    config = ("--config", str(project.root / "layline.toml"))
    _, text = run("patches", "matrix", "keel", "--refs", span, "--format", "json", *config, *words)
    return text


def test_answers_of_others_are_the_bytes_of_a_local_run(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ask(project)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "other"))
    assert ask(project, "--executor", "local:2") == here
    assert json.loads(here)["rows"]


@pytest.mark.parametrize(
    "words",
    ["gap trend keel", "impact main --fleet fleet.toml", "gap report --all --date 2026-11-15"],
    ids=["trend", "impact", "report"],
)
def test_every_spread_command_says_the_same(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    text = (project.root / "layline.toml").read_text().replace("[backends.keel]", f"[backends.keel]\n{ADDRESS}")
    said = []
    for name, more in (("here", ()), ("spread", ("--executor", "local"))):
        root = tmp_path / name
        root.mkdir()
        (root / "layline.toml").write_text(
            text.replace('"down"', f'"{project.root / "down"}"').replace('"up"', f'"{project.root / "up"}"')
        )
        (root / "fleet.toml").write_text('projects = ["."]\n')
        monkeypatch.setenv("LAYLINE_CACHE", str(root / "cache"))
        said.append(run(*words.split(), "--format", "json", *more, cwd=root))
    assert said[0] == said[1]
    assert said[0][1].startswith("{")


def test_what_was_answered_is_not_asked_again(project: Project) -> None:
    span = f"{project.upstream.commits[0]}..main"
    assert len(list(ask_matrix(project.open(), "keel", span, None))) == 2
    patches_matrix(project.open(), "keel", refs=span)
    assert list(ask_matrix(project.open(), "keel", span, None)) == []


def ask_first(project: Project) -> Plain:
    """The first question of a matrix, as it travels."""
    job = next(ask_matrix(project.open(), "keel", f"{project.upstream.commits[0]}..main", None))
    return _address(job, Load(job["workspace"]["repositories"].values()).describe())


def test_a_worker_writes_nothing(project: Project, tmp_path: Path) -> None:
    job = ask_first(project)
    before = read_contents(tmp_path / "cache" / FILE_NAME)
    found = answer(job)
    assert read_contents(tmp_path / "cache" / FILE_NAME) == before
    assert any(analyser == "result-cells" for analyser, _, _ in found["rows"])


def test_collected_rows_can_be_loaded_at_once_and_kept_later(tmp_path: Path) -> None:
    with collect_rows() as rows:
        cache = Cache(tmp_path, "a")
        cache.store([("blob", "{}")])
        assert cache.load(["blob", "other"]) == {"blob": "{}"}
    assert not list(tmp_path.iterdir())
    store_rows(tmp_path, rows)
    kept = Cache(tmp_path, "a")
    assert kept.load(["blob"]) == {"blob": "{}"}
    kept.close()


def test_what_a_worker_read_for_one_question_serves_the_next(project: Project) -> None:
    """It does not see what the driver keeps, where it stands on another machine."""
    span = f"{project.upstream.commits[0]}..main"
    asked = list(ask_matrix(project.open(), "keel", span, None))
    known = Load(one for job in asked for one in job["workspace"]["repositories"].values()).describe()
    first, again = (answer(_address(asked[0], known)) for _ in range(2))
    assert first["rows"]
    assert again["rows"] == []
    rest = find_read(answer(_address(asked[1], known)))
    assert rest
    assert not rest & find_read(first)


def find_read(found: Plain) -> set[tuple[str, str]]:
    """Rows about what was read; what was remembered of a judgement may grow."""
    return {(analyser, blob) for analyser, blob, _ in found["rows"] if not analyser.startswith("memo-")}


def test_a_problem_is_told_by_the_command_itself(project: Project, tmp_path: Path) -> None:
    job = next(ask_matrix(project.open(), "keel", f"{project.upstream.commits[0]}..main", None))
    known = Load(job["workspace"]["repositories"].values()).describe()
    lost = _address(job, {place: {**about, "place": str(tmp_path / "nowhere")} for place, about in known.items()})
    assert answer(lost)["problem"] == f"{tmp_path / 'nowhere'} is not on this machine."


def find_results(found: Plain) -> list[tuple[str, str, str]]:
    """Rows that are answers; of what was read for them a process may remember some."""
    return sorted(row for row in found["rows"] if row[0].startswith("result-"))


def test_a_repository_that_was_sent_answers_like_the_original(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another machine does, which sees nothing of ours: it says what it lacks, unpacks it, and answers."""
    job = ask_first(project)
    named = job["workspace"]["repositories"]
    here = answer(job)
    hidden = {key: {**one, "place": f"/nowhere{one['place']}"} for key, one in named.items()}
    blind = {**job, "workspace": {**job["workspace"], "repositories": hidden}}
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path / "node"))
    monkeypatch.setattr("layline.app.many._seen", {})
    assert receive({"parcels": list(hidden.values())}) == {"lacks": [0, 1]}
    assert answer(blind)["problem"] is not None
    with Load(named.values()).pack() as parcels:
        for parcel in parcels:
            receive({**parcel.about, "file": str(parcel.make())})
            receive({**parcel.about, "file": "/nowhere"})  # a second node of one machine finds it there
    assert receive({"parcels": list(hidden.values())}) == {"lacks": []}
    assert find_results(answer(blind)) == find_results(here) != []
    assert not (tmp_path / "node" / FILE_NAME).exists()
    (row,) = cache_info().data["contents"]
    assert (row["what"], row["rows"], row["bytes"] > 0) == (CARRIED, 2, True)
    assert cache_clear().data["freed_bytes"] >= row["bytes"]
    assert list((tmp_path / "node").iterdir()) == []


def test_a_fleet_is_one_page(project: Project, tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    table = f'[[project]]\nname = "one"\nconfig = "{project.root / "layline.toml"}"\n'
    file.write_text(f'{table}\n[[project]]\nname = "gone"\nconfig = "nowhere/layline.toml"\n')
    code, text = run("fleet", str(file), "--executor", "local")
    assert code == 1
    assert text.startswith("3 places break in 1 of 1 project."), "two patches and an import"
    assert "gone" in text
    assert run("fleet", str(file)) == (code, text)
    _, page = run("fleet", str(file), "--format", "html")
    assert "one over Keel: 2 commits behind; 2 of 2 patched places" in page


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no projects"),
        ("[[project]]\nname = 'x'", "without `config`"),
        ("[[project]]\nconfig = 'x'\ncolour = 'red'", "colour"),
        ("x =", "cannot be read"),
    ],
)
def test_a_bad_fleet_file_is_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    code, said = run("fleet", str(file))
    assert code == 2
    assert problem in said


def test_doctor_tells_of_a_job_that_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object) -> Plain:
        raise Lost("greet", "no answer within 60 s")

    monkeypatch.setattr(LocalExecutor, "measure", lose)
    found = doctor_executor("local")
    assert found.needs_person
    assert "was lost: no answer within 60 s." in str(found.report.sections[0].blocks[0])


def test_doctor_names_the_machines() -> None:
    found = doctor_executor("local:2")
    assert found.report.title == "1 machine answers (local): 1 kind."
    assert [one["same_code"] for one in found.data["machines"]] == [True]
    with pytest.raises(ConfigError, match="is not an executor"):
        doctor_executor("moon")


DOCTOR: list[tuple[str, list[Machine | Silent], str, str]] = [
    # (what is there, machines, title, note)
    ("one like this", [read_machine("a")], "1 machine answers (local): 1 kind.", ""),
    (
        "two kinds",
        [replace(read_machine("a"), processor=name, accelerators=()) for name in ("Abacus", "Slide rule")],
        "2 machines answer (local): 2 kinds.",
        "are never compared",
    ),
    (
        "another version",
        [replace(read_machine("a"), host="old", code="other")],
        "1 machine answers (local): 1 kind.",
        "Another version of Layline runs on old",
    ),
    (
        "one without Layline",
        [read_machine("a"), Silent(host="bare", node="b", why="Layline is not installed there", hint="Install it.")],
        "1 of 2 machines answer (local): 1 kind.",
        "bare cannot be used: Layline is not installed there. Install it.",
    ),
    (
        "other libraries",
        [read_machine("a"), replace(read_machine("b"), libraries=())],
        "2 machines answer (local): 1 kind.",
        "have different libraries (none; ",
    ),
    (
        "other power limits",
        [replace(read_machine("a"), accelerators=(f"GPU-{watt}, Abacus 9, 550.1, {watt} W",)) for watt in (500, 700)],
        "2 machines answer (local): 1 kind.",
        "Abacus 9 runs with different drivers or power limits (550.1, 500 W; 550.1, 700 W)",
    ),
]


@pytest.mark.parametrize(("machines", "title", "note"), [one[1:] for one in DOCTOR], ids=[one[0] for one in DOCTOR])
def test_doctor_says_what_cannot_be_compared(
    monkeypatch: pytest.MonkeyPatch, machines: list[Machine | Silent], title: str, note: str
) -> None:
    monkeypatch.setattr(LocalExecutor, "look", lambda _: tuple(machines))
    monkeypatch.setattr(LocalExecutor, "measure", lambda *_: {})  # these machines are not here
    found = doctor_executor("local")
    assert found.report.title == title
    assert note in " ".join(
        str(block.text) for block in found.report.sections[0].blocks if isinstance(block, Paragraph)
    )
    assert found.needs_person == ("version" in note or "cannot be used" in note)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ModuleNotFoundError("No module named 'layline'", name="layline"), "Layline is not installed there"),
        (ImportError("cannot import name 'x'", name="layline.executors.machine"), "another version of Layline"),
        (ModuleNotFoundError("No module named 'pydantic'", name="pydantic"), "does not start there (No module named"),
        (OSError("no /proc"), "cannot describe itself (OSError: no /proc)"),
    ],
)
def test_a_node_says_why_it_cannot_be_used(monkeypatch: pytest.MonkeyPatch, error: Exception, why: str) -> None:
    def fail(_: str) -> Machine:
        raise error

    describe = ask_unknown()
    assert find_reason(describe("a")) is None
    monkeypatch.setattr("layline.executors.machine.read_machine", fail)
    reason = find_reason(describe("a"))
    assert reason is not None
    assert why in reason.why
    assert reason.hint.endswith(".")
