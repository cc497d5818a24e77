"""What the pages tell people to install exists, and works: built, installed and started."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGES = [
    ROOT / "README.md", ROOT / "action.yml", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs/workflows").glob("*.yml")), *sorted((ROOT / "skills").rglob("*.md")),
]  # fmt: skip
_INSTALLS = re.compile(r"pip install (?:-\S+ )*(?P<quote>['\"`]?)(?P<what>\S*layline[^'\"`\n]*)")
_OURS = re.compile(
    r"(?P<name>\.?/?layline)(?:\[(?P<extras>[\w,]+)\])?(?P<from> @ git\+https://github\.com/OWNER/layline)?"
)


def _find_installs() -> list[tuple[str, str]]:
    return [
        (page.relative_to(ROOT).as_posix(), found["what"].split("   ")[0].split("'")[0].strip())
        for page in PAGES
        for found in _INSTALLS.finditer(page.read_text("utf-8"))
    ]


@pytest.mark.parametrize(("page", "what"), _find_installs())
def test_no_page_installs_what_no_index_has(page: str, what: str) -> None:
    """A path or a git address, until there is a release."""
    found = _OURS.match(what)
    assert found is not None, what
    assert found["name"].startswith(("./", "/")) or found["from"], f"{page}: pip install {what} finds nothing"
    assert set((found["extras"] or "").split(",")) <= {"", *PROJECT["optional-dependencies"]}


def test_there_are_install_lines() -> None:
    assert {page for page, _ in _find_installs()} >= {"README.md", "docs/start.md", "docs/agents.md", "docs/workflows/layline-dashboard.yml"}  # fmt: skip


def test_readme_and_start_agree_on_what_is_needed() -> None:
    said = [
        re.search(r"^Needed: .*?\n\n", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for page in ("README.md", "docs/start.md")
    ]
    assert said[0] is not None
    assert said[1] is not None
    assert said[0][0] == said[1][0]
    tried = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith("Programming Language")]
    assert re.findall(r"3\.\d+", said[0][0]) == tried


def test_the_action_installs_itself_unless_told_otherwise() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["inputs"]["package"]["default"] == ""
    runs = [step.get("run", "") for step in action["runs"]["steps"]]
    assert 'python -m pip install --quiet "${LAYLINE_PACKAGE:-$GITHUB_ACTION_PATH}"' in runs


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip and the packages we need, but without us."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    place = next((folder / "lib").glob("python*/site-packages"))
    ours = Path(yaml.__file__).parents[1]
    for item in ours.iterdir():
        if not item.name.lower().startswith(("layline", "_editable_impl_layline", "_virtualenv", "__pycache__")):
            (place / item.name).symlink_to(item)
    return folder / "bin/python"


def _run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what the work tree holds, so that a change is tried before it is committed."""
    folder = tmp_path_factory.mktemp("clone") / "layline"
    _run("git", "clone", "-q", "--shared", ROOT, folder, cwd=folder.parent)
    listed = _run("git", "ls-files", "-z", "--modified", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    _run("git", "add", "-A", cwd=folder)
    _run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "Try", cwd=folder)
    return folder


def _install_and_start(python: Path, what: str, cwd: Path) -> None:
    words = ["-qq", "--no-deps", "--no-build-isolation", "--no-index", "--force-reinstall", "--no-compile"]
    _run(python, "-m", "pip", "install", *words, what, cwd=cwd)  # what the commands below import is compiled by them
    layline = python.parent / "layline"
    assert _run(layline, "--version", cwd=cwd).startswith("layline, version ")
    _run(layline, "demo", "tour", "--no-walk", cwd=cwd)
    assert (cwd / "tour/harbor/layline.toml").is_file()
    assert "No such" not in _run(layline, "skills", "list", cwd=cwd)
    assert _run(layline, "gap", "show", "keel", "--format", "json", cwd=cwd / "tour/harbor")


@pytest.mark.slow
def test_the_line_for_a_clone_works(python: Path, copy: Path, tmp_path: Path) -> None:
    (tmp_path / "layline").symlink_to(copy)
    _install_and_start(python, "./layline[pdf,campaign,mcp]", tmp_path)


@pytest.mark.slow
def test_the_line_for_a_git_address_works(python: Path, copy: Path, tmp_path: Path) -> None:
    _install_and_start(python, f"layline[pdf,campaign,mcp] @ git+file://localhost{copy}", tmp_path)


def test_a_wheel_built_from_the_sdist_works(python: Path, copy: Path, tmp_path: Path) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path / "dist", cwd=copy)
    [package] = (tmp_path / "dist").iterdir()
    _install_and_start(python, str(package), tmp_path)
