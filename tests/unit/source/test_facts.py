"""What one file imports, writes and names, from its syntax tree."""

from __future__ import annotations

import json

import pytest

from layline.source.facts import Facts, encode_facts, list_handed, parse_facts

IMPORTS = [
    # idiom, code, (module, names)
    ("one line", "from own.patches import a\n", [("own.patches", ["a"])]),
    ("over several lines", "from own.patches import (\n    a,  # why\n    b,\n)\n", [("own.patches", ["a", "b"])]),
    ("several at once", "import os, own.x\n", [("os", []), ("own.x", [])]),
    ("backslash", "from own.patches \\\n    import a\n", [("own.patches", ["a"])]),
    ("after another statement", "x = 1; import own.x\n", [("own.x", [])]),
    ("docstring", '"""\nimport own.x\n"""\n', []),
    ("comment", "# import own.x\n", []),
    (
        "never at run time",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import own.x\n",
        [("typing", ["TYPE_CHECKING"])],
    ),
]
TEXTS = [
    ("given to an import", "import_module('own.x')\n", ["own.x"]),
    ("relative", "importlib.import_module('.x', __package__)\n", [".x"]),
    ("a table of names to import", "for name in ['own.x', 'own.y']:\n    import_module(name)\n", ["own.x", "own.y"]),
    ("a table nobody imports", "names = ['own.x']\n", []),
    ("a quoted name", "print('own.x')\n", []),
]


@pytest.mark.parametrize(("name", "source", "expected"), IMPORTS, ids=[row[0] for row in IMPORTS])
def test_imports_are_statements(name: str, source: str, expected: list[tuple[str, list[str]]]) -> None:
    found = parse_facts(source.encode()).imports
    assert [(item.module, [pair[0] for pair in item.names]) for item in found] == expected


@pytest.mark.parametrize(("name", "source", "expected"), TEXTS, ids=[row[0] for row in TEXTS])
def test_names_imported_by_text(name: str, source: str, expected: list[str]) -> None:
    assert [text for _, text in parse_facts(source.encode()).imported_texts] == expected


def test_words_are_those_of_the_code() -> None:
    found = parse_facts(b'"""docstring_word"""\nused = other.attribute(key=1)  # comment_word\nprint("text_word")\n')
    assert {"used", "other", "attribute", "key", "print"} <= found.words
    assert not {"docstring_word", "comment_word", "text_word"} & found.words


def test_attributes_given_as_text_are_kept() -> None:
    assert "kept_forward" in parse_facts(b'old = getattr(stash, "kept_forward")\n').attributes


def test_writes_tell_root_and_attribute() -> None:
    found = parse_facts(
        b"import m\nm.a.f = new\ndel m.g\ntype(x).h = 1\nself.y = 2\nm.t['k'] = v\nsetattr(m.a, 's', v)\n"
    )
    assert {(item.root, item.last, item.plain) for item in found.writes} == {
        ("m", "f", False),
        ("m", "g", False),
        ("call:type", "h", True),
        ("self", "y", True),
        ("m", "", False),
        ("m", "s", False),
    }


def test_what_is_no_python_has_no_facts() -> None:
    assert encode_facts(b"def f(:\n").startswith('"')
    assert parse_facts(b"def f(:\n") == Facts()


def test_what_is_handed_on_is_told_by_its_own_name() -> None:
    text = b"from .b import Own as Block, Other\n\n\ndef make(spec):\n    spec.part = Block\n    return Other(1), Block(2)\n"
    assert {"Own", "()=Own", "()=Other"} <= set(list_handed(json.loads(encode_facts(text))))
