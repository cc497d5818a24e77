"""Which backend a registration belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from layline.core.evidence import Skipped

if TYPE_CHECKING:
    from layline.config import Settings
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
                f"{about} and stands in no folder of a configured one",
            )


def find_folder_backend(path: str, settings: Settings) -> str | None:
    best = ("", "")
    for key, backend in settings.backends.items():
        for folder in (*backend.patches, *backend.integration):
            prefix = folder.rstrip("/") + "/"
            if path.startswith(prefix) and len(prefix) > len(best[0]):
                best = (prefix, key)
    return best[1] or None
