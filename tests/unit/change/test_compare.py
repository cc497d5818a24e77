from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.change.call_sites import find_call_sites
from layline.change.compare import Comparer
from layline.change.homes import may_replace
from layline.core.finding import Suggestion
from layline.git import open_repository
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver
from layline.source.shift import SHARED

LONG = """
    total = 0
    for index, item in enumerate(items):
        if item.weight > limit and not item.done:
            total += item.weight * rate
            item.done = True
        else:
            log.warning("skipping %s at %d", item, index)
    return finish(total, rate=rate)
"""
OTHER = """
    with open(path) as handle:
        lines = [line.strip() for line in handle if line and line[0] != "#"]
    return dict(pair.split("=", 1) for pair in lines)
"""
EDITED = LONG.replace("log.warning", "logger.info").replace("rate=rate", "rate=rate, final=True")


def function(name: str, body: str, signature: str = "(items, limit, rate=1)") -> str:
    return f"def {name}{signature}:{body}\n"


def klass(name: str, *methods: str) -> str:
    inner = "".join(f"    {line}\n" if line else "\n" for method in methods for line in method.splitlines())
    return f"class {name}:\n{inner}\n"


SHIM = """
    log.warning("`Old` is deprecated and will be removed; use `New` instead, which infers the type of each layer.")
    super().__init__(config=config, most=most, layers=[item.kind for item in config.layers if item.kind])
"""
METHODS = [function(f"step_{number}", LONG.replace("total", f"total_{number}")) for number in range(6)]
LOGGER = "import logging\nlogger = logging.getLogger(__name__)\n"
Files = dict[str, str]
BASE: Files = {"pkg/__init__.py": "", "pkg/a.py": function("f", LONG)}


def compare(tmp_path: Path, before: Files, after: Files, name: str) -> tuple[str, str | None, str]:
    history = History.start(tmp_path / "repo")
    one = history.commit("pin", dict(before))
    two = history.commit("tip", {**dict.fromkeys(before), **after})
    repository = open_repository(history.path)
    pin, tip = (
        Resolver(build_index([Part(tree=Tree(repository, commit), packages=("pkg",))])) for commit in (one, two)
    )
    found = Comparer(pin, tip).compare(name)
    return str(found.kind), found.new_home, found.detail


