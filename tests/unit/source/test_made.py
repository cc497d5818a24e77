"""What a field of a dataclass gives the constructor that Python makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver

FIELDS = [
    # (how the field is given, the parameter)
    ("", "x"),
    (" = 1", "x=1"),
    (" = field(default=1, metadata={'arg': ['--x']})", "x=1"),
    (" = field(metadata={'arg': ['--x']})", "x"),
    (" = field(default_factory=list)", "x=field(default_factory=list)"),
    (" = dataclasses.field(default=None)", "x=None"),
    (" = make(default=1)", "x=make(default=1)"),
]


@pytest.mark.parametrize(("given", "parameter"), FIELDS)
def test_a_field_is_left_out_where_it_has_a_default(tmp_path: Path, given: str, parameter: str) -> None:
    upstream = History.start(tmp_path / "up")
    text = (
        f"import dataclasses\nfrom dataclasses import dataclass, field\n\n\n@dataclass\nclass Rig:\n    x: int{given}\n"
    )
    commit = upstream.commit("one", {"keel/__init__.py": "", "keel/rig.py": text})
    part = Part(tree=Tree(open_repository(upstream.path), commit), packages=("keel",))
    made = Resolver(build_index([part])).resolve("keel.rig.Rig.__init__").definition
    assert made is not None
    assert [str(one) for one in made.parameters or ()] == ["self", parameter]
