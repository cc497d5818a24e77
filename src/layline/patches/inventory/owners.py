"""Which backend a registration belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped
from layline.core.prose import count, verb
from layline.source.names import longest_root

if TYPE_CHECKING:
    from layline.config import Backend, Settings
    from layline.core.patch import Effect
    from layline.patches.inventory.registering import Registered


def belongs(registration: Registered, key: str, settings: Settings) -> bool:
    """A patch belongs to the backend it names, else to the one whose folder it stands in, else to the only one."""
    return find_owner(registration, settings) == key


def find_owner(registration: Registered, settings: Settings) -> str | None:
    named = registration.backend
    if named in settings.backends:
        return named
    home = find_folder_backend(registration.at.path, settings)
    return home or (next(iter(settings.backends)) if len(settings.backends) == 1 else None)


def find_homeless(registrations: Iterable[Registered], settings: Settings) -> Iterator[Skipped]:
    """Registrations that no configured backend owns are said, not lost."""
    for registration in registrations:
        if find_owner(registration, settings) is None:
            named = registration.backend
            about = f"it names the backend {named!r}" if named else "it names no backend"
            yield Skipped(
                f"{registration.id or 'a patch'} ({registration.at})",
                f"{about} and is not in a folder of a configured backend",
            )


def find_folder_backend(path: str, settings: Settings) -> str | None:
    return next(iter(_find_nearest(path, settings)), None)


def find_home(path: str, settings: Settings, imported: Iterable[str]) -> str | None:
    """The one backend that a file of ours is taken to be written for: by its folder; else one of those that name no
    folder. Of several it is the one that the file imports most often, else the first; `imported` names its imports.
    """
    near = _find_near(path, settings)
    if len(near) < 2:
        return next(iter(near), None)
    names = tuple(imported)

    def count(key: str) -> int:
        return sum(longest_root(name, settings.backends[key].packages) > 0 for name in names)

    return max(near, key=count)


def tell_homes(
    rows: Iterable[Effect], key: str, settings: Settings, imports: Callable[[str], Iterable[str]]
) -> Iterator[Skipped]:
    """How many rows stand in the list of one backend because of their file alone: they name no package of any, and
    others share the folder. `imports`: what a file imports.
    """
    packages = [name for one in settings.backends.values() for name in one.packages]
    shared = [
        effect.location.path
        for effect in rows
        if not longest_root(effect.target or "", packages) and len(_find_near(effect.location.path, settings)) > 1
    ]
    own = settings.backends[key].packages
    near = sum(any(longest_root(name, own) for name in imports(path)) for path in shared)
    said = [(near, f"because their files import {key} most")] if near else []
    rest = f"because their files import no backend and {key} is the first one in layline.toml"
    said += [(len(shared) - near, rest)] if near < len(shared) else []
    if shared:
        told = f"{count(len(shared), 'patch')} that {verb(len(shared), 'names')} no package of a backend"
        why = said[0][1] if len(said) == 1 else ", ".join(f"{number} {one}" for number, one in said)
        here = f"{told} {verb(len(shared), 'is')} listed under {key} alone"
        yield Skipped("patches of no backend", f"{here}{',' if len(said) == 1 else ':'} {why}")


def _find_near(path: str, settings: Settings) -> list[str]:
    """The backends that a file may be written for."""
    anywhere = [key for key, one in settings.backends.items() if not (one.patches or one.integration)]
    return _find_nearest(path, settings) or anywhere


def _find_nearest(path: str, settings: Settings) -> list[str]:
    """The backends whose folder is the closest round a file: several may name the same one."""
    depths = {
        key: longest
        for key, one in settings.backends.items()
        if (longest := max((len(at) for at in _folders(one) if path.startswith(at)), default=0))
    }
    return [key for key, depth in depths.items() if depth == max(depths.values())]


def _folders(backend: Backend) -> Iterator[str]:
    for folder in (*backend.patches, *backend.integration):
        yield folder.rstrip("/") + "/"
