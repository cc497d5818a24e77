"""What became of each touched name at the tip, and what that does to us."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from layline.core.drift import DriftKind
from layline.core.evidence import Evidence
from layline.gap.coupling.model import Consequence, Coupling, State, Touch, breaks_first
from layline.gap.coupling.reading import Place
from layline.gap.prose import listed
from layline.gap.surface.model import SurfaceChange, SurfaceRow
from layline.source import Definition, DefinitionKind, Resolver, Symbol
from layline.source.binding import Problem, check_call, check_replacement
from layline.source.compare import Comparer, Comparison
from layline.source.names import parents

_STATES = {
    DriftKind.UNCHANGED: State.OK,
    DriftKind.BODY_CHANGED: State.BODY,
    DriftKind.SIGNATURE_CHANGED: State.SIGNATURE,
    DriftKind.MOVED: State.MOVED,
    DriftKind.RENAMED: State.RENAMED,
    DriftKind.REMOVED: State.REMOVED,
    DriftKind.BINDING_LOST: State.MOVED,
}
_GONE = {State.MOVED, State.RENAMED, State.REMOVED}
_NAMES = {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT, Touch.SUBCLASS}
"""Touches that fail for the whole file when their name is gone."""
_DEEP = {Touch.SUBCLASS, Touch.OVERRIDE, Touch.PATCH}
"""Touches that rely on how the upstream code works, not only on its name and signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    state: State
    consequence: Consequence
    detail: str = ""
    new_target: str | None = None


