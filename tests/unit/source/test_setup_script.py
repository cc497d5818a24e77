"""One reader of setup.py for names, dependencies and hand-offs."""

from __future__ import annotations

import pytest

from layline.source.setup_script import parse_setup_script, read_setup_name

NAMES = [
    ("from setuptools import setup\nsetup(name='keel')\n", "keel"),
    ("import setuptools\nsetuptools.setup(ext_modules=[Extension(name='core')], name='keel')\n", "keel"),
    ("NAME = 'keel'\nsetup(name=NAME)\n", "keel"),
    ("setup(**dict(name='keel'))\n", "keel"),
    ("FIELDS = {'name': 'keel', 'version': '1'}\nsetup(**FIELDS)\n", "keel"),
    ("setup(name='ke' + 'el')\n", None),
    ("setup(version='1')\n", None),
    ("Extension(name='core')\n", None),
    ("setup(name='keel'\n", None),
]


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_the_name_of_a_distribution(text: str, name: str | None) -> None:
    assert read_setup_name(text) == name


def test_a_name_of_the_file_is_followed_once() -> None:
    script = parse_setup_script("NEEDS = ['a']\nsetup(install_requires=NEEDS)\n")
    assert [keyword.arg for keyword in script.keywords] == ["install_requires"]
    assert script.look_up(script.keywords[0].value) is script.names["NEEDS"]
