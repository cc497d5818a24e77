"""What the commits of an upgrade say about themselves, in trailers that `check` and a continued `apply` read back."""

from __future__ import annotations

from dataclasses import dataclass

PLAN, STEP, LEFT, TESTS = "Layline-Plan", "Layline-Step", "Layline-Left", "Layline-Tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """One step of an upgrade as its commit tells it."""

    plan: str
    """Digest of the plan it belongs to."""
    step: int
    steps: int
    left: int
    """Places that the plan leaves for a person at this step."""


def render_trailers(promise: Promise, tests: str | None) -> str:
    lines = [f"{PLAN}: {promise.plan}", f"{STEP}: {promise.step}/{promise.steps}", f"{LEFT}: {promise.left}"]
    return "\n".join([*lines, *([f"{TESTS}: {tests}"] if tests is not None else [])]) + "\n"


def parse_promise(message: str) -> Promise | None:
    """The promise of a commit message; None where it is no step of an upgrade."""
    found = dict(line.split(": ", 1) for line in message.splitlines() if line.startswith("Layline-") and ": " in line)
    step, _, steps = found.get(STEP, "").partition("/")
    left, plan = found.get(LEFT, ""), found.get(PLAN, "")
    if not (plan and step.isdigit() and steps.isdigit() and left.isdigit()):
        return None
    return Promise(plan=plan, step=int(step), steps=int(steps), left=int(left))
