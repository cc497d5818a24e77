"""Hand-written patch notes held against the code: every claim of their tables is judged, and the code wins."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from layline.patches.declared_keys import is_shared

if TYPE_CHECKING:
    from layline.core.patch import Inventory, Patch
    from layline.patches.declared_keys import Schema
    from layline.patches.inner_keys import InnerKey

_CODE = re.compile(r"`([^`]+)`")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_COLUMNS = {
    "flag": re.compile(r"argument|flag|option|config|key|how to enable", re.IGNORECASE),
    "default": re.compile(r"default", re.IGNORECASE),
    "symbols": re.compile(r"patched|symbol|target|patch logic", re.IGNORECASE),
}
_EMPTY = {"", "na", "n/a", "-", "none"}


class Verdict(StrEnum):
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    STALE = "stale"
    """The code no longer knows what the notes name."""
    MISSING = "missing"
    """The code has it, the notes do not."""
    NOT_CHECKABLE = "not-checkable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement of the notes and what the code says."""

    line: int
    flag: str
    kind: str
    """flag, default or symbol."""
    said: str
    verdict: Verdict
    reason: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    line: int
    flag: str
    default: str | None
    symbols: tuple[str, ...]


def parse_rows(text: str) -> Iterator[Row]:
    """Rows of Markdown tables that have a column of flags."""
    columns: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            columns = {}
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if not columns:
            columns = _read_header(cells)
        elif "flag" in columns and not all(set(cell) <= set("-: ") for cell in cells):
            yield from _read_row(number, cells, columns)


def _read_header(cells: list[str]) -> dict[str, int]:
    found: dict[str, int] = {"seen": -1}
    for index, cell in enumerate(cells):
        for name, pattern in _COLUMNS.items():
            if name not in found and pattern.search(cell):
                found[name] = index
                break
    return found


def _read_row(number: int, cells: list[str], columns: dict[str, int]) -> Iterator[Row]:
    def cell(name: str) -> str:
        return cells[columns[name]] if name in columns and columns[name] < len(cells) else ""

    flags = _CODE.findall(cell("flag")) or [cell("flag")]
    default = (_CODE.findall(cell("default")) or [cell("default")])[0] if "default" in columns else None
    symbols = tuple(word for word in _CODE.findall(cell("symbols")) if _DOTTED.match(word))
    for flag in flags[:1]:
        if re.fullmatch(r"[\w.]+", flag):
            yield Row(number, flag, default or None, symbols)


def check_notes(
    text: str,
    inventories: Iterable[Inventory],
    schemas: dict[str, Schema],
    texts: dict[str, bytes],
    inner: Mapping[str, list[InnerKey]] = MappingProxyType({}),
) -> list[Claim]:
    """Every claim of the tables, then what the code has and the notes do not. `inner`: patch → keys that its
    replacements read.
    """
    read = list(inventories)
    patches = [patch for inventory in read for patch in inventory.patches]
    claims: list[Claim] = []
    rows = list(parse_rows(text))
    for row in rows:
        readers = {name: one for name, keys in inner.items() for one in keys if one.key == row.flag}
        claims.append(_check_flag(row, patches, readers, schemas, texts))
        claims.extend(_check_default(row, schemas))
        claims.extend(_check_symbols(row, patches, readers))
    claims.extend(_find_missing({row.flag for row in rows}, patches))
    return claims


def _check_flag(
    row: Row,
    patches: list[Patch],
    readers: Mapping[str, InnerKey],
    schemas: dict[str, Schema],
    texts: dict[str, bytes],
) -> Claim:
    users = [patch.id for patch in patches if row.flag in (*patch.guard.keys, *patch.body_keys)]
    if users:
        return _claim(row, "flag", row.flag, Verdict.CONFIRMED, f"switches {', '.join(users)}")
    if readers:
        names, first = ", ".join(readers), next(iter(readers.values()))
        return _claim(row, "flag", row.flag, Verdict.CONFIRMED, f"read by {names} when it runs", str(first.location))
    pattern = re.compile(rb"\b" + re.escape(row.flag.rpartition(".")[2].encode()) + rb"\b")
    place = next(_find_places(pattern, texts), None)
    if place is not None:
        return _claim(row, "flag", row.flag, Verdict.CONFIRMED, "read by the code, but by no guard of a patch", place)
    declared = next((item for schema in schemas.values() for item in schema.find(row.flag)), None)
    if declared is not None:
        return _claim(
            row,
            "flag",
            row.flag,
            Verdict.STALE,
            f"declared, but no code of the downstream reads it ({len(texts)} Python files searched)",
            str(declared.location),
        )
    return _claim(
        row, "flag", row.flag, Verdict.STALE, f"neither declared nor read: {_describe_search(texts, schemas)}"
    )


