from __future__ import annotations

from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layline.core.report import Chart
from layline.render.charts import (
    Interval,
    Kernel,
    Mark,
    badge,
    bars,
    chart_from_fence,
    draw,
    fence_of,
    heat_map,
    interval_trend,
    rank_kernels,
    roofline,
    shields_endpoint,
    sparkline,
    trend,
)
from layline.render.charts.campaign import LETTER, LINE, Box
from layline.render.charts.scale import date_ticks, short, ticks

POINTS: tuple[tuple[float | str, float], ...] = (("2026-04-24", 365.0), ("2026-05-01", 413.0), ("2026-06-02", 632.0))
DRAWINGS: dict[str, Callable[[str], str]] = {
    "sparkline": lambda words: sparkline(POINTS, words),
    "one point": lambda words: sparkline(POINTS[:1], words),
    "no point": lambda words: sparkline((), words),
    "trend": lambda words: trend(
        ((words, POINTS), ("b", POINTS)), words, unit=words, marks=(Mark(at="2026-05-01", label=words),)
    ),
    "empty trend": lambda words: trend((), words),
    "bars": lambda words: bars(((words, 3.0), ("b", 0.0)), words, unit=words),
    "heat": lambda words: heat_map((words,), ("x", words), ((1.1, None),), words, middle=1.0),
    "intervals": lambda words: interval_trend(
        (Interval(label=words, value=1.02, low=1.0, high=1.05, tone="good"),), words, reference=1.0
    ),
    "roofline": lambda words: roofline((Kernel(label=words, intensity=90, rate=300),), words, peak=1300, bandwidth=8),
    "badge": lambda words: badge(words, words, "plan"),
}


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("words", ["Engine", "<script>\"&'", "ä 中 — 😀"])
def test_drawings_are_well_formed_named_and_inert(name: str, words: str) -> None:
    drawn = DRAWINGS[name](words)
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img"
    assert words in (root.get("aria-label") or "")
    names = {item.tag.rpartition("}")[2] for item in root.iter()}
    assert names <= {"svg", "title", "path", "line", "circle", "rect", "text"}
    assert not any(
        key == "style" or key.startswith("on") or "href" in key for item in root.iter() for key in item.attrib
    )
    assert drawn == DRAWINGS[name](words)


@given(st.lists(st.tuples(st.dates().map(str), st.floats(0, 1e9)), min_size=1, max_size=30))
def test_every_point_stands_on_the_paper(points: list[tuple[str, float]]) -> None:
    root = ElementTree.fromstring(trend((("s", tuple(sorted(points))),), "t", width=720, height=300))
    for dot in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 <= float(dot.get("cx", "")) <= 720
        assert 0 <= float(dot.get("cy", "")) <= 300


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1050, [0, 500, 1000, 1500]),
        (0, 7, [0, 2, 4, 6, 8]),
        (0.98, 1.05, [0.98, 1.0, 1.02, 1.04, 1.06]),
        (3, 3, [3]),
    ],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


def test_date_ticks_name_months_and_the_ends_of_a_short_span() -> None:
    from datetime import date

    def day(text: str) -> float:
        return float(date.fromisoformat(text).toordinal())

    assert [name for _, name in date_ticks(day("2026-04-24"), day("2026-08-03"))] == ["May 2026", "Jun", "Jul", "Aug"]
    assert [name for _, name in date_ticks(day("2026-05-04"), day("2026-05-08"))] == ["4 May", "8 May"]


@pytest.mark.parametrize(("value", "shown"), [(1234, "1,234"), (0.25, "0.25"), (1_200_000, "1.2M"), (0, "0")])
def test_numbers_are_short(value: float, shown: str) -> None:
    assert short(value) == shown


@pytest.mark.parametrize("kind", ["trend", "bars", "heat", "intervals"])
def test_a_chart_survives_its_markdown(kind: str) -> None:
    places: tuple[tuple[float | str, float], ...] = (("a,b", 1.0), ('c"d', 2.5))
    chart = Chart(kind=kind, title="Files by area", series=(("s", places), ("t", places), ("u", places)), unit="files")
    info, _, content = fence_of(chart).removeprefix("```").partition("\n")
    read = chart_from_fence(info, content.removesuffix("```"))
    assert read == chart
    assert draw(chart).startswith("<svg")


