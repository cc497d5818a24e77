"""The sentences of a gap: each built from measured figures, ranked, shared by report, summary and record."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from layline.change.surface import SurfaceChange
from layline.core.drift import UNCOMPARED, Uncompared
from layline.core.ours import is_own, is_packaged
from layline.core.prose import count, listed, sentence, share, shorten, verb
from layline.core.revision import Relation
from layline.coupling.drift_model import find_breaking
from layline.coupling.model import Consequence, State, Touch
from layline.gap.breaks import Standing, count_touched, find_places, find_rewritten, find_standings, say_state
from layline.gap.cells import change_cell, join_text, plain_text
from layline.gap.need_statements import dependency_sentence
from layline.gap.novelty import build_novelties
from layline.gap.plan import find_stops
from layline.history.tags import is_final, is_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.core.report import Inline
    from layline.coupling.model import Coupling
    from layline.gap.model import Gap


_NAMED = 3
"""So many places that fail already are named in one sentence."""
UNSEEN = "What breaks on the way and works again at the tip is not listed."
JUDGED = "Run your tests at each: what breaks on the way and works again at the tip is not listed."


def headline(gap: Gap) -> Inline:
    """The gap in one sentence: how far behind, and what breaks."""
    if gap.distance.behind == 0:
        return f"Our {gap.label} has every commit of {gap.ref}."
    far = [count(gap.distance.behind, "commit"), count(gap.age_days, "day")]
    far += [step] if (step := major_step(gap)) else []
    doubt = " (the pin is a guess)" if gap.guess else ""
    behind = f"Our {gap.label}{doubt} is {listed(far)} behind {gap.ref}"
    if gap.surface is None:
        return f"{behind}, with {count(len(gap.diff.files), 'changed file')}."
    return join_text(f"{behind}, and ", breaks_phrase(gap), ".")


def tell_failing(gap: Gap) -> str:
    """` (2 places fail at the pin already)`; empty where none does."""
    fails = len(find_failing(gap))
    return f" ({count(fails, 'place')} {verb(fails, 'fails')} at the pin already)" if fails else ""


def name_failing(gap: Gap, *, more: bool = False) -> str:
    """` 2 places fail at the pin already, and still at the tip: …`; empty where none does. `more`: others break."""
    fails = find_failing(gap)
    noun = "more place" if more else "place"
    told = f"{count(len(fails), noun)} {verb(len(fails), 'fails')} at the pin already, and still at the tip"
    return f" {told}: {listed(fails, most=_NAMED)}." if fails else ""


def find_failing(gap: Gap) -> list[str]:
    """Places that fail at the pin as at the tip, those of our package first."""
    found = [place for place, standing in find_standings(gap).items() if standing is Standing.FAILS]
    return sorted(found, key=lambda place: not is_own(place.rpartition(":")[0]))


def unnamed_sentence(gap: Gap) -> str:
    """What nobody compared, and where it is listed; empty where all was."""
    if not gap.unnamed:
        return ""
    patches = f"{count(gap.unnamed, 'monkey patch')} {verb(gap.unnamed, 'is')}"
    return f"{patches} not compared: {UNCOMPARED[Uncompared.NO_TARGET]} (`patches list {gap.key} --uncertain`)."


def breaks_phrase(gap: Gap) -> Inline:
    """`20 of the 69 places where our code uses it break at the tip, 8 of them by one change (#58)`."""
    places, total = find_places(gap), count_touched(gap)
    if not places:
        return f"none of our code breaks at the tip{tell_failing(gap)}"
    some = f"{len(places)} of the {total} places" if total > 1 else "the only place"
    broken = f"{some} where our code uses it {verb(len(places), 'breaks')} at the tip{_tell_outside(gap, len(places))}"
    first = gap.causes[0] if gap.causes else None
    if first is None or len(first.places) < 2 or 3 * len(first.places) < len(places):
        return broken
    cell = change_cell(gap, first.commit, first.number)
    return f"{broken}, {len(first.places)} of them by one change (", cell, ")"


def _tell_outside(gap: Gap, total: int) -> str:
    """` (1 in our package and 11 in examples)`: what is not installed weighs less; empty where all is."""
    if not gap.outside:
        return ""
    folders = Counter(place.partition("/")[0] if "/" in place else "the top folder" for place in gap.outside)
    inside = total - len(gap.outside)
    told = [f"{inside or 'none'} in our package", *(f"{number} in {name}" for name, number in folders.most_common(3))]
    rest = sum(number for _, number in folders.most_common()[3:])
    return f" ({listed([*told, *([f'{rest} elsewhere'] if rest else [])])})"


def place_sentence(gap: Gap, *, whole: bool = True) -> str:
    """What a place is, for who reads the word for the first time."""
    uses = "(file:line) that imports, calls, extends or patches" if whole else "that uses"
    once = "where a file uses a name in the same way on several lines, only the first counts; tests are not counted"
    return f"A place is a line of our code {uses} {gap.label}; {once}."


def find_reasons(gap: Gap) -> Iterator[str]:
    """Why it matters, most weighty first."""
    yield from _coupling_sentences(gap)
    yield version_sentence(gap)
    yield churn_sentence(gap)
    yield plain_text(dependency_sentence(gap))
    yield distance_sentence(gap)


def distance_sentence(gap: Gap) -> str:
    behind, ahead = gap.distance.behind, gap.distance.ahead
    match gap.distance.relation:
        case Relation.SAME:
            return "Pin and tip are the same commit."
        case Relation.BEHIND:
            return f"The pin is an ancestor of {gap.ref}: {count(behind, 'commit')} behind and none ahead."
        case Relation.AHEAD:
            return f"The pin is {count(ahead, 'commit')} ahead of {gap.ref} and none behind."
        case Relation.DIVERGED:
            return (
                f"The pin and {gap.ref} have diverged: the pin is {count(behind, 'commit')} behind and {ahead} ahead."
            )
        case Relation.UNRELATED:
            return f"The pin and {gap.ref} share no history."


def version_sentence(gap: Gap) -> str:
    was, now = gap.pin.version, gap.tip.version
    if was is None or now is None:
        return (
            f"The pin is dated {gap.pin.commit.date}, the tip {gap.tip.commit.date}; no version is declared on "
            "both sides."
        )
    if was.text == now.text:
        return (
            f"Pin and tip both declare version {was.text}; the pin is dated {gap.pin.commit.date}, the tip "
            f"{gap.tip.commit.date}."
        )
    step = f": {major_step(gap)}" if major_step(gap) else ""
    return f"The pin declares version {was.text} ({gap.pin.commit.date}), the tip {now.text} ({gap.tip.commit.date}){step}."


def major_step(gap: Gap) -> str:
    """`a major version (4 → 5)`; empty where the first number of the version stays, or one side declares none."""
    was, now = (_read_major(side.version.text) if side.version else None for side in (gap.pin, gap.tip))
    if was is None or now is None or was >= now:
        return ""
    return f"{'a major version' if now - was == 1 else f'{now - was} major versions'} ({was} → {now})"


def _read_major(text: str) -> int | None:
    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return version.major


def release_phrase(gap: Gap, *, whole: bool = True) -> str:
    """`the pin is the newest release, v0.2.2`; how far the newest one is where the pin lacks it."""
    one, making = gap.release, _tell_branch(gap, whole=whole)
    if one is None:
        return f"no release is tagged{making}"
    if one.lacks:
        where = "" if one.is_merged else f", cut on another branch than {gap.ref}"
        lacks = f"{where}, with {count(one.lacks, 'commit')} that the pin does not have" if whole else ""
        return f"the newest release is {one.name} ({one.date}){lacks}{making}"
    if one.past:
        return f"the pin is {count(one.past, 'commit')} past the newest release, {one.name}{making}"
    return f"the pin is the newest release, {one.name}{making}"


def _tell_branch(gap: Gap, *, whole: bool) -> str:
    """A release in the making, on a branch."""
    one = gap.branch
    if one is None:
        return ""
    breaks = verb(len(one.without), "breaks")
    lacks = f", without {listed(list(one.without), most=3)}, which {breaks} our code" if one.without else ""
    if whole:
        return f"; {one.version} is being prepared on the branch {one.name} ({one.date}, no tag yet){lacks}"
    return f"; next: {one.version} on {one.name}{lacks}"


def churn_sentence(gap: Gap) -> str:
    files = len(gap.diff.files)
    if not any(churn.lines for churn in gap.churn):
        return "The trees of pin and tip are the same."
    changed = f"{count(files, 'file')} {verb(files, 'differs')} by +{gap.diff.insertions} −{gap.diff.deletions} lines"
    return f"{changed}: {churn_phrase(gap)}."


def churn_phrase(gap: Gap) -> str:
    """`67 % code, 27 % tests and 5 % docs`."""
    lines = gap.diff.insertions + gap.diff.deletions
    parts = sorted((churn for churn in gap.churn if churn.lines), key=lambda churn: -churn.lines)
    return listed([f"{share(churn.lines, lines)} {churn.name}" for churn in parts[:3]])


def beyond_sentence(gap: Gap) -> str | None:
    """Folders called like the backend beyond the configured ones: examples, tests, configs; None where there are
    none.
    """
    found = [f"{path} ({number})" if number > 1 else path for path, number in gap.footprint.beyond]
    if not found or not gap.footprint.folders:
        return None
    files = sum(number for _, number in gap.footprint.beyond)
    has, path = ("has", "its path") if files == 1 else ("have", "their paths")
    rest = gap.footprint.beyond[3:]
    more = [f"{sum(number for _, number in rest)} in {count(len(rest), 'other path')}"] if rest else []
    return f"{count(files, 'further file')} of ours {has} the backend's name in {path}: {listed([*found[:3], *more])}."


def outside_sentence(gap: Gap) -> str | None:
    """Files of ours beyond the integration folders that touch the upstream, by folder; None where there are none."""
    folders = gap.footprint.folders
    paths = {one.location.path for one in gap.couplings}
    outside = sorted(path for path in paths if not any(path.startswith(f"{folder}/") for folder in folders))
    if not outside or not folders:
        return None
    counted = Counter("/".join(path.split("/")[:-1][:3]) or path for path in outside)
    folders_of = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{number} in {folder}" for folder, number in folders_of[:4]]
    rest = sum(number for _, number in folders_of[4:])
    shown += [f"{rest} in {count(len(folders_of) - 4, 'other folder')}"] if rest else []
    where = listed(list(folders), most=4)
    return f"Outside {where}, {count(len(outside), 'file')} of ours {verb(len(outside), 'uses')} {gap.label}: {listed(shown)}."


def plan_sentence(gap: Gap, shown: str = "") -> str:
    """What the stops are, and how many of the broken places they account for; `shown`: which stand here."""
    told = sum(step.places for step in gap.plan)
    total = gap.recommendation.inputs.will_break or 0
    release = "a release, or " if any(is_final(name) for name, _ in gap.releases) else ""
    stops = count(len(find_stops(gap.plan)), "stop")
    text = (
        f"{stops[:1].upper()}{stops[1:]} on the way{f'; {shown}' if shown else ''}. A stop is {release}the last commit before a change that "
        f"breaks places of ours or asks for other settings, requirements or platforms. {JUDGED if find_stops(gap.plan) else UNSEEN}"
    )
    if any(step.again for step in gap.plan):
        text += " “Again”: an earlier change broke the same place."
    rest = total - told
    return f"{text} For {rest} of the {count(total, 'place')} the change was not found." if total and rest > 0 else text


def tags_phrase(gap: Gap) -> str:
    """Tags of the tip's own history, and those that other branches got in the same days."""
    names = [name for name, _ in gap.releases]
    others = gap.other_tags
    found = f"{count(len(names), 'tag')} in between ({listed(names, most=4)})" if names else "no tag in between"
    if not others:
        return found
    versions = [name for name in others if is_version(name)][::-1]
    named = f"{count(len(versions), 'version tag')} on other branches ({listed(versions, most=3)})"
    return f"{found}; {named}" if versions else found


