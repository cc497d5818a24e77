"""`patches find` and `patches notes` as answers: where a feature is, and whether hand-written notes are right."""

from __future__ import annotations

import difflib
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.effect_ids import is_effect_id
from layline.core.evidence import Location
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.report import Answer, Cell, Paragraph, Report, Section, Table
from layline.coupling.replacements import Replacements
from layline.errors import Error
from layline.patches.declared_keys import Schema, read_schema
from layline.patches.find import Hit, find_keys, find_near_word, find_word
from layline.patches.inner_keys import find_names, read_inner_keys
from layline.patches.named import as_patch, find_place
from layline.patches.notes import Claim, Verdict, check_notes, parse_rows
from layline.patches.report import describe_change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.core.patch import Inventory
    from layline.core.report import Block, Inline
    from layline.patches import answers
    from layline.patches.opened import OpenedInventory
    from layline.source import Tree
    from layline.workspace.open import Workspace


def check_file(tree: Tree, word: str) -> None:
    """A word that is written like a Python file, with or without a line, must be one of ours."""
    path = word.strip().partition(":")[0].removeprefix("./")
    if not path.endswith(".py") or any(path in one for one in tree.entries):
        return
    near = difflib.get_close_matches(path, list(tree.paths(suffix=".py")), n=1, cutoff=0.8)
    hint = f"Did you mean {near[0]}?" if near else "Write paths from the root of the repository."
    raise Error(f"There is no file {path} in this repository.", hint=hint)


def is_there(hit: Hit, path: str, line: int) -> bool:
    """Whether it stands at this very line: `run.py:1` is not `run.py:17`."""
    return any(
        one.line == line and (one.path == path or one.path.endswith(f"/{path}")) for one in (hit.location, *hit.places)
    )


def find_inside(inventory: Inventory, replacements: Replacements, word: str) -> Iterator[Hit]:
    """Patches whose replacement has the line that `word` names in its body."""
    asked = find_place(word)
    if asked is None:
        return
    path, line = asked
    for effect in inventory.every_effect():
        at = effect.replacement_at
        if at is None or not (at.path == path or at.path.endswith(f"/{path}")) or at.line > line:
            continue
        found = replacements.read(at)
        if found is not None and line <= (found.node.end_lineno or at.line):
            text = f"{describe_change(effect)} with {effect.replacement}, which has this line"
            place = Location(at.path, line)
            yield Hit(
                backend=inventory.backend, patch=effect.id, where="replacement", text=text, location=place, rank=2
            )


def find_used(inventory: Inventory, replacements: Replacements, word: str) -> Iterator[Hit]:
    """Patches whose replacement uses, imports or calls the name, each at the first line that does."""
    name, tree = word.strip().rpartition(".")[2], replacements.ours
    if not name.isidentifier():
        return
    lines: dict[Location, int | None] = {}
    for effect in inventory.every_effect():
        for at in dict.fromkeys(one for one in (effect.replacement_at, *effect.replacements_at) if one is not None):
            if at not in lines:
                text = tree.read_text(at.path)
                found = replacements.read(at) if isinstance(text, str) and name in text else None
                used = (line for one, line in find_names(found.node) if one == name) if found is not None else ()
                lines[at] = min(used, default=None)
            line = lines[at]
            if line is not None:
                text = f"used by {effect.replacement}, which {describe_change(effect)}"
                place = Location(at.path, line)
                yield Hit(
                    backend=inventory.backend, patch=effect.id, where="replacement", text=text, location=place, rank=10
                )
                break


def build_found(workspace: Workspace, inventories: list[Inventory], word: str) -> Answer:
    """Every place that speaks of `word`, best first."""
    tree = workspace.tree
    replacements = Replacements(tree)
    read = [(inventory, _schema(workspace, tree, inventory.backend)) for inventory in inventories]
    hits = [
        hit
        for inventory, schema in read
        for hit in find_word(
            inventory, schema, word, read_inner_keys(inventory.patches, replacements, find_keys(schema, word))
        )
    ]
    if (asked := find_place(word)) is not None:
        hits = [hit for hit in hits if is_there(hit, *asked)]
    told = {(hit.backend, hit.patch) for hit in hits}
    inside = (
        hit for inventory, _ in read for find in (find_inside, find_used) for hit in find(inventory, replacements, word)
    )
    hits += [hit for hit in inside if (hit.backend, hit.patch) not in told]
    near = [] if hits else [one for inventory, schema in read if (one := find_near_word(inventory, schema, word))]
    hits.sort(key=_place)
    rows: list[tuple[Inline, ...]] = [
        (
            hit.backend,
            Cell(hit.patch or "–", code=True),
            hit.where,
            _shorten(hit.text),
            Cell(str(hit.location), code=True),
        )
        for hit in hits
    ]
    table = Table(columns=("Backend", "Patch", "Where", "Text", "Code location"), rows=tuple(rows))
    hints = [f"Did you mean {one!r}?" for one in near[:1]]
    if not hits and asked is None:
        hints += _say_next(word, [inventory.backend for inventory in inventories])
    blocks: tuple[Block, ...] = (table,) if hits else tuple(map(Paragraph, hints))
    title = f"{len(hits)} match{'' if len(hits) == 1 else 'es'} for {word!r}"
    report = Report(title=title, sections=(Section(title="", blocks=blocks),))
    listing = Listing(
        title=title,
        meta=tuple(hints),
        groups=(Group(items=tuple(_tell_hit(hit, named=len(inventories) > 1) for hit in hits)),) if hits else (),
    )
    data: answers.Found = {
        "schema": "layline.patches-find/1",
        "word": word,
        "commit": workspace.commit,
        "near": near[0] if near else None,
        "hits": [_encode_hit(hit) for hit in hits],
    }
    return Answer(report=report, data=data, listing=listing)


