"""`layline demo` writes only where it may, works twice, and walks through every command there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commands import layline
from layline.app import demo as app_demo
from layline.cli.demo import is_known
from layline.cli.main import COMMANDS, main
from layline.errors import Error
from layline.sample import demo as sample_demo
from layline.sample import expected as truth
from layline.sample.tour import STEPS, TourStep


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exited:
        main(list(arguments))
    return int(exited.value.code or 0)


def test_the_walk_ends_well_and_is_written_down(tmp_path: Path) -> None:
    walked = layline("demo", "--quick", "demo", cwd=tmp_path)
    assert walked.code == 0, (walked.out, walked.err)

    transcript = (tmp_path / "demo" / sample_demo.TRANSCRIPT).read_text(encoding="utf-8")
    shown = walked.out
    for step in filter(is_known, STEPS):
        if step.measures:
            continue
        assert f"$ {sample_demo.show_step(step)}" in transcript
        assert f"$ {sample_demo.show_step(step)}" in shown
    assert truth.GAPS["keel"].pin in transcript
    assert str(tmp_path) not in shown
    assert _find_naming(tmp_path / "demo", str(tmp_path)) == []


def _find_naming(root: Path, text: str) -> list[str]:
    """What a demo leaves for people to read, where it names a path of this machine."""
    kept = [
        root / sample_demo.TRANSCRIPT,
        *(path for name in ("harbor", "site", "fresh", "port") for path in (root / name).rglob("*")),
    ]
    files = [path for path in kept if path.is_file() and ".git" not in path.relative_to(root).parts]
    return [str(path.relative_to(root)) for path in files if text.encode() in path.read_bytes()]


def test_every_command_has_a_step() -> None:
    """`mcp`, `lsp` and `completion` speak to programs, `cache` and `help` do not tell of the sample, `impact` and `fleet` ask about several projects; the
    walk itself needs no step."""
    walked = {step.command[0] for step in STEPS}

    assert set(COMMANDS) - walked <= {"cache", "completion", "demo", "fleet", "help", "impact", "lsp", "mcp"}


def test_a_second_demo_replaces_the_first_and_keeps_what_is_not_ours(tmp_path: Path) -> None:
    app_demo.demo(tmp_path / "demo")
    (tmp_path / "demo" / "harbor" / "left over").write_text("old")
    (tmp_path / "demo" / "my notes").write_text("mine")

    sample = app_demo.demo(tmp_path / "demo")

    assert not (sample.harbor / "left over").exists()
    assert (tmp_path / "demo" / "my notes").read_text() == "mine"
    assert sample.hashes["harbor@main"] == truth.HARBOR


def test_a_directory_that_is_not_ours_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.md").write_text("five years")

    assert exit_code("demo", str(tmp_path)) == 2
    assert "`layline demo` did not make it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.md"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)

    with pytest.raises(Error, match="not a plain directory"):
        app_demo.demo(tmp_path / "link")


def test_a_failing_step_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("layline.sample.tour.STEPS", (TourStep(asks="Who?", command=("gap", "show", "nobody")),))

    assert exit_code("demo", str(tmp_path / "demo")) == 3
    captured = capfd.readouterr()
    assert "There is no backend called 'nobody'" in captured.err
    assert "1 with an unexpected result" in captured.out


@pytest.mark.parametrize(
    ("command", "known"), [(("gap", "show", "keel"), True), (("gap", "sail"), False), (("sink",), False)]
)
def test_steps_of_commands_still_to_come_are_left_out(command: tuple[str, ...], known: bool) -> None:
    assert is_known(TourStep(asks="", command=command)) is known


def test_only_the_excuse_of_a_step_is_accepted() -> None:
    step = TourStep(asks="", command=("campaign", "round"), excuse="could not be measured")

    busy = sample_demo.Outcome(
        step=step, exit_code=2, output="", complaint="error: Round 2 could not be measured: busy."
    )
    wrong = sample_demo.Outcome(step=step, exit_code=2, output="", complaint="error: Not yet.")
    assert (busy.is_expected, wrong.is_expected) == (True, False)


def test_a_step_whose_package_is_not_installed_is_left_out() -> None:
    assert not is_known(TourStep(asks="", command=("doctor",), needs=("no_such_package",)))
    assert not is_known(TourStep(asks="", command=("doctor",), needs=("program:no_such_program",)))


@pytest.mark.slow
def test_two_walks_write_the_same_bytes(tmp_path: Path) -> None:
    root = tmp_path / "demo"
    written = []
    for _ in range(2):
        assert exit_code("demo", "--quick", str(root)) == 0
        folders = (root / "harbor" / "docs", root / "site")
        files = [root / sample_demo.TRANSCRIPT, *(path for folder in folders for path in sorted(folder.rglob("*")))]
        written.append({str(path.relative_to(root)): path.read_bytes() for path in files if path.is_file()})

    assert written[0] == written[1]


@pytest.mark.slow
def test_the_campaign_refuses_the_wrong_kernel(tmp_path: Path) -> None:
    root = tmp_path / "demo"

    assert exit_code("demo", str(root)) == 0
    transcript = (root / sample_demo.TRANSCRIPT).read_text(encoding="utf-8")
    assert re.search(r"Round 2: (ROLLED BACK|REJECTED)", transcript)
    assert (root / "workshop" / "gemm.c").read_bytes() != (root / "candidates" / "wrong.c").read_bytes()
