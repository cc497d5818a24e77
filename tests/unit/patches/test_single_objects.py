"""Writes onto classes and single objects: what is kept and put back, what chose the value, whose object it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.core.patch import Fate, TargetKind
from layline.patches.data import encode_effect
from layline.patches.guards.show import show_condition
from layline.patches.installer import Known, MemberKind
from layline.patches.inventory.read import read_inventory
from layline.patches.list_lines import build_listing
from snippets import open_reading, read_files

Row = tuple[str, str | None, str | None]
KEPT = (
    "from up.a import C\n"
    "def make():\n    def init(self, *a):\n        self.__orig_init__(*a)\n    return init\n"
    "class Callback:\n"
    "    def teardown(self):\n        C.__init__ = C.__orig_init__\n        del C.__orig_init__\n"
    "    def setup(self):\n        C.__orig_init__ = C.__init__\n        C.__init__ = make()\n"
)
STASHES: list[tuple[str, str, list[tuple[str, str]]]] = [
    # idiom, file, (style, target)
    ("kept in one method and put back in another", KEPT, [("function-wrapping", "up.a.C.__init__")]),
    (
        "kept under a name that is no mark",
        "from up.a import C\ndef on():\n    C.plain = C.go\n    C.go = print\ndef off():\n    C.go = C.plain\n",
        [("binding-replacement", "up.a.C.go")],
    ),
    (
        "kept by setattr",
        (
            "from up.a import C\ndef on():\n    setattr(C, 'first', C.go)\n    C.go = lambda self: self.first()\n"
            "def off():\n    setattr(C, 'go', C.first)\n"
        ),
        [("function-wrapping", "up.a.C.go")],
    ),
    (
        "one branch replaces what the other wraps",
        (
            "from up.a import new, A, B\ndef base(self): pass\ndef put(kind):\n    first = kind.go\n"
            "    def wrapped(self):\n        return first(self)\n    kind.go = wrapped\n"
            "def on():\n    if new():\n        one, two = A, B\n    else:\n        one, two = None, A\n"
            "    one.go = base\n    put(two)\n"
        ),
        [
            ("binding-replacement", "up.a.A.go"),
            ("function-wrapping", "up.a.A.go"),
            ("function-wrapping", "up.a.B.go"),
        ],
    ),
    (
        "one method under the name of another is no stash",
        "from up.a import C\ndef on():\n    C.go = C.run\n",
        [("binding-replacement", "up.a.C.go")],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), STASHES, ids=[row[0] for row in STASHES])
def test_originals_kept_on_a_class(tmp_path: Path, name: str, source: str, expected: list[tuple[str, str]]) -> None:
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.style.value, item.effect.target) for item in found] == expected


KEEPER = (
    "from types import MethodType\nclass Keeper:\n    def __init__(self, model):\n        self.old = model.forward\n"
    "    def run(self, *a):\n        return {}\ndef new(self, *a):\n    return self._keeper.run(*a)\n"
    "def go(model):\n    model._keeper = Keeper(model)\n    model.forward = MethodType(new, model)\n"
)


def test_an_original_that_a_long_constructor_keeps_is_called(tmp_path: Path) -> None:
    long = "".join(
        f"        self.a{n} = [{n}]\n        if model.a{n}:\n            raise ValueError\n" for n in range(30)
    )
    source = KEEPER.format("self.old(*a)").replace("        self.old =", f"{long}        self.old =")
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.style.value == "function-wrapping"


@pytest.mark.parametrize(("does", "style"), [("self.old(*a)", "function-wrapping"), ("None", "binding-replacement")])
def test_an_original_kept_in_an_object_of_ours_beside_it_is_called_or_not(
    tmp_path: Path, does: str, style: str
) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": KEEPER.format(does)}).unregistered
    assert item.effect.style.value == style


def test_what_is_handed_over_is_written_to_whatever_took_its_place(tmp_path: Path) -> None:
    source = (
        "from up.a import C\ndef g(self): pass\ndef on(x: C, anew):\n    if anew:\n        x = x.made_anew()\n"
        "    x.go = g\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.target, show_condition(item.effect.when)) == ("up.a.C.go", "")


CHOSEN: list[tuple[str, str, str, str | None, str | None]] = [
    # idiom, file, replacement, else, when
    (
        "a name that an `if` fills",
        (
            "import up.a as m\ndef g(): pass\ndef go(fast, cfg):\n    f = None\n    if fast and cfg.on:\n        f = g\n"
            "    m.f = f\n"
        ),
        "own.boot.g",
        "None",
        "fast and cfg.on",
    ),
    (
        "else the original",
        "import up.a as m\ndef g(): pass\ndef go(fast):\n    f = m.f\n    if fast:\n        f = g\n    m.f = f\n",
        "own.boot.g",
        "what stood there",
        "fast",
    ),
    (
        "an expression with two values",
        "import up.a as m\ndef g(): pass\ndef go(fast):\n    m.f = g if fast else None\n",
        "own.boot.g",
        "None",
        "fast",
    ),
    (
        "two of ours, by two tests",
        (
            "import up.a as m\ndef g(): pass\ndef h(): pass\ndef go(a, b):\n    f = None\n    if a:\n        f = g\n"
            "    if b:\n        f = h\n    m.f = f\n"
        ),
        "own.boot.h or own.boot.g",
        "None",
        "b or a",
    ),
    (
        "always one of ours",
        "import up.a as m\ndef g(): pass\ndef h(): pass\ndef go(a):\n    m.f = g if a else h\n",
        "own.boot.g or own.boot.h",
        None,
        None,
    ),
    (
        "one of ours by each case",
        (
            "import up.a as m\ndef g(): pass\ndef h(): pass\ndef go(kind):\n    f = None\n    match kind:\n"
            "        case 'a':\n            f = g\n        case 'b' | 'c':\n            f = h\n"
            "        case None:\n            pass\n        case _:\n            raise ValueError\n"
            "    if f is not None:\n        m.f = f\n"
        ),
        "own.boot.g or own.boot.h",
        None,
        "(kind == 'a' or kind == 'b' or kind == 'c' or kind is None) and f is not None",
    ),
    (
        "what a case captures",
        (
            "import up.a as m\ndef g(): pass\ndef go(kind):\n    match kind:\n        case int():\n            f = g\n"
            "        case other:\n            f = other\n    m.f = f\n"
        ),
        "own.boot.g or …",
        None,
        None,
    ),
    (
        "on an object",
        (
            "from types import MethodType\ndef g(self): pass\ndef go(model, fast):\n    f = None\n    if fast:\n"
            "        f = MethodType(g, model)\n    model.forward = f\n"
        ),
        "own.boot.g",
        "None",
        "fast",
    ),
]


@pytest.mark.parametrize(("name", "source", "replacement", "otherwise", "when"), CHOSEN, ids=[row[0] for row in CHOSEN])
def test_the_condition_that_chose_the_value_is_told(
    tmp_path: Path, name: str, source: str, replacement: str, otherwise: str | None, when: str | None
) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.replacement, item.effect.otherwise, (show_condition(item.effect.when) or None)) == (
        replacement,
        otherwise,
        when,
    )


WHOSE: list[tuple[str, str, list[tuple[str | None, str, str | None]]]] = [
    # idiom, file, (target, style, how the object is reached)
    (
        "the annotation of a parameter",
        "from up.a import Block\ndef g(self): pass\ndef go(block: Block):\n    block.forward = g.__get__(block)\n",
        [("up.a.Block.forward", "binding-replacement", "block")],
    ),
    (
        "an annotation as text, or none",
        (
            "from typing import Optional\nfrom up.a import Block\ndef g(self): pass\n"
            "def go(block: 'Optional[Block]' = None):\n    block.forward = g\n"
        ),
        [("up.a.Block.forward", "binding-replacement", "block")],
    ),
    (
        "one of two classes by annotation",
        "from up.a import Block, Stem\ndef g(self): pass\ndef go(x: Block | Stem):\n    x.forward = g\n",
        [
            ("up.a.Block.forward", "binding-replacement", "x"),
            ("up.a.Stem.forward", "binding-replacement", "x"),
        ],
    ),
    (
        "that class or nearly any other by annotation",
        (
            "from up.a import Adapted, PreTrainedModel\ndef g(self): pass\n"
            "def go(model: 'str | PreTrainedModel | Adapted'):\n    model.forward = g\n"
        ),
        [(None, "binding-replacement", "model")],
    ),
    (
        "an assertion tells the class",
        "from up.a import Block\ndef g(self): pass\ndef go(x):\n    assert isinstance(x, Block)\n    x.forward = g\n",
        [("up.a.Block.forward", "binding-replacement", "x")],
    ),
    (
        "an assertion about something else",
        "from up.a import Block\ndef g(self): pass\ndef go(x, y):\n    assert isinstance(y, Block)\n    x.forward = g\n",
        [(None, "binding-replacement", "x")],
    ),
    (
        "a part of ours for a part of upstream's",
        (
            "from up.a import Block, Trainer\nclass Fast(Block): pass\nclass Plan:\n    def go(self): pass\n"
            "class Data: pass\nclass Mine:\n    def __init__(self, trainer: Trainer):\n        self.trainer = trainer\n"
            "    def go(self, model):\n        self.trainer.plan = Plan()\n        self.trainer.data = Data()\n"
            "        self.trainer.parts = [Plan()]\n        model.block = Fast()\n        model.data = Plan()\n"
            "        self.block = Fast()\n        self.trainer.run = lambda: 1\n"
        ),
        [
            ("up.a.Trainer.plan", "binding-replacement", "self.trainer"),
            ("up.a.Trainer.parts", "binding-replacement", "self.trainer"),
            (None, "binding-replacement", "model"),
            ("up.a.Trainer.run", "binding-replacement", "self.trainer"),
        ],
    ),
    (
        "a class of ours by annotation",
        "class Mine: pass\ndef go(mine: Mine):\n    mine.forward = lambda: 1\n    mine.model = wrap(mine.model)\n",
        [],
    ),
    (
        "callers hand over objects of ours",
        (
            "class Part: pass\ndef fill(model, ready):\n    if ready:\n        model.part = make()\n"
            "def make():\n    return Part\nclass Mine:\n    def go(self):\n        fill(self, True)\n"
        ),
        [],
    ),
    (
        "an attribute that our class is given",
        (
            "from up.a import Block\nclass Mine:\n    def __init__(self, block: Block):\n        self.block = block\n"
            "    def go(self):\n        self.block.run = lambda: 1\n"
        ),
        [("up.a.Block.run", "binding-replacement", "self.block")],
    ),
    (
        "an attribute of our own class",
        (
            "class Part: pass\nclass Mine:\n    def __init__(self):\n        self.part = Part()\n"
            "    def go(self):\n        self.part.forward = lambda: 1\n"
        ),
        [],
    ),
    (
        "a lambda on what a foreign object holds",
        "from up.a import Trainer\ndef go(trainer: Trainer):\n    trainer._connector.restore = lambda: True\n",
        [(None, "binding-replacement", "trainer._connector")],
    ),
    (
        "a closure on an object of an object",
        (
            "class Mine:\n    def go(self, words):\n        def get_vocab():\n            return words\n"
            "        self.tokenizer.tokenizer.get_vocab = get_vocab\n"
        ),
        [(None, "binding-replacement", "self.tokenizer.tokenizer")],
    ),
    (
        "another class made for one object",
        (
            "def extend(obj, mixin):\n    base = obj.__class__\n    obj.__class__ = type(base.__name__, (mixin, base), {})\n"
            "class Scale: pass\nclass Mine:\n    def __init__(self, model):\n        extend(model.embedding, Scale)\n"
        ),
        [(None, "binding-replacement", "model.embedding")],
    ),
    (
        "another class whose method runs the one above it",
        (
            "def extend(obj, mixin):\n    base = obj.__class__\n    obj.__class__ = type(base.__name__, (mixin, base), {})\n"
            "class Scale:\n    def forward(self, **kw):\n        return 2 * super().forward(**kw)\n"
            "class Mine:\n    def __init__(self, model):\n        extend(model.embedding, Scale)\n"
        ),
        [(None, "function-wrapping", "model.embedding")],
    ),
    (
        "the class that is handed in",
        "def swap(module, mixin):\n    module.__class__ = mixin\n    module.ready()\n",
        [(None, "binding-replacement", "module")],
    ),
    (
        "a text decoded by a method of ours",
        (
            "class Mine:\n    def decode(self, tokens):\n        found = self.words(tokens)\n        return found\n"
            "    def words(self, tokens):\n        return ' '.join(tokens)\n"
            "    def go(self, hypothesis):\n        hypothesis.text = self.decode(hypothesis.text)\n"
        ),
        [],
    ),
    (
        "what our metaclass makes",
        (
            "class Meta(type):\n    def __new__(cls, name, bases, attrs):\n"
            "        made = super().__new__(cls, name, bases, attrs)\n        made.handle = Meta.handle\n"
            "        return made\n    def handle(self): pass\n"
        ),
        [],
    ),
    (
        "an original held by an object that a closure calls",
        (
            "class Convert:\n    def __init__(self, call):\n        self.call = call\n    def __call__(self, *a):\n"
            "        return self.call(*a)\ndef convert(call):\n    held = Convert(call)\n    def new(*a):\n"
            "        return held(*a)\n    return new\ndef go(model, context):\n"
            "    model.forward = convert(context(model.forward))\n"
        ),
        [(None, "function-wrapping", "model")],
    ),
    (
        "one line for several callers",
        (
            "import functools\nclass Hook:\n    def begin(self, module):\n        return module\n"
            "def add(module, hook):\n    module = hook.begin(module)\n    def new(module, *a):\n        return a\n"
            "    module.forward = functools.partial(new, module)\ndef first(model):\n    add(model, Hook())\n"
            "def second(model, hook):\n    add(model.layer, hook)\n"
        ),
        [(None, "binding-replacement", "hook.begin(…)")],
    ),
    (
        "an import under a name that only a run knows",
        "import sys\nimport types\ndef go(name):\n    sys.modules[name] = types.ModuleType('dummy')\n",
        [(None, "binding-replacement", None)],
    ),
]


@pytest.mark.parametrize(("name", "source", "expected"), WHOSE, ids=[row[0] for row in WHOSE])
def test_whose_object_is_written_to(
    tmp_path: Path, name: str, source: str, expected: list[tuple[str | None, str, str | None]]
) -> None:
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(effect.target, effect.style.value, effect.reached) for effect in found] == expected
    assert all(effect.holder is not None for effect in found)


def test_a_field_of_upstream_is_set_and_a_class_there_is_replaced(tmp_path: Path) -> None:
    source = (
        "class Mine: pass\ndef sync(): pass\ndef go(model):\n    model.config.sync_func = sync\n"
        "    model.parts.router = Mine\n    model.step = sync\n    model.parts.router = [Mine()]\n"
        "def each(model, chunks):\n    hooks = [chunk.sync for chunk in chunks] if chunks else sync\n"
        "    model.config.sync_func = hooks\n"
    )
    kinds = {"sync_func": MemberKind.FIELD, "router": MemberKind.FIELD, "step": MemberKind.METHOD}
    reading = open_reading(tmp_path, {"own/boot.py": source})
    found = read_inventory(reading, "up", find_members=lambda name: frozenset({kinds[name]})).unregistered
    assert [(item.effect.style.value, item.effect.mutates) for item in found] == [
        ("config-rewrite", ("sync_func",)),
        ("binding-replacement", ()),
        ("binding-replacement", ()),
        ("config-rewrite", ("sync_func",)),
    ]


def test_a_name_that_a_class_of_upstream_lacks_is_added(tmp_path: Path) -> None:
    source = "import up.a as m\nm.C.more = print\nm.C.go = print\nm.more = print\n"
    kinds = {"up.a.C.more": TargetKind.ABSENT, "up.a.more": TargetKind.ABSENT}

    def look_up(dotted: str) -> Known:
        return Known(kinds.get(dotted, TargetKind.DEFINITION))

    inventory = read_inventory(open_reading(tmp_path, {"own/boot.py": source}), "up", look_up)
    assert {item.effect.target: item.effect.adds for item in inventory.unregistered} == {
        "up.a.C.more": True,
        "up.a.C.go": False,
        "up.a.more": False,
    }
    told = [line for group in build_listing(inventory, "own", "up").groups for line in group.items]
    assert told[0].message.partition(" [")[0] == "adds up.a.C.more (absent at the pin)"


def test_whether_a_name_is_new_is_said_only_where_it_is_known(tmp_path: Path) -> None:
    source = "import up.a as m\nm.C.more = print\nm.C.go = print\nm.C.deep = print\ndef f(x):\n    x.forward = f\n"
    kinds = {"more": TargetKind.ABSENT, "go": TargetKind.DEFINITION, "deep": TargetKind.UNKNOWN}

    def look_up(dotted: str) -> Known:
        return Known(kinds.get(dotted.rpartition(".")[2], TargetKind.DEFINITION))

    inventory = read_inventory(open_reading(tmp_path, {"own/boot.py": source}), "up", look_up)
    told = {str(item.effect.location): encode_effect(item.effect)["adds"] for item in inventory.unregistered}
    assert told == {
        "own/boot.py:2": True,
        "own/boot.py:3": False,
        "own/boot.py:4": None,
        "own/boot.py:6": None,
    }


def test_a_patch_on_one_object_says_so(tmp_path: Path) -> None:
    source = "from up.a import Block\ndef g(self): pass\ndef go(block: Block):\n    block.forward = g\n"
    inventory = read_files(tmp_path, {"own/boot.py": source})
    (line,) = (line for group in build_listing(inventory, "own", "up").groups for line in group.items)
    assert line.message.startswith("replaces up.a.Block.forward on one object (block)")


ANNOTATED = [
    # (what it shows, the line, target, certain, how its reason ends)
    ("a method that upstream has", "model.loss = g", None, False, "(class other.Wrapped)"),
    ("one that upstream lacks", "model.more = g", "other.Wrapped.more", False, "other was not read"),
    ("one that it is asked for", "if hasattr(model, 'more'): model.more = g", None, False, "(class other.Wrapped)"),
    ("what every object has", "model.__class__ = G", "other.Wrapped.__class__", True, "not on the class itself"),
]


@pytest.mark.parametrize(
    ("line", "target", "certain", "reason"), [row[1:] for row in ANNOTATED], ids=[row[0] for row in ANNOTATED]
)
def test_an_annotation_with_a_class_that_cannot_be_read_decides_little(
    tmp_path: Path, line: str, target: str | None, certain: bool, reason: str
) -> None:
    source = (
        f"import up.a\nfrom other import Wrapped\ndef g(self): ...\nclass G: ...\ndef go(model: Wrapped):\n    {line}\n"
    )
    reading = open_reading(tmp_path, {"own/boot.py": source})
    methods = {"loss": frozenset({MemberKind.METHOD})}
    inventory = read_inventory(
        reading, "up", lambda _: Known(TargetKind.EXTERNAL), find_members=lambda name: methods.get(name, frozenset())
    )
    (effect,) = (item.effect for item in inventory.unregistered)
    assert (effect.target, effect.certain) == (target, certain)
    assert (effect.reason or "").endswith(reason)


def test_an_object_of_upstream_that_names_a_class_of_ours_is_told(tmp_path: Path) -> None:
    source = (
        "from up.spec import Spec, make_spec\nclass Ours: ...\ndef build():\n    return Spec(module=Ours)\n"
        "def go():\n    spec = make_spec()\n    spec.parts.attention = build()\n    spec.parts.norm = Spec(module=3)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.location.line, item.effect.replacement) == (7, "up.spec.Spec(…)")


FILLED = [
    # (what it shows, what is put there, lines that are told)
    ("a list of functions of ours", "[lambda: one for one in chunks]", [5]),
    ("a list of values", "[3 for one in chunks]", []),
    ("an attribute", "chunk.start_sync", [5]),
    ("a list of them", "[one.start_sync for one in chunks]", [5]),
    ("a plain value", "3", []),
    ("what a call gives", "chunk.read()", []),
    ("an attribute that is no method", "chunk.size", []),
]


@pytest.mark.parametrize(("value", "lines"), [row[1:] for row in FILLED], ids=[row[0] for row in FILLED])
def test_a_field_of_upstream_that_holds_code_is_filled(tmp_path: Path, value: str, lines: list[int]) -> None:
    source = (
        "import up.a\nclass Trainer:\n    def go(self, module, chunk, chunks):\n"
        f"        module.config.size = chunk.size\n        module.config.sync_func = {value}\n"
    )
    reading = open_reading(tmp_path, {"own/boot.py": source})
    kinds = {"start_sync": MemberKind.METHOD, "sync_func": MemberKind.FIELD, "size": MemberKind.FIELD}
    inventory = read_inventory(
        reading,
        "up",
        find_members=lambda name: frozenset({kinds[name]}),
        holds_code=lambda name: name == "sync_func",
    )
    assert [item.effect.location.line for item in inventory.unregistered] == lines


@pytest.mark.parametrize(("value", "style"), [("Norm", "binding-replacement"), ("finish", "config-rewrite")])
def test_a_class_of_upstream_in_a_field_is_a_part_and_a_function_a_value(
    tmp_path: Path, value: str, style: str
) -> None:
    source = f"from up.a import Norm, finish\ndef go(module):\n    module.config.norm = {value}\n"
    (item,) = read_inventory(
        open_reading(tmp_path, {"own/boot.py": source}),
        "up",
        lambda name: Known(TargetKind.DEFINITION, is_class=name.endswith("Norm")),
        find_members=lambda _: frozenset({MemberKind.FIELD}),
        holds_code=lambda _: True,
    ).unregistered
    assert item.effect.style.value == style


THEIRS = [
    # (what it shows, the line, whether it is told)
    ("a function where they hold one", "module.config.sync_func = finish", True),
    ("a class in a part of theirs", "parts.norm = Norm", True),
    ("in a copy of it", "copy = deepcopy(parts)\n    copy.other = Norm", True),
    ("in who knows what", "module.config.norm = Norm", False),
    ("in a part that our code makes", "mine = Parts()\n    mine.norm = Norm", False),
    ("a value of theirs", "module.config.sync_func = SIZE", False),
    ("what they make", "parts.norm = Norm()", False),
    ("of another package", "module.config.sync_func = print", False),
]


@pytest.mark.parametrize(("line", "is_told"), [row[1:] for row in THEIRS], ids=[row[0] for row in THEIRS])
def test_code_of_upstream_that_ours_puts_onto_its_objects(tmp_path: Path, line: str, is_told: bool) -> None:
    source = (
        "from copy import deepcopy\nfrom up.a import Norm, Parts, SIZE, finish\n"
        f"def go(module, parts: Parts):\n    module.inner.size = module.size\n    {line}\n"
    )
    kinds = {"up.a.SIZE": TargetKind.MODULE_ASSIGNMENT}
    inventory = read_inventory(
        open_reading(tmp_path, {"own/boot.py": source}),
        "up",
        lambda name: Known(kinds.get(name, TargetKind.DEFINITION)),
        holds_code=lambda name: name == "sync_func",
    )
    assert [bool(item.effect.replacement) for item in inventory.unregistered] == [True] * is_told


def test_what_is_set_on_a_copy_is_told_of_the_copy_and_of_where_it_goes(tmp_path: Path) -> None:
    source = """
