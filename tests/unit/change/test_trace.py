from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from histories import History
from layline.change.file_trace import Version
from layline.change.trace import TracedDefinition, Tracer
from layline.git import open_repository
from layline.source.cache import Cache
from layline.source.memos import Answers, Memos
from layline.source.slices import read_definition, slice_definition
from layline.workspace.kept import open_memos

BODY = """
    total = 0
    for index, item in enumerate(items):
        if item.weight > limit and not item.done:
            total += item.weight * rate
            item.done = True
    return finish(total, rate=rate)
"""
OTHER = """
    with open(path) as handle:
        lines = [line.strip() for line in handle if line and line[0] != "#"]
    return dict(pair.split("=", 1) for pair in lines)
"""
TEXT = '''import os
if os:
    def one(a,
            b=1,
    ) -> int:
        return a
else:
    one = None
@deco
class C(Base):
    size: int = 3
    def one(self):
        """Doc
at the margin.
        """
        return 2
    @property
    def two(self): return 3
def user():
    def one(): ...
    one()
'''


def f(name: str, body: str = BODY, signature: str = "(items, limit, rate=1)") -> str:
    return f"def {name}{signature}:{body}\n"


SLICES = [
    ("one", "    def one(a,\n            b=1,\n    ) -> int:\n        return a\n    one = None"),
    ("C.two", "    @property\n    def two(self): return 3"),
    ("C.size", "    size: int = 3"),
    ("C.none", None),
    ("nothing", None),
]


@pytest.mark.parametrize(("qualname", "expected"), SLICES)
def test_slices(qualname: str, expected: str | None) -> None:
    assert slice_definition(TEXT, qualname) == expected


def test_a_slice_cut_short_is_read_from_the_whole_file() -> None:
    found = read_definition(TEXT, "C.one")
    whole = read_definition("class C:\n    def one(self): return 2\n", "C.one")
    assert found is not None
    assert whole is not None
    assert found.fingerprint == whole.fingerprint


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History.start(tmp_path / "repo")


def tracer(history: History) -> Tracer:
    return Tracer(open_repository(history.path), history.commits[0], history.commits[-1])


def test_two_moves_and_a_rename_are_followed(history: History) -> None:
    history.commit("pin", {"pkg/a.py": f("f"), "pkg/z.py": f("z", OTHER)})
    one = history.commit("Move f (#1)", {"pkg/a.py": None, "pkg/b.py": f("f")})
    history.commit("Edit f", {"pkg/b.py": f("f", BODY.replace("done", "ready"))})
    two = history.commit(
        "Rename f (#2)", {"pkg/b.py": f("compute", BODY.replace("done", "ready").replace("finish", "end"))}
    )
    trail = tracer(history).follow("pkg/a.py", "f")
    assert [(hop.commit, hop.arrival) for hop in trail.hops] == [
        (one, TracedDefinition("pkg/b.py", "f")),
        (two, TracedDefinition("pkg/b.py", "compute")),
    ]
    assert trail.end == TracedDefinition("pkg/b.py", "compute")
    assert trail.lost_in is None


def test_changes_of_the_signature_are_found_on_the_whole_way(history: History) -> None:
    def held(name: str, signature: str) -> str:
        return f"class {name}:\n    size = 3\n\n" + indent(f("run", signature=signature), "    ")

    history.commit("pin", {"pkg/a.py": held("C", "(self, items)")})
    history.commit("Move C (#1)", {"pkg/a.py": None, "pkg/b.py": held("C", "(self, items)")})
    history.commit("A default hurts nobody", {"pkg/b.py": held("C", "(self, items, limit=1)")})
    one = history.commit("Rename a parameter (#2)", {"pkg/b.py": held("C", "(self, rows, limit=1)")})
    two = history.commit("Ask for more (#3)", {"pkg/b.py": held("C", "(self, rows, rate, limit=1)")})
    found = tracer(history)
    pin = read_definition(held("C", "(self, items)"), "C.run")
    assert pin is not None
    assert list(found.find_reshaping("pkg/a.py", "C.run", pin)) == [one, two]


def test_a_removal_names_its_commit(history: History) -> None:
    history.commit("pin", {"pkg/a.py": f("f")})
    gone = history.commit("Drop f", {"pkg/a.py": "x = 1\n"})
    history.commit("More", {"pkg/a.py": "x = 2\n"})
    trail = tracer(history).follow("pkg/a.py", "f")
    assert (trail.lost_in, trail.end, trail.hops) == (gone, None, ())
    assert trail.last is not None


