from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import layline
from histories import History
from layered import make_layered
from layline.config import Pin, parse_settings


def test_init_writes_what_works_with_objects_filled_in(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Add patches",
        {
            "harbour/backends/keel/patches/__init__.py": "",
            "harbour/configs/keel/base.yaml": "x: 1\n",
            "harbour/sails.py": "import sails\n",
            "Dockerfile": f"ARG SAILS_COMMIT={'a' * 40}\nRUN git clone https://github.com/loft/Sails.git\n",
            ".github/workflows/ci.yaml": f"env:\n  SAILS_COMMIT: {'b' * 40}\n",
        },
    )
    result = layline("init", cwd=layered.downstream.path)
    assert result.code == 0, result.err
    text = (layered.downstream.path / "layline.toml").read_text()
    assert (
        text
        == """\
# Written by `layline init`; `layline schema config --format text` explains every key.

[project]
name = "downstream"
# repository = "https://…"  # for permalinks: uncomment if it is right

[backends.keel]
# .gitmodules names no branch: `ref` is assumed
label = "keel"
path = "third_party/keel"
upstream = "https://example.org/keel"
ref = "main"
# objects = "…"  # a clone or bare mirror with its objects, if the submodule is not checked out
# packages = […]  # default: all that the upstream tree offers at the pin
integration = ["harbour/backends/keel"]
patches = ["harbour/backends/keel/patches"]
configs = ["harbour/configs/keel"]

[backends.sails]
# pinned in 2 places that differ: choose one
label = "Sails"
# pin = { file = ".github/workflows/ci.yaml", variable = "SAILS_COMMIT" }  # line 2: bbbbbbbbbbbb
# pin = { file = "Dockerfile", variable = "SAILS_COMMIT" }  # line 1: aaaaaaaaaaaa
upstream = "https://github.com/loft/Sails"
ref = "main"
# objects = "…"  # a clone or bare mirror of it; without one, --fetch downloads its history once
packages = ["sails"]
integration = ["harbour"]
"""
    )
    filled = text.replace('# objects = "…"', 'objects = "../upstream"', 1)
    (layered.downstream.path / "layline.toml").write_text(filled)
    data = layline("gap", "show", "keel", "--format", "json", cwd=layered.downstream.path).json
    assert data["behind"] == 2
    asked = layline("gap", "show", "sails", cwd=layered.downstream.path)
    assert asked.code == 2
    assert "neither `path` nor `pin`" in asked.err


