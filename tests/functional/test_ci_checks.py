"""What pull requests and hooks run: drift of all backends, dead patches, pins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commands import layline
from layline.sample import write_sample


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ci") / "demo"
    write_sample(root)
    return root / "harbor"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"LAYLINE_CACHE": str(tmp_path_factory.mktemp("cache"))}


def test_drift_of_all_backends_is_one_answer(harbor: Path, cache: dict[str, str]) -> None:
    answer = layline("patches", "drift", "--all", "--format", "json", cwd=harbor, env=cache)
    assert answer.code == 1
    assert [item["backend"] for item in answer.json["backends"]] == ["keel", "spar", "rivet"]
    single = layline("patches", "drift", "keel", "--format", "json", cwd=harbor, env=cache)
    assert answer.json["backends"][0] == single.json


def test_a_backend_without_objects_is_skipped_and_named(harbor: Path, cache: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "layline.toml"
    text = (harbor / "layline.toml").read_text().replace("[project]", f'[project]\ngit = "{harbor}"', 1)
    text = re.sub(r'objects = "\.\./', f'objects = "{harbor.parent}/', text).replace("spar.git", "gone.git")
    config.write_text(text)
    answer = layline("patches", "drift", "--all", "-c", str(config), "--format", "json", cwd=harbor, env=cache)
    assert answer.code == 1, answer.err
    assert [item["backend"] for item in answer.json["backends"]] == ["keel", "rivet"]
    assert answer.json["skipped"][0]["what"] == "backend spar"
    assert "nowhere to be found" in answer.json["skipped"][0]["why"]


def test_one_backend_or_all_must_be_said(harbor: Path) -> None:
    for arguments in ((), ("keel", "--all")):
        answer = layline("patches", "drift", *arguments, cwd=harbor)
        assert (answer.code, "Name one backend, or say --all." in answer.err) == (2, True)


def test_dead_patches_are_found_without_a_tip(harbor: Path, cache: dict[str, str], tmp_path: Path) -> None:
    answer = layline("patches", "drift", "keel", "--dead", "--format", "json", cwd=harbor, env=cache)
    assert answer.code == 1
    dead = [(row["patch"], row["target"], row["kind"]) for row in answer.json["rows"]]
    assert ("keel.parallel.crew_size", "keel.core.parallel_state.get_word_size", "dead-at-pin") in dead
    assert {kind for _, _, kind in dead} == {"dead-at-pin"}
    accepted = "".join(
        f'[[accepted]]\nid = "{row["id"]}"\nreason = "known"\nuntil = 2099-12-31\n' for row in answer.json["rows"]
    )
    baseline = tmp_path / "accepted.toml"
    baseline.write_text(accepted)
    again = layline("patches", "drift", "keel", "--dead", "--baseline", str(baseline), cwd=harbor, env=cache)
    assert again.code == 0, again.out


def test_pins_are_checked_without_objects(harbor: Path, tmp_path: Path) -> None:
    assert layline("doctor", "--pins", cwd=harbor).code == 0
    config = tmp_path / "layline.toml"
    text = (harbor / "layline.toml").read_text().replace("[project]", f'[project]\ngit = "{harbor}"', 1)
    config.write_text(text.replace('path = "third_party/keel"', 'path = "third_party/nowhere"'))
    answer = layline("doctor", "--pins", "-c", str(config), "--format", "json", cwd=harbor)
    assert answer.code == 1
    assert next((row["subject"], row["state"]) for row in answer.json["findings"]) == ("keel", "missing")