TABLE = [
    ("nothing changed", BASE, BASE, "pkg.a.f", ("unchanged", None)),
    ("comments only", BASE, {"pkg/a.py": "# new\n" + function("f", LONG)}, "pkg.a.f", ("unchanged", None)),
    ("another body", BASE, {"pkg/a.py": function("f", OTHER)}, "pkg.a.f", ("body-changed", None)),
    (
        "another parameter",
        BASE,
        {"pkg/a.py": function("f", LONG, "(items, limit)")},
        "pkg.a.f",
        ("signature-changed", None),
    ),
    ("moved as it was", BASE, {"pkg/b.py": function("f", LONG)}, "pkg.a.f", ("moved", "pkg.b.f")),
    ("moved and edited", BASE, {"pkg/b.py": function("f", EDITED)}, "pkg.a.f", ("moved", "pkg.b.f")),
    (
        "a short class whose body something much larger has too is gone, not renamed",
        {"pkg/a.py": klass("Old", function("__init__", SHIM, "(self, config, most)"))},
        {"pkg/a.py": klass("Indexed", function("__init__", SHIM, "(self, config, most)"), *METHODS)},
        "pkg.a.Old",
        ("removed", None),
    ),
    ("renamed in place", BASE, {"pkg/a.py": function("compute", LONG)}, "pkg.a.f", ("renamed", "pkg.a.compute")),
    ("renamed and edited", BASE, {"pkg/a.py": function("compute", EDITED)}, "pkg.a.f", ("renamed", "pkg.a.compute")),
    (
        "what came is no more like it than a near copy that stays",
        {**BASE, "pkg/c.py": function("g", EDITED)},
        {"pkg/b.py": function("compute", EDITED), "pkg/c.py": function("g", EDITED)},
        "pkg.a.f",
        ("removed", None),
    ),
    (
        "what came is the same, whatever stays",
        {**BASE, "pkg/c.py": function("g", EDITED)},
        {"pkg/b.py": function("compute", LONG), "pkg/c.py": function("g", EDITED)},
        "pkg.a.f",
        ("renamed", "pkg.b.compute"),
    ),
    (
        "a shim stays",
        BASE,
        {
            "pkg/a.py": function("run", LONG)
            + function("f", "\n    log.warning('old')\n    return run(items, limit, rate)")
        },
        "pkg.a.f",
        ("moved", "pkg.a.run"),
    ),
    (
        "a shim imports what it calls",
        BASE,
        {
            "pkg/a.py": function("f", "\n    from .b import run\n    return run(items, limit, rate=rate)"),
            "pkg/b.py": function("run", EDITED),
        },
        "pkg.a.f",
        ("moved", "pkg.b.run"),
    ),
    (
        "a method that calls another one",
        {"pkg/a.py": klass("C", function("go", LONG, "(self, items, limit, rate=1)"))},
        {
            "pkg/a.py": klass(
                "C",
                function("go", "\n    return self.step(items, limit, rate)", "(self, items, limit, rate=1)"),
                function("step", LONG, "(self, items, limit, rate)"),
            )
        },
        "pkg.a.C.go",
        ("moved", "pkg.a.C.step"),
    ),
    (
        "a call of something else is no shim",
        BASE,
        {"pkg/a.py": function("run", OTHER, "(path)") + function("f", "\n    return run(items)")},
        "pkg.a.f",
        ("body-changed", None),
    ),
    (
        "more than a call is no shim",
        BASE,
        {"pkg/a.py": function("run", LONG) + function("f", "\n    items = list(items)\n    return run(items, limit)")},
        "pkg.a.f",
        ("body-changed", None),
    ),
    ("gone", BASE, {"pkg/a.py": "x = 1\n"}, "pkg.a.f", ("removed", None)),
    (
        "a namesake with another body is no move",
        BASE,
        {"pkg/far/away.py": function("f", OTHER, "(path)")},
        "pkg.a.f",
        ("removed", None),
    ),
    (
        "a namesake that stood there already is no move",
        {**BASE, "pkg/b.py": function("f", OTHER)},
        {"pkg/b.py": function("f", OTHER)},
        "pkg.a.f",
        ("removed", None),
    ),
    (
        "two copies became one",
        {**BASE, "pkg/b.py": function("f", LONG)},
        {"pkg/b.py": function("f", LONG)},
        "pkg.a.f",
        ("moved", "pkg.b.f"),
    ),
    (
        "the namesake belongs to a rival",
        {**BASE, "pkg/b.py": function("f", EDITED)},
        {"pkg/c.py": function("f", EDITED)},
        "pkg.a.f",
        ("removed", None),
    ),
    (
        "a method follows its class",
        {"pkg/a.py": klass("C", function("forward", LONG), function("check", OTHER))},
        {"pkg/b.py": klass("C", function("forward", LONG), function("check", OTHER))},
        "pkg.a.C.forward",
        ("moved", "pkg.b.C.forward"),
    ),
    (
        "shared method names prove nothing",
        {"pkg/a.py": klass("C", function("forward", LONG), function("check", OTHER))},
        {"pkg/b.py": klass("D", function("forward", OTHER), function("other", OTHER))},
        "pkg.a.C.forward",
        ("removed", None),
    ),
    (
        "a method renamed in its class",
        {"pkg/a.py": klass("C", function("run", LONG))},
        {"pkg/a.py": klass("C", function("step", LONG))},
        "pkg.a.C.run",
        ("renamed", "pkg.a.C.step"),
    ),
    (
        "a variable renamed in its module",
        {"pkg/a.py": "_registry = {}\n"},
        {"pkg/a.py": "CONVERTERS = {}\n"},
        "pkg.a._registry",
        ("renamed", "pkg.a.CONVERTERS"),
    ),
    (
        "one of several new variables of the same short text",
        {"pkg/a.py": "_DECODER_START = None\n"},
        {"pkg/a.py": "_WEIGHT_GROUP = None\n_WEIGHT_RANKS = None\n"},
        "pkg.a._DECODER_START",
        ("removed", None),
    ),
    (
        "one of several that are gone and had the same short text",
        {"pkg/a.py": "_DECODER_START = None\n_SPLIT_RANK = None\n"},
        {"pkg/a.py": "_WEIGHT_GROUP = None\n"},
        "pkg.a._DECODER_START",
        ("removed", None),
    ),
    (
        "a member among several of the same short text",
        {"pkg/a.py": "class C:\n    start = None\n"},
        {"pkg/a.py": "class C:\n    group = None\n    ranks = None\n"},
        "pkg.a.C.start",
        ("removed", None),
    ),
    (
        "one more of what every module writes",
        {"pkg/a.py": f"{LOGGER}x = 1\n", "pkg/b.py": LOGGER},
        {"pkg/a.py": "x = 1\n", "pkg/b.py": LOGGER, "pkg/new.py": LOGGER},
        "pkg.a.logger",
        ("removed", None),
    ),
    (
        "one more under that name with another text",
        {"pkg/a.py": f"{LOGGER}x = 1\n", "pkg/b.py": LOGGER},
        {"pkg/a.py": "x = 1\n", "pkg/b.py": LOGGER, "pkg/new.py": LOGGER.replace("__name__", "'new'")},
        "pkg.a.logger",
        ("removed", None),
    ),
    (
        "what every module writes, moved with its neighbour",
        {"pkg/a.py": f"{LOGGER}WEIGHT = 1\n", "pkg/b.py": LOGGER},
        {"pkg/b.py": LOGGER, "pkg/new.py": f"{LOGGER}WEIGHT = 1\n"},
        "pkg.a.logger",
        ("moved", "pkg.new.logger"),
    ),
    (
        "a short text that nobody else writes",
        {"pkg/a.py": "_GROUPS = {}\nx = 1\n", "pkg/b.py": LOGGER},
        {"pkg/a.py": "x = 1\n", "pkg/b.py": LOGGER, "pkg/new.py": "_GROUPS = {}\n"},
        "pkg.a._GROUPS",
        ("moved", "pkg.new._GROUPS"),
    ),
    (
        "the importer stopped importing",
        {**BASE, "pkg/user.py": "from pkg.a import f\n"},
        {**BASE, "pkg/user.py": "import pkg.a\n"},
        "pkg.user.f",
        ("binding-lost", "pkg.a.f"),
    ),
    (
        "it stopped importing what the other makes of another package",
        {"pkg/b.py": "import torch\ncut = torch.Cut.apply\n", "pkg/a.py": "from pkg.b import *\n"},
        {"pkg/b.py": "import torch\nx = 1\ncut = torch.Cut.apply\n", "pkg/c.py": ""},
        "pkg.a.cut",
        ("binding-lost", "pkg.b.cut"),
    ),
    (
        "and the other makes it of something else now",
        {"pkg/b.py": "import torch\ncut = torch.Cut.apply\n", "pkg/a.py": "from pkg.b import *\n"},
        {"pkg/b.py": "import torch\ncut = torch.Slice.apply\n", "pkg/c.py": ""},
        "pkg.a.cut",
        ("binding-lost", None),
    ),
    (
        "the old path re-exports",
        BASE,
        {"pkg/a.py": "from pkg.b import f\n", "pkg/b.py": function("f", LONG)},
        "pkg.a.f",
        ("moved", "pkg.b.f"),
    ),
    (
        "the package became a module",
        {"pkg/m/__init__.py": "", "pkg/m/m.py": function("f", LONG)},
        {"pkg/m.py": function("f", LONG)},
        "pkg.m.m.f",
        ("moved", "pkg.m.f"),
    ),
    ("never there", BASE, BASE, "pkg.a.typo", ("dead-at-pin", None)),
    ("not ours", BASE, BASE, "torch.nn.Linear", ("external", None)),
    ("cannot be parsed any more", BASE, {"pkg/a.py": "def f(:\n"}, "pkg.a.f", ("unresolved", None)),
    ("became async", BASE, {"pkg/a.py": "async " + function("f", LONG)}, "pkg.a.f", ("signature-changed", None)),
    (
        "a class whose constructor changed",
        {"pkg/a.py": "class C:\n    def __init__(self, a): ...\n"},
        {"pkg/a.py": "class C:\n    def __init__(self, a, b): ...\n"},
        "pkg.a.C",
        ("signature-changed", None),
    ),
]


