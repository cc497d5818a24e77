"""`patches port` as an answer and as files: a plan, and a bundle that installs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from layline import codec
from layline.core.effect_ids import is_effect_id
from layline.core.report import Answer, Cell, Paragraph, Report, Section
from layline.errors import Error
from layline.files import write_inside
from layline.patches.guards.show import show_condition, show_guard
from layline.patches.inventory.read import find_handler_calls
from layline.patches.port.bundle import Origin, build_bundle, is_set_at_once, name_package
from layline.patches.port.guard import quote_guard
from layline.patches.port.plan import Around, Keys, build_plan, find_consumers
from layline.patches.port.slicing import Slice, follow_patch

if TYPE_CHECKING:
    from layline.core.patch import Patch
    from layline.patches import answers
    from layline.patches.named import Named
    from layline.patches.opened import OpenedInventory

_MARK = ".layline-port"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ported:
    """A patch followed to everything it needs."""

    named: Named
    found: Slice
    around: Around
    report: Report
    registers: frozenset[str]


def follow_port(opened: OpenedInventory, named: Named, keys: Keys) -> Ported:
    """What a patch needs to live elsewhere, as a plan."""
    workspace, patch = opened.workspace, named.patch
    modules, registers = opened.reading.machine.modules, find_handler_calls(workspace.settings)
    if patch.file not in modules.names_by_path:
        raise Error(f"{patch.file} is not a module of the downstream.", hint="Set project.source_roots.")
    found = follow_patch(patch, modules, registers)
    consumers = tuple(find_consumers(patch, opened.upstreams.index, opened.upstreams.resolver))
    beside = tuple(dict.fromkeys(_find_beside(named)))
    around = Around(consumers=consumers, beside=beside)
    plan = build_plan(patch, found, modules, keys, around, registers=registers)
    report = Report(
        title=f"Port of {patch.id}",
        sections=(plan,),
        meta=(
            ("downstream", f"{workspace.downstream.name} at {workspace.commit}"),
            ("pin", named.inventory.pin or "unknown"),
        ),
    )
    return Ported(named=named, found=found, around=around, report=report, registers=registers)


def _find_beside(named: Named) -> Iterator[str]:
    """Other targets that the same function sets, or a function that it calls."""
    patch, inventory = named.patch, named.inventory
    (first, last), own = patch.handler_lines, set[str]()
    if is_effect_id(patch.id):
        own = {item.within for item in inventory.unregistered if item.effect.id in named.ids}
    calls = {f"{patch.file}:{line}" for line in range(first, last + 1)}
    for item in inventory.unregistered:
        inside = item.within in own or not calls.isdisjoint(item.called_from)
        if inside and item.effect.id not in named.ids and is_set_at_once(item.effect):
            yield item.effect.target or ""


def build_ported(opened: OpenedInventory, ported: Ported, to: Path | None, files: tuple[str, ...]) -> Answer:
    """The plan, and the bundle that was written to a folder."""
    patch, found, report = ported.named.patch, ported.found, ported.report
    if to is not None:
        said = (Cell(str(to), code=True), f": {len(files)} files, package {name_package(patch.id)}.")
        report = replace(report, sections=(*report.sections, Section(title="Bundle", blocks=(Paragraph(said),))))
    quotes = quote_guard(patch, opened.reading.machine.modules, ported.registers)
    data: answers.Port = {
        "schema": "layline.port/1",
        "patch": patch.id,
        "commit": opened.workspace.commit,
        "pin": ported.named.inventory.pin,
        "package": name_package(patch.id),
        "modules": found.modules,
        "needs": sorted(found.outside),
        "stubbed": sorted({stub for stubs in found.stubs.values() for stub in stubs}),
        "targets": [*(effect.target for effect in patch.effects if effect.target), *ported.around.beside],
        "guard": {
            "text": show_condition(patch.guard.written) or None,
            "expression": show_guard(patch.guard),
            "source": codec.encode(quotes),
        },
        "consumers": codec.encode(ported.around.consumers),
        "problems": found.problems,
        "files": list(files),
    }
    return Answer(report=report, data=data)


def write_bundle(opened: OpenedInventory, ported: Ported, to: Path, render: Callable[[Report], str]) -> tuple[str, ...]:
    """Write the bundle; `render` makes its README of the plan."""
    workspace, patch = opened.workspace, ported.named.patch
    _refuse_bundle(patch, to)
    origin = Origin(repository=workspace.downstream.name, commit=workspace.commit)
    modules, roots = opened.reading.machine.modules, opened.reading.roots
    taken = ported.found, modules, opened.tree
    files = build_bundle(patch, taken, roots, origin, ported.registers, ported.around.beside)
    files["README.md"] = render(ported.report) + _USE.format(package=name_package(patch.id))
    files[_MARK] = f"{patch.id}\n{workspace.commit}\n"
    for path, text in sorted(files.items()):
        write_inside(to, path, text)
    return tuple(sorted(files))


def _refuse_bundle(patch: Patch, to: Path) -> None:
    if "." in patch.handler or not patch.handler:
        where = f"inside {patch.handler}" if patch.handler else "when its module is imported"
        raise Error(
            f"{patch.id} is installed {where}; only a patch that has a function to install it can be bundled.",
            hint=f"Leave out --to: `layline patches port {patch.id}` prints the plan.",
        )
    if to.exists() and any(to.iterdir()) and not (to / _MARK).is_file():
        raise Error(f"{to} is not empty and was not written by Layline.", hint="Name a new or an empty folder.")


_USE = """
## Use

```python
from {package} import apply, is_applied, remove

apply({{}})  # the config keys of the plan, as a dict
assert is_applied()
remove()
```

`apply()` calls our installer unchanged. The tests inside the installer still decide: if one of them fails, nothing
is set and `apply()` raises an error. The tests around the calls of the installer were not copied: call `apply()` only
where the constraint of the plan holds.

## Smoke test

Upstream must be importable, for example from a checkout at the pin:

```sh
PYTHONPATH=/path/to/upstream python {package}_smoke_test.py
```

The files under `{package}/vendor` are copied from the downstream and stay under its license.
"""
