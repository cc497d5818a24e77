"""Which kernel came from which: accepted rounds in one line, what was rolled back beside it."""

from __future__ import annotations

from dataclasses import dataclass

from layline.render.charts import svg

ROW, MARGIN = 46, 34
STEP_WIDTH = 84


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round: what it was compared with, and what became of it."""

    number: int
    parent: int | None
    """The round whose kernel it changed; None for the start."""
    tone: str
    """`good`, `plan`, `bad` or `none`, as for intervals."""
    stands: bool
    """True where its kernel became the best of its time."""
    note: str = ""
    """A few words, such as its gain."""


def lineage(steps: tuple[Step, ...], label: str, *, width: float = 720) -> str:
    """A line of the kernels that stood, left to right; a twig for each round that did not."""
    if not steps:
        return svg.drawing(
            width, 80, f"{label}: no round", svg.text(width / 2, 44, "no round yet", text_anchor="middle")
        )
    wide = max(width, MARGIN * 2 + STEP_WIDTH * (len(steps) - 1) + 60)
    gap = (wide - 2 * MARGIN - 60) / max(len(steps) - 1, 1)
    places: dict[int, tuple[float, float]] = {
        step.number: (MARGIN + gap * at, MARGIN + (0.0 if step.stands else ROW)) for at, step in enumerate(steps)
    }
    shapes = [line for step in steps for line in _edge(step, places)]
    shapes += [part for step in steps for part in _node(step, places[step.number])]
    return svg.drawing(wide, MARGIN + ROW + 44, label, *shapes)


def _edge(step: Step, places: dict[int, tuple[float, float]]) -> list[str]:
    if step.parent is None or step.parent not in places or step.parent == step.number:
        return []
    (x1, y1), (x2, y2) = places[step.parent], places[step.number]
    dashes = {} if step.stands else {"stroke_dasharray": "4 4"}
    return [
        svg.element(
            "line", x1=x1, y1=y1, x2=x2, y2=y2, class_="line lineage", stroke=svg.INK, stroke_width=1.5, **dashes
        )
    ]


def _node(step: Step, at: tuple[float, float]) -> list[str]:
    x, y = at
    tone = step.tone if step.tone in svg.TONES else "none"
    colour = svg.TONES[tone]
    said = svg.title(f"round {step.number}{f': {step.note}' if step.note else ''}")
    dot = svg.element(
        "circle",
        said,
        cx=x,
        cy=y,
        r=7,
        class_=f"{'dot' if step.stands else 'ring'} {tone}",
        fill=colour if step.stands else "#ffffff",
        stroke=colour,
        stroke_width=2,
    )
    name = svg.text(x, y - 13, str(step.number), text_anchor="middle", font_size=12)
    note = svg.text(x, y + 22, step.note, text_anchor="middle", font_size=11) if step.note else ""
    return [dot, name, note]
