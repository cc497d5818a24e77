"""The three-way view of a patch in reading order: the porting work list first, then the diffs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Evidence
from layline.core.report import Block, Bullets, Cell, Code, Inline, Paragraph, Report, Section
from layline.coupling.threeway import Hunk, ThreeWay, render_diff
from layline.patches.drift.report import encode_row

if TYPE_CHECKING:
    from layline.patches import answers

SCHEMA: Literal["layline.patch-diff/1"] = "layline.patch-diff/1"


def build_diff_report(patch: str, views: Sequence[ThreeWay], here: Evidence) -> Report:
    return Report(
        title=f"{patch}: upstream at the pin, upstream at the tip, our code",
        sections=tuple(_section(view) for view in views)
        or (
            Section(
                title="Nothing to show",
                blocks=(
                    Paragraph(
                        "There is no code to compare: no effect of this patch replaces a function or class of a configured upstream."
                    ),
                ),
            ),
        ),
        meta=(("downstream", f"{here.repo} at {here.commit}"),),
    )


def _section(view: ThreeWay) -> Section:
    row = view.row
    return Section(title=f"{row.target} ({row.kind.value})", blocks=tuple(_blocks(view)))


def _blocks(view: ThreeWay) -> Iterator[Block]:
    row = view.row
    if row.detail:
        yield Paragraph(row.detail)
    yield Bullets(tuple(_places(view)))
    if view.is_copy and row.copied is not None:
        yield Paragraph(
            f"Our code is an edited copy of upstream's body ({row.copied:.0%} alike). What upstream changed since:"
        )
        yield Bullets(tuple(_describe(hunk) for hunk in view.hunks) or ("nothing",), ordered=True)
    upstream = render_diff(view.then, view.now, ("upstream at the pin", "upstream at the tip"))
    yield Code(upstream, "diff") if upstream else Paragraph(_explain_nothing(view))
    if view.ours and view.is_copy:
        yield Code(render_diff(view.then, view.ours, ("upstream at the pin", "our code")), "diff")
    elif view.ours:
        yield Code(view.ours, "python")


def _explain_nothing(view: ThreeWay) -> str:
    """Why there is no diff of upstream."""
    if view.now:
        return "Upstream's source is the same at pin and tip."
    if view.then:
        return "Upstream's source is gone at the tip."
    return "Upstream has no function or class of this name at pin or tip, so there is no source to compare."


def _places(view: ThreeWay) -> Iterator[Inline]:
    for end, evidence in (("pin", view.row.pin_evidence), ("tip", view.row.tip_evidence)):
        if evidence is not None:
            yield (f"{end}: ", Cell(str(evidence), evidence=evidence, code=True))
    yield f"our code: {view.row.location}"


def _describe(hunk: Hunk) -> str:
    where = f"before line {hunk.first}" if hunk.last < hunk.first else f"lines {hunk.first}–{hunk.last}"
    todo = (
        "we changed these lines too: merge by hand"
        if hunk.is_conflict
        else "we did not change these lines: copy upstream's change"
    )
    return f"{where}: −{len(hunk.removed)} +{len(hunk.added)}; {todo}"


def encode_views(patch: str, backend: str, pin: str, tip: str, views: Sequence[ThreeWay]) -> answers.PatchDiff:
    return {
        "schema": SCHEMA,
        "patch": patch,
        "backend": backend,
        "pin": pin,
        "tip": tip,
        "effects": [
            {
                "row": encode_row(view.row),
                "then": view.then,
                "now": view.now,
                "ours": view.ours,
                "copied": view.is_copy,
                "hunks": [
                    {
                        "first": hunk.first,
                        "last": hunk.last,
                        "removed": list(hunk.removed),
                        "added": list(hunk.added),
                        "conflict": hunk.is_conflict,
                    }
                    for hunk in view.hunks
                ],
            }
            for view in views
        ],
    }
