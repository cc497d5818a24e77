"""`patches list` finds exactly what is planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import layline
from layline.sample import Sample
from layline.sample import expected as truth


@pytest.fixture(scope="module")
def inventory(sample: Sample) -> dict[str, Any]:
    """Every registration as the command tells it, by id and file."""
    result = layline("patches", "list", "--format", "json", cwd=sample.harbor)
    assert result.code == 0, result.err
    found: dict[str, Any] = {}
    for backend in result.json["backends"]:
        found |= {f"{patch['id']} in {patch['file']}": patch for patch in backend["patches"]}
    return found


def name(patch: truth.ExpectedPatch) -> str:
    return f"{patch.id} in {patch.path}"


def effects(rows: Iterator[Any]) -> set[tuple[str | None, str, tuple[str, ...]]]:
    """Target and style; what is mutated only where there is no target (an item of a registry is a detail)."""
    return {(target, style, () if target else mutates) for target, style, mutates in rows}


def test_every_registration_is_found_and_no_other(inventory: dict[str, Any]) -> None:
    assert sorted(inventory) == sorted(name(patch) for patch in truth.PATCHES)


@pytest.mark.parametrize("patch", truth.PATCHES, ids=name)
def test_a_registration_is_read_as_it_was_planted(inventory: dict[str, Any], patch: truth.ExpectedPatch) -> None:
    found = inventory[name(patch)]

    assert (found["backend"], found["phase"], found["priority"]) == (patch.backend, patch.phase, patch.priority)
    assert found["active"] is patch.active, found["active_reason"]
    assert sorted(found["guard"]["keys"]) == sorted(patch.keys)
    assert len(found["guard"]["other"]) == len(patch.other)
    assert all(any(word in told for told in found["guard"]["other"]) for word in patch.other)


@pytest.mark.parametrize("patch", truth.PATCHES, ids=name)
def test_effects_are_read_as_they_were_planted(inventory: dict[str, Any], patch: truth.ExpectedPatch) -> None:
    found = inventory[name(patch)]["effects"]
    told = effects((row["target"], row["style"], tuple(row["mutates"])) for row in found)

    assert told == effects((effect.target, effect.style, effect.mutates) for effect in patch.effects)
    assert all(row["certain"] for row in found)


def test_lines_point_at_the_decorator(inventory: dict[str, Any], sample: Sample) -> None:
    for patch in inventory.values():
        line = Path(sample.harbor, patch["file"]).read_text(encoding="utf-8").splitlines()[patch["line"] - 1]
        assert line.startswith("@register_patch("), patch["id"]


def test_the_allow_list_and_the_phases_are_read_from_the_engine(sample: Sample) -> None:
    told = layline("patches", "list", "spar", cwd=sample.harbor).out

    assert f"{truth.ALLOW_LIST} = all | none | id1,id2" in told
    assert "setup, build_args, before_train, after_train, convert" in told
