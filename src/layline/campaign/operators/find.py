"""An operator by what the user names: one that ships, a file of their own, a problem in a foreign format."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from layline.campaign.operators import FILES, NAMES, load_operator
from layline.campaign.operators.own.build import build_operator
from layline.campaign.operators.own.foreign import SCHEMES, read_foreign
from layline.campaign.operators.own.read import OperatorFile, read_operator_file
from layline.campaign.values.operator import Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An operator and, where it came from a file, all of that file."""

    operator: Operator
    file: OperatorFile | None = field(default=None, repr=False)


def find_operator(name: str, root: Path = Path()) -> Found:
    """A relative path is one of the folder given: the repository's own."""
    if name in NAMES and name not in FILES:
        return Found(operator=load_operator(name))
    file = read_named_file(name, root)
    return Found(operator=build_operator(file), file=file)


def read_named_file(name: str, root: Path = Path()) -> OperatorFile:
    """What an operator file says, whether it ships, is the user's own, or is made of a foreign problem."""
    if name in FILES:
        return read_operator_file(Path(__file__).parent / "files" / f"{name}.py", f"{name}.py")
    scheme, colon, rest = name.partition(":")
    if colon and scheme in SCHEMES:
        return read_foreign(scheme, rest, root)
    if not name.endswith(".py"):
        load_operator(name)  # says what there is
    return read_operator_file(root / name, name)
