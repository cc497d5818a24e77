"""What a row says is put there, and on which condition: short, and nothing that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.core.patch import TargetKind
from layline.git import open_repository
from layline.patches.guards.show import show_condition
from layline.patches.installer import Known, MemberKind
from layline.patches.inventory.read import read_inventory
from layline.patches.upstreams import Upstreams
from layline.source import Part, Tree, open_cache
from layline.source.instances import Instances
from layline.source.lazy import open_index
from layline.source.resolve import Resolver
from layline.source.text_search import TextSearch
from snippets import open_reading, read_files

GUARDED = (
    "try:\n    from up.spec import Spec\n    HAVE = True\nexcept ImportError:\n    {stand_in}\n    HAVE = False\n"
    "class Ours: ...\ndef make():\n    return Spec(module=Ours)\ndef go(spec):\n    spec.parts.attention = {value}\n"
)
VALUES = [
    # (what it shows, what stands for the name where its import fails, what is put there, how that is told)
    ("a class stands in", "class Spec: ...", "make()", "up.spec.Spec(…)"),
    ("None stands in", "Spec = None", "make()", "up.spec.Spec(…)"),
    ("either of two", "Spec = None", "Ours if HAVE else make()", "own.boot.Ours or up.spec.Spec(…)"),
    ("a partial with more", "Spec = None", "functools.partial(make, fast=True)", "functools.partial(own.boot.make, …)"),
    ("a partial alone", "Spec = None", "functools.partial(make)", "functools.partial(own.boot.make)"),
]


@pytest.mark.parametrize(("stand_in", "value", "told"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_what_is_put_there_is_told(tmp_path: Path, stand_in: str, value: str, told: str) -> None:
    source = "import functools\n" + GUARDED.format(stand_in=stand_in, value=value)
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.replacement == told


def test_what_another_package_makes_of_our_code_is_told(tmp_path: Path) -> None:
    """`other` is no backend: a plain value put there would be a setting of it."""
    source = (
        "import other\nimport up.a\nfrom contextvars import ContextVar\ndef ours(): ...\n"
        "other.kept = ContextVar('kept', default=ours)\nother.fast = other.compile(ours, 3)\nother.size = other.read(3)\n"
    )
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(one.target, str(one.replacement_at)) for one in found] == [
        ("other.kept", "own/boot.py:4"),
        ("other.fast", "own/boot.py:4"),
    ]


KEPT = [
    # (whose attribute is set, what it does)
    ("model.layer.config", "config-rewrite"),
    ("copy.deepcopy(model.layer.config)", "config-rewrite"),
    ("model.layer", "binding-replacement"),
    ("model", "binding-replacement"),
]


@pytest.mark.parametrize(("owner", "style"), KEPT)
def test_a_field_of_what_upstream_keeps_under_a_name_is_set(tmp_path: Path, owner: str, style: str) -> None:
    """Another class of upstream has a method of the same name."""
    source = f"import copy\nimport up.a\ndef go(model):\n    it = {owner}\n    it.activation = lambda x: x\n"
    kinds = {"activation": MemberKind.METHOD, "config.activation": MemberKind.FIELD}
    inventory = read_inventory(
        open_reading(tmp_path, {"own/boot.py": source}),
        "up",
        find_members=lambda name: frozenset({kinds[name]} if name in kinds else ()),
    )
    (effect,) = (item.effect for item in inventory.unregistered)
    assert (effect.style.value, effect.mutates) == (style, ("activation",) if style == "config-rewrite" else ())


UPSTREAM = {
    "up/__init__.py": "",
    "up/config.py": "class Config:\n    activation: str = ''\n    size: int = 1\nclass Other:\n    def size(self): ...\n",
    "up/layer.py": (
        "from up.config import Config, Other\nclass Layer:\n    def activation(self): ...\n"
        "    def __init__(self, config: Config, both: 'Config | None', part: Other):\n        self.config = config\n"
        "class Spec:\n    part: Config\n"
    ),
}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("activation", {MemberKind.METHOD}),
        ("config.activation", {MemberKind.FIELD}),
        ("both.activation", {MemberKind.FIELD}),
        ("part.size", {MemberKind.FIELD, MemberKind.METHOD}),
        ("layer.activation", set()),
        ("config.step", {MemberKind.METHOD}),
    ],
)
def test_what_upstream_declares_in_classes_it_says_of_a_name(tmp_path: Path, name: str, kinds: set[MemberKind]) -> None:
    history = History.start(tmp_path / "up")
    tree = Tree(open_repository(history.path), history.commit("all", dict(UPSTREAM)))
    cache = open_cache(tmp_path / "cache")
    index, texts = open_index([Part(tree=tree, packages=("up",))], cache)
    cache.close()
    resolver = Resolver(index)
    upstreams = Upstreams(index, resolver, {}, (), texts, (TextSearch(tree),), Instances(resolver))
    assert upstreams.find_members(name) == kinds


WRAPPED = [
    # (what is put there, whether it is told)
    ("Theirs(config, model.module)", True),
    ("Theirs(module=model.module)", True),
    ("Theirs(config, model)", False),
    ("Values(model.module)", False),
    ("other.Theirs(model.module)", False),
]


@pytest.mark.parametrize(("value", "is_told"), WRAPPED)
def test_a_part_of_upstream_around_the_one_that_stood_there_is_told(tmp_path: Path, value: str, is_told: bool) -> None:
    source = f"import other\nfrom up.a import Theirs, Values\ndef go(model, config):\n    model.module = {value}\n"
    runs = {"up.a.Theirs.forward": TargetKind.DEFINITION}
    inventory = read_inventory(
        open_reading(tmp_path, {"own/boot.py": source}), "up", lambda name: Known(runs.get(name, TargetKind.ABSENT))
    )
    assert [item.effect.style.value for item in inventory.unregistered] == ["function-wrapping"] * is_told


ASKED = [
    # (what it shows, lines of a function, when its row is told to happen)
    (
        "what the other way has ruled out",
        (
            "f = None\nif a and self.first.second.third:\n    f = one\nelif a and self.fourth.fifth.sixth:\n    if self.d.get('overlap_all', False):\n        f = two\n"
            "m.f = f\n"
        ),
        "(a and self.first.second.third) or (a and self.fourth.fifth.sixth and self.d.get('overlap_all', False))",
    ),
    (
        "one of two things, and the first of them",
        "if is_in('4'):\n    it = C\nelse:\n    it = None\nif is_in('4') or b:\n    it.go = one\n",
        "is_in('4')",
    ),
]


@pytest.mark.parametrize(("body", "when"), [row[1:] for row in ASKED], ids=[row[0] for row in ASKED])
def test_no_condition_is_told_twice(tmp_path: Path, body: str, when: str) -> None:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    source = (
        "import up.a as m\nfrom up.a import C\nfrom importlib.metadata import version\nfrom packaging.version import parse\n"
        "def is_in(low=None, high=None):\n    now = parse(version('up'))\n    above = True\n    if low is not None:\n"
        "        above = parse(low) <= now\n    if high is not None:\n        above = above and now <= parse(high)\n"
        "    return above\ndef one(): ...\ndef two(): ...\n"
        f"class Mine:\n    def go(self, a, b):\n{lines}"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert show_condition(item.effect.when) == when


COMPUTED = [
    # (what it shows, the list of names, targets and when they are replaced)
    ("more on a test", "['P'] + (['Q'] if flag() else [])", [("P", ""), ("Q", "up.a.flag()")]),
    ("a difference", "set(['P', 'Q', 'R']) - set(['Q'])", [("P", ""), ("R", "")]),
    ("nothing given", "None", [("R", "")]),
]


@pytest.mark.parametrize(("items", "told"), [row[1:] for row in COMPUTED], ids=[row[0] for row in COMPUTED])
def test_names_out_of_a_computed_list_are_told_one_by_one(
    tmp_path: Path, items: str, told: list[tuple[str, str]]
) -> None:
    source = (
        "import up.a as m\nfrom up.a import flag\nclass Ours: ...\ndef put_all(target, items=None):\n"
        "    if items is None:\n        items = ['R']\n    for name in items:\n        setattr(target, name, Ours)\n"
        f"def go():\n    put_all(m, items={items})\n"
    )
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(one.target, show_condition(one.when)) for one in found] == [(f"up.a.{name}", when) for name, when in told]


ASIDE = [
    # (what it shows, lines of an installer, targets and styles)
    ("kept on another module", "b.plain = a.f\n    a.f = ours", [("up.a.f", "function-wrapping")]),
    (
        "a name that upstream has",
        "b.g = a.f\n    a.f = mine",
        [("up.b.g", "binding-replacement"), ("up.a.f", "binding-replacement")],
    ),
    ("nothing takes its place", "b.plain = a.f", [("up.b.plain", "binding-replacement")]),
    (
        "the same name",
        "b.f = a.f\n    a.f = mine",
        [("up.b.f", "binding-replacement"), ("up.a.f", "binding-replacement")],
    ),
]


@pytest.mark.parametrize(("body", "told"), [row[1:] for row in ASIDE], ids=[row[0] for row in ASIDE])
def test_an_original_kept_on_another_module_is_no_patch(tmp_path: Path, body: str, told: list[tuple[str, str]]) -> None:
    source = (
        "from up import a, b\ndef ours(*given):\n    return b.plain(*given)\ndef mine(*given): ...\n"
        f"def go():\n    {body}\n"
    )
    has = {"up.a.f", "up.b.g"}
    inventory = read_inventory(
        open_reading(tmp_path, {"own/boot.py": source}),
        "up",
        lambda name: Known(TargetKind.DEFINITION if name in has else TargetKind.ABSENT),
    )
    assert [(item.effect.target, item.effect.style.value) for item in inventory.unregistered] == told
