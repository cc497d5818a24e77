"""The values of the patch explorer: Inventory, Patch, Guard, Effect. Plain and frozen; others build on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from layline.core.condition import ALWAYS, Condition, VersionPattern, find_keys, find_needs
from layline.core.evidence import Location, Skipped

AS_IT_WAS = "what stood there"


class Holder(StrEnum):
    """What an effect is put on, where that is no class or module with a dotted name."""

    OBJECT = "object"
    """One object, not its class; the target names the class where the code tells it."""
    CLASS = "class"
    """The class of an object that only a run knows."""
    SUBCLASSES = "subclasses"
    """Every class below one."""
    RESULT = "result"
    """What a call of another package returns."""
    PARAMETER = "parameter"
    """What is handed in; no caller says what."""
    MODULES = "modules"
    """Loaded modules, which ones only a run knows."""
    IMPORTS = "imports"
    """What is imported later: an import hook."""
    REGISTRY = "registry"
    """A registry of upstream that our class or function is handed to."""
    STAND_IN = "stand-in"
    """A module object that we make ourselves and put in the place of one: what upstream's module holds is not touched."""


class Style(StrEnum):
    """What an effect does to upstream; decided by what the replacement does with the original."""

    BINDING_REPLACEMENT = "binding-replacement"
    FUNCTION_WRAPPING = "function-wrapping"
    CONFIG_REWRITE = "config-rewrite"
    ENV_LIFECYCLE = "env-lifecycle"
    SOURCE_REWRITE = "source-rewrite"


class Moment(StrEnum):
    """When an effect happens."""

    INSTALL = "install"
    DEFERRED = "deferred"
    """Only when an installed replacement runs."""
    TRANSIENT = "transient"
    """Set while something runs and put back afterwards."""


class TargetKind(StrEnum):
    """What the target is at the pin."""

    DEFINITION = "definition"
    IMPORTED_NAME = "imported-name"
    MODULE_ASSIGNMENT = "module-assignment"
    ABSENT = "absent"
    EXTERNAL = "external"
    """Outside every configured upstream: standard library, torch, another package."""
    UNKNOWN = "unknown"