def _describe_search(texts: dict[str, bytes], schemas: dict[str, Schema]) -> str:
    """What was looked through in vain, so that anyone can look again."""
    folders = Counter(path.partition("/")[0] if "/" in path else "." for path in texts)
    listed = ", ".join(
        f"{name}/ {count}" if name != "." else f"top folder {count}" for name, count in sorted(folders.items())
    )
    keys = [item for schema in schemas.values() for items in schema.keys.values() for item in items]
    files = len({item.location.path for item in keys})
    return (
        f"its last part is not in any of {len(texts)} Python files ({listed}; without tests and vendored code), nor "
        f"among the {len(keys)} keys of {files} config files"
    )


def _find_places(pattern: re.Pattern[bytes], texts: dict[str, bytes]) -> Iterator[str]:
    for path, data in texts.items():
        found = pattern.search(data)
        if found is not None:
            yield f"{path}:{data.count(bytes([10]), 0, found.start()) + 1}"


def _check_default(row: Row, schemas: dict[str, Schema]) -> Iterator[Claim]:
    if row.default is None or row.default.lower() in _EMPTY:
        return
    found = [item for schema in schemas.values() for item in schema.find(row.flag)]
    base = next((item for schema in schemas.values() if (item := schema.default(row.flag))), None)
    if base is None:
        yield _claim(row, "default", row.default, Verdict.NOT_CHECKABLE, "no config file declares it")
    elif _same(base.value, row.default):
        yield _claim(row, "default", row.default, Verdict.CONFIRMED, f"declared as {base.value}", str(base.location))
    elif not is_shared(base) and any(_same(item.value, row.default) for item in found):
        yield _claim(
            row,
            "default",
            row.default,
            Verdict.NOT_CHECKABLE,
            "only some models declare it, with different values",
            str(base.location),
        )
    else:
        others = sorted({item.value for item in found})
        yield _claim(
            row,
            "default",
            row.default,
            Verdict.CONTRADICTED,
            f"declared as {base.value} (all declared values: {', '.join(others)})",
            str(base.location),
        )


def _same(left: str, right: str) -> bool:
    def plain(text: str) -> str:
        text = re.sub(r"[\s'\"]", "", text.lower())
        return "null" if text in {"none", "~", ""} else text

    return plain(left) == plain(right)


def _check_symbols(row: Row, patches: list[Patch], readers: Mapping[str, InnerKey]) -> Iterator[Claim]:
    targets: dict[str, list[Patch]] = {}
    for patch in patches:
        for effect in patch.effects:
            for name in (effect.target, effect.alias_of):
                if name:
                    targets.setdefault(name, []).append(patch)
    for symbol in row.symbols:
        owners = [
            p for name, found in targets.items() if name == symbol or name.startswith(f"{symbol}.") for p in found
        ]
        gated = [patch for patch in owners if row.flag in (*patch.guard.keys, *patch.body_keys)]
        if gated:
            yield _claim(
                row,
                "symbol",
                symbol,
                Verdict.CONFIRMED,
                f"changed by {gated[0].id}, which depends on {row.flag}",
                str(gated[0].location),
            )
        elif reading := [patch for patch in owners if patch.id in readers]:
            yield _claim(
                row,
                "symbol",
                symbol,
                Verdict.CONFIRMED,
                f"changed by {reading[0].id}, which reads {row.flag} when it runs",
                str(readers[reading[0].id].location),
            )
        elif owners:
            names = ", ".join(sorted({patch.id for patch in owners}))
            yield _claim(
                row,
                "symbol",
                symbol,
                Verdict.CONTRADICTED,
                f"changed by {names}, none of which depends on {row.flag}",
                str(owners[0].location),
            )
        else:
            near = difflib.get_close_matches(symbol, list(targets), n=1, cutoff=0.9)
            hint = f"; {near[0]} is ({targets[near[0]][0].location})" if near else ""
            yield _claim(row, "symbol", symbol, Verdict.STALE, f"no patch changes it{hint}")


def _find_missing(documented: set[str], patches: list[Patch]) -> Iterator[Claim]:
    seen: set[str] = set()
    for patch in patches:
        for key in patch.guard.keys:
            if key not in documented and key not in seen:
                seen.add(key)
                yield Claim(
                    line=0,
                    flag=key,
                    kind="flag",
                    said="",
                    verdict=Verdict.MISSING,
                    reason=f"switches {patch.id}",
                    evidence=str(patch.location),
                )


def _claim(row: Row, kind: str, said: str, verdict: Verdict, reason: str, evidence: str = "") -> Claim:
    return Claim(line=row.line, flag=row.flag, kind=kind, said=said, verdict=verdict, reason=reason, evidence=evidence)
