"""Which upstreams a project has, at which pins: what is ambiguous becomes a comment, never a guess."""

from __future__ import annotations

import posixpath
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from packaging.version import Version as Number

from layline.config import FILE_NAME, Backend, Pin, parse_settings
from layline.core.evidence import Alert, Severity
from layline.core.prose import count, listed
from layline.core.report import Answer, Block, Bullets, Paragraph, Report, Section, Table
from layline.project.asked import Asked, find_asked
from layline.project.settings_file import Draft, relative, render_others, render_settings, say_use, toml
from layline.project.standard_library import ROOT
from layline.project.submodules import Survey, draft_submodules, find_package, find_submodules
from layline.project.upstreams import Proposal, Unused, choose, find_tags, propose_upstreams, read_origin
from layline.source import survey
from layline.source.checkouts import find_checkouts
from layline.source.home_address import read_home_address
from layline.source.setup_script import read_setup_name

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from layline.git import Repository
    from layline.project import answers
    from layline.source.checkouts import Checkout
    from layline.source.survey import WrittenPin
    from layline.source.tree import Tree


_BLOCKS = 4
"""Commented blocks for upstreams that were not chosen."""


@dataclass(frozen=True, slots=True)
class ProposedSettings:
    """A layline.toml as it would be written."""

    text: str
    drafts: tuple[Draft, ...]
    others: tuple[Proposal, ...]
    """Upstreams that cannot be chosen for the user: commented blocks."""
    unused: tuple[Unused, ...] = ()
    """Clones that the user named in vain."""


def propose_settings(tree: Tree, folder: Path, place: Path, upstreams: tuple[Path, ...]) -> ProposedSettings:
    """Survey the downstream at `place` for a file in `folder`; `upstreams` are clones that the user named."""
    project = _survey_project(tree, tree.repository, folder, place)
    imported = survey.find_imported_packages(tree)
    submodules = find_submodules(tree)
    surveyed = Survey(tree=tree, place=place, folder=folder, clones=upstreams, imported=imported)
    pinned = {clone for submodule in submodules if (clone := surveyed.find_clone(submodule)) is not None}
    elsewhere = [clone for clone in upstreams if clone not in pinned]
    proposed, unused = propose_upstreams(tree, imported, place.resolve().parent, elsewhere)
    names = {survey.normalise(posixpath.basename(item.path)) for item in submodules}
    drafts = (*draft_submodules(surveyed, submodules), *_draft_written_pins(tree, imported, names))
    if not drafts and not upstreams:
        asked = {one.package: one for one in proposed if one.version is not None and one.version.is_required}
        told = tuple(_draft_checkouts(tree, imported, project, asked, folder))
        patched = {one.package for one in proposed if one.writes}
        drafts = tuple(draft for draft in told if draft.key in patched) if patched else told
    known = {package for draft in drafts for package in (draft.key, *draft.backend.packages)}
    drafts = tuple(_use_clone(tree, draft, proposed, folder) for draft in drafts)
    proposals = [one for one in proposed if one.package not in known]
    chosen = choose(proposals, upstreams, alone=not drafts)
    drafts += tuple(_draft_proposal(tree, one, folder) for one in chosen)
    others = tuple(one for one in proposals if one not in chosen)
    text = render_settings(project, drafts, read_home_address(tree, project["name"]))
    shown = [
        (one, _choose_pin(one), _find_importing_folders(tree, *(one.modules or (one.package,))))
        for one in others[:_BLOCKS]
    ]
    text += "\n".join(render_others(shown, alone=not drafts))
    parse_settings(text, where=FILE_NAME)  # what we write must load
    return ProposedSettings(text, drafts, others, unused)


def _survey_project(tree: Tree, downstream: Repository, folder: Path, place: Path) -> dict[str, str]:
    address = read_origin(downstream)
    name = _read_name(tree)
    if not name:
        name = posixpath.basename(address).lower() if address else re.sub(r"\W+", "-", place.resolve().name).strip("-")
    project = {"name": name or "project"}
    if address:
        project["repository"] = address
    if place.resolve() != folder.resolve():
        project["git"] = relative(place, folder)
    return project


def _read_name(tree: Tree) -> str:
    """What the project calls itself: `[project] name` of pyproject.toml, else `name` of the call of `setup`."""
    pyproject = tree.read_text("pyproject.toml")
    if isinstance(pyproject, str):
        try:
            name = str(tomllib.loads(pyproject).get("project", {}).get("name", ""))
        except (tomllib.TOMLDecodeError, AttributeError):
            name = ""
        if name:
            return name
    setup = tree.read_text("setup.py")
    return (read_setup_name(setup) or "") if isinstance(setup, str) else ""