def _coupling_sentences(gap: Gap) -> Iterator[str]:
    if gap.surface is None:
        return
    places = find_places(gap)
    files = len({place.rpartition(":")[0] for place in places})
    standings = Counter(find_standings(gap).values())
    touched = f"the {count(standings.total(), 'place')} where our code uses {gap.label}"
    rest = _tell_rest(standings, len(find_rewritten(gap)))
    if places:
        which = "The place that breaks is" if len(places) == 1 else f"The {len(places)} places that break are"
        yield f"{which} in {count(files, 'file')}{f'. Of the others, {rest}' if rest else ''}."
    else:
        told = f": {rest}" if rest and standings.keys() - {Standing.FITS} else ""
        yield f"None of {touched} breaks at the tip{told}."
    imports = broken_imports(gap)
    if imports:
        names = listed([f"{coupling.target} ({coupling.state.value})" for coupling in imports], most=3)
        gone = count(len(imports), "imported name") + " " + verb(len(imports), "is") + " no longer there"
        yield f"{sentence(gone)[:-1]}: {names}."
    breaking = list(dict.fromkeys(row.target or row.patch for row in find_breaking(gap.patches or ())))
    if breaking:
        told = count(len(breaking), "patch target") + " of ours " + verb(len(breaking), "breaks")
        yield f"{sentence(told)[:-1]} at the tip: {listed(breaking, most=3)}."