from copy import deepcopy
import up.a
class Model(up.a.Model):
    def __init__(self):
        config = deepcopy(self.layers[1].mlp.config)
        config.activation = lambda x: x
        for layer in self.layers:
            layer.mlp.activation = config.activation
            layer.mlp.config = config
"""
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(one.location.line, one.reached, one.replacement) for one in found] == [
        (7, "copy(self.layers[1].mlp.config)", "own.boot.Model.__init__.<lambda>"),
        (9, "self.layers[…].mlp", "own.boot.Model.__init__.<lambda>"),
        (10, "self.layers[…].mlp", "a copy of self.layers[1].mlp.config"),
    ]
    assert found[-1].replacement_at is None  # not where something was put on the copy


def test_a_copy_is_of_the_class_that_a_test_tells_of_its_original(tmp_path: Path) -> None:
    source = """
import copy
from up.a import C
def fast(): pass
def go(part):
    if isinstance(part, C):
        mine = copy.copy(part)
        mine.step = fast
"""
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(one.target, one.reached) for one in found] == [("up.a.C.step", "copy(part)")]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("layer.forward = torch.compile(layer.forward, mode='fast')", ["wraps `forward` of `model.layers[…]`"]),
        ("layer.size = int(layer.size)", []),
        ("layer.forward = torch.compile(layer)", []),
    ],
)
def test_a_method_that_another_package_wraps_is_told(tmp_path: Path, line: str, told: list[str]) -> None:
    source = f"import torch\ndef go(model):\n    for layer in model.layers:\n        {line}\n"
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.reason or "").partition(",")[0] for item in found] == told


PARTS = [
    # what is put in the place of a child, lines that are told
    ("Ours(child)", [9]),
    ("up.fast.Linear(child.size)", [9]),
    ("sought.Linear(child.size)", [9]),
    ("up.fast.Linear.from_float(child, 8)", [9]),
    ("up.fast.Linear.from_float(8)", []),
    ("child.weight", []),
    ("dict(child)", []),
]


@pytest.mark.parametrize(("value", "lines"), PARTS)
def test_a_part_put_in_the_place_of_a_child_is_told(tmp_path: Path, value: str, lines: list[int]) -> None:
    source = f"""
