"""A patch inventory (`layline.patches/1`) and its drift (`layline.drift/1`) as a page shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from layline.core.drift import DriftKind
from layline.core.evidence import Evidence
from layline.core.report import Cell
from layline.render.inline import link_of

_ORDER = {"breaks": 0, "look": 1, "ok": 2, "": 3}
_DEAD = DriftKind.DEAD_AT_PIN.value
_WORDS = {"breaks": "error", "look": "warning", "ok": "ok"}
"""Severities as people read them; the data files keep their own words."""
_TOLD = frozenset({"moved", "renamed"})
"""Kinds whose detail already names the new place."""
_TONES = {"breaks": "bad", "look": "plan", "ok": "good", "": "none"}
_LOCATION = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?:-\d+)?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectView:
    """One thing a patch does, with what became of its target."""

    style: str
    target: str
    replacement: str
    mutates: tuple[str, ...]
    location: str
    link: str | None
    doubt: str
    """Why it is not certain; empty where it is."""
    moment: str
    drift: str
    severity: str
    detail: str
    suggestion: str
    culprit: str
    culprit_link: str | None = None

    @property
    def tone(self) -> str:
        return _TONES.get(self.severity, "none")

    @property
    def consequence(self) -> str:
        """What an upgrade does to it, in one phrase: never a red `unchanged`."""
        if self.severity == "breaks" and self.drift in {"unchanged", "body-changed"}:
            return "replacement no longer fits"
        return self.drift.replace("-", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchView:
    anchor: str
    id: str
    description: str
    phase: str
    priority: str
    active: str
    guard: str
    keys: tuple[str, ...]
    location: str
    link: str | None
    effects: tuple[EffectView, ...]
    notes: tuple[str, ...]

    @property
    def styles(self) -> tuple[str, ...]:
        return tuple(sorted({effect.style for effect in self.effects}))

    @property
    def severity(self) -> str:
        return min((effect.severity for effect in self.effects), key=lambda item: _ORDER.get(item, 3), default="")

    @property
    def tone(self) -> str:
        return _TONES.get(self.severity, "none")

    @property
    def consequences(self) -> tuple[str, ...]:
        """Phrases of the effects that decide its severity."""
        return tuple(
            sorted({effect.consequence for effect in self.effects if effect.drift and effect.severity == self.severity})
        )

    @property
    def word(self) -> str:
        return _WORDS.get(self.severity, "not compared")

    @property
    def order(self) -> int:
        return _ORDER.get(self.severity, 3)

    @property
    def text(self) -> str:
        """What the site's search looks at."""
        targets = " ".join(f"{effect.target} {effect.replacement}" for effect in self.effects)
        return " ".join((self.id, self.description, self.guard, *self.keys, targets, self.location))

    @property
    def unseen(self) -> str:
        """What the page's own search looks at besides the words of its row."""
        return " ".join(key for key in self.keys if key not in self.guard)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    label: str
    name: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InventoryView:
    commit: str
    commit_link: str | None
    rows: tuple[PatchView, ...]
    unregistered: tuple[EffectView, ...]
    skipped: tuple[str, ...]
    pin: str
    tip: str
    worst: tuple[str, ...] = ()
    """What drift says of each place, by the worst of its rows, as the answer of `patches drift` counts them."""

    @property
    def places(self) -> int:
        """Places of ours (file and line) where something of the upstream is patched, and compared where drift is told."""
        effects = [*(effect for row in self.rows for effect in row.effects), *self.unregistered]
        return len(self.worst) if self.has_drift else len({effect.location for effect in effects})

    @property
    def broken(self) -> int:
        """Places whose patch breaks at the tip."""
        return self.worst.count("breaks")

    @property
    def dead(self) -> int:
        """Places that do nothing today already."""
        return self.worst.count(_DEAD)

    @property
    def doubtful(self) -> int:
        """The other places that need a look."""
        return self.worst.count("look")

    @property
    def has_drift(self) -> bool:
        return bool(self.tip)


def view_inventory(
    inventory: Mapping[str, Any],
    drift: Mapping[str, Any] | None,
    repository: str | None,
    upstream: str | None = None,
) -> InventoryView:
    """Lenient in what it shows: a field that is missing is blank, never an error."""
    commit = _text(inventory.get("commit"))
    repo = repository or "downstream"
    found = _drift_rows(drift, upstream)
    taken: set[str] = set()
    listed = tuple(_view_patch(item, found, repo, commit, taken) for item in _objects(inventory.get("patches")))
    rows = tuple(sorted(listed, key=lambda row: row.order)) if drift else listed
    loose = (
        _effects(item, found.get(_text(item.get("within")), []), repo, commit)
        for item in _objects(inventory.get("unregistered"))
    )
    return InventoryView(
        commit=commit,
        commit_link=Evidence(repo=repo, commit=commit).permalink if commit else None,
        rows=rows,
        unregistered=tuple(effect for effects in loose for effect in effects),
        skipped=tuple(_tell_skipped(item) for item in _list(inventory.get("skipped"))),
        pin=_commit(drift, "pin"),
        tip=_commit(drift, "tip"),
        worst=tuple(_find_worst(_objects(drift.get("rows")) if drift else [])),
    )