def _draft_written_pins(tree: Tree, imported: Counter[str], known: set[str]) -> Iterator[Draft]:
    """A written pin is a backend when the downstream imports a package of its name and its address is known."""
    pins: dict[str, list[WrittenPin]] = {}
    for pin in survey.find_written_pins(tree):
        pins.setdefault(pin.name, []).append(pin)
    packages = {survey.normalise(name): name for name, _ in reversed(imported.most_common())}
    addresses = survey.find_addresses(tree) if pins else {}
    for name, places in pins.items():
        beside = next((pin.address for pin in places if pin.address), None)
        # an address names the repository, `Keel-Core`; a variable the package
        package = packages.get(name) or (find_package(name, imported) if beside else None)
        address = beside or addresses.get(name)
        if package is not None and address is not None and name not in known:
            yield _draft_written_pin(tree, package, address, places)


def _draft_written_pin(tree: Tree, package: str, address: str, places: list[WrittenPin]) -> Draft:
    options = {(pin.location.path, pin.variable): pin for pin in places}
    lines = tuple(_pin_line(pin) for pin in options.values())
    differ = len({pin.commit for pin in places}) > 1
    first = next(iter(options.values()))
    folders = _find_importing_folders(tree, package)
    backend = Backend(
        label=posixpath.basename(address),
        pin=None if differ else Pin(file=first.location.path, variable=first.variable),
        upstream=address,
        packages=(package,),
        integration=folders,
        patches=tuple(
            patch
            for folder in folders
            for patch in survey.find_patch_folders(tree, folder)
            if survey.find_imported_packages(tree, patch)[package]
        ),
    )
    where = "one place" if len(options) == 1 else f"{len(options)} places"
    remark = f"pinned in {where}" + (" that differ: choose one" if differ else "")
    return Draft(key=package, backend=backend, choices=lines if len(lines) > 1 else (), remarks=(remark,))


def _find_importing_folders(tree: Tree, *packages: str) -> tuple[str, ...]:
    own = [
        folder for folder in survey.find_own_folders(tree) if not re.match("tests?(_|$)", posixpath.basename(folder))
    ]
    return tuple(
        folder for folder in own if not survey.find_imported_packages(tree, folder).keys().isdisjoint(packages)
    )


def _draft_checkouts(
    tree: Tree, imported: Counter[str], project: dict[str, str], asked: dict[str, Proposal], folder: Path
) -> Iterator[Draft]:
    """Where nothing is pinned: upstreams that the project's own texts tell people to clone at one version; of those
    that the package itself asks for (`asked`) only the address is taken from there.
    """
    own = {posixpath.basename(folder) for folder in survey.find_own_folders(tree)}
    by_package: dict[str, list[Checkout]] = {}
    for checkout in find_checkouts(tree):
        package = find_package(checkout.name, imported)
        if package is not None and package not in own and checkout.address != project.get("repository"):
            by_package.setdefault(package, []).append(checkout)
    for package, places in by_package.items():
        draft = _draft_checkout(tree, package, places)
        one = asked.get(package)
        if one is not None:
            required = _draft_proposal(tree, replace(one, address=one.address or draft.backend.upstream), folder)
            labelled = replace(required.backend, label=draft.backend.label)
            draft = replace(required, backend=labelled, asides=(*required.asides, *draft.remarks))
        elif draft.choices:
            draft = replace(draft, remarks=(f"{draft.remarks[0]}: choose one", *draft.remarks[1:]))
        yield draft


def _draft_checkout(tree: Tree, package: str, places: list[Checkout]) -> Draft:
    revisions = list(dict.fromkeys(place.revision for place in places))
    addresses = list(dict.fromkeys(place.address for place in places))
    several = len(revisions) > 1
    lines = tuple(f"pin = {{ revision = {toml(item.revision)} }}  # {item.location}" for item in _first_of_each(places))
    told = (
        f"{len(places)} places of the project check out {len(revisions)} versions"
        if several
        else f"{places[0].location} checks out {revisions[0]}"
    )
    backend = Backend(
        label=posixpath.basename(addresses[0]),
        pin=None if several else Pin(revision=revisions[0]),
        upstream=addresses[0],
        packages=(package,),
        integration=_find_importing_folders(tree, package),
    )
    also = (f"also cloned from {address}" for address in addresses[1:])
    return Draft(key=package, backend=backend, choices=lines if several else (), remarks=(told, *also))


