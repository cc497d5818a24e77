"""One detector per idiom: each looks at one event of an installer and yields the effects it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.patches.idioms.attributes import find_attribute_writes
from layline.patches.idioms.configuration import find_config_writes
from layline.patches.idioms.decorations import find_decorations
from layline.patches.idioms.environment import find_environment_writes
from layline.patches.idioms.hooks import find_import_hooks
from layline.patches.idioms.instances import find_instance_bindings
from layline.patches.idioms.lifecycle import find_lifecycle_calls
from layline.patches.idioms.mappings import find_mapping_writes
from layline.patches.idioms.mocks import find_mocks
from layline.patches.idioms.modules import find_module_stubs
from layline.patches.idioms.path_targets import find_path_calls
from layline.patches.idioms.sources import find_source_rewrites
from layline.patches.idioms.text_targets import find_namings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.core.patch import Effect
    from layline.interpreter.events import Event
    from layline.patches.installer import Installer

DETECTORS: tuple[Callable[[Event, Installer], Iterator[Effect]], ...] = (
    find_attribute_writes,
    find_module_stubs,
    find_mapping_writes,
    find_environment_writes,
    find_config_writes,
    find_instance_bindings,
    find_path_calls,
    find_namings,
    find_decorations,
    find_mocks,
    find_import_hooks,
    find_source_rewrites,
    find_lifecycle_calls,
)


def find_effects(event: Event, installer: Installer) -> Iterator[Effect]:
    """Every effect of one event; a fresh detector is added to `DETECTORS` and nowhere else."""
    for detector in DETECTORS:
        yield from detector(event, installer)
