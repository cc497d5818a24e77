"""The inventory as lines for a terminal: warnings first, then one line for each effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.condition import NEVER, lacks
from layline.core.evidence import Severity
from layline.core.listing import Diagnostic, Group, Listing
from layline.core.patch import AS_IT_WAS, Holder, Style, TargetKind
from layline.core.prose import count, verb
from layline.patches.guards.show import show_condition, show_short
from layline.patches.report import describe_change, describe_closing, find_shared_targets, is_on_object
from layline.patches.wanted import (
    ALL,
    DEAD,
    NEVER_ACTIVE,
    RULED_OUT,
    Wanted,
    find_warnings,
    is_absent,
    is_dead,
    say_rewriters,
)
from layline.source.names import find_target, is_on, longest_root

if TYPE_CHECKING:
    from layline.core.patch import Effect, Inventory, Patch

_LONGEST = 160
"""A condition is shown up to here; the JSON and `patches show` tell the whole."""
_SHORT = 70
"""The same on a terminal."""
_MOST = 5
"""Other packages that the head line names, those with most patches first."""
_NEXT = "`layline patches show ID` shows one patch in full, `patches port` plans how to reuse it elsewhere, `-o FILE` saves this list."
_ORDER = _UPSTREAM, _UNNAMED, _SETTING, _OTHER = "upstream", "unnamed", "setting", "other"


def build_listing(
    inventory: Inventory,
    repository: str,
    label: str,
    *,
    of: Inventory | None = None,
    packages: tuple[str, ...] = (),
    foreign: tuple[str, ...] = (),
    wanted: Wanted = ALL,
) -> Listing:
    """`of` is the inventory before effects that are not `wanted` were filtered out; `packages` belong to the backend,
    `foreign` to others.
    """
    whole, roots = of or inventory, _Roots(packages, foreign, inventory.pin is not None)
    rows: list[tuple[Effect, Patch | None]] = [
        (effect, patch) for patch in inventory.patches for effect in patch.effects
    ]
    rows += [(item.effect, None) for item in inventory.unregistered]
    warned = [row for row in rows if any(find_warnings(*row))]
    plain = [row for row in rows if not any(find_warnings(*row))]

    def order(row: tuple[Effect, Patch | None]) -> tuple[int, str, int, str]:
        return _ORDER.index(_find_part(row[0], roots)), *_by_place(row)  # what was asked for comes first

    groups = [
        Group(items=(*(_warn(*row) for row in sorted(warned, key=order)),)),
        Group(
            items=(*(_tell(*row) for row in sorted(plain, key=order)), *map(_tell_empty, _without_effects(inventory)))
        ),
        *_find_shared(inventory),
        Group(lines=(*describe_closing(inventory), *_say_next(rows, roots))),
    ]
    return Listing(
        title=f"{label}: {_count(whole, label, roots)}{_say_shown(len(rows), whole)}",
        meta=(
            *(_say_unmatched(whole, wanted) if not rows else ()),
            _name_commits(inventory, repository, label),
            *_say_counts(whole, roots),
            *_say_absent([effect for effect, _ in rows if _find_part(effect, roots) == _UPSTREAM]),
            *say_rewriters(inventory.skipped),
        ),
        groups=tuple(group for group in groups if group.items or group.lines),
        skipped=inventory.skipped,
    )


@dataclass(frozen=True, slots=True)
class _Roots:
    """Packages of the backend, and of the other backends."""

    own: tuple[str, ...]
    foreign: tuple[str, ...]
    read: bool
    """Whether the objects of the backend are here."""


def _say_next(rows: list[tuple[Effect, Patch | None]], roots: _Roots) -> Iterator[str]:
    if rows:
        yield _NEXT
    if roots.own and any(_find_part(effect, roots) == _OTHER for effect, _ in rows):
        yield f"`--target {roots.own[0]}` leaves out effects on other packages."
    yield from _say_help([effect for effect, _ in rows if _find_part(effect, roots) == _UNNAMED])


def _say_help(effects: list[Effect]) -> Iterator[str]:
    """What is done with effects whose target has no name, and what gives one to the most frequent kind of them."""
    objects = [one for one in effects if one.holder is Holder.OBJECT and one.reached]
    if not objects:
        return
    first, number = objects[0], len(objects)
    some = "They change" if number == len(effects) else f"{number} of them {verb(number, 'changes')}"
    which = "It changes" if len(effects) == 1 else some
    them = "The effect" if len(effects) == 1 else f"The {len(effects)} effects"
    yield f"{them} whose target cannot be named {verb(len(effects), 'is')} listed here, but `patches drift` cannot compare {'it' if len(effects) == 1 else 'them'}."
    yield (
        f"{which} an object whose exact class cannot be read from the code, e.g. `{first.reached}` at {first.location}. An "
        "annotation with the object's own class, or an `isinstance` check before the line, gives the target its name."
    )


def _say_absent(effects: list[Effect]) -> Iterator[str]:
    """Effects on missing names, as `patches drift` counts them: what it knows of the rest is not known here."""
    absent = list(filter(is_absent, effects))
    dead = sum(map(is_dead, absent))
    rest = len(absent) - dead
    if not rest:
        return
    number = len(absent)
    first = f"{dead} of them {verb(dead, 'is')} dead. " if dead else ""
    left = "the others" if dead and rest > 1 else "the other one" if dead else "they" if rest > 1 else "it"
    either = "are dead or add names of our own" if rest > 1 else "is dead or adds a name of our own"
    yield (
        f"{count(number, 'effect')} {'has' if number == 1 else 'have'} a target that the pin does not have. {first}"
        f"`patches drift` says whether {left} {either}."
    )


def _say_shown(shown: int, whole: Inventory) -> str:
    total = sum(1 for _ in whole.every_effect())
    return "" if shown == total else f" {shown} of {total} effects {verb(shown, 'is')} shown."


def _say_unmatched(whole: Inventory, wanted: Wanted) -> Iterator[str]:
    effects = list(whole.every_effect())
    if effects and not wanted.is_open:
        paths, targets = (one.location.path for one in effects), (one.target for one in effects if one.target)
        from layline.patches.unmatched import say_unmatched  # a kept list does not pay for it

        yield from say_unmatched(wanted, paths, targets, lambda only: any(map(only.keeps, effects)))


def _by_place(row: tuple[Effect, Patch | None]) -> tuple[str, int, str]:
    return row[0].location.path, row[0].location.line, row[0].target or ""


def _without_effects(inventory: Inventory) -> list[Patch]:
    return [patch for patch in inventory.patches if not patch.effects]


def _count(inventory: Inventory, label: str, roots: _Roots) -> str:
    """How many there are, in parts that add up."""
    effects = list(inventory.every_effect())
    parts = _say_parts(effects, f"on {label}" if inventory.pin or roots.own else "on named targets", roots)
    stray = inventory.unregistered
    if not inventory.patches:
        is_elsewhere = inventory.pin is not None and not any(_find_part(one, roots) == _UPSTREAM for one in effects)
        none = f"none on {label}, " if is_elsewhere else ""
        told = f"{count(len(stray), 'monkey patch')}{_say_lines(effects)}"
        return f"{told}: {none}{parts}." if stray else f"{told}."
    held = sum(len(patch.effects) for patch in inventory.patches)
    outside = f", and {count(len(stray), 'effect')} outside any registration" if stray else ""
    off = sum(not patch.active for patch in inventory.patches)
    never = f"; {count(off, 'patch')} {verb(off, 'is')} never active" if off else ""
    told = f" The effects: {parts}." if effects else ""
    return f"{count(len(inventory.patches), 'patch')} with {count(held, 'effect')}{outside}{never}.{told}"


def _say_counts(inventory: Inventory, roots: _Roots) -> Iterator[str]:
    """What a patch is here, whose the others are, and what overlaps with the parts of the first line."""
    effects = list(inventory.every_effect())
    if inventory.unregistered and not inventory.patches:
        yield "This project has no patch registry: each name that a line of ours changes counts as one patch."
    others = _count_packages(effects, roots)
    if others:
        yield f"Other packages: {', '.join(others)}."
    yield from _say_overlaps(effects, roots)


def _count_packages(effects: list[Effect], roots: _Roots) -> list[str]:
    """The other packages with their numbers, the most changed first."""
    rest = [one for one in effects if not _is_aside(one, roots) and _find_part(one, roots) == _OTHER]
    others = Counter(_find_package(find_target(one), roots.own) for one in rest)
    known = [(name, number) for name, number in others.most_common() if name]
    largest = known if len(known) == _MOST + 1 else known[:_MOST]  # one more is as short as "others"
    left = others.total() - sum(number for _name, number in largest)
    return [f"{name} ({number})" for name, number in (*largest, *([("others", left)] if largest and left else []))]


def _is_aside(effect: Effect, roots: _Roots) -> bool:
    """It is only made where the backend is not installed."""
    return any(lacks(effect.when, name) for name in roots.own)


def _say_lines(effects: list[Effect]) -> str:
    """One line may change several classes; each is a patch."""
    lines = len({effect.location for effect in effects})
    return f" on {count(lines, 'line')}" if lines < len(effects) else ""


def _say_parts(effects: list[Effect], named: str, roots: _Roots) -> str:
    """What they change; each effect counts once."""
    aside = sum(_is_aside(effect, roots) for effect in effects)
    kinds = Counter(_find_part(effect, roots) for effect in effects if not _is_aside(effect, roots))
    words = {
        _UPSTREAM: named,
        _OTHER: "on other packages",
        _SETTING: "on config keys or environment variables",
        _UNNAMED: "on targets that cannot be named without running the code",
    }
    told = [f"{kinds[kind]} {said}" for kind, said in words.items() if kinds[kind]]
    apart = f"{aside} only where {roots.own[0]} is not installed" if aside else ""
    return ", ".join([*told[:1], *([apart] if apart else []), *told[1:]])


def _find_package(target: str | None, packages: tuple[str, ...]) -> str:
    """The package of a name; beside a package of the backend (`up.core`) the part that is not the backend's."""
    first, *rest = (target or "").split(".")
    beside = any(name.partition(".")[0] == first for name in packages)
    return ".".join((first, *rest[:1])) if beside else first


