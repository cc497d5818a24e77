"""What `doctor` says about a machine."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from commands import layline
from histories import History
from layline.project.doctor import judge_platform
from layline.sample import Sample


@pytest.mark.parametrize(
    ("system", "libc", "state", "says"),
    [
        ("Linux", "glibc 2.36", "ok", "Linux with glibc 2.36"),
        ("Linux", "musl 1.2.4", "absent", "this is Linux with musl 1.2.4"),
        ("Linux", "", "absent", "this is Linux with another C library"),
        ("Darwin", "", "absent", "this is Darwin"),
        ("", "", "absent", "this is an unknown system"),
    ],
)
def test_campaigns_need_linux_with_glibc(system: str, libc: str, state: str, says: str) -> None:
    found = judge_platform(system, libc)
    assert found.state == state
    assert says in found.detail
    if state == "absent":
        assert "gap, patches, periodic and dashboard work here" in found.detail


def test_architecture_and_compiler_are_named(sample: Sample) -> None:
    done = layline("doctor", "--format", "json", cwd=sample.harbor)
    rows = {row["what"]: row for row in done.json["findings"] if row["subject"] == "machine"}
    assert rows["system"]["detail"] == f"{platform.system()} on {platform.machine()}"
    assert rows["campaigns"]["state"] == judge_platform(platform.system(), " ".join(platform.libc_ver())).state
    assert rows["cc"]["state"] in {"ok", "absent"}


def test_paths_of_the_project_are_named_from_here(sample: Sample) -> None:
    out = layline("doctor", cwd=sample.harbor).out
    assert str(sample.root) not in out
    assert "configuration: layline.toml" in out
    assert "../keel.git" in out


def test_a_guessed_pin_is_told(sample: Sample, tmp_path: Path) -> None:
    """Who doubts the pin asks here: it said that nothing is missing."""
    keel = f'[backends.keel]\nobjects = "{sample.root / "keel.git"}"\npackages = ["keel"]\n'
    for guessed in (True, False):
        pin = f'pin = {{ revision = "main"{", guessed = true" if guessed else ""} }}\n'
        (tmp_path / "layline.toml").write_text(f'[project]\nname = "x"\ngit = "{sample.harbor}"\n\n{keel}{pin}')
        out = layline("doctor", cwd=tmp_path).out
        assert ("1 pin is a guess." in out) == guessed
        assert ("Write the version that you use into backends.keel.pin, and remove `guessed`." in out) == guessed


def test_a_project_without_backends_is_told_what_to_do(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "layline.toml").write_text(f'[project]\nname = "x"\ngit = "{sample.harbor}"\n')
    assert (
        "No backend is configured yet. Edit layline.toml: uncomment one block." in layline("doctor", cwd=tmp_path).out
    )


def test_without_a_configuration_the_machine_is_looked_at(tmp_path: Path) -> None:
    done = layline("doctor", cwd=tmp_path)
    assert (done.code, "There is no layline.toml here or above" in done.out, "glibc" in done.out) == (0, True, True)
    assert layline("doctor", "--pins", cwd=tmp_path).code == 2


@pytest.mark.parametrize(
    ("requirement", "told"),
    [
        ("keel>=1.0,<2", "pyproject.toml:3 allows >=1.0,<2; answers are for the pin"),
        ("keel~=1.4", "allows ~=1.4"),
        ("keel==1.4", None),
        ("keel", None),
        ("hull>=1", None),
    ],
)
def test_a_supported_range_is_named(tmp_path: Path, requirement: str, told: str | None) -> None:
    history = History.start(tmp_path / "deck")
    history.commit("first", {"pyproject.toml": f'[project]\nname = "deck"\ndependencies = ["{requirement}"]\n'})
    settings = '[project]\nname = "deck"\n[backends.keel]\npin = { revision = "v1" }\npackages = ["keel"]\n'
    (history.path / "layline.toml").write_text(settings)
    rows = [row["detail"] for row in layline("doctor", "--format", "json", cwd=history.path).json["findings"]]
    found = [row for row in rows if "answers are for the pin" in row]
    assert (told is None) == (not found)
    assert told is None or told in found[0]
