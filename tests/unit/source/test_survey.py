from __future__ import annotations

from pathlib import Path

import pytest

from histories import History
from layline.git import open_repository
from layline.source import survey
from layline.source.tree import Tree

GITMODULES = """\
# [submodule "commented"]
[submodule "third_party/keel"]
\tpath = third_party/keel/
\turl = git@github.com:loft/Keel-LM.git
\tbranch = release/1.0
[submodule "half"]
\tpath = half
[submodule "b"]
  url = "https://example.org/b.git"
  path = b
"""


def test_gitmodules_are_read_as_text() -> None:
    found = [(item.path, survey.to_https(item.url), item.branch) for item in survey.parse_gitmodules(GITMODULES)]
    assert found == [
        ("third_party/keel", "https://github.com/loft/Keel-LM", "release/1.0"),
        ("b", "https://example.org/b", None),
    ]


ADDRESSES = [
    ("https://github.com/a/b.git", "https://github.com/a/b"),
    ("ssh://git@host.org/a/b.git", "https://host.org/a/b"),
    ("git@host.org:a/b", "https://host.org/a/b"),
    ("../relative.git", None),
    ("file:///local", None),
    ("http://plain.org/a", None),
]


@pytest.mark.parametrize(("url", "expected"), ADDRESSES)
def test_addresses_become_https(url: str, expected: str | None) -> None:
    assert survey.to_https(url) == expected


def _tree(tmp_path: Path, *paths: str) -> Tree:
    history = History.start(tmp_path / "r")
    commit = history.commit("one", dict.fromkeys(paths, "x = 1\n"))
    return Tree(open_repository(history.path), commit)


def test_integration_folders_stand_side_by_side(tmp_path: Path) -> None:
    tree = _tree(
        tmp_path,
        "ours/backends/megatron/a.py",
        "ours/backends/megatron/models/mamba/b.py",
        "ours/backends/megatron_bridge/c.py",
        "ours/backends/nemo_automodel/d.py",
        "tests/backends/mamba/e.py",
    )
    found = survey.match_integration(tree, ["Megatron-LM", "Megatron-Bridge", "Automodel", "mamba"])
    assert found == {
        "Megatron-LM": "ours/backends/megatron",
        "Megatron-Bridge": "ours/backends/megatron_bridge",
        "Automodel": "ours/backends/nemo_automodel",
    }


def test_packages_of_a_tree_with_a_namespace(tmp_path: Path) -> None:
    tree = _tree(
        tmp_path,
        "mega/core/__init__.py",
        "mega/core/deep/x.py",
        "mega/training/__init__.py",
        "pretrain.py",
        "setup.py",
        "tests/x.py",
        "src/inner/__init__.py",
        "docs/conf.py",
    )
    assert survey.find_packages(tree) == ["inner", "mega.core", "mega.training", "pretrain"]


def test_patch_folders_are_the_topmost(tmp_path: Path) -> None:
    tree = _tree(tmp_path, "b/patches/moe_patches/x.py", "b/patches/y.py", "b/core/patch/z.py", "b/dispatch/w.py")
    assert survey.find_patch_folders(tree, "b") == ["b/core/patch", "b/patches"]
