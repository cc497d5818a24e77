"""What a new address leaves to do, what lost names left, and texts of ours that name what is gone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import indent

import pytest

from drift_rows import drift_row
from histories import History
from layline.change.compare import Comparer
from layline.change.trace import Tracer
from layline.core.evidence import Evidence, Location
from layline.core.patch import Effect, Style
from layline.coupling.own_uses import read_uses
from layline.coupling.reading import Finder
from layline.gap.done import find_done
from layline.gap.follow import find_follows, say_change
from layline.gap.own_files import find_texts, list_lost_files
from layline.gap.successors import Successor, find_successors, say_instead
from layline.git import open_repository
from layline.history.commits import read_bodies
from layline.history.tags import find_release_branch
from layline.source import Part, Tree, build_index, parse_tree
from layline.source.cache import Cache
from layline.source.memos import Answers, Memos
from layline.source.resolve import Resolver

PACKAGES = ("up",)
CLASS = """\
class Attention:
    def __init__(self, width):
        self.wq = width
        self.wo = width
        self.scale = 1.0 / width

    def forward(self, x, rope, masks=None):
        bs, length, _ = x.shape
        y = self.wq * x + rope * self.scale
        return (self.wo * y).view(bs, length, -1)
"""
MOVED = CLASS.replace("Attention", "WideAttention")
BARE = MOVED.replace("x, rope,", "x,").replace(" + rope", "")
FUSED = (
    BARE.replace("self.wq", "self.wqkv").replace("bs, length, _ = x.shape", "bs = x.shape[0]").replace(", length", "")
)
OURS = """\
from up.a import Attention


class Ours(Attention):
    def forward(self, x, rope, masks=None):
        bs, length, _ = x.shape
        return self.wq * x + self.wo * rope
