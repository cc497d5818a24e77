"""Commands in an environment that lacks a package: one sentence, the pip command, exit 2; never "layline has a bug"."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import layline as package
from layline.sample import Sample

SOURCE = Path(package.__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment without any package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin/python"


def _lend(folder: Path, *modules: str) -> Path:
    """A folder of the named packages alone, as our own environment has them."""
    folder.mkdir()
    for module in modules:
        spec = importlib.util.find_spec(module)
        assert spec is not None
        assert spec.submodule_search_locations
        (folder / module).symlink_to(spec.submodule_search_locations[0])
    return folder


def _run(
    python: Path, arguments: tuple[str, ...], lent: Path | None, cwd: Path, said: str = ""
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(str(one) for one in (SOURCE, lent) if one)
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [str(python), *arguments], env=environment, cwd=cwd, input=said, capture_output=True, text=True, check=False
    )


def test_nothing_installed(bare: Path, tmp_path: Path) -> None:
    done = _run(bare, ("-m", "layline", "--help"), None, tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: The Python package click is not installed; Layline needs it.\nhint: python -m pip install "
    )
    assert "'pydantic>=2.8'" in done.stderr


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        (("gap", "show", "keel"), "pydantic"),
        (("campaign", "new", "faster", "--yes", "--operator", "gemm", "--kernel", "kernel.c"), "numpy"),
    ],
)
def test_the_package_a_command_needs_is_missing(
    bare: Path, sample: Sample, tmp_path: Path, command: tuple[str, ...], missing: str
) -> None:
    done = _run(
        bare,
        ("-m", "layline", *command),
        _lend(tmp_path / "lent", "click", "packaging", "yaml"),
        sample.root / "harbor",
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: The Python package {missing} is not installed; ")
    assert "hint: python -m pip install " in done.stderr
    assert "bug" not in done.stderr


def test_an_optional_package_is_missing(bare: Path, tmp_path: Path) -> None:
    done = _run(bare, ("-m", "layline", "mcp"), _lend(tmp_path / "lent", "click"), tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: The Python package mcp is not installed; it is needed for the server for agents.\n"
        "hint: python -m pip install 'mcp>=2'\n"
    )


@pytest.mark.parametrize(
    ("command", "codes"), [(("upgrade", "check", "keel"), {0, 1}), (("upgrade", "plan", "keel"), {2})]
)
def test_what_edits_needs_libcst_and_nothing_else_does(
    sample: Sample, command: tuple[str, ...], codes: set[int]
) -> None:
    without = "import sys; sys.modules['libcst'] = None; from layline.cli.main import main; main(sys.argv[1:])"
    done = _run(Path(sys.executable), ("-c", without, *command), None, sample.harbor)
    assert done.returncode in codes, done.stderr
    said = "it is needed for `layline upgrade plan` and `apply`, which prove and make edits."
    assert (said in done.stderr) is (codes == {2})


def test_the_door_for_agents_says_the_same(bare: Path, sample: Sample, tmp_path: Path) -> None:
    asked = {"ask": "tool", "name": "gap_show", "arguments": {"backend": "keel"}, "offset": 0, "limit": 50}
    question = json.dumps(asked | {"config": None, "today": None}) + "\n"
    with subprocess.Popen(
        [str(bare), "-m", "layline.mcp.worker"],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(question)
        process.stdin.flush()
        said = json.loads(process.stdout.readline())
        process.stdin.close()
    assert "is not installed" in said["error"]["message"]
    assert said["error"]["hint"].startswith("python -m pip install ")


def test_what_our_own_python_has_is_not_complained_about(tmp_path: Path) -> None:
    done = _run(Path(sys.executable), ("-m", "layline", "--version"), None, tmp_path)
    assert done.returncode == 0