import torch, up.fast
class Ours(torch.nn.Module):
    pass
def give(model, sought=None):
    for name, child in model.named_children():
        give(child)
        if isinstance(child, torch.nn.Linear):
            setattr(model, name, {value})
"""
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [one.location.line for one in found] == lines
    assert all((one.reason or "").startswith("sets a part of ") for one in found)


@pytest.mark.parametrize(("way", "lines"), [("model.__setattr__", [7]), ("super().__setattr__", [])])
def test_a_part_set_by_the_method_of_the_object_is_told(tmp_path: Path, way: str, lines: list[int]) -> None:
    source = (
        "import torch\nclass Ours(torch.nn.Module):\n    pass\nclass Mine:\n    def give(self, model):\n"
        f"        for name, child in model.named_children():\n            {way}(name, Ours())\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [item.effect.location.line for item in found] == lines


@pytest.mark.parametrize(
    ("put", "style"), [("wrap(getattr(x, n))", "function-wrapping"), ("wrap(len)", "binding-replacement")]
)
def test_a_method_under_a_computed_name_wraps_the_one_that_stood_there(tmp_path: Path, put: str, style: str) -> None:
    source = (
        "def wrap(old):\n    def new(*a): return old(*a)\n    return new\n"
        f"def go(x):\n    for n in dir(x):\n        setattr(x, n, {put})\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.style.value == style


PATCHED = """
from types import MethodType
def patch(held, method):
    def patched(*a):
        return method(*a)
    return patched