"""


def test_an_override_is_told_what_its_class_became_on_the_way(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "up")
    pin = upstream.commit("pin", {"up/__init__.py": "", "up/a.py": CLASS})
    upstream.commit("move", {"up/a.py": None, "up/b.py": MOVED})
    bare = upstream.commit("no rope", {"up/b.py": BARE})
    fused = upstream.commit("fuse", {"up/b.py": FUSED})
    tip = upstream.commit("later", {"up/c.py": ""})
    downstream = History.start(tmp_path / "down")
    ours = Tree(open_repository(downstream.path), downstream.commit("ours", {"ours/a.py": OURS}))
    repository = open_repository(upstream.path)
    parts = [Part(tree=Tree(repository, one), packages=PACKAGES) for one in (pin, tip)]
    before, after = (Resolver(build_index([part])) for part in parts)
    comparer = Comparer(before, after, [Tracer(repository, pin, tip)])
    both = build_index([Part(tree=ours), parts[0]])
    places = Finder(index=both, packages=PACKAGES, uses=read_uses(both, PACKAGES, None)[0]).find_places()
    (found,) = find_follows(comparer, places, ours.read_text)
    assert (str(found.location), found.arrival) == ("ours/a.py:5", "up.b.WideAttention.forward")
    told = [(one.commit, one.parameters, one.unset, one.sizes) for one in found.changes]
    assert told == [(bare, ("parameter rope removed",), (), ()), (fused, (), ("wq",), (("x", 3),))]
    assert say_change(found) == (
        "takes (x, masks); no longer sets self.wq, which our method reads; no longer unpacks x into 3 sizes, as our "
        "method does"
    )


USER = "from up.old import turn\n\n\ndef use{0}():\n    return turn({0})\n"
NOW = "from up.old import Turner\n\n\ndef use{0}():\n    return Turner({0})\n"
OTHER = "from up.far import Turner\n\n\ndef use{0}():\n    return Turner({0})\n"


@pytest.mark.parametrize(
    ("now", "old", "far", "told"),
    [
        (NOW, "class Turner:\n    pass\n", "", "upstream's users import up.old.Turner (2 of 2) instead"),
        (OTHER, "", "class Turner:\n    pass\n", "upstream's users import up.far.Turner (2 of 2) instead"),
        ("def use{0}():\n    return 0\n", "class Turner:\n    pass\n", "", None),
    ],
)
def test_a_removed_name_is_told_with_what_its_users_import_since(
    tmp_path: Path, now: str, old: str, far: str, told: str | None
) -> None:
    upstream = History.start(tmp_path / "up")
    body = "def turn(x):\n    total = x\n    for y in range(x):\n        total += y\n    return total\n"
    users = {f"up/u{number}.py": USER.format(number) for number in range(2)}
    pin = upstream.commit("pin", {"up/__init__.py": "", "up/old.py": body, "up/far.py": "", **users})
    users = {f"up/u{number}.py": now.format(number) for number in range(2)}
    tip = upstream.commit("turner", {"up/old.py": old, "up/far.py": far, **users})
    assert [say_instead(one) for one in successors(upstream, pin, tip, "up.old.turn")] == ([told] if told else [])


def successors(upstream: History, pin: str, tip: str, name: str, patched: tuple[str, ...] = ()) -> list[Successor]:
    repository = open_repository(upstream.path)
    parts = (Part(tree=Tree(repository, one), packages=PACKAGES) for one in (pin, tip))
    before, after = (Resolver(build_index([part])) for part in parts)
    comparer = Comparer(before, after, [Tracer(repository, pin, tip)])
    return list(find_successors(comparer, [name], patched, read_bodies(repository, pin, tip)))


ARGS = "class Args:\n    width = 1\n    depth = 2\n"
HEIR = "class Model:\n    class Config:\n        sizes = (1, 2)\n        tied = False\n"
ASKS = "from up.old import Args\n\n\ndef build{0}(args: Args) -> Args:\n    return Args()\n"
KNOWS = "from up.new import Model\n\n\ndef build{0}(config: Model.Config) -> Model.Config:\n    return Model.Config()\n"
BLIND = "from up import new\n\n\ndef build{0}(config, more):\n    return 0\n"


@pytest.mark.parametrize(
    ("users", "subject", "told"),
    [
        (KNOWS, "tip", "upstream's code names up.new.Model.Config in its place (6 of 6 lines)"),
        (
            BLIND,
            "tip\n\nThe old `Args` is\nreplaced by `Model.Config`.",
            "the message of the removing commit names up.new.Model.Config instead",
        ),
        (
            BLIND,
            "tip\n\n### `Model.Config` Replaces `Args`\n",
            "the message of the removing commit names up.new.Model.Config instead",
        ),
        (BLIND, "tip\n\nReplace Args with care.", None),
        (BLIND, "tip", None),
    ],
)
def test_a_removed_class_is_told_with_the_nested_one_that_upstream_put_in_its_place(
    tmp_path: Path, users: str, subject: str, told: str | None
) -> None:
    upstream = History.start(tmp_path / "up")
    then = {f"up/u{number}.py": ASKS.format(number) for number in range(2)}
    pin = upstream.commit("pin", {"up/__init__.py": "", "up/old.py": ARGS, "up/new.py": "", **then})
    now = {f"up/u{number}.py": users.format(number) for number in range(2)}
    tip = upstream.commit(subject, {"up/old.py": "", "up/new.py": HEIR, **now})
    assert [say_instead(one) for one in successors(upstream, pin, tip, "up.old.Args")] == ([told] if told else [])


RUN = (
    "    total = 0\n    for one in rows:\n        total += one.weight * one.scale\n    mean = total / max(len(rows), 1)\n"
    "    spread = sum((one.weight - mean) ** 2 for one in rows)\n"
)


@pytest.mark.parametrize(
    ("later", "told"), [("forward", "its code moved into up.a.Bank.forward"), ("go", "its code moved into up.a.Bank")]
)
def test_a_function_that_its_caller_took_in_is_found_there(tmp_path: Path, later: str, told: str) -> None:
    upstream = History.start(tmp_path / "up")
    apart = (
        f"def _run(rows):\n{RUN}    return spread\n\n\nclass Bank:\n    def forward(rows):\n        return _run(rows)\n"
    )
    pin = upstream.commit("pin", {"up/__init__.py": "", "up/a.py": apart})
    inside = indent(f"def forward(rows):\n    rows = list(rows)\n{RUN}    return spread\n", "    ")
    upstream.commit("take it in", {"up/a.py": f"class Bank:\n{inside}"})
    tip = upstream.commit("tip", {"up/a.py": f"class Bank:\n{inside.replace('forward', later)}"})
    assert [say_instead(one) for one in successors(upstream, pin, tip, "up.a._run")] == [told]


@pytest.mark.parametrize(
    ("made", "patched", "unmade"),
    [
        ("Turner(1)", ("up.old.Turner",), False),
        ("Turner.Config().build()", ("up.old.Turner",), True),
        ("Turner.Config().build()", (), False),
    ],
)
def test_a_patched_class_of_which_no_object_is_made_by_name_is_told(
    tmp_path: Path, made: str, patched: tuple[str, ...], unmade: bool
) -> None:
    upstream = History.start(tmp_path / "up")
    body = (
        "class Turner:\n    def turn(self, x):\n        total = x\n        for y in range(x):\n            total += y\n"
    )
    user = "from up.{} import Turner\n\n\ndef build():\n    return {}\n"
    old: dict[str, str | bytes | None] = {
        "up/__init__.py": "",
        "up/old.py": body,
        "up/user.py": user.format("old", "Turner(1)"),
    }
    pin = upstream.commit("pin", old)
    moved: dict[str, str | bytes | None] = {
        "up/old.py": None,
        "up/new.py": body,
        "up/user.py": user.format("new", made),
    }
    tip = upstream.commit("tip", moved)
    found = successors(upstream, pin, tip, "up.old.Turner", patched)
    assert [one.is_unmade for one in found] == ([True] if unmade else [])


def test_a_table_that_was_renamed_is_told_with_what_it_holds_now(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "up")
    head = "class Args:\n    pass\n\n\ndef small():\n    return 1\n\n\ndef big():\n    return 2\n\n\n"
    pin = upstream.commit("pin", {"up/__init__.py": "", "up/t.py": f"{head}keel_args = {{'s': Args(), 'b': Args()}}\n"})
    tip = upstream.commit("tip", {"up/t.py": f"{head}keel_configs = {{'s': small, 'b': big}}\n"})
    found = [one.short for one in successors(upstream, pin, tip, "up.t.keel_args")]
    assert found == ["it held Args objects and holds functions"]


def test_keys_and_files_that_our_code_names_are_found(tmp_path: Path) -> None:
    code = "ON = ask('job.name') or ask('job.other')\nPATH = Path('third/up/up/config.py')  # job.name\n"
    down = History.start(tmp_path / "down")
    commit = down.commit("ours", {"ours/a.py": code, "tests/test_a.py": code, "ours/b.py": "x = 'job.names'\n"})
    tree = Tree(open_repository(down.path), commit)
    lost = list_lost_files("third/up", ["up/config.py", "up/stays.py"], {"up/stays.py"})
    assert lost == {"third/up/up/config.py": "up/config.py"}
    assert list(find_texts(tree, {"job.name", *lost})) == [
        ("job.name", (Location("ours/a.py", 1),)),
        ("third/up/up/config.py", (Location("ours/a.py", 2),)),
    ]
    assert list(find_texts(tree, ())) == []


@pytest.mark.parametrize(
    ("pin", "tip", "words"),
    [("pass", "return model.tie_weights", ("tie_weights",)), ("model.tie_weights", "model.tie_weights", None)],
)
def test_what_upstream_does_itself_by_now_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pin: str, tip: str, words: tuple[str, ...]
) -> None:
    upstream = History.start(tmp_path / "up")
    sides = [
        upstream.commit(body, {"up/a.py": f"def shard(model):\n    {body}\n    return 0\n"}) for body in (pin, tip)
    ]
    down = History.start(tmp_path / "down")
    ours = down.commit("ours", {"o.py": "def shard(model):\n    return getattr(model, 'tie_weights', 0)\n"})
    repository = open_repository(upstream.path)
    before, after = (Tree(repository, side) for side in sides)
    then, now = (Evidence(repo="up", commit=side, path="up/a.py", lines=(1, 3)) for side in sides)
    effect = Effect(
        style=Style.BINDING_REPLACEMENT,
        target="up.a.shard",
        location=Location("o.py", 9),
        replacement_at=Location("o.py", 1),
    )
    row = replace(
        drift_row("look", "moved", "o.py:9", "up.a.shard"), effect=effect, pin_evidence=then, tip_evidence=now
    )
    cache = Cache(tmp_path / "cache", "memo")
    mine = Tree(open_repository(down.path), ours)
    for parse in (parse_tree, None):  # the second time nothing is parsed
        answers = Answers(Memos(cache))
        monkeypatch.setattr("layline.gap.done.parse_tree", parse)
        found = list(find_done(mine, before, after, [row, row], answers))
        answers.save()
        assert found == ([("o.py:9", words)] * 2 if words else [])


@pytest.mark.parametrize(
    ("pinned", "branch", "version", "told"),
    [
        (0, "release/0.3", "0.3.0rc1", ("release/0.3", "0.3.0rc1", 2)),
        (0, "ci/bump-0.4", "0.4", None),  # what the tip declares
        (0, "try/0.5", "0.3.0", None),  # called after another version
        (0, "release/0.2", "0.2", None),  # tagged
        (2, "release/0.3", "0.3.0rc1", None),  # it left before the pin: a step back
    ],
)
def test_a_release_in_the_making_is_found_on_its_branch(
    tmp_path: Path, pinned: int, branch: str, version: str, told: tuple[str, str, int] | None
) -> None:
    upstream = History.start(tmp_path / "up")
    upstream.commit("pin", {"version.txt": "0.2"})
    upstream.git("tag", "v0.2")
    upstream.commit("next", {"version.txt": "0.4"})
    pins = [*upstream.commits]
    upstream.git("checkout", "-q", "main")
    pins.append(upstream.commit("later", {"b.py": ""}))
    upstream.git("checkout", "-q", pins[1])
    upstream.git("checkout", "-q", "-b", branch)
    upstream.commit("cut", {"version.txt": version})
    upstream.git("checkout", "-q", "main")
    tip = upstream.commit("tip", {"a.py": ""})
    repository = open_repository(upstream.path)
    found = find_release_branch(
        repository, pins[pinned], tip, lambda commit: repository.git("show", f"{commit}:version.txt").decode()
    )
    assert (found and (found.name, found.version, found.lacks)) == told
