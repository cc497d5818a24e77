"""Beginning a campaign: the draft may lie in the tree, a refusal leaves nothing, nobody is asked in the dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from campaign_project import MANIFEST, inside, now, propose, read_manifest, start_project
from histories import History
from layline.app.campaign import campaign_baseline, campaign_new, campaign_note, campaign_round, campaign_stop
from layline.app.campaign_end import campaign_accept, campaign_report
from layline.campaign.loop.define import define_target
from layline.campaign.operators import load_operator
from layline.campaign.trusted import choose_shapes
from layline.cli.main import layline
from layline.errors import ConfigError, Error


@pytest.fixture
def project(tmp_path: Path) -> History:
    """A project in which the draft of a hand-off lies, untracked."""
    history = start_project(tmp_path / "project")
    (history.path / "manifest.yaml").write_text(MANIFEST)
    return history


def test_neither_the_draft_nor_a_lesson_is_ever_in_the_way(project: History) -> None:
    with inside(project.path):
        campaign_new(read_manifest(), draft=Path("manifest.yaml"), now=now)
        campaign_baseline(now=now)
        for number, cost in enumerate(("0.80", "0.60"), 2):
            (project.path / "kernel.sh").write_text(f"COST={cost}\n")
            campaign_round(propose(f"cost {cost}"), now=now)
            notes = [("attribution", "less work"), ("next", "even less"), ("lesson", f"Cost {cost} is less work")]
            campaign_note(number, notes, now=now)
        assert "?? agent/" in project.git("status", "--short")  # the lessons lie there, untracked
        campaign_stop("enough", now=now)
        campaign_report(now=now)
        assert campaign_accept("true", now=now).data["accepted"]


def test_other_files_are_still_in_the_way_and_a_refusal_leaves_nothing(project: History) -> None:
    with inside(project.path), pytest.raises(ConfigError, match=r"not clean: manifest\.yaml"):
        campaign_new(read_manifest(), now=now)
    assert not (project.path / "agent").exists()


def test_a_refusal_leaves_what_others_put_there(project: History) -> None:
    other = project.path / "agent/workspace/other"
    other.mkdir(parents=True)
    with inside(project.path), pytest.raises(ConfigError, match="not clean"):
        campaign_new(read_manifest(), now=now)
    assert [path.name for path in (project.path / "agent/workspace").iterdir()] == ["other"]


@pytest.mark.parametrize(("answer", "said"), [("", "no terminal to ask on"), ("n\n", "was not confirmed")])
def test_without_a_yes_nothing_begins(project: History, answer: str, said: str) -> None:
    with inside(project.path):
        result = CliRunner().invoke(layline, ["campaign", "new", "demo", "--from", "manifest.yaml"], input=answer)
    assert isinstance(result.exception, Error)
    assert said in str(result.exception)
    assert not (project.path / "agent").exists()


def test_a_campaign_may_choose_among_the_operators_shapes(project: History) -> None:
    (project.path / "kernel.c").touch()
    chosen = {"kernels": ("kernel.c",), "target": None, "branch": "auto", "max_iterations": None}
    with inside(project.path):
        some = define_target("demo", None, operator="gemm", shapes=("tiny-48", "square-96"), **chosen)
        every = define_target("demo", None, operator="gemm", shapes=(), **chosen)
    assert [shape.label for shape in choose_shapes(load_operator("gemm"), some)] == ["tiny-48", "square-96"]
    assert choose_shapes(load_operator("gemm"), every) == load_operator("gemm").shapes
