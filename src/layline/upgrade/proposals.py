"""What helps a person with a mend that nobody can prove: both bodies with upstream's change marked, and how upstream
changed its own callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from layline.core.drift import DriftKind
from layline.coupling.model import Touch
from layline.coupling.threeway import build_three_way, render_diff
from layline.source.facts import parse_facts
from layline.upgrade.values import Break, Mend, MendKind

if TYPE_CHECKING:
    from layline.coupling.drift_model import Drift, Sides
    from layline.git import Repository

_LONGEST = 200
"""Lines of a diff that a plan shows."""
_EXAMPLE = 12
_OF_WAY = {Touch.CALL.value: MendKind.CALL_REFUSED, Touch.OVERRIDE.value: MendKind.OVERRIDE_REFUSED}
_OF_DRIFT = {
    DriftKind.BODY_CHANGED: MendKind.BODY_CHANGED,
    DriftKind.SIGNATURE_CHANGED: MendKind.SIGNATURE_CHANGED,
    DriftKind.MOVED: MendKind.TARGET_MOVED,
    DriftKind.RENAMED: MendKind.TARGET_MOVED,
    DriftKind.BINDING_LOST: MendKind.TARGET_MOVED,
    DriftKind.REMOVED: MendKind.REMOVED,
    DriftKind.DEAD_AT_PIN: MendKind.REMOVED,
    DriftKind.ANCHOR_LOST: MendKind.ANCHOR_LOST,
}


def propose(broken: Break, row: Drift | None, sides: Sides, upstream: Repository) -> Mend:
    """A mend that a person makes, with what is known."""
    view = build_three_way(row, sides) if row is not None else None
    first = broken.location.line
    last = first
    diff = ""
    if view is not None:
        diff = _cut(render_diff(view.then, view.now, ("upstream at the pin", "upstream there")))
        last = first + max(0, len(view.ours.splitlines()) - 1)
    return Mend(
        file=broken.location.path,
        lines=(first, last),
        kind=_find_kind(broken, row),
        mechanical=False,
        diff=diff,
        why=broken.why,
        target=broken.target,
        evidence=broken.evidence,
        place=broken.place,
        example=find_example(upstream, broken.culprit, broken.target),
        ours=row.effect.replacement_at if view is not None and row is not None and row.effect is not None else None,
    )


def _find_kind(broken: Break, row: Drift | None) -> MendKind:
    """The true kind: of a patch what became of its target, of another place how we touch it."""
    if row is not None:
        return _OF_DRIFT.get(row.kind, MendKind.REPLACEMENT_FAILS)
    if broken.new_target is not None:
        return MendKind.TARGET_MOVED if broken.way == Touch.PATCH.value else MendKind.IMPORT_MOVED
    return _OF_WAY.get(broken.way, MendKind.REMOVED)


def _cut(diff: str) -> str:
    lines = diff.splitlines()
    if len(lines) <= _LONGEST:
        return diff
    return "\n".join([*lines[:_LONGEST], f"… {len(lines) - _LONGEST} more lines"])


def find_example(upstream: Repository, culprit: str | None, target: str) -> str:
    """One place where the commit changed a line of upstream's own that names the target, best one that uses it; empty where
    there is none.
    """
    if culprit is None:
        return ""
    name = target.rpartition(".")[2]
    out = upstream.git(
        "diff-tree",
        "-p",
        "-U0",
        "-r",
        "--root",
        "-m",
        "--first-parent",
        "--no-commit-id",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        f"-G\\b{re.escape(name)}\\b" if name.isidentifier() else "-Gx^",
        culprit,
        "--",
        "*.py",
    )
    imports = ""
    for path, hunk in _find_hunks(out.decode("utf-8", "replace")):
        removed = [line for line in hunk if line.startswith("-") and _uses(line, name)]
        added = [line for line in hunk if line.startswith("+")]
        if removed and added and len(hunk) <= _EXAMPLE and _speaks_of(upstream, culprit, path, target):
            found = "\n".join([f"{path}:", *hunk])
            if not all(_imports(line) for line in removed):
                return found
            imports = imports or found
    return imports


def _imports(line: str) -> bool:
    """An import tells where the name went, not how it is used now."""
    return line[1:].split()[:1] in (["from"], ["import"])


def _speaks_of(upstream: Repository, commit: str, path: str, target: str) -> bool:
    """Whether a file names what holds the target, too: many things have a `forward`, many modules a `Config`."""
    holder = target.rpartition(".")[0].rpartition(".")[2]
    if holder in path.removesuffix(".py").split("/"):
        return True
    facts = parse_facts(upstream.read_file(upstream.resolve(f"{commit}^1"), path) or b"")
    modules = (part for line in facts.imports for part in line.module.split("."))
    return holder in {*facts.words, *(name for name, _ in facts.classes), *modules}


def _uses(line: str, name: str) -> bool:
    """Names it, and does not define it."""
    words = line[1:].split()
    return bool(re.search(rf"\b{re.escape(name)}\b", line)) and words[:1] not in (["def"], ["class"])


def _find_hunks(text: str) -> Iterator[tuple[str, list[str]]]:
    path, hunk = "", list[str]()
    for line in text.splitlines():
        if line.startswith(("diff --git", "@@")):
            if hunk:
                yield path, hunk
            hunk = []
        if line.startswith("+++ "):
            path = line[4:].removeprefix("b/")
        elif line.startswith(("+", "-")) and not line.startswith("--- "):
            hunk.append(line)
    if hunk:
        yield path, hunk
