"""One upstream and one downstream whose files are the cases of a table: judged once for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from histories import History
from layline.workspace.open import Workspace, open_workspace

CONFIG = """\
[project]
name = "own"
git = "down"

[backends.keel]
label = "Keel"
path = "third_party/keel"
objects = "up"
packages = ["keel"]
configs = ["conf"]
ref = "main"
"""


@dataclass(frozen=True)
class Project:
    root: Path
    upstream: History
    downstream: History

    def open(self, at: str = "HEAD") -> Workspace:
        return open_workspace(self.root / "layline.toml", at=at)


Files = dict[str, str | bytes | None]


def make_project(root: Path, steps: list[tuple[str, Files]], ours: Files) -> Project:
    """Upstream commits (subject, files), pinned at the first; the downstream holds `ours`."""
    upstream = History.start(root / "up")
    for number, (subject, files) in enumerate(steps):
        upstream.commit(subject, {**({"keel/__init__.py": ""} if not number else {}), **files})
    downstream = History.start(root / "down")
    downstream.gitlink("third_party/keel", upstream.commits[0])
    modules = '[submodule "keel"]\n\tpath = third_party/keel\n\turl = https://example.org/keel.git\n'
    downstream.commit("Layer over keel", {".gitmodules": modules, "own/__init__.py": "", **ours})
    (root / "layline.toml").write_text(CONFIG)
    return Project(root, upstream, downstream)
