"""What one Python file binds: imports and definitions, as values. Content only: the same for every path it stands
at.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from sys import intern
from typing import Any


class DefinitionKind(StrEnum):
    FUNCTION = "function"
    """A function, or a method when its name has an owner."""
    CLASS = "class"
    FIELD = "field"
    """A name assigned or annotated in a class body."""
    ASSIGNMENT = "assignment"
    """A name assigned at module level."""


class ParameterKind(StrEnum):
    POSITIONAL_ONLY = "positional-only"
    POSITIONAL = "positional"
    """Positional or keyword."""
    VARIADIC = "*args"
    KEYWORD_ONLY = "keyword-only"
    KEYWORDS = "**kwargs"


_PARAMETER_KINDS = tuple(ParameterKind)
_DEFINITION_KINDS = tuple(DefinitionKind)


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: ParameterKind
    default: str | None = None
    """As text, in one normal spelling; None: it must be passed."""
    annotation: str | None = None

    @property
    def required(self) -> bool:
        return self.default is None and self.kind not in {ParameterKind.VARIADIC, ParameterKind.KEYWORDS}

    def __str__(self) -> str:
        stars = {ParameterKind.VARIADIC: "*", ParameterKind.KEYWORDS: "**"}.get(self.kind, "")
        text = f"{stars}{self.name}"
        return text if self.default is None else f"{text}={self.default}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name bound by an import statement."""

    module: str
    """As written after `from` or `import`, without leading dots."""
    level: int
    """Leading dots; 0 is absolute."""
    name: str | None
    """The name taken `from` the module; None for `import module`; `*` for a star."""
    alias: str
    """The name it is bound to here; of `import a.b` that is `a`; empty for a star."""
    line: int
    group: int
    """Line of the outermost try, if or match around it; imports with the same group are alternatives. 0:
    unconditional."""
    branch: int
    """Which branch of the group: 0 for try or if, then the handlers or else."""
    type_checking: bool
    """Stands under `if TYPE_CHECKING`: not there at run time."""
    scope: str
    """Qualified name of the function or class it stands in; empty at module level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, method, class, class field or module assignment."""

    qualname: str
    kind: DefinitionKind
    lines: tuple[int, int]
    """First line (of the first decorator) and last."""
    line: int
    """Of the `def` or `class` itself."""
    fingerprint: str
    """Of the body: comments, docstrings, formatting and positions do not count, nor do name, signature, decorators."""
    group: int
    branch: int
    is_async: bool
    parameters: tuple[Parameter, ...] | None
    """Of a function; None for anything else."""
    returns: str | None
    """Return annotation of a function, annotation of a field or assignment."""
    decorators: tuple[str, ...]
    bases: tuple[str, ...]
    value: str | None
    """What a field or assignment is given, as text (cut after 200 characters)."""
    alias_of: str | None
    """The dotted name that an assignment copies (`mpu = parallel_state`)."""

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """Qualified name of the class around it; empty at module level."""
        return self.qualname.rpartition(".")[0]

    @property
    def signature(self) -> str:
        return f"({', '.join(_signature_words(self.parameters or ()))})"

    @property
    def is_dataclass(self) -> bool:
        return any(word.partition("(")[0].rpartition(".")[2] == "dataclass" for word in self.decorators)


