"""What a row says of an effect: replaced, wrapped, set, registered, off at this version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layline.core.condition import need_version
from layline.core.evidence import Location
from layline.core.patch import Balance, Effect, Fate, Holder, Inventory, Patch, Removal, Style, TargetKind
from layline.patches.declared_keys import Schema
from layline.patches.find import Hit, find_word
from layline.patches.found import is_there
from layline.patches.guards.show import show_condition
from layline.patches.named import find_place
from layline.patches.report import describe_change, describe_logic
from layline.patches.wanted import is_dead, is_state
from snippets import read_files

OURS = Location("own/a.py", 9)
R = Style.BINDING_REPLACEMENT
SAYS = [
    # target, style, replacement, where it is, mutates, words, is state
    ("up.a.f", R, "own.a.g", OURS, (), "replaces up.a.f", False),
    ("up.a.f", Style.FUNCTION_WRAPPING, "own.a.g", OURS, (), "wraps up.a.f", False),
    ("up.a.f", R, "torch.npu.f", None, (), "replaces up.a.f", False),
    ("up.a.Linear", R, "a value computed at run time", None, (), "replaces up.a.Linear", False),
    (
        "up.a._GROUP",
        R,
        "a value computed at run time",
        None,
        (),
        "sets up.a._GROUP to a value computed at run time",
        True,
    ),
    ("up.a.SIZE", R, "4", None, (), "sets up.a.SIZE to 4", True),
    ("up.a.f", R, "deleted", None, (), "deletes up.a.f", False),
    ("up.a.TABLE", R, "None", None, ("TABLE['k']",), "sets up.a.TABLE['k']", False),
    ("up.a.TABLE", R, "deleted", None, ("TABLE['k']",), "removes up.a.TABLE['k']", False),
    ("up.x", R, "module up.x", None, (), "replaces up.x", False),
]


@pytest.mark.parametrize(
    ("target", "style", "replacement", "place", "mutates", "words", "state"), SAYS, ids=[row[5] for row in SAYS]
)
def test_verbs(
    target: str,
    style: Style,
    replacement: str,
    place: Location | None,
    mutates: tuple[str, ...],
    words: str,
    state: bool,
) -> None:
    effect = Effect(
        style=style,
        target=target,
        replacement=replacement,
        replacement_at=place,
        mutates=mutates,
        location=Location("own/a.py", 1),
    )
    assert (describe_change(effect), is_state(effect)) == (words, state)


def test_what_no_class_of_upstream_has_is_set_and_not_replaced() -> None:
    effect = Effect(style=R, target="up.a.C.tie", replacement="own.a.g", location=OURS, may_be_of="torch.nn.Module")
    assert describe_change(effect) == "sets up.a.C.tie"
    wrap = replace(effect, style=Style.FUNCTION_WRAPPING)
    assert describe_change(wrap) == "wraps up.a.C.tie"


def test_a_class_handed_to_a_registry_is_registered_not_a_config_key() -> None:
    effect = Effect(
        style=Style.CONFIG_REWRITE,
        target=None,
        replacement="own.a.Mine",
        mutates=("up.REG.register_model('Arch')",),
        location=OURS,
        holder=Holder.REGISTRY,
    )
    assert describe_change(effect) == "registers own.a.Mine by up.REG.register_model('Arch')"


def test_the_table_names_our_implementation_and_its_line() -> None:
    effect = Effect(style=R, target="up.a.f", replacement="own.a.g", replacement_at=OURS, location=OURS)
    assert describe_logic((effect,)) == "replaces up.a.f → own.a.g (own/a.py:9)"


def test_what_asks_for_a_version_is_off_at_the_pin_not_dead() -> None:
    gone = Removal(what="f", commit="0" * 40)
    effect = Effect(style=R, target="up.a.f", location=OURS, target_kind=TargetKind.ABSENT, removal=gone)
    assert is_dead(effect)
    version = need_version("up.__version__", "<", "2")
    asked = Effect(style=R, target="up.a.f", location=OURS, target_kind=TargetKind.ABSENT, removal=gone, when=version)
    assert not is_dead(asked)


def test_a_patch_is_found_once_however_often_it_speaks_of_the_word() -> None:
    patch = Patch(
        id="up.moe",
        backend="up",
        phase=None,
        priority=None,
        location=OURS,
        handler="patch_moe",
        handler_lines=(1, 2),
        description="moe",
    )
    hits = list(find_word(Inventory(backend="up", commit="c", patches=(patch,)), Schema({}), "moe"))
    assert [(hit.patch, hit.where) for hit in hits] == [("up.moe", "id, description, implementation")]


def test_the_condition_of_the_only_import_is_told(tmp_path: Path) -> None:
    files = {
        "own/fast.py": "import up.a as m\nm.f = print\n",
        "own/__init__.py": "from own.have import has_up\nif has_up():\n    import own.fast\n",
        "own/have.py": "def has_up():\n    return ask()\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert (show_condition(item.effect.when) or None) == "at its import in own: has_up()"


GATE = "from own.have import has_up, has_more\nif has_up():\n    import own.boot\n"
GATED_IMPORTS = [
    # what it shows, other files of ours, what is told of a write in a function that own.boot calls when it is imported
    ("one import behind a test", {"own/__init__.py": GATE}, "at the import of own.boot: has_up()"),
    (
        "each of two behind the same test",
        {
            "own/__init__.py": GATE,
            "own/late.py": f"def go():\n    {GATE.splitlines()[0]}\n    if has_up():\n        import own.boot\n",
        },
        "at the import of own.boot: has_up()",
    ),
    (
        "each behind a test of its own",
        {"own/__init__.py": GATE, "own/late.py": GATE.replace("if has_up", "if has_more")},
        "at the import of own.boot: has_up() or has_more()",
    ),
    (
        "for whoever asks for a name of a module",
        {
            "own/late.py": "def __getattr__(name):\n    if name == 'boot':\n        import own.boot as boot\n        return boot\n"
        },
        "",
    ),
    ("one behind none", {"own/__init__.py": GATE, "own/late.py": "import own.boot\n"}, ""),
    (
        "one that never runs, for types, and one of a test",
        {
            "own/__init__.py": GATE,
            "own/late.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import own.boot\n",
            "tests/test_boot.py": "import own.boot\n",
        },
        "at the import of own.boot: has_up()",
    ),
]


@pytest.mark.parametrize(("more", "told"), [row[1:] for row in GATED_IMPORTS], ids=[row[0] for row in GATED_IMPORTS])
def test_what_runs_on_import_happens_where_the_module_is_imported(
    tmp_path: Path, more: dict[str, str], told: str
) -> None:
    files = {
        "own/fast.py": "import up.a as m\n\n\ndef apply():\n    m.f = print\n",
        "own/boot.py": "from own.fast import apply\napply()\n",
        "own/have.py": "def has_up():\n    return ask()\n\n\ndef has_more():\n    return ask()\n",
    }
    (item,) = read_files(tmp_path, files | more).unregistered
    assert show_condition(item.effect.when) == told


def test_a_module_that_writes_on_import_is_asked_for_by_all_that_import_it(tmp_path: Path) -> None:
    files = {
        "own/boot.py": "import up.a as m\nm.f = print\n",
        "own/__init__.py": GATE,
        "own/late.py": GATE.replace("if has_up", "if has_more"),
        "own/have.py": "def has_up():\n    return ask()\n\n\ndef has_more():\n    return ask()\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert show_condition(item.effect.when) == "at the import of own.boot: has_up() or has_more()"


OWN_WORDS = [
    # words of the user's source that are ours as well, what the patch asks, what is told
    (
        "in the caller",
        "who == 'in the caller'",
        "who == 'in the caller'; and at its import in own: has_up()",
    ),
    ("plain", "who == 'us'", "who == 'us'; and at its import in own: has_up()"),
]


@pytest.mark.parametrize(("name", "test", "told"), OWN_WORDS, ids=[row[0] for row in OWN_WORDS])
def test_words_of_the_source_are_not_taken_for_ours(tmp_path: Path, name: str, test: str, told: str) -> None:
    files = {
        "own/fast.py": f"import up.a as m\nfrom own.have import who\nif {test}:\n    m.f = print\n",
        "own/__init__.py": "from own.have import has_up\nif has_up():\n    import own.fast\n",
        "own/have.py": "who = ask()\ndef has_up():\n    return ask()\n",
    }
    (item,) = read_files(tmp_path, files).unregistered
    assert show_condition(item.effect.when) == told


def test_a_text_in_angle_brackets_is_told_as_it_is(tmp_path: Path) -> None:
    source = (
        "def go(x):\n    if x.token == '<unk>':\n        import up.a as m\n    else:\n        import up.b as m\n"
        "    m.f = print\n"
    )
    found = read_files(tmp_path, {"own/boot.py": source}).unregistered
    whens = {item.effect.target: show_condition(item.effect.when) for item in found}
    assert whens == {"up.a.f": "x.token == '<unk>'", "up.b.f": "x.token != '<unk>'"}


@pytest.mark.parametrize(("word", "found"), [("own/a.py:9", 1), ("own/a.py:8", 0)])
def test_a_line_that_could_not_be_followed_is_found(word: str, found: int) -> None:
    """The list names it under what was skipped; asked for it, `find` said that there is nothing."""
    inventory = Inventory(backend="up", commit="c", balance=Balance(candidates=3, unlisted=((Fate.NOT_READ, (OURS,)),)))
    hits = [(hit.patch, hit.where) for hit in find_word(inventory, Schema({}), word)]
    assert hits == [(None, "not followed")] * found


ONCE = [
    # how the caller of the function that writes begins and ends, what is told
    ("it notes that it has run", "    global _done\n    if _done:\n        return\n", "    _done = True\n", ""),
    ("it reads what another notes", "    if _done:\n        return\n", "", "in the caller boot: not _done"),
    ("it only asks", "    global _done\n    if _done:\n        return\n", "", "in the caller boot: not _done"),
    (
        "it asks for what is noted",
        "    global _done\n    if not _done:\n        return\n",
        "    _done = True\n",
        "in the caller boot: _done",
    ),
]


@pytest.mark.parametrize(("first", "last", "told"), [row[1:] for row in ONCE], ids=[row[0] for row in ONCE])
def test_that_a_caller_does_it_once_is_no_condition(tmp_path: Path, first: str, last: str, told: str) -> None:
    source = (
        "import up.a as m\n_done = ask()\n\n\ndef apply():\n    m.f = print\n\n\n"
        f"def boot():\n{first}    apply()\n{last}\n\nboot()\n"
    )
    (item,) = read_files(tmp_path, {"own/a.py": source}).unregistered
    assert show_condition(item.effect.when) == told


PLACES = [("own/a.py:9", True), ("a.py:9", True), ("own/a.py:12", True), ("own/a.py:1", False), ("own/b.py:9", False)]


@pytest.mark.parametrize(("word", "there"), PLACES)
def test_a_hit_is_at_the_lines_it_speaks_of(word: str, there: bool) -> None:
    hit = Hit(
        backend="up",
        patch="up.moe",
        where="place",
        text="own/a.py:1 is only spoken of",
        location=OURS,
        rank=1,
        places=(Location("own/a.py", 12),),
    )
    asked = find_place(word)
    assert asked is not None
    assert is_there(hit, *asked) is there
