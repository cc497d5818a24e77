from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import Part, Symbol, SymbolKind, Tree, build_index
from layline.source.resolve import Resolver

FILES = {
    "pkg/__init__.py": "from .impl import f\nfrom . import state as mpu\nfrom .stars import *\nfrom pkg.shadow "
    "import shadow\n",
    "pkg/impl.py": "import torch\nfrom torch.nn import Module\ndef f(a, b=1): ...\nLIMIT = 3\nCOPY = f\nmade = "
    "Maker()\nclass Maker:\n    def go(self): ...\n",
    "pkg/state.py": "def rank(): ...\n",
    "pkg/stars.py": "from .hidden import *\n__all__ = ['starred', 'deep']\nstarred = 1\nsecret = 2\n",
    "pkg/hidden.py": "def deep(): ...\n_private = 1\n",
    "pkg/shadow.py": "def shadow(): ...\ndef other(): ...\n",
    "pkg/space/inner.py": "def g(): ...\n",
    "pkg/options.py": (
        "try:\n    import fast\n    from pkg.impl import f as chosen\nexcept ImportError:\n    chosen = None\n"
        "if fast:\n    class Op:\n        def run(self): ...\nelse:\n    Op = None\n"
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.state import rank\n"
    ),
    "pkg/classes.py": (
        "import torch\nfrom dataclasses import dataclass\nfrom pkg.impl import Maker\n"
        "class Base:\n    def forward(self, x): ...\n    size = 1\n"
        "class Child(Base):\n    def own(self): ...\n"
        "class Net(torch.nn.Module):\n    def forward(self): ...\n"
        "class Deep(Net): ...\n"
        "@dataclass\nclass Config:\n    width: int\n    depth: int = 2\n    def check(self): ...\n"
        "@dataclass\nclass Wide(Config):\n    extra: str = ''\n"
        "class Loop(Loop): ...\n"
    ),
    "pkg/hooks.py": (
        "from dataclasses import dataclass\nimport dataclasses\nfrom pkg.wrapping import accept_more, note\n"
        "class Fields:\n    width: int = 1\n    def __init_subclass__(cls, **kwargs):\n"
        "        super().__init_subclass__(**kwargs)\n        dataclass(cls, repr=False, kw_only=True)\n"
        "class Ship(Fields):\n    mast: int\n    flags: list = None\n"
        "class Yacht(Ship):\n    owner: str = ''\n"
        "class Own(Fields):\n    def __init__(self, name): ...\n"
        "class Called:\n    def __init_subclass__(cls):\n        dataclasses.dataclass(kw_only=True)(cls)\n"
        "class Boat(Called):\n    oars: int = 2\n"
        "class Wrapped:\n    def __init_subclass__(cls):\n        cls = accept_more(dataclass(cls))\n"
        "        accept_more(cls)\n"
        "class Raft(Wrapped):\n    logs: int = 1\n"
        "class Set:\n    def __init_subclass__(cls):\n        cls.__init__ = lambda self, **given: None\n"
        "class Junk(Set): ...\n"
        "class Noted:\n    known = []\n    def __init__(self, a): ...\n"
        "    def __init_subclass__(cls):\n        Noted.known.append(cls)\n        note(cls)\n"
        "        print(cls)\n"
        "class Plain(Noted): ...\n"
        "@dataclass(kw_only=True)\nclass Strict:\n    size: int = 0\n"
    ),
    "pkg/wrapping.py": (
        "def accept_more(made):\n    def __init__(self, **given): ...\n    made.__init__ = __init__\n    return made\n"
        "def note(made):\n    made.seen = True\n"
    ),
    "pkg/lazy.py": "def __getattr__(name): ...\n",
    "pkg/late.py": (
        "import typing\nif typing.TYPE_CHECKING:\n    from pkg.impl import f\nelse:\n    def __getattr__(name): ...\n"
    ),
    "pkg/broken.py": "def f(:\n",
    "pkg/outer.py": "from torch import *\n",
    "pkg/relay.py": "from pkg.external import moved\n",
    "pkg/external.py": "from engine.ops import moved\n",
    "pkg/ring_a.py": "from pkg.ring_b import x, *\n".replace(", *", "") + "from pkg.ring_b import *\n",
    "pkg/ring_b.py": "from pkg.ring_a import x\nfrom pkg.ring_a import *\n",
    "script.py": "def main(): ...\n",
    "pkg/dozy/__init__.py": (
        "from typing import TYPE_CHECKING\nfrom pkg.tools import _LazyModule\n_import_structure = {'real': ['Thing']}\n"
        "try:\n    import fast\nexcept ImportError:\n    from pkg.dozy.dummies import Thing\n"
        "if TYPE_CHECKING:\n    from pkg.dozy.real import Thing\nelse:\n    import sys\n    sys.modules[__name__] "
        "= _LazyModule()\n"
    ),
    "pkg/dozy/real.py": "class Thing: ...\n",
    "pkg/scan/__init__.py": (
        "import sys\nfrom pkg.tools import Lazy, collect\nTABLE = {'tools.kinds': ['Listed', 'Nowhere']}\n"
        "sys.modules[__name__] = Lazy(__name__, collect(__file__), TABLE)\n"
    ),
    "pkg/scan/models/first.py": "__all__ = ['Found']\nclass Found: ...\nclass Kept: ...\n",
    "pkg/scan/tools/kinds.py": "class Listed: ...\nclass Unlisted: ...\n",
    "pkg/dozy/dummies.py": "class Thing: ...\n",
}


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    history = History.start(tmp_path_factory.mktemp("upstream") / "repo")
    commit = history.commit("all", dict(FILES))
    return Resolver(build_index([Part(tree=Tree(open_repository(history.path), commit), packages=("pkg",))]))