def _tell_rest(standings: Counter[Standing], rewritten: int) -> str:
    """`3 stop applying, 4 need a look and 39 fit`: the places that do not break, each once."""
    told = [
        f"{standings[kind]} {kind.of_one if standings[kind] == 1 else kind.value}"
        for kind in Standing
        if standings[kind] and kind is not Standing.BREAKS
    ]
    inside = f", {rewritten} of them inside methods that must be rewritten" if rewritten else ""
    return f"{listed(told, most=len(Standing))}{inside}" if told else ""


def feature_deltas(gap: Gap, most: int = 5) -> tuple[str, ...]:
    """New capabilities: models and packages the pin had not, then by area what titles say they bring."""
    found = [shorten(plain_text(item), 300) for item in build_novelties(gap)]
    return tuple(found[:most]) or ("No upstream change between pin and tip says that it brings something new.",)


def integration_risks(gap: Gap, most: int = 5) -> tuple[str, ...]:
    """What breaks first, with its place; then what has to be looked at."""
    breaking = list(_one_per_target(gap, Consequence.WILL_BREAK))
    found = [coupling_sentence(coupling) for coupling in breaking]
    told = {str(coupling.location) for coupling in breaking}
    found += [
        f"The patch {row.patch} targets {row.target}: {row.kind} at the tip ({row.location})."
        for row in find_breaking(gap.patches or ())
        if str(row.location) not in told
    ][:2]
    found += [coupling_sentence(coupling) for coupling in _one_per_target(gap, Consequence.MAY_BREAK)]
    if gap.stale_keys:
        names = listed([stale.key for stale in gap.stale_keys], most=4)
        found.append(
            f"{count(len(gap.stale_keys), 'key')[:1].upper()}{count(len(gap.stale_keys), 'key')[1:]} of our YAML "
            f"files {verb(len(gap.stale_keys), 'is')} unknown to the tip: {names}."
        )
    if not found:
        return (
            ("No place of our code breaks at the tip.",)
            if gap.surface
            else ("Our code was not compared with the tip.",)
        )
    return tuple(found[:most])


