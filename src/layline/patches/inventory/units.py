"""One reading of one module at a time, recalled where everything the module can see is as it was.

Of upstream a reading sees only answers to its questions: at another pin it is the same where all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from layline import codec
from layline.core.progress import Progress, count, silent
from layline.errors import RecordError
from layline.interpreter.conditions import forget
from layline.interpreter.modules import WHOLE
from layline.patches.installer import Known, MemberKind, know_no_members, know_nothing
from layline.source.sighted import find_paths

if TYPE_CHECKING:
    from layline.interpreter.calls import Interpreter
    from layline.interpreter.reach import Reach
    from layline.source.memos import Memos

Read = TypeVar("Read")
Leaks: TypeAlias = tuple[tuple[str, str], ...]
"""Modules whose import changes what another module holds, and that other one."""
_ROW = "row"
"""In the place of a row: the key of the last one that was made, at whichever pins."""


@dataclass(slots=True, eq=False)
class Upstream:
    """Upstream at the pins as readings ask about it; what is asked, and what it answers, is noted."""

    pins: object = None
    """What stands for everything it can answer."""
    about_name: Callable[[str], Known] = know_nothing
    about_members: Callable[[str], frozenset[MemberKind]] = know_no_members
    about_code: Callable[[str], bool] = lambda _: False
    noted: dict[str, object] = field(default_factory=dict)
    """Question → its answer, as JSON has it."""

    def look_up(self, name: str) -> Known:
        known = self.about_name(name)
        self.noted[f"name {name}"] = [
            known.kind.value,
            known.alias_of,
            known.suggestion,
            known.is_field,
            known.may_be_of,
            known.set_by,
        ]
        return known

    def find_members(self, name: str) -> frozenset[MemberKind]:
        kinds = self.about_members(name)
        self.noted[f"members {name}"] = sorted(kind.value for kind in kinds)
        return kinds

    def holds_code(self, name: str) -> bool:
        self.noted[f"code {name}"] = found = self.about_code(name)
        return found

    def agrees(self, told: Mapping[str, object]) -> bool:
        """Whether every question has the answer that was noted."""
        asks: dict[str, Callable[[str], object]] = {
            "name": self.look_up,
            "members": self.find_members,
            "code": self.holds_code,
        }
        for question, answer in told.items():
            word, _, name = question.partition(" ")
            asks[word](name)
            if self.noted[question] != answer:
                return False
        return True


@dataclass(frozen=True, slots=True)
class Units:
    """Readers say what they read one module for; what they said before is theirs to have again."""

    machine: Interpreter
    reach: Reach
    memos: Memos
    progress: Progress = silent
    upstream: Upstream = field(default_factory=Upstream)

    def read(
        self, kind: type[Read], subjects: Mapping[str, object], read: Callable[[str], Read], doing: str = "reading"
    ) -> dict[str, Read]:
        """Path → what `read` says of it; each subject comes with what it depends on beside the files it can see.

        `doing`: what is told of it while it goes on.
        """
        name = kind.__name__
        keys = {path: self.memos.key(name, path, self.reach.digest([path]), given) for path, given in subjects.items()}
        kept = self._recall(keys.values())
        found: dict[str, Read] = {}
        for path, key in count(keys.items(), f"{doing} our modules", len(keys), self.progress, lambda item: item[0]):
            known = self._decode(kind, kept.get(key))
            if known is not None and self.memos.compare is None:
                self.memos.recalled += 1
                found[path] = known
                continue
            found[path] = self._read_anew(path, key, read)
            self.memos.made += 1
            if known is not None and self.memos.compare is not None:
                self.memos.compare(f"{name} {path}", codec.encode(known), codec.encode(found[path]))
        return found

    def _recall(self, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Key → its row: one that asks upstream nothing, the one at these pins, else one of other pins with the same
        answers.
        """
        here = {key: self._here(key) for key in keys}
        rows = self.memos.recall([*here, *here.values()])
        found = {key: rows[at] for key, at in here.items() if at in rows}
        found |= {key: rows[key] for key in here if key in rows and _ROW not in rows[key] and key not in found}
        other = {key: rows[key][_ROW] for key in here if key in rows and key not in found}
        elsewhere = self.memos.recall(other.values()) if other else {}
        told = "asking upstream again what our modules asked at another commit"
        for key, at in count(other.items(), told, len(other), self.progress):
            row = elsewhere.get(at)
            if row is not None and self.upstream.agrees(row["upstream"]):
                found[key] = row
                self.memos.keep(here[key], row)
        return found

    def _here(self, key: str) -> str:
        return self.memos.key("at", key, self.upstream.pins)

    def find_leaks(self, path: str) -> Leaks:
        """Modules that a file can see and whose import changes what others hold."""
        seen, modules = self.reach.see(path), self.machine.modules
        return tuple(leak for leak in self.machine.leaks if modules.state_of(leak[0]) in seen)

    def select_leaks(self, leaks: Leaks, path: str) -> list[str]:
        """Those modules whose import changes something that this file can see."""
        seen, modules = self.reach.see(path), self.machine.modules
        return list(dict.fromkeys(leak for leak, holder in leaks if modules.state_of(holder) in seen))

    def describe_leaks(self, leaks: Leaks, path: str) -> list[object]:
        """What the reading of a file depends on because of them."""
        names = self.select_leaks(leaks, path)
        return [names, self.digest_modules(names)] if names else []

    def read_leaks(self, leaks: Leaks, path: str) -> None:
        """Before a module is read alone: what other imports have put into what it sees."""
        for name in self.select_leaks(leaks, path):
            module = self.machine.modules.find(name)
            if module is not None:
                self.machine.read_module(module)

    def digest_modules(self, names: Iterable[str]) -> str:
        states = (self.machine.modules.state_of(name) for name in names)
        return self.reach.digest(state for state in states if state is not None and state != "/")

    def _decode(self, kind: type[Read], row: dict[str, Any] | None) -> Read | None:
        """None where nothing is kept, it cannot be decoded, or a name that was looked for leads elsewhere now."""
        try:
            if row is None or any(self._find_state(name) != state for name, state in row["asked"].items()):
                return None
            if row["beyond"] and self.reach.digest(row["beyond"]) != row["digest"]:
                return None
            if any(self.reach.find_blob(path) != blob for path, blob in row["at"].items()):
                return None  # lines of theirs are told
            return codec.decode(kind, row["value"], where="cache")
        except (RecordError, KeyError, TypeError, AttributeError, ValueError):
            return None

    def _read_anew(self, path: str, key: str, read: Callable[[str], Read]) -> Read:
        modules = self.machine.modules
        before, modules.asked = modules.asked, set()
        self.upstream.noted = {}
        value = read(path)
        forget()
        asked, modules.asked = modules.asked, before
        seen = self.reach.see(path)
        for one in seen:
            asked |= modules.asked_by(one)
        known = {name for one in seen for name in self.reach.names_of(one)}
        states = {name: self._find_state(name) for name in sorted(asked - known)}
        whole = {state for name, state in states.items() if name.endswith(WHOLE)} - {path}
        beyond = sorted({one for one in (*(set(states.values()) - seen), *whole) if one and one not in {"/", "!"}})
        digest = self.reach.digest(beyond) if beyond else ""
        plain = codec.encode(value)
        told = {one: self.reach.find_blob(one) for one in sorted(set(find_paths(plain)) - {path})}
        row = {"asked": states, "beyond": beyond, "digest": digest, "at": told, "value": plain}
        if self.upstream.noted:
            self.memos.keep(key, {_ROW: self._here(key)})
            key, row = self._here(key), {**row, "upstream": self.upstream.noted}
        self.memos.keep(key, row)
        return value

    def _find_state(self, name: str) -> str | None:
        """Where a name leads; `top?` asks whether anything imports that package."""
        if name.endswith("?"):
            return "!" if self.machine.is_package(name[:-1]) else None
        return self.machine.modules.state_of(name.removesuffix(WHOLE))