@pytest.mark.parametrize(
    ("before", "after", "name", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_what_became_of_it(
    tmp_path: Path, before: Files, after: Files, name: str, expected: tuple[str, str | None]
) -> None:
    kind, home, detail = compare(tmp_path, before, after, name)
    assert (kind, home) == expected, detail


@pytest.mark.parametrize(
    ("before", "after", "taken", "expected"),
    [
        ("ModelConverter", "ModelConfigConverter", "(a)", "pkg.b.ModelConfigConverter"),
        ("ModelConverter", "Converter", "(a)", None),  # one word is no name
        ("ModelConverter", "ConfigConverter", "(a)", None),
        ("read_model", "read_model_file", "(a)", "pkg.b.read_model_file"),
        ("read_model", "read_model_layout", "(a, value)", None),  # our calls do not have the value
    ],
)
def test_a_new_name_of_the_same_words_may_take_its_place(
    tmp_path: Path, before: str, after: str, taken: str, expected: str | None
) -> None:
    def write(name: str, body: str, taken: str = "(a)") -> str:
        return klass(name, function("run", body)) if name[0].isupper() else function(name, body, taken)

    history = History.start(tmp_path / "repo")
    one = history.commit("pin", {"pkg/__init__.py": "", "pkg/a.py": write(before, LONG)})
    two = history.commit("tip", {"pkg/a.py": None, "pkg/b.py": write(after, OTHER, taken)})
    repository = open_repository(history.path)
    pin, tip = (
        Resolver(build_index([Part(tree=Tree(repository, commit), packages=("pkg",))])) for commit in (one, two)
    )
    found = Comparer(pin, tip).compare(f"pkg.a.{before}")
    assert (str(found.kind), next((item.target for item in found.suggestions), None)) == ("removed", expected)


@pytest.mark.parametrize(
    ("target", "score", "expected"), [("pkg.b.g", 0.5, True), ("pkg.b.g", 0.36, False), ("pkg.b._g", 0.5, False)]
)
def test_what_may_take_a_place_is_public_and_near(target: str, score: float, expected: bool) -> None:
    assert may_replace(Suggestion(target, score, ""), "pkg.a.f") is expected


def test_call_sites_by_meaning_and_methods_by_name(tmp_path: Path) -> None:
    history = History.start(tmp_path / "repo")
    files: dict[str, str | bytes | None] = {
        "pkg/a.py": "def f(x, y=1): ...\nclass C:\n    def only(self, x): ...\n    def shared(self): ...\n    def "
        "__init__(self, a): ...\n",
        "pkg/b.py": "from pkg.a import f as g, C\nimport pkg.a\ng(1)\npkg.a.f(2, y=3)\nc = C(1)\nc.only(4)\n"
        "thing.shared()\n"
        "def late():\n    from pkg import a\n    a.f(*xs)\ndef f(): ...\nf()\n",
        "pkg/c.py": "class D:\n    def shared(self): ...\n",
        "pkg/d.py": "from pkg.a import f as other\nother(1, 2)\n",
    }
    commit = history.commit("all", files)
    resolver = Resolver(build_index([Part(tree=Tree(open_repository(history.path), commit), packages=("pkg",))]))
    found = find_call_sites(resolver, ["pkg.a.f", "pkg.a.C.only", "pkg.a.C.shared", "pkg.a.C.__init__"])
    shown = {
        name: [(site.location.line, site.shape.positional, site.certain) for site in sites]
        for name, sites in found.items()
    }
    assert shown == {
        "pkg.a.C.__init__": [(5, 1, True)],
        "pkg.a.C.only": [(6, 1, True)],
        "pkg.a.C.shared": [(7, 0, False)],
        "pkg.a.f": [(3, 1, True), (4, 1, True), (10, 0, True), (2, 2, True)],
    }


HELD = [
    # (what it shows, how `__init__` of the class that calls fills the attribute, whether the call is certain)
    ("made there", "self.part = Part()", True),
    ("annotated", "self.part: Part = part", True),
    ("an annotated parameter", "self.part = given", True),
    ("none at first", "self.part = None\n        self.part = Part()", True),
    ("two classes", "self.part = Part()\n        if part:\n            self.part = Other()", False),
    ("nothing tells", "self.part = part", False),
    ("of another class", "self.part = Other()", False),
]


@pytest.mark.parametrize(("fill", "certain"), [row[1:] for row in HELD], ids=[row[0] for row in HELD])
def test_calls_of_what_an_object_holds(tmp_path: Path, fill: str, certain: bool) -> None:
    history = History.start(tmp_path / "repo")
    text = "class Part:\n    def step(self, x): ...\nclass Other:\n    def step(self, x): ...\n"
    user = f"class User:\n    def __init__(self, part, given: Part):\n        {fill}\n"
    files: dict[str, str | bytes | None] = {"pkg/a.py": f"{text}{user}    def go(self):\n        self.part.step(1)\n"}
    commit = history.commit("all", files)
    resolver = Resolver(build_index([Part(tree=Tree(open_repository(history.path), commit), packages=("pkg",))]))
    (site,) = find_call_sites(resolver, ["pkg.a.Part.step"])["pkg.a.Part.step"]
    assert (site.certain, site.on_self) == (certain, False)


MANY = "".join(f"class C{number}:\n    def step(self, x): ...\n" for number in range(SHARED + 1))
NAMED = [
    # (what it shows, the module that calls a method of a name that many classes have, lines of the calls told)
    ("through the class", "from pkg.a import C0\nC0.step(None, 1)\nC1.step(None, 1)\n", [2]),
    ("under another name", "from pkg.a import C0 as Mine\nMine.step(None, 1)\n", [2]),
    ("through an object made there", "from pkg.a import C0\ndef go():\n    one = C0()\n    one.step(1)\n", [4]),
    ("through an annotated value", "from pkg.a import C0\ndef go(one: C0):\n    one.step(1)\n", [3]),
    ("of a class beside it", "from pkg.a import C0, C1\nC1.step(None, 1)\n", []),
    ("of a value nothing tells of", "from pkg.a import C0\ndef go(one):\n    one.step(1)\n", []),
]


@pytest.mark.parametrize(("text", "lines"), [row[1:] for row in NAMED], ids=[row[0] for row in NAMED])
def test_calls_of_a_shared_method_through_its_class(tmp_path: Path, text: str, lines: list[int]) -> None:
    history = History.start(tmp_path / "repo")
    commit = history.commit("all", {"pkg/a.py": MANY, "pkg/b.py": text})
    resolver = Resolver(build_index([Part(tree=Tree(open_repository(history.path), commit), packages=("pkg",))]))
    found = find_call_sites(resolver, ["pkg.a.C0.step"])["pkg.a.C0.step"]
    assert [(site.location.line, site.certain) for site in found] == [(line, True) for line in lines]


DOCUMENTED = (
    "def note(obj=None, *, intro=None):\n    def inner(obj):\n        if intro:\n            return write(obj, intro)\n"
    "        return obj\n    if obj:\n        return inner(obj)\n    return inner\n\n\n"
    "def write(function, text):\n    function.__doc__ = text\n    return function\n\n\n"
    "def wrap(function):\n    def inner(*args):\n        return function(*args)\n    return inner\n\n\n"
)
DECORATED = [
    # (what it shows, the decorator that comes, what became of the function)
    ("gives back what it is given", "@note", "unchanged"),
    ("made by a call", "@note(intro='x')", "unchanged"),
    ("puts another in its place", "@wrap", "signature-changed"),
    ("from elsewhere", "@other.thing", "signature-changed"),
]


@pytest.mark.parametrize(("decorator", "kind"), [row[1:] for row in DECORATED], ids=[row[0] for row in DECORATED])
def test_a_decorator_that_keeps_the_function_changes_nothing(tmp_path: Path, decorator: str, kind: str) -> None:
    text = f"{DOCUMENTED}def run(x):\n    return x\n"
    found = compare(
        tmp_path, {"pkg/a.py": text}, {"pkg/a.py": text.replace("def run", f"{decorator}\ndef run")}, "pkg.a.run"
    )
    assert found[0] == kind
