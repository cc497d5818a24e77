"""What pull requests and hooks run: drift of all backends, dead patches, pins."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import _SOURCE, Result, layline, run_script
from layline.sample import write_sample

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "scripts" / "action.py"


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ci") / "demo"
    write_sample(root)
    return root / "harbor"


def test_drift_of_all_backends_is_one_answer(harbor: Path) -> None:
    answer = layline("patches", "drift", "--all", "--format", "json", cwd=harbor)
    assert answer.code == 1
    assert [item["backend"] for item in answer.json["backends"]] == ["keel", "spar", "rivet"]
    single = layline("patches", "drift", "keel", "--format", "json", cwd=harbor)
    assert answer.json["backends"][0] == single.json


def test_a_backend_without_objects_is_skipped_and_named(harbor: Path, tmp_path: Path) -> None:
    config = tmp_path / "layline.toml"
    text = (harbor / "layline.toml").read_text().replace("[project]", f'[project]\ngit = "{harbor}"', 1)
    text = re.sub(r'objects = "\.\./', f'objects = "{harbor.parent}/', text).replace("spar.git", "gone.git")
    config.write_text(text)
    answer = layline("patches", "drift", "--all", "-c", str(config), "--format", "json", cwd=harbor)
    assert answer.code == 1, answer.err
    assert [item["backend"] for item in answer.json["backends"]] == ["keel", "rivet"]
    assert answer.json["skipped"][0]["what"] == "backend spar"
    assert "are not on this machine" in answer.json["skipped"][0]["why"]


def test_one_backend_or_all_must_be_said(harbor: Path) -> None:
    for arguments, says in (
        ((), "Name one of keel, spar, rivet, or use --all."),
        (("keel", "--all"), "Name one backend or use --all, not both."),
    ):
        answer = layline("patches", "drift", *arguments, cwd=harbor)
        assert (answer.code, says in answer.err) == (2, True)


def test_dead_patches_are_found_without_a_tip(harbor: Path, tmp_path: Path) -> None:
    answer = layline("patches", "drift", "keel", "--dead", "--format", "json", cwd=harbor)
    assert answer.code == 1
    dead = [(row["patch"], row["target"], row["kind"]) for row in answer.json["rows"]]
    assert ("keel.parallel.crew_size", "keel.core.parallel_state.get_word_size", "dead-at-pin") in dead
    assert {kind for _, _, kind in dead} == {"dead-at-pin"}
    accepted = "".join(
        f'[[accepted]]\nid = "{row["id"]}"\nreason = "known"\nuntil = 2099-12-31\n' for row in answer.json["rows"]
    )
    baseline = tmp_path / "accepted.toml"
    baseline.write_text(accepted)
    again = layline("patches", "drift", "keel", "--dead", "--baseline", str(baseline), cwd=harbor)
    assert again.code == 0, again.out


def test_pins_are_checked_without_objects(harbor: Path, tmp_path: Path) -> None:
    assert layline("doctor", "--pins", cwd=harbor).code == 0
    config = tmp_path / "layline.toml"
    text = (harbor / "layline.toml").read_text().replace("[project]", f'[project]\ngit = "{harbor}"', 1)
    config.write_text(text.replace('path = "third_party/keel"', 'path = "third_party/nowhere"'))
    answer = layline("doctor", "--pins", "-c", str(config), "--format", "json", cwd=harbor)
    assert answer.code == 1
    assert next((row["subject"], row["state"]) for row in answer.json["findings"]) == ("keel", "missing")


def _git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def pull_request(harbor: Path, tmp_path: Path) -> Path:
    """A clone of Harbor whose newest commit moves Keel's pin to Keel's main."""
    clone = tmp_path / "harbor"
    _git(tmp_path, "clone", "-q", str(harbor), str(clone))
    text = re.sub(r'objects = "\.\./', f'objects = "{harbor.parent}/', (harbor / "layline.toml").read_text())
    (clone / "layline.toml").write_text(text)
    tip = _git(harbor.parent / "keel.git", "rev-parse", "main")
    _git(clone, "update-index", "--cacheinfo", f"160000,{tip},third_party/keel")
    _git(clone, "commit", "-qm", "Move keel")
    return clone


def _run_action(folder: Path, out: Path, **settings: str) -> Result:
    return run_script(ACTION, cwd=folder, env={**_name_outputs(out), **settings})


def _name_outputs(out: Path) -> dict[str, str]:
    return {
        "RUNNER_TEMP": str(out),
        "GITHUB_STEP_SUMMARY": str(out / "step.md"),
        "GITHUB_OUTPUT": str(out / "output"),
    }


def test_the_action_looks_at_the_pins_that_a_pull_request_moves(pull_request: Path, tmp_path: Path) -> None:
    done = _run_action(pull_request, tmp_path, LAYLINE_BASE="HEAD~1")
    assert done.code == 1, done.err
    summary = (tmp_path / "step.md").read_text()
    assert "Keel is pinned 30 commits behind" in summary
    assert "Keel is pinned 0 commits behind" in summary
    assert "Pins that this pull request does not move: spar, rivet." in summary
    assert "moved=keel\n" in (tmp_path / "output").read_text()
    results = json.loads((tmp_path / "layline/sarif/keel.sarif").read_text())["runs"][0]["results"]
    assert {"error", "warning"} == {item["level"] for item in results}
    assert done.out.startswith("::error file=harbor/backends/keel/")


def test_the_action_is_content_where_no_pin_moves(harbor: Path, tmp_path: Path) -> None:
    """Started as `action.yml` does it; the other tests take it from a process that has imported layline already."""
    env = {**os.environ, "PYTHONPATH": _SOURCE, **_name_outputs(tmp_path), "LAYLINE_BASE": "HEAD"}
    command = [sys.executable, "-P", str(ACTION)]
    done = subprocess.run(command, cwd=harbor, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert (tmp_path / "step.md").read_text() == "Pins that this pull request does not move: keel, spar, rivet.\n"


def test_the_action_without_a_base_compares_with_upstream(harbor: Path, tmp_path: Path) -> None:
    done = _run_action(harbor, tmp_path, LAYLINE_BACKENDS="spar", LAYLINE_FAIL_ON="none")
    assert done.code == 0, done.err
    assert "Spar is pinned" in (tmp_path / "step.md").read_text()


def test_the_action_says_how_much_it_kept(pull_request: Path, tmp_path: Path) -> None:
    """From the cache of the run before: nothing, some readings after a commit to one module, all."""
    clone = pull_request

    def ask() -> str:
        done = _run_action(
            clone, tmp_path, LAYLINE_CACHE=str(tmp_path / "cache"), LAYLINE_BACKENDS="spar", LAYLINE_FAIL_ON="none"
        )
        assert done.code == 0, done.err
        return next(line for line in done.err.splitlines() if line.startswith("spar: "))

    told = re.compile(
        r"spar: (\d+) of (\d+) readings of modules and (\d+) of (\d+) rows and files are kept from earlier runs"
    )
    first = told.fullmatch(ask())
    assert first is not None
    assert (int(first[1]), int(first[2]) > 10) == (0, True)
    (clone / "harbor" / "one_more.py").write_text("import spar\n\nspar.answer = 42\n")
    _git(clone, "add", "-A")
    _git(clone, "commit", "-qm", "One more")
    second = told.fullmatch(ask())
    assert second is not None
    assert 0 < int(second[2]) - int(second[1]) < int(first[2]) / 3
    assert 0 < int(second[4]) - int(second[3]) < int(first[4]) / 3
    assert ask() == "spar: the drift is kept from an earlier run"


def test_the_action_says_what_it_cannot_answer(harbor: Path, tmp_path: Path) -> None:
    done = _run_action(harbor, tmp_path, LAYLINE_BACKENDS="spar", LAYLINE_TO="no-such-ref")
    assert done.code == 2
    assert "::warning title=layline spar::" in done.out
    assert "Not answered:" in (tmp_path / "step.md").read_text()


def _find_hooks() -> list[dict[str, Any]]:
    hooks: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    return hooks


@pytest.mark.parametrize("hook", _find_hooks(), ids=[hook["id"] for hook in _find_hooks()])
def test_the_entry_of_every_hook_runs(hook: dict[str, Any], harbor: Path) -> None:
    program, *arguments = shlex.split(hook["entry"])
    assert program == "layline"
    done = layline(*arguments, cwd=harbor)
    assert done.code == (1 if hook["id"] == "layline-patches" else 0), (
        done.err
    )  # the sample has dead patches on purpose


def test_the_action_gives_its_script_every_input() -> None:
    plain = yaml.safe_load((ROOT / "action.yml").read_text())
    step = plain["runs"]["steps"][-1]
    named = set(re.findall(r"inputs\.([\w-]+)", " ".join(step["env"].values())))
    assert named | {"package"} == set(plain["inputs"])
    assert set(step["env"]) <= set(re.findall(r"LAYLINE_\w+", ACTION.read_text()))
    assert "${{" not in step["run"], "text of a pull request must not become part of a script"
