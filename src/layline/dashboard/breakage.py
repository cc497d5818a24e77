"""What breaks at the tip, counted once for the whole site: places of our code (file and line), from the evidence
files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from layline.core.evidence import Evidence
from layline.core.prose import listed
from layline.core.records import GapRecord
from layline.gap.breaks import say_state
from layline.gap.model import Demand
from layline.gap.plan import say_asks

MOST_STEPS = 9
"""Steps of a plan that stand open: what breaks must not lie far below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """One place of ours and everything that an upgrade breaks there."""

    place: str
    """`file:line`."""
    evidence: Evidence | None
    targets: tuple[tuple[str, Evidence | None], ...]
    """Upstream names, each with where it is or was."""
    reasons: tuple[str, ...]
    culprit: str | None
    """The upstream commit that broke it first."""
    patch: str
    """The patch that stands there; empty where the place only uses upstream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the upgrade plan."""

    commit: str
    date: str
    reason: str
    behind: int
    places: int
    again: int = 0
    """Places that an earlier change breaks first."""
    asks: str = ""
    """What the change after it asks of us beside our code."""
    next: str = ""
    """The commit that breaks something, with its pull request (`#24`) and how far it lies ahead."""
    pull: str = ""
    ahead: int = 1
    weight: int = 0
    """How much of ours the change after it touches: lines, and methods to write anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """What one gap report says an upgrade breaks."""

    record: str
    date: str
    places: tuple[Broken, ...]
    touched: int
    """Places of ours that touch the upstream at all."""
    look: int
    to_fix: int
    """Places to edit; the others that break only wait behind these."""
    stops: int = 0
    """Places whose patch stops applying without an error."""
    plan: tuple[Step, ...] = ()
    upstream: str = ""
    files: int = field(default=0)
    pulls: Mapping[str, str] = field(default_factory=dict)
    """Upstream commits that break something, each with the name of its pull request (`#24`)."""

    def name_of(self, commit: str) -> str:
        """As the headline of its report names it: the pull request where it is known, else the commit."""
        return self.pulls.get(commit, commit[:8])

    @property
    def count(self) -> int:
        return len(self.places)

    @property
    def weighty(self) -> tuple[Step, ...]:
        """The steps with most work and the last, in order; all of them where they are few."""
        last = len(self.plan) - 1
        ranked = sorted(range(len(self.plan)), key=lambda at: (at != last, -self.plan[at].weight, at))
        return tuple(self.plan[at] for at in sorted(ranked[:MOST_STEPS])) if last > MOST_STEPS else self.plan

    @property
    def root_cause(self) -> tuple[str, int] | None:
        """The upstream commit behind most places, where it is behind at least two and a third of them."""
        counted = Counter(item.culprit for item in self.places if item.culprit).most_common(1)
        if not counted or counted[0][1] < 2 or counted[0][1] * 3 < self.count:
            return None
        return counted[0][0] or "", counted[0][1]


def find_breakage(record: GapRecord, plain: Mapping[str, Any]) -> Breakage | None:
    """The breakage an evidence file tells; None where it tells none, or speaks of other commits than its record."""
    if find_mismatch(record, plain) is not None:
        return None
    commits = [item for item in _list(plain.get("commits")) if isinstance(item, Mapping)]
    facts = [
        item for item in _list(plain.get("facts")) if isinstance(item, Mapping) and isinstance(item.get("name"), str)
    ]
    couplings = [
        item for item in facts if item["name"].startswith("coupling.") and isinstance(item.get("value"), Mapping)
    ]
    patches = [item for item in facts if item["name"].startswith("patch.") and isinstance(item.get("value"), Mapping)]
    if not couplings and not patches:
        return None
    rows = [_read_coupling(fact, commits) for fact in couplings if fact["value"].get("consequence") == "will break"]
    rows += [_read_patch(fact, commits) for fact in patches if _is_broken(fact["value"])]
    places = tuple(_merge(rows, dict(_read_causes(facts, commits))))
    look = {_place_of(fact) for fact in couplings if fact["value"].get("consequence") in ("may break", "look at")}
    look -= {(path, int(line)) for path, _, line in (one.place.rpartition(":") for one in places) if line.isdigit()}
    counted = _read_counted(facts)
    return Breakage(
        record=record.id,
        date=record.generated_at,
        places=places,
        touched=sum(counted.values()) or len({_place_of(fact) for fact in (*couplings, *patches)}),
        look=counted.get("need a look", len(look)),
        to_fix=_count_fixes(facts, len(places)),
        stops=counted.get("stop applying", 0),
        plan=tuple(_read_plan(facts)),
        upstream=record.upstream.repo,
        files=len({item.place.rpartition(":")[0] for item in places}),
        pulls=dict(_read_pulls(facts, commits)),
    )


def _is_broken(value: Mapping[str, Any]) -> bool:
    """What fails at the pin already no upgrade breaks; files of older reports do not tell the two apart."""
    return value.get("severity") == "breaks" and value.get("broken_by_upgrade", True) is not False


def _read_counted(facts: list[Mapping[str, Any]]) -> dict[str, int]:
    """Every place of the report by what becomes of it; empty in files of older reports."""
    told = next((fact.get("value") for fact in facts if fact["name"] == "places"), None)
    counted = told.items() if isinstance(told, Mapping) else ()
    return {str(kind): number for kind, number in counted if isinstance(number, int)}


def _count_fixes(facts: list[Mapping[str, Any]], places: int) -> int:
    """All of them in files of older reports."""
    told = next((fact.get("value") for fact in facts if fact["name"] == "places_to_fix"), None)
    return len(told) if isinstance(told, list) else places


def find_mismatch(record: GapRecord, plain: Mapping[str, Any]) -> str | None:
    """Why an evidence file is no proof of its record: it speaks of other commits."""
    for name, told in (("pin", record.local.commit), ("tip", record.upstream.commit)):
        found = plain.get(name)
        said = found.get("commit") if isinstance(found, Mapping) else found
        if not isinstance(said, str) or not (said.startswith(told) or told.startswith(said)):
            return f"the evidence is about {name} {str(said)[:12]}, the record about {told[:12]}"
    return None


def _read_coupling(fact: Mapping[str, Any], commits: list[Mapping[str, Any]]) -> Broken:
    value = fact["value"]
    location, _, rest = str(fact["name"]).removeprefix("coupling.").rpartition(":")
    line, _, target = rest.partition(".")
    target = target.partition(".")[2]
    found = [read_evidence(item, commits) for item in _list(fact.get("evidence"))]
    now = f"now {value['now']}" if value.get("now") else ""
    reason = _tell(
        say_state(str(value.get("state"))), "; ".join(part for part in (now, str(value.get("detail") or "")) if part)
    )
    return Broken(
        place=f"{location}:{line}",
        evidence=found[0] if found else None,
        targets=((target, found[1] if len(found) > 1 else None),),
        reasons=(reason,),
        culprit=_text(value.get("since")),
        patch="",
    )


def _read_patch(fact: Mapping[str, Any], commits: list[Mapping[str, Any]]) -> Broken:
    value = fact["value"]
    found = [read_evidence(item, commits) for item in _list(fact.get("evidence"))]
    own = found[0] if found else None
    place = f"{own.path}:{own.lines[0]}" if own and own.path and own.lines else str(fact["name"])
    patch, _, target = str(fact["name"]).removeprefix("patch.").partition(f".{place}.")
    kind = str(value.get("kind")).replace("-", " ")
    kept = "target unchanged, but our replacement no longer fits" if kind == "unchanged" else kind
    return Broken(
        place=place,
        evidence=own,
        targets=((target, found[1] if len(found) > 1 else None),),
        reasons=(_tell(kept, str(value.get("detail") or "")),),
        culprit=_text(value.get("since")),
        patch=patch,
    )


def _tell(what: str, detail: str) -> str:
    return f"{what}: {detail}" if detail else what


def _merge(rows: Iterable[Broken], causes: Mapping[str, str]) -> Iterator[Broken]:
    """One row for each place, in the order of the files; the change that breaks it first is told, as in the report."""
    found: dict[str, list[Broken]] = {}
    for row in rows:
        found.setdefault(row.place, []).append(row)
    for place, items in sorted(found.items(), key=lambda item: _sort_key(item[0])):
        targets = {name: evidence for item in reversed(items) for name, evidence in item.targets}
        first = causes.get(place) or next((item.culprit for item in items if item.culprit), None)
        told = next((item for item in items if item.culprit == first), items[0])
        yield Broken(
            place=place,
            evidence=items[0].evidence,
            targets=tuple(sorted(targets.items(), key=lambda pair: pair[0])),
            reasons=told.reasons,
            culprit=first,
            patch=next((item.patch for item in items if item.patch), ""),
        )


def _sort_key(place: str) -> tuple[str, int]:
    path, _, line = place.rpartition(":")
    return path, int(line) if line.isdigit() else 0


def _place_of(fact: Mapping[str, Any]) -> tuple[str, int]:
    first = next((item for item in _list(fact.get("evidence")) if isinstance(item, Mapping)), {})
    lines = _list(first.get("lines"))
    return str(first.get("path") or fact["name"]), lines[0] if lines and isinstance(lines[0], int) else 0


def _read_pulls(facts: Iterable[Mapping[str, Any]], commits: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for fact in facts:
        name = fact["name"].removeprefix("cause.")
        places = [read_evidence(item, commits) for item in _list(fact.get("evidence"))]
        if name != fact["name"] and name.startswith("#") and places and places[0] is not None:
            yield places[0].commit, name


def _read_causes(facts: Iterable[Mapping[str, Any]], commits: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Each place with the commit that the report blames for it."""
    for fact in facts:
        evidence = [read_evidence(item, commits) for item in _list(fact.get("evidence"))]
        if fact["name"].startswith("cause.") and evidence and evidence[0] is not None:
            yield from ((str(place), evidence[0].commit) for place in _list(fact.get("value")))