def _say_next(word: str, backends: list[str]) -> Iterator[str]:
    """Commands that work as they are written: each searches one upstream."""
    asks = [f"`layline gap find {shlex.quote(word)} {backend}`" for backend in backends]
    yield f"No patch of ours names or uses {word!r}."
    if asks:
        yield f"To search upstream's changes: {' or '.join(asks)}."


def _tell_hit(hit: Hit, *, named: bool) -> Diagnostic:
    """The place first, as every list has it; `named`: there is more than one backend it may belong to."""
    words = (hit.backend if named else None, hit.patch, hit.where, _shorten(hit.text))
    return Diagnostic(location=hit.location, message=": ".join(word for word in words if word))


def _encode_hit(hit: Hit) -> answers.Hit:
    return {
        "backend": hit.backend,
        "patch": hit.patch,
        "where": hit.where,
        "text": hit.text,
        "location": str(hit.location),
        "rank": hit.rank,
    }


def _encode_claim(claim: Claim) -> answers.Claim:
    return {
        "line": claim.line,
        "flag": claim.flag,
        "kind": claim.kind,
        "said": claim.said,
        "verdict": claim.verdict.value,
        "reason": claim.reason,
        "evidence": claim.evidence,
    }


def build_noted(opened: OpenedInventory, inventories: list[Inventory], file: Path, text: str) -> Answer:
    """The tables of hand-written notes against the code; the code wins."""
    workspace = opened.workspace
    schemas = {key: _schema(workspace, opened.tree, key) for key in workspace.settings.backends}
    whole = [_with_strays(one) for one in inventories]
    flags = {row.flag for row in parse_rows(text)}
    inner = read_inner_keys((patch for one in whole for patch in one.patches), Replacements(opened.tree), flags)
    claims = check_notes(text, whole, schemas, opened.reading.texts, inner)
    counts = Counter(claim.verdict.value for claim in claims)
    data: answers.Notes = {
        "schema": "layline.patches-notes/1",
        "file": str(file),
        "commit": workspace.commit,
        "counts": {verdict.value: counts.get(verdict.value, 0) for verdict in Verdict},
        "claims": [_encode_claim(claim) for claim in claims],
        "searched": sorted(opened.reading.texts),
    }
    report = _report(file, claims, counts)
    searched = f"{len(opened.reading.texts)} Python files, without tests and vendored code"
    meta = (("downstream", f"{workspace.downstream.name} at {workspace.commit}"), ("searched", searched))
    return Answer(report=replace(report, meta=meta), data=data)


def _with_strays(inventory: Inventory) -> Inventory:
    """Notes speak of effects without a registration as of any other patch."""
    return replace(inventory, patches=(*inventory.patches, *(as_patch([item]) for item in inventory.unregistered)))


def _report(file: Path, claims: list[Claim], counts: Counter[str]) -> Report:
    summary = ", ".join(f"{counts.get(verdict.value, 0)} {verdict.value}" for verdict in Verdict)
    sections = [
        Section(title=f"{verdict.value} ({counts[verdict.value]})", blocks=(_table(found),))
        for verdict in (Verdict.CONTRADICTED, Verdict.STALE, Verdict.MISSING, Verdict.NOT_CHECKABLE, Verdict.CONFIRMED)
        if (found := [claim for claim in claims if claim.verdict is verdict])
    ]
    return Report(title=f"{file.name}: {summary}", sections=tuple(sections))


def _table(claims: list[Claim]) -> Table:
    rows: list[tuple[Inline, ...]] = [
        (
            str(claim.line or ""),
            Cell(claim.flag, code=True),
            claim.kind,
            claim.said,
            claim.reason,
            Cell(claim.evidence, code=True),
        )
        for claim in claims
    ]
    return Table(columns=("Line", "Flag", "Claim", "Notes say", "Code says", "Evidence"), rows=tuple(rows))


def _place(hit: Hit) -> tuple[int, str, str, str, int]:
    """The best first, then by patch; an effect's id says nothing, so those follow our files."""
    name = "" if hit.patch is not None and is_effect_id(hit.patch) else hit.patch or "~"
    return hit.rank, hit.backend, name, hit.location.path, hit.location.line


def read_notes(workspace: Workspace, file: Path) -> str:
    """A file on disk, else a path of the downstream at the commit looked at."""
    if file.is_file():
        return file.read_text(encoding="utf-8", errors="replace")
    inside = not file.is_absolute() and ".." not in file.parts
    data = workspace.downstream.read_file(workspace.commit, file.as_posix()) if inside else None
    if data is None:
        raise Error(f"There is no file {file}.", hint="Give a file on disk or a path inside the downstream.")
    return data.decode("utf-8", "replace")


def _schema(workspace: Workspace, tree: Tree, key: str) -> Schema:
    return read_schema(tree, workspace.settings.backend(key).configs)


def _shorten(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:157]}…"