def test_shields_endpoint_has_its_schema() -> None:
    assert shields_endpoint("Engine", "7 behind", "plan") == {
        "schemaVersion": 1,
        "label": "Engine",
        "message": "7 behind",
        "color": "8a5a00",
    }


def test_a_roofline_survives_markdown() -> None:
    chart = Chart(
        kind="roofline",
        title="Roof",
        series=(("roof", ((18.0, 175.0),)), ("best small", ((8.0, 60.0),))),
        unit="GFLOP/s",
    )
    info, _, content = fence_of(chart).removeprefix("```").removesuffix("```").partition("\n")
    read = chart_from_fence(info, content)
    assert read is not None
    drawn = draw(read)
    assert drawn == draw(chart)
    assert "best small 42%" in drawn


def test_a_lineage_survives_markdown_and_draws_each_round_at_its_parent() -> None:
    rounds = (("1", ((1.0, 0.0),)), ("2 ✗", ((1.0, -3.2),)), ("3", ((1.0, 12.0),)), ("4", ((3.0, 5.5),)))
    chart = Chart(kind="lineage", title="Which kernel came from which", series=rounds, unit="%")
    info, _, content = fence_of(chart).removeprefix("```").removesuffix("```").partition("\n")
    read = chart_from_fence(info, content)
    assert read == chart
    drawn = draw(chart)
    assert drawn.count("line lineage") == 3
    assert (drawn.count('"dot good"'), drawn.count('"ring bad"')) == (3, 1)
    assert "start" in drawn
    assert "+12.0 %" in drawn
    odd = Chart(kind="lineage", title="By hand", series=(("first", (("a", 1.0),)),))
    assert draw(odd).startswith("<svg")


def test_names_under_a_roof_cover_neither_dots_nor_each_other() -> None:
    kernels = tuple(
        Kernel(label=f"round {number} square-96", intensity=10 + number / 3, rate=3 + number % 4 / 5)
        for number in range(9)
    )
    drawn = roofline(kernels, "roof", peak=140, bandwidth=8.5, unit="GFLOP/s")
    tree = ElementTree.fromstring(drawn)
    dots = [(float(one.get("cx", 0)), float(one.get("cy", 0))) for one in tree.iter() if one.tag.endswith("circle")]
    names = [one for one in tree.iter() if one.tag.endswith("text") and (one.text or "").startswith("round ")]
    boxes = []
    for name in names:
        x, y, size = float(name.get("x", 0)), float(name.get("y", 0)), LETTER * len(name.text or "")
        left = x - size if name.get("text-anchor") == "end" else x
        boxes.append(Box(left, y - LINE + 3, left + size, y + 3))
    assert len(dots) == 9
    assert 0 < len(names) < 9
    assert not any(one.meets(Box(x - 4, y - 4, x + 4, y + 4)) for one in boxes for x, y in dots)
    assert not any(one.meets(other) for at, one in enumerate(boxes) for other in boxes[:at])
    assert {"GFLOP/s", "FLOP per byte"} <= {one.text for one in tree.iter()}


def test_narrow_paper_numbers_the_kernels_and_names_stay_off_the_roof() -> None:
    kernels = (Kernel(label="round 3 deep", intensity=14, rate=18), Kernel(label="round 1 deep", intensity=14, rate=2))
    narrow = roofline(kernels, "roof", peak=150, bandwidth=10, width=340)
    assert "round 3 deep" not in narrow.replace("<title>round 3 deep", "")
    assert [one.label for one in rank_kernels(kernels)] == ["round 3 deep", "round 1 deep"]
    assert ">1</text>" in narrow
    assert ">2</text>" in narrow


def test_short_names_over_a_grid_are_not_turned() -> None:
    assert "rotate" not in heat_map(("tiny-48",), ("round 2", "round 3"), ((1.0, None),), "gain", cell=62)
    assert "rotate" in heat_map(("round 2",), ("deep-64x64x480",), ((1.0,),), "gain")
