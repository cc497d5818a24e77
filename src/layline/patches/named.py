"""One patch as a user names it: its id, the id of an effect, the upstream name it replaces, the function of ours that
installs or replaces it, or file:line of ours.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from layline.core.condition import ALWAYS, NEVER, ConditionKind, combine, find_told
from layline.core.patch import Effect, Guard, Inventory, Patch, TargetKind, Unregistered
from layline.errors import Error
from layline.patches.guards.show import say_callers, show_condition
from layline.patches.wanted import RULED_OUT

_PLACE = re.compile(r"(?P<path>.+\.\w+):(?P<line>\d+)\Z")
_MOST = 6
_FINDING = "drift-"
"""So begins the id of a finding, which is no id of a patch."""
_SHORT_ID = re.compile(r"e-[0-9a-f]{3,}\Z")
"""The beginning of an effect's id, as git takes the beginning of a hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The patch that was meant; an effect outside any registration is a patch of its own."""

    inventory: Inventory
    patch: Patch
    registered: bool = True

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(effect.id for effect in self.patch.effects)

    @property
    def shown(self) -> str:
        """One line that tells it from others."""
        targets = ", ".join(dict.fromkeys(effect.target for effect in self.patch.effects if effect.target))
        return f"{self.patch.id} ({self.patch.location}{f', {targets}' if targets else ''})"


def find_place(word: str) -> tuple[str, int] | None:
    """Path and line of `file.py:12`."""
    asked = _PLACE.match(word)
    return None if asked is None else (asked["path"].removeprefix("./"), int(asked["line"]))


def find_named(inventories: Iterable[Inventory], word: str) -> Named:
    """What `word` means; the ways of naming are tried from the narrowest to the widest."""
    read = sorted(inventories, key=lambda one: not any(patch.active for patch in one.patches))
    for matches in (_has_id, _begins_id, _is_at, _targets, _targets_end, _stands_inside, _is_ours, _targets_within):
        found = _distinct(_find(read, word, matches))
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(one.shown for one in found[:_MOST])
            more = f"; and {len(found) - _MOST} more" if len(found) > _MOST else ""
            raise Error(f"{word!r} matches {len(found)} patches.", hint=f"Name one by its id: {listed}{more}.")
    raise Error(f"No patch matches {word!r}.", hint=_hint(read, word))


def _hint(inventories: list[Inventory], word: str) -> str:
    listed = "`layline patches list` shows every id, target and place."
    if word.startswith(_FINDING):
        return "That is the id of a finding. Use the `effect` id of the same row. " + listed
    near = _find_beside(inventories, word) or _find_mistyped(inventories, word)
    near = near or _find_function(inventories, word) or _find_part(inventories, word) or find_near(inventories, word)
    return f"Did you mean {near!r}? {listed}" if near else listed


def _find_beside(inventories: list[Inventory], word: str) -> str | None:
    """The place of a patch whose line is nearest, in the same file or in the one whose name is spelled like it."""
    asked = find_place(word)
    if asked is None:
        return None
    path, line = asked
    places = [effect.location for inventory in inventories for effect in inventory.every_effect()]
    found = [place for place in places if place.path == path or place.path.endswith(f"/{path}")]
    alike = difflib.get_close_matches(path, sorted({place.path for place in places}), n=1, cutoff=0.8)
    found = found or [place for place in places if place.path in alike]
    near = min(found, key=lambda place: (abs(place.line - line), place.line), default=None)
    return str(near) if near is not None else None


def _find_mistyped(inventories: list[Inventory], word: str) -> str | None:
    """The one id that differs in one character from what was written as an id."""
    ids = {name for name in find_names(inventories) if _SHORT_ID.match(name)} if word.startswith("e-") else set()
    near = [name for name in ids if len(name) == len(word) and sum(map(str.__ne__, name, word)) == 1]
    return near[0] if len(near) == 1 else None


def find_near(inventories: Iterable[Inventory], word: str) -> str | None:
    """The name that comes closest; a hash that looks alike is another patch."""
    known = [name for name in dict.fromkeys(find_names(inventories)) if not _SHORT_ID.match(name)]
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5) or [name for name in known if word in name][:1]
    return near[0] if near else None


def _find_function(inventories: list[Inventory], word: str) -> str | None:
    """The function of ours that is spelled like it, with as many names before it."""
    parts = word.count(".") + 1
    scopes = (item.within for inventory in inventories for item in inventory.unregistered)
    handlers = (patch.handler for inventory in inventories for patch in inventory.patches if patch.handler)
    known = {".".join(name.split(".")[-parts:]) for name in (*scopes, *handlers)}
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.85)
    return near[0] if near else None


def _find_part(inventories: list[Inventory], word: str) -> str | None:
    """The part of a target, or the first patch in the file, whose name is spelled like it."""
    effects = [effect for inventory in inventories for effect in inventory.every_effect()]
    known = {part: part for effect in effects for part in (effect.target or "").split(".") if part}
    for effect in sorted(effects, key=lambda one: (one.location.path, one.location.line), reverse=True):
        known[PurePosixPath(effect.location.path).stem] = str(effect.location)
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.8)
    return known[near[0]] if near else None


