from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from layline.dashboard.campaigns import draw_gains, draw_lineage, draw_roof, draw_shapes, view_campaign


def interval(estimate: float, half: float = 0.01) -> dict[str, float]:
    return {"estimate": estimate, "lower": estimate - half, "upper": estimate + half}


def a_round(number: int, settled: str, outcome: str, gain: float) -> dict[str, Any]:
    shapes = [{"shape": "small", "gain": interval(gain)}, {"shape": "large", "gain": interval(gain + 0.01)}]
    literal = {"accepts": True, "agrees": False, "reason": "geomean rose", "explanation": "Noise."}
    verdict = {"outcome": outcome, "reason": "r", "interval": interval(gain), "shapes": shapes, "amd_literal": literal}
    return {"round": number, "settled": settled, "hypothesis": "h", "change": "c", "verdict": verdict, "diff": "-a\n+b"}


CAMPAIGN = {
    "schema": "layline.campaign-report/1",
    "name": "gemm",
    "phase": "REPORTED",
    "best": 2,
    "ledger": "9f" * 32,
    "rounds": [
        {"round": 1, "settled": "BASELINE"},
        a_round(2, "ACCEPTED", "ACCEPT", 0.05),
        a_round(3, "ROLLED BACK", "ROLLBACK", -0.02),
        a_round(4, "ROLLED BACK", "INCONCLUSIVE", 0.0),
        a_round(5, "ACCEPTED", "ACCEPT_TRADEOFF", 0.03),
    ],
    "head_to_head": {"interval": interval(0.081)},
}


def test_rounds_show_gain_verdict_and_disagreement() -> None:
    view = view_campaign(CAMPAIGN)
    assert [item.tone for item in view.rounds] == ["none", "good", "bad", "none", "plan"]
    assert view.rounds[1].gain_words == "+5.0% (+4.0% to +6.0%)"
    assert view.rounds[1].literal == "AMD's rule accepts: geomean rose Noise."
    assert view.headline == "Faster than the baseline: +8.1% (+7.1% to +9.1%)."
    assert view.shapes == ("small", "large")
    for drawn in (draw_gains(view), draw_shapes(view)):
        ElementTree.fromstring(drawn)


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (6.08, "7.1 times as fast as the baseline: +608.0% (+607.0% to +609.0%)."),
        (0.005, "No gain shown over the baseline: +0.5% (-0.5% to +1.5%)."),
        (-0.3, "Slower than the baseline: -30.0% (-31.0% to -29.0%)."),
    ],
)
def test_the_head_to_head_run_is_told_in_words(gain: float, said: str) -> None:
    assert view_campaign({**CAMPAIGN, "head_to_head": {"interval": interval(gain)}}).headline == said


def test_a_round_without_a_gain_stands_on_the_line_to_beat_and_a_great_gain_hides_no_small_one() -> None:
    rounds = [
        a_round(2, "ACCEPTED", "ACCEPT", 9.0),
        {"round": 3, "settled": "ROLLED BACK", "verdict": {"outcome": "ROLLBACK"}},
        a_round(4, "ACCEPTED", "ACCEPT", 0.2),
    ]
    drawn = ElementTree.fromstring(draw_gains(view_campaign({**CAMPAIGN, "rounds": rounds})))
    places = [float(one.get("cy", 0)) for one in drawn.iter() if one.tag.endswith("circle")]
    (beat,) = [float(one.get("y1", 0)) for one in drawn.iter() if one.get("class") == "mark"]
    assert places[1] == beat
    assert beat - places[2] > 10
    assert {"+900%", "+20%", "400 %"} <= {one.text for one in drawn.iter()}


ROOF = {
    "what": "One core",
    "flops_per_s": 1.4e11,
    "bytes_per_s": 9.6e9,
    "points": [{"label": "round 2 small", "intensity": 9.0, "flops_per_s": 5.2e9}, {"label": "bad", "intensity": None}],
}


def test_lineage_and_roof_are_drawn_from_the_record() -> None:
    rounds = [{**item, "compared_with": 1 if item["round"] > 1 else None} for item in CAMPAIGN["rounds"]]  # type: ignore[attr-defined]
    view = view_campaign({**CAMPAIGN, "rounds": rounds, "roofline": ROOF})
    drawn = draw_lineage(view)
    ElementTree.fromstring(drawn)
    assert drawn.count("<circle") == 5
    assert drawn.count("<line") == 4
    assert drawn.count("stroke-dasharray") == 2
    assert [item.stands for item in view.rounds] == [True, True, False, False, True]
    assert "round 2 small" in draw_roof(view)
    assert "bad" not in draw_roof(view)
    ElementTree.fromstring(draw_roof(view))


def test_a_campaign_under_way_tells_its_best_so_far_and_reasons_read_as_words() -> None:
    rounds = [{**CAMPAIGN["rounds"][1], "compared_with": 1}, CAMPAIGN["rounds"][2]]  # type: ignore[index]
    view = view_campaign({**CAMPAIGN, "head_to_head": None, "rounds": rounds})
    assert view.headline == "So far round 2 is faster than round 1: +5.0% (at least +4.0%)."
    assert [item.reason for item in view.rounds] == ["Accepted: r", "Rolled back: r"]


@pytest.mark.parametrize(
    "roof", [None, 3, {}, {"flops_per_s": 0, "bytes_per_s": 1}, {"flops_per_s": "x", "bytes_per_s": True}]
)
def test_no_roof_is_drawn_of_nothing(roof: object) -> None:
    assert draw_roof(view_campaign({**CAMPAIGN, "roofline": roof})) == ""


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"rounds": [None, 3, {}]},
        {"rounds": [{"verdict": {"interval": {"estimate": "x"}, "shapes": 3}}]},
        {"best": "x", "duties": [None], "head_to_head": []},
    ],
)
def test_foreign_campaigns_never_break_a_page(plain: dict[str, Any]) -> None:
    view = view_campaign(plain)
    draw_gains(view)
    draw_shapes(view)


def test_the_baseline_is_not_called_best() -> None:
    rounds = [{"round": 1, "settled": "BASELINE"}, {"round": 2, "settled": "ROLLED BACK"}]
    assert view_campaign({"rounds": rounds, "best": 1}).best == "no gain yet: the baseline is still the best"
    assert view_campaign({"rounds": [*rounds, {"round": 3, "settled": "ACCEPTED"}], "best": 3}).best == "round 3"


def test_a_round_that_ended_without_a_gain_is_drawn_and_called_what_it_is() -> None:
    wrong = {
        "round": 2,
        "settled": "ROLLED BACK",
        "compared_with": 1,
        "verdict": {"outcome": "ROLLBACK", "reason": "r"},
    }
    view = view_campaign({**CAMPAIGN, "rounds": [CAMPAIGN["rounds"][0], wrong, CAMPAIGN["rounds"][1]]})  # type: ignore[index]
    assert "2: no gain measured" in draw_gains(view)
    drawn = draw_lineage(view, 340)
    assert ">rolled back<" in drawn
    assert ">+5.0%<" in drawn


@pytest.mark.parametrize(
    ("note", "command"),
    [("attribution", 'layline campaign note 5 --attribution "…"'), ("other", "")],
)
def test_a_note_that_is_due_says_what_writes_it(note: str, command: str) -> None:
    view = view_campaign({**CAMPAIGN, "duties": [{"note": note, "why": "say why"}]})
    assert [(item.why, item.command) for item in view.duties] == [("say why", command)]