def test_init_reads_packages_where_the_submodule_is_checked_out(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.path.rename(tmp_path / "moved")
    (layered.downstream.path / "third_party/keel").rmdir()
    (tmp_path / "moved").rename(layered.downstream.path / "third_party/keel")
    assert layline("init", cwd=layered.downstream.path).code == 0
    settings = parse_settings((layered.downstream.path / "layline.toml").read_text())
    assert settings.backends["keel"].packages == ("keel",)
    assert layline("gap", "show", "keel", cwd=layered.downstream.path).code == 0


def test_a_named_clone_belongs_to_the_submodule_whose_pinned_commit_it_has(tmp_path: Path) -> None:
    """A bare mirror has no address that could be compared, and a submodule need not be named like its package."""
    layered = make_layered(tmp_path)
    layered.upstream.path.rename(tmp_path / "mirror")
    other = History.start(tmp_path / "other")
    other.commit("Begin", {"sails/__init__.py": ""})
    layered.downstream.gitlink("third_party/Sails-Core", other.commits[0])
    modules = (layered.downstream.path / ".gitmodules").read_text()
    modules += '[submodule "sails"]\n\tpath = third_party/Sails-Core\n\turl = https://example.org/sails.git\n'
    layered.downstream.commit("Rig", {".gitmodules": modules, "harbour/rig.py": "import sails\n"})
    told = layline("init", "--upstream", "../other", "--upstream", "../mirror", cwd=layered.downstream.path)
    assert told.code == 0, told.err
    backends = parse_settings((layered.downstream.path / "layline.toml").read_text()).backends
    assert {key: one.objects for key, one in backends.items()} == {"keel": "../mirror", "sails_core": "../other"}
    assert backends["sails_core"].packages == ("sails",)
    assert layline("gap", "show", "keel", "--format", "json", cwd=layered.downstream.path).json["behind"] == 2


def test_an_upstream_without_an_address_names_it_in_its_build_files(tmp_path: Path) -> None:
    """A clone of a folder beside it, a bare mirror and a relative submodule have no address of their own."""
    layered = make_layered(tmp_path)
    place, modules = layered.downstream.path, layered.downstream.path / ".gitmodules"
    asked = ("init", "--force", "--upstream", "../upstream")
    setup = 'from setuptools import setup\n\nsetup(\n    name="keel", url="https://github.com/loft/keel")\n'
    layered.upstream.commit("Name the address", {"setup.py": setup})
    layered.downstream.gitlink("third_party/keel", layered.upstream.commits[-1])
    layered.downstream.commit("Move", {".gitmodules": modules.read_text().replace("https://example.org", "..")})
    named = 'upstream = "https://github.com/loft/keel"  # setup.py:4 of this upstream names it\n'
    assert layline(*asked, cwd=place).code == 0
    assert named in (place / "layline.toml").read_text(), "a submodule"
    (place / "layline.toml").unlink()
    layered.downstream.commit("Unpin", {**OURS, "README.md": "See https://github.com/loft/deck.\n"})
    assert layline(*asked, cwd=place).code == 0
    text = (place / "layline.toml").read_text()
    assert named in text, "a clone"
    told = "README.md:1 names it; for permalinks: uncomment if it is right"
    assert f'# repository = "https://github.com/loft/deck"  # {told}\n' in text


def test_a_named_clone_that_lacks_the_pinned_commit_is_told(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    stale = History.start(tmp_path / "stale")
    stale.commit("Begin", {"keel/__init__.py": ""})
    told = layline("init", "--upstream", "../stale", cwd=layered.downstream.path)
    assert f"../stale does not have the pinned commit {layered.pin[:12]}: fetch it there" in told.out
    assert parse_settings((layered.downstream.path / "layline.toml").read_text()).backends["keel"].objects is None


def test_doctor_names_what_is_missing(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    config = tmp_path / "layline.toml"
    assert layline("doctor", cwd=tmp_path).code == 0
    config.write_text(config.read_text() + 'patches = ["harbour/patches"]\n')
    result = layline("doctor", "--format", "json", cwd=tmp_path)
    assert result.code == 1
    missing = [finding for finding in result.json["findings"] if finding["state"] == "missing"]
    assert [(finding["subject"], finding["what"]) for finding in missing] == [("keel", "patches harbour/patches")]
    assert layered.pin[:12] in result.out


def test_where_nothing_is_pinned_the_readme_names_the_version(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Unpin",
        {
            ".gitmodules": "",
            "setup.py": "from setuptools import Extension, setup\nx = Extension(name='deck._c')\n"
            "setup(name='deck', ext_modules=[x])\n",
            "deck/__init__.py": "import mast.core\nimport rope\n",
            "deck/more.py": "import rope\nimport rope.knots\n",
            "README.md": "    git clone https://github.com/loft/Mast-LM.git\n    cd Mast-LM\n    git checkout "
            "core_v0.12.1\n",
            "docs/start.md": "git clone -b core_v0.12.1 https://github.com/loft/Mast-LM\ngit clone "
            "https://github.com/loft/rope\ngit checkout master\n",
        },
    )
    assert layline("init", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    assert 'name = "deck"' in text
    settings = parse_settings(text)
    assert list(settings.backends) == ["mast"], "a clone of a moving branch is no pin"
    mast = settings.backends["mast"]
    assert mast.pin is not None
    assert (mast.pin.revision, mast.upstream, mast.integration) == (
        "core_v0.12.1",
        "https://github.com/loft/Mast-LM",
        ("deck",),
    )
    assert "# README.md:3 checks out core_v0.12.1\n" in text


@pytest.mark.parametrize(
    ("asked", "pin"),
    [
        ("mast-lm==0.5.6", Pin(revision="v0.5.6")),
        ("mast-lm>=0.4,<=0.6.1", Pin(revision="v0.6.1")),
        ("rope", Pin(revision="core_v0.12.1")),
    ],
)
def test_what_the_package_asks_for_comes_before_what_a_text_checks_out(tmp_path: Path, asked: str, pin: Pin) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Unpin",
        {
            ".gitmodules": "",
            "requirements.txt": f"{asked}\n",
            "deck/__init__.py": "import mast_lm.core\n",
            "docs/faq.md": "git clone https://github.com/loft/Mast-LM\ngit checkout core_v0.12.1\n",
        },
    )
    assert layline("init", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    backend = parse_settings(text).backends["mast_lm"]
    assert (backend.pin, backend.label) == (pin, "Mast-LM")
    assert backend.upstream == "https://github.com/loft/Mast-LM"
    assert "# docs/faq.md:2 checks out core_v0.12.1\n" in text


def test_a_manifest_that_names_address_and_commit_is_a_pin(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    (layered.downstream.path / "third_party/keel").rmdir()
    manifest = {"vcs": {"keel": {"repo": "https://github.com/loft/Keel-LM.git", "ref": layered.pin}, "n": "1"}}
    layered.downstream.commit(
        "Unpin",
        {
            ".gitmodules": "",
            "requirements/manifest.json": json.dumps(manifest, indent=2),
            "deck/__init__.py": "import keel.run\n",
        },
    )
    assert layline("init", "--upstream", str(layered.upstream.path), cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    (backend,) = parse_settings(text).backends.values()
    assert backend.pin == Pin(file="requirements/manifest.json", variable="vcs.keel.ref")
    assert (backend.upstream, backend.packages) == ("https://github.com/loft/Keel-LM", ("keel",))
    assert layline("gap", "show", "keel", "--format", "json", cwd=layered.downstream.path).json["behind"] == 2


def test_where_no_version_is_named_what_is_required_is_suggested(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit(
        "Unpin",
        {
            ".gitmodules": "",
            "setup.py": "from setuptools import setup\nsetup(name='deck', install_requires=['hull>=1', 'rope >= "
            "4.52.0'])\n",
            "deck/__init__.py": "import rope\nimport hull\n",
            "deck/more.py": "import hull\nimport rope\n",
            "deck/most.py": "import hull\n",
            "README.md": "See https://github.com/loft/rope for more.\n",
        },
    )
    assert layline("init", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    (backend,) = parse_settings(text).backends.values()
    assert backend.pin is not None
    assert (backend.label, backend.pin.revision) == ("rope", "v4.52.0"), "a known address makes a block that works"
    assert "# setup.py:2 asks for rope>=4.52.0; the tag is assumed: check it" in text
    assert "# the pin is the lowest version that this allows: if you use another one, write it into `pin`" in text
    assert "# [backends.hull]  # imported by 3 files" in text


OURS: dict[str, str | bytes | None] = {
    ".gitmodules": "",
    "pyproject.toml": '[project]\nname = "deck"\ndependencies = ["keel>=1.0,<2"]\n',
    "deck/__init__.py": "import keel.run\nimport rope\n\nkeel.run.run = print\n",
    "deck/more.py": "import rope\n",
}


BARE: dict[str, str | bytes | None] = {"pyproject.toml": '[project]\nname = "deck"\n'}


@pytest.mark.parametrize(
    ("files", "pin"),
    [
        ({}, Pin(revision="v1.0")),
        ({"uv.lock": '[[package]]\nname = "keel"\nversion = "1.0"\n'}, Pin(revision="v1.0")),
        ({"requirements.txt": "keel==1.0\n"}, Pin(file="requirements.txt", requirement="keel", tag="v{version}")),
        ({"examples/requirements.txt": "keel==0.5\n"}, Pin(revision="v1.0")),
        (
            {
                "examples/requirements.txt": "keel==0.5\n",
                "pyproject.toml": '[project]\nname = "deck"\ndependencies = ["keel"]\n',
            },
            Pin(revision="v1.0", guessed=True),
        ),
        ({"pyproject.toml": '[project]\nname = "deck"\n'}, Pin(revision="v1.0", guessed=True)),
        (
            {
                "pyproject.toml": '[project]\nname = "deck"\n[project.optional-dependencies]\n'
                'new = ["keel==1.0"]\nold = ["keel==0.9"]\n'
            },
            Pin(revision="v1.0"),
        ),
        ({"Dockerfile": "RUN pip install keel==1.0\n", **BARE}, Pin(revision="v1.0")),
        (
            {"docker/Dockerfile.a": "RUN pip install keel==0.9\nRUN pip install keel==1.0\n", **BARE},
            Pin(revision="v1.0"),
        ),
        ({"pyproject.toml": '[project]\nname = "deck"\ndependencies = ["keel>=0.5,<=1.0"]\n'}, Pin(revision="v1.0")),
        ({"Dockerfile": "RUN pip install git+https://example.org/keel.git@v1.0\n", **BARE}, Pin(revision="v1.0")),
    ],
)
def test_a_named_clone_becomes_a_block_that_answers_at_once(
    tmp_path: Path, files: dict[str, str | bytes | None], pin: Pin
) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unpin", {**OURS, **files})
    told = layline("init", "--upstream", "../upstream", cwd=layered.downstream.path)
    assert told.code == 0, told.err
    settings = parse_settings((layered.downstream.path / "layline.toml").read_text())
    assert (settings.backends["keel"].pin, settings.backends["keel"].objects) == (pin, "../upstream")
    assert layline("doctor", cwd=layered.downstream.path).code == 0
    assert layline("gap", "show", "--format", "json", cwd=layered.downstream.path).json["behind"] == 2
    assert "1 monkey patch: 1 on " in layline("patches", "list", cwd=layered.downstream.path).out


@pytest.mark.parametrize(
    ("spec", "tag"),
    [(">=1.0,<2", "v1.5"), ("~=1.0", "v1.5"), (">=1.0,<1.5", "v1.0"), (">=1.0", "v1.0"), (">=0.1,<0.5", "v0.1")],
)
def test_of_a_range_that_ends_the_newest_release_in_it_is_pinned(tmp_path: Path, spec: str, tag: str) -> None:
    """What is installed today; the lowest may be years old, and most of what is patched does not exist there."""
    layered = make_layered(tmp_path)
    for name in ("v1.5", "v1.6rc1", "v2.0"):
        layered.upstream.git("tag", name)
    wanted = f'[project]\nname = "deck"\ndependencies = ["keel{spec}"]\n'
    layered.downstream.commit("Unpin", {**OURS, "pyproject.toml": wanted})
    assert layline("init", "--upstream", "../upstream", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    assert f'pin = {{ revision = "{tag}" }}\n' in text
    assert ("the newest release that this allows" in text) is (tag in ("v1.5", "v1.0") and spec != ">=1.0")


@pytest.mark.parametrize(
    ("spec", "pin", "said"),
    [
        ("<2", '{ revision = "v1.5" }', "pyproject.toml:3 asks for keel<2"),
        ("<0.5", '{ revision = "v2.0", guessed = true }', "pyproject.toml:3 asks for keel<0.5, which names no release"),
    ],
)
def test_a_range_without_a_lower_end_is_not_called_no_version(tmp_path: Path, spec: str, pin: str, said: str) -> None:
    layered = make_layered(tmp_path)
    for name in ("v1.5", "v2.0"):
        layered.upstream.git("tag", name)
    wanted = f'[project]\nname = "deck"\ndependencies = ["keel{spec}"]\n'
    layered.downstream.commit("Unpin", {**OURS, "pyproject.toml": wanted})
    assert layline("init", "--upstream", "../upstream", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    assert f"pin = {pin}\n" in text
    assert said in text
    assert "no file of the project pins a version" not in text


def test_every_version_that_the_project_asks_for_is_told_with_its_place(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    wanted = '[project]\nname = "deck"\ndependencies = ["keel>=0.5,<=1.0,!=0.7,!=0.8"]\n'
    files = {"pyproject.toml": wanted, "requirements.txt": "keel==1.0\n", "requirements-old.txt": "keel==0.9\n"}
    layered.downstream.commit("Unpin", {**OURS, **files})
    assert layline("init", "--upstream", "../upstream", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    told = (
        "# other places ask for it, too: pyproject.toml:3 for >=0.5,<=1.0 without 2 of these and requirements-old.txt:1 "
        "(optional) for ==0.9\n# why this one: an exact version takes precedence over a range, and what every "
        "installation needs takes precedence over optional files and extras\n"
    )
    assert told in text


RANGE = '[project]\nname = "deck"\ndependencies = ["keel>=0.5,<=1.0"]\n'
OPEN = '[project]\nname = "deck"\ndependencies = ["keel>=0.5"]\n'
DEV = f'{OPEN}[dependency-groups]\ndev = ["keel==1.0"]\n'
OPTIONAL = "# only an optional file or extra names this version: if you use another one, write it into `pin`\n"


@pytest.mark.parametrize(
    ("files", "pin", "said"),
    [
        (
            {"pyproject.toml": RANGE, "requirements/one-model.txt": "keel==0.9\n"},
            '{ revision = "v1.0" }',
            "# other places ask for it, too: requirements/one-model.txt:1 (optional) for ==0.9\n",
        ),
        (
            {
                "pyproject.toml": RANGE,
                "requirements.txt": "-r requirements/base.txt\n",
                "requirements/base.txt": "keel==0.9\n",
            },
            '{ file = "requirements/base.txt", requirement = "keel" }',
            "# other places ask for it, too: pyproject.toml:3 for >=0.5,<=1.0\n",
        ),
        # of a range without an upper end nobody installs the lowest
        (
            {"pyproject.toml": OPEN, "requirements/one-model.txt": "keel==0.9\n"},
            '{ file = "requirements/one-model.txt", requirement = "keel" }',
            OPTIONAL,
        ),
        ({"pyproject.toml": DEV}, '{ file = "pyproject.toml", requirement = "keel" }', OPTIONAL),
        (
            {"pyproject.toml": OPEN, "requirements/one-model.txt": "keel==0.1\n"},
            '{ revision = "v0.5" }',
            "requirements/one-model.txt:1 (optional) for ==0.1\n",
        ),
    ],
)
def test_what_everybody_installs_comes_before_an_optional_file(
    tmp_path: Path, files: dict[str, str], pin: str, said: str
) -> None:
    layered = make_layered(tmp_path)
    for name in ("v0.1", "v0.5", "v0.9"):
        layered.upstream.git("tag", name)
    layered.downstream.commit("Unpin", {**OURS, **files})
    assert layline("init", "--upstream", "../upstream", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    assert f"pin = {pin}\n" in text
    assert said in text


@pytest.mark.parametrize(
    ("text", "pin", "said"),
    [
        ("Built on Keel 1.0, before on keel 0.9.\n", "v1.0", "README.md:1 names Keel 1.0"),
        ("See [it](https://x.org/a/keel/releases/tag/v0.9).\n", "v0.9", "README.md:1 names /keel/releases/tag/v0.9"),
        ("Built on keel 7.0.\n", "v1.0", "no file of the project pins a version"),  # upstream has no such tag
        ("Built on winkeel 0.9 and keel-tools 0.9.\n", "v1.0", "no file of the project pins a version"),
    ],
)
def test_a_release_that_only_the_docs_name_is_a_guess_with_its_place(
    tmp_path: Path, text: str, pin: str, said: str
) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("tag", "v0.9", layered.upstream.commits[0])
    layered.downstream.commit("Unpin", {**OURS, **BARE, "README.md": text})
    assert layline("init", "--upstream", "../upstream", cwd=layered.downstream.path).code == 0
    written = (layered.downstream.path / "layline.toml").read_text()
    assert f'pin = {{ revision = "{pin}", guessed = true }}\n' in written
    assert said in written


def test_a_pin_can_stand_in_a_file_of_another_branch(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    ours = layered.downstream
    ours.git("checkout", "-q", "-b", "ci/good")
    ours.commit("Good", {"STABLE": f"{layered.upstream.commits[0]}\n"})
    ours.git("checkout", "-q", "main")
    ours.commit("Unpin", {**OURS, **BARE, "README.md": 'x=$(git show "origin/ci/good:STABLE")\n'})
    assert layline("init", "--upstream", "../upstream", cwd=ours.path).code == 0
    written = (ours.path / "layline.toml").read_text()
    assert 'pin = { file = "STABLE", branch = "ci/good" }\n' in written
    assert "README.md:1 reads it from STABLE on our branch ci/good" in written
    shown = layline("gap", "show", "--format", "json", cwd=ours.path).json
    assert shown["pin"]["commit"] == layered.upstream.commits[0]
    (ours.path / "layline.toml").write_text(written.replace("ci/good", "ci/none"))
    refused = layline("gap", "show", cwd=ours.path)
    assert refused.code == 2
    assert "has no branch ci/none" in refused.err


def test_a_guessed_pin_is_told_until_the_mark_is_removed(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unpin", {**OURS, **BARE})
    place = layered.downstream.path
    assert layline("init", "--upstream", "../upstream", cwd=place).code == 0
    file = place / "layline.toml"
    file.write_text(file.read_text().replace('# upstream = "https://…"', 'upstream = "https://example.org/keel"'))
    guess = "The pin v1.0 is a guess by `init`: no file of the project pins a version."
    assert f"warning: {guess}" in layline("gap", "show", cwd=place).out
    assert layline("gap", "show", "--format", "json", cwd=place).json["pin_guessed"] is True
    assert layline("patches", "drift", cwd=place).out.count(guess) == 1
    assert layline("patches", "drift", "--format", "json", cwd=place).json["pin_guessed"] is True
    told = layline("gap", "report", "--format", "json", cwd=place)
    assert told.json["reports"][0]["pin_guessed"] is True
    written = [place / one["path"] for one in told.json["reports"][0]["files"] if one["path"].endswith(".md")]
    assert [path.read_text().count("The pin v1.0 is a guess by") for path in written] == [1, 1], "and the summary"
    file.write_text(file.read_text().replace(", guessed = true", ""))
    assert "guess" not in layline("gap", "show", cwd=place).out
    assert "pin_guessed" not in layline("gap", "show", "--format", "json", cwd=place).json


def test_a_file_with_several_values_is_named_with_its_lines(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    several = '[project]\nname = "deck"\n[project.optional-dependencies]\nnew = ["keel==1.0"]\nold = ["keel==0.9"]\n'
    layered.downstream.commit("Unpin", {**OURS, "pyproject.toml": several})
    place = layered.downstream.path
    assert layline("init", "--upstream", "../upstream", cwd=place).code == 0
    file = place / "layline.toml"
    said = "# pyproject.toml names several versions (line 4: 1.0, line 5: 0.9): if you use another one, write it into `pin`\n"
    assert said in file.read_text()
    followed = 'pin = { file = "pyproject.toml", requirement = "keel" }'
    file.write_text(file.read_text().replace('pin = { revision = "v1.0" }', followed, 1))
    told = layline("doctor", cwd=place)
    assert 'Choose one in layline.toml: `pin = { revision = "v1.0" }`.' in told.out


def test_a_clone_beside_the_project_is_found(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unpin", OURS)
    layered.upstream.path.rename(tmp_path / "keel")
    assert layline("init", cwd=layered.downstream.path).code == 0
    assert parse_settings((layered.downstream.path / "layline.toml").read_text()).backends["keel"].objects == "../keel"
    assert layline("gap", "show", cwd=layered.downstream.path).code == 0


def test_a_clone_that_the_project_does_not_import_is_refused(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unpin", {**OURS, "deck/__init__.py": "", "harbour/backends/keel/__init__.py": None})
    told = layline("init", "--upstream", "../upstream", cwd=layered.downstream.path)
    assert told.code == 2
    assert "error: ../upstream offers keel, which the project does not import." in told.err
    assert "hint: Name a clone of a package that it imports: rope." in told.err


@pytest.mark.parametrize(
    ("example", "said"),
    [
        ("", "../hull offers hull, which the project does not import."),
        (
            "from hull import mast\n",
            "../hull offers hull, which only tests and examples import (examples/sail.py:1); Layline does not judge these.",
        ),
    ],
)
def test_a_clone_that_is_of_no_use_does_not_stop_the_others(tmp_path: Path, example: str, said: str) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unpin", {**OURS, "examples/sail.py": example})
    hull = History.start(tmp_path / "hull")
    hull.commit("Begin", {"hull/__init__.py": "", "hull/mast.py": ""})
    told = layline("init", "--upstream", "../upstream", "--upstream", "../hull", cwd=layered.downstream.path)
    assert told.code == 0, told.err
    assert f"warning: not used: {said}" in told.out
    assert list(parse_settings((layered.downstream.path / "layline.toml").read_text()).backends) == ["keel"]


COMPARED = """\
from importlib.metadata import version
from packaging.version import parse

has = parse(version("keel")) >= parse("0.9")
"""
TURNED = """\
import keel
from packaging import version

NEW = version.parse("0.9") <= version.parse(keel.__version__)
"""
HELPED = """\
from importlib.metadata import version

found = version("keel")


def is_keel(sign, number):
    return compare(found, sign, number)


OLD = is_keel("<", "0.5")
NEW = is_keel(">=", "0.9")
"""
ASKED = [
    # our code beside OURS, what layline.toml says that it tests for
    (COMPARED, "our code tests for keel >= 0.9 at deck/later.py:4"),
    (TURNED, "our code tests for keel >= 0.9 at deck/later.py:4"),
    (HELPED, "our code tests for keel >= 0.9 at deck/later.py:11"),
    ('if compare("keel", ">=", "0.9"):\n    pass\n', "our code tests for keel >= 0.9 at deck/later.py:1"),
    ('import importlib.metadata\nok = importlib.metadata.version("keel-run") == "0.9"\n', "keel-run == 0.9"),
    ('from importlib.metadata import version\nok = version("keeler") >= "0.9"\n', None),
]


@pytest.mark.parametrize(("text", "said"), ASKED)
def test_versions_that_our_code_tests_for_are_named_with_a_guessed_pin(
    tmp_path: Path, text: str, said: str | None
) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("tag", "v0.9", layered.upstream.commits[0])
    layered.downstream.commit("Unpin", {**OURS, **BARE, "deck/later.py": text})
    place = layered.downstream.path
    assert layline("init", "--upstream", "../upstream", cwd=place).code == 0
    written = (place / "layline.toml").read_text()
    assert (said or "our code tests for") in written or said is None
    assert ("our code tests for" in written) is (said is not None)
    assert ('# pin = { revision = "v0.9" }  # the newest that our code tests for' in written) is (said is not None)
    shown = layline("gap", "show", cwd=place).out
    assert "The pin v1.0 is a guess." in shown.splitlines()[0]
    assert ((said or "our").partition("our code ")[2] or "keel") in shown


def test_of_two_packages_of_a_clone_the_one_that_is_imported_most_is_meant(tmp_path: Path) -> None:
    """Which one it was depended on the hash seed: a project has a `utils` of its own, and a clone has one, too."""
    layered = make_layered(tmp_path)
    layered.upstream.commit("Add tools", {"utils/checks.py": "LIMIT = 1\n"})
    ours = {
        "deck/a.py": "import keel\n",
        "deck/b.py": "import keel\n",
        "tools/run.py": "import sys\nimport utils\n\nsys.modules['utils'] = sys\n",
    }
    layered.downstream.commit("Unpin", {**OURS, **BARE, **ours})
    place = layered.downstream.path
    assert layline("init", "--upstream", "../upstream", cwd=place).code == 0
    file = place / "layline.toml"
    assert list(parse_settings(file.read_text()).backends) == ["keel"]
    file.write_text(file.read_text().replace('packages = ["keel"]', 'packages = ["utils"]'))
    assert layline("upgrade", "check", "--pin", "HEAD", cwd=place).code in {0, 1}, "a folder without __init__.py"


def test_doctor_is_not_content_without_a_backend(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.downstream.commit("Unpin", {**OURS, "deck/__init__.py": "", "deck/more.py": ""})
    assert layline("init", cwd=layered.downstream.path).code == 0
    told = layline("doctor", cwd=layered.downstream.path)
    assert told.code == 1
    assert "No backend is configured yet. Edit layline.toml: uncomment one block." in told.out


def test_a_package_that_is_patched_is_found_beside_a_submodule(tmp_path: Path) -> None:
    """As in projects whose only submodule is no upstream at all."""
    layered = make_layered(tmp_path)
    writes = "".join(f"rope.knots.knot{number} = print\n" for number in range(4))
    files: dict[str, str | bytes | None] = {
        "setup.py": "from setuptools import setup\nsetup(name='deck', install_requires=['rope>=4.52.0'])\n",
        "deck/__init__.py": f"import rope.knots\nimport hull.mast\n{writes}hull.mast.top = print\n",
        "deck/more.py": "import sail_t5\nsail_t5.furl = print\n",
        "README.md": "See https://github.com/loft/rope for more.\n",
    }
    layered.downstream.commit("Patch", files)
    told = layline("init", cwd=layered.downstream.path)
    assert told.code == 0, told.err
    assert list(parse_settings((layered.downstream.path / "layline.toml").read_text()).backends) == ["keel", "rope"]
    assert "`layline gap show rope --fetch`" in told.out, "the submodule's objects are not here"
    assert (
        "Our code also assigns to names of hull. layline.toml has a commented block for it. To make one a backend, "
        "uncomment its block and fill in what is missing."
    ) in told.out
    assert "sail_t5" not in told.out, "what is imported by its own name alone may be a script"


def test_a_submodule_that_nothing_imports_is_no_backend_and_several_versions_are_told(tmp_path: Path) -> None:
    """As in projects that keep recipes in a submodule, and a Dockerfile for each version of an upstream."""
    layered = make_layered(tmp_path)
    address = "git+https://github.com/loft/Rope-Core.git"
    files: dict[str, str | bytes | None] = {
        "pyproject.toml": '[project]\nname = "deck"\ndependencies = ["rope"]\n',
        "harbour/backends/keel/__init__.py": None,
        "deck/__init__.py": "import rope.knots\nrope.knots.knot = print\n",
        "docker/Dockerfile.one": f"RUN pip install {address}@core_v0.9.0\nRUN pip install {address}@core_v0.15.0rc4\n",
        "docker/Dockerfile.two": f"RUN pip install {address}@core_v0.15.0\n",
    }
    layered.downstream.commit("Patch", files)
    assert layline("init", cwd=layered.downstream.path).code == 0
    text = (layered.downstream.path / "layline.toml").read_text()
    ((key, backend),) = parse_settings(text).backends.items()
    assert (key, backend.pin, backend.upstream) == (
        "rope",
        Pin(revision="core_v0.15.0"),
        "https://github.com/loft/Rope-Core",
    )
    assert (
        "# the highest of 3 versions that files of the project install: if you use another one, write it into `pin`"
        in text
    )
    assert "lowest" not in text


def test_a_project_that_patches_what_comes_with_python_gets_a_block_for_it(tmp_path: Path) -> None:
    """It proposed `test`, a package that no index has; a clone of Python was refused."""
    layered = make_layered(tmp_path)
    patches = "import ssl\nimport test.support\n\nssl.SSLContext = ssl.create = print\nssl.connect = print\nssl.close = print\n"
    files = {**OURS, **BARE, "deck/__init__.py": patches, "deck/more.py": "", "harbour/backends/keel/__init__.py": None}
    layered.downstream.commit("Patch what comes with Python", files)
    place = layered.downstream.path
    assert "names of cpython (what comes with Python)" in layline("init", cwd=place).out
    text = (place / "layline.toml").read_text()
    assert '# packages = ["ssl"]\n# source_roots = ["Lib"]\n' in text
    assert "backends.test" not in text
    layered.upstream.commit("Begin a library", {"Lib/ssl.py": "class SSLContext:\n    pass\n\n\nconnect = close = 1\n"})
    layered.upstream.git("tag", "v3.13.0")
    told = layline("init", "--force", "--upstream", "../upstream", cwd=place)
    assert told.code == 0, told.err
    (backend,) = parse_settings((place / "layline.toml").read_text()).backends.values()
    assert (backend.packages, backend.source_roots) == (("ssl",), ("Lib",))
    assert layline("patches", "drift", cwd=place).out.startswith("cpython: none of 3 patched places break")
