"""An operator as it travels to another machine: by its name, or all of its file and of what that imports."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from layline.campaign.operators.find import find_operator
from layline.campaign.operators.own.build import build_operator
from layline.campaign.operators.own.read import run_text
from layline.campaign.values.operator import Operator


def open_operator(name: str, sources: list[Any]) -> Operator:
    """The operator on the machine that it came to; `sources` are pairs of path and text, its own file first."""
    if not sources:
        return find_operator(name).operator
    (_, text), *beside = sources
    with tempfile.TemporaryDirectory(prefix="layline-operator-") as folder:
        for path, said in beside:
            place = Path(folder) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(said, "utf-8")
        return build_operator(run_text(text, name, Path(folder).resolve()))
