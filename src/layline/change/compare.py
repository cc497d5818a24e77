"""What became of a symbol between two refs: the comparison that drift and gap share.

comparer = Comparer(Resolver(pin_index), Resolver(tip_index))
found = comparer.compare("megatron.training.training.train_step")
found.kind                  # core.drift.DriftKind
found.changes               # exact parameter differences (str() of each is a phrase)
found.suggestions           # ranked new homes, each with score and reason; [0] is the one `moved`/`renamed` means
found.before, found.after   # Symbols with locations; index.evidence(...) makes them Evidence
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from layline.change.call_sites import CallSites
from layline.change.callables import find_changes
from layline.change.comparison import Comparison
from layline.change.homes import MOVE, Homes, needs_more
from layline.change.losses import Losses
from layline.change.shims import find_shimmed
from layline.change.signatures import ParameterChange
from layline.change.trace import Tracer, Trail, is_followable
from layline.core.drift import DriftKind, Fate
from layline.core.finding import Suggestion
from layline.core.prose import listed
from layline.core.weak import weakly
from layline.core.why import Reason, Why
from layline.source.definitions import Definition, DefinitionKind
from layline.source.names import module_name, parents
from layline.source.resolve import Resolver
from layline.source.seen import Read, Seen
from layline.source.symbols import Symbol, SymbolKind

__all__ = ["Comparer", "Comparison"]

_STAYING = frozenset({DriftKind.UNCHANGED, DriftKind.BODY_CHANGED, DriftKind.SIGNATURE_CHANGED})


class Comparer:
    """Compares names of one pin with one tip; remembers what it found."""

    def __init__(self, pin: Resolver, tip: Resolver, tracers: Sequence[Tracer | None] = ()) -> None:
        self.pin = pin
        self.tip = tip
        self._tracers = tuple(tracers)
        self.homes = Homes(pin.index, tip.index)
        self._losses = Losses(pin, tip, weakly(self.tracer_of))
        self._known: dict[str, tuple[Comparison, Collection[Read]]] = {}

    def compare(self, name: str) -> Comparison:
        return self.seen.remember(self._known, name, lambda: self._compare(name))

    def compare_lost(self, name: str) -> Comparison | None:
        """The same of a name that the tip does not have; None where it has it, and whoever asks depends on no more."""
        return None if self.tip.resolve(name).exists else self.compare(name)

    def find_fate(self, name: str) -> DriftKind | None:
        """The kind of what became of a name that stays as what it was; None where there is more to say."""
        found = self.compare(name)
        return found.kind if found.kind in _STAYING and found.after.exists and not found.is_class_no_more else None

    @cached_property
    def sites(self) -> tuple[CallSites, CallSites]:
        """Upstream's own calls at pin and tip."""
        return CallSites(self.pin), CallSites(self.tip)

    @property
    def seen(self) -> Seen:
        """Notes what is read of the tip."""
        return self.tip.index.seen

    def _compare(self, name: str) -> Comparison:
        before, after = self.pin.resolve(name), self.tip.resolve(name)

        def answer(kind: DriftKind, *why: Why) -> Comparison:
            return Comparison(name=name, kind=kind, before=before, after=after, why=why)

        if before.kind is SymbolKind.ABSENT:
            later = (Why(Reason.TIP_HAS_IT),) if after.exists else ()
            return answer(DriftKind.DEAD_AT_PIN, _read(before.reason, Reason.PIN_LACKS_IT), *later)
        if before.kind is SymbolKind.EXTERNAL:
            return answer(DriftKind.EXTERNAL, _read(before.reason, Reason.NOT_OF_THIS_UPSTREAM))
        match after.kind if before.kind is not SymbolKind.UNKNOWN else SymbolKind.UNKNOWN:
            case SymbolKind.UNKNOWN:
                return answer(DriftKind.UNRESOLVED, Why(Reason.TEXT, text=before.reason or after.reason or ""))
            case SymbolKind.ABSENT:
                gone = self._find_gone_module(name)
                why = Why(Reason.MODULE_GONE, gone) if gone is not None else _read(after.reason, Reason.GONE)
                return self.find_lost(answer(DriftKind.REMOVED, why))
            case SymbolKind.EXTERNAL:
                where = after.reason or (after.home if after.home != name else None)
                why = Why(Reason.NOT_DEFINED_HERE, where) if where else Why(Reason.GONE)
                return self.find_lost(answer(DriftKind.REMOVED, why))
        return self._compare_present(answer(DriftKind.UNCHANGED))

    def _find_gone_module(self, name: str) -> str | None:
        """The outermost module around a name that the tip does not have and the pin has as a file."""
        around = (one for one in reversed(tuple(parents(name))) if not self.tip.resolve(one).exists)
        first = next(around, None)
        return first if first in self.pin.index.entries else None

    def _compare_present(self, start: Comparison) -> Comparison:
        before, after = start.before, start.after
        if before.definition is None or after.definition is None:
            same = before.home == after.home or before.kind is after.kind is SymbolKind.SUBMODULE
            became = (Why(Reason.WAS_IS, str(before.home), str(after.home)),)
            return start if same else replace(start, kind=DriftKind.BODY_CHANGED, why=became)
        found = self._compare_definitions(start, before, after)
        if before.kind is SymbolKind.DEFINITION and after.kind is SymbolKind.IMPORTED_NAME and after.home is not None:
            home = Suggestion(after.home, 1.0, "the old module imports it from there now")
            return replace(
                found,
                kind=DriftKind.MOVED,
                suggestions=(home,),
                why=(*found.why, Why(Reason.ONLY_REEXPORTED)),
            )
        if after.inherited_from and not before.inherited_from and after.home is not None:
            home = Suggestion(after.home, 1.0, "the class inherits it from there now")
            return replace(
                found,
                kind=DriftKind.MOVED,
                suggestions=(home,),
                why=(*found.why, Why(Reason.INHERITED, after.inherited_from)),
            )
        shimmed = find_shimmed(before, after, self.pin, self.tip) if found.body_changed else None
        if shimmed is not None:
            home = Suggestion(shimmed, 1.0, "the old name only calls it")
            shim = Why(Reason.ONLY_CALLS, shimmed)
            return replace(found, kind=DriftKind.MOVED, suggestions=(home,), why=(*found.why, shim))
        if before.home != after.home and before.kind is not SymbolKind.DEFINITION:
            return replace(found, why=(*found.why, Why(Reason.COMES_FROM, str(before.home), str(after.home))))
        return found

    def _compare_definitions(self, start: Comparison, before: Symbol, after: Symbol) -> Comparison:
        one, two = before.definition, after.definition
        if one is None or two is None:
            return start
        if one.kind is not two.kind:
            kinds = {one.kind, two.kind}
            callable_ = kinds == {DefinitionKind.FUNCTION, DefinitionKind.CLASS}
            kind = DriftKind.SIGNATURE_CHANGED if callable_ else DriftKind.BODY_CHANGED
            return replace(start, kind=kind, body_changed=True, why=(Why(Reason.OTHER_KIND, one.kind, two.kind),))
        changes = find_changes((self.pin, before), (self.tip, after))
        # a constructor that nobody wrote has the body of its class
        body = self.tip.index.differs(after.module or "", two, one.fingerprint, implicit=after.is_implicit)
        if one.bases != two.bases:
            start = replace(start, why=(*start.why, Why(Reason.BASES, _listed(one.bases), _listed(two.bases))))
        if changes:
            kind = DriftKind.SIGNATURE_CHANGED
        else:
            kind = DriftKind.BODY_CHANGED if body or one.bases != two.bases else DriftKind.UNCHANGED
        what = changes[0].change.value if len({one.change for one in changes}) == 1 else ""
        # of a class, what makes its instances
        named = {item.name for item in changes} if what == ParameterChange.DECORATORS else set()
        within = f".{named.pop()}" if len(named) == 1 and one.name not in named else ""
        differs = (Why(Reason.SIGNATURE, what, within, names=tuple(map(str, changes))),) if changes else ()
        return replace(start, kind=kind, changes=changes, body_changed=body, why=(*differs, *start.why))

    def find_lost(self, start: Comparison) -> Comparison:
        """What became of a name that the tip does not have: all that follows from history and from what is alike."""
        before = start.before
        if before.kind is SymbolKind.SUBMODULE and before.module is not None:
            home, commits = self._find_module(before.module)
            start = replace(start, commits=commits)
            if home is None:
                return replace(start, suggestions=tuple(self._find_taken_instead(before.module)))
            return replace(start, kind=DriftKind.MOVED, suggestions=(home,))
        if before.kind is SymbolKind.IMPORTED_NAME or before.alias_of is not None:
            return self._find_lost_binding(start)
        if before.definition is None or before.module is None:
            return start
        if before.definition.owner:
            return self._find_unbound_class(start) or self._find_lost_member(start, before.module, before.definition)
        trail = self._trail(before.module, before.definition)
        start = replace(start, commits=_commits(trail))
        followed = self._follow(before.module, trail)
        found = followed or self.homes.find(before.module, before.definition, last=trail.last if trail else None)
        return _with_history(self._moved(start, found), trail)

    def tracer(self, module: str) -> Tracer | None:
        """The history of the part of the pin that holds `module`."""
        entry = self.pin.index.entries.get(module)
        return self.tracer_of(entry.part) if entry is not None else None

    def tracer_of(self, part: int) -> Tracer | None:
        """The history of a part of the pin."""
        return self._tracers[part] if part < len(self._tracers) else None

    def find_loss(self, found: Comparison) -> str | None:
        """The first commit since which a lost name can no longer be reached as the pin spells it: what broke its users.
        Where that cannot be seen, who moved what it stood for, or removed it in the end.
        """
        at_last = found.commits[-1 if found.kind is DriftKind.REMOVED else 0] if found.commits else None
        return self._losses.find_unbinding(found) or at_last

    def find_outer_loss(self, name: str) -> str | None:
        """The same of the outermost part of a name that the tip lacks: the module or class that is told to be missing,
        whatever became of its members before.
        """
        return self._losses.find_outer(name)

    def _trail(self, module: str, definition: Definition) -> Trail | None:
        tracer = self.tracer(module)
        if tracer is None or not is_followable(definition):
            return None
        return tracer.follow(self.pin.index.entries[module].path, definition.qualname)

    def _follow(self, module: str, trail: Trail | None) -> list[Suggestion]:
        """The place where a trail ends, if that is a module of the tip."""
        if trail is None or trail.end is None or not trail.hops:
            return []
        part = self.pin.index.parts[self.pin.index.entries[module].part]
        name = module_name(trail.end.path, part.source_roots)
        target = f"{name}.{trail.end.qualname}"
        if name is None or not self.tip.resolve(target).exists:
            return []
        alike = min(hop.similarity for hop in trail.hops)
        steps = listed([hop.commit[:9] for hop in trail.hops], most=len(trail.hops))
        if any(hop.is_merger for hop in trail.hops):
            reason = f"history: {steps} merged it with near copies of it, {alike:.0%} of its body is there"
            return [Suggestion(target, round(0.55 + 0.3 * alike, 2), reason)]
        there = "that commit" if len(trail.hops) == 1 else "those commits"
        reason = f"history: {steps} moved it, bodies {alike:.0%} alike in {there}"
        return [Suggestion(target, round(0.7 + 0.3 * alike, 2), reason)]

    def _moved(self, start: Comparison, found: list[Suggestion]) -> Comparison:
        """A move where the best suggestion is good enough, with the differences against it."""
        start = replace(start, suggestions=tuple(found))
        if not found or found[0].score < MOVE:
            return start
        best = found[0]
        there = self.tip.resolve(best.target)
        if replace(
            start, after=there
        ).is_class_no_more:  # no class stands for it: who tests for it, or derives, has none
            rest = tuple(
                one for one in found if not replace(start, after=self.tip.resolve(one.target)).is_class_no_more
            )
            return replace(start, suggestions=rest, why=(*start.why, Why(Reason.MADE_BY_FUNCTION, best.target)))
        kept_name = best.target.rpartition(".")[2] == start.name.rpartition(".")[2]
        compared = self._compare_definitions(replace(start, why=()), start.before, there)
        kind = DriftKind.MOVED if kept_name else DriftKind.RENAMED
        return replace(compared, kind=kind, why=(Why(Reason.NOW, best.target), *compared.why))

    def _find_lost_member(self, start: Comparison, module: str, definition: Definition) -> Comparison:
        """A method or field: follow its class first; its own name proves nothing."""
        heir, holder = start.name.rpartition(".")[0], f"{module}.{definition.owner}"
        named, owner = self.compare(heir), self.compare(holder)
        if named.is_class_no_more:
            return replace(start, why=(Why(Reason.OTHER_KIND, "class", "function"),), commits=named.commits)
        if owner.after.home is not None and self.tip.resolve(f"{owner.after.home}.{definition.name}").exists:
            if named.kind.facts.fate is Fate.STAYS:
                return replace(start, why=(Why(Reason.NO_LONGER_INHERITS, heir, holder),), commits=named.commits)
            holder, owner = heir, named
        if owner.kind.facts.fate is Fate.STAYS and owner.after.home is not None:
            trail = self._trail(module, definition)
            start = replace(start, commits=_commits(trail))
            followed = [item for item in self._follow(module, trail) if self._can_replace(definition, item.target)]
            found = followed or self.homes.find_members(module, definition, owner.after.home)
            why = Why(Reason.MEMBER_GONE, definition.owner, definition.name)
            return self._moved(replace(start, why=(why,)), found)
        home = owner.new_home
        start = replace(start, commits=owner.commits)
        if home is None:
            why = Why(Reason.CLASS_GONE, holder)
            return replace(start, why=(why,), suggestions=owner.suggestions)
        there = self.tip.resolve(f"{home}.{definition.name}")
        if there.exists:
            best = owner.suggestions[0]
            moved = Suggestion(f"{home}.{definition.name}", best.score, f"its class: {best.reason}")
            return self._moved(replace(start, why=()), [moved])
        why = Why(Reason.CLASS_LACKS_IT, home, definition.name)
        return replace(start, why=(why,), suggestions=owner.suggestions)

    def _can_replace(self, definition: Definition, target: str) -> bool:
        """A part that was cut out of a method under another name is not what its callers should call instead."""
        there = self.tip.resolve(target).definition
        kept_name = target.rpartition(".")[2] == definition.name
        return kept_name or there is None or not needs_more(definition, there)

    def _with_local_name(self, start: Comparison, holder: str | None, origin: Comparison) -> Comparison:
        """Where the module imports the object under its new name, that is the binding to use."""
        home = origin.new_home
        local = f"{holder}.{(home or '').rpartition('.')[2]}"
        if holder is None or home is None or self.tip.resolve(local).home != home or local == home:
            return start
        reason = f"{holder} imports it under its new name; {origin.suggestions[0].reason}"
        return replace(start, suggestions=(Suggestion(local, origin.suggestions[0].score, reason),))

    def _find_module(self, module: str) -> tuple[Suggestion | None, tuple[str, ...]]:
        """Where a module went, and the commits that moved or removed it: by history where there is one, else by what
        most of its definitions say.
        """
        tracer, entry = self.tracer(module), self.pin.index.entries.get(module)
        if tracer is None or entry is None:
            return self.homes.find_module(module), ()
        path, commits = tracer.follow_file(entry.path)
        name = module_name(path, self.pin.index.parts[entry.part].source_roots) if path else None
        is_there = name is not None and name in self.tip.index.entries
        return Suggestion(name, 0.9, "history: the file moved there") if is_there and name else None, commits

    def _find_taken_instead(self, module: str) -> Iterator[Suggestion]:
        """No move: what upstream's own code imports since it lost the module."""
        tracer, entry = self.tracer(module), self.pin.index.entries.get(module)
        found = tracer.find_taken_instead(entry.path, module) if tracer is not None and entry is not None else None
        if found is not None and found[0] in self.tip.index.entries:
            name, number, users = found
            yield Suggestion(
                name, 0.5, f"{number} of {users} upstream files that imported the module import it instead"
            )

    def _find_with_users(self, before: Symbol, holder: str | None, last: str) -> Iterator[Suggestion]:
        """Where functions that used an outside name went, if they are found beside the same name there."""
        module = self.pin.index.module(holder) if holder is not None else None
        text = self.pin.index.read_text(holder).split("\n") if module is not None and holder is not None else []
        for item in module.definitions if module is not None else ():
            first, end = item.lines
            if (
                item.owner
                or item.kind is not DefinitionKind.FUNCTION
                or f"{last}(" not in "\n".join(text[first - 1 : end])
            ):
                continue
            home = self.compare(f"{holder}.{item.qualname}").new_home
            there = f"{home.rpartition('.')[0]}.{last}" if home is not None else None
            if there is not None and self.tip.resolve(there).home == before.home:
                yield Suggestion(there, 0.8, f"{item.name}, which uses it, is {home} now")

    def _still_means(self, name: str, home: str | None) -> bool:
        """Whether a name leads at the tip to what it led to, outside upstream."""
        there = self.tip.resolve(name)
        return there.exists and there.home == home

    def _find_unbound_class(self, start: Comparison) -> Comparison | None:
        """A member of a class that the module only imported, and imports no longer."""
        owner, _, member = start.name.rpartition(".")
        if self.pin.resolve(owner).kind is not SymbolKind.IMPORTED_NAME:
            return None
        found = self.compare(owner)
        if found.kind is not DriftKind.BINDING_LOST:
            return None
        there = (replace(one, target=f"{one.target}.{member}") for one in found.suggestions)
        known = tuple(one for one in there if self.tip.resolve(one.target).exists)
        return replace(start, kind=found.kind, suggestions=known, why=found.why, commits=found.commits)

    def _find_lost_binding(self, start: Comparison) -> Comparison:
        """A name that a module imported: either the module moved, or it only stopped importing the name."""
        before = start.before
        last = start.name.rpartition(".")[2]
        holder = before.bound_in
        if holder is not None and holder not in self.tip.index.entries:
            home, commits = self._find_module(holder)
            if home is not None and self.tip.resolve(f"{home.target}.{last}").exists:
                moved = Suggestion(f"{home.target}.{last}", home.score, f"its module: {home.reason}")
                return replace(
                    start,
                    kind=DriftKind.MOVED,
                    suggestions=(moved,),
                    why=(Why(Reason.MODULE_MOVED, holder, home.target),),
                    commits=commits,
                )
        gone = () if holder in self.tip.index.entries else (Why(Reason.MODULE_GONE, str(holder)),)
        if before.inside is not None and before.inside != start.name and self._still_means(before.inside, before.home):
            lives = Suggestion(before.inside, 1.0, "that name still means the same object")
            still = (Why(Reason.UNBOUND, str(holder), last), Why(Reason.STILL_THERE, before.inside))
            return replace(start, kind=DriftKind.BINDING_LOST, suggestions=(lives,), why=(*gone, *still))
        if before.module is None:
            why = (*gone, Why(Reason.ONLY_IMPORTED, str(before.home)))
            users = tuple(self._find_with_users(start.before, holder, last))
            return replace(start, kind=DriftKind.BINDING_LOST, why=why, suggestions=users[:1])
        origin = self.compare(before.home or start.name)
        if origin.kind.facts.fate is Fate.STAYS and before.home is not None:
            lives = Suggestion(before.home, 1.0, "it is still defined there")
            still = (Why(Reason.UNBOUND, str(holder), last), Why(Reason.STILL_THERE, before.home))
            return replace(
                start,
                kind=DriftKind.BINDING_LOST,
                suggestions=(lives,),
                changes=origin.changes,
                body_changed=origin.body_changed,
                why=(*gone, *still, *origin.why),
            )
        if origin.new_home is not None:
            there = self._find_module(holder)[0] if gone and holder is not None else None
            start = self._with_local_name(start, there.target if there is not None else holder, origin)
            moved_to = Why(Reason.UNBOUND_AND_MOVED, str(holder), last, origin.new_home)
            return replace(
                start,
                kind=DriftKind.BINDING_LOST,
                suggestions=(*start.suggestions, *origin.suggestions),
                changes=origin.changes,
                why=(*gone, moved_to),
                commits=origin.commits,
            )
        why = (*gone, Why(Reason.ORIGIN_GONE, str(before.home)))
        return replace(start, suggestions=origin.suggestions, why=why, commits=origin.commits)


def _with_history(found: Comparison, trail: Trail | None) -> Comparison:
    """Of what moved before it was removed: both commits."""
    if found.kind is not DriftKind.REMOVED or trail is None or not trail.hops or trail.lost_in is None:
        return found
    hops = listed([hop.commit[:9] for hop in trail.hops], most=len(trail.hops))
    return replace(found, why=(*found.why, Why(Reason.MOVED_THEN_REMOVED, hops, trail.lost_in[:9])))


def _commits(trail: Trail | None) -> tuple[str, ...]:
    if trail is None:
        return ()
    return (*(hop.commit for hop in trail.hops), *((trail.lost_in,) if trail.lost_in else ()))


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words) or "none"


def _read(text: str | None, otherwise: Reason) -> Why:
    """What the resolver said of a symbol, where it said something."""
    return Why(Reason.TEXT, text=text) if text else Why(otherwise)