class Judge:
    """Judges places against one pair of indexes; `flags` are the command-line flags that differ, by destination."""

    def __init__(self, comparer: Comparer, flags: Mapping[str, SurfaceRow], known_flags: frozenset[str]) -> None:
        self._comparer = comparer
        self._flags = flags
        self._known_flags = known_flags

    def find_couplings(self, places: Iterable[Place]) -> Iterator[Coupling]:
        """One coupling for each file, target and verdict: the first place, the others counted."""
        groups: dict[tuple[object, ...], list[tuple[Place, Verdict]]] = {}
        broken: set[tuple[str, str]] = set()
        for place in places:
            target = self._shorten(place)
            if target is None:
                continue
            judged = replace(place, target=target)
            verdict = self._judge(judged)
            if verdict is None:
                continue
            if verdict.state in _GONE and self._is_known_broken(judged, broken):
                continue  # the import fails first; what follows it is the same trouble
            if verdict.state in _GONE and place.touch in _NAMES:
                home = self._comparer.pin.resolve(target).home
                broken |= {(place.location.path, target), (place.location.path, home or target)}
            key = (place.location.path, place.touch, target, verdict, place.guarded)
            groups.setdefault(key, []).append((judged, verdict))
        for items in groups.values():
            yield self._couple(items)

    @staticmethod
    def _is_known_broken(place: Place, broken: set[tuple[str, str]]) -> bool:
        """True if the file already fails to get this name, or something it stands in."""
        if place.touch in {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT}:
            return False
        names = [place.target, *parents(place.target), place.imported]
        return any((place.location.path, name) in broken for name in names)

    def _shorten(self, place: Place) -> str | None:
        """The longest part of a chain that the pin knows; None where there is nothing to say beyond the import."""
        if place.touch not in {Touch.ATTRIBUTE, Touch.CALL, Touch.PATCH} or place.bound:
            return place.target
        target = place.target
        while target.count(".") > place.imported.count("."):
            if self._comparer.pin.resolve(target).exists:
                return target
            if place.call is not None or place.touch is Touch.PATCH:
                return None  # a method of a value: only a run knows whose
            target = target.rpartition(".")[0]
        return target if place.call is not None and place.target == place.imported else None

    def _judge(self, place: Place) -> Verdict | None:
        if place.target.startswith("args."):
            return self._judge_flag(place)
        found = self._comparer.compare(place.target)
        if found.kind in {DriftKind.EXTERNAL, DriftKind.DEAD_AT_PIN, DriftKind.UNRESOLVED}:
            return self._judge_unknown(place, found)
        if not found.after.exists:
            return self._judge_gone(place, found)
        if place.touch is Touch.CALL and place.call is not None:
            return self._judge_call(place, found)
        if place.touch is Touch.OVERRIDE and place.override is not None:
            return self._judge_override(place.override, found)
        return self._judge_present(place, found)

    @staticmethod
    def _judge_unknown(place: Place, found: Comparison) -> Verdict | None:
        if place.touch not in {Touch.IMPORT, Touch.MODULE, Touch.SCRIPT} or found.kind is DriftKind.EXTERNAL:
            return None
        why = "absent at the pin already" if found.kind is DriftKind.DEAD_AT_PIN else found.detail
        return Verdict(state=State.UNDECIDED, consequence=Consequence.OK, detail=why)

    def _judge_gone(self, place: Place, found: Comparison) -> Verdict:
        state = _STATES[found.kind]
        new = found.new_home
        detail = "" if new else found.detail
        if place.touch is Touch.OVERRIDE:
            text = "upstream no longer has this method, so our override is not called"
            return Verdict(state=state, consequence=Consequence.MAY_BREAK, detail=text, new_target=new)
        if place.touch is Touch.PATCH:
            detail = "assigning to it raises nothing: what we install is never called"
        if place.type_checking:
            return Verdict(
                state=state, consequence=Consequence.LOOK, detail="imported for type checking only", new_target=new
            )
        consequence = Consequence.MAY_BREAK if place.guarded or not place.certain else Consequence.WILL_BREAK
        return Verdict(state=state, consequence=consequence, detail=detail, new_target=new)

    def _judge_call(self, place: Place, found: Comparison) -> Verdict:
        call = place.call
        before = _callee(self._comparer.pin, found.before)
        after = _callee(self._comparer.tip, found.after)
        if call is None or before is None or after is None:
            return self._judge_present(place, found)
        if check_call(call, before[0].parameters or (), bound=place.bound or before[1]):
            return Verdict(
                state=State.UNDECIDED, consequence=Consequence.OK, detail="the call does not bind at the pin either"
            )
        problems = check_call(call, after[0].parameters or (), bound=place.bound or after[1])
        if before[0].is_async != after[0].is_async:
            words = (
                "is async: its caller must await it"
                if after[0].is_async
                else "is no longer async: it cannot be awaited"
            )
            consequence = Consequence.MAY_BREAK if place.guarded else Consequence.WILL_BREAK
            return Verdict(state=State.SIGNATURE, consequence=consequence, detail=f"at the tip it {words}")
        if not problems:
            return self._judge_present(place, found)
        certain = any(problem.certain for problem in problems) and not place.guarded
        detail = f"at the tip {found.name.rpartition('.')[2]} {_listed(problems)}"
        consequence = Consequence.WILL_BREAK if certain else Consequence.MAY_BREAK
        return Verdict(state=State.NO_LONGER_BINDS, consequence=consequence, detail=detail)

    def _judge_override(self, ours: Definition, found: Comparison) -> Verdict:
        before, after = found.before.definition, found.after.definition
        if before is None or after is None or after.kind is not DefinitionKind.FUNCTION:
            return Verdict(state=_STATES[found.kind], consequence=Consequence.LOOK, detail=found.detail)
        known = {problem.argument for problem in check_replacement(ours.parameters or (), before.parameters or ())}
        problems = [
            one for one in check_replacement(ours.parameters or (), after.parameters or ()) if one.argument not in known
        ]
        if problems:
            # who constructs our class is mostly our own code, so a constructor is never certain
            certain = any(problem.certain for problem in problems) and ours.name != "__init__"
            consequence = Consequence.WILL_BREAK if certain else Consequence.MAY_BREAK
            return Verdict(
                state=State.CANNOT_ACCEPT, consequence=consequence, detail=f"our override {_listed(problems)}"
            )
        if _returns_another(before.returns, after.returns):
            text = f"upstream's method returned {before.returns} and returns {after.returns} now"
            return Verdict(state=State.SIGNATURE, consequence=Consequence.MAY_BREAK, detail=text)
        state = _STATES[found.kind]
        detail = "; ".join(map(str, found.changes[:4])) if state is State.SIGNATURE else ""
        return Verdict(
            state=state, consequence=Consequence.OK if state is State.OK else Consequence.LOOK, detail=detail
        )

    def _judge_present(self, place: Place, found: Comparison) -> Verdict:
        """The name is still there; how much that matters depends on how deep we rely on it."""
        state = _STATES[found.kind]
        if place.touch in {Touch.IMPORT, Touch.SUBCLASS} and _is_class_no_more(found):
            consequence = Consequence.WILL_BREAK if place.touch is Touch.SUBCLASS else Consequence.MAY_BREAK
            text = "the class is a function at the tip: isinstance and subclassing fail"
            return Verdict(state=State.SIGNATURE, consequence=consequence, detail=text)
        if found.kind is DriftKind.MOVED:
            return Verdict(
                state=state,
                consequence=Consequence.LOOK,
                detail="the old address still leads there",
                new_target=found.new_home,
            )
        if place.touch in _DEEP:
            detail = found.detail if state is State.SIGNATURE else ""
            return Verdict(
                state=state, consequence=Consequence.OK if state is State.OK else Consequence.LOOK, detail=detail
            )
        return Verdict(state=state, consequence=Consequence.OK)

    def _judge_flag(self, place: Place) -> Verdict | None:
        name = place.target.removeprefix("args.")
        row = self._flags.get(name)
        if row is None:
            return Verdict(state=State.OK, consequence=Consequence.OK) if name in self._known_flags else None
        match row.change:
            case SurfaceChange.REMOVED | SurfaceChange.RENAMED:
                certain = place.certain and not place.guarded
                consequence = Consequence.WILL_BREAK if certain else Consequence.MAY_BREAK
                state = State.REMOVED if row.now is None else State.RENAMED
                detail = f"the tip has no flag that sets {name}" if row.now is None else f"at the tip {row.now}"
                return Verdict(state=state, consequence=consequence, detail=detail)
            case SurfaceChange.DEFAULT:
                return Verdict(
                    state=State.SIGNATURE, consequence=Consequence.LOOK, detail=f"default {row.was} became {row.now}"
                )
        return Verdict(state=State.OK, consequence=Consequence.OK)

    def _couple(self, items: list[tuple[Place, Verdict]]) -> Coupling:
        place, verdict = items[0]
        lines = list(
            dict.fromkeys(other.location.line for other, _ in items[1:] if other.location.line != place.location.line)
        )
        more = f"also line{'s' if len(lines) > 1 else ''} {listed(list(map(str, lines)), most=6)}" if lines else ""
        pin, tip = self._evidence(place.target, verdict)
        return Coupling(
            touch=place.touch, target=place.target, location=place.location, state=verdict.state,
            consequence=verdict.consequence, detail="; ".join(part for part in (verdict.detail, more) if part),
            new_target=verdict.new_target, guarded=place.guarded, pin_evidence=pin, tip_evidence=tip,
            culprit=self._culprit(place.target, verdict),
        )  # fmt: skip

    def _culprit(self, target: str, verdict: Verdict) -> str | None:
        if verdict.state not in _GONE or target.startswith("args."):
            return None
        commits = self._comparer.compare(target).commits
        return commits[0] if commits else None

    def _evidence(self, target: str, verdict: Verdict) -> tuple[Evidence | None, Evidence | None]:
        if target.startswith("args."):
            row = self._flags.get(target.removeprefix("args."))
            return (row.pin_evidence, row.tip_evidence) if row else (None, None)
        before = self._comparer.pin.resolve(target)
        after = self._comparer.tip.resolve(verdict.new_target or target)
        return _place_of(self._comparer.pin, before), _place_of(self._comparer.tip, after)


