from __future__ import annotations

from typing import Any

import pytest

from layline.dashboard.inventory import find_choices, view_inventory
from layline.dashboard.inventory_parts import split_inventory

EFFECT = {
    "style": "binding-replacement",
    "target": "engine.run",
    "replacement": "harbor.run",
    "mutates": [],
    "location": "harbor/p.py:9",
    "certain": True,
}
PATCH: dict[str, Any] = {
    "id": "engine.run",
    "phase": "setup",
    "file": "harbor/p.py",
    "line": 3,
    "description": "Our run",
    "active": None,
    "guard": {"text": None, "keys": ["fast"], "expression": "fast"},
    "effects": [EFFECT],
}
INVENTORY = {
    "schema": "layline.patches/1",
    "commit": "a" * 40,
    "patches": [PATCH, PATCH | {"id": "engine run", "phase": "train"}],
}
DRIFT = {
    "schema": "layline.drift/1",
    "pin": {"commit": "b" * 40},
    "tip": "c" * 40,
    "rows": [
        {
            "patch": "engine.run",
            "target": "engine.run",
            "kind": "signature",
            "severity": "breaks",
            "location": "harbor/p.py:9",
            "suggestion": {"target": "engine.go"},
            "culprit": {"commit": "d" * 40, "date": "2026-05-01", "subject": "Rename"},
        }
    ],
}


def test_patches_are_joined_with_what_became_of_their_targets() -> None:
    view = view_inventory(INVENTORY, DRIFT, "https://e.org/harbor")
    first, second = view.rows
    assert (first.severity, first.tone, first.consequences, view.broken) == ("breaks", "bad", ("signature",), 1)
    assert first.effects[0].suggestion == "engine.go"
    assert first.effects[0].culprit == "dddddddd 2026-05-01 Rename"
    assert first.link == f"https://e.org/harbor/blob/{'a' * 40}/harbor/p.py#L3"
    assert (second.severity, second.tone) == ("", "none")
    assert {(choice.name, choice.label) for choice in find_choices(view.rows)} == {
        ("severity", "Severity"),
        ("phase", "Phase"),
    }
    assert view.pin == "b" * 40


def test_anchors_are_names_of_their_own() -> None:
    twice = {"patches": [PATCH | {"id": "a b"}, PATCH | {"id": "a/b"}, PATCH | {"id": "<x>"}, {}]}
    anchors = [row.anchor for row in view_inventory(twice, None, None).rows]
    assert anchors == ["patch-a-b", "patch-a-b-2", "patch-x", "patch-unnamed"]


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"patches": None},
        {"patches": [None, 3, {"effects": "x", "guard": []}]},
        {"patches": [{"effects": [{"certain": False}]}], "skipped": [3, {"what": "a"}], "unregistered": [EFFECT]},
    ],
)
def test_foreign_inventories_never_break_a_page(plain: dict[str, Any]) -> None:
    view_inventory(plain, {"rows": [3, {}]}, None)


@pytest.mark.parametrize(
    ("effect", "row", "kind"),
    [
        (
            {"style": "config-rewrite", "target": None, "mutates": ["use_old"]},
            {"patch": "engine.run", "target": "use_old", "kind": "removed"},
            "removed",
        ),
        (
            {"style": "env-lifecycle", "target": None, "mutates": ["env:T"]},
            {"patch": "engine.run", "target": "env:T", "kind": "unchanged"},
            "unchanged",
        ),
        (
            {"style": "env-lifecycle", "target": None, "mutates": []},
            {"patch": "engine.run", "target": "env:T", "kind": "removed"},
            "",
        ),
        (
            EFFECT | {"location": "harbor/p.py:8"},
            {"patch": "engine.run", "target": "engine.run", "kind": "moved", "location": "harbor/p.py:9"},
            "moved",
        ),
    ],
)
def test_settings_and_variables_find_their_drift(effect: dict[str, Any], row: dict[str, Any], kind: str) -> None:
    view = view_inventory({"patches": [PATCH | {"effects": [effect]}]}, {"rows": [row]}, None)
    assert view.rows[0].effects[0].drift == kind


def test_effect_outside_a_registration_finds_its_drift() -> None:
    row = {"patch": "harbor.quiet.hush", "target": "engine.run", "kind": "removed"}
    view = view_inventory({"unregistered": [EFFECT | {"within": "harbor.quiet.hush"}]}, {"rows": [row]}, None)
    assert [effect.drift for effect in view.unregistered] == ["removed"]


@pytest.mark.parametrize(("kind", "suggestion"), [("moved", ""), ("renamed", ""), ("binding-lost", "engine.go")])
def test_a_new_name_is_told_once(kind: str, suggestion: str) -> None:
    drift = DRIFT | {"rows": [DRIFT["rows"][0] | {"kind": kind}]}  # type: ignore[index]
    assert view_inventory(INVENTORY, drift, None).rows[0].effects[0].suggestion == suggestion


def test_a_long_inventory_stands_on_several_pages_the_worst_first() -> None:
    effects = [EFFECT | {"location": f"harbor/p.py:{line}"} for line in range(60)]
    patches = [PATCH | {"id": f"p{number}", "effects": effects} for number in range(5)]
    rows = [{"patch": "p4", "target": "engine.run", "kind": "removed", "severity": "breaks"}]
    plain = {"patches": patches, "unregistered": [EFFECT] * 3, "commit": "a" * 40}
    parts = split_inventory(view_inventory(plain, {"rows": rows, "tip": "c" * 40}, None), "keel")
    assert [(part.title, part.href, part.size) for part in parts] == [
        ("Errors and warnings", "patches/keel.html", 1),
        ("Patches that fit, part 1 of 2", "patches/keel-page-2.html", 2),
        ("Patches that fit, part 2 of 2", "patches/keel-page-3.html", 2),
        ("Outside any registration", "patches/keel-page-4.html", 3),
    ]
    assert parts[0].rows[0].id == "p4"
    (whole,) = split_inventory(view_inventory(INVENTORY, DRIFT, None), "keel")
    assert (whole.href, whole.size) == ("patches/keel.html", 2)


def test_places_add_up_as_in_the_answer_of_drift() -> None:
    """One place breaks and needs a look, one does nothing today, one only needs a look."""
    rows = [("breaks", "removed", 1), ("look", "body-changed", 1), ("look", "dead-at-pin", 2), ("look", "removed", 3)]
    effects = [EFFECT | {"target": f"engine.{at}", "location": f"p.py:{row[2]}"} for at, row in enumerate(rows)]
    drift = [
        {
            "patch": "engine.run",
            "target": f"engine.{at}",
            "kind": kind,
            "severity": severity,
            "location": f"p.py:{line}",
        }
        for at, (severity, kind, line) in enumerate(rows)
    ]
    view = view_inventory(INVENTORY | {"patches": [PATCH | {"effects": effects}]}, DRIFT | {"rows": drift}, None)
    assert (view.places, view.broken, view.dead, view.doubtful) == (3, 1, 1, 1)


def test_an_effect_finds_its_row_by_its_id_where_the_list_has_no_target() -> None:
    effect = EFFECT | {"id": "e-1", "target": None}
    row = {"patch": "engine.run", "effect": "e-1", "target": "engine.go", "kind": "removed", "severity": "breaks"}
    view = view_inventory(INVENTORY | {"patches": [PATCH | {"effects": [effect]}]}, DRIFT | {"rows": [row]}, None)
    assert [one.severity for one in view.rows[0].effects] == ["breaks"]