class Ours:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self._original_step = self.optimizer.step
        self._patched_step = patch(self, self.optimizer.step)
    def __setstate__(self, state):
        self._original_step = self.optimizer.step
        self._patched_step = patch(self, self.optimizer.step)
    def step(self):
        self.optimizer.step = self._patched_step
        self.optimizer.step = self._original_step
def unwrap(model):
    forward = model.forward
    while hasattr(forward, "__wrapped__"):
        forward = forward.__wrapped__
    model.forward = MethodType(forward, model)
def unwrap_inner(model):
    def go(module):
        if hasattr(module, "module"):
            return go(module.module)
        return module
    model = go(model)
    unwrap(model)
    forward = model.forward
    while hasattr(forward, "__wrapped__"):
        forward = forward.__wrapped__
    model.forward = MethodType(forward, model)
"""


def test_what_two_methods_keep_alike_is_told_and_taking_wrappers_off_is_not(tmp_path: Path) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": PATCHED}).unregistered
    told = item.effect.location.line, item.effect.style.value, item.effect.moment.value, item.effect.reached
    assert told == (16, "function-wrapping", "transient", "self.optimizer")


OURS_BY_WORDS = [
    # what is said, how the object is reached
    ("    def __init__(self, trainer: 'Trainer'):\n        self.trainer = trainer\n", "self.trainer.strategy.parts[0]"),
    ("", "long()"),
    ("", "silent()"),
]


@pytest.mark.parametrize(("said", "reached"), OURS_BY_WORDS, ids=[row[1] for row in OURS_BY_WORDS])
def test_an_object_that_is_said_to_be_of_a_class_of_ours_is_no_patch(tmp_path: Path, said: str, reached: str) -> None:
    steps = "".join(f"    if up.a.x{n}:\n        raise ValueError\n" for n in range(30))
    source = (
        "import up.a\nclass Part: pass\nclass Strategy:\n    def __init__(self):\n"
        "        self.parts: list[Part] = []\nclass Trainer:\n    @property\n    def strategy(self) -> Strategy:\n"
        f"        return self._held\ndef long() -> Part:\n{steps}    return up.a.make()\n"
        f"def silent():\n{steps}    return up.a.make()\nclass Loop:\n{said}    def hook(self): pass\n"
        f"    def go(self):\n        part = {reached}\n        part.forward = self.hook\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert len(found) == (1 if reached == "silent()" else 0)


def test_what_a_property_of_a_class_above_gives_is_a_value(tmp_path: Path) -> None:
    source = (
        "import up.a as m\nclass A:\n    @property\n    def rank(self):\n        return self._held\n"
        "class B(A):\n    @property\n    def rank(self):\n        return super().rank\n"
        "    def go(self):\n        m.rank = self.rank\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.replacement == "a value computed at run time"


SWAPS = """
from contextlib import contextmanager
from other import subclasses
from up.a import A, B
def wrap(old):
    def new(*a): return old(*a)
    return new