def _first_of_each(places: list[Checkout]) -> list[Checkout]:
    return list({place.revision: place for place in reversed(places)}.values())[::-1]


_WRITE_IT = "write the version that you use, then remove `guessed`"
_TRY_ALL = "`layline patches matrix --refs all-tags` shows with which releases our code works"
_ON_BRANCH = 'a pin in a file of another branch of ours is written as pin = { file = "…", branch = "…" }'
_MOST_ASKED = 3


def _draft_proposal(tree: Tree, one: Proposal, folder: Path) -> Draft:
    """A block that works: the pin is a version that the project's own files name."""
    version = one.version
    remarks, asides = [say_use(one)], list[str]()
    asked = _find_asked(tree, one) if version is None or version.mentioned else []
    named = f"our code tests for {listed([str(item) for item in asked], most=_MOST_ASKED)}" if asked else ""
    if version is None:
        bounds = f"{one.bounded}, which names no release" if one.bounded else "no file of the project pins a version"
        remarks.append(f"the pin is a guess, the newest release: {bounds}")
    elif version.mentioned:
        remarks.append(f"the pin is a guess: {version.said}")
    else:
        known = one.tag or version.file or version.address
        remarks.append(version.said + ("" if known else "; the tag is assumed: check it"))
        if version.choice:
            remarks.append(version.choice)
        if version.others:
            asides.append(f"other places ask for it, too: {listed(version.others, most=4)}")
            asides += [f"why this one: {version.before}"] if version.before else []
    if version is None or version.mentioned:
        remarks += [named] if named else []
        asides += [f"{_WRITE_IT}. {_TRY_ALL}", _ON_BRANCH]
    pin = _choose_pin(one)
    if pin is not None and pin.guessed and named:
        pin = replace(pin, guessed=named)
    folders = _find_importing_folders(tree, *(one.modules or (one.package,)))
    backend = Backend(
        label=one.package,
        pin=pin,
        upstream=one.address,
        ref=one.ref,
        objects=relative(one.clone, folder) if one.clone is not None else None,
        packages=one.modules or (one.package,),
        source_roots=(ROOT,) if one.modules else Backend().source_roots,
        integration=folders,
        patches=tuple(patch for name in folders for patch in survey.find_patch_folders(tree, name)),
    )
    others = (*one.others, *find_tags(one.clone, [item.version for item in asked[:1]]))
    choices = tuple(f"pin = {{ revision = {toml(tag)} }}  # {why}" for tag, why in others)
    return Draft(
        key=one.package,
        backend=backend,
        choices=choices,
        remarks=tuple(remarks),
        asides=tuple(asides),
        named_in=one.named_in,
    )


def _find_asked(tree: Tree, one: Proposal) -> list[Asked]:
    """Versions that our code tests for, the newest first; what it only tests against where there is nothing else."""
    found = find_asked(tree, [one.package]).get(one.package, [])
    needed = [item for item in found if item.operator in {">=", ">", "=="}]
    return sorted(needed or found, key=lambda item: Number(item.version), reverse=True)


def _use_clone(tree: Tree, draft: Draft, proposed: list[Proposal], folder: Path) -> Draft:
    """The same draft with the history that is here; of a submodule only where it has the pinned commit."""
    names = {draft.key, *draft.backend.packages}
    clone, ref = next(((one.clone, one.ref) for one in proposed if one.clone and one.package in names), (None, ""))
    if clone is None or draft.backend.objects is not None:
        return draft
    if draft.backend.path is None:
        return replace(draft, backend=replace(draft.backend, objects=relative(clone, folder), ref=ref))
    pin = tree.entries[draft.backend.path].oid[:12]
    lacking = f"{relative(clone, folder)} does not have the pinned commit {pin}: fetch it there, then run `layline init --force` again"
    return replace(draft, remarks=(*draft.remarks, lacking))


def _choose_pin(one: Proposal) -> Pin | None:
    version = one.version
    if version is not None and version.branch is not None:
        return Pin(file=version.file, branch=version.branch)
    if version is not None and version.file is not None:
        tag = one.tag.replace(version.text, "{version}") if one.tag and version.text in one.tag else "v{version}"
        return Pin(file=version.file, requirement=one.distribution, tag=tag)
    if one.tag is not None:
        return Pin(revision=one.tag, guessed=version is None or version.mentioned)
    if version is None:
        return None
    return Pin(revision=version.text if version.address else f"v{version.text}")


def _pin_line(pin: WrittenPin) -> str:
    inner = f"file = {toml(pin.location.path)}" + (f", variable = {toml(pin.variable)}" if pin.variable else "")
    return f"pin = {{ {inner} }}  # line {pin.location.line}: {pin.commit[:12]}"