def _find_part(effect: Effect, roots: _Roots) -> str:
    named = is_on(effect, roots.own, roots.foreign)
    if named is not None:
        # where the objects of the backend are not here, nothing is known of its names
        is_unread = not roots.read and longest_root(find_target(effect) or "", roots.own) > 0
        return _UPSTREAM if named or is_unread else _OTHER
    return _SETTING if effect.mutates else _UNNAMED


def _say_overlaps(effects: list[Effect], roots: _Roots) -> Iterator[str]:
    single, unsure = sum(map(is_on_object, effects)), sum(not effect.certain for effect in effects)
    if len(effects) == 1:
        said = ["set on a single object"] * single + ["uncertain"] * unsure
        if said:
            yield f"It is {' and '.join(said)}."
        return
    if single:
        yield (
            f"{single} of the {len(effects)} "
            f"{'changes a single object' if single == 1 else 'change single objects'}, not a class or a module."
        )
    if unsure and _are_same(effects, roots):
        which = (
            f"The {'one' if unsure == 1 else unsure} that cannot be named {verb(unsure, 'is')} called uncertain below"
        )
        yield f"{which}."
    elif unsure:
        yield f"{unsure} of the {len(effects)} {verb(unsure, 'is')} marked (uncertain): the code does not tell everything."


