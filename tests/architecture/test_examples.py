"""Examples of the documentation are run: transcripts, the library's walk, settings, the table of drift kinds."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest

from commands import layline
from layline.campaign.operators.own.build import build_operator
from layline.campaign.operators.own.read import read_operator_file
from layline.campaign.values.manifest import Measuring, parse_manifest
from layline.config import parse_settings
from layline.sample import expected as truth
from layline.sample import write_sample

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("examples") / "demo"
    write_sample(root)
    return root / "harbor"


@pytest.mark.parametrize("page", ["library.md", "ideas/evidence.md"])
def test_python_examples_do_what_they_show(
    harbor: Path, tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(harbor)
    monkeypatch.setenv("LAYLINE_CACHE", str(tmp_path))  # what others keep must not decide
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    parsed = doctest.DocTestParser().get_doctest(blocks, {}, page, page, 0)
    said: list[str] = []
    done = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(parsed, out=said.append)
    assert done.attempted >= 3
    assert done.failed == 0, "".join(said)


SETTINGS = [
    (page, block)
    for page in sorted(DOCS.rglob("*.md"))
    for block in re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    if "[project]" in block
]


@pytest.mark.parametrize(("page", "block"), SETTINGS, ids=[str(page.relative_to(DOCS)) for page, _ in SETTINGS])
def test_every_complete_layline_toml_loads(page: Path, block: str) -> None:
    assert parse_settings(block).backends


def test_the_manifest_of_the_docs_begins_a_campaign() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "campaign.md").read_text(encoding="utf-8"), re.DOTALL)
    assert parse_manifest(block, where="campaign.md", name="gemm_fp8").measuring is Measuring.COMMAND


def test_the_operator_of_the_docs_is_a_whole_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "operators.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "gather.py").write_text(block)
    operator = build_operator(read_operator_file(tmp_path / "gather.py"))
    assert operator.passes[0].buffers == ("table", "at", "out")
    assert dict(operator.starts).keys() == {"naive"}


def test_the_how_tos_have_complete_settings() -> None:
    pages = {page.name for page, _ in SETTINGS if page.parent.name == "how-to"}
    assert pages == {
        "liger-kernel.md",
        "mindspeed.md",
        "no-registry.md",
        "primus.md",
        "requirement.md",
        "submodule.md",
        "vllm-ascend.md",
    }


def test_the_examples_of_drift_kinds_are_those_of_the_sample() -> None:
    rows = re.findall(
        r"^\| `([a-z-]+)` \| `([^`]+)` \| `([^`]+)` \|", (DOCS / "ideas/drift-kinds.md").read_text(), re.MULTILINE
    )
    planted = {(patch.id, effect.target): effect.drift for patch in truth.PATCHES for effect in patch.effects}
    assert len(rows) == 9
    assert {(patch, target): kind for kind, patch, target in rows}.items() <= planted.items()


def test_the_site_builds_without_a_dead_link_or_anchor(tmp_path: Path) -> None:
    config = pytest.importorskip("mkdocs.config")
    build = pytest.importorskip("mkdocs.commands.build")
    os.environ["NO_MKDOCS_2_WARNING"] = "1"
    loaded = config.load_config(str(DOCS.parent / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
    build.build(loaded)  # raises Abort on the first warning
    assert (tmp_path / "site" / "start.html").is_file()
    external = re.compile(
        r"""(?:src|href)=["']?(https?://(?!github\.com|squidfunk\.github\.io|docs\.oasis-open\.org)[^"'\s>]+)"""
    )
    loads = {
        found
        for page in (tmp_path / "site").rglob("*.html")
        for found in re.findall(r"<(?:script|link|img)[^>]+>", page.read_text())
        if external.search(found)
    }
    assert loads == set(), "the site asks nobody else for anything"


@pytest.mark.parametrize("command", [("gap", "show", "keel", "--date", "2026-06-30"), ("patches", "list", "keel")])
def test_the_reference_of_json_fields_names_every_field(harbor: Path, command: tuple[str, ...]) -> None:
    text = (DOCS / "json.md").read_text(encoding="utf-8")
    answer = layline(*command, "--format", "json", cwd=harbor).json
    rows = [answer, *answer.get("patches", [])[:1], *answer.get("unregistered", [])[:1]]
    missing = {key for row in rows for key in row if key != "schema" and not re.search(rf"`{key}(\[\])?`", text)}
    assert missing <= {"repositories"}