def _read_plan(facts: Iterable[Mapping[str, Any]]) -> Iterator[Step]:
    for fact in facts:
        value = fact.get("value")
        if fact["name"].startswith("plan.") and isinstance(value, Mapping):
            counts = {
                name: found if isinstance(found := value.get(name), int) else 0
                for name in ("behind", "places", "again", "ahead", "number", "lines", "methods", "code_lines")
            }
            fixes = max(counts["code_lines"], counts["places"] + counts["again"])
            yield Step(
                commit=str(value.get("commit") or ""),
                date=str(value.get("date") or ""),
                reason=str(value.get("reason") or ""),
                behind=counts["behind"],
                places=counts["places"],
                again=counts["again"],
                asks=listed(asks)
                if (asks := say_asks(_read_demand(value, counts["lines"], counts["methods"])))
                else "",
                next=str(value.get("next") or ""),
                pull=f"#{counts['number']}" if counts["number"] else "",
                ahead=counts["ahead"],
                weight=fixes + counts["lines"] + counts["methods"],
            )


def _read_demand(value: Mapping[str, Any], lines: int, methods: int) -> Demand:
    deletes, keys, needs, off = (
        tuple(map(str, _list(value.get(name)))) for name in ("deletes", "keys", "needs", "off")
    )
    return Demand(deletes=deletes, keys=keys, needs=needs, off=off, lines=lines, methods=methods)


def read_evidence(item: Any, commits: list[Mapping[str, Any]]) -> Evidence | None:
    """Where a fact was read, from its entry in an evidence file."""
    if not isinstance(item, Mapping) or not isinstance(item.get("at"), int) or not 0 <= item["at"] < len(commits):
        return None
    at, lines = commits[item["at"]], _list(item.get("lines"))
    span = (lines[0], lines[1]) if len(lines) == 2 and all(type(line) is int for line in lines) else None
    path, command = item.get("path"), item.get("command")
    return Evidence(
        repo=str(at.get("repo")),
        commit=str(at.get("commit")),
        path=path if isinstance(path, str) else None,
        lines=span,
        command=command if isinstance(command, str) else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