def _are_same(effects: list[Effect], roots: _Roots) -> bool:
    """Whether what is uncertain is exactly what cannot be named."""
    return all((not effect.certain) == (_find_part(effect, roots) == _UNNAMED) for effect in effects)


def _name_commits(inventory: Inventory, repository: str, label: str) -> str:
    pin = f", over {label} {inventory.pin[:12]} (the pin)" if inventory.pin else ""
    return f"{repository} at {inventory.commit[:12]}{pin}"


def _tell(effect: Effect, patch: Patch | None) -> Diagnostic:
    return Diagnostic(
        location=effect.location,
        message=_say(effect, patch),
        tail=_condition(effect, patch),
        short=_condition_short(effect, patch),
    )


def _say(effect: Effect, patch: Patch | None) -> str:
    owner = f"{patch.id} " if patch is not None else ""
    doubt = "" if effect.certain else " (uncertain)"
    absent = " (absent at the pin)" if effect.target_kind is TargetKind.ABSENT else ""
    # of one that has no name the reason says it
    helper = f"; written by a helper at {effect.helper}" if effect.helper is not None and effect.target else ""
    return f"{owner}{_describe(effect)}{absent}{helper}{doubt} [{effect.id}]"


def _describe(effect: Effect) -> str:
    if effect.target or not effect.mutates or effect.holder is Holder.REGISTRY:
        return describe_change(effect)
    if effect.holder is Holder.IMPORTS:
        return f"adds the import hook {effect.replacement} to {effect.mutates[0]}"
    names = ", ".join(name.removeprefix("env:") for name in effect.mutates)
    what = "the environment variable" if effect.style is Style.ENV_LIFECYCLE else "the config key"
    return f"sets {what}{'s' if len(effect.mutates) > 1 else ''} {names}"