@contextmanager
def swap(base):
    every = subclasses(base) | {base}
    for cls in every:
        for name in ("__init__", "__setattr__"):
            setattr(cls, f"__old{name}", getattr(cls, name))
            setattr(cls, name, wrap(getattr(cls, name)))
    yield
    for cls in every:
        for name in ("__init__", "__setattr__"):
            setattr(cls, name, getattr(cls, f"__old{name}"))
            delattr(cls, f"__old{name}")
def go(run):
    with swap(A), swap(B):
        run()
"""


def test_methods_of_classes_swapped_for_a_while_are_told_where_the_classes_are_named(tmp_path: Path) -> None:
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": SWAPS}).unregistered]
    assert {(one.target, one.style.value, one.moment.value) for one in found} == {
        (f"up.a.{kind}.{name}", "function-wrapping", "transient")
        for kind in "AB"
        for name in ("__init__", "__setattr__")
    }


@pytest.mark.parametrize(("kept", "style"), [("model.body.first", "function-wrapping"), ("3", "binding-replacement")])
def test_a_part_that_keeps_the_one_before_it_wraps_it(tmp_path: Path, kept: str, style: str) -> None:
    source = f"""
import torch, up.fast
class Ours(torch.nn.Module):
    def __init__(self, inner):
        self.inner = inner
