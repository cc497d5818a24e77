"""The fleet file: which downstream projects are asked together."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from layline.errors import ConfigError, say_error
from layline.git import open_repository
from layline.workspace.open import Workspace, open_workspace

_HINT = 'Write [[project]] with config = "path/to/layline.toml", or projects = ["path/to/layline.toml"].'
_KEYS = {"name", "git", "config"}


@dataclass(frozen=True, slots=True)
class FleetProject:
    """One downstream of a fleet."""

    name: str
    config: Path
    git: Path | None = None
    """Where its repository is, if not where its own configuration says."""

    def open(self) -> Workspace:
        found = open_workspace(self.config)
        if self.git is None:
            return found
        repository = open_repository(self.git, found.settings.project.repository or self.name)
        return replace(found, downstream=repository, commit=repository.resolve("HEAD"))


def read_fleet(file: Path) -> list[FleetProject]:
    """Paths are relative to the file; a folder means its layline.toml."""
    try:
        plain = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The fleet file {file} cannot be read: {say_error(error)}.", hint=_HINT) from None
    listed = plain.get("projects", [])
    tables = plain.get("project", [])
    if not isinstance(listed, list) or not isinstance(tables, list) or not (listed or tables):
        raise ConfigError(f"{file} names no projects.", hint=_HINT)
    return [_read(file, one) for one in (*({"config": path} for path in listed), *tables)]


def _read(file: Path, table: object) -> FleetProject:
    if not isinstance(table, dict) or not isinstance(table.get("config"), str):
        raise ConfigError(f"{file} has a project without `config`.", hint=_HINT)
    unknown = sorted(table.keys() - _KEYS)
    if unknown or not all(isinstance(value, str) for value in table.values()):
        raise ConfigError(f"{file} has a project with {', '.join(unknown) or 'a value that is not text'}.", hint=_HINT)
    place = file.parent / Path(table["config"]).expanduser()
    config = place / "layline.toml" if place.is_dir() else place
    git = file.parent / Path(table["git"]).expanduser() if "git" in table else None
    return FleetProject(table.get("name", config.parent.name), config, git)
