"""`patches port`: how one patch comes into another framework, as a plan and as a bundle that installs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from layline.app.patches_show import read_keys
from layline.core.progress import Progress, silent
from layline.core.report import Answer, Cell, Paragraph, Report, Section
from layline.errors import Error
from layline.files import write_inside
from layline.patches.inventory.read import find_handler_calls
from layline.patches.named import find_named
from layline.patches.opened import OpenedInventory, open_reading, read_all
from layline.patches.port.bundle import Origin, build_bundle, name_package
from layline.patches.port.guard import quote_guard
from layline.patches.port.plan import build_plan, find_consumers
from layline.patches.port.slicing import Slice, follow_patch
from layline.render.markdown import render_markdown

if TYPE_CHECKING:
    from layline.core.patch import Patch
    from layline.workspace.open import Workspace

_MARK = ".layline-port"


def patches_port(
    workspace: Workspace,
    patch_id: str,
    *,
    to: Path | None = None,
    backend: str | None = None,
    progress: Progress = silent,
) -> Answer:
    """The porting plan of a patch; with `to`, a bundle is written there."""
    opened = open_reading(workspace, progress)
    inventories = read_all(opened, (backend,) if backend else tuple(workspace.settings.backends), progress)
    named = find_named(inventories, patch_id)
    inventory, patch = named.inventory, named.patch
    modules = opened.reading.machine.modules
    if patch.file not in modules.names_by_path:
        raise Error(f"{patch.file} is not a module of the downstream.", hint="Set project.source_roots.")
    registers = find_handler_calls(workspace.settings)
    found = follow_patch(patch, modules, registers)
    consumers = list(find_consumers(patch, opened.upstreams.index, opened.upstreams.resolver))
    opened.upstreams.save()
    keys = read_keys(workspace, opened, inventory, patch)
    plan = build_plan(patch, found, modules, keys, consumers, registers=registers)
    report = Report(
        title=f"Port of {patch.id}",
        sections=(plan,),
        meta=(
            ("downstream", f"{workspace.downstream.name} at {workspace.commit}"),
            ("pin", inventory.pin or "unknown"),
        ),
    )
    files = _write(workspace, opened, patch, found, report, to) if to is not None else ()
    if to is not None:
        written = Section(
            title="Bundle",
            blocks=(Paragraph((Cell(str(to), code=True), f": {len(files)} files, package {name_package(patch.id)}.")),),
        )
        report = Report(title=report.title, sections=(plan, written), meta=report.meta)
    data = {
        "schema": "layline.port/1",
        "patch": patch.id,
        "commit": workspace.commit,
        "pin": inventory.pin,
        "package": name_package(patch.id),
        "modules": found.modules,
        "needs": sorted(found.outside),
        "stubbed": sorted({stub for stubs in found.stubs.values() for stub in stubs}),
        "targets": [effect.target for effect in patch.effects if effect.target],
        "guard": {
            "text": patch.guard.text,
            "expression": patch.guard.expression,
            "source": [asdict(quote) for quote in quote_guard(patch, modules, registers)],
        },
        "consumers": [asdict(item) for item in consumers],
        "problems": found.problems,
        "files": list(files),
    }
    return Answer(report=report, data=data)


def _write(
    workspace: Workspace, opened: OpenedInventory, patch: Patch, found: Slice, report: Report, to: Path
) -> tuple[str, ...]:
    if "." in patch.handler or not patch.handler:
        where = f"inside {patch.handler}" if patch.handler else "when its module is imported"
        raise Error(
            f"{patch.id} is installed {where}; only a function of its own can be bundled.",
            hint=f"Leave --to out: `layline patches port {patch.id}` prints the plan.",
        )
    if to.exists() and any(to.iterdir()) and not (to / _MARK).is_file():
        raise Error(f"{to} is not empty and was not written by Layline.", hint="Name a new or an empty folder.")
    origin = Origin(repository=workspace.downstream.name, commit=workspace.commit)
    modules, registers = opened.reading.machine.modules, find_handler_calls(workspace.settings)
    files = build_bundle(patch, found, modules, opened.tree, opened.reading.roots, origin, registers)
    files["README.md"] = _write_readme(patch, report)
    files[_MARK] = f"{patch.id}\n{workspace.commit}\n"
    for path, text in sorted(files.items()):
        write_inside(to, path, text)
    return tuple(sorted(files))


_USE = """
## Use

```python
from {package} import apply, is_applied, remove

apply({{}})  # the config keys of the plan, as a dict
assert is_applied()
remove()
```

`apply()` installs at once and does not ask the guard: whether the constraint of the plan holds is for the caller to
decide.

## Smoke test

Upstream must be importable, for example from a checkout at the pin:

```sh
PYTHONPATH=/path/to/upstream python {package}_smoke_test.py
```

The files under `{package}/vendor` are copied from the downstream and stay under its license.
"""


def _write_readme(patch: Patch, report: Report) -> str:
    return render_markdown(report) + _USE.format(package=name_package(patch.id))
