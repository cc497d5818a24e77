"""Checks the sentences of a record: the figures, versions, dependencies and names they contain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from layline.core.prose import count, verb
from layline.errors import Error
from layline.gap.audit.added_paths import check_added_path, find_added_paths
from layline.gap.audit.ground import MeasuredPair
from layline.gap.audit.model import AuditedField, AuditVerdict, check, check_any, combine, leave
from layline.gap.dependencies import Declaration, Kind, Rank
from layline.gap.dependencies.model import canonical_name
from layline.history.commits import say_count

Checker = Callable[[str, MeasuredPair], Iterator[AuditedField]]

_BEHIND = re.compile(r"\b(\d[\d,]*) commits? (?:behind|ahead)\b")
_FILES = re.compile(r"\b(\d[\d,]*) changed files\b")
_VERSION = re.compile(r"(?<![\w.>=<])(\d+\.\d+\.\d+(?:rc\d+|a\d+|b\d+)?)(?!\w|\.\d)")
_SAME = re.compile(
    r"(?P<what>(?:[\w./-]+\.(?:toml|txt|cfg|py)|[Pp]ackage dependency metadata))"
    r"\b[^.]*?\b(?P<claim>(?<!mostly )(?<!largely )(?<!nearly )unchanged|remains?)\b(?P<rest>[^.]*)"
)
_BOUND = re.compile(
    r"\b(?P<name>[\w-]+) (?:lower bound|floor) moved from (?P<was>[<>=~!\d.\w]*\w) to (?P<now>[<>=~!\d.\w]*\w)"
)
_CHANNEL_MOVED = re.compile(r"from (?P<was>(?:nightly|test)/\w+(?:\.\d+)*) to (?P<now>(?:nightly|test)/\w+(?:\.\d+)*)")
_CHANNEL_NOW = re.compile(r"\b(?:targets|tracks|on)\b[^.]*?\b(?P<now>(?:nightly|test)/\w+(?:\.\d+)*)")
_INSTALLED = re.compile(r"\b(?P<name>[\w-]+) is (?:explicitly )?installed as (?P<version>[\w.+]+\w)")
_ADDED = re.compile(r"^(?P<names>[\w, -]+?) (?:were|was|are) (?:added|newly added)\b")
_NOT_PRESENT = re.compile(r"\b(?P<name>[\w-]+)(?: is| was|:) not present\b")


def check_sentence(field: str, text: str, ground: MeasuredPair) -> AuditedField:
    """The verdict on one sentence, from every part of it that can be computed."""
    return combine(field, text, [part for checker in _CHECKERS for part in _attempt_all(checker, text, ground)])


def _attempt_all(checker: Checker, text: str, ground: MeasuredPair) -> list[AuditedField]:
    """The parts one checker finds; what git cannot read for it leaves its part of the sentence open."""
    try:
        return list(checker(text, ground))
    except Error as error:
        return [leave("unread", text, error.message)]


def _check_figures(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    for found in _BEHIND.finditer(text):
        command = say_count(ground.pin, ground.tip)
        yield check("commits", _number(found.group(1)), ground.distance.behind, command)
    for found in _FILES.finditer(text):
        yield check("changed files", _number(found.group(1)), len(ground.diff.files), ground.shortstat())


def _check_versions(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    if not re.search(r"\b(?:version|declares|pins|bundles)\b", text, re.IGNORECASE):
        return
    known = {side: version and version.text for side, version in zip(("pin", "tip"), ground.versions, strict=True)}
    for found in _VERSION.finditer(text):
        evidence = "; ".join(str(version.evidence) for version in ground.versions if version)
        yield check_any("version", found.group(1), known, evidence)


def _check_unchanged(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    for found in _SAME.finditer(text):
        what = found["what"]
        is_file = "." in what
        rows = [row for row in ground.differences if (row.file == what if is_file else row.rank is Rank.METADATA)]
        if not is_file:
            rows = [row for row in rows if "/" not in row.file]
        names = ", ".join(dict.fromkeys(row.name for row in rows[:8]))
        computed = (
            f"{count(len(rows), 'dependency entry')} {verb(len(rows), 'differs')} "
            f"({names}{', …' if len(rows) > 8 else ''})"
            if rows
            else "unchanged"
        )
        verdict = AuditVerdict.CONTRADICTED if rows else AuditVerdict.CONFIRMED
        command = f"git diff {ground.pin} {ground.tip} -- {what if is_file else 'pyproject.toml setup.py setup.cfg'}"
        yield AuditedField(field=what, published=found["claim"], computed=computed, verdict=verdict, evidence=command)


def _check_bounds(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    for found in _BOUND.finditer(text):
        name = canonical_name(found["name"])
        for row in ground.differences:
            if (
                row.name == name
                and row.was
                and row.now
                and found["was"] in row.was.spec
                and found["now"] in row.now.spec
            ):
                yield AuditedField(
                    field=name,
                    published=found.group(0),
                    computed=f"{row.was.spec} → {row.now.spec}",
                    verdict=AuditVerdict.CONFIRMED,
                    evidence=f"{row.was.place} → {row.now.place}",
                )
                return
        yield _told_by_both(name, found.group(0), ground)


def _check_channels(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    rank = Rank.README if "README" in text else None
    for found in _CHANNEL_MOVED.finditer(text):
        before, after = (_channels(ground, rank, at_tip=side) for side in (False, True))
        right = found["was"] in before and found["now"] in after
        computed = f"pin {', '.join(sorted(before)) or 'none'}; tip {', '.join(sorted(after)) or 'none'}"
        yield AuditedField(
            field="channel",
            published=found.group(0),
            computed=computed,
            verdict=_verdict(right),
            evidence=_channel_place(ground, found["now"], rank),
        )
    for found in _CHANNEL_NOW.finditer(text):
        rank = Rank.COMMANDS if "workflow" in text.lower() else None
        after = _channels(ground, rank, at_tip=True)
        yield AuditedField(
            field="channel at the tip",
            published=found["now"],
            computed=", ".join(sorted(after)) or "none",
            verdict=_verdict(found["now"] in after),
            evidence=_channel_place(ground, found["now"], rank),
        )


def _check_installs(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    for found in _INSTALLED.finditer(text):
        name = canonical_name(found["name"])
        items = [item for item in ground.declared(name, at_tip=True) if item.rank is Rank.COMMANDS]
        right = [item for item in items if found["version"] in item.spec]
        computed = (
            ", ".join(dict.fromkeys(item.spec or "any version" for item in items)) or "not installed by a workflow"
        )
        yield AuditedField(
            field=name,
            published=found["version"],
            computed=computed,
            verdict=_verdict(bool(right)),
            evidence="; ".join(ground.places(right[:2] or items[:2])),
        )


def _check_added(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    """A dependency that the pin declares at any rank was not added; `added or expanded` may mean more places."""
    for found in _ADDED.finditer(text):
        for name in re.split(r",\s*(?:and\s+)?|\s+and\s+", found["names"]):
            if not re.fullmatch(r"[\w-]+", name.strip()):
                continue
            known = canonical_name(name.strip())
            before, after = ground.declared(known, at_tip=False), ground.declared(known, at_tip=True)
            text_, right = _judge_added(before, after, expanded="expanded" in text, ground=ground)
            verdict = _verdict(right)
            yield AuditedField(
                field=known,
                published="added",
                computed=text_,
                verdict=verdict,
                evidence="; ".join(list(ground.places(before or after))[:2]),
            )


def _judge_added(
    before: list[Declaration], after: list[Declaration], *, expanded: bool, ground: MeasuredPair
) -> tuple[str, bool]:
    """Added: nowhere at the pin. Expanded: declared in more places, or with other bounds, than at the pin."""
    if not after:
        return "not declared at the tip", False
    if not before:
        return f"added ({'; '.join(list(ground.places(after))[:2])})", True
    known = {(item.rank, item.scope, item.spec) for item in before}
    new = [item for item in after if (item.rank, item.scope, item.spec) not in known]
    if expanded and new:
        return f"not added, but also declared at {'; '.join(list(ground.places(new))[:2])}", True
    return f"the pin declares it already ({'; '.join(list(ground.places(before))[:2])})", False


def _check_platforms(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    """`cu130`, `ROCm 7.1`: is there such a wheel index at the tip, or, for a baseline, at the pin."""
    for found in re.finditer(r"\b(cu\d{3})\b|\bROCm (\d+\.\d+)", text):
        if "/" + found.group(0) in text:
            continue  # a channel with its name is checked as one
        word = found.group(1) or f"rocm{found.group(2)}"
        sides = {
            side: sorted(spec for spec in _channels(ground, None, at_tip=side == "tip") if spec.endswith(word))
            for side in ("pin", "tip")
        }
        if not any(_channels(ground, None, at_tip=side) for side in (False, True)):
            yield leave(word, found.group(0), "neither side names a wheel index")
            continue
        computed = (
            "; ".join(f"{side} {', '.join(specs)}" for side, specs in sides.items() if specs)
            or "no wheel index of either side"
        )
        yield AuditedField(
            field=word, published=found.group(0), computed=computed, verdict=_verdict(any(sides.values())), evidence=""
        )


def _check_absent(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    for found in _NOT_PRESENT.finditer(text):
        before = ground.declared(canonical_name(found["name"]), at_tip=False)
        computed = "; ".join(list(ground.places(before))[:2]) or "not declared at the pin"
        yield AuditedField(
            field=found["name"],
            published="not present",
            computed=computed,
            verdict=_verdict(not before),
            evidence=computed if before else "",
        )


def _check_names(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    """Dotted upstream names, and whether our integration of that day mentions them."""
    roots = {package.partition(".")[0] for package in ground.backend.packages}
    for found in re.finditer(r"\b([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\b", text):
        dotted = found.group(1)
        if dotted.partition(".")[0] not in roots or dotted.endswith((".py", ".txt", ".toml")):
            continue
        place = _find_mention(dotted, ground)
        if place is None and ground.has_name(dotted):
            continue  # upstream has it, so the sentence may be about upstream, or we reach it by another spelling
        if not ground.integration_texts:
            yield leave(dotted, "we depend on it", "no file of our integration can be searched here")
            continue
        computed = place or "no file of our integration mentions it"
        yield AuditedField(
            field=dotted,
            published="we depend on it",
            computed=computed,
            verdict=_verdict(place is not None),
            evidence=f"{ground.downstream.name}@{ground.downstream_commit[:12]}",
        )


def _check_added_paths(text: str, ground: MeasuredPair) -> Iterator[AuditedField]:
    for path in find_added_paths(text):
        yield check_added_path(path, path, ground)


_CHECKERS: tuple[Checker, ...] = (
    _check_figures,
    _check_versions,
    _check_unchanged,
    _check_bounds,
    _check_channels,
    _check_installs,
    _check_added,
    _check_added_paths,
    _check_absent,
    _check_platforms,
    _check_names,
)


def _find_mention(dotted: str, ground: MeasuredPair) -> str | None:
    module, _, name = dotted.rpartition(".")
    patterns = (
        re.compile(rf"(?m)^\s*(?:from|import)\s+{re.escape(dotted)}\b"),
        re.compile(
            rf"(?m)^\s*from\s+{re.escape(module)}\s+import\s+(?:\([^)]*\b{re.escape(name)}\b"
            rf"|[^\n(]*\b{re.escape(name)}\b)"
        ),
        re.compile(rf"[\"']{re.escape(dotted)}[\"']"),
    )
    for path, text in ground.integration_texts.items():
        for pattern in patterns:
            if hit := pattern.search(text):
                return (
                    f"{path}:{text.count(chr(10), 0, hit.start() + len(hit.group(0)) - len(hit.group(0).lstrip())) + 1}"
                )
    return None


def _channels(ground: MeasuredPair, rank: Rank | None, *, at_tip: bool) -> set[str]:
    items = ground.declarations[1 if at_tip else 0].items
    return {item.spec for item in items if item.kind is Kind.CHANNEL and rank in (None, item.rank)}


def _channel_place(ground: MeasuredPair, spec: str, rank: Rank | None) -> str:
    items = ground.declarations[1].items
    return next(
        (
            str(item.place)
            for item in items
            if item.kind is Kind.CHANNEL and item.spec == spec and rank in (None, item.rank)
        ),
        "",
    )


def _told_by_both(name: str, published: str, ground: MeasuredPair) -> AuditedField:
    before, after = ground.declared(name, at_tip=False), ground.declared(name, at_tip=True)
    computed = (
        f"pin {'; '.join(list(ground.places(before))[:3]) or 'not declared'}; tip "
        f"{'; '.join(list(ground.places(after))[:3]) or 'not declared'}"
    )
    return AuditedField(
        field=name, published=published, computed=computed, verdict=AuditVerdict.CONTRADICTED, evidence=""
    )


def _verdict(right: bool) -> AuditVerdict:
    return AuditVerdict.CONFIRMED if right else AuditVerdict.CONTRADICTED


def _number(text: str) -> int:
    return int(text.replace(",", ""))
