"""Everything about one patch on one page."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from layline import codec
from layline.core.condition import ALWAYS, NEVER, find_told
from layline.core.effect_ids import is_effect_id
from layline.core.evidence import Evidence
from layline.core.patch import TargetKind
from layline.core.prose import sentence
from layline.core.report import Answer, Bullets, Cell, Code, Paragraph, Report, Section, Table
from layline.errors import GitError
from layline.history.commits import read_line_log, read_log
from layline.interpreter.line_tests import find_chain
from layline.patches.data import encode_patch
from layline.patches.declared_keys import read_schema
from layline.patches.guards.show import show_condition
from layline.patches.inner_keys import find_inner_keys, find_limits
from layline.patches.inventory.read import find_handler_calls
from layline.patches.named import Named
from layline.patches.opened import OpenedInventory
from layline.patches.port.plan import Keys, build_plan, list_keys, say_read
from layline.patches.port.slicing import follow_patch
from layline.patches.report import (
    describe_effect,
    describe_enabling,
    describe_logic,
    describe_switch,
    explain_absence,
    explain_write,
    find_shared_targets,
)
from layline.patches.side_by_side import find_differences, show_signature
from layline.source.names import longest_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.core.patch import Effect, Inventory, Patch
    from layline.core.report import Block, Inline
    from layline.core.revision import Commit
    from layline.patches import answers
    from layline.source import Definition
    from layline.workspace.open import Workspace

_MOST_COMMITS = 15
_UNKNOWN_KEY = "and upstream has no flag or field of that name (it may come from the command line or another layer)"
_NEEDS = {
    "env": "an environment variable",
    "version": "a version",
    "package": "a package",
    "platform": "the platform",
    "context": "the run's context",
    "attr": "the presence of a name",
    "no attr": "the absence of a name",
}
_A_KIND = {
    TargetKind.DEFINITION: "a definition",
    TargetKind.IMPORTED_NAME: "an imported name",
    TargetKind.MODULE_ASSIGNMENT: "a module assignment",
    TargetKind.ABSENT: "absent",
    TargetKind.EXTERNAL: "external",
    TargetKind.UNKNOWN: "of a kind that cannot be read from the code",
}


def build_shown(workspace: Workspace, opened: OpenedInventory, named: Named) -> Answer:
    """What a patch does, when, where, upstream beside ours, rivals, history, porting plan."""
    inventory, patch = named.inventory, named.patch
    keys = read_keys(workspace, opened, inventory, patch)
    history = _read_history(workspace, opened, patch)
    sections = [
        _build_summary(inventory, patch),
        _build_logic(patch),
        _build_places(workspace, opened, patch, keys),
        *_build_upstream(opened, patch),
        *_build_rivals(inventory, patch),
        _build_history(workspace, history),
        _build_plan(workspace, opened, patch, keys),
    ]
    data: answers.ShownPatch = {
        "schema": "layline.patch/1",
        "commit": workspace.commit,
        "pin": inventory.pin,
        "patch": encode_patch(patch),
        "upstream": _encode_upstream(opened, patch),
        "history": _encode_history(history[1]),
        "inside": {"keys": codec.encode(keys.inner), "limits": codec.encode(keys.limits)},
    }
    opened.upstreams.save()
    return Answer(
        report=Report(
            title=_name(patch),
            sections=tuple(sections),
            meta=(
                ("downstream", f"{workspace.downstream.name} at {workspace.commit}"),
                ("pin", inventory.pin or "unknown"),
            ),
        ),
        data=data,
    )


def _name(patch: Patch) -> str:
    """Its id; without a registration also what it changes."""
    return f"{patch.id}: {describe_logic(patch.effects)}" if is_effect_id(patch.id) else patch.id


def _build_summary(inventory: Inventory, patch: Patch) -> Section:
    told: list[Inline] = [] if is_effect_id(patch.id) else [patch.description or "It has no description."]
    items: list[Inline] = [*told, *_say_when(patch)]
    items += list(say_needs(patch))
    switch = None if is_effect_id(patch.id) else describe_switch(inventory.engine)
    items += [f"Allow-list: {switch}"] if switch else []
    items += [sentence(note) for note in patch.notes]
    return Section(title="What it does and when", blocks=(Bullets(tuple(items)),))


def _say_when(patch: Patch) -> Iterator[str]:
    """Under which condition, and in whose run."""
    if is_effect_id(patch.id) and patch.active:
        by = f"by the function {patch.handler}" if patch.handler else "when its module is imported"
        when = describe_enabling(patch) if find_told(patch.guard.when) != ALWAYS else ""
        yield f"Installed {by}{', whenever that runs' if patch.handler and not when else ''}."
        yield from [f"Applies when: {when}."] if when else []
        return
    if find_told(patch.guard.when) != NEVER:
        yield f"Applies when: {describe_enabling(patch)}."
    yield f"{'Active' if patch.active else 'Never active'}: {patch.active_reason}."


def say_needs(patch: Patch) -> Iterator[str]:
    """What else it depends on; of an effect without a registration all of that stands in its one condition already."""
    for need in patch.guard.other if not is_effect_id(patch.id) else ():
        if need.removeprefix("package:").partition(".")[0].partition(" ")[0] not in sys.stdlib_module_names:
            yield say_need(need)


def say_need(need: str) -> str:
    kind, _, rest = need.partition(":")
    return f"It depends on {_NEEDS[kind]}: {rest}." if kind in _NEEDS else f"It depends on {need}."


def _build_logic(patch: Patch) -> Section:
    rows: list[tuple[Inline, ...]] = []
    for effect in patch.effects:
        what = describe_effect(effect) if effect.target else describe_logic((effect,))
        remark = show_condition(effect.when)
        if remark == show_condition(patch.guard.when):
            remark = ""  # told above
        if effect.anchors:
            remark = f"searches for {'; '.join(repr(anchor) for anchor in effect.anchors)} {remark}".strip()
        rows.append((what, effect.replacement or "", Cell(str(effect.location), code=True), remark))
    columns: tuple[str, ...] = ("Effect", "Replacement", "Installed at", "Further condition")
    if not any(remark for *_, remark in rows):
        columns, rows = columns[:3], [row[:3] for row in rows]
    blocks: list[Block] = [Table(columns=columns, rows=tuple(rows))]
    if patch.guard.written is not None:
        blocks.append(Paragraph(("Guard as written: ", Cell(show_condition(patch.guard.written), code=True))))
    return Section(title="Exact logic", blocks=tuple(blocks))


def _build_places(workspace: Workspace, opened: OpenedInventory, patch: Patch, keys: Keys) -> Section:
    commit, repo = workspace.commit, workspace.downstream.name

    def place(path: str, first: int, last: int) -> Cell:
        if not first:
            return Cell(path, Evidence(repo=repo, commit=commit, path=path), code=True)
        return Cell(f"{path}:{first}", Evidence(repo=repo, commit=commit, path=path, lines=(first, last)), code=True)

    within = f", function {patch.handler}" if patch.handler else ", when the module is imported"
    items: list[Inline] = [("Installer: ", place(patch.file, *patch.handler_lines), within)]
    items.extend(("Implementation: ", place(*found)) for found in _find_implementation(opened, patch))
    for key in list_keys(patch):
        declared = keys.schema.default(key)
        if declared is not None:
            line = declared.location.line
            items.append((f"Config key {key}, default {declared.value}: ", place(declared.location.path, line, line)))
        else:
            known = f"upstream has it at {keys.upstream[key]}" if key in keys.upstream else _UNKNOWN_KEY
            items.append(f"Config key {key}: no YAML of the downstream declares it; {known}")
    for inner in keys.inner:
        declared = keys.schema.default(inner.key)
        default = "" if declared is None else f", default {declared.value} ({declared.location})"
        items.append(f"Config key {inner.key}{default}: {say_read(inner)}")
    return Section(title="Code location", blocks=(Bullets(tuple(items)),))


def _find_implementation(opened: OpenedInventory, patch: Patch) -> Iterator[tuple[str, int, int]]:
    """Each definition of ours that takes the place of something, with its lines; else the file that holds the logic."""
    replacements = opened.replacements
    places = dict.fromkeys(effect.replacement_at for effect in patch.effects if effect.replacement_at is not None)
    for place in places:
        found = replacements.read(place)
        last = (found.node.end_lineno if found is not None else None) or place.line
        yield place.path, place.line, last
    for path in patch.implementation:
        if path not in {place.path for place in places}:
            yield path, 0, 0


def read_keys(workspace: Workspace, opened: OpenedInventory, inventory: Inventory, patch: Patch) -> Keys:
    """The keys of a patch: those the downstream declares, and where upstream has the others."""
    schema = read_schema(opened.tree, workspace.settings.backend(inventory.backend).configs)
    undeclared = [key for key in list_keys(patch) if schema.default(key) is None]
    places = {key: find_upstream_flag(opened, key) for key in undeclared}
    replacements = opened.replacements
    known = {key.rpartition(".")[2] for key in schema.keys}.difference(list_keys(patch))
    read = find_inner_keys(patch, replacements, known)
    inner = tuple(one for one in read if find_upstream_flag(opened, one.key) is None)
    there = {key: place for key, place in places.items() if place is not None}
    return Keys(schema, there, inner, tuple(find_limits(patch, replacements)))


def find_upstream_flag(opened: OpenedInventory, key: str) -> str | None:
    """Where upstream itself has a flag or field of that name."""
    name = key.rpartition(".")[2]
    words = (f'"--{name.replace("_", "-")}"', f"'--{name.replace('_', '-')}'", f"    {name}:", f'"{name}"')
    found = (search.find_first(words) for search in opened.upstreams.searches)
    return next((f"{path}:{line}" for path, line in filter(None, found)), None)


def _build_upstream(opened: OpenedInventory, patch: Patch) -> Iterator[Section]:
    blocks: list[Block] = []
    for effect in _distinct(patch):
        blocks += list(_describe_target(opened, effect))
    if blocks:
        yield Section(title="Upstream at the pin, beside our code", blocks=tuple(blocks))


def _distinct(patch: Patch) -> list[Effect]:
    return list({effect.target: effect for effect in patch.effects if effect.target}.values())


def _find_unread(opened: OpenedInventory, target: str) -> str | None:
    """The configured upstream that a name belongs to, and why it was not read; None where it was."""
    for key, backend in opened.workspace.settings.backends.items():
        if key not in opened.upstreams.pins and longest_root(target, backend.packages):
            found = (one.why for one in opened.upstreams.skipped if one.what == f"upstream {key}")
            return next((f"{key}: {why}" for why in found), None)
    return None


def _describe_target(opened: OpenedInventory, effect: Effect) -> Iterator[Block]:
    symbol = opened.upstreams.resolver.resolve(effect.target or "")
    if effect.target_kind is TargetKind.EXTERNAL:
        unread = _find_unread(opened, effect.target or "")
        why = f" belongs to {unread}" if unread else " is outside the configured upstreams."
        yield Paragraph((Cell(effect.target or "", code=True), why))
        return
    if effect.target_kind is TargetKind.ABSENT:
        words = f" does not exist at the pin{explain_absence(effect)}. {explain_write(effect)}."
        yield Paragraph((Cell(effect.target or "", code=True), words))
        return
    if symbol.definition is None or symbol.module is None:
        yield Paragraph(
            (
                Cell(effect.target or "", code=True),
                f" is {_A_KIND[effect.target_kind]} at the pin{f', of {effect.alias_of}' if effect.alias_of else ''}.",
            )
        )
        return
    where = opened.upstreams.index.evidence(symbol.module, symbol.definition.lines)
    alias = f" (an imported name of {effect.alias_of})" if effect.alias_of else ""
    yield Paragraph(
        (
            Cell(effect.target or "", where, code=True),
            f"{alias}, lines {symbol.definition.lines[0]}–{symbol.definition.lines[1]} of {where.path}",
        )
    )
    theirs = show_signature(symbol.definition)
    ours = _read_ours(opened, effect)
    shown = f"upstream  {theirs}" + (f"\nours      {show_signature(ours)}" if ours else "")
    yield Code(shown, "python")
    differences = list(find_differences(symbol.definition, ours)) if ours else []
    if differences:
        yield Bullets(tuple(differences))
    if symbol.shadowed_by:
        yield Paragraph(
            f"A package binds the submodule's name to {symbol.shadowed_by}: `import … as m` gives that object, "
            "not the module."
        )


def _read_ours(opened: OpenedInventory, effect: Effect) -> Definition | None:
    found = opened.replacements.read(effect.replacement_at)
    return found.definition if found is not None else None


def _encode_upstream(opened: OpenedInventory, patch: Patch) -> list[answers.UpstreamSymbol]:
    rows: list[answers.UpstreamSymbol] = []
    for effect in _distinct(patch):
        symbol = opened.upstreams.resolver.resolve(effect.target or "")
        definition = symbol.definition
        where = (
            opened.upstreams.index.evidence(symbol.module, definition.lines)
            if definition and symbol.module in opened.upstreams.index.entries
            else None
        )
        ours = _read_ours(opened, effect)
        rows.append(
            {
                "target": effect.target,
                "kind": effect.target_kind.value,
                "alias_of": effect.alias_of,
                "signature": show_signature(definition) if definition else None,
                "ours": show_signature(ours) if ours else None,
                "differences": list(find_differences(definition, ours)) if definition and ours else [],
                "evidence": str(where) if where else None,
                "permalink": where.permalink if where else None,
            }
        )
    return rows


def _build_rivals(inventory: Inventory, patch: Patch) -> Iterator[Section]:
    rows = tuple(
        (Cell(target, code=True), "; ".join(f"{other.id} ({other.phase}, {other.priority})" for other in patches))
        for target, patches in find_shared_targets(inventory).items()
        if any(other.id == patch.id for other in patches)
    )
    if rows:
        table = Table(columns=("Target", "Patches in the order they run"), rows=rows)
        yield Section(title="Other patches on the same target", blocks=(table,))


def _read_history(workspace: Workspace, opened: OpenedInventory, patch: Patch) -> tuple[str, list[Commit]]:
    """What changed the function that installs it; outside functions, and where edits moved its lines, its file."""
    lines = _find_function(opened, patch)
    try:
        found = read_line_log(workspace.downstream, workspace.commit, patch.file, lines) if lines else None
        return ("function", list(found)) if found is not None else ("file", _read_file_log(workspace, patch))
    except GitError:
        return "file", _read_file_log(workspace, patch)


def _read_file_log(workspace: Workspace, patch: Patch) -> list[Commit]:
    return list(read_log(workspace.downstream, None, workspace.commit, paths=(patch.file,)))


def _find_function(opened: OpenedInventory, patch: Patch) -> tuple[int, int] | None:
    """The lines of the innermost function around the line that installs, its decorators included."""
    tree = opened.replacements.read_tree(patch.file)
    around = find_chain(tree.body, patch.location.line) if tree is not None else []
    inner = next((one for one in reversed(around) if not isinstance(one, ast.ClassDef)), None)
    if inner is None or inner.end_lineno is None:
        return None if patch.handler_lines[0] == patch.handler_lines[1] else patch.handler_lines
    return min([inner.lineno, *(one.lineno for one in inner.decorator_list)]), inner.end_lineno


def _build_history(workspace: Workspace, history: tuple[str, list[Commit]]) -> Section:
    whose, commits = history
    rows: tuple[tuple[Inline, ...], ...] = tuple(
        (
            commit.date,
            Cell(commit.hash[:12], Evidence(repo=workspace.downstream.name, commit=commit.hash), code=True),
            commit.subject,
        )
        for commit in commits[:_MOST_COMMITS]
    )
    table = Table(
        columns=("Date", "Commit", "Subject"),
        rows=rows,
        more=max(0, len(commits) - _MOST_COMMITS),
        more_where=f"the log of the {whose}",
    )
    return Section(title=f"History of the installer ({whose})", blocks=(table,))


def _encode_history(commits: list[Commit]) -> list[answers.PastCommit]:
    return [{"commit": commit.hash, "date": commit.date, "subject": commit.subject} for commit in commits]


def _build_plan(workspace: Workspace, opened: OpenedInventory, patch: Patch, keys: Keys) -> Section:
    """The plan of `patches port`, without the upstream modules that copy a target (it lists those)."""
    modules = opened.reading.machine.modules
    registers = find_handler_calls(workspace.settings)
    if find_told(patch.guard.when) == NEVER:
        return Section(title="Porting plan", blocks=(Paragraph("There is nothing to port: the patch never runs."),))
    found = follow_patch(patch, modules, registers)
    plan = build_plan(patch, found, modules, keys, None, registers=registers, told=True)
    hint: Inline = (
        Cell(f"layline patches port {patch.id}", code=True),
        " also names upstream modules that keep a copy of the target; ",
        Cell("--to DIR", code=True),
        " writes an installable bundle.",
    )
    judged = (one for one in patch.effects if one.target_kind is not TargetKind.EXTERNAL)
    target = next((effect.target for effect in judged if effect.target), None)
    drift: Inline = (
        Cell(f"layline patches drift --culprits --target {target}", code=True),
        " says what became of it at the tip, and which commit did that.",
    )
    hints = (Paragraph(hint), Paragraph(drift)) if target else (Paragraph(hint),)
    return Section(title=plan.title, blocks=(*plan.blocks, *hints))
