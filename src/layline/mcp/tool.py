"""One tool: a question with named inputs that returns an `Answer`, and what an agent is told about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeAlias

from layline.core.progress import Progress
from layline.core.report import Answer
from layline.errors import Error
from layline.workspace.open import Workspace, open_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Does:
    """What a tool may do, said honestly. No tool opens a connection."""

    reads_only: bool = False
    destroys: bool = False
    repeatable: bool = False


READS = Does(reads_only=True, repeatable=True)
"""Writes nothing but Layline's own cache."""
WRITES = Does(repeatable=True)
"""Writes files of its own, in place; what others wrote is refused."""
ADDS = Does()
"""Appends to a record that only grows; twice is two entries."""
ACTS = Does(destroys=True)
"""Changes the user's repository: accepts or rolls back an edit."""


@dataclass(frozen=True, slots=True)
class Session:
    """What a server was started with; every call opens the workspace anew, so edits are seen."""

    config: Path | None
    today: date | None = None
    """Pinned by tests; None asks the clock."""

    def workspace(self, at: str | None = None) -> Workspace:
        return open_workspace(self.config, at=at or "HEAD")

    def day(self, text: str | None = None) -> date:
        if text is None:
            return self.today or datetime.now(UTC).date()
        try:
            return date.fromisoformat(text)
        except ValueError:
            raise Error(f"{text!r} is not a date.", hint="Write YYYY-MM-DD.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """What an agent may fill in."""

    name: str
    says: str
    kind: str = "string"
    """`string`, `integer`, `number`, `boolean`, `array` (of strings) or `object` (of strings)."""
    choices: tuple[str, ...] = ()
    default: Any = None

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        found: dict[str, Any] = {"type": self.kind, "description": self.says}
        if self.kind == "array":
            found["items"] = {"type": "string"}
        if self.choices:
            found["enum"] = list(self.choices)
        if self.default is not None:
            found["default"] = self.default
        return found

    def check(self, tool: str, value: Any) -> Any:
        """The value, or an error that says what is expected."""
        if value is None:
            return self.default
        if self.choices and value not in self.choices:
            raise Error(f"{tool}: `{self.name}` is {value!r}.", hint=f"It is one of {', '.join(self.choices)}.")
        if not _fits(value, self.kind):
            raise Error(f"{tool}: `{self.name}` is {value!r}, which is not of type {self.kind}.", hint=self.says)
        return value


def _fits(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case _:
            return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


@dataclass(frozen=True, slots=True)
class Asked:
    """The inputs of one call, checked."""

    tool: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def need(self, name: str, hint: str) -> Any:
        """An input that this question cannot do without."""
        if self.values[name] is None:
            raise Error(f"{self.tool}: `{name}` is needed for this question.", hint=hint)
        return self.values[name]


Question: TypeAlias = Callable[[Session, Progress, Asked], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Several questions about one subject; `ask` says which, where there is more than one."""

    name: str
    says: str
    does: Does
    questions: Mapping[str, Question]
    inputs: tuple[Input, ...] = ()
    paged: bool = True
    limit: int = 50
    of: Mapping[str, str] | None = None
    """The list of an answer that is paged, by question; default: its longest."""

    @property
    def all_inputs(self) -> tuple[Input, ...]:
        """Which question first, the page last."""
        asks = tuple(self.questions)
        which = () if len(asks) == 1 else (Input(name="ask", says="Which question.", choices=asks, default=asks[0]),)
        pages = (
            Input(name="offset", says="Row to begin at: page.next_offset.", kind="integer", default=0),
            Input(name="limit", says="Rows at most.", kind="integer", default=self.limit),
        )
        return (*which, *self.inputs, *(pages if self.paged else ()))

    def answer(self, session: Session, progress: Progress, arguments: Mapping[str, Any]) -> Answer:
        """Check the inputs, then ask."""
        self.refuse_unknown(arguments)
        values = {one.name: one.check(self.name, arguments.get(one.name)) for one in self.all_inputs}
        ask = values.get("ask") or next(iter(self.questions))
        return self.questions[ask](session, progress, Asked(self.name, values))

    def refuse_unknown(self, arguments: Mapping[str, Any]) -> None:
        """An input that nobody reads would be an answer to another question."""
        known = {one.name for one in self.all_inputs}
        unknown = sorted(set(arguments) - known)
        if unknown:
            raise Error(f"{self.name}: there is no input `{unknown[0]}`.", hint=f"Inputs: {', '.join(sorted(known))}.")