def coupling_sentence(coupling: Coupling) -> str:
    moved = f", now {coupling.new_target}" if coupling.new_target else ""
    detail = f"; {coupling.detail.rstrip('.')}" if coupling.detail else ""
    what = f"{coupling.location} {coupling.touch.value} {coupling.target}"
    return f"{what}: {say_state(coupling.state.value)}{moved}{detail}."


def breaks_in(gap: Gap, path: str) -> bool:
    """True if a name that we take from this module of the upstream breaks at the tip."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    broken = [one.target for one in gap.couplings if one.consequence is Consequence.WILL_BREAK]
    broken += [row.target or "" for row in find_breaking(gap.patches or ())]
    return any(f".{module}." in f".{target}." for target in broken)


def broken_imports(gap: Gap) -> list[Coupling]:
    """Imports that fail at the tip, one per name."""
    broken = [
        coupling
        for coupling in gap.couplings
        if coupling.consequence is Consequence.WILL_BREAK
        and coupling.touch in {Touch.IMPORT, Touch.MODULE}
        and coupling.state in {State.MOVED, State.RENAMED, State.REMOVED, State.UNBOUND}
    ]
    return list({coupling.target: coupling for coupling in reversed(broken)}.values())[::-1]


def footprint_sentence(gap: Gap, most: int) -> str:
    """How many files of ours stand in the folders of this backend."""
    foot = gap.footprint
    empty, where = foot.tracked - foot.non_empty, listed(list(foot.folders), most=most)
    python = f" ({foot.python} Python)" if foot.python != foot.tracked else ""
    files = count(foot.tracked, "file" if python else "Python file")
    held = f"{where} {'holds' if len(foot.folders) == 1 else 'hold'} {files}{python}"
    return f"{held}; {empty} of the {foot.tracked} {verb(empty, 'is')} empty." if empty else f"{held}."


def tell_surface(gap: Gap, rows: str) -> list[str]:
    """What became of definitions, fields or flags: `2 added`, `1 re-export lost`, `6 signatures changed`."""
    counted = Counter(row.change for row in (getattr(gap.surface, rows) if gap.surface else ()))
    told = []
    for change in SurfaceChange:
        noun, _, became = change.value.rpartition(" ")
        named = [count(counted[change], noun)] if noun else [str(counted[change])]
        told += [" ".join([*named, became])] if counted[change] else []
    return told


def is_package_folder(path: str) -> bool:
    return is_packaged(f"{path}/__init__.py") and not path.startswith(".")


def _one_per_target(gap: Gap, consequence: Consequence) -> list[Coupling]:
    found: dict[str, Coupling] = {}
    for coupling in gap.couplings:
        if coupling.consequence is consequence:
            found.setdefault(coupling.target, coupling)
    return list(found.values())
