"""One effect of ours on little real histories of an upstream, judged with its culprits."""

from __future__ import annotations

from pathlib import Path

from histories import History
from layline.change.compare import Comparer
from layline.change.trace import Tracer
from layline.core.condition import Condition
from layline.core.evidence import Location
from layline.core.patch import Effect, Holder, Inventory, Patch, Style, Unregistered
from layline.coupling.culprit import find_culprits
from layline.coupling.decide import RefKnowledge
from layline.coupling.drift import find_drifts
from layline.coupling.drift_model import Drift, Sides
from layline.coupling.last_seen import find_last_seen
from layline.coupling.reads import Reader
from layline.coupling.replacements import Replacements
from layline.coupling.version_guards import Running, VersionGuards
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver
from layline.source.sight import Sight

PACKAGES = ("keel",)
BODY = "    total = 0\n    for step in range(x):\n        total += step * x\n    return total\n"
RUN = f"def run(x):\n{BODY}"
USE = "from keel.run import run\n\n\ndef go():\n    return run(3)\n"
OURS = "def fast(x):\n    return x\n"


def judge(
    tmp_path: Path,
    before: dict[str, str],
    after: dict[str, str | None],
    *,
    ours: str = OURS,
    target: str = "keel.run.run",
    condition: Condition | None = None,
    style: Style = Style.BINDING_REPLACEMENT,
    holder: Holder | None = None,
    more: dict[str, str] | None = None,
    between: dict[str, str] | None = None,
    base: dict[str, str] | None = None,
    at: int = 1,
    beside: tuple[Effect, ...] = (),
    alone: Effect | None = None,
    gone: str | None = None,
    past: tuple[dict[str, str], ...] = (),
    also: tuple[str, ...] = (),
    line: int = 0,
) -> Drift:
    """The row of one effect that puts the first definition of our file in the place of `target`; with a `base` the pin
    lies on a branch that leaves the line of the tip there. `also`: what else our code replaces; `line`: where it does
    this, if not in the last line.
    """
    upstream = History.start(tmp_path / "up")
    for number, files in enumerate(past):
        upstream.commit(str(number), {"keel/__init__.py": "", **files})
    if base is not None:
        upstream.commit("base", {"keel/__init__.py": "", **base})
        upstream.git("checkout", "-q", "-b", "release")
    pin = upstream.commit("pin", {"keel/__init__.py": "", **before, **({gone: None} if gone else {})})
    if base is not None:
        upstream.git("checkout", "-q", "main")
    if between is not None:
        upstream.commit("between", {**between})
    tip = upstream.commit("tip", {"keel/other.py": "", **after})
    downstream = History.start(tmp_path / "down")
    commit = downstream.commit("ours", {"harbour/patch.py": ours, **(more or {})})
    repository = open_repository(upstream.path)
    sides = [Resolver(build_index([Part(tree=Tree(repository, one), packages=PACKAGES)])) for one in (pin, tip)]
    comparer = Comparer(sides[0], sides[1], [Tracer(repository, pin, tip)])
    replacements = Replacements(Tree(open_repository(downstream.path), commit))
    effect = Effect(
        style=style,
        target=target,
        location=Location("harbour/patch.py", line or len(ours.splitlines())),
        replacement_at=None if more or beside else Location("harbour/patch.py", at),
        when=condition,
        holder=holder,
    )
    patch = Patch(
        id="p",
        backend="keel",
        phase=None,
        priority=None,
        location=effect.location,
        handler="install",
        handler_lines=(1, 1),
        effects=(effect, *beside),
    )
    ground = RefKnowledge(comparer=comparer, packages=PACKAGES, versions=("1.0", "2.0"), keys={})
    whole = Sides(
        comparer=comparer,
        replacements=replacements,
        part=0,
        keys={},
        targets=frozenset({target, *also}),
        named=Sight(replacements.ours, ()).named,
        reader=Reader(comparer, replacements, PACKAGES),
        ground=ground,
        running=Running(VersionGuards(Modules(replacements.ours)), ground),
    )
    stray = (Unregistered(effect=alone, within="harbour.patch"),) if alone else ()
    inventory = Inventory(backend="keel", commit=commit, patches=() if alone else (patch,), unregistered=stray)
    (row, *_) = find_culprits(find_drifts(inventory, whole), whole, repository)
    return next(find_last_seen([row], whole, repository, pin, tip))


def codes(row: Drift) -> list[str]:
    return [one.why.reason.code for one in row.findings]
