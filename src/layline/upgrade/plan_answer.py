"""How a plan is told: one line for each mend, file and line of ours first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from layline.core.evidence import Location, Severity
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.prose import count, verb
from layline.core.report import Answer, Block, Bullets, Code, Paragraph, Report, Section
from layline.core.revision import Commit
from layline.patches.drift.report import encode_commit
from layline.upgrade.values import BESIDE, SETTINGS, Break, Mend, MendKind, Plan, Step

if TYPE_CHECKING:
    from layline.upgrade import answers

SCHEMA: Literal["layline.upgrade/1"] = "layline.upgrade/1"


def build_answer(plan: Plan, label: str, refusal: str | None = None) -> Answer:
    """`refusal`: why `upgrade apply` could not write the pin."""
    title = say_plan(plan, label)
    refused = (f"`upgrade apply` cannot move the pin. {refusal}.",) if refusal is not None else ()
    shown: dict[str, Location] = {}
    return Answer(
        report=_build_report(plan, title, refused),
        data=encode_plan(plan, refusal),
        listing=Listing(
            title=title,
            meta=(*refused, *say_counts(plan)),
            groups=tuple(_group(plan, number, shown) for number in range(len(plan.steps))),
        ),
    )


def say_plan(plan: Plan, label: str) -> str:
    places, left = count_places(plan)
    idle = f", and {plan.idle} more {'loses its' if plan.idle == 1 else 'lose their'} effect there" if plan.idle else ""
    whole = count(len(plan.steps), "step")
    end = f"{whole}; the last only moves the pin" if _is_end(plan) else whole
    if not plan.steps:
        return (
            f"{label}: the pin {plan.start[:8]} is already the newest safe pin; the next commit breaks places of ours."
        )
    if not places:
        return f"{label}: nothing of ours breaks on the way to {plan.to[:8]}. The plan has {count(len(plan.steps), 'step')}."
    return (
        f"{label}: {count(places - plan.idle, 'place')} of ours {'breaks' if places - plan.idle == 1 else 'break'} on "
        f"the way to {plan.to[:8]}{_say_last_good(plan)}{idle}. {_say_left(places, left)} The plan has {end}."
    )


def _say_left(places: int, left: int) -> str:
    some = f"{places - left} of these {places} can be fixed mechanically; {left} {verb(left, 'is')} left for a person."
    one = "It" if places == 1 else "All of them"
    if not left:
        return f"{one} can be fixed mechanically."
    return some if left < places else f"{one} {'is' if places == 1 else 'are'} left for a person."


def _is_end(plan: Plan) -> bool:
    """Whether the last of several steps only reaches the commit asked about."""
    return len(plan.steps) > 1 and not plan.steps[-1].mends


def _say_last_good(plan: Plan) -> str:
    if plan.last_good is None:
        return ""
    if plan.last_good.hash == plan.start:
        return " (the first break is right after the pin)"
    return f" (the commits up to {plan.last_good.hash[:8]}, {plan.last_good.date}, break none)"


def say_counts(plan: Plan) -> Iterator[str]:
    """Which pin is safe, and what is counted beside the places."""
    places, _ = count_places(plan)
    if plan.after_safe is not None:
        yield f"{plan.to[:8]} is the newest safe pin: {plan.after_safe[:8]}, the next commit, breaks places of ours."
    elif plan.safe_pin is not None and plan.steps:
        yield (
            f"{plan.to[:8]} is the newest safe pin: it is the commit that you asked about, and breaks nothing of ours."
        )
    elif plan.steps and not places:
        yield f"{plan.to[:8]} is a safe pin: the upgrade breaks nothing of ours.{_say_failing(plan)}"
    elif places:
        yield "`--safe` plans only up to the newest safe pin, the last commit that breaks nothing of ours."
    if plan.lacks:
        told = f"{count(plan.lacks, 'commit')} of the pin's own branch {verb(plan.lacks, 'is')} not in it"
        yield f"{plan.to[:8]} is on another branch than the pin: {told}."
    settings = [mend for step in plan.steps for mend in step.mends if mend.kind in SETTINGS]
    if settings:
        left = sum(not mend.mechanical for mend in settings)
        who = "a person must change" if left == len(settings) else f"{left} {verb(left, 'is')} left for a person"
        more = f"; {who}{(' it' if left == 1 else ' them') if left == len(settings) else ''}" if left else ""
        told = f"{count(len(settings), 'setting')} of ours (requirements, configuration keys)"
        yield f"In addition, {told} must follow upstream{more}."
    gates = sum(mend.kind is MendKind.GATE_RETIRED for step in plan.steps for mend in step.mends)
    if gates:
        yield f"{count(gates, 'version test')} of ours can be removed: the new version decides {'it' if gates == 1 else 'them'}."
    if plan.behind:
        more = f"{count(plan.behind, 'more place')}: {'a call' if plan.behind == 1 else 'calls'}"
        yield (
            f"`patches drift` counts {more} that will not fit even with the new import. After the upgrade, `upgrade "
            "check` names them."
        )
    partly = _count_partly(plan)
    if partly:
        told = f"{partly} of the places left for a person also {'has' if partly == 1 else 'have'}"
        yield f"{told} names that can be fixed mechanically."
    revealed = count_revealed(plan)
    if revealed:
        told = f"{count(revealed, 'more place')} of ours {'does' if revealed == 1 else 'do'} not fit the names they then use"
        yield f"After the mechanical edits, {told}; the last step lists {'it' if revealed == 1 else 'them'}."


def _say_failing(plan: Plan) -> str:
    if not plan.today:
        return ""
    told = f"{count(plan.today, 'place')} of ours {'does' if plan.today == 1 else 'do'} not fit today's pin"
    return f" {told}: `layline upgrade check {plan.backend}` lists {'it' if plan.today == 1 else 'them'}."


def count_places(plan: Plan) -> tuple[int, int]:
    """Lines of ours that break, and those where something is left for a person: a line with several targets counts
    once.
    """
    mends = (mend for step in plan.steps for mend in step.mends)
    return count_lines(mend for mend in mends if _is_place(mend))


def _count_partly(plan: Plan) -> int:
    """Places of which some names can be fixed mechanically and others cannot."""
    mends = [mend for step in plan.steps for mend in step.mends if _is_place(mend)]
    sure, left = ({_find_place(mend) for mend in mends if mend.mechanical is which} for which in (True, False))
    return len(sure & left)


def count_revealed(plan: Plan) -> int:
    """Lines that do not fit only after the mechanical mends."""
    return count_lines(mend for step in plan.steps for mend in step.mends if mend.revealed)[1]


def count_lines(mends: Iterable[Mend]) -> tuple[int, int]:
    listed = list(mends)
    left = {_find_place(mend) for mend in listed if not mend.mechanical}
    return len(set(map(_find_place, listed))), len(left)


def _find_place(mend: Mend) -> Location:
    return mend.place or Location(mend.file, mend.lines[0])


def say_culprit(commit: Commit | None) -> str:
    if commit is None:
        return "the end of the upgrade"
    number = (
        f" (#{commit.pull_request})" if commit.pull_request and f"#{commit.pull_request}" not in commit.subject else ""
    )
    return f"{commit.subject}{number}"


def _group(plan: Plan, number: int, shown: dict[str, Location]) -> Group:
    step, counted = plan.steps[number], _find_counted(plan.steps[:number])
    before = f"; the commit before it is {step.before[:8]}" if step.before is not None else ""
    title = (
        f"Step {number + 1} of {len(plan.steps)}: to {step.to[:8]} ({step.date}), {say_culprit(step.culprit)}: "
        f"{'; '.join(_say_step(step, counted)) or 'nothing to do'}{before}"
    )
    return Group(title=title, items=tuple(_diagnose(mend, plan.to, shown) for mend in step.mends))


def _find_counted(steps: Iterable[Step]) -> frozenset[Location]:
    """The places that these steps count."""
    return frozenset(_find_place(mend) for step in steps for mend in step.mends if _is_place(mend))


def _is_place(mend: Mend) -> bool:
    """Whether the first line of the plan counts it."""
    return mend.kind not in BESIDE and not mend.revealed


def _say_step(step: Step, counted: frozenset[Location]) -> Iterator[str]:
    """Places as the first line of the plan counts them, each in its first step, then what is counted beside them."""
    broken = [mend for mend in step.mends if _is_place(mend)]
    again = {(mend.file, mend.lines[0]) for mend in broken if _find_place(mend) in counted}
    yield from _say_mends("place", [mend for mend in broken if _find_place(mend) not in counted])
    if again:
        yield f"{count(len(again), 'line')} of places counted in an earlier step"
    revealed, _ = count_lines(mend for mend in step.mends if mend.revealed)
    if revealed:
        yield f"{count(revealed, 'more place')} after the edits"
    yield from _say_mends("setting", [mend for mend in step.mends if mend.kind in SETTINGS])
    yield from _say_mends("version test", [mend for mend in step.mends if mend.kind is MendKind.GATE_RETIRED])


def _say_mends(noun: str, mends: list[Mend]) -> Iterator[str]:
    places, left = count_lines(mends)
    lines = len({(mend.file, mend.lines[0]) for mend in mends})
    several = f" in {count(lines, 'line')}" if lines > places else ""
    if places:
        mixed = f" ({places - left} mechanical, {left} left for a person)"
        told = mixed if 0 < left < places else ", left for a person" if left else ", mechanical"
        yield f"{count(places, noun)}{several}{told}"


def _show_example(mend: Mend, shown: dict[str, Location]) -> Iterator[tuple[str, str]]:
    """Line by line where it stands first; `shown`: where each stands already."""
    here = Location(mend.file, mend.lines[0])
    if not mend.example:
        return
    if mend.example in shown:
        yield "example", f"as at {shown[mend.example]} above"
        return
    shown[mend.example] = here
    for number, line in enumerate(mend.example.split("\n")):
        yield "" if number else "example", line


def _diagnose(mend: Mend, to: str, shown: dict[str, Location]) -> Diagnostic:
    details: tuple[tuple[str, str], ...] = (("fix" if mend.mechanical else "why", mend.why),)
    if mend.ours is not None:
        details = (*details, ("ours", f"{mend.ours} ({count(mend.lines[1] - mend.lines[0] + 1, 'line')})"))
    if mend.diff and not mend.mechanical:
        details = (*details, ("diff", f"`layline patches diff {mend.file}:{mend.lines[0]} --to {to[:12]}`"))
    if mend.place is not None and mend.place != Location(mend.file, mend.lines[0]):
        details = (*details, ("counts", f"as the same place as {mend.place}"))
    details = (*details, *_show_example(mend, shown))
    return Diagnostic(
        location=Location(mend.file, mend.lines[0]),
        severity=Severity.OK if mend.mechanical else Severity.BREAKS,
        code=mend.kind.value,
        message=f"{'can be fixed mechanically' if mend.mechanical else 'left for a person'}: {mend.target}",
        details=details,
    )


def _build_report(plan: Plan, title: str, refused: tuple[str, ...]) -> Report:
    sections = [Section(title="", blocks=tuple(Paragraph(one) for one in refused))] if refused else []
    for number, step in enumerate(plan.steps, 1):
        blocks: list[Block] = [Paragraph(say_culprit(step.culprit))]
        blocks += (
            [Bullets(tuple(f"{one.file}:{one.lines[0]} {one.target}: {one.why}" for one in step.mends))]
            if step.mends
            else []
        )
        blocks += [Code(one.diff, "diff") for one in step.mends if one.diff]
        sections.append(Section(title=f"Step {number}: to {step.to[:12]} ({step.date})", blocks=tuple(blocks)))
    return Report(title=title, sections=tuple(sections))


def encode_plan(plan: Plan, refusal: str | None = None) -> answers.Plan:
    return {
        "schema": SCHEMA,
        "backend": plan.backend,
        "commit": plan.commit,
        "plan": plan.digest,
        "from": plan.start,
        "to": plan.to,
        "last_good": plan.last_good.hash if plan.last_good is not None else None,
        "safe_pin": plan.safe_pin,
        "after_safe": plan.after_safe,
        "apply_refuses": refusal,
        "does_not_fit": {"today": plan.today, "before": plan.before, "after": plan.after},
        "breaks": {
            "places": count_places(plan)[0] - plan.idle,
            "in_drift": plan.in_drift,
            "only_compared": plan.compared,
        },
        "steps": [_encode_step(step) for step in plan.steps],
        "left": [_encode_break(one) for one in plan.left],
    }


def _encode_step(step: Step) -> answers.Step:
    return {
        "to": step.to,
        "date": step.date,
        "culprit": encode_commit(step.culprit),
        "before": step.before,
        "lines": step.lines,
        "left": step.left,
        "files": [{"path": one.path, "sha256": one.before} for one in step.edits],
        "mends": [_encode_mend(mend) for mend in step.mends],
    }


def _encode_mend(mend: Mend) -> answers.Mend:
    return {
        "file": mend.file,
        "lines": list(mend.lines),
        "kind": mend.kind.value,
        "mechanical": mend.mechanical,
        "target": mend.target,
        "diff": mend.diff,
        "why": mend.why,
        "example": mend.example,
        "ours": str(mend.ours) if mend.ours is not None else None,
        "evidence": str(mend.evidence) if mend.evidence is not None else None,
        "revealed": mend.revealed,
    }


def _encode_break(one: Break) -> answers.Broken:
    return {"file": one.location.path, "line": one.location.line, "target": one.target, "way": one.way, "why": one.why}
