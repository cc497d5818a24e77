"""One file of ours against two commits of a little upstream, judged."""

from __future__ import annotations

from pathlib import Path

from histories import History
from layline.change.compare import Comparer
from layline.change.options.read import read_options
from layline.change.trace import Tracer
from layline.core.evidence import Location
from layline.coupling.decide import RefKnowledge
from layline.coupling.flags import settle_flags
from layline.coupling.judge import Judge
from layline.coupling.model import Coupling, breaks_first
from layline.coupling.own_uses import read_uses
from layline.coupling.reading import Finder
from layline.coupling.version_guards import Running, VersionGuards
from layline.gap.surface.compare import compare_surface
from layline.git import open_repository
from layline.interpreter.modules import Modules
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver

PACKAGES = ("keel",)
RUN = "def run(x, y=1):\n    total = x + y\n    for step in range(total):\n        total += step\n    return total\n"


def couple(
    tmp_path: Path,
    ours: str,
    before: dict[str, str],
    after: dict[str, str | None],
    owned: frozenset[tuple[Location, str]] = frozenset(),
    steps: dict[str, dict[str, str]] | None = None,
    earlier: dict[str, str] | None = None,
) -> list[Coupling]:
    """Our one file against two commits of keel; with the commits in between, who did it is asked, too. `earlier`: what
    a commit before the pin had.
    """
    upstream = History.start(tmp_path / "up")
    if earlier is not None:
        upstream.commit("earlier", {"keel/__init__.py": "", **earlier})
    pin = upstream.commit("pin", {"keel/__init__.py": "", **before})
    for subject, files in (steps or {}).items():
        upstream.commit(subject, {**files})
    tip = upstream.commit("tip", dict(after))
    downstream = History.start(tmp_path / "down")
    commit = downstream.commit("ours", {"harbour/keel.py": ours})
    repository = open_repository(upstream.path)
    parts = [Part(tree=Tree(repository, one), packages=PACKAGES) for one in (pin, tip)]
    resolvers = [Resolver(build_index([part])) for part in parts]
    comparer = Comparer(resolvers[0], resolvers[1], [Tracer(repository, pin, tip)] if steps else ())
    options = [read_options(resolver, PACKAGES) for resolver in resolvers]
    surface = compare_surface(comparer, PACKAGES, *options)
    both = build_index([Part(tree=Tree(open_repository(downstream.path), commit)), parts[0]])
    uses, _ = read_uses(both, PACKAGES, None)
    ground = RefKnowledge(comparer=comparer, packages=PACKAGES, versions=("1.0", "2.0"), keys={})
    running = Running(VersionGuards(Modules(both.parts[0].tree)), ground)
    places = Finder(index=both, packages=PACKAGES, uses=uses).find_places()
    judged = tuple(sorted(Judge(comparer, running, owned).find_couplings(places), key=breaks_first))
    return list(settle_flags(judged, {row.name: row for row in surface.flags}, frozenset(options[0].flags)))
