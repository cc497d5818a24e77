"""What is configured, what is found, what is missing and how to get it."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from layline.core.environment import OPTIONAL, install_extra
from layline.core.prose import count, verb
from layline.core.report import Answer, Bullets, Paragraph, Report, Section, Table
from layline.errors import Error
from layline.files import name_path
from layline.gap.dependencies import Rank, read_declarations
from layline.gap.endpoints import find_endpoints
from layline.history.pins import read_pin
from layline.project.versions import find_range
from layline.source.tree import Tree
from layline.workspace.guessed import say_guess, say_remedy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.config import Backend
    from layline.project import answers
    from layline.workspace.open import Workspace

_EXTRAS = {
    "pdf": "PDFs",
    "campaign": "campaigns",
    "mcp": "agents: `layline mcp`",
    "lsp": "editors: `layline lsp`",
    "upgrade": "edits: `layline upgrade plan` and `apply`",
}
"""Which commands need an extra of the package; a Ray cluster is `doctor --executor`'s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing looked at: ok, missing (something asked for is not there), absent (nothing asked for it), or guessed (a
    pin that no file of the project names).
    """

    subject: str
    what: str
    state: str
    detail: str
    remedy: str = ""
    value: str | None = None
    """The revision, where this is a pin."""


def build_answer(title: str, meta: tuple[tuple[str, str], ...], summary: str, findings: list[Finding]) -> Answer:
    rows = tuple((item.subject, item.what, item.state, item.detail) for item in findings)
    report = Report(
        title=title,
        meta=meta,
        sections=(
            Section(title="", blocks=(Paragraph(summary),)),
            *_say_remedies("To do", [item for item in findings if item.state in {"missing", "guessed"}]),
            Section(title="", blocks=(Table(columns=("where", "what", "state", "found"), rows=rows),)),
            *_say_remedies("Optional", [item for item in findings if item.state == "absent"]),
        ),
    )
    data: answers.Doctor = {
        "schema": "layline.doctor/1",
        "findings": [_encode(item) for item in findings],
    }
    return Answer(report=report, data=data)


def _encode(item: Finding) -> answers.Finding:
    told: answers.Finding = {
        "subject": item.subject,
        "what": item.what,
        "state": item.state,
        "detail": item.detail,
        "remedy": item.remedy,
    }
    if item.value:
        told["value"] = item.value
    return told


def _say_remedies(title: str, findings: list[Finding]) -> Iterator[Section]:
    items = tuple(f"{item.subject}, {item.what}: {item.detail} {item.remedy}" for item in findings if item.remedy)
    if items:
        yield Section(title=title, blocks=(Bullets(items),))


def summarise(missing: int, looked_at: int, backends: int, guessed: int = 0) -> str:
    if missing:
        return f"{missing} of {looked_at} prerequisites {verb(missing, 'is')} missing."
    if not backends:
        return "No backend is configured yet. Edit layline.toml: uncomment one block."
    doubt = f" {count(guessed, 'pin')} {verb(guessed, 'is')} a guess." if guessed else ""
    return (
        f"Nothing is missing: {count(backends, 'backend')} {'is' if backends == 1 else 'are'} configured and can be "
        f"read.{doubt}"
    )


def judge_platform(system: str, libc: str) -> Finding:
    """Whether kernel campaigns can run here: they confine, pin and count processes as Linux with glibc does."""
    if (system, libc.partition(" ")[0]) == ("Linux", "glibc"):
        return Finding(subject="machine", what="campaigns", state="ok", detail=f"{system} with {libc}")
    found = f"{system} with {libc or 'another C library'}" if system == "Linux" else system or "an unknown system"
    return Finding(
        subject="machine",
        what="campaigns",
        state="absent",
        detail=f"need Linux with glibc; this is {found}. gap, patches, periodic and dashboard work here",
        remedy="Run `layline campaign` on such a machine.",
    )


def look_at_tools() -> Iterator[Finding]:
    yield Finding(subject="machine", what="python", state="ok", detail=sys.version.split()[0])
    yield Finding(subject="machine", what="system", state="ok", detail=f"{platform.system()} on {platform.machine()}")
    yield judge_platform(platform.system(), " ".join(platform.libc_ver()).strip())
    for program, use, remedy in (
        ("git", "everything", "Install git 2.30 or newer."),
        ("cc", "kernel campaigns on the CPU", "Install gcc or clang."),
        ("chromium", "browser tests of the dashboard", "apt-get install chromium."),
    ):
        place = shutil.which(program)
        needed = program == "git"
        state = "ok" if place else "missing" if needed else "absent"
        yield Finding(
            subject="machine",
            what=program,
            state=state,
            detail=_version(place) or f"used for {use}",
            remedy="" if place else remedy,
        )
    for extra, use in _EXTRAS.items():
        found = [module for module in OPTIONAL[extra] if importlib.util.find_spec(module) is not None]
        yield Finding(
            subject="machine",
            what=next(iter(OPTIONAL[extra])),
            state="ok" if len(found) == len(OPTIONAL[extra]) else "absent",
            detail=f"used for {use} (extra {extra})",
            remedy="" if len(found) == len(OPTIONAL[extra]) else install_extra(extra),
        )


def _look_at_range(tree: Tree, key: str, backend: Backend) -> Iterator[Finding]:
    """A project may support several versions; what is said of one of them need not hold for the others."""
    allowed = find_range(read_declarations(tree, last=Rank.REQUIREMENTS), backend.packages)
    if allowed is not None:
        told = f"{allowed.place} allows {allowed.spec}; answers are for the pin; `layline patches matrix` judges other versions"
        yield Finding(subject=key, what="versions", state="ok", detail=told)


def _version(program: str | None) -> str:
    if program is None:
        return ""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return program
    return done.stdout.decode("utf-8", "replace").splitlines()[0] if done.stdout else program


def look_at_backend(workspace: Workspace, tree: Tree, key: str, backend: Backend) -> Iterator[Finding]:
    try:
        pinned = read_pin(workspace.downstream, workspace.commit, key, backend)
        place = f"{pinned.revision[:12]} in {pinned.evidence.path or 'layline.toml'}"
        guess = say_guess(backend)
        yield Finding(
            subject=key,
            what="pin",
            state="guessed" if guess else "ok",
            detail=guess or place,
            remedy=say_remedy(key) if guess else "",
            value=pinned.revision,
        )
    except Error as error:
        yield Finding(subject=key, what="pin", state="missing", detail=error.message, remedy=error.hint or "")
        return
    yield from _look_at_range(tree, key, backend)
    try:
        upstream = workspace.open_backend(key)
        yield Finding(subject=key, what="objects", state="ok", detail=name_path(upstream.git_dir))
        ends = find_endpoints(workspace, upstream, key)
        yield Finding(subject=key, what=f"ref {ends.ref}", state="ok", detail=ends.tip[:12])
    except Error as error:
        yield Finding(subject=key, what="objects", state="missing", detail=error.message, remedy=error.hint or "")
    if backend.upstream is None:
        yield Finding(
            subject=key,
            what="address",
            state="absent",
            detail="`gap report` and links to commits need the https address of its repository.",
            remedy=f"Write backends.{key}.upstream.",
        )
    for name in ("integration", "patches", "configs"):
        for folder in getattr(backend, name):
            files = sum(1 for _ in tree.paths(folder)) or int(tree.find(folder) is not None)
            state = "ok" if files else "missing"
            remedy = "" if files else f"Correct backends.{key}.{name}."
            yield Finding(
                subject=key,
                what=f"{name} {Path(folder).as_posix()}",
                state=state,
                detail=count(files, "file"),
                remedy=remedy,
            )
