"""Star imports of large packages: found through any number of steps, and nothing parsed for a name nobody has."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.source.lazy import open_index
from layline.source.resolve import Resolver
from layline.source.seen import Asked, Read

PARTS = tuple(f"part{number}" for number in range(9))
FILES = {
    "pkg/__init__.py": "".join(f"from .{part} import *\n" for part in PARTS),
    **{f"pkg/{part}/__init__.py": "from .body import *\n" for part in PARTS},
    **{f"pkg/{part}/body.py": f"def run_{part}(*args): return 2 * 3\n" for part in PARTS},
    "pkg/part7/body.py": "from ..part8.body import(*)\nﬁeld = 1\n".replace("(*)", " \\\n  *"),
    "pkg/part3/tools.py": "def cut(): ...\n",
}


@pytest.fixture
def part(tmp_path: Path) -> Part:
    history = History.start(tmp_path / "upstream")
    commit = history.commit("all", dict(FILES))
    return Part(tree=Tree(open_repository(history.path), commit), packages=("pkg",))


@pytest.mark.parametrize(
    ("name", "home"),
    [
        ("run_part0", "pkg.part0.body.run_part0"),
        ("run_part8", "pkg.part8.body.run_part8"),
        ("field", "pkg.part7.body.field"),
        ("tools", "pkg.part3.tools"),
        ("nobody", None),
    ],
)
def test_a_name_behind_many_stars(part: Part, name: str, home: str | None) -> None:
    index, _ = open_index([part])
    assert Resolver(index).resolve(f"pkg.{name}").home == home


def test_no_body_is_parsed_for_a_name_nobody_has(part: Part) -> None:
    """`*args` and a product are no star imports: the texts of all bodies were parsed for them."""
    index, texts = open_index([part])
    Resolver(index).resolve("pkg.nobody")
    blobs = {entry.blob: entry.path for entry in index.entries.values()}
    parsed = {blobs[blob] for blob in texts}
    assert "pkg/__init__.py" in parsed
    assert not [path for path in parsed if path.endswith("body.py") and "part7" not in path]


def test_what_the_words_rule_out_is_not_asked(part: Part) -> None:
    """One name of a package with hundreds of stars was asked of each, and each answer noted what it was made of."""
    index, _ = open_index([part])
    index.watch()
    reads: set[Read] = set()
    with index.seen.within(reads):
        assert Resolver(index).resolve("pkg.run_part6").home == "pkg.part6.body.run_part6"
    asked = {what.partition(" ")[0] for kind, what in reads if kind in {Asked.NAME, Asked.MODULE, Asked.READABLE}}
    assert {one for one in asked if one.startswith("pkg.part")} == {"pkg.part6", "pkg.part6.body"}
    assert {(Asked.WORD, "run_part6"), (Asked.STARS, "pkg.part5"), (Asked.STARS, "pkg.part5.body")} <= reads


def test_a_name_that_is_only_mentioned_behind_a_star_is_not_asked_there(tmp_path: Path) -> None:
    """Of parsed files it is known what they bind: texts of hundreds of files were read and their words held."""
    history = History.start(tmp_path / "upstream")
    files: dict[str, str | bytes | None] = {
        **FILES,
        "pkg/part4/body.py": "# like run_part6\ndef run_part4(run_part6=1): ...\n",
    }
    index = build_index(
        [Part(tree=Tree(open_repository(history.path), history.commit("all", files)), packages=("pkg",))]
    )
    index.watch()
    reads: set[Read] = set()
    with index.seen.within(reads):
        assert Resolver(index).resolve("pkg.run_part6").home == "pkg.part6.body.run_part6"
    assert "pkg.part4.body" not in {what.partition(" ")[0] for kind, what in reads if kind is Asked.NAME}