RESOLVED = [
    # asked, kind, home
    ("pkg.impl.f", "definition", "pkg.impl.f"),
    ("pkg.dozy.Thing", "imported-name", "pkg.dozy.real.Thing"),
    ("pkg.late.f", "imported-name", "pkg.impl.f"),
    ("pkg.late.g", "unknown", None),
    ("pkg.scan.Found", "imported-name", "pkg.scan.models.first.Found"),
    ("pkg.scan.Listed", "imported-name", "pkg.scan.tools.kinds.Listed"),
    ("pkg.scan.Nowhere", "unknown", None),
    ("pkg.scan.Kept", "absent", None),
    ("pkg.scan.Unlisted", "absent", None),
    ("pkg.f", "imported-name", "pkg.impl.f"),
    ("pkg.impl.LIMIT", "module-assignment", "pkg.impl.LIMIT"),
    ("pkg.impl.COPY", "module-assignment", "pkg.impl.f"),
    ("pkg.mpu.rank", "definition", "pkg.state.rank"),
    ("pkg.starred", "imported-name", "pkg.stars.starred"),
    ("pkg.deep", "imported-name", "pkg.hidden.deep"),
    ("pkg.secret", "absent", None),
    ("pkg.stars._private", "absent", None),
    ("pkg.space.inner.g", "definition", "pkg.space.inner.g"),
    ("pkg.space", "submodule", "pkg.space"),
    ("pkg.space.none", "absent", None),
    ("pkg.shadow.other", "definition", "pkg.shadow.other"),
    ("pkg.options.chosen", "imported-name", "pkg.impl.f"),
    ("pkg.options.Op", "definition", "pkg.options.Op"),
    ("pkg.options.Op.run", "definition", "pkg.options.Op.run"),
    ("pkg.options.rank", "absent", None),
    ("pkg.options.fast", "imported-name", "fast"),
    ("pkg.impl.torch.nn.Linear", "external", "torch.nn.Linear"),
    ("pkg.impl.Module", "imported-name", "torch.nn.Module"),
    ("pkg.impl.made.go", "definition", "pkg.impl.Maker.go"),
    ("pkg.classes.Maker.go", "definition", "pkg.impl.Maker.go"),
    ("pkg.classes.Child.forward", "definition", "pkg.classes.Base.forward"),
    ("pkg.classes.Child.size", "definition", "pkg.classes.Base.size"),
    ("pkg.classes.Child.none", "absent", None),
    ("pkg.classes.Child.__init__", "external", "builtins.object.__init__"),
    ("pkg.classes.Deep.forward", "definition", "pkg.classes.Net.forward"),
    ("pkg.classes.Deep.state_dict", "external", "torch.nn.Module.state_dict"),
    ("pkg.classes.Config.__init__", "definition", "pkg.classes.Config.__init__"),
    ("pkg.classes.Loop.none", "absent", None),
    ("pkg.lazy.anything", "unknown", None),
    ("pkg.broken.f", "unknown", None),
    ("pkg.outer.tensor", "unknown", None),
    ("pkg.relay.moved", "imported-name", "engine.ops.moved"),
    ("pkg.ring_a.x", "absent", None),
    ("pkg.gone.f", "absent", None),
    ("pkg.impl.f.x", "absent", None),
    ("script.main", "definition", "script.main"),
    ("torch.nn.Module", "external", "torch.nn.Module"),
]