OFFERED = " (offered to users)"
"""Behind a place of `called_from` where a package exports the function: no call of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What upstream's history says of a target that is absent at the pin."""

    what: str
    """The name and file, or module, that was looked for."""
    commit: str | None = None
    """The commit that took it away; None: the history never had it."""
    date: str = ""
    subject: str = ""
    elsewhere: str | None = None
    """Where upstream defines the same name, for one that was never in this file."""

    def __str__(self) -> str:
        if self.commit is None:
            other = f"; the name is defined at {self.elsewhere}" if self.elsewhere else ""
            return f"upstream's history up to the pin never had {self.what}{other}"
        other = f"; the name is defined at {self.elsewhere} now" if self.elsewhere else ""
        return f"upstream removed {self.what} in {self.commit[:12]} ({self.date}, {self.subject}){other}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A test that raises where it does not hold."""

    when: Condition
    before: Condition | None
    """What must hold for it to be asked; None: nothing that reading can tell."""
    raised_at: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One thing a patch does."""

    style: Style
    target: str | None
    """The upstream symbol, dotted, as the downstream writes it; None where no symbol is replaced."""
    location: Location
    """The line of the downstream that does it."""
    replacement: str | None = None
    """What takes its place: a dotted downstream name, a literal, or a short description."""
    replacement_at: Location | None = None
    """Where the replacement is defined in the downstream, if it is; of several, the first."""
    replacements_at: tuple[Location, ...] = ()
    """Where each of several possible replacements is defined, in the order in which they are named."""
    otherwise: str | None = None
    """What the same line writes where `when` does not hold: `None` or `AS_IT_WAS`; None: nothing."""
    mutates: tuple[str, ...] = ()
    """Config keys, or `env:NAME`."""
    certain: bool = True
    reason: str | None = None
    """Why it is not certain, or a remark; for people, nothing is read from it again."""
    holder: Holder | None = None
    """What it is put on; None: a class or module that the target names."""
    reached: str | None = None
    """How one object is reached, as it is written."""
    as_written: tuple[str, str] | None = None
    """`reached` and `reason` in the words of the line, for one that several objects come to."""
    attribute: str = ""
    """The name that is set there, where the target does not tell it."""
    raises: bool = False
    """The way in which it is put there fails where the name is missing."""
    adds: bool = False
    """The name is new there: nothing of upstream is replaced."""
    told: bool = False
    """It is listed although its target cannot be named."""
    by_text: bool = False
    """A text names the target, in a call that speaks of patching."""
    helper: Location | None = None
    """The line of the helper that makes it, where it is listed at a call of that."""
    called_at: Location | None = None
    """The call of its helper that was read, where it is listed in the helper."""
    moment: Moment = Moment.INSTALL
    target_kind: TargetKind = TargetKind.UNKNOWN
    alias_of: str | None = None
    """Where the target is defined, if it is an imported name."""
    may_be_of: str | None = None
    """Of a name that no class of upstream has: a class of another package that may have it."""
    suggestion: str | None = None
    """The name probably meant, for a target that upstream never had."""
    removal: Removal | None = None
    """For an absent target: removed, or never there; None: it cannot be told."""
    anchors: tuple[str, ...] = ()
    """Texts a source rewrite searches for in the upstream source."""
    when: Condition | None = None
    """The condition inside the installer that dominates it; None: always."""
    checks: tuple[Check, ...] = ()
    """Tests before it about upstream that raise where they do not hold."""
    id: str = ""
    """Short, unique in its inventory, the same after lines moved; given by `core.effect_ids` when all are known."""

    @property
    def gives_back(self) -> bool:
        """What upstream has elsewhere is put under the name it had: for code that still looks for it there."""
        here, there = ((name or "").split(".") for name in (self.target, self.replacement))
        is_upstreams = self.replacement_at is None and here != there
        return is_upstreams and len(there) > 1 and (here[0], here[-1]) == (there[0], there[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The condition under which a patch applies."""

    when: Condition = ALWAYS
    """What must hold, helpers followed."""
    written: Condition | None = None
    """The same as the registration writes it; None: there is no condition."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Config keys it truly depends on."""
        return find_keys(self.when)

    @property
    def other(self) -> tuple[str, ...]:
        """What else: environment variable, importable package, platform, version."""
        return find_needs(self.when)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One registered run-time change of upstream."""

    id: str
    backend: str | None
    phase: str | None
    priority: int | None
    location: Location
    """The line of the registration (the decorator or the call)."""
    handler: str
    """Name of the function that installs it."""
    handler_lines: tuple[int, int]
    """First and last line of the handler, decorators included."""
    description: str = ""
    tags: tuple[str, ...] = ()
    version_patterns: tuple[VersionPattern, ...] = ()
    active: bool = True
    """False: the registration never happens, or another of the same id takes its place."""
    active_reason: str = ""
    guard: Guard = Guard()
    body_keys: tuple[str, ...] = ()
    """Config keys that end the handler by an early return."""
    effects: tuple[Effect, ...] = ()
    implementation: tuple[str, ...] = ()
    """Downstream files where the real logic lives."""
    notes: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        return self.location.path

    @property
    def line(self) -> int:
        return self.location.line


@dataclass(frozen=True, slots=True, kw_only=True)
class Unregistered:
    """An effect outside any registration, listed under the function or module that does it."""

    effect: Effect
    within: str
    """Dotted name of the enclosing function, class or module."""
    called_from: tuple[str, ...] = ()
    """What calls, imports or hands it on, by what names resolve to: `path:line`, with a word where it is no plain
    call."""
    unknown_callers: int = 0
    """Calls of a method of the same name on objects whose class is not known, or texts that name a module which nobody
    is seen to load; they are not in `called_from`."""
    registry: str | None = None
    """The call that registers it by path, `register_patch("a.b.C.m", g)`; None: a plain write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What the downstream's own registry says about itself, read from its code."""

    phases: tuple[str, ...] = ()
    phases_at: Location | None = None
    switch: str | None = None
    """The environment variable that allows or forbids patches by id."""
    switch_at: Location | None = None
    switch_text: str = ""
    """What its values mean, as the engine documents or computes it."""


class Fate(StrEnum):
    """What became of a candidate write: a line that may change another package."""

    LISTED = "listed"
    ELSEWHERE = "listed-elsewhere"
    """It is about another backend, and listed there."""
    SETTING = "setting"
    """A plain value on a package that is no backend, or a change outside the folders of this one."""
    ENVIRONMENT = "environment"
    RESTORED = "restored"
    """It puts back what stood there."""
    MARK = "mark"
    """A flag, a kept original or metadata: nothing that upstream reads."""
    OWN = "own"
    """A name or object of the downstream itself."""
    OBJECT = "object"
    """Something on an object that only a run knows, and no behaviour as far as the code tells."""
    NOT_READ = "not-read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Every candidate write, counted from syntax alone, against what the inventory says of it."""

    candidates: int
    fates: tuple[tuple[Fate, int], ...] = ()
    unlisted: tuple[tuple[Fate, tuple[Location, ...]], ...] = ()
    """Lines that no row tells, by why."""

    @property
    def not_read(self) -> tuple[Location, ...]:
        """Lines that neither a row nor a reason accounts for."""
        return dict(self.unlisted).get(Fate.NOT_READ, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Every patch of one backend at one downstream commit."""

    backend: str
    commit: str
    pin: str | None = None
    """The upstream commit the targets were looked up in; None where it cannot be read."""
    patches: tuple[Patch, ...] = ()
    unregistered: tuple[Unregistered, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    engine: Engine = Engine()
    balance: Balance = Balance(candidates=0)

    def every_effect(self) -> Iterator[Effect]:
        """Effects of patches, then those outside any registration."""
        yield from (effect for patch in self.patches for effect in patch.effects)
        yield from (item.effect for item in self.unregistered)
