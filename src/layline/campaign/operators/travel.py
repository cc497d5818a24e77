"""An operator as it travels to another machine: by its name, or all of its file and of what that imports."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

from layline.campaign.operators.find import find_operator
from layline.campaign.operators.own.build import build_operator
from layline.campaign.operators.own.read import run_text
from layline.campaign.values.operator import Operator
from layline.errors import BenchError


def open_operator(name: str, sources: list[Any]) -> Operator:
    """The operator on the machine that it came to; `sources` are pairs of path and text, its own file first."""
    if not sources:
        return find_operator(name).operator
    (_, text), *beside = sources
    with tempfile.TemporaryDirectory(prefix="layline-operator-") as folder:
        for path, said in beside:
            _lay(Path(folder) / path, read_bytes(said))
        return build_operator(run_text(text, name, Path(folder).resolve()))


def _lay(place: Path, data: bytes) -> None:
    """Where the file looks for it. What has a place of its own there, beside the project, is not written over."""
    if place.exists() and place.read_bytes() != data:
        raise BenchError(
            f"{place} differs on this machine from the file that the operator was read with.",
            hint="Bring the same file there, or put it beside the operator file: then it travels along.",
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)


_ENCODED = "base64:"


def write_text(data: bytes) -> str:
    """Bytes as a text that a ledger and a message can hold: as they are, where they are text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = _ENCODED
    return _ENCODED + base64.b64encode(data).decode("ascii") if text.startswith(_ENCODED) else text


def read_bytes(text: str) -> bytes:
    return base64.b64decode(text.removeprefix(_ENCODED)) if text.startswith(_ENCODED) else text.encode("utf-8")