@pytest.mark.parametrize(("asked", "kind", "home"), RESOLVED)
def test_resolution(resolver: Resolver, asked: str, kind: str, home: str | None) -> None:
    found = resolver.resolve(asked)
    assert (str(found.kind), found.home) == (kind, home), found.reason


def test_where_a_name_is_bound_and_where_it_lives(resolver: Resolver) -> None:
    found = resolver.resolve("pkg.f")
    assert str(found.location) == "pkg/__init__.py:1"
    assert found.definition is not None
    assert found.definition.signature == "(a, b=1)"
    assert found.alias_of == "pkg.impl.f"
    assert resolver.index.evidence("pkg.impl", found.definition.lines).lines == (3, 3)


REACHED = [
    ("pkg.classes.Base.forward", None),
    ("pkg.classes.Maker.go", "pkg.impl.Maker.go"),
    ("pkg.classes.Child.forward", None),
    ("pkg.f", None),
]


@pytest.mark.parametrize(("name", "home"), REACHED)
def test_a_member_of_an_imported_class_is_that_of_its_home(resolver: Resolver, name: str, home: str | None) -> None:
    assert resolver.resolve(name).reached_as == home


def test_inheritance_names_the_base(resolver: Resolver) -> None:
    assert resolver.resolve("pkg.classes.Child.forward").inherited_from == "pkg.classes.Base"


def test_dataclass_init_has_the_fields_of_its_bases(resolver: Resolver) -> None:
    found = resolver.resolve("pkg.classes.Wide.__init__")
    assert found.is_implicit
    assert found.definition is not None
    assert found.definition.signature == "(self, width, depth=2, extra='')"


CONSTRUCTORS = [
    # class, the signature of its constructor; None: only a run knows it
    ("Ship", "(self, *, mast, flags=None)"),
    ("Yacht", "(self, *, mast, flags=None, owner='')"),
    ("Own", "(self, name)"),
    ("Boat", "(self, *, oars=2)"),
    ("Raft", None),
    ("Junk", None),
    ("Plain", "(self, a)"),
    ("Strict", "(self, *, size=0)"),
]


@pytest.mark.parametrize(("name", "signature"), CONSTRUCTORS)
def test_a_constructor_that_a_base_makes(resolver: Resolver, name: str, signature: str | None) -> None:
    found = resolver.resolve(f"pkg.hooks.{name}.__init__")
    assert (found.definition.signature if found.definition is not None else None) == signature, found.reason
    assert (found.kind is SymbolKind.UNKNOWN) == (signature is None)


def test_a_function_that_shadows_its_submodule_is_told(resolver: Resolver) -> None:
    assert resolver.resolve("pkg.shadow.other").shadowed_by == "pkg.shadow.shadow"
    assert resolver.resolve("pkg.impl.f").shadowed_by is None


