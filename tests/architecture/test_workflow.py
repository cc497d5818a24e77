"""The ready workflow calls commands that exist, asks for no secret and gives each job only what it needs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from layline.cli.main import layline

WORKFLOW = Path(__file__).parents[2] / "docs" / "workflows" / "layline-dashboard.yml"


def load() -> dict[str, Any]:
    plain: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return plain


def find_commands() -> list[str]:
    steps = [step for job in load()["jobs"].values() for step in job["steps"]]
    lines = [line.strip() for step in steps for line in step.get("run", "").splitlines()]
    return [line for line in lines if line.startswith("layline ")]


@pytest.mark.parametrize("line", find_commands())
def test_every_command_exists_with_its_options(line: str) -> None:
    _, group, command, *arguments = shlex.split(re.sub(r"\$\([^)]*\)", "2026-05", line))
    found = layline.get_command(click.Context(layline), group)
    assert isinstance(found, click.Group)
    leaf = found.commands[command]
    leaf.make_context(command, list(arguments), resilient_parsing=False)


def test_the_pull_request_workflow_gives_the_action_only_inputs_it_has() -> None:
    root = WORKFLOW.parents[2]
    text = (WORKFLOW.parent / "layline-pull-request.yml").read_text(encoding="utf-8")
    plain = yaml.safe_load(text)
    action = yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))
    steps = {step["uses"].partition("@")[0]: step for step in plain["jobs"]["pins"]["steps"]}
    assert set(steps["OWNER/layline"]["with"]) <= set(action["inputs"])
    assert set(re.findall(r"steps\.layline\.outputs\.(\w+)", text)) <= set(action["outputs"])
    assert plain["permissions"] == {}
    assert plain["jobs"]["pins"]["permissions"] == {"contents": "read", "security-events": "write"}
    assert "secrets." not in text


def test_no_secret_is_asked_for_and_rights_are_per_job() -> None:
    assert "secrets." not in WORKFLOW.read_text(encoding="utf-8")
    plain = load()
    assert plain["permissions"] == {}
    assert {name: job["permissions"] for name, job in plain["jobs"].items()} == {
        "report": {"contents": "write"},
        "build": {"contents": "read"},
        "deploy": {"pages": "write", "id-token": "write"},
    }