class Module:
    """What one blob binds. Rows are kept as they come from the cache and become values when asked for."""

    __slots__ = ("__dict__", "_found", "_raw")

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw
        self._found: dict[str, tuple[Definition, ...]] = {}

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_import(row) for row in self._raw["i"])

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        return tuple(definition_of(row) for row in self._raw["d"])

    @cached_property
    def exports(self) -> tuple[str, ...] | None:
        """`__all__`, where the module has one that can be read; None otherwise."""
        names = self._raw["a"]
        return None if names is None else tuple(names)

    @property
    def has_getattr(self) -> bool:
        """True if a module-level `__getattr__` may make names that nothing here binds."""
        return "__getattr__" in self._rows

    def has(self, qualname: str) -> bool:
        """True if `find` would find something; costs no values."""
        return qualname in self._rows

    def find(self, qualname: str) -> tuple[Definition, ...]:
        """All definitions of a qualified name, in the order they stand (alternatives, overloads, rebindings)."""
        if qualname not in self._found:
            self._found[qualname] = tuple(definition_of(row) for row in self._rows.get(qualname, ()))
        return self._found[qualname]

    def best(self, qualname: str) -> Definition | None:
        """The definition that a reader means: the def before its fallback, the implementation before its overloads."""
        found = self.find(qualname)
        return max(enumerate(found), key=lambda pair: _preference(*pair))[1] if found else None

    def names(self) -> tuple[str, ...]:
        """Qualified names of all definitions, each once, in order."""
        return tuple(self._rows)

    def members(self, owner: str) -> tuple[str, ...]:
        """Names defined directly in a class (or, for an empty owner, in the module)."""
        prefix = f"{owner}." if owner else ""
        ends = (name[len(prefix) :] for name in self._rows if name.startswith(prefix))
        return tuple(name for name in ends if name and "." not in name)

    @cached_property
    def rows(self) -> list[list[Any]]:
        """Raw definition rows, for scans over whole trees: qualname, kind index, …, fingerprint at
        `ROW_FINGERPRINT`.
        """
        rows: list[list[Any]] = self._raw["d"]
        return rows

    @cached_property
    def _rows(self) -> dict[str, list[list[Any]]]:
        found: dict[str, list[list[Any]]] = {}
        for row in self._raw["d"]:
            found.setdefault(row[0], []).append(row)
        return found

    def find_imports(self, alias: str) -> tuple[Import, ...]:
        """Imports in any scope that bind a name."""
        return self._aliases.get(alias, ())

    @cached_property
    def _aliases(self) -> dict[str, tuple[Import, ...]]:
        found: dict[str, tuple[Import, ...]] = {}
        for item in self.imports:
            found[item.alias] = (*found.get(item.alias, ()), item)
        return found

    @cached_property
    def bound_imports(self) -> dict[str, tuple[Import, ...]]:
        """Module-level imports by the name they bind; stars under `*`."""
        found: dict[str, tuple[Import, ...]] = {}
        for item in self.imports:
            if not item.scope:
                key = item.alias or "*"
                found[key] = (*found.get(key, ()), item)
        return found

    def bound_names(self) -> frozenset[str]:
        """Every name of the module's own scope; `*` where it has a star. Costs no values."""
        defined = (row[0] for row in self._raw["d"] if "." not in row[0])
        return frozenset(map(intern, (*defined, *(row[3] or "*" for row in self._raw["i"] if not row[8]))))


ROW_QUALNAME, ROW_KIND, ROW_FIRST, ROW_LINE, ROW_LAST, ROW_FINGERPRINT = range(6)


def definition_of(row: list[Any]) -> Definition:
    qualname, kind, first, line, last, fingerprint, group, branch, flags, parameters, returns, words, bases, value = row
    return Definition(
        qualname=qualname,
        kind=_DEFINITION_KINDS[kind],
        lines=(first, last),
        line=line,
        fingerprint=fingerprint,
        group=group,
        branch=branch,
        is_async=bool(flags & 1),
        parameters=None if parameters is None else tuple(_parameter(item) for item in parameters),
        returns=returns,
        decorators=tuple(words),
        bases=tuple(bases),
        value=value,
        alias_of=value if flags & 2 else None,
    )


def _parameter(row: list[Any]) -> Parameter:
    name, kind, default, annotation = row
    return Parameter(name, _PARAMETER_KINDS[kind], default, annotation)


def _import(row: list[Any]) -> Import:
    module, level, name, alias, line, group, branch, type_checking, scope = row
    return Import(
        module=module,
        level=level,
        name=name,
        alias=alias,
        line=line,
        group=group,
        branch=branch,
        type_checking=bool(type_checking),
        scope=scope,
    )


def _preference(position: int, definition: Definition) -> tuple[bool, bool, bool, int, int]:
    """Sorts what is meant highest: defs over assignments, no overloads, the first branch, else the last binding."""
    ends = {word.rpartition(".")[2] for word in definition.decorators}
    is_def = definition.kind in {DefinitionKind.FUNCTION, DefinitionKind.CLASS}
    return (is_def, "overload" not in ends, not ends & {"setter", "deleter"}, -definition.branch, position)


def _signature_words(parameters: tuple[Parameter, ...]) -> list[str]:
    words: list[str] = []
    starred = False
    for index, parameter in enumerate(parameters):
        if parameter.kind is ParameterKind.KEYWORD_ONLY and not starred:
            starred = True
            words.append("*")
        starred = starred or parameter.kind is ParameterKind.VARIADIC
        words.append(str(parameter))
        after = parameters[index + 1] if index + 1 < len(parameters) else None
        if parameter.kind is ParameterKind.POSITIONAL_ONLY and (after is None or after.kind is not parameter.kind):
            words.append("/")
    return words
