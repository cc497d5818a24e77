"""What Layline keeps on disk."""

from __future__ import annotations

from pathlib import Path

from layline.source.cache import FILE_NAME

CARRIED = "carried"
"""The folder of repositories that came with somebody's questions."""


def find_files(folder: Path) -> list[Path]:
    """The database, its companions, and files that were set aside because they could not be read."""
    return sorted(path for path in folder.glob(f"{Path(FILE_NAME).stem}.*") if path.is_file())


def find_carried(folder: Path) -> list[Path]:
    """Repositories that came from other machines, and what holds their places."""
    try:
        return sorted((folder / CARRIED).iterdir())
    except OSError:
        return []


def measure(path: Path) -> int:
    """Bytes of a file, or of all below a folder."""
    try:
        if path.is_dir() and not path.is_symlink():
            return sum(measure(one) for one in path.iterdir())
        return path.lstat().st_size
    except OSError:
        return 0


def show_size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