def test_a_revert_is_no_removal(history: History) -> None:
    history.commit("pin", {"pkg/a.py": f("f")})
    history.commit("Drop f", {"pkg/a.py": "x = 1\n"})
    history.commit("Revert", {"pkg/a.py": f("f")})
    assert tracer(history).follow("pkg/a.py", "f").end == TracedDefinition("pkg/a.py", "f")


def test_a_namesake_added_by_the_same_commit_is_no_arrival(history: History) -> None:
    history.commit("pin", {"pkg/a.py": f("f")})
    gone = history.commit("Drop f, add another", {"pkg/a.py": None, "pkg/b.py": f("f", OTHER, "(path)")})
    assert tracer(history).follow("pkg/a.py", "f").lost_in == gone


def test_a_namesake_that_another_lost_definition_fits_better_is_no_arrival(history: History) -> None:
    edited = BODY.replace("finish", "end").replace("weight", "mass")
    history.commit("pin", {"one/a.py": f("f"), "two/a.py": f("f", edited)})
    gone = history.commit("Keep one of two", {"one/a.py": None, "two/a.py": None, "two/b.py": f("f", edited)})
    assert tracer(history).follow("one/a.py", "f").lost_in == gone
    assert tracer(history).follow("two/a.py", "f").end == TracedDefinition("two/b.py", "f")


def test_files_are_followed(history: History) -> None:
    history.commit("pin", {"pkg/m/m.py": f("f") + f("g", OTHER), "pkg/n.py": f("h")})
    history.commit("Flatten", {"pkg/m/m.py": None, "pkg/m.py": f("f") + f("g", OTHER) + f("extra")})
    history.commit("Drop", {"pkg/n.py": None})
    long = "".join(f(f"f{number}", BODY.replace("done", f"done{number}")) for number in range(6))
    history.commit("Add a long file", {"pkg/long.py": long})
    grown = long + "".join(f"C{number} = {number}\n" for number in range(9))
    moved = history.commit("Move it, with many more names", {"pkg/long.py": None, "pkg/far/long.py": grown})
    gone = history.commit("Drop it", {"pkg/far/long.py": None})
    found = tracer(history)
    assert found.follow_file("pkg/long.py") == (None, (moved, gone))
    assert found.follow_file("pkg/m/m.py") == ("pkg/m.py", (history.commits[1],))
    assert found.follow_file("pkg/n.py") == (None, (history.commits[2],))
    assert found.follow_file("pkg/untouched.py") == ("pkg/untouched.py", ())


def test_what_is_imported_in_place_of_a_deleted_file(history: History) -> None:
    """By most of the files that imported it; one file is no majority, and tests do not vote."""
    old = {f"pkg/user{number}.py": "from pkg.old import f\n" for number in range(3)}
    new = dict.fromkeys(old, "from pkg.new import g\n") | {"pkg/user2.py": "from pkg import other\n"}
    alone = {"pkg/one.py": "", "pkg/only.py": "import pkg.one\n"}
    history.commit("pin", {"pkg/old.py": f("f"), "tests/t.py": "import pkg.old\n", **old, **alone})
    history.commit(
        "Replace", {"pkg/old.py": None, "pkg/new.py": f("g", OTHER, "(path)"), "tests/t.py": "import pkg.x\n", **new}
    )
    history.commit("Drop", {"pkg/one.py": None, "pkg/only.py": "import pkg.new\n"})
    found = tracer(history)
    assert found.find_taken_instead("pkg/old.py", "pkg.old") == ("pkg.new", 2, 3)
    assert found.find_taken_instead("pkg/one.py", "pkg.one") is None


def test_first_commit_since_which_a_claim_holds(history: History) -> None:
    history.commit("pin", {"pkg/a.py": f("f")})
    history.commit("More", {"pkg/a.py": f("f", signature="(items, limit, rate=1, more=2)")})
    history.commit("Back", {"pkg/a.py": f("f")})
    culprit = history.commit("Again", {"pkg/a.py": f("f", signature="(items, limit, rate=1, again=2)")})
    history.commit("Later", {"pkg/a.py": f("f", OTHER, "(items, limit, rate=1, again=2)")})
    found = tracer(history)
    assert found.find_first("pkg/a.py", "f", lambda item: item is None or len(item.parameters or ()) > 3) == culprit
    assert found.find_first("pkg/a.py", "f", lambda item: item is None) is None
    assert found.find_first_version("pkg/a.py", lambda version: "handle" in version.text) == history.commits[-1]