def give(model):
    model.body.first = Ours({kept})
"""
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.style == style


def test_a_field_that_a_helper_sets_is_told_once_however_its_object_is_reached(tmp_path: Path) -> None:
    source = (
        "import up.a\ndef mine(): ...\nclass Chunks(up.a.Many): ...\ndef give(chunks):\n    for one in chunks:\n"
        "        one.config.sync_func = mine\ndef go():\n    give(Chunks())\nHELD = {}\nHELD['a'] = go\n"
    )
    reading = open_reading(tmp_path, {"own/boot.py": source})
    inventory = read_inventory(reading, "up", find_members=lambda _: frozenset({MemberKind.FIELD}))
    assert [item.effect.reached for item in inventory.unregistered] == ["chunks[…].config"]


REACHED = [
    # (what it shows, the method, how its object is told)
    ("the object around the line", "self.body.step = MethodType(g, self)", "self.body"),
    ("another object of ours", "other = Other()\n        other.body.step = MethodType(g, self)", "other.body"),
    ("one handed to a helper", "other = Other()\n        extend(other.body, Mixin)", "Other(…).body"),
]


@pytest.mark.parametrize(("lines", "reached"), [row[1:] for row in REACHED], ids=[row[0] for row in REACHED])
def test_self_is_only_the_object_around_the_line(tmp_path: Path, lines: str, reached: str) -> None:
    source = (
        "import up.a\nfrom types import MethodType\ndef g(self): ...\nclass Other(up.a.Model): ...\n"
        "class Mixin: ...\ndef extend(x, mixin):\n    base = x.__class__\n"
        "    x.__class__ = type(base.__name__, (mixin, base), {})\nclass Mine(up.a.Model):\n    def go(self):\n"
        f"        {lines}\n"
    )
    found = [item.effect.reached for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert reached in found


COLLECTED = [
    # (what it shows, how the list is filled, when its objects are patched)
    (
        "of one list",
        "    for one in model.layers:\n        if isinstance(one, Block):\n            found.append(one)\n",
        "isinstance(one, Block)",
    ),
    (
        "of one of two lists",
        (
            "    if isinstance(model, Whole):\n        for one in model.body.layers:\n"
            "            if isinstance(one, Block):\n                found.append(one)\n"
            "    else:\n        for one in model.layers:\n"
            "            if isinstance(one, Block):\n                found.append(one)\n"
        ),
        "",
    ),
]


@pytest.mark.parametrize(("filled", "when"), [row[1:] for row in COLLECTED], ids=[row[0] for row in COLLECTED])
def test_objects_that_are_collected_by_their_class_are_of_it(tmp_path: Path, filled: str, when: str) -> None:
    source = (
        "from types import MethodType\nfrom up.a import Block, Whole\ndef g(self): ...\ndef go(model):\n    found = []\n"
        f"{filled}    for one in found:\n        one.step = MethodType(g, one)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.target, show_condition(item.effect.when)) == ("up.a.Block.step", when)


def test_the_getter_of_a_property_with_a_setter_is_read(tmp_path: Path) -> None:
    source = """
import up.a
class S(up.a.Base):
    @property
    def env(self):
        env = up.a.Env()
        env.rank = lambda: 1
        return env
    @env.setter
    def env(self, value):
        pass