def _say_pin(draft: Draft) -> str:
    pin = draft.backend.pin
    if pin is None:
        return draft.backend.path or "undecided"
    return pin.revision or f"{pin.file}: {pin.requirement or pin.variable or 'commit'}"


def _is_here(draft: Draft) -> tuple[bool, bool]:
    """Whether its history is on this machine, or at least a pin and an address to fetch it from are known."""
    backend = draft.backend
    has_pin = backend.path is not None or backend.pin is not None
    here = backend.objects is not None or (backend.path is not None and bool(backend.packages))
    return here and has_pin, has_pin and backend.pin is not None and backend.upstream is not None


def _say_steps(drafts: tuple[Draft, ...]) -> Iterator[str]:
    for draft in drafts:
        if draft.backend.pin is not None and draft.backend.pin.guessed:
            yield f"in [backends.{draft.key}] of {FILE_NAME} {_WRITE_IT}"
    yield "`layline doctor` says what is found and what is missing"
    if not drafts:
        return
    first = max(drafts, key=_is_here)
    fetch = " --fetch" if first.backend.objects is None and first.backend.path is None else ""
    yield f"`layline gap show {first.key}{fetch}` says how far it is behind"
    yield f"`layline patches drift {first.key}` says which of our patches break"
    pin = first.backend.pin
    own = ". `layline upgrade apply` moves the pin in it; requirements of your package and of CI stay as they are"
    yield f"commit {FILE_NAME}{own if pin is not None and pin.revision is not None else ''}"
    if any(PurePath(draft.backend.objects or "").is_absolute() for draft in drafts):
        yield f"`objects` in {FILE_NAME} is a path of this machine: on another machine change the path, or delete the line and use --fetch"


def _say_blocks(number: int) -> str:
    if number <= _BLOCKS:
        return "it" if number == 1 else "each of them"
    return f"each of the first {_BLOCKS}"


def build_answer(file: Path, proposed: ProposedSettings) -> Answer:
    text, drafts, others = proposed.text, proposed.drafts, proposed.others
    rows = tuple(
        (
            draft.key,
            _say_pin(draft),
            draft.backend.upstream or draft.backend.objects or "?",
        )
        for draft in drafts
    )
    remarks = tuple(f"{draft.key}: {remark}" for draft in drafts for remark in draft.remarks)
    undecided = [draft.key for draft in drafts if draft.backend.path is None and draft.backend.pin is None]
    alerts = tuple(
        Alert(
            severity=Severity.LOOK, message=f"backends.{key}: the pin is ambiguous; choose one of the commented lines"
        )
        for key in undecided
    )
    alerts += tuple(Alert(severity=Severity.LOOK, message=f"not used: {one}.") for one in proposed.unused)
    number = count(len(drafts), "backend")
    summary = f"Wrote {file} {f'with {number}' if drafts else 'without a backend'}."
    steps = tuple(_say_steps(drafts))
    blocks: tuple[Block, ...] = (
        Paragraph(summary),
        Table(columns=("backend", "pin", "upstream"), rows=rows),
        Bullets(remarks),
    )
    patched = [f"{one.package}{' (what comes with Python)' if one.modules else ''}" for one in others if one.writes]
    if not drafts and patched:
        said = (
            f"{summary} Our code assigns to names of {listed(patched)}, but no file of the project says both where to get "
            "one of them and which version is meant. Clone one and run `layline init --force --upstream CLONE`, or "
            f"uncomment its block in {FILE_NAME} and fill it in."
        )
        blocks = (Paragraph(said),)
    elif not drafts:
        blocks = (Paragraph(f"{summary} No pin was found: open the file and uncomment one of its blocks."),)
    elif patched:
        said = (
            f"Our code also assigns to names of {listed(patched)}. {FILE_NAME} has a commented block for "
            f"{_say_blocks(len(patched))}. To make one a backend, uncomment its block and fill in what is missing."
        )
        blocks = (*blocks, Paragraph(said))
    report = Report(
        title="layline init",
        alerts=alerts,
        sections=(Section(title="", blocks=blocks), Section(title="Next", blocks=(Bullets(steps),))),
    )
    backends: list[answers.Draft] = [
        {"key": draft.key, "remarks": [*draft.remarks, *draft.asides], "choices": list(draft.choices)}
        for draft in drafts
    ]
    data: answers.Init = {"schema": "layline.init/1", "file": str(file), "backends": backends, "text": text}
    return Answer(report=report, data=data)