def test_what_versions_say_is_asked_once_for_all_tips(history: History, empty_cache: Path) -> None:
    history.commit("pin", {"pkg/a.py": f("f")})
    history.commit("More", {"pkg/a.py": f("f", signature="(items, *, more)")})
    history.commit("Again", {"pkg/a.py": f("f", signature="(items, *, again)")})
    asked: list[str] = []

    def ask(found: Tracer) -> tuple[str | None, str | None]:
        def notes(text: str) -> bool:
            asked.append(text)
            return "again" in text

        found.answers = Answers(open_memos("test"))
        signature = found.find_since("pkg/a.py", "f", lambda version, name: names(version, name) == ["items", "again"])
        told = found.find_first_version("pkg/a.py", lambda version: version.ask("notes", notes))
        found.answers.save()
        return signature, told

    assert ask(tracer(history)) == (history.commits[2], history.commits[2])
    assert len(asked) == 2
    history.commit("Later", {"pkg/a.py": f("f", OTHER, "(items, *, again)")})
    assert ask(tracer(history)) == (history.commits[2], history.commits[2])
    assert len(asked) == 3  # the new version alone
    history.commit("Gone", {"pkg/a.py": None})
    assert ask(tracer(history)) == (None, None)  # a file that is not there says nothing


def names(version: Version, qualname: str) -> list[str]:
    found = version.read_signature(qualname)
    return [one.name for one in found.parameters or ()] if found is not None else []


def test_merges_are_one_step(history: History) -> None:
    history.commit("pin", {"pkg/a.py": f("f")})
    history.git("checkout", "-q", "-b", "side")
    history.commit("side work", {"pkg/a.py": "x = 1\n"})
    history.git("checkout", "-q", "main")
    history.commit("main work", {"pkg/other.py": "y = 1\n"})
    history.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7 from side", "side")
    merge = history.git("rev-parse", "HEAD")
    found = Tracer(open_repository(history.path), history.commits[0], merge)
    assert found.follow("pkg/a.py", "f").lost_in == merge


def klass(name: str, *bodies: str) -> str:
    methods = [f"def m{number}(self, items, limit, rate=1):{body}" for number, body in enumerate(bodies)]
    return f"class {name}:\n" + "".join(
        f"    {line}\n" if line else "\n" for text in methods for line in text.splitlines()
    )


def test_a_class_kept_inside_a_larger_one_was_renamed(history: History) -> None:
    history.commit("pin", {"one/model.py": klass("Attention", BODY, OTHER), "two/model.py": klass("Attention", OTHER)})
    merged = klass("GroupedAttention", BODY, OTHER, BODY.replace("total", "other").replace("weight", "size"))
    history.commit("Merge", {"one/model.py": None, "two/model.py": klass("Attention", OTHER), "common.py": merged})
    assert tracer(history).follow("one/model.py", "Attention").end == TracedDefinition("common.py", "GroupedAttention")


def test_a_class_that_grew_in_its_own_file_was_renamed(history: History) -> None:
    """Beside it a stranger is added: nothing else of the commit is near."""
    grown = klass("Flex", BODY, OTHER, ODD, ODD.replace("seen", "known"), ODD.replace("queue", "pile"))
    history.commit("pin", {"a.py": klass("FlexWrapper", BODY, OTHER)})
    history.commit("Rename and extend", {"a.py": klass("Stranger", ODD.replace("queue", "heap")) + grown})
    assert tracer(history).follow("a.py", "FlexWrapper").end == TracedDefinition("a.py", "Flex")


def test_of_equal_bodies_the_one_in_the_same_file_is_the_heir(history: History) -> None:
    history.commit("pin", {"keel/run.py": klass("Old", BODY, OTHER), "keel/a.py": "x = 1\n"})
    history.commit("tip", {"keel/run.py": klass("New", BODY, OTHER), "keel/a.py": klass("Another", BODY, OTHER)})
    assert tracer(history).follow("keel/run.py", "Old").end == TracedDefinition("keel/run.py", "New")


