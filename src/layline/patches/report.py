"""The inventory in reading order: one table per folder, fixed columns, the switch at the end."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from layline.core.evidence import Alert, Evidence, Severity
from layline.core.patch import Holder, Moment, Style, TargetKind
from layline.core.prose import count
from layline.core.report import Bullets, Cell, Paragraph, Report, Section, Table
from layline.patches.guards.show import say_callers, show_condition, show_guard
from layline.patches.wanted import DELETED, asks_first, is_addition, is_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from layline.core.patch import Effect, Engine, Inventory, Patch, Unregistered
    from layline.core.report import Inline

COLUMNS = ("Patch", "What it does", "Patch logic (upstream symbol replaced/wrapped)", "Code location", "How to enable")
_VERBS = {
    Style.BINDING_REPLACEMENT: "replaces",
    Style.FUNCTION_WRAPPING: "wraps",
    Style.SOURCE_REWRITE: "rewrites the source of",
}
_ENTRY_VERBS = {Style.BINDING_REPLACEMENT: "sets", Style.FUNCTION_WRAPPING: "wraps"}
_MOMENTS = {
    Moment.DEFERRED: " (when it runs)",
    Moment.TRANSIENT: " (temporary)",
    Moment.INSTALL: "",
}
_NOT_APPLICABLE = {
    Style.CONFIG_REWRITE: "rewrites args",
    Style.ENV_LIFECYCLE: "sets env",
}


def build_report(inventory: Inventory, repository: str, label: str, *, of: int | None = None) -> Report:
    """`of` is the number of patches before some were filtered out."""
    groups = group_patches(inventory.patches)
    sections = [_build_group(name, patches, inventory, repository) for name, patches in groups.items()]
    shared = find_shared_targets(inventory)
    if shared:
        sections.append(_build_shared(shared))
    sections.extend(_build_all_unregistered(inventory, repository))
    closing = tuple(describe_closing(inventory))
    if closing:
        sections.append(Section(title="How patches are switched", blocks=(Bullets(closing),)))
    return Report(
        title=f"{label}: {_count(inventory, len(inventory.patches) if of is None else of)}",
        sections=tuple(sections),
        alerts=tuple(find_alerts(inventory, repository)),
        skipped=inventory.skipped,
        meta=tuple(_describe(inventory, repository)),
    )


def _count(inventory: Inventory, of: int) -> str:
    """The first line: registered patches, and what is done outside any registration."""
    shown, stray = len(inventory.patches), len(inventory.unregistered)
    if not of and stray:
        return f"no registry; {count(stray, 'effect')}: plain assignments, wrappers and helpers"
    counted = count(shown, "patch") if shown == of else f"{shown} of {count(of, 'patch')}"
    return counted + (f", and {count(stray, 'effect')} outside any registration" if stray else "")


def _describe(inventory: Inventory, repository: str) -> Iterator[tuple[str, str]]:
    yield "downstream", f"{repository} at {inventory.commit}"
    if inventory.pin:
        yield "pin", inventory.pin
    off = sum(not patch.active for patch in inventory.patches)
    effects = [effect for patch in inventory.patches for effect in patch.effects]
    unsure = sum(not effect.certain for effect in effects)
    yield (
        "patches",
        f"{len(inventory.patches)} ({off} never active), {count(len(effects), 'effect')}, {unsure} uncertain",
    )
    if inventory.unregistered:
        doubtful = sum(not item.effect.certain for item in inventory.unregistered)
        single = sum(is_on_object(item.effect) for item in inventory.unregistered)
        more = f", {single} on single objects" if single else ""
        yield (
            "outside",
            f"{count(len(inventory.unregistered), 'effect')} outside any registration, {doubtful} uncertain{more}",
        )


def group_patches(patches: Iterable[Patch]) -> dict[str, list[Patch]]:
    """Patches by the subfolder they stand in, folders as they exist."""
    ordered = sorted(patches, key=lambda patch: (patch.file, patch.line))
    folders = [posixpath.dirname(patch.file) for patch in ordered]
    base = posixpath.commonpath(folders) if folders else ""
    groups: dict[str, list[Patch]] = {}
    for patch, folder in zip(ordered, folders, strict=True):
        groups.setdefault(posixpath.relpath(folder, base) if folder != base else ".", []).append(patch)
    return groups


def _build_group(name: str, patches: list[Patch], inventory: Inventory, repository: str) -> Section:
    rows = tuple(_build_row(patch, inventory, repository) for patch in patches)
    title = f"{name} ({len(patches)})" if name != "." else f"top folder ({len(patches)})"
    return Section(title=title, blocks=(Table(columns=COLUMNS, rows=rows),))


def _build_row(patch: Patch, inventory: Inventory, repository: str) -> tuple[Inline, ...]:
    place = Evidence(repo=repository, commit=inventory.commit, path=patch.file, lines=(patch.line, patch.line))
    return (
        Cell(patch.id, code=True),
        patch.description,
        describe_logic(patch.effects),
        Cell(str(patch.location), place, code=True),
        describe_enabling(patch),
    )


def describe_logic(effects: tuple[Effect, ...]) -> str:
    """Which symbols or objects, and how; `N/A (…)` where none is replaced."""
    words = [
        f"{describe_effect(effect)}{_name_ours(effect)}" for effect in effects if effect.target or _is_told(effect)
    ]
    if words:
        return "; ".join(dict.fromkeys(words))
    kinds = dict.fromkeys(_NOT_APPLICABLE.get(effect.style, "lifecycle hook") for effect in effects)
    keys = dict.fromkeys(key for effect in effects for key in effect.mutates)
    shown = f": {', '.join(keys)}" if keys else ""
    return f"N/A ({' / '.join(kinds) or 'lifecycle hook'}){shown}"


def _is_told(effect: Effect) -> bool:
    """True where a sentence says what is changed although no symbol names it."""
    return effect.told and not effect.certain and bool(effect.reason)


def _name_ours(effect: Effect) -> str:
    """What takes the place, and where it stands."""
    places = effect.replacements_at or ((effect.replacement_at,) if effect.replacement_at is not None else ())
    return f" → {effect.replacement} ({', '.join(map(str, places))})" if places else ""


def describe_effect(effect: Effect) -> str:
    shown = describe_change(effect)
    if effect.target_kind is TargetKind.ABSENT:
        shown += " [absent at the pin]"
    return shown if effect.certain or effect.target is None else f"{shown} [uncertain: {effect.reason}]"


def describe_enabling(patch: Patch) -> str:
    """When a patch is on, in one line."""
    words = [show_guard(patch.guard)]
    if patch.version_patterns:
        words.append(f"versions {', '.join(map(str, patch.version_patterns))}")
    if patch.body_keys:
        words.append(f"the handler returns early depending on {', '.join(patch.body_keys)}")
    if patch.phase is not None or patch.priority is not None:
        words.append(
            f"phase {patch.phase or 'any'}, priority {patch.priority if patch.priority is not None else 'default'}"
        )
    shown = "; ".join(words)
    return shown if patch.active else f"NEVER ACTIVE ({patch.active_reason}); {shown}"


def find_alerts(inventory: Inventory, repository: str) -> Iterator[Alert]:
    """What a maintainer wants to hear first."""
    for patch in inventory.patches:
        place = Evidence(repo=repository, commit=inventory.commit, path=patch.file, lines=(patch.line, patch.line))
        if not patch.active:
            yield Alert(
                severity=Severity.LOOK,
                message=f"{patch.id} ({patch.location}): {patch.active_reason}",
                evidence=(place,),
            )
        for effect in patch.effects:
            if effect.target_kind is TargetKind.ABSENT and (
                effect.suggestion or (effect.removal and effect.removal.commit)
            ):
                yield Alert(
                    severity=Severity.LOOK,
                    message=f"dead patch: {patch.id} assigns {effect.target}, which does not exist at the "
                    f"pin{explain_absence(effect)} ({effect.location})",
                    evidence=(place,),
                )


def explain_absence(effect: Effect) -> str:
    """Removed, never there, or misspelled: what is known of an absent target."""
    words = [str(effect.removal)] if effect.removal is not None else []
    if effect.suggestion:
        words.append(f"did you mean {effect.suggestion}?")
    return "; " + "; ".join(words) if words else ""


def explain_write(effect: Effect) -> str:
    """What a write to an absent target does."""
    if effect.raises:
        return "Patching a name that is missing raises AttributeError when this line runs"
    if asks_first(effect):
        return "Our code tests for what it needs first (see “Applies when”)"
    return "The write creates the name; it replaces nothing"


def find_shared_targets(inventory: Inventory) -> dict[str, list[Patch]]:
    """Targets that several active patches change, in the order they run."""
    owners: dict[str, list[Patch]] = {}
    for patch in inventory.patches:
        for effect in patch.effects:
            if effect.target and effect.moment is Moment.INSTALL and patch.active:
                known = owners.setdefault(effect.target, [])
                if patch not in known:
                    known.append(patch)
    phases = list(inventory.engine.phases)
    return {
        target: sorted(
            patches,
            key=lambda patch: (
                phases.index(patch.phase) if patch.phase in phases else len(phases),
                patch.priority or 0,
            ),
        )
        for target, patches in sorted(owners.items())
        if len(patches) > 1
    }


def _build_shared(shared: dict[str, list[Patch]]) -> Section:
    rows = tuple(
        (Cell(target, code=True), "; ".join(f"{patch.id} ({patch.phase}, {patch.priority})" for patch in patches))
        for target, patches in shared.items()
    )
    table = Table(columns=("Target", "Patches in the order they run (phase, priority)"), rows=rows)
    return Section(title=f"Several patches on one target ({len(rows)})", blocks=(table,))


def is_on_object(effect: Effect) -> bool:
    """Set on single objects when they are there, not on a class or module for everyone."""
    return effect.holder is Holder.OBJECT


def _build_all_unregistered(inventory: Inventory, repository: str) -> Iterator[Section]:
    """What is changed for everyone, and apart what is put on single objects, which are often many."""
    shared = [item for item in inventory.unregistered if not is_on_object(item.effect)]
    single = [item for item in inventory.unregistered if is_on_object(item.effect)]
    if shared:
        intro = "Changes of upstream made outside any registration."
        yield _build_unregistered("Unregistered", intro, shared, (inventory.commit, repository))
    if single:
        intro = "Methods put on single objects; the class is named where a test or a constructor tells it."
        yield _build_unregistered("On single objects", intro, single, (inventory.commit, repository))


def _build_unregistered(title: str, intro: str, items: list[Unregistered], at: tuple[str, str]) -> Section:
    commit, repository = at
    rows: list[tuple[Inline, ...]] = []
    for item in items:
        effect = item.effect
        place = Evidence(
            repo=repository,
            commit=commit,
            path=effect.location.path,
            lines=(effect.location.line, effect.location.line),
        )
        rows.append(
            (
                Cell(item.within, code=True),
                _describe_change(effect),
                effect.replacement or "",
                Cell(str(effect.location), place, code=True),
                show_condition(effect.when)
                or "".join(say_callers(item.called_from[:3], unknown=bool(item.unknown_callers))),
            )
        )
    columns = ("Inside", "What it changes", "Replacement", "Code location", "When")
    return Section(title=f"{title} ({len(rows)})", blocks=(Paragraph(intro), Table(columns=columns, rows=tuple(rows))))


def _describe_change(effect: Effect) -> str:
    if effect.target:
        return describe_effect(effect)
    return describe_change(effect)


def describe_change(effect: Effect) -> str:
    """What an effect does in a few words: verb and target; what it sets, or why nothing is known, where it has none."""
    if effect.target:
        return f"{_say_change(effect, effect.target)}{_MOMENTS[effect.moment]}"
    if effect.holder is Holder.REGISTRY and effect.mutates:
        return f"registers {effect.replacement} by {effect.mutates[0]}{_MOMENTS[effect.moment]}"
    if effect.certain or not effect.reason:
        return describe_logic((effect,))
    return f"{effect.reason}{_MOMENTS[effect.moment]}"


def _say_change(effect: Effect, target: str) -> str:
    """Verb and target: an entry of a table is set in it, a plain value is no replacement of code."""
    owner, _, name = target.rpartition(".")
    entry = next((text for text in effect.mutates if text.startswith(f"{name}[")), None)
    if entry is not None and effect.style in _ENTRY_VERBS:
        return f"{'removes' if effect.replacement == DELETED else _ENTRY_VERBS[effect.style]} {owner}.{entry}"
    if effect.replacement == DELETED:
        return f"deletes {target}"
    if is_state(effect):
        made = _say_object(effect) if effect.holder is Holder.STAND_IN else ""
        return f"sets {target} to {effect.replacement}{made}"
    verb = "adds" if is_addition(effect) else _VERBS.get(effect.style, "changes")
    if effect.may_be_of is not None and effect.style is Style.BINDING_REPLACEMENT:
        verb = "sets"
    return f"{verb} {target}{_say_object(effect)}"


def _say_object(effect: Effect) -> str:
    if effect.holder is Holder.STAND_IN:
        return " in a stand-in module of our own"
    if effect.holder is not Holder.OBJECT:
        return ""
    return f" on one object ({effect.reached})" if effect.reached else " on one object"


def describe_switch(engine: Engine) -> str | None:
    """The variable that allows patches by id; None where the engine has none."""
    if not engine.switch:
        return None
    return (
        f"{engine.switch} = {engine.switch_text} selects patches by id; each patch's own condition must hold as well "
        f"({engine.switch_at})."
    )


def describe_closing(inventory: Inventory) -> Iterator[str]:
    """How the engine switches patches, in sentences."""
    engine = inventory.engine
    switch = describe_switch(engine)
    if switch:
        yield switch
    if engine.phases:
        yield f"Phases of this project's patches: {', '.join(engine.phases)} ({engine.phases_at})."