def _find_worst(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The worst of each place: `breaks`, then what does nothing today, `look`, `ok`."""
    order = ("breaks", _DEAD, "look", "ok")
    found: dict[str, int] = {}
    for row in rows:
        severity = _text(row.get("severity"))
        word = _DEAD if row.get("kind") == _DEAD and severity != "breaks" else severity
        rank = order.index(word) if word in order else len(order) - 1
        found[_text(row.get("location"))] = min(rank, found.get(_text(row.get("location")), rank))
    return (order[rank] for rank in found.values())


def find_choices(rows: Sequence[PatchView]) -> Iterator[Choice]:
    """Only what varies."""
    phases = tuple(sorted({row.phase for row in rows if row.phase}))
    styles = tuple(sorted({style for row in rows for style in row.styles}))
    words = tuple(word for word in (*_WORDS.values(), "not compared") if any(row.word == word for row in rows))
    states = tuple(sorted({row.active for row in rows if row.active}))
    for label, name, options in (
        ("Severity", "severity", words),
        ("Phase", "phase", phases),
        ("Style", "style", styles),
        ("Active", "active", states),
    ):
        if len(options) > 1:
            yield Choice(label=label, name=name, options=options)


def _view_patch(
    item: Mapping[str, Any], drifts: Mapping[str, list[Mapping[str, Any]]], repo: str, commit: str, taken: set[str]
) -> PatchView:
    name = _text(item.get("id")) or "unnamed"
    guard = item.get("guard") if isinstance(item.get("guard"), Mapping) else {}
    location = f"{_text(item.get('file'))}:{_text(item.get('line'))}" if item.get("line") else _text(item.get("file"))
    return PatchView(
        anchor=_anchor(name, taken),
        id=name,
        description=_text(item.get("description")),
        phase=_text(item.get("phase")),
        priority=_text(item.get("priority")),
        active=_state(item.get("active")),
        guard=_text(guard.get("expression") or guard.get("text")) if guard else "",
        keys=tuple(_text(key) for key in _list(guard.get("keys"))) if guard else (),
        location=location,
        link=_permalink(repo, commit, location),
        effects=_effects(item, drifts.get(name, []), repo, commit),
        notes=tuple(_text(note) for note in _list(item.get("notes"))),
    )


def _effects(
    item: Mapping[str, Any], drifts: list[Mapping[str, Any]], repo: str, commit: str
) -> tuple[EffectView, ...]:
    listed = _objects(item.get("effects")) or ([item] if "style" in item else [])
    return tuple(_view_effect(effect, drifts, repo, commit) for effect in listed)


def _view_effect(effect: Mapping[str, Any], drifts: list[Mapping[str, Any]], repo: str, commit: str) -> EffectView:
    target, location = _text(effect.get("target")), _text(effect.get("location"))
    # settings and environment variables have no symbol: drift names them as the effect's `mutates` does
    names = {target, *map(_text, _list(effect.get("mutates")))} - {""}
    known = [item for item in drifts if effect.get("id") and item.get("effect") == effect["id"]]
    rows = known or [item for item in drifts if item.get("target") in names]
    row = min(
        rows,
        key=lambda item: (item.get("location") not in (location, None), _ORDER.get(_text(item.get("severity")), 3)),
        default={},
    )
    return EffectView(
        style=_text(effect.get("style")),
        target=target,
        replacement=_text(effect.get("replacement")),
        mutates=tuple(_text(key) for key in _list(effect.get("mutates"))),
        location=location,
        link=_permalink(repo, commit, location),
        moment=_text(effect.get("moment")),
        doubt=_text(effect.get("reason")) or "not certain" if effect.get("certain") is False else "",
        drift=_text(row.get("kind")),
        severity=_text(row.get("severity")),
        detail=_text(row.get("detail")),
        suggestion="" if row.get("kind") in _TOLD else _suggest(row.get("suggestion")),
        culprit=_blame(row.get("culprit")),
        culprit_link=_text(row.get("culprit_link")) or None,
    )


def _suggest(found: Any) -> str:
    return _text(found.get("target")) if isinstance(found, Mapping) else ""


def _blame(found: Any) -> str:
    if not isinstance(found, Mapping):
        return ""
    return " ".join(
        part
        for part in (
            _text(found.get("commit"))[:8],
            f"#{found['pull_request']}" if found.get("pull_request") else "",
            _text(found.get("date")),
            _text(found.get("subject")),
        )
        if part
    )


def _drift_rows(drift: Mapping[str, Any] | None, upstream: str | None) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in _objects(drift.get("rows")) if drift else []:
        culprit = row.get("culprit")
        commit = _text(culprit.get("commit")) if isinstance(culprit, Mapping) else ""
        link = Evidence(repo=upstream, commit=commit).permalink if upstream and commit else None
        found.setdefault(_text(row.get("patch")), []).append({**row, "culprit_link": link})
    return found


def _commit(drift: Mapping[str, Any] | None, name: str) -> str:
    found = drift.get(name) if drift else None
    return _text(found.get("commit") if isinstance(found, Mapping) else found)


def _permalink(repo: str, commit: str, location: str) -> str | None:
    found = _LOCATION.match(location)
    if found is None or not commit:
        return None
    line = int(found["line"])
    evidence = Evidence(repo=repo, commit=commit, path=found["path"], lines=(line, line))
    return link_of(Cell(location, evidence=evidence))


def _anchor(name: str, taken: set[str]) -> str:
    base = anchor = "patch-" + (re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-") or "unnamed")
    count = 1
    while anchor in taken:
        count += 1
        anchor = f"{base}-{count}"
    taken.add(anchor)
    return anchor


def _state(active: Any) -> str:
    match active:
        case bool():
            return "active" if active else "inactive"
        case None:
            return "depends"
        case _:
            return _text(active)


def _tell_skipped(item: Any) -> str:
    if isinstance(item, Mapping):
        return f"{_text(item.get('what'))}: {_text(item.get('why'))}"
    return _text(item)


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return "" if value is None else str(value)