def find_names(inventories: Iterable[Inventory]) -> Iterator[str]:
    """Everything a patch can be called by, ids first."""
    read = list(inventories)
    yield from (patch.id for inventory in read for patch in inventory.patches)
    yield from (item.effect.id for inventory in read for item in inventory.unregistered)
    for inventory in read:
        yield from (effect.target for effect in inventory.every_effect() if effect.target)


Matcher = Callable[[Patch | Unregistered, Effect | None, str], bool]


def _find(inventories: list[Inventory], word: str, matches: Matcher) -> Iterator[Named]:
    for inventory in inventories:
        for patch in inventory.patches:
            if any(matches(patch, effect, word) for effect in patch.effects or (None,)):
                yield Named(inventory=inventory, patch=patch)
        scopes: dict[tuple[str, str], list[Unregistered]] = {}
        for item in inventory.unregistered:
            if matches(item, item.effect, word):
                scopes.setdefault((item.within, item.effect.location.path), []).append(item)
        for items in scopes.values():
            yield Named(inventory=inventory, patch=as_patch(items), registered=False)


def _distinct(found: Iterable[Named]) -> list[Named]:
    """Each once: of two registrations with one id the active one, of two backends the one whose upstream has it."""
    best: dict[str, Named] = {}
    for one in found:
        known = best.get(one.patch.id)
        if known is None or _rank(one) > _rank(known):
            best[one.patch.id] = one
    return list(best.values())


def _rank(one: Named) -> tuple[bool, bool]:
    return one.patch.active, any(effect.target_kind is not TargetKind.EXTERNAL for effect in one.patch.effects)


def _has_id(holder: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    return (isinstance(holder, Patch) and holder.id == word) or (effect is not None and effect.id == word)


def _begins_id(_: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    return effect is not None and _SHORT_ID.match(word) is not None and effect.id.startswith(word)


def _is_at(holder: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    asked = find_place(word)
    if asked is None:
        return False
    places = [effect.location, effect.replacement_at] if effect is not None else []
    places += [holder.location] if isinstance(holder, Patch) else []
    path, line = asked
    return any(
        place is not None and place.line == line and (place.path == path or place.path.endswith(f"/{path}"))
        for place in places
    )


def _targets(_: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    return effect is not None and word in {effect.target, effect.alias_of}


def _targets_end(_: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    return effect is not None and effect.target is not None and effect.target.endswith(f".{word}")


def _targets_within(_: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    """A class or module of upstream that holds what is replaced."""
    return effect is not None and effect.target is not None and f".{word}." in f".{effect.target}"


def _stands_inside(holder: Patch | Unregistered, _: Effect | None, word: str) -> bool:
    return isinstance(holder, Unregistered) and holder.within == word


def _is_ours(holder: Patch | Unregistered, effect: Effect | None, word: str) -> bool:
    """The function or class of ours that installs it, or that is put in place."""
    installer = holder.within if isinstance(holder, Unregistered) else holder.handler
    names = (installer, effect.replacement if effect is not None else None)
    return any(name is not None and f".{name}".endswith(f".{word}") for name in names)


def as_patch(items: list[Unregistered]) -> Patch:
    """Effects outside any registration that stand in one scope, as the patch a reader sees in them."""
    first = items[0]
    _, scope = split_scope(first.within, first.effect.location.path)
    asked = tuple(item.effect.when for item in items if item.effect.when and show_condition(item.effect.when))
    callers = tuple(dict.fromkeys(place for item in items for place in item.called_from))
    line = first.effect.location.line
    when = combine(ConditionKind.ANY, asked) if asked else ALWAYS
    is_off = find_told(when) == NEVER
    runs = f"it applies when {scope} runs" if scope else "it applies when the module is imported"
    return Patch(
        id=first.effect.id,
        backend=None,
        phase=None,
        priority=None,
        location=first.effect.location,
        handler=scope,
        handler_lines=(line, line),
        active=not is_off,
        active_reason=RULED_OUT if is_off else runs,
        guard=Guard(when=when),
        effects=tuple(item.effect for item in items),
        implementation=tuple(
            dict.fromkeys(item.effect.replacement_at.path for item in items if item.effect.replacement_at)
        ),
        notes=tuple(say_callers(callers, unknown=any(item.unknown_callers for item in items))),
    )


def split_scope(within: str, path: str) -> tuple[str, str]:
    """The module of a dotted scope, and what is left: `own.a`, `install` of `own.a.install` in `src/own/a.py`."""
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    for start in range(len(parts)):
        module = ".".join(parts[start:])
        if within == module or within.startswith(f"{module}."):
            return module, within[len(module) + 1 :]
    return within, ""
