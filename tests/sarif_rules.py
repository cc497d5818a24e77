"""The rules of Microsoft's SARIF validator that our logs keep, checked by a reader of our own.

Each function is one rule of https://github.com/microsoft/sarif-sdk (docs/ValidationRules.md), written from its
description. Rules about things we never write (code flows, graphs, time stamps, `sarif:` addresses, message templates)
hold as long as these properties are absent, which `_NEVER_WRITTEN` checks. docs/drift.md lists the five that we do not
keep and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Log = dict[str, Any]
Rule = Callable[[Log], Iterator[str]]

_NEVER_WRITTEN = frozenset(
    [
        "codeFlows",
        "graphs",
        "graphTraversals",
        "threadFlowLocations",
        "addresses",
        "webRequests",
        "startTimeUtc",
        "endTimeUtc",
        "contextRegion",
        "charOffset",
        "byteOffset",
        "messageStrings",
        "artifacts",
        "rule",
        "analysisTarget",
    ]
)
_URI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")


def find_violations(log: Log) -> Iterator[str]:
    """`rule: what is wrong`, nothing for a log that keeps them all."""
    for rule in RULES:
        number = rule.__name__.upper()
        yield from (f"{number}: {what}" for what in rule(log))


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _walk(inner, f"{path}/{key}")


def _runs(log: Log) -> list[Log]:
    return list(log["runs"])


def _results(log: Log) -> Iterator[tuple[Log, Log]]:
    for run in _runs(log):
        yield from ((run, result) for result in run.get("results", ()))


def _described(log: Log) -> Iterator[Log]:
    for run in _runs(log):
        yield from run["tool"]["driver"].get("rules", ())


def _places(log: Log) -> Iterator[tuple[Log, Log]]:
    for run, result in _results(log):
        yield from ((run, place["physicalLocation"]) for place in result["locations"])


def sarif1001(log: Log) -> Iterator[str]:
    """Names of rules differ from their ids."""
    yield from (rule["id"] for rule in _described(log) if rule.get("name") == rule["id"])


def sarif1002(log: Log) -> Iterator[str]:
    """Every address is a valid URI reference."""
    for path, value in _walk(log):
        is_address = path.endswith(("/uri", "Uri", "/$schema"))
        if is_address and isinstance(value, str) and (not _URI.fullmatch(value) or "/../" in f"/{value}/"):
            yield f"{path}: {value}"


def sarif1004(log: Log) -> Iterator[str]:
    """A place below a base is relative and does not begin with a slash; bases are absolute folders or open."""
    for path, value in _walk(log):
        uri = value.get("uri", "") if isinstance(value, dict) and "uriBaseId" in value else ""
        if re.match(r"[A-Za-z][\w+.-]*:|/", uri):
            yield f"{path}: {uri}"
    for run in _runs(log):
        bases = run.get("originalUriBaseIds", {})
        yield from (name for name, base in bases.items() if "uri" in base and not base["uri"].endswith("/"))
        used = {value["uriBaseId"] for _, value in _walk(run) if isinstance(value, dict) and "uriBaseId" in value}
        yield from sorted(used - bases.keys())


def sarif1005(log: Log) -> Iterator[str]:
    """Addresses for people are absolute."""
    for path, value in _walk(log):
        if path.endswith(("helpUri", "informationUri", "repositoryUri")) and not str(value).startswith("https://"):
            yield f"{path}: {value}"


def sarif1007(log: Log) -> Iterator[str]:
    """Regions begin at a line from 1 on and do not end before they begin."""
    for path, value in _walk(log):
        if path.endswith("/region"):
            start, end = value.get("startLine"), value.get("endLine", value.get("startLine"))
            if not isinstance(start, int) or start < 1 or end < start:
                yield f"{path}: {value}"


def sarif1009(log: Log) -> Iterator[str]:
    """Indexes point into their arrays, and at the rule they name."""
    for run, result in _results(log):
        rules = run["tool"]["driver"].get("rules", [])
        if result["ruleIndex"] >= len(rules) or rules[result["ruleIndex"]]["id"] != result["ruleId"]:
            yield result["ruleId"]


def sarif1010(log: Log) -> Iterator[str]:
    """Every result names its rule."""
    yield from ("a result without ruleId" for _, result in _results(log) if not result.get("ruleId"))


def sarif1011(log: Log) -> Iterator[str]:
    """The schema named is the final one."""
    if not str(log.get("$schema", "")).endswith("2.1.0.json"):
        yield str(log.get("$schema"))


def sarif2001(log: Log) -> Iterator[str]:
    """Texts about rules are whole sentences."""
    for rule in _described(log):
        for field in ("shortDescription", "fullDescription"):
            if not rule[field]["text"].endswith("."):
                yield f"{rule['id']}: {rule[field]['text']}"


def sarif2003(log: Log) -> Iterator[str]:
    """A run says which version of which repository was looked at (where that has a web address)."""
    for run in _runs(log):
        for place in run.get("versionControlProvenance", [{}]):
            if not re.fullmatch(r"[0-9a-f]{40}", place.get("revisionId", "")) or "repositoryUri" not in place:
                yield f"provenance {place}"


def sarif2004(log: Log) -> Iterator[str]:
    """No array that says nothing beyond ids or places."""
    for run in _runs(log):
        rules = run["tool"]["driver"].get("rules")
        if rules == [] or (rules and all(set(rule) == {"id"} for rule in rules)):
            yield "rules"


def sarif2005(log: Log) -> Iterator[str]:
    """The tool has a short name and a version that begins with a number."""
    for run in _runs(log):
        driver = run["tool"]["driver"]
        if len(driver["name"].split()) > 3 or not re.match(r"\d", driver.get("version", "")):
            yield f"{driver['name']} {driver.get('version')}"


def sarif2007(log: Log) -> Iterator[str]:
    """Places are relative to the root that the provenance maps the repository to."""
    for run, place in _places(log):
        roots = {one.get("mappedTo", {}).get("uriBaseId") for one in run.get("versionControlProvenance", ())}
        if roots and place["artifactLocation"].get("uriBaseId") not in roots - {None}:
            yield place["artifactLocation"]["uri"]


def sarif2008(log: Log) -> Iterator[str]:
    """There is a `$schema`."""
    yield from () if "$schema" in log else ("none",)


def sarif2009(log: Log) -> Iterator[str]:
    """Ids of rules are short capitals and digits."""
    for rule in _described(log):
        if not re.fullmatch(r"[A-Z]{1,8}(?:-?[0-9]{1,6}){0,3}", rule["id"]):
            yield rule["id"]


def sarif2012(log: Log) -> Iterator[str]:
    """Every rule that is violated is described and named in PascalCase."""
    for rule in _described(log):
        if not re.fullmatch(r"(?:[A-Z][a-z0-9]+)+", rule.get("name", "")):
            yield rule["id"]
    known = {rule["id"] for rule in _described(log)}
    yield from (result["ruleId"] for _, result in _results(log) if result.get("ruleId") not in known)


def sarif2016(log: Log) -> Iterator[str]:
    """Places of results are relative, with forward slashes."""
    for _, place in _places(log):
        uri = place["artifactLocation"]["uri"]
        if uri.startswith(("/", "file:")) or "\\" in uri:
            yield uri


def sarif2017(log: Log) -> Iterator[str]:
    """Every place of a result has a region."""
    yield from (place["artifactLocation"]["uri"] for _, place in _places(log) if "region" not in place)


def gh1001(log: Log) -> Iterator[str]:
    """GitHub shows only results with a place."""
    yield from (str(result.get("ruleId")) for _, result in _results(log) if not result.get("locations"))


def gh1004(log: Log) -> Iterator[str]:
    """GitHub's limits: 5 runs, 1000 rules, 10 places per result."""
    if len(_runs(log)) > 5 or len(list(_described(log))) > 1000:
        yield "runs or rules"
    yield from (result["ruleId"] for _, result in _results(log) if len(result["locations"]) > 10)


def gh1007(log: Log) -> Iterator[str]:
    """GitHub shows messages that are written out, without placeholders or templates."""
    for _, result in _results(log):
        if not result["message"].get("text") or "id" in result["message"]:
            yield result["ruleId"]


def never_written(log: Log) -> Iterator[str]:
    """Properties whose rules (1006, 1008, 1012, 1013, 2014, 2015, GH1002) hold because we do not write them."""
    for path, _ in _walk(log):
        if path.rpartition("/")[2] in _NEVER_WRITTEN:
            yield path


RULES: tuple[Rule, ...] = (
    sarif1001,
    sarif1002,
    sarif1004,
    sarif1005,
    sarif1007,
    sarif1009,
    sarif1010,
    sarif1011,
    sarif2001,
    sarif2003,
    sarif2004,
    sarif2005,
    sarif2007,
    sarif2008,
    sarif2009,
    sarif2012,
    sarif2016,
    sarif2017,
    gh1001,
    gh1004,
    gh1007,
    never_written,
)
