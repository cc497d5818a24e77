"""`layline.toml` → Settings. Unknown keys are refused with the nearest known one; nothing is guessed."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from layline import codec
from layline.core.environment import PdfEngine
from layline.core.policy import Policy
from layline.errors import ConfigError, RecordError, say_error

FILE_NAME = "layline.toml"
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
_STRICT: dict[str, Any] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The downstream: the layered framework itself."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    name: str
    """Its name in reports."""
    repository: str | None = None
    """Its https address, for permalinks."""
    docs: str = "docs"
    """Where reports are written, relative to the root of the downstream."""
    git: str = "."
    """Where the downstream's git directory is, relative to this file."""
    source_roots: tuple[str, ...] = (".", "src")
    """Folders of the downstream in which its modules lie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Where the pin is written when it is not a submodule: `file`, or `revision` right here."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    file: str | None = None
    """A file of the downstream that holds it."""
    branch: str | None = None
    """The branch of the downstream whose newest commit has that file; default: the commit looked at."""
    revision: str | None = None
    """The upstream commit or tag itself, for a downstream that writes its pin nowhere."""
    variable: str | None = None
    """The name of an ENV, ARG, workflow or shell variable in that file, or the key of a JSON file (`deps.keel.ref`);
    without it the file holds one commit."""
    requirement: str | None = None
    """The distribution whose pinned version in that file (pyproject.toml, requirements) names an upstream tag."""
    tag: str = "v{version}"
    """How a version becomes a tag, for `requirement`."""
    guessed: bool | str = False
    """`init` guessed the `revision`, because no file pins one; answers say so until you remove this. A text says which
    versions the project names instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One upstream as the downstream uses it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    label: str = ""
    """Its name in reports; default: its key."""
    path: str | None = None
    """The submodule; the pin is the gitlink there at the downstream commit looked at."""
    pin: Pin | None = None
    """Where else the pin is written."""
    upstream: str | None = None
    """https address of the upstream repository."""
    ref: str = "main"
    """The upstream ref to compare with."""
    objects: str | None = None
    """A local clone or bare mirror that holds the upstream objects; default: Layline's own mirror (made by --fetch),
    then the submodule."""
    packages: tuple[str, ...] = ()
    """Upstream packages, dotted (`megatron.core`); a name belongs to the backend with the longest match."""
    source_roots: tuple[str, ...] = (".", "src")
    """Folders of the upstream tree in which modules lie."""
    integration: tuple[str, ...] = ()
    """Our folders for this backend: a patch in one belongs to it, whichever package it changes."""
    patches: tuple[str, ...] = ()
    """More such folders: those with its patches."""
    configs: tuple[str, ...] = ()
    """Files or folders of the downstream with the YAML defaults of this backend's flags."""
    areas: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Named parts of the upstream tree, by path patterns (`*` crosses folders, the first match counts); default:
    models, distributed runtime, experiments, components, docs, workflows, tests and the like."""
    churn: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Classes of changed files, by path patterns; what none matches is code. Default: lock files, generated and golden,
    tests, docs, workflows and builds."""
    dependencies: tuple[str, ...] = ()
    """Files of the upstream tree that declare its dependencies; default: the well-known ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """How the downstream registers patches, besides the well-known names; functions are given by their last name."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    handlers: tuple[str, ...] = ()
    """Functions whose call or decorator takes an installer: `install_patch("id", phase=…)(installer)`."""
    paths: tuple[str, ...] = ()
    """Functions whose call names a target by text: `swap("a.b.C.m", replacement)`, or as a decorator."""
    wrappers: tuple[str, ...] = ()
    """Functions that wrap: `trace(module, "Class.method", wrapper)`."""
    ignored: tuple[str, ...] = ()
    """Functions that register nothing although they have a well-known name, such as `wrap` or `register`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One kind of merged pull request. Each criterion is tried on all categories before the next one."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    name: str
    """Its name in reports."""
    moves_pins: bool = False
    """It takes the pull requests that move a pin."""
    prefixes: tuple[str, ...] = ()
    """What the title begins with: `fix` for `fix(x): …`, `Fix/x: …`, `[Fix] …`, `Fix the …`; also the scope `x`."""
    words: tuple[str, ...] = ()
    """Whole words in the title."""
    paths: tuple[str, ...] = ()
    """Path patterns; all changed files must match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedPin:
    """A commit variable of the downstream whose moves a status reports."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    file: str
    """The file of the downstream that has it."""
    variable: str
    """Its name there."""
    counted: bool = True
    """Whether it names a commit of the status's own backend, so that its moves can be counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusShape:
    """What the `<key>_status` object of a periodic record holds."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    kind: Literal["upstream", "in-repo"] = "upstream"
    """`upstream` compares pin and tip; `in-repo` the pins below, now and when the month or quarter began."""
    pins: dict[str, TrackedPin] = field(default_factory=dict)
    """See below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Periodic:
    """Weekly and monthly reports."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    preset: str | None = None
    """`primus`: its categories, status objects and required keys, unless said otherwise here."""
    timezone: str = ""
    """Time zone of weeks and months; default: that of the preset, else UTC."""
    ref: str = "HEAD"
    """The downstream ref whose merged pull requests are reported."""
    branch: str = ""
    """The branch in links to published reports; default: the one that `ref` means."""
    required: tuple[str, ...] = ()
    """Status keys every periodic record must have."""
    categories: tuple[Category, ...] = ()
    """See below; the last one takes the rest."""
    statuses: dict[str, StatusShape] = field(default_factory=dict)
    """See below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """The published site and its PDFs."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    title: str | None = None
    """Its name in browser tabs; default: the project's name and `engineering dashboard`."""
    periodic_pages: bool = False
    """Put the Markdown of weekly and monthly reports on the site; otherwise it is only linked."""
    sections: str | None = None
    """A JSON manifest of static folders and links to mount, relative to this file."""
    pdf_engine: PdfEngine = "typst"
    """`typst` or `weasyprint`."""
    pdf_style: str | None = None
    """A stylesheet of your own for PDFs, relative to this file; needs the weasyprint engine."""
    pdf_fonts: str | None = None
    """A folder of fonts, relative to this file, for scripts Typst's own fonts lack (Chinese, Japanese, Korean …)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """Where questions about many commits and backends are answered."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    where: str | None = None
    """`local:N`, `ray://HOST:PORT` or `auto`, as `--executor` takes it; default: in the command's own process."""