def test_an_alias_of_something_outside_names_the_inside_end(resolver: Resolver) -> None:
    assert resolver.resolve("pkg.relay.moved").alias_of == "pkg.external.moved"


def test_names_as_written_in_a_module(resolver: Resolver) -> None:
    def meaning(module: str, text: str) -> Symbol:
        return resolver.resolve_in(module, text)

    assert meaning("pkg.classes", "torch.nn.Linear").home == "torch.nn.Linear"
    assert meaning("pkg.classes", "Child.forward").home == "pkg.classes.Base.forward"
    assert meaning("pkg.classes", "len").home == "builtins.len"
    assert meaning("pkg.classes", "nothing").kind is SymbolKind.ABSENT


def test_importers_copy_the_object(resolver: Resolver) -> None:
    found = [(module, item.alias) for module, item in resolver.find_importers("pkg.impl.f")]
    assert found == [("pkg", "f"), ("pkg.options", "chosen")]


def test_namespace_shared_by_two_repositories(tmp_path: Path) -> None:
    core = History.start(tmp_path / "core")
    bridge = History.start(tmp_path / "bridge")
    first = core.commit("core", {"ns/core/a.py": "def f(): ...\n", "ns/bridge/a.py": "def old(): ...\n"})
    second = bridge.commit("bridge", {"src/ns/bridge/a.py": "def g(): ...\n"})
    parts = [
        Part(tree=Tree(open_repository(core.path), first), packages=("ns.core",)),
        Part(tree=Tree(open_repository(bridge.path), second), packages=("ns.bridge",)),
    ]
    resolver = Resolver(build_index(parts))
    assert resolver.resolve("ns.core.a.f").exists
    assert resolver.resolve("ns.bridge.a.g").exists
    assert resolver.resolve("ns.bridge.a.old").kind is SymbolKind.ABSENT
    assert Resolver(build_index(parts[:1])).resolve("ns.other.x").kind is SymbolKind.EXTERNAL


CONDITIONAL = [
    # (what it shows, the line of ours that imports, kind, home)
    ("plainly", "from other.new import Thing\n", "absent", None),
    ("for some versions", "if newer():\n    from other.new import Thing\n", "imported-name", "other.new.Thing"),
    ("of its own package", "if newer():\n    from pkg.impl import Thing\n", "absent", None),
]


@pytest.mark.parametrize(("shows", "line", "kind", "home"), CONDITIONAL, ids=[row[0] for row in CONDITIONAL])
def test_an_import_of_what_another_repository_has_at_other_versions(
    tmp_path: Path, shows: str, line: str, kind: str, home: str | None
) -> None:
    one, two = History.start(tmp_path / "one"), History.start(tmp_path / "two")
    first = one.commit("all", {"pkg/__init__.py": "", "pkg/impl.py": "", "pkg/uses.py": line})
    second = two.commit("all", {"other/__init__.py": "", "other/old.py": ""})
    trees = (Tree(open_repository(one.path), first), ("pkg",)), (Tree(open_repository(two.path), second), ("other",))
    found = Resolver(build_index([Part(tree=tree, packages=packages) for tree, packages in trees]))
    symbol = found.resolve("pkg.uses.Thing")
    assert (str(symbol.kind), symbol.home) == (kind, home)


@pytest.mark.parametrize("text", ["x = x.flatten()\n", "x = y.made()\ny = x.made()\n"])
def test_a_value_that_is_made_of_itself_ends(tmp_path: Path, text: str) -> None:
    """A benchmark of upstream's ended `patches matrix` with a RecursionError."""
    history = History.start(tmp_path / "up")
    commit = history.commit("all", {"pkg/__init__.py": "", "pkg/a.py": text})
    resolver = Resolver(build_index([Part(tree=Tree(open_repository(history.path), commit), packages=("pkg",))]))
    assert resolver.resolve("pkg.a.x.shape").kind is SymbolKind.UNKNOWN