def _condition(effect: Effect, patch: Patch | None) -> str:
    both, is_whole = show_short(effect, patch, _LONGEST)
    if both == show_condition(NEVER):
        return "but never runs"
    if not is_whole:
        both = f"{both} (`patches show {patch.id if patch is not None else effect.id}` shows more)"
    rest = (
        "; otherwise it is left as it was"
        if effect.otherwise == AS_IT_WAS
        else f"; otherwise it is set to {effect.otherwise}"
    )
    return f"when {both}{rest if effect.otherwise else ''}" if both else ""


def _condition_short(effect: Effect, patch: Patch | None) -> str:
    """For a terminal: what is asked nearest to the line, and how many conditions more there are."""
    told, _ = show_short(effect, patch, _SHORT)
    return f"when {told}" if told else ""


def _warn(effect: Effect, patch: Patch | None) -> Diagnostic:
    if DEAD in find_warnings(effect, patch):
        return _warn_dead(effect, patch)
    reason = patch.active_reason if patch is not None and not patch.active else RULED_OUT
    return Diagnostic(
        location=effect.location,
        severity=Severity.LOOK,
        code=NEVER_ACTIVE,
        message=_say(effect, patch),
        tail=_condition(effect, patch),
        short=_condition_short(effect, patch),
        details=(("why", reason),),
    )


def _warn_dead(effect: Effect, patch: Patch | None) -> Diagnostic:
    owner = patch.id if patch is not None else "this"
    hint = f". Did you mean {effect.suggestion}?" if effect.suggestion else ""
    details = [("id", effect.id)]
    if effect.removal is not None:
        details.append(("history", str(effect.removal)))
    return Diagnostic(
        location=effect.location,
        severity=Severity.LOOK,
        code=DEAD,
        message=f"dead patch: {owner} assigns {effect.target}, which does not exist at the pin{hint}",
        details=tuple(details),
    )


def _tell_empty(patch: Patch) -> Diagnostic:
    off = "" if patch.active else f"; never active: {patch.active_reason}"
    message = f"{patch.id} changes nothing that can be read from its code{off}"
    severity = Severity.OK if patch.active else Severity.LOOK
    return Diagnostic(
        location=patch.location, message=message, severity=severity, code="" if patch.active else NEVER_ACTIVE
    )


def _find_shared(inventory: Inventory) -> Iterator[Group]:
    shared = find_shared_targets(inventory)
    if shared:
        lines = (
            f"{target}: {', then '.join(f'{one.id} ({one.phase}, {one.priority})' for one in patches)}"
            for target, patches in shared.items()
        )
        title = f"{count(len(shared), 'target')} changed by several patches, in the order they run (phase, priority)"
        yield Group(title=title, lines=tuple(lines))
