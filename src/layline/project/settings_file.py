"""layline.toml as `init` writes it: blocks that work, and comments where the user must choose."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layline.config import Backend, Pin
from layline.core.prose import count, verb
from layline.project.standard_library import ROOT

if TYPE_CHECKING:
    from layline.core.evidence import Location
    from layline.project.upstreams import Proposal
    from layline.source.home_address import HomeAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One backend as it will be written, with what the user must decide."""

    key: str
    backend: Backend
    choices: tuple[str, ...] = ()
    """TOML lines of which the user picks one."""
    remarks: tuple[str, ...] = field(default=())
    asides: tuple[str, ...] = ()
    """What else the project says of it: told in the file alone."""
    named_in: Location | None = None
    """The line of the upstream that names its address, where the project names none."""


def render_settings(project: dict[str, str], drafts: tuple[Draft, ...], home: HomeAddress | None) -> str:
    """`home` is the address that the project's own files give it; a fork may not have changed them."""
    lines = ["# Written by `layline init`; `layline schema config --format text` explains every key.", "", "[project]"]
    lines += [f"{key} = {toml(value)}" for key, value in project.items()]
    if "repository" not in project:
        told = f"{home.location} names it; " if home is not None else ""
        address = home.url if home is not None else "https://…"
        lines.append(f"# repository = {toml(address)}  # {told}for permalinks: uncomment if it is right")
    for draft in drafts:
        lines += ["", f"[backends.{draft.key}]", *_render_backend(draft)]
    return "\n".join(lines) + "\n"


def _render_backend(draft: Draft) -> Iterator[str]:
    backend = draft.backend
    yield from (f"# {remark}" for remark in (*draft.remarks, *draft.asides))
    yield f"label = {toml(backend.label)}"
    if backend.path is not None:
        yield f"path = {toml(backend.path)}"
    if backend.pin is not None:
        yield f"pin = {_render_pin(backend.pin)}"
    yield from (f"# {choice}" for choice in draft.choices)
    if backend.upstream is not None:
        told = f"  # {draft.named_in} of this upstream names it" if draft.named_in is not None else ""
        yield f"upstream = {toml(backend.upstream)}{told}"
    else:
        yield '# upstream = "https://…"  # no file names it; `gap report` and links to commits need it'
    yield f"ref = {toml(backend.ref)}"
    if backend.objects is not None:
        yield f"objects = {toml(backend.objects)}"
    elif backend.path is None:
        yield '# objects = "…"  # a clone or bare mirror of it; without one, --fetch downloads its history once'
    else:
        yield '# objects = "…"  # a clone or bare mirror with its objects, if the submodule is not checked out'
    for name in ("packages", "source_roots", "integration", "patches", "configs"):
        values = getattr(backend, name)
        if name == "source_roots" and values == Backend().source_roots:
            continue
        if values:
            yield f"{name} = {toml(list(values))}"
        elif name == "packages":
            yield "# packages = […]  # default: all that the upstream tree offers at the pin"


def _render_pin(pin: Pin) -> str:
    fields = ("file", "branch", "revision", "variable", "requirement", "tag", "guessed")
    written = [(name, getattr(pin, name)) for name in fields]
    told = [f"{name} = {toml(value)}" for name, value in written if value and (name, value) != ("tag", Pin().tag)]
    return f"{{ {', '.join(told)} }}"


def render_others(others: list[tuple[Proposal, Pin | None, tuple[str, ...]]], *, alone: bool) -> Iterator[str]:
    """Commented blocks for upstreams that cannot be chosen for the user."""
    if not others:
        return
    yield ""
    if alone:
        yield "# No pin was found. Uncomment the upstream that this project patches, and fill in what is missing:"
    else:
        yield "# Other packages that may be upstreams:"
    for one, pin, folders in others:
        tag = _name_tag(pin, one) if one.tag is None else None
        asked = f"; whether upstream has the tag {tag} was not checked" if tag is not None else ""
        said = f"{one.version.said}{asked}" if one.version is not None else "the tag or commit it is written for"
        yield f"# [backends.{one.package}]  # {say_use(one)}"
        yield f"# pin = {_render_pin(pin or Pin(revision='…'))}  # {said}"
        yield f"# upstream = {toml(one.address or 'https://…')}"
        yield '# objects = "…"  # a clone or bare mirror; not needed with an upstream address and --fetch'
        yield f"# packages = {toml(list(one.modules or [one.package]))}"
        if one.modules:
            yield f"# source_roots = {toml([ROOT])}"
        yield f"# integration = {toml(list(folders))}"
    yield ""


def _name_tag(pin: Pin | None, one: Proposal) -> str | None:
    """The tag that the version of a requirement is taken for; None where it names a repository's own."""
    if pin is None or one.version is None or one.version.address:
        return None
    return pin.revision or pin.tag.format(version=one.version.text)


def say_use(one: Proposal) -> str:
    lines = f"at least {count(one.writes, 'line')} of ours {verb(one.writes, 'assigns')} to its names"
    patched = f"; {lines} (`patches list` finds all)" if one.writes else ""
    if one.modules:
        return f"Python's own library: {count(one.writes, 'line')} of ours {verb(one.writes, 'assigns')} to its names"
    return f"imported by {count(one.files, 'file')} (without tests, examples and third-party folders){patched}"


def relative(place: Path, folder: Path) -> str:
    """As `folder` sees it, also beside it; whole where it lies far away."""
    seen = os.path.relpath(place.resolve(), folder.resolve())
    return place.resolve().as_posix() if seen.startswith("../../") else Path(seen).as_posix()


def toml(value: Any) -> str:
    """Strings and lists of strings read the same in JSON and TOML; DEL is the one character that differs."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