"""
    found = [item.effect for item in read_files(tmp_path, {"own/boot.py": source}).unregistered]
    assert [(one.target, one.location.line) for one in found] == [("up.a.Env.rank", 7)]


UNWRAP = """
from up.a import Wrapper
def unwrap(model):
    is_list = isinstance(model, list)
    every = model if is_list else [model]
    found = []
    for one in every:
        while isinstance(one, Wrapper):
            one = one.module
        found.append(one)
    return found if is_list else found[0]
def mine(self): pass
def go(model):
    unwrap(model).forward = mine.__get__(unwrap(model))
"""


def test_one_of_several_objects_is_told_as_it_is_written(tmp_path: Path) -> None:
    (item,) = read_files(tmp_path, {"own/boot.py": UNWRAP}).unregistered
    assert item.effect.reached == "unwrap(model)"
    assert item.effect.reason == (
        "sets a method as `forward` of `unwrap(model)`, an object that only exists at run time"
    )


LOADED: list[tuple[str, str, str, int]] = [
    # what is put among the loaded modules, under which name, what it is called itself, rows
    ("a file, under a name of its own", "'_own_' + path", "'_own_' + path", 0),
    ("a file, in the place of another module", "'up.a'", "'up.a'", 1),
    ("a file that is called otherwise", "other", "path", 1),
    ("a file that is called so if it is called at all", "other", "other or '_own_' + path", 0),
]


@pytest.mark.parametrize(("key", "name", "rows"), [row[1:] for row in LOADED], ids=[row[0] for row in LOADED])
def test_a_file_that_is_loaded_under_its_own_name_replaces_nothing(
    tmp_path: Path, key: str, name: str, rows: int
) -> None:
    source = (
        "import sys\nfrom importlib.util import module_from_spec, spec_from_file_location\nimport up.a\n"
        f"def load(path, other):\n    spec = spec_from_file_location({name}, path)\n"
        f"    if spec is None or spec.loader is None:\n        raise ImportError(path)\n"
        f"    sys.modules[{key}] = module_from_spec(spec)\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source})
    assert len(found.unregistered) == rows
    assert dict(found.balance.fates) == {Fate.LISTED if rows else Fate.OWN: 1}


FIELDS: list[tuple[str, str, list[tuple[str | None, str]]]] = [
    # how a field is set, the lines of the method before it is used, target and condition of each row
    (
        "in two branches",
        "        if kind == 'a':\n            self.part = A()\n        else:\n            self.part = B()\n",
        [("up.a.A.forward", "kind == 'a'"), ("up.a.B.forward", "kind != 'a'")],
    ),
    (
        "before a branch",
        "        self.part = A()\n        if kind:\n            self.other = B()\n",
        [("up.a.A.forward", "")],
    ),
    (
        "again in a branch",
        "        self.part = A()\n        if kind:\n            self.part = B()\n",
        [("up.a.A.forward", "not kind"), ("up.a.B.forward", "kind")],
    ),
    (
        "in a branch that leaves",
        "        self.part = A()\n        if kind:\n            self.part = B()\n            return\n",
        [("up.a.A.forward", "not kind")],
    ),
    ("in one branch alone", "        if kind:\n            self.part = A()\n", [("up.a.A.forward", "")]),
]


@pytest.mark.parametrize(("lines", "rows"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS])
def test_a_field_is_what_either_branch_has_set(tmp_path: Path, lines: str, rows: list[tuple[str | None, str]]) -> None:
    head = "from up.a import A, B\ndef mine(self): pass\nclass Mine:\n    def go(self, kind):\n"
    source = f"{head}{lines}        self.part.forward = mine\n"
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [(item.effect.target, show_condition(item.effect.when)) for item in found] == rows


def test_what_chose_an_object_of_a_class_that_is_said_is_told(tmp_path: Path) -> None:
    source = (
        "from up.a import A\ndef mine(self): pass\nclass Held:\n    part: A\n"
        "def go(kind, one: Held, other):\n    held = one if kind == 'a' else other\n    held.part.forward = mine\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.target, show_condition(item.effect.when)) == ("up.a.A.forward", "kind == 'a'")


def test_a_part_is_swapped_under_the_last_word_of_its_name(tmp_path: Path) -> None:
    source = (
        "import torch\nimport up.a\nclass Mine(torch.nn.Module): pass\ndef find(model, name): pass\n"
        "def go(model):\n    for name, part in model.named_modules():\n"
        "        home, last = name.rsplit('.', 1)\n        setattr(model.get_submodule(home), last, Mine())\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.reached, item.effect.replacement) == ("model.get_submodule(…)", "own.boot.Mine()")


def test_a_stand_in_for_a_whole_package_is_told_with_what_it_is_given(tmp_path: Path) -> None:
    source = (
        "import sys, types\nmade = types.ModuleType('up')\npart = types.ModuleType('up.a')\nmade.a = part\n"
        "sys.modules['up'] = made\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [item.effect.target for item in found] == ["up.a", "up"]


def test_parts_of_one_of_two_objects_are_told_as_they_are_written(tmp_path: Path) -> None:
    source = (
        "import up.a\nclass Mine: pass\ndef go(run, draft):\n    model = run.draft.model if draft else run.model\n"
        "    for name, part in model.named_parameters():\n        part.__class__ = Mine\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert item.effect.reached == "part"


def test_a_line_that_two_callers_come_to_is_told_as_it_is_written(tmp_path: Path) -> None:
    source = (
        "import up.a\ndef mine(): pass\nclass Run:\n    def go(self, model):\n        def cast(target):\n"
        "            head = target.head.float()\n            head.forward = mine\n"
        "        cast(model)\n        if self.ref is not None:\n            cast(self.ref)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.location.line, item.effect.reached) == (7, "head")
    assert item.effect.reason == "sets `forward` of `head`, an object that only exists at run time"


def test_a_helper_that_many_call_is_told_in_its_own_words(tmp_path: Path) -> None:
    source = (
        "import up.a\ndef mine(self): pass\ndef bind(module, name, new):\n"
        "    module.__dict__[name] = new.__get__(module, module.__class__)\n"
        "def go(module, model):\n    module.part.offset = 1\n    bind(module.part, 'forward', mine)\n    bind(model.head, 'forward', mine)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.location.line, item.effect.reached) == (4, "module")


def test_what_a_helper_writes_is_told_in_the_words_of_its_call(tmp_path: Path) -> None:
    source = (
        "import up.a\nclass Mine: pass\ndef extend(obj, mixin):\n"
        "    obj.__class__ = type('X', (mixin, obj.__class__), {})\n"
        "def customize(model):\n    extend(model.head, Mine)\ndef go(net):\n    net.inner.x = print\n    customize(net.inner)\n"
    )
    (item,) = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert (item.effect.location.line, item.effect.reached) == (6, "model.head")


PRIVATE = [
    # what is put onto a private name of an object's class, and the lines told
    (
        "what keeps the one before it",
        "    old = kind._go\n    def new(*a):\n        return old(*a)\n    kind._go = new\n",
        [5],
    ),
    (
        "what may call the one before it under another name",
        "    old = kind._go\n    def new(*a, other=None):\n        then = other or old\n        return then(*a)\n    kind._go = new\n",
        [6],
    ),
    ("a slot that is filled", "    def new(*a):\n        return a\n    kind._go = new\n", []),
    ("what keeps another", "    old = kind._run\n    def new(*a):\n        return old(*a)\n    kind._go = new\n", []),
]


@pytest.mark.parametrize(("body", "lines"), [row[1:] for row in PRIVATE], ids=[row[0] for row in PRIVATE])
def test_a_private_name_is_a_slot_unless_what_stood_there_is_kept(tmp_path: Path, body: str, lines: list[int]) -> None:
    source = f"def swap(kind):\n{body}def go(model):\n    swap(model.layers[0].mast.__class__)\n"
    found = read_files(tmp_path, {"own/a.py": source}).unregistered
    assert [item.effect.location.line for item in found] == lines


def test_what_a_replacement_puts_onto_objects_is_said_where_it_is_not_listed(tmp_path: Path) -> None:
    source = (
        "from types import MethodType\nfrom up.a import Boat\n\n\ndef mine(self): pass\n\n\ndef apply():\n"
        "    def init(self, model):\n        for part in model.parts():\n            part.forward = MethodType(mine, part)\n"
        "    Boat.__init__ = init\n"
    )
    found = read_files(tmp_path, {"own/a.py": source})
    assert [item.effect.target for item in found.unregistered] == ["up.a.Boat.__init__"]
    told = "what our replacements set on objects that exist only at run time is not listed (1 line): "
    left = [one.why for one in found.skipped if one.what == "objects that a replacement changes"]
    assert left == [f"{told}own/a.py:11"]


def test_each_round_of_a_loop_wraps_what_its_own_default_holds(tmp_path: Path) -> None:
    source = (
        "import importlib\n\n\ndef patch():\n    for name in ('up.a', 'up.b.c'):\n        module = importlib.import_module(name)\n"
        "        first = getattr(module, 'go', None)\n\n        def go(_first=first):\n            return _first() if _first else 1\n\n"
        "        setattr(module, 'go', go)\n"
    )
    reading = open_reading(tmp_path, {"own/boot.py": source})
    inventory = read_inventory(reading, "up", lambda _: Known(TargetKind.ABSENT))
    told = {item.effect.target: item.effect.style.value for item in inventory.unregistered}
    assert told == {"up.a.go": "function-wrapping", "up.b.c.go": "function-wrapping"}


def test_what_keeps_the_original_adds_nothing_where_the_pin_lacks_it(tmp_path: Path) -> None:
    source = (
        "from up.a import C\n\n\ndef go():\n    first = getattr(C, 'more', None)\n    if first is None:\n        return\n\n"
        "    def more(self):\n        return first(self)\n\n    C.more = more\n"
    )

    def look_up(dotted: str) -> Known:
        return Known(TargetKind.ABSENT if dotted.endswith(".more") else TargetKind.DEFINITION)

    inventory = read_inventory(open_reading(tmp_path, {"own/boot.py": source}), "up", look_up)
    told = [line for group in build_listing(inventory, "own", "up").groups for line in group.items]
    assert [line.message.partition(" [")[0] for line in told] == ["wraps up.a.C.more (absent at the pin)"]


def test_two_keys_of_a_table_that_lead_to_one_write_are_both_told(tmp_path: Path) -> None:
    source = (
        "import importlib\n\ndef rope(q):\n    return q\n\ndef put(kind):\n"
        "    return ((f'up.{kind}', (('go', rope),)),)\n\n"
        "TABLE = {'a': put('a'), 'b': put('b'), 'b_deep': put('b'), 'c': put('c')}\n\n"
        "def apply(kind):\n    for name, pairs in TABLE.get(kind):\n        module = importlib.import_module(name)\n"
        "        for word, ours in pairs:\n            setattr(module, word, ours)\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert {one.effect.target: show_condition(one.effect.when) for one in found} == {
        "up.a.go": "kind == 'a'",
        "up.b.go": "kind == 'b_deep' or kind == 'b'",
        "up.c.go": "kind == 'c'",
    }


@pytest.mark.parametrize(
    ("maker", "told"),
    [("maker.build(x)", []), ("up.a.build(x)", ["own/boot.py:9"]), ("x.part", ["own/boot.py:9"])],
)
def test_an_object_of_ours_on_what_another_package_made_is_no_part_of_upstream(
    tmp_path: Path, maker: str, told: list[str]
) -> None:
    source = (
        "import up.a, maker\ndef put_on(obj, value):\n    setattr(obj, 'trainer', value)\n"
        "class Ours(up.a.Trainer):\n    def go(self): ...\n\ndef go(x):\n"
        f"    made = {maker}\n    put_on(made, Ours())\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    assert [str(item.effect.location) for item in found] == told
