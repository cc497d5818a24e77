"""What an upgrade asks of files that are no code: requirements whose floor upstream raised, keys that it renamed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from layline.change.options.flags import find_files_with
from layline.change.options.read import read_options
from layline.core.evidence import Evidence, Location, Skipped
from layline.core.ours import is_own
from layline.gap.dependencies import Rank, read_declarations
from layline.gap.refused import find_refused
from layline.gap.surface.known_keys import KnownKeys, leave_out_scripts
from layline.gap.surface.yaml_keys import find_stale_keys, read_yaml_keys
from layline.source import Tree
from layline.source.declared_version import read_version
from layline.upgrade.edits import render_patch
from layline.upgrade.floors import Floor, find_floors, is_raised, raise_floor
from layline.upgrade.judging import edit_to
from layline.upgrade.keys import RenamedKey, find_new_key, is_renamed, rename_keys
from layline.upgrade.values import Mend, MendKind

if TYPE_CHECKING:
    from layline.change.surface import StaleKey
    from layline.upgrade.question import Question
    from layline.upgrade.workshop import Workshop

_MOST = 20
"""Keys and files of one commit that are asked about."""


@dataclass(slots=True)
class Settings:
    """The files as the upgrade leaves them, and one mend for each edit."""

    texts: dict[str, str] = field(default_factory=dict)
    mends: list[Mend] = field(default_factory=list)


def find_settings(question: Question, workshop: Workshop) -> Settings:
    """All that can be proven by reading the edited files again; what cannot is told to a person."""
    found = Settings()
    _follow_floors(question, workshop, found)
    _tell_refused(question, found)
    _follow_keys(question, workshop, found)
    return found


def _open(question: Question, texts: dict[str, str]) -> Tree:
    """Our files with these edits."""
    workspace = edit_to(question.workspace, texts)
    return Tree(workspace.downstream, workspace.commit)


def _follow_floors(question: Question, workshop: Workshop, found: Settings) -> None:
    upstream = [Tree(question.upstream, commit) for commit in (question.now.commit, question.to)]
    ours = read_declarations(_open(question, {})).items
    before, after = (read_declarations(tree, last=Rank.REQUIREMENTS).items for tree in upstream)
    installed = question.workspace.settings.backend(question.key).path is None
    for floor in find_floors(ours, before, after):
        if installed and not floor.problem:
            continue  # upstream's own metadata bring what it needs; of a submodule only ours do
        path = floor.ours.place.path
        text = found.texts.get(path) or workshop.read(path)
        edited = raise_floor(text, floor) if text is not None and not floor.problem else None
        again = read_declarations(_open(question, {**found.texts, path: edited})).items if edited is not None else ()
        then = read_declarations(_open(question, found.texts)).items if edited is not None else ()
        if text is None or edited is None or not is_raised(floor, then, again):
            found.mends.append(_tell_floor(question, floor, ""))
            continue
        found.texts[path] = edited
        found.mends.append(_tell_floor(question, floor, render_patch(path, text, edited)))


def _tell_floor(question: Question, floor: Floor, diff: str) -> Mend:
    place, theirs = floor.ours.place, floor.theirs.place
    told = f"upstream now needs {floor.ours.name}>={floor.new}, our code requires only >={floor.old}"
    return Mend(
        file=place.path,
        lines=(place.line, place.line),
        kind=MendKind.FLOOR_RAISED,
        mechanical=bool(diff),
        diff=diff,
        why=f"{told}; {floor.problem}" if floor.problem else told,
        target=floor.ours.name,
        evidence=_evidence(question, theirs),
    )


def _tell_refused(question: Question, found: Settings) -> None:
    """Bounds of ours that the new pin does not fit; the line of a floor is told once."""
    backend = question.workspace.settings.backend(question.key)
    commits = question.now.commit, question.to
    found_versions = [read_version(question.upstream, commit, backend.packages) for commit in commits]
    then, now = (one.text if one is not None else None for one in found_versions)
    told = {(mend.file, mend.lines[0], mend.target) for mend in found.mends}
    before, after = (Tree(question.upstream, commit) for commit in commits)
    for one in find_refused(_open(question, found.texts), backend, (before, after), (then, now)):
        path, line = one.ours.place.path, one.ours.place.line
        if (path, line, one.ours.name) not in told:
            found.mends.append(
                Mend(
                    file=path,
                    lines=(line, line),
                    kind=MendKind.BOUND_REFUSES,
                    mechanical=False,
                    diff="",
                    why=one.tell(),
                    target=one.ours.name,
                    evidence=_evidence(question, one.theirs) if one.theirs is not None else None,
                )
            )


def _evidence(question: Question, place: Location) -> Evidence:
    return Evidence(repo=question.upstream.name, commit=question.to, path=place.path, lines=(place.line, place.line))


def _follow_keys(question: Question, workshop: Workshop, found: Settings) -> None:
    backend = question.workspace.settings.backend(question.key)
    sides = question.between.opened.sides
    keys, _ = read_yaml_keys(_open(question, {}), backend.configs) if backend.configs else ({}, ())
    if not keys:
        return
    pin = read_options(sides.pin, backend.packages)
    after = read_options(sides.tip, backend.packages).known(sides.tip)
    before = leave_out_scripts(pin.known(sides.pin), pin, keys, Tree(question.upstream, question.to).entries)
    new = after.keys() - before.keys()
    known = KnownKeys(names=after, near=frozenset(after))
    for stale in list(find_stale_keys(keys, before, known))[:_MOST]:
        old = stale.key.rpartition(".")[2]
        fresh = {name for name in new if "." not in name}
        now = find_new_key(old, fresh, _read_loss(question, stale)) if not _is_read(question, old) else None
        if now is not None:
            _rename(question, workshop, found, RenamedKey(stale.key, now, tuple(keys[stale.key])))


def _rename(question: Question, workshop: Workshop, found: Settings, key: RenamedKey) -> None:
    """All places of a key, or none."""
    folders = question.workspace.settings.backend(question.key).configs
    edited, diffs = dict(found.texts), dict[str, str]()
    for path in dict.fromkeys(place.path for place in key.places):
        text = edited.get(path) or workshop.read(path)
        lines = [place.line for place in key.places if place.path == path]
        made = rename_keys(text, lines, key.old.rpartition(".")[2], key.new) if text is not None else None
        if text is None or made is None:
            return
        edited[path], diffs[path] = made, render_patch(path, text, made)
    then, now = (read_yaml_keys(_open(question, texts), folders)[0] for texts in (found.texts, edited))
    if not is_renamed(key, then, now):
        return
    found.texts |= edited
    for path, diff in diffs.items():
        line = next(place.line for place in key.places if place.path == path)
        found.mends.append(
            Mend(
                file=path,
                lines=(line, line),
                kind=MendKind.KEY_RENAMED,
                mechanical=True,
                diff=diff,
                why=f"upstream renamed {key.old} to {key.new}, which means the same",
                target=key.old,
            )
        )


def _is_read(question: Question, key: str) -> bool:
    """True if code of ours speaks of the key: then it is not upstream's alone."""
    return any(is_own(path) for path in find_files_with(_open(question, {}), key))


def _read_loss(question: Question, stale: StaleKey) -> Iterator[tuple[str, str]]:
    """Upstream's files before and after the commit that took a key out of where it was declared."""
    upstream, path = question.upstream, stale.pin_evidence.path if stale.pin_evidence is not None else None
    key = stale.key.rpartition(".")[2]
    span = f"{question.now.commit}..{question.to}"
    words = ("log", "--first-parent", "-m", "--format=%H", f"-S{key}", span, "--", path or "")
    commits = upstream.git(*words).decode("ascii").split() if path is not None else []
    if not commits:
        return
    named = upstream.git(
        "diff-tree", "-r", "-m", "--first-parent", "--no-commit-id", "--name-only", "-z", "--no-renames",
        "--diff-filter=M", f"-G\\b{re.escape(key)}\\b", commits[0], "--", "*.py",
    )  # fmt: skip
    sides = [Tree(upstream, upstream.resolve(f"{commits[0]}^1")), Tree(upstream, commits[0])]
    for name in [one for one in named.decode("utf-8", "surrogateescape").split("\0") if one][:_MOST]:
        before, after = (tree.read_text(name) for tree in sides)
        if not isinstance(before, Skipped) and not isinstance(after, Skipped):
            yield before, after
