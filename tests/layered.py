"""The smallest layered project: one upstream, one downstream that pins it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from histories import History


@dataclass
class Layered:
    upstream: History
    downstream: History
    root: Path
    """Where layline.toml stands: beside both, outside their work trees."""

    @property
    def pin(self) -> str:
        return self.upstream.commits[1]

    @property
    def tip(self) -> str:
        return self.upstream.commits[-1]


CONFIG = """\
[project]
name = "harbour"
git = "downstream"

[backends.keel]
label = "Keel"
path = "third_party/keel"
upstream = "https://example.org/keel"
objects = "upstream"
"""


def make_layered(root: Path) -> Layered:
    """Four upstream commits, pinned at the second; the tip renames a module and bumps the version."""
    upstream = History.start(root / "upstream")
    upstream.commit("Begin", {"pyproject.toml": '[project]\nname = "keel"\nversion = "1.0"\n', "keel/__init__.py": ""})
    upstream.commit("Add run (#2)", {"keel/run.py": "def run(x):\n    return x\n" * 20})
    upstream.git("tag", "v1.0")
    upstream.commit("Move run (#3)", {"keel/run.py": None, "keel/engine.py": "def run(x):\n    return x\n" * 20})
    upstream.commit(
        "Release (#4)", {"pyproject.toml": '[project]\nname = "keel"\nversion = "1.1"\n', "image.bin": b"\0\1\2" * 99}
    )
    downstream = History.start(root / "downstream")
    downstream.gitlink("third_party/keel", upstream.commits[1])
    downstream.commit(
        "Layer over keel",
        {
            ".gitmodules": '[submodule "keel"]\n\tpath = third_party/keel\n\turl = https://example.org/keel.git\n',
            "harbour/backends/keel/__init__.py": "import keel.run\n",
        },
    )
    (root / "layline.toml").write_text(CONFIG)
    return Layered(upstream, downstream, root)