def miss_backend() -> ConfigError:
    """A layline.toml without a block for any upstream: what every command says that needs one."""
    return ConfigError(
        "No backend is configured yet.",
        hint=f"In {FILE_NAME} uncomment one block and fill it in, or run `layline init --force --upstream CLONE`.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything `layline.toml` says."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT
    project: Project
    backends: dict[str, Backend] = field(default_factory=dict)
    registries: dict[str, Registry] = field(default_factory=dict)
    """How patches are registered, by any name."""
    policy: Policy = field(default_factory=Policy)
    """The thresholds from which a sync is planned or urgent."""
    periodic: Periodic = field(default_factory=Periodic)
    dashboard: Dashboard = field(default_factory=Dashboard)
    executor: Executor = field(default_factory=Executor)

    def choose(self, name: str | None, *, or_else: str = "") -> str:
        """The key of the backend that a user means: by key or label, in any case; the only one where none is named.

        `or_else`: what else the user can write, for the hint.
        """
        if name is None:
            if len(self.backends) == 1:
                return next(iter(self.backends))
            if not self.backends:
                raise miss_backend()
            raise ConfigError("Which backend?", hint=f"Name one of {', '.join(self.backends)}{or_else}.")
        if name in self.backends:
            return name
        fitting = [key for key, one in self.backends.items() if name.lower() in {key.lower(), one.label.lower()}]
        if len(fitting) == 1:
            return fitting[0]
        self.backend(name)
        return name

    def knows(self, name: str) -> bool:
        """Whether a backend is called or labelled so."""
        return any(name.lower() in {key.lower(), one.label.lower()} for key, one in self.backends.items())

    def backend(self, key: str) -> Backend:
        if key in self.backends:
            return self.backends[key]
        names = {word.lower(): name for name, one in self.backends.items() for word in (one.label or name, name)}
        near = [names[word] for word in difflib.get_close_matches(key.lower(), names, n=1)]
        known = ", ".join(sorted(self.backends)) or "none"
        raise ConfigError(
            f"There is no backend called {key!r}.",
            hint=f"Did you mean {near[0]!r}?" if near else f"Configured backends: {known}. {_say_how_to_add(key)}",
        )


def _say_how_to_add(name: str) -> str:
    block = f"uncomment or write [backends.{name}]" if _KEY.match(name) else "write a block"
    return (
        f"To add one, {block} in {FILE_NAME}, or run `layline init --force --upstream CLONE`, which writes the file "
        "again."
    )


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and the folder that their relative paths count from."""

    settings: Settings
    root: Path
    file: Path


def has_settings_file(start: Path) -> bool:
    return any((folder / FILE_NAME).is_file() for folder in (start, *start.parents))


def find_settings_file(start: Path) -> Path:
    """`layline.toml` in `start` or the nearest folder above it."""
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    raise ConfigError(
        f"There is no {FILE_NAME} here or above.",
        hint="`layline init` writes one by looking at the project; `layline demo` shows Layline on a sample.",
    )


def load_settings(file: Path) -> Loaded:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{file} cannot be read: {say_error(error)}.",
            hint="`-c` names an existing layline.toml; `layline init` writes one.",
        ) from None
    return Loaded(parse_settings(text, where=str(file)), file.parent.resolve(), file)


def parse_settings(text: str, *, where: str = FILE_NAME) -> Settings:
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not TOML: {error}.", hint="Correct that line of the file.") from None
    unknown = list(_find_unknown_keys(Settings, plain, ""))
    if unknown:
        raise ConfigError(f"{where}: {unknown[0][0]}.", hint=unknown[0][1])
    try:
        settings = codec.decode(Settings, plain, where=where)
    except RecordError as error:
        raise ConfigError(error.message, hint="`layline schema config --format text` lists every key.") from None
    _check(settings, where)
    return settings


def _check(settings: Settings, where: str) -> None:
    for key, backend in settings.backends.items():
        if not _KEY.match(key):
            raise ConfigError(f"{where}: backends.{key}: a key is letters, digits, - and _.")
        if backend.pin is not None and (backend.pin.file is None) == (backend.pin.revision is None):
            raise ConfigError(f"{where}: backends.{key}.pin needs either `file` or `revision`.")
        if backend.pin is not None and backend.pin.branch is not None and backend.pin.file is None:
            raise ConfigError(
                f"{where}: backends.{key}.pin: `branch` needs `file`: it names the branch that has that file."
            )
        for name in ("path", "objects"):
            value = getattr(backend, name)
            if isinstance(value, str) and (not value or value.startswith("-")):
                raise ConfigError(f"{where}: backends.{key}.{name} is not a path.")
    for address in (settings.project.repository, *(backend.upstream for backend in settings.backends.values())):
        if address is not None and not address.startswith("https://"):
            raise ConfigError(f"{where}: {address!r} is not an https address.")
    dashboard = settings.dashboard
    for name, value in (
        ("project.docs", settings.project.docs),
        ("dashboard.sections", dashboard.sections),
        ("dashboard.pdf_style", dashboard.pdf_style),
    ):
        if value is not None and _leaves_project(value):
            raise ConfigError(
                f"{where}: {name} = {value!r} lies outside the project.",
                hint="Name a path below the folder of this file, without `..`.",
            )


def _leaves_project(path: str) -> bool:
    """Whether a configured path could lead out of the folder that holds the settings."""
    return not path.strip() or path.startswith(("/", "~")) or "\\" in path or ".." in path.split("/")


def _find_unknown_keys(kind: Any, plain: Any, place: str) -> Any:
    """Yields a message and a hint for each key that no field knows, all the way down."""
    if is_dataclass(kind) and isinstance(plain, dict):
        hints = get_type_hints(kind)
        known = {item.name for item in fields(kind)}
        for key, value in plain.items():
            if key in known:
                yield from _find_unknown_keys(hints[key], value, f"{place}{key}.")
            else:
                near = difflib.get_close_matches(key, known, n=1)
                listed = f"Did you mean `{place}{near[0]}`?" if near else f"Known keys: {', '.join(sorted(known))}."
                yield f"the key `{place}{key}` is unknown", listed
    elif get_origin(kind) is dict and isinstance(plain, dict):
        for key, value in plain.items():
            yield from _find_unknown_keys(get_args(kind)[1], value, f"{place}{key}.")
    elif get_origin(kind) is tuple and isinstance(plain, list):
        for index, value in enumerate(plain):
            yield from _find_unknown_keys(get_args(kind)[0], value, f"{place}{index}.")
    else:
        for inner in get_args(kind):
            if is_dataclass(inner):
                yield from _find_unknown_keys(inner, plain, place)
