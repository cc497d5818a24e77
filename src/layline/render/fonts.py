"""The folder of fonts that a user names."""

from __future__ import annotations

from pathlib import Path

from layline.errors import ConfigError

_FONTS = frozenset({".ttf", ".otf", ".ttc", ".otc"})


def find_fonts(folder: Path) -> Path:
    """The folder, where it holds a font at all: a misspelt name would otherwise go unnoticed."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder.", hint="Name the folder that holds the font files.")
    if not any(path.suffix.lower() in _FONTS for path in folder.rglob("*")):
        raise ConfigError(f"{folder} holds no font.", hint=f"Fonts end in {', '.join(sorted(_FONTS))}.")
    return folder
