"""What Layline keeps on disk."""

from __future__ import annotations

from pathlib import Path

from layline.source.cache import FILE_NAME


def find_files(folder: Path) -> list[Path]:
    """The database, its companions, and files that were set aside because they could not be read."""
    return sorted(path for path in folder.glob(f"{Path(FILE_NAME).stem}.*") if path.is_file())


def measure(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def show_size(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"