def build_couplings(judge: Judge, places: Iterable[Place]) -> tuple[Coupling, ...]:
    """All couplings, what breaks first in front."""
    return tuple(sorted(judge.find_couplings(places), key=breaks_first))


def _is_class_no_more(found: Comparison) -> bool:
    before, after = found.before.definition, found.after.definition
    if before is None or after is None:
        return False
    return before.kind is DefinitionKind.CLASS and after.kind is DefinitionKind.FUNCTION


def _callee(resolver: Resolver, symbol: Symbol) -> tuple[Definition, bool] | None:
    """What a call of the symbol runs, and whether `self` is supplied."""
    definition = symbol.definition
    if definition is None or symbol.home is None:
        return None
    if definition.kind is DefinitionKind.CLASS:
        made = resolver.resolve(f"{symbol.home}.__init__").definition
        return (made, True) if made is not None and made.parameters is not None else None
    if definition.kind is not DefinitionKind.FUNCTION or definition.parameters is None:
        return None
    decorators = {word.partition("(")[0].rpartition(".")[2] for word in definition.decorators}
    if decorators - {
        "staticmethod",
        "classmethod",
        "abstractmethod",
        "torch.no_grad",
        "no_grad",
        "override",
        "jit_fuser",
        "lru_cache",
        "cache",
        "contextmanager",
        "experimental_fn",
        "deprecated",
    }:
        return None  # a decorator we do not know may change the signature
    return definition, bool(definition.owner) and "classmethod" in decorators


def _returns_another(before: str | None, after: str | None) -> bool:
    """True if the declared return type became another one; a narrower spelling of the same (`type` → `type[X]`) is none."""
    if before is None or after is None or before == after:
        return False
    plain = [text.replace("typing.", "").replace("Optional[", "").strip("\"'").lower() for text in (before, after)]
    return plain[0].partition("[")[0].partition(" |")[0] != plain[1].partition("[")[0].partition(" |")[0]


def _place_of(resolver: Resolver, symbol: Symbol) -> Evidence | None:
    """Where the name is bound; a module is its first line."""
    index = resolver.index
    module = symbol.bound_in or symbol.module
    if module is None or module not in index.entries or not symbol.exists:
        return None
    line = symbol.location.line if symbol.location is not None else 1
    return index.evidence(module, (line, line))


def _listed(problems: Iterable[Problem]) -> str:
    return "; ".join(problem.message for problem in list(problems)[:4])
