"""The ordered porting plan of one patch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from layline.core.condition import NEVER, find_told
from layline.core.effect_ids import is_effect_id
from layline.core.patch import Holder, Moment, TargetKind
from layline.core.prose import count, listed, verb
from layline.core.report import Bullets, Cell, Code, Paragraph, Section
from layline.patches.guards.show import show_condition, show_guard
from layline.patches.port.guard import quote_guard
from layline.patches.port.slicing import called_name, find_holders
from layline.patches.wanted import asks_first

if TYPE_CHECKING:
    from layline.core.patch import Effect, Patch
    from layline.core.report import Block, Inline
    from layline.interpreter.modules import Modules
    from layline.patches.declared_keys import Schema
    from layline.patches.inner_keys import InnerKey, Limit
    from layline.patches.port.slicing import Slice
    from layline.source import Index
    from layline.source.resolve import Resolver

_MOST = 12
_ENTERS = ("__enter__", "__aenter__")
_MANAGERS = ("contextmanager", "asynccontextmanager")
_LONG = 20
"""A list of so many names is still read."""
_SAID = "the condition under “Applies when” above"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """An upstream module that copies the target by value."""

    target: str
    module: str
    path: str
    line: int
    constructs: tuple[int, ...] = ()
    """Lines that call it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a patch leaves open when it is taken along alone."""

    consumers: tuple[Consumer, ...]
    beside: tuple[str, ...]
    """What else the function sets that installs it."""


def find_consumers(patch: Patch, index: Index, resolver: Resolver) -> Iterator[Consumer]:
    """`from m import f` elsewhere in upstream: rebinding m.f later does not reach these."""
    seen: set[tuple[str, str]] = set()
    for effect in patch.effects:
        if (
            not effect.target
            or effect.moment is not Moment.INSTALL
            # whoever imports the class still makes the object that is changed; a module of our own nobody copies
            or effect.holder in {Holder.OBJECT, Holder.STAND_IN}
            or effect.target_kind in {TargetKind.EXTERNAL, TargetKind.ABSENT, TargetKind.UNKNOWN}
        ):
            continue
        if resolver.resolve(effect.target).definition is None:
            continue
        for module, item in resolver.find_importers(effect.target):
            if (effect.target, module) in seen or effect.target == f"{module}.{item.alias}":
                continue
            seen.add((effect.target, module))
            text = index.read_text(module)
            pattern = re.compile(rf"\b{re.escape(item.alias)}\(")
            lines = tuple(
                n for n, line in enumerate(text.splitlines(), 1) if pattern.search(line) and "def " not in line
            )
            yield Consumer(
                target=effect.target,
                module=module,
                path=index.entries[module].path,
                line=item.line,
                constructs=lines[:5],
            )


@dataclass(frozen=True, slots=True)
class Keys:
    """What is known about the config keys of a patch."""

    schema: Schema
    upstream: Mapping[str, str]
    """Key → where upstream itself has it, for keys that the downstream does not declare."""
    inner: tuple[InnerKey, ...] = ()
    """Keys that our code reads when it runs, that no guard names and upstream does not have."""
    limits: tuple[Limit, ...] = ()


def list_keys(patch: Patch) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*patch.guard.keys, *patch.body_keys)))


def build_plan(
    patch: Patch,
    found: Slice,
    modules: Modules,
    keys: Keys,
    around: Around | None,
    *,
    registers: frozenset[str],
    told: bool = False,
) -> Section:
    """`around`: None where nobody looked for it. `told`: the page has said already when it applies, and is no place for
    long lists.
    """
    consumers, beside = (around.consumers, around.beside) if around is not None else ((), ())
    rebound = [effect.target for effect in patch.effects if effect.target and _is_rebound(effect)]
    patched = set(rebound)
    files = [modules.path_of(name) or name for name in found.modules if name in found.statements]
    shims = sorted({stub for stubs in found.stubs.values() for stub in stubs})
    steps: list[Inline] = [
        ("Copy what is needed from: ", name_all(files or [patch.file], whole=not told)),
        *(
            []
            if is_effect_id(patch.id)
            else ["Leave behind: the rest of these files and the code that registers the patch."]
        ),
        *([f"Functions that only log become `print` in the copy: {', '.join(shims)}."] if shims else []),
        f"Needs at run time: {name_all(sorted(found.outside), whole=not told) or 'nothing but Python'}.",
        *_describe_targets(patch),
        *(_describe_consumer(item, patched) for item in consumers[:_MOST]),
        *_say_no_copies(rebound, around),
        *_describe_keys(patch, keys),
        _describe_guard(patch, told=told),
        *(f"Also asked: {need}." for need in patch.guard.other if not is_effect_id(patch.id)),
        *(f"Our code raises an error unless {limit.text} ({limit.location})." for limit in keys.limits[:_MOST]),
        *([f"The same function also sets {listed(beside, most=_MOST)}."] if beside else []),
        *([] if _only_builds(patch) else [describe_installing(patch, find_entered(modules, patch))]),
        *(f"Look at: {problem}." for problem in found.problems),
    ]
    if len(consumers) > _MOST:
        rest = count(len(consumers) - _MOST, "more module")
        steps.append(f"{rest} {verb(len(consumers) - _MOST, 'copies')} a target by value; see the JSON.")
    quotes = quote_guard(patch, modules, registers)
    blocks: list[Block] = [Bullets(tuple(steps), ordered=True)]
    if quotes:
        blocks.append(Paragraph("The guard, copied word for word, with every helper and constant that decides:"))
        blocks += [Code("\n\n".join(f"# {q.path}:{q.lines[0]}-{q.lines[1]}\n{q.text}" for q in quotes), "python")]
    return Section(title="Porting plan", blocks=tuple(blocks))


def name_all(names: list[str], *, whole: bool) -> str:
    """All of them; of very many the first, where the whole list is told elsewhere."""
    if whole or len(names) <= _LONG:
        return ", ".join(names)
    return f"{listed(names, most=_MOST)} (`patches port` names all)"


def describe_installing(patch: Patch, entered: str | None = None) -> Inline:
    """`entered`: the context manager whose end undoes it."""
    if is_effect_id(patch.id):
        if not patch.handler:
            return "Make the assignment before the name is used."
        if all(effect.moment is Moment.TRANSIENT for effect in patch.effects):
            return _describe_undone(patch, entered)
        call = Cell(f"{patch.handler}()", code=True)
        holder, _dot, method = patch.handler.rpartition(".")
        if method == "__init__":
            return ("Each new ", Cell(holder, code=True), " installs it: there is nothing more to call.")
        if all(effect.holder is Holder.OBJECT for effect in patch.effects):
            return ("Call ", call, " on each object to be changed, before the object is used.")
        return ("Call ", call, " before the name is used.")
    return (
        "Either rebind directly (",
        Cell("apply()", code=True),
        " of the bundle), or keep the patch registry: register the handler in phase ",
        f"{patch.phase}, priority {patch.priority}.",
    )


def _describe_undone(patch: Patch, entered: str | None) -> Inline:
    """What is put back: at the end of a `with`, or by the function that set it."""
    if entered is not None:
        around = Cell(f"with {entered}(…)", code=True)
        return (
            "It is undone when ",
            Cell(entered, code=True),
            " ends. Put the code that uses the name into the body of ",
            around,
            ".",
        )
    call = Cell(f"{patch.handler}()", code=True)
    return ("Temporary: ", call, " sets it and puts the old value back. Copy all of that function.")


def find_entered(modules: Modules, patch: Patch) -> str | None:
    """The context manager that installs a patch: the class of an `__enter__`, or a generator that is decorated as one."""
    name = modules.names_by_path.get(patch.file)
    module, scope = modules.find(name) if name is not None else None, patch.handler.split(".")
    holders = list(find_holders(module.body if module is not None else [], scope))
    if len(holders) < len(scope):
        return None
    if scope[-1] in _ENTERS:
        return patch.handler.rpartition(".")[0]
    decorators = getattr(holders[-1], "decorator_list", [])
    return patch.handler if any(called_name(one) in _MANAGERS for one in decorators) else None


def _describe_guard(patch: Patch, *, told: bool) -> str:
    """When it applies; `told`: the page has said so."""
    guard, handler = patch.guard, patch.handler if is_effect_id(patch.id) else ""
    if guard.written is not None:
        return (
            f"Applies: when {show_condition(guard.written)} (reads: {show_guard(guard)}); copied word for word below."
        )
    if not show_condition(guard.when):
        return f"Applies: {f'whenever {handler}() is called' if handler else 'always'}."
    if find_told(guard.when) == NEVER:
        return "Applies: never."
    return f"Applies: when {show_guard(guard)}." if not told else f"Applies: see {_SAID}."


def _describe_targets(patch: Patch) -> Iterator[Inline]:
    for effect in patch.effects:
        if effect.holder is Holder.STAND_IN and effect.target:
            name = effect.target.rpartition(".")[2]
            yield (
                "Set ",
                Cell(name, code=True),
                " in the module that our code creates: nothing in upstream is rebound.",
            )
        elif effect.holder is Holder.OBJECT and effect.moment is not Moment.DEFERRED:
            yield _describe_object(effect)
        elif effect.target and effect.moment is Moment.INSTALL:
            alias = f", which is imported there from {effect.alias_of}" if effect.alias_of else ""
            absent = f" (absent at the pin: {_say_absent(effect)})" if effect.target_kind is TargetKind.ABSENT else ""
            yield (f"Assign {effect.replacement} to ", Cell(effect.target, code=True), f"{alias}{absent}.")
        elif effect.target and effect.moment is Moment.TRANSIENT:
            yield ("Set ", Cell(effect.target, code=True), f" to {effect.replacement or 'our value'}, temporarily.")
        elif effect.mutates:
            yield f"Set {', '.join(effect.mutates)} ({effect.moment.value})."


def _say_absent(effect: Effect) -> str:
    if effect.raises:
        return "rebinding it fails"
    return "only where our condition holds" if asks_first(effect) else "it is created"


def _describe_object(effect: Effect) -> Inline:
    """On the object alone: to rebind the class would change every object of it."""
    holder, _, last = (effect.target or "").rpartition(".")
    name = effect.attribute or last or "that is patched"
    which = f" of one object ({effect.reached})" if effect.reached else " of one object"
    rest = f"; leave its class ({holder}) as it is" if holder else ""
    return ("Set the attribute ", Cell(name, code=True), f"{which} to {effect.replacement or 'our replacement'}{rest}.")


def _say_no_copies(rebound: list[str], around: Around | None) -> Iterator[str]:
    if rebound and around is not None and not around.consumers:
        yield "No upstream module keeps its own copy of what is rebound."


def _is_rebound(effect: Effect) -> bool:
    return effect.moment is Moment.INSTALL and effect.holder not in {Holder.OBJECT, Holder.STAND_IN}


def _only_builds(patch: Patch) -> bool:
    """Whether it only fills a module that our code makes: who puts that into place is another effect."""
    return is_effect_id(patch.id) and all(effect.holder is Holder.STAND_IN for effect in patch.effects)


def _describe_consumer(item: Consumer, patched: set[str]) -> Inline:
    name = f"{item.module}.{item.target.rpartition('.')[2]}"
    covered = (
        " (the patch rebinds this copy too)" if name in patched else ": install before it is imported, or rebind it too"
    )
    used = f", used at line {', '.join(map(str, item.constructs))}" if item.constructs else ""
    return (Cell(f"{item.path}:{item.line}", code=True), f" copies {item.target} by value{used}{covered}.")


def _describe_keys(patch: Patch, keys: Keys) -> Iterator[Inline]:
    for key in list_keys(patch):
        declared, known = keys.schema.default(key), keys.upstream.get(key)
        if declared is None and known is not None:
            yield f"Config key {key}: upstream has it ({known}); nothing to add."
            continue
        default = f", default {declared.value} ({declared.location})" if declared else ""
        yield f"New config key: {key}{default}."
    for inner in keys.inner:
        declared = keys.schema.default(inner.key)
        default = f", default {declared.value} ({declared.location})" if declared else ""
        yield f"New config key: {inner.key}{default}; {say_read(inner)}."


def say_read(inner: InnerKey) -> str:
    return f"our code reads it at {inner.location}{', without a default of its own' if inner.needed else ''}"