MORE = BODY.replace("total", "other").replace("weight", "size")
ODD = """
    seen = {}
    while queue and not stopped:
        name, value = queue.pop()
        seen[name] = seen.get(name, 0) + value
    return sorted(seen, key=seen.get)
"""


def test_near_copies_that_became_one_class_are_all_followed(history: History) -> None:
    """Ours alone is too far from what came of it; its sibling, which is not, shows where both went."""
    ours, sibling = klass("Attention", BODY, OTHER), klass("Attention", BODY, OTHER, ODD)
    merged = klass("GroupedAttention", BODY, OTHER, ODD, MORE, MORE.replace("other", "third"))
    history.commit("pin", {"one/model.py": ours, "two/model.py": sibling})
    history.commit("Merge", {"one/model.py": None, "two/model.py": None, "common.py": merged})

    trail = tracer(history).follow("one/model.py", "Attention")
    assert trail.end == TracedDefinition("common.py", "GroupedAttention")
    assert [hop.is_merger for hop in trail.hops] == [True]


def test_without_a_sibling_there_is_no_merger(history: History) -> None:
    merged = klass("GroupedAttention", BODY, OTHER, ODD, MORE, MORE.replace("other", "third"))
    history.commit("pin", {"one/model.py": klass("Attention", BODY, OTHER), "two/model.py": klass("Attention", ODD)})
    gone = history.commit("Not a merge", {"one/model.py": None, "two/model.py": None, "common.py": merged})
    assert tracer(history).follow("one/model.py", "Attention").lost_in == gone


def test_what_a_cut_leaves_in_the_file_is_the_same_function(history: History) -> None:
    long = BODY.replace(
        "    return", OTHER.strip("\n").replace("return", "table =") + ODD.replace("return", "order =") + "    return"
    )
    history.commit("pin", {"pkg/a.py": f("apply_sparse", long)})
    history.commit("Cut", {"pkg/a.py": f("apply", BODY)})
    assert tracer(history).follow("pkg/a.py", "apply_sparse").end == TracedDefinition("pkg/a.py", "apply")


def test_a_helper_cut_out_and_called_in_another_way_is_not(history: History) -> None:
    long = BODY.replace(
        "    return", OTHER.strip("\n").replace("return", "table =") + ODD.replace("return", "order =") + "    return"
    )
    history.commit("pin", {"pkg/a.py": f("apply_sparse", long)})
    gone = history.commit("Keep a helper", {"pkg/a.py": f("read", OTHER, "(path, limit, rate=1, strict=False)")})
    assert tracer(history).follow("pkg/a.py", "apply_sparse").lost_in == gone


@pytest.mark.parametrize(
    ("later", "searched"),
    [
        ({"pkg/other.py": "x = 1\n"}, []),
        ({"pkg/b.py": "x = 1\n"}, ["compute"]),  # the commit that took it out, which nobody knew
        ({"pkg/a.py": f("f")}, []),  # it came back
        ({"pkg/b.py": None, "pkg/c.py": f("compute")}, ["compute"]),
    ],
)
def test_what_one_commit_did_is_kept_for_the_next_tip(
    history: History,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    later: dict[str, str | bytes | None],
    searched: list[str],
) -> None:
    history.commit("pin", {"pkg/a.py": f("f"), "pkg/z.py": f("z", OTHER)})
    history.commit("Move f", {"pkg/a.py": "x = 1\n", "pkg/b.py": f("f")})
    history.commit("Rename f", {"pkg/b.py": f("compute")})

    def follow(memos: Memos) -> object:
        found = tracer(history)
        found.memos = memos
        trail = found.follow("pkg/a.py", "f")
        memos.save()
        return trail

    cache = Cache(tmp_path / "cache", "memo")
    follow(Memos(cache))
    history.commit("Later", later)
    fresh = follow(Memos())
    asked: list[str] = []
    search = Tracer._search_arrival

    def note(self: Tracer, step: object, change: object, place: TracedDefinition) -> object:
        asked.append(place.qualname)
        return search(self, step, change, place)  # type: ignore[arg-type]

    monkeypatch.setattr(Tracer, "_search_arrival", note)
    assert follow(Memos(cache)) == fresh
    assert asked == searched
