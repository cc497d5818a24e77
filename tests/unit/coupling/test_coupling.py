"""Couplings judged on real little histories: what our code does, what upstream did, what that does to us."""

from __future__ import annotations

from pathlib import Path

import pytest

from coupled import PACKAGES, RUN, couple
from drift_rows import drift_row
from histories import History
from layline.change.binding import CallShape
from layline.change.compare import Comparer
from layline.change.surface import SurfaceChange, SurfaceRow
from layline.change.trace import Tracer
from layline.core.evidence import Location
from layline.core.why import Reason
from layline.coupling.agree import agree_on_patches, find_owned
from layline.coupling.crossed import find_crossed
from layline.coupling.drift_model import Drift
from layline.coupling.flags import settle_flags
from layline.coupling.judge import Judge
from layline.coupling.model import FLAG, Consequence, Coupling, State, Touch
from layline.coupling.own_keys import find_own_keys
from layline.coupling.place import Place
from layline.coupling.removals import name_removal
from layline.coupling.unreached import drop_reached
from layline.git import open_repository
from layline.history.commits import read_commits
from layline.source import Part, Tree, build_index
from layline.source.resolve import Resolver

START = "class Job:\n    def name(self):\n        return [1, 2, 3]\n\n\ndef start(job: Job):\n    return job.name\n"
OLDER = "        if Version(keel.__version__) < Version('0.5'):\n            from keel.run import run\n"
SHIP = "from hub import lenient, renames\n\n\nclass Ship:\n    def __init__(self, x=1):\n        self.x = x\n"
TAKES_Z: dict[str, str | None] = {"keel/run.py": RUN.replace("y=1", "z=1")}
REFUSED = [("calls", "keel.run.run", "no longer binds", "will break")]
MAST = {"keel/run.py": "class Mast:\n    def lift(self, x):\n        return x\n"}
TALLER: dict[str, str | None] = {"keel/run.py": "class Mast:\n    def lift(self, z):\n        return z\n"}
HOLDS = "class Ours:\n    def __init__(self):\n        self.mast = Mast()\n    def go(self):\n"
CASES = [
    (
        "by names that a tuple gives",
        "from keel.run import run\n\n\ndef go(x):\n    step, size = run, 1\n    return step(x, y=2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "z=1")},
        [("calls", "keel.run.run", "no longer binds", "will break")],
    ),
    (
        "by names that a tuple gives and another one exchanges",
        "from keel.run import run\n\n\ndef go(x):\n    step, size = run, 1\n    step, size = size, step\n    step(x, y=2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "z=1")},
        [],
    ),
    # (what it shows, our code, pin, tip, [(touch, target, state, consequence)] beyond "ok")
    ("unchanged", "from keel.run import run\nrun(1)\n", {"keel/run.py": RUN}, {"x.py": ""}, []),
    (
        "missing at both",
        "from keel.run import walk\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [("imports the name", "keel.run.walk", "missing already", "look at")],
    ),
    (
        "a name that only a run makes, and whose module is gone",
        "from keel.run import fast\n",
        {"keel/run.py": "from hub import *\n", "keel/other.py": "x = 1\n"},
        {"keel/run.py": None},
        [("imports the name", "keel.run.fast", "removed", "will break")],
    ),
    (
        "read of a module, missing at both, once for all lines",
        "from keel import run\n\n\ndef go():\n    run.walk(1)\n    return run.walk(2)\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [("calls", "keel.run.walk", "missing already", "look at")],
    ),
    (
        "read of a module, missing at both, and asked for",
        "from keel import run\n\n\ndef go():\n    return run.walk(1) if hasattr(run, 'walk') else 1\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "read of a module into which the file puts the name",
        "from keel import run\n\nrun.walk = print\n\n\ndef go():\n    return run.walk(1)\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "read of a module that makes its names",
        "from keel import run\n\n\ndef go():\n    return run.walk(1)\n",
        {"keel/run.py": RUN + "\n\ndef __getattr__(name):\n    return 1\n"},
        {"x.py": ""},
        [],
    ),
    (
        "read of a package",
        "import keel\n\n\ndef go():\n    return keel.walk(1)\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "missing at both, and caught",
        "try:\n    from keel.run import walk\nexcept ImportError:\n    walk = None\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "missing at both, and caught by one or the other",
        "try:\n    from keel.run import walk\nexcept ImportError or ModuleNotFoundError:\n    walk = None\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "missing at both, chosen by a test that nobody can decide",
        "if odd():\n    from keel.run import walk\nelse:\n    walk = None\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "missing at both, in code that a test only leads to",
        "def f(jobs):\n    if jobs:\n        for job in jobs:\n            from keel.run import walk\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [("imports the name", "keel.run.walk", "missing already", "look at")],
    ),
    ("missing at both, below a package", "from keel import fast\n", {"keel/run.py": RUN}, {"x.py": ""}, []),
    (
        "a module that is loaded by its name",
        "from importlib import import_module\n\n\ndef f():\n    return import_module('keel.run')\n",
        {"keel/run.py": RUN},
        {"keel/run.py": None, "keel/other.py": ""},
        [("imports the module", "keel.run", "removed", "will break")],
    ),
    (
        "a module that is loaded by its name, and caught",
        "import importlib\ntry:\n    run = importlib.import_module('keel.run')\nexcept ImportError:\n    run = None\n",
        {"keel/run.py": RUN},
        {"keel/run.py": None, "keel/other.py": ""},
        [("imports the module", "keel.run", "removed", "may break")],
    ),
    (
        "a module whose name is made",
        "from importlib import import_module\n\n\ndef f(x):\n    return import_module(f'keel.{x}')\n",
        {"keel/run.py": RUN},
        {"keel/run.py": None, "keel/other.py": ""},
        [],
    ),
    (
        "missing with the package it is said to be in",
        "from keel.decks.upper import sail\n",
        {"keel/run.py": RUN},
        {"keel/other.py": ""},
        [("imports the name", "keel.decks.upper.sail", "missing already", "look at")],
    ),
    (
        "missing, though upstream's own code has the word: it may be compiled",
        "from keel.decks.upper import sail\n",
        {"keel/run.py": f"import keel.decks\n{RUN}"},
        {"keel/other.py": ""},
        [],
    ),
    (
        "missing from a module that never was, and defined elsewhere",
        "from keel.decks import run\n",
        {"keel/run.py": RUN},
        {"keel/other.py": ""},
        [("imports the name", "keel.decks.run", "missing already", "look at")],
    ),
    (
        "missing from a module that never was, and that upstream's own code imports",
        "from keel.decks import run\n",
        {"keel/run.py": RUN, "keel/use.py": "from keel.decks import run\n"},
        {"keel/other.py": ""},
        [],
    ),
    (
        "missing from a module that never was, and defined nowhere",
        "from keel.decks import walk\n",
        {"keel/run.py": RUN},
        {"keel/other.py": ""},
        [],
    ),
    (
        "missing until the tip",
        "from keel.run import walk\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "walk = 1\n"},
        [("imports the name", "keel.run.walk", "too new", "look at")],
    ),
    (
        "missing until the tip, with its module",
        "def f():\n    from keel.walk import walk\n",
        {"keel/run.py": RUN},
        {"keel/walk.py": "walk = 1\n"},
        [("imports the name", "keel.walk.walk", "too new", "look at")],
    ),
    (
        "missing until the tip, in a script that installs upstream for itself",
        '# /// script\n# dependencies = [\n#     "keel @ git+https://example.org/keel",\n# ]\n# ///\nfrom keel.run import walk\n',
        {"keel/run.py": RUN},
        {"keel/run.py": "walk = 1\n"},
        [],
    ),
    (
        "missing until the tip, in a script that installs something else",
        '# /// script\n# dependencies = ["keels"]\n# ///\nfrom keel.run import walk\n',
        {"keel/run.py": RUN},
        {"keel/run.py": "walk = 1\n"},
        [("imports the name", "keel.run.walk", "too new", "look at")],
    ),
    (
        "missing until the tip, and caught",
        "try:\n    from keel.run import walk\nexcept ImportError:\n    walk = None\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "walk = 1\n"},
        [],
    ),
    (
        "missing until the tip, chosen by a test that nobody can decide",
        "if odd():\n    from keel.run import walk\nelse:\n    walk = None\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "walk = 1\n"},
        [],
    ),
    (
        "missing at both, behind a version that neither has",
        "import keel\nfrom packaging.version import Version\n\n\ndef f():\n    if True:\n"
        + OLDER.replace("keel.run import run", "keel.run import walk"),
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "as many values as its annotation says",
        "from keel.run import pair\na, b = pair(1)\n",
        {"keel/run.py": "def pair(x) -> tuple[int, int]:\n    return make(x)\n"},
        {"keel/run.py": "def pair(x) -> Tuple[int, int, int]:\n    return make(x)\n"},
        [("calls", "keel.run.pair", "no longer binds", "will break")],
    ),
    (
        "as many values as nobody knows",
        "from keel.run import pair\na, b = pair(1)\n",
        {"keel/run.py": "def pair(x) -> tuple[int, int]:\n    return make(x)\n"},
        {"keel/run.py": "def pair(x) -> tuple[int, ...]:\n    return make(x)\n"},
        [],
    ),
    ("by another name", "from keel.run import run\ngo = run\ngo(1, y=2)\n", {"keel/run.py": RUN}, TAKES_Z, REFUSED),
    (
        "by another name, of what is gone: told where the name is given",
        "import keel.run\ndef f():\n    go = keel.run.run\n    return go(1, y=2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("reads the attribute", "keel.run.run", "removed", "will break")],
    ),
    (
        "by another name, in a function",
        "from keel.run import run\ndef f():\n    go = run\n    return go(1, y=2)\n",
        {"keel/run.py": RUN},
        TAKES_Z,
        REFUSED,
    ),
    (
        "by a name that stands for one of two",
        "from keel.run import run\ndef f(x):\n    go = run if x else print\n    return go(1, y=2)\n",
        {"keel/run.py": RUN},
        TAKES_Z,
        [("calls", "keel.run.run", "no longer binds", "may break")],
    ),
    (
        "by a name that is given twice",
        "from keel.run import run\ndef f():\n    go = run\n    go = print\n    return go(1, y=2)\n",
        {"keel/run.py": RUN},
        TAKES_Z,
        [],
    ),
    (
        "by a name that is another one in the function",
        "from keel.run import run\ngo = run\ndef f(all):\n    for go in all:\n        go(1, y=2)\n",
        {"keel/run.py": RUN},
        TAKES_Z,
        [],
    ),
    (
        "a part of a call",
        "from functools import partial\nfrom keel.run import run\ngo = partial(run, y=2)\n",
        {"keel/run.py": RUN},
        TAKES_Z,
        REFUSED,
    ),
    (
        "a part of a call that leaves the rest to others",
        "from functools import partial\nfrom keel.run import run\ngo = partial(run, z=2)\n",
        {"keel/run.py": RUN.replace("y=1", "z=1")},
        {"keel/run.py": RUN.replace("y=1", "w, z=1")},
        [],
    ),
    (
        "a method of what an attribute holds",
        f"from keel.run import Mast\n{HOLDS}        self.mast.lift(x=1)\n",
        MAST,
        TALLER,
        [("calls", "keel.run.Mast.lift", "no longer binds", "will break")],
    ),
    (
        "a method of what an attribute holds that another line sets too",
        f"from keel.run import Mast\n{HOLDS}        self.mast = 1\n        self.mast.lift(x=1)\n",
        MAST,
        TALLER,
        [],
    ),
    (
        "a method of a variable",
        "from keel.run import Mast\ndef f():\n    mast = Mast()\n    mast.lift(x=1)\n",
        MAST,
        TALLER,
        [("calls", "keel.run.Mast.lift", "no longer binds", "will break")],
    ),
    (
        "a method of a parameter that all callers give in the same way",
        "from keel.run import Mast\ndef f(mast):\n    mast.lift(x=1)\ndef g():\n    one = Mast()\n    f(one)\n    f(Mast())\n",
        MAST,
        TALLER,
        [("calls", "keel.run.Mast.lift", "no longer binds", "may break")],
    ),
    (
        "a method of a parameter that somebody else may give",
        "from keel.run import Mast\ndef f(mast):\n    mast.lift(x=1)\ndef g(y):\n    f(Mast())\n    return f\n",
        MAST,
        TALLER,
        [],
    ),
    (
        "a method of a parameter",
        "from keel.run import Mast\ndef f(mast: Mast):\n    mast.lift(x=1)\n",
        MAST,
        TALLER,
        [("calls", "keel.run.Mast.lift", "no longer binds", "will break")],
    ),
    (
        "a method of a parameter, which may be of a class below with one of its own",
        "from keel.run import Mast\ndef f(mast: Mast):\n    mast.lift(x=1)\n",
        {**MAST, "keel/tall.py": "from keel import run\nclass Tall(run.Mast):\n    def lift(self, x): ...\n"},
        TALLER,
        [("calls", "keel.run.Mast.lift", "no longer binds", "may break")],
    ),
    (
        "removed",
        "from keel.run import run\nrun(1)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("imports the name", "keel.run.run", "removed", "will break")],
    ),
    (
        "moved",
        "from keel.run import run\n",
        {"keel/run.py": RUN},
        {"keel/run.py": None, "keel/engine.py": RUN},
        [("imports the name", "keel.run.run", "moved", "will break")],
    ),
    (
        "only no longer re-exported",
        "from keel.run import run\n",
        {"keel/run.py": "from keel.engine import run\n", "keel/engine.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("imports the name", "keel.run.run", "no longer re-exported", "will break")],
    ),
    (
        "re-exported by a module that is gone",
        "from keel.run import run\n",
        {"keel/run.py": "from keel.engine import run\n", "keel/engine.py": RUN},
        {"keel/run.py": None},
        [("imports the name", "keel.run.run", "moved", "will break")],
    ),
    (
        "moved under another name",
        "from keel import run\n",
        {"keel/__init__.py": "from keel.run import run\n", "keel/run.py": RUN},
        {"keel/__init__.py": "", "keel/run.py": None, "keel/engine.py": RUN.replace("def run", "def drive")},
        [("imports the name", "keel.run", "renamed", "will break")],
    ),
    (
        "moved, re-exported",
        "from keel.run import run\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "from keel.engine import run\n", "keel/engine.py": RUN},
        [("imports the name", "keel.run.run", "moved", "look at")],
    ),
    (
        "guarded import",
        "try:\n    from keel.run import run\nexcept ImportError:\n    run = None\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("imports the name", "keel.run.run", "removed", "may break")],
    ),
    (
        "an import that other versions make",
        (
            "import keel\nfrom packaging.version import parse\nif parse(keel.__version__) < parse('2.0'):\n"
            "    from keel.run import run\n    run(1)\nelse:\n    run = None\n"
        ),
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [
            ("imports the name", "keel.run.run", "removed", "look at"),
            ("calls", "keel.run.run", "removed", "look at"),
        ],
    ),
    (
        "a call that no version compared here makes",
        (
            "import keel.run\nfrom packaging.version import parse\nif parse(keel.__version__) < parse('0.5'):\n"
            "    keel.run.run(1, z=2)\nkeel.run.run(1)\n"
        ),
        {"keel/run.py": RUN.replace("y=1", "y=1, z=1")},
        {"keel/run.py": RUN},
        [],
    ),
    (
        "type checking only",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from keel.run import run\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("imports the name", "keel.run.run", "removed", "look at")],
    ),
    (
        "a member of a value, imported for type checking only, whose class moved",
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from keel.run import Mast\n\n"
            "def f(x):\n    mast: Mast = x\n    return mast.lift\n"
        ),
        MAST,
        {"keel/run.py": None, "keel/tall.py": MAST["keel/run.py"]},
        [("imports the name", "keel.run.Mast", "moved", "look at")],
    ),
    (
        "module attribute",
        "import keel.run as r\n\ndef go():\n    return r.run\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("reads the attribute", "keel.run.run", "removed", "will break")],
    ),
    (
        "assigned attribute",
        "import keel.run as r\n\ndef go():\n    r.run = print\n    r.ours = 1\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("patches", "keel.run.run", "removed", "will break")],
    ),
    (
        "assigned attribute whose body changed",
        "import keel.run as r\nr.run = print\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("+=", "-=")},
        [("patches", "keel.run.run", "body changed", "look at")],
    ),
    (
        "enum member",
        "from keel.kinds import Kind\nx = Kind.BOTH\n",
        {"keel/kinds.py": "class Kind:\n    ONE = 1\n    BOTH = 2\n"},
        {"keel/kinds.py": "class Kind:\n    ONE = 1\n"},
        [("reads the attribute", "keel.kinds.Kind.BOTH", "removed", "will break")],
    ),
    (
        "keyword gone",
        "from keel.run import run\nrun(1, y=2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "z=1").replace("+ y", "+ z")},
        [("calls", "keel.run.run", "no longer binds", "will break")],
    ),
    (
        "new required parameter",
        "from keel.run import run\nrun(1)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("x, y=1", "x, group, y=1")},
        [("calls", "keel.run.run", "no longer binds", "will break")],
    ),
    (
        "new optional parameter",
        "from keel.run import run\nrun(1)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "y=1, name=None")},
        [],
    ),
    (
        "stars hide",
        "from keel.run import run\nrun(*a, **b)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("x, y=1", "x, group, y=1")},
        [],
    ),
    (
        "positional arguments that land elsewhere",
        "from keel.run import run\nrun(1, 2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("x, y=1", "x, group=None, y=1")},
        [("calls", "keel.run.run", "no longer binds", "will break")],
    ),
    (
        "made for a class that is gone",
        "from keel.run import start\nstart(make())\n",
        {"keel/run.py": START},
        {"keel/run.py": "class Plan:\n    steps: int = 1\n\n\ndef start(plan: Plan):\n    return plan.steps\n"},
        [("calls", "keel.run.start", "no longer binds", "will break")],
    ),
    (
        "a class below the one that is gone is asked for now",
        "from keel.run import start\nstart(make())\n",
        {"keel/run.py": f"{START}\n\nclass Night(Job):\n    steps = 2\n"},
        {"keel/run.py": "class Night:\n    steps = 2\n\n\ndef start(job: Night):\n    return job.name\n"},
        [],
    ),
    (
        "the class stays where it was",
        "from keel.run import start\nstart(make())\n",
        {"keel/run.py": START},
        {"keel/run.py": START.replace("job: Job", "plan: Job").replace("job.name", "plan.name")},
        [],
    ),
    (
        "a positional parameter that only has another name",
        "from keel.run import run\nrun(1, 2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "z=1").replace("+ y", "+ z")},
        [],
    ),
    (
        "a class became a function, called as before",
        "from keel.run import Run\nRun(1, 2)\n",
        {"keel/run.py": "class Run:\n    def __init__(self, x, y):\n        self.x = x\n"},
        {"keel/run.py": "def Run(x, y):\n    return x + y\n"},
        [("imports the name", "keel.run.Run", "signature changed", "may break")],
    ),
    (
        "a class became a function with its arguments in another order",
        "from keel.run import Run\nRun(1, 2)\n",
        {"keel/run.py": "class Run:\n    def __init__(self, x, y):\n        self.x = x\n"},
        {"keel/run.py": "def Run(y, x):\n    return x + y\n"},
        [
            ("calls", "keel.run.Run", "no longer binds", "will break"),
            ("imports the name", "keel.run.Run", "signature changed", "may break"),
        ],
    ),
    *(
        (
            shows,
            "from keel.conf import Conf\nConf(pad=1)\n",
            {"keel/conf.py": "class Conf:\n    def __init__(self, pad=0):\n        self.pad = pad\n"},
            {"keel/conf.py": f"from dataclasses import dataclass\n{head}@dataclass\nclass Conf:\n    size: int = 1\n"},
            [("calls", "keel.conf.Conf", "no longer binds", "will break")] if breaks else [],
        )
        for shows, head, breaks in (
            ("a dataclass does not take another keyword", "", True),
            ("a decorator from outside may let it through", "from hub import strict\n@strict(more=True)\n", False),
            (
                "a decorator replaces what makes objects",
                "def let(c):\n    c.__init__ = print\n    return c\n@let\n",
                False,
            ),
            (
                "a decorator notes the class",
                "KNOWN = []\ndef note(c):\n    KNOWN.append(c)\n    return c\n@note\n",
                True,
            ),
        )
    ),
    *(
        (
            shows,
            f"from keel.conf import Conf\ndef go(conf: Conf):\n{body}",
            {"keel/conf.py": "class Conf:\n    seed = 1\n    size = 1\n"},
            {"keel/conf.py": "class Conf:\n    size = 1\n"},
            [("reads the config field", "keel.conf.Conf.seed", "removed", consequence)],
        )
        for shows, body, consequence in (
            ("a plain read", "    return conf.seed\n", "will break"),
            (
                "leaves first where it is missing",
                "    if not hasattr(conf, 'seed'):\n        return 1\n    return conf.seed\n",
                "may break",
            ),
            ("asks in one line", "    return hasattr(conf, 'seed') and conf.seed\n", "may break"),
            (
                "asks with a default",
                "    if getattr(conf, 'seed', None) is None:\n        return 1\n    return conf.seed\n",
                "may break",
            ),
            (
                "asks for another name",
                "    if not hasattr(conf, 'size'):\n        return 1\n    return conf.seed\n",
                "will break",
            ),
        )
    ),
    *(
        (
            shows,
            "from keel.table import register\nregister(1, 2)\n",
            {
                "keel/table.py": f"def register(key, old=None, new=None):\n    if old:\n        {body}\n    return key, new\n"
            },
            {"keel/table.py": "def register(key, new=None):\n    return key, new\n"},
            expected,
        )
        for shows, body, expected in (
            ("the old body handed it on to where it lands now", "new = old", []),
            (
                "it lands in another parameter",
                "print(old)",
                [("calls", "keel.table.register", "no longer binds", "will break")],
            ),
        )
    ),
    (
        "a handler that raises again is no guard",
        "try:\n    from keel.run import run\nexcept ImportError as e:\n    raise ImportError('no run') from e\n",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [("imports the name", "keel.run.run", "removed", "will break")],
    ),
    (
        "not run at the version of the tip, which a block before it imports",
        f"def go(x):\n    if x:\n        import keel\n        from packaging.version import Version\n{OLDER}",
        {"keel/run.py": RUN},
        {"keel/run.py": "z = 1\n"},
        [],
    ),
    (
        "never bound",
        "from keel.run import run\nrun(1, wrong=2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "z=1")},
        [("calls", "keel.run.run", "fits neither pin nor tip", "look at")],
    ),
    (
        "never bound, and never run",
        "from typing import TYPE_CHECKING\nfrom keel import run as r\n\nif TYPE_CHECKING:\n    r.run(1, 2, 3)\n    r.gone\n",
        {"keel/run.py": RUN},
        {"x.py": ""},
        [],
    ),
    (
        "never bound, a method of upstream's class that ours inherits",
        "from keel.run import Mast\n\n\nclass Ours(Mast):\n    def go(self):\n        return self.lift(1, 2)\n",
        MAST,
        {"x.py": ""},
        [("calls", "keel.run.Mast.lift", "fits neither pin nor tip", "look at")],
    ),
    (
        "never bound, and a class of ours below has such a method",
        (
            "from keel.run import Mast\n\n\nclass Ours(Mast):\n    def go(self):\n        return self.lift(1, 2)\n\n\n"
            "class Low(Ours):\n    def lift(self, x, y):\n        return y\n"
        ),
        MAST,
        {"x.py": ""},
        [],
    ),
    (
        "a constructor's decorator took the name at the pin",
        "from keel.run import Ship\nShip(old=2)\n",
        {"keel/run.py": SHIP.replace("    def", "    @renames('old', new='x')\n    def")},
        {"keel/run.py": SHIP},
        [("calls", "keel.run.Ship", "no longer binds", "will break")],
    ),
    (
        "a constructor's decorator may have taken the name",
        "from keel.run import Ship\nShip(old=2)\n",
        {"keel/run.py": SHIP.replace("    def", "    @lenient\n    def")},
        {"keel/run.py": SHIP},
        [],
    ),
    (
        "never bound, and caught",
        "from keel.run import run\ntry:\n    run(1, wrong=2)\nexcept TypeError:\n    pass\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "z=1")},
        [],
    ),
    (
        "bound at the tip alone",
        "from keel.run import run\nrun(1, z=2)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "y=1, z=1")},
        [("calls", "keel.run.run", "too new", "look at")],
    ),
    (
        "bound at the tip alone, in another order",
        "from keel.run import run\n\n\ndef go(x, y, mast):\n    run(x, mast, y)\n",
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "y=1, mast=1")},
        [("calls", "keel.run.run", "fits neither pin nor tip", "look at")],
    ),
    (
        "bound at the tip alone, where the version is asked for",
        (
            "import keel\nfrom packaging.version import Version\nfrom keel.run import run\n"
            "if Version(keel.__version__) >= Version('1.5'):\n    run(1, z=2)\n"
        ),
        {"keel/run.py": RUN},
        {"keel/run.py": RUN.replace("y=1", "y=1, z=1")},
        [],
    ),
    (
        "a class that became a function, asked for by isinstance",
        (
            "from keel.run import Run\nfrom keel import run as m\n\n\ndef ask(x):\n    if isinstance(x, (int, Run)):\n        "
            "return 1\n    return issubclass(type(x), m.Run)\n"
        ),
        {"keel/run.py": "class Run:\n    def __init__(self, x):\n        self.x = x\n"},
        {"keel/run.py": "def Run(x):\n    return object()\n"},
        [
            ("reads the attribute", "keel.run.Run", "signature changed", "will break"),
            ("imports the name", "keel.run.Run", "signature changed", "may break"),
        ],
    ),
    (
        "a class that became a function, only called",
        "from keel.run import Run\n\n\ndef make(Run2):\n    return isinstance(Run2, int) and Run(1)\n",
        {"keel/run.py": "class Run:\n    def __init__(self, x):\n        self.x = x\n"},
        {"keel/run.py": "def Run(x):\n    return object()\n"},
        [("imports the name", "keel.run.Run", "signature changed", "may break")],
    ),
]


BOAT = "class Boat:\n    def __init__(self, x, y=1):\n        self.x = x\n"
SLIM = "class Hull:\n    def __init__(self, x):\n        self.x = x\n\n\n"
HANDS_ON = [
    # (what it shows, the tip's file, what of ours breaks)
    (
        "a constructor that hands on to the class above",
        SLIM
        + "class Boat(Hull):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n",
        ["no longer binds"],
    ),
    (
        "a class above that has two bases itself",
        "class Wood:\n    pass\n\n\nclass Tar:\n    pass\n\n\n"
        + SLIM.replace("Hull:", "Hull(Wood, Tar):")
        + "class Boat(Hull):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n",
        ["no longer binds"],
    ),
    (
        "a class with another base between",
        SLIM
        + "class Row(Hull):\n    def __init__(self, y, **kw):\n        super().__init__(**kw)\n\n\n"
        + "class Column(Hull):\n    def __init__(self, **kw):\n        super().__init__(**kw)\n\n\n"
        + "class Boat(Column, Row):\n    pass\n",
        [],
    ),
    (
        "a keyword that it takes out before",
        SLIM
        + "class Boat(Hull):\n    def __init__(self, **kw):\n        kw.pop('y', 1)\n        super().__init__(**kw)\n",
        [],
    ),
    (
        "a keyword that it takes itself and fills another with",
        SLIM.replace("x)", "z)").replace("= x", "= z")
        + "class Boat(Hull):\n    def __init__(self, x, y=1, **kw):\n        kw['z'] = x\n        super().__init__(**kw)\n",
        [],
    ),
    (
        "a way through that does not hand on",
        SLIM
        + "class Boat(Hull):\n    def __init__(self, **kw):\n        if 'y' in kw:\n            return\n        super().__init__(**kw)\n",
        [],
    ),
    (
        "keywords that go elsewhere as well",
        SLIM
        + "class Boat(Hull):\n    def __init__(self, **kw):\n        kw = filter(kw)\n        super().__init__(**kw)\n",
        [],
    ),
    (
        "a class above that takes anything",
        SLIM.replace("x)", "x, **more)")
        + "class Boat(Hull):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n",
        [],
    ),
    (
        "a plain function",
        "def make(x):\n    return x\n\n\ndef Boat(*a, **k):\n    return make(*a, **k)\n",
        ["no longer binds"],
    ),
    ("a function that nobody can read", "from hub import make\n\n\ndef Boat(*a, **k):\n    return make(*a, **k)\n", []),
]


@pytest.mark.parametrize(("tip", "states"), [case[1:] for case in HANDS_ON], ids=[case[0] for case in HANDS_ON])
def test_what_hands_its_stars_on_takes_what_the_other_takes(tmp_path: Path, tip: str, states: list[str]) -> None:
    ours = "from keel.boat import Boat\n\n\nBoat(x=1, y=2)\n"
    found = couple(tmp_path, ours, {"keel/boat.py": BOAT}, {"keel/boat.py": tip})
    assert [one.state.value for one in found if one.consequence.value == "will break"] == states


REFUSES = (
    "def refuses(*names):\n    def decorator(func):\n        def wrapper(*args, **kwargs):\n"
    "            if set(names) & set(kwargs.keys()):\n                raise TypeError\n"
    "            return func({})\n        return wrapper\n    return decorator\n"
)
DECORATED = [
    # (what it shows, what the decorator of the tip hands on, states)
    ("all of it", "*args, **kwargs", ["no longer binds"]),
    ("only a part", "*args[:1], **kwargs", []),
    ("more", "1, *args, **kwargs", []),
]


@pytest.mark.parametrize(("given", "states"), [case[1:] for case in DECORATED], ids=[case[0] for case in DECORATED])
def test_a_decorator_that_hands_all_on_keeps_the_signature(tmp_path: Path, given: str, states: list[str]) -> None:
    ours = (
        "from keel.boat import Boat\n\n\nclass Ours(Boat):\n    def __init__(self):\n        super().__init__(1, 2)\n"
    )
    tip = f"{REFUSES.format(given)}\n\nclass Boat:\n    @refuses('y')\n    def __init__(self, x):\n        self.x = x\n"
    found = couple(tmp_path, ours, {"keel/boat.py": BOAT}, {"keel/boat.py": tip})
    assert [one.state.value for one in found if one.consequence.value == "will break"] == states


MAKES = "class Base:\n    @classmethod\n    def make(cls, x):\n        return cls()\n"
BY_NAME = [
    # (what it shows, our class, upstream's at the tip, states)
    ("gone", "", "class Base:\n    pass\n", ["removed"]),
    ("needs more", "", MAKES.replace("x)", "x, y)"), ["no longer binds"]),
    ("as it was", "", MAKES + "\n\nx = 1\n", []),
    ("a method of our own", "    def make(self):\n        return 1\n", "class Base:\n    pass\n", []),
]


@pytest.mark.parametrize(("own", "tip", "states"), [case[1:] for case in BY_NAME], ids=[case[0] for case in BY_NAME])
def test_a_method_that_our_class_inherits_is_called_by_its_name(
    tmp_path: Path, own: str, tip: str, states: list[str]
) -> None:
    ours = f"from keel.base import Base\n\n\nclass Ours(Base):\n    size = 1\n{own}\n\ndef go():\n    return Ours.make(1)\n"
    found = couple(tmp_path, ours, {"keel/base.py": MAKES}, {"keel/base.py": tip})
    assert [one.state.value for one in found if one.consequence.value == "will break"] == states


LOOKS = "import inspect\nfrom keel.run import run\n{}\n\ndef go():\n    if {}:\n        return run(1, y=2)\n    return run(1)\n"
LOOKED_AT = [
    # (what it shows, a line of the file, the test, states that break)
    ("in the test", "", "'y' in inspect.signature(run).parameters", []),
    ("once for the file", "NAMES = inspect.signature(run).parameters\n", "'y' in NAMES", []),
    ("for another word", "", "'x' in inspect.signature(run).parameters", ["no longer binds"]),
    ("of another function", "", "'y' in inspect.signature(print).parameters", ["no longer binds"]),
    ("not at all", "", "ready", ["no longer binds"]),
]


@pytest.mark.parametrize(
    ("line", "test", "states"), [case[1:] for case in LOOKED_AT], ids=[case[0] for case in LOOKED_AT]
)
def test_a_call_of_what_our_code_looks_at_first_breaks_nothing(
    tmp_path: Path, line: str, test: str, states: list[str]
) -> None:
    tip = {"keel/run.py": RUN.replace("x, y=1", "x").replace("+ y", "+ 1")}
    found = couple(tmp_path, LOOKS.format(line, test), {"keel/run.py": RUN}, dict(tip))
    assert [one.state.value for one in found if one.consequence.value in {"will break", "may break"}] == states


AT_HOME = [
    # (what it shows, the function at its new home, what breaks)
    ("as it was", RUN, [("imports the name", None)]),
    ("and needs more there", RUN.replace("x, y=1", "x, z, y=1"), [("imports the name", None), ("calls", "needs z")]),
]


@pytest.mark.parametrize(("home", "expected"), [case[1:] for case in AT_HOME], ids=[case[0] for case in AT_HOME])
def test_a_call_behind_a_failing_import_is_held_against_the_new_home(
    tmp_path: Path, home: str, expected: list[tuple[str, str | None]]
) -> None:
    before = {"keel/run.py": "from keel.engine import run\n", "keel/engine.py": RUN}
    ours = "from keel.run import run\nrun(1)\n"
    found = couple(tmp_path, ours, before, {"keel/run.py": "x = 1\n", "keel/engine.py": home})
    broken = [one for one in found if one.consequence.value == "will break"]
    assert [(one.touch.value, one.new_target) for one in broken] == [(how, "keel.engine.run") for how, _ in expected]
    assert all(word is None or word in one.detail for one, (_, word) in zip(broken, expected, strict=True))


@pytest.mark.parametrize(
    ("ours", "before", "after", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_names_and_calls(
    tmp_path: Path, ours: str, before: dict[str, str], after: dict[str, str | None], expected: list[tuple[str, ...]]
) -> None:
    found = couple(tmp_path, ours, before, after)
    assert [
        (one.touch.value, one.target, one.state.value, one.consequence.value)
        for one in found
        if one.consequence.value != "ok"
    ] == expected


BASE = (
    "class Layer:\n    def __init__(self, size):\n        self.size = size\n\n    def forward(self, x, mask):\n "
    "       return x\n"
)
SUBCLASS = (
    "from keel.layer import Layer\n\nclass Ours(Layer):\n    def __init__(self, size):\n        "
    "super().__init__(size)\n\n    def forward(self, x, mask):\n        return x\n"
)


LINEAR = "class Linear:\n    def __init__(self, size, config, bias):\n        self.size = size\n"
NAMED = LINEAR.replace("bias):", "bias, name=None):")
SLOT = (
    "class Block:\n    def __init__(self, submodules, config):\n        self.proj = submodules.proj(4, "
    "config=config, bias=True, name='proj')\n"
)
BUILT = SLOT.replace("submodules.proj(4,", "build_module(submodules.proj, 4,")
OUR_LINEAR = (
    "from keel.layer import Linear\n\nclass Ours(Linear):\n    def __init__(self, size, config, bias):\n  "
    "      super().__init__(size, config, bias)\n"
)
PROVIDER = "\nclass Provider:\n    def linear(self):\n        return Ours\n"
SLOTS = [
    # (what it shows, our code, upstream's block at the tip, consequence)
    ("upstream builds what we hand it", OUR_LINEAR + PROVIDER, SLOT, "will break"),
    (
        "handed on through a check",
        OUR_LINEAR + PROVIDER.replace("return Ours", "return need(Ours, 'x') if self.turbo else Linear"),
        SLOT,
        "will break",
    ),
    (
        "only asked about",
        OUR_LINEAR + PROVIDER.replace("return Ours", "return isinstance(self, Ours)"),
        SLOT,
        "may break",
    ),
    ("through a builder", OUR_LINEAR + PROVIDER, BUILT, "will break"),
    ("our own code builds it", OUR_LINEAR + "\nOurs(1, 2, 3)\n", SLOT, "ok"),
    (
        "our own code builds it, and names it in a spec",
        OUR_LINEAR + "\nx = Spec(module=Ours)\nOurs(1, 2, 3)\n",
        SLOT,
        "ok",
    ),
    ("our own code builds it, and passes it on", OUR_LINEAR + PROVIDER + "\nOurs(1, 2, 3)\n", SLOT, "will break"),
    (
        "our own code builds it, and fills a slot",
        OUR_LINEAR + "\nx = Parts(proj=Ours)\nOurs(1, 2, 3)\n",
        SLOT,
        "will break",
    ),
    (
        "our own code has the spec built",
        OUR_LINEAR + "\ndef make():\n    x = Spec(module=Ours)\n    return build_module(x, 1, 2, 3)\n",
        SLOT.replace("submodules.proj(4,", "build_module(spec, 4,"),
        "ok",
    ),
    (
        "our own code has the spec built, and hands it on",
        OUR_LINEAR + "\ndef make():\n    x = Spec(module=Ours)\n    build_module(x, 1, 2, 3)\n    return x\n",
        SLOT.replace("submodules.proj(4,", "build_module(spec, 4,"),
        "will break",
    ),
    ("nothing of ours builds it", OUR_LINEAR, SLOT, "may break"),
    ("nobody passes it", OUR_LINEAR + PROVIDER, SLOT.replace(", name='proj'", ""), "ok"),
    ("a slot for something else", OUR_LINEAR + PROVIDER, SLOT.replace("bias=True", "heads=2"), "ok"),
]


@pytest.mark.parametrize(("ours", "block", "expected"), [row[1:] for row in SLOTS], ids=[row[0] for row in SLOTS])
def test_a_constructor_breaks_where_upstream_builds_our_class(
    tmp_path: Path, ours: str, block: str, expected: str
) -> None:
    found = couple(tmp_path, ours, {"keel/layer.py": LINEAR}, {"keel/layer.py": NAMED, "keel/block.py": block})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert (row.state.value, row.consequence.value) == ("cannot accept", expected)


def test_a_class_that_our_own_code_builds_gets_nothing_from_a_slot_today(tmp_path: Path) -> None:
    ours = OUR_LINEAR + "\nspec = Spec(module=Ours)\nOurs(1, 2, 3)\n"
    spec = "def make(spec):\n    return build_module(spec, 4, config=1, bias=True, name='proj')\n"
    found = couple(tmp_path, ours, {"keel/layer.py": NAMED, "keel/block.py": spec}, {"keel/x.py": ""})
    assert [one.consequence.value for one in found if one.touch.value == "overrides"] == ["ok"]


def test_what_upstream_passes_to_our_class_today_already_is_no_news(tmp_path: Path) -> None:
    group = (NAMED.replace("name=None", "name=None, group=None"), SLOT.replace("name='proj'", "name='proj', group=1"))
    before = {"keel/layer.py": NAMED, "keel/block.py": SLOT}
    found = couple(tmp_path, OUR_LINEAR + PROVIDER, before, {"keel/layer.py": group[0], "keel/block.py": group[1]})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert (row.consequence.value, row.culprit) == ("look at", None)
    assert row.detail.startswith("our override does not take name and group; upstream passes that to whichever")
    assert row.detail.endswith("already so at the pin: name")


def test_calls_that_did_not_fit_at_the_pin_are_told_where_they_stand_at_the_tip(tmp_path: Path) -> None:
    before = {"keel/layer.py": NAMED, "keel/block.py": SLOT}
    found = couple(tmp_path, OUR_LINEAR + PROVIDER, before, {"keel/block.py": f"import math\n{SLOT}"})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    line = 2 + next(number for number, text in enumerate(SLOT.splitlines()) if "submodules.proj(" in text)
    assert [place.line for why in row.why for place in why.places] == [line], row.detail


ATTENTION = "class Attention:\n    def forward(self, x, mask, heads):\n        return x\n"
RUNS = "class Block:\n    def forward(self, x):\n        return self.attention(x, mask=1, heads=2)\n"
OUR_ATTENTION = "from keel.layer import Attention\n\nclass Ours(Attention):\n    def forward(self, x, mask, heads):\n        return x\n"
CACHED = (ATTENTION.replace("heads)", "heads, cache=None)"), RUNS.replace("heads=2", "heads=2, cache=3"))
NAMES_IT = "\nspec = Parts(attention=Spec(module=Ours, params={}))\n"
KEEPS = "\nfrom keel.block import Block\nclass Keep{}:\n    def __init__(self):\n        self.attention = Ours()\n"
RUN_IN_SLOTS = [
    # (what it shows, what our file does with its class, pin, tip, consequence, the call of upstream's that is named)
    ("a spec in a slot that upstream runs", NAMES_IT, (ATTENTION, RUNS), CACHED, "will break", True),
    ("the class itself", "\nspec = Parts(attention=Ours)\n", (ATTENTION, RUNS), CACHED, "will break", True),
    (
        "through a call that hands it on",
        NAMES_IT,
        (ATTENTION, RUNS),
        (CACHED[0], CACHED[1].replace("self.attention(", "checked(self.attention)(")),
        "will break",
        True,
    ),
    ("another slot", NAMES_IT.replace("attention=", "other="), (ATTENTION, RUNS), CACHED, "ok", False),
    ("set in a spec", "\nspec.parts.attention.module = Ours\n", (ATTENTION, RUNS), CACHED, "will break", True),
    ("set in its slot", "\nspec.parts.attention = Ours\n", (ATTENTION, RUNS), CACHED, "will break", True),
    ("set in another spec", "\nspec.parts.other.module = Ours\n", (ATTENTION, RUNS), CACHED, "ok", False),
    ("nothing of ours", "", (ATTENTION, RUNS), CACHED, "may break", True),
    ("our own code builds it", "\nOurs().go()\n", (ATTENTION, RUNS), CACHED, "ok", False),
    ("and keeps it where upstream runs it", "\nx.attention = [Ours()]\n", (ATTENTION, RUNS), CACHED, "may break", True),
    ("and keeps it elsewhere", "\nx.other = Ours()\n", (ATTENTION, RUNS), CACHED, "ok", False),
    ("and keeps it in a class of its own", KEEPS.format(""), (ATTENTION, RUNS), CACHED, "ok", False),
    ("and keeps it below upstream's", KEEPS.format("(Block)"), (ATTENTION, RUNS), CACHED, "may break", True),
    ("a call that does not pass it", NAMES_IT, (ATTENTION, RUNS), (CACHED[0], RUNS), "ok", False),
    (
        "kept where upstream passed more already",
        "\nx.attention = [Ours()]\n",
        CACHED,
        (CACHED[0].replace("cache=None", "cache=None, fast=False"), CACHED[1].replace("cache=3", "cache=3, fast=True")),
        "ok",
        True,
    ),
    (
        "passed at the pin already",
        NAMES_IT,
        CACHED,
        (CACHED[0].replace("cache=None", "cache=None, fast=False"), CACHED[1].replace("cache=3", "cache=3, fast=True")),
        "ok",
        True,
    ),
    (
        "built from a spec that stands in no slot, passed at the pin already",
        "\nspec = Spec(module=Ours, params={})\n",
        CACHED,
        (CACHED[0].replace("cache=None", "cache=None, fast=False"), CACHED[1].replace("cache=3", "cache=3, fast=True")),
        "look at",
        True,
    ),
]


@pytest.mark.parametrize(
    ("given", "pin", "tip", "consequence", "named"),
    [row[1:] for row in RUN_IN_SLOTS],
    ids=[row[0] for row in RUN_IN_SLOTS],
)
def test_an_override_breaks_where_upstream_runs_what_stands_in_a_slot(
    tmp_path: Path, given: str, pin: tuple[str, str], tip: tuple[str, str], consequence: str, named: bool
) -> None:
    sides = [{"keel/layer.py": one, "keel/block.py": two} for one, two in (pin, tip)]
    found = couple(tmp_path, OUR_ATTENTION + given, sides[0], {**sides[1], "keel/x.py": ""})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert (row.consequence.value, "keel/block.py:3" in row.detail) == (consequence, named)
    assert ("only our own code calls it" in row.detail) is (pin is CACHED and consequence == "ok")
    assert row.detail.endswith("already so at the pin: cache") is (consequence == "look at")


SPEC = "\nspec = Spec(module=Ours, params={})\n"
WIDE = "class Block:\n    def forward(self, x):\n        return self.attention(x, mask=1, heads=2{})\n"
OTHER = "class Other:\n    def forward(self, x):\n        return self.core(x, mask=1, heads=2{})\n"
FAILS_ALWAYS = [
    # (what it shows, what our file does with its class, upstream's calls, whether it surely fails, at the pin already)
    ("all calls pass it", SPEC, WIDE.format(", cache=3"), True),
    ("all of two", SPEC, WIDE.format(", cache=3") + OTHER.format(", cache=4"), True),
    ("one does not", SPEC, WIDE.format(", cache=3") + OTHER.format(""), False),
    ("one that is like another class", SPEC, WIDE.format(", cache=3") + OTHER.format(", depth=1"), True),
    ("one that tells too little", SPEC, WIDE.format(", cache=3") + OTHER.replace(", heads=2{}", ""), True),
    ("no spec of ours names it", "", WIDE.format(", cache=3"), False),
    ("our own code builds it as well", SPEC + "\nOurs().go()\n", WIDE.format(", cache=3"), False),
]


@pytest.mark.parametrize(
    ("given", "calls", "fails"), [row[1:] for row in FAILS_ALWAYS], ids=[row[0] for row in FAILS_ALWAYS]
)
def test_what_a_spec_of_ours_names_fails_where_no_call_of_upstream_fits_it(
    tmp_path: Path, given: str, calls: str, fails: bool
) -> None:
    before = {"keel/layer.py": CACHED[0], "keel/block.py": calls}
    found = couple(tmp_path, OUR_ATTENTION + given, before, {"keel/x.py": ""})
    rows = [one for one in found if one.touch.value == "overrides" and one.state.value == "fits neither pin nor tip"]
    assert bool(rows) is fails
    if rows:
        assert rows[0].consequence.value == "look at"
        assert "upstream passes that to whichever class a field holds, e.g. at keel/block.py:3" in rows[0].detail


def test_of_calls_that_may_build_what_a_spec_names_those_of_a_spec_are_told(tmp_path: Path) -> None:
    """A field of upstream's may hold another class, and what is passed to that never comes to ours."""
    layer = "class Layer:\n    def __init__(self, config, number, width, group=None, name=None):\n        pass\n"
    calls = (
        "def build(spec):\n    return build_module(spec, config=1, number=2, width=3, group=4)\n"
        "def other(parts):\n    return build_module(parts.core, config=1, number=2, width=3, group=4, name=5)\n"
    )
    ours = "from keel.layer import Layer\n\nclass Ours(Layer):\n    def __init__(self, config, number, width):\n        pass\n"
    late = {"keel/late.py": calls.partition("def other")[0].replace("group=4", "group=4, name=5")}
    found = couple(tmp_path, ours + SPEC, {"keel/layer.py": layer, "keel/block.py": calls}, {**late})
    (row,) = [one for one in found if one.state.value == "fits neither pin nor tip"]
    assert row.detail.startswith("our override does not take group; "), row.detail
    assert [str(place) for why in row.why for place in why.places] == ["keel/block.py:2"]


def test_a_call_that_lacks_what_a_spec_may_have_given_is_none_that_fails(tmp_path: Path) -> None:
    ours = OUR_ATTENTION.replace("heads):", "heads, extra):") + SPEC
    calls = WIDE.format(", cache=3") + OTHER.format("")
    found = couple(tmp_path, ours, {"keel/layer.py": CACHED[0], "keel/block.py": calls}, {"keel/x.py": ""})
    assert not [one for one in found if one.state.value == "fits neither pin nor tip"]


SPLITS = (
    "class Layer:\n    def split(self, x):\n        if x:\n            return {0}\n        return {0}\n"
    "def split(x):\n    return {0}\n"
)
TAKES = "from keel.layer import Layer, split\n\nclass Ours(Layer):\n    def go(self, x):\n        {}\n"
TAKEN_APART = [
    # (what it shows, our line, what pin and tip return, state and consequence)
    ("never fitted", "a, b, c = self.split(x)", ("x, 1", "x, 1"), ("fits neither pin nor tip", "look at")),
    ("never fitted, a function", "a, b, c = split(x)", ("x, 1", "x, 1"), ("fits neither pin nor tip", "look at")),
    ("the tip fits", "a, b, c = self.split(x)", ("x, 1", "x, 1, 2"), ("too new", "look at")),
    ("no longer", "a, b = self.split(x)", ("x, 1", "x, 1, 2"), ("no longer binds", "will break")),
    ("fits", "a, b = self.split(x)", ("x, 1", "x, 1"), ("ok", "ok")),
    ("a rest is taken", "a, *b = self.split(x)", ("x, 1", "x, 1"), ("ok", "ok")),
    ("whole", "a = self.split(x)", ("x, 1", "x, 1"), ("ok", "ok")),
    ("a dictionary before", "a = self.split(x)", ("{'k': x}", "x, 1"), ("no longer binds", "will break")),
    ("a dictionary before, a function", "a = split(x)", ("dict(k=x)", "x, 1"), ("no longer binds", "will break")),
    ("a dictionary at the tip", "a, b = self.split(x)", ("x, 1", "{'k': x}"), ("no longer binds", "will break")),
    ("a dictionary at both", "a = self.split(x)", ("{'k': x}", "{'j': x}"), ("body changed", "ok")),
    ("what another function makes", "a = self.split(x)", ("make(x)", "x, 1"), ("body changed", "ok")),
    ("nobody knows how many", "a, b, c = self.split(x)", ("list(x)", "list(x)"), ("ok", "ok")),
    (
        "our code expects it to fail",
        "try:\n            a, b, c = self.split(x)\n        except Exception:\n            pass",
        ("x, 1", "x, 1"),
        ("ok", "ok"),
    ),
]


@pytest.mark.parametrize(
    ("line", "returned", "expected"), [row[1:] for row in TAKEN_APART], ids=[row[0] for row in TAKEN_APART]
)
def test_a_result_that_has_another_number_of_values(
    tmp_path: Path, line: str, returned: tuple[str, str], expected: tuple[str, str]
) -> None:
    sides = [{"keel/layer.py": SPLITS.format(one)} for one in returned]
    found = couple(tmp_path, TAKES.format(line), sides[0], {**sides[1], "keel/x.py": ""})
    (row,) = [one for one in found if one.touch.value == "calls"]
    assert (row.state.value, row.consequence.value) == expected, row.detail


def test_a_dictionary_that_a_function_fills_is_one_value(tmp_path: Path) -> None:
    then = "def split(x):\n    found: dict[str, int] = {}\n    found['k'] = x\n    return found\n"
    now = "def split(x):\n    return x, 1\n"
    found = couple(
        tmp_path,
        TAKES.format("a = split(x)['k']\n        b = split(x)"),
        {"keel/layer.py": then},
        {"keel/layer.py": now},
    )
    told = [one.detail for one in found if one.touch.value == "calls"]
    assert any("expects 1 value from it, but it returns 2 now" in one for one in told), told
    given = then.replace("return found", "found = more(found)\n    return found")
    assert not [
        one
        for one in couple(
            tmp_path / "b", TAKES.format("b = split(x)"), {"keel/layer.py": given}, {"keel/layer.py": now}
        )
        if one.consequence.value == "will break" and one.touch.value == "calls"
    ]


def test_a_result_of_what_our_patch_replaces_has_the_values_of_ours(tmp_path: Path) -> None:
    owned = frozenset({(Location("harbour/patch.py", 3), "keel.layer.split")})
    ours, up = TAKES.format("a, b, c = split(x)"), {"keel/layer.py": SPLITS.format("x, 1")}
    found = couple(tmp_path, ours, up, {"keel/x.py": ""}, owned=owned)
    assert [one.consequence.value for one in found if one.touch.value == "calls"] == ["ok"]


ENGINE = (
    "class Out:\n    def abort(self, ids):\n        return ids\n\n\nclass Engine:\n    def __init__(self, config):\n"
    "        self.out = Out()\n        self.size = config\n\n    @property\n    def front(self) -> Out:\n        return self.out\n\n"
    "    @classmethod\n    def make(cls, config) -> 'Engine':\n        return cls(config)\n"
)
SERVER = (
    "from keel.engine import Engine\n\nclass Server:\n    def start(self):\n        engine = {}\n"
    "        self.engine = engine\n\n    def stop(self, ids):\n        {}\n"
)
HANDED_ENGINE = "from keel.engine import Engine\n\ndef stop(engine: Engine, ids):\n    engine.out.abort(ids)\n"
OUR_OUT = "\nfrom keel.engine import Out\n\nclass Ours(Out):\n    def abort(self, ids):\n        return ids\n"
NARROWED = "from keel.engine import Engine\n\ndef stop(x, y):\n    {}\n"
NOT_BIND = ("calls", "no longer binds", "will break")
MADE, STOPS = "Engine.make(1)", "self.engine.out.abort(ids)"
MORE, RENAMED_FIELD = ("self, ids):", "self, ids, internal):"), ("self.out =", "self.outlet =")
VALUE_CHAINS = [
    # (what it shows, ours, what the tip changes, touch, state and consequence of what does not fit)
    ("a method of a field", SERVER.format(MADE, STOPS), MORE, [("calls", "no longer binds", "will break")]),
    ("built by its name", SERVER.format("Engine(1)", STOPS), MORE, [("calls", "no longer binds", "will break")]),
    ("handed in", HANDED_ENGINE, MORE, [NOT_BIND]),
    ("through a property", SERVER.format(MADE, "self.engine.front.abort(ids)"), MORE, [NOT_BIND]),
    (
        "a field that is gone",
        SERVER.format(MADE, STOPS),
        RENAMED_FIELD,
        [("reads the attribute", "removed", "will break")],
    ),
    ("gone, handed in", HANDED_ENGINE, RENAMED_FIELD, [("reads the attribute", "removed", "will break")]),
    (
        "our code asks first",
        SERVER.format(MADE, "if hasattr(self.engine, 'out'):\n            self.engine.out.abort(ids)"),
        RENAMED_FIELD,
        [("reads the attribute", "removed", "may break")],
    ),
    (
        "what the class makes up",
        SERVER.format(MADE, "print(self.engine.size)"),
        ("self.size", "self.__dict__['size']"),
        [("reads the attribute", "removed", "may break")],
    ),
    (
        "a class of ours below may be the one",
        HANDED_ENGINE.replace("engine.out.abort", "engine.front.abort") + OUR_OUT,
        MORE,
        [],
    ),
    (
        "gone, and ours has it",
        HANDED_ENGINE.replace("engine.out.abort", "engine.front.abort") + OUR_OUT,
        ("def abort", "def stop"),
        [("reads the config field", "renamed", "may break")],
    ),
    ("not where it is made", SERVER.format(MADE, STOPS) + OUR_OUT, MORE, [("calls", "no longer binds", "will break")]),
    (
        "the class became a function",
        SERVER.format("Engine(1)", STOPS),
        ("class Engine:", "def Engine(x): ...\nclass First:"),
        [],
    ),
    ("asserted", NARROWED.format("assert isinstance(x, Engine)\n    x.out.abort(1)"), MORE, [NOT_BIND]),
    ("tested", NARROWED.format("if isinstance(x, Engine) and y:\n        x.out.abort(1)"), MORE, [NOT_BIND]),
    ("tested before", NARROWED.format("if isinstance(x, Engine):\n        print()\n    x.out.abort(1)"), MORE, []),
    ("otherwise", NARROWED.format("if isinstance(x, Engine): print()\n    else:\n        x.out.abort(1)"), MORE, []),
    (
        "or left",
        NARROWED.format("if not isinstance(x, Engine):\n        return\n    x.out.abort(1)"),
        MORE,
        [NOT_BIND],
    ),
    ("one of two", NARROWED.format("assert isinstance(x, (Engine, list))\n    x.out.abort(1)"), MORE, []),
    ("set anew", NARROWED.format("assert isinstance(x, Engine)\n    x = y\n    x.out.abort(1)"), MORE, []),
    (
        "an item of a list",
        NARROWED.format("for one in x:\n        one.out.abort(1)").replace("x,", "x: list[Engine],"),
        MORE,
        [NOT_BIND],
    ),
    ("the list", NARROWED.format("x.out.abort(1)").replace("x,", "x: list[Engine],"), MORE, []),
    (
        "asserted, gone",
        NARROWED.format("assert isinstance(x, Engine)\n    x.front"),
        ("def front", "def rear"),
        [("reads the config field", "removed", "will break")],
    ),
    ("nothing changed", SERVER.format(MADE, STOPS), ("return ids", "return [ids]"), []),
    ("another class of ours", SERVER.format("other(1)", STOPS), MORE, []),
]


@pytest.mark.parametrize(
    ("ours", "change", "expected"), [row[1:] for row in VALUE_CHAINS], ids=[row[0] for row in VALUE_CHAINS]
)
def test_attributes_of_what_a_value_holds(
    tmp_path: Path, ours: str, change: tuple[str, str], expected: list[tuple[str, str, str]]
) -> None:
    tip = ENGINE.replace("return self.out", "return Out()").replace(*change)
    found = couple(tmp_path, ours, {"keel/engine.py": ENGINE}, {"keel/engine.py": tip})
    rows = [(one.touch.value, one.state.value, one.consequence.value) for one in found]
    told = [
        row
        for row in rows
        if row[2] in {"will break", "may break"}
        and row[0] in {"calls", "reads the attribute", "reads the config field"}
    ]
    assert told == expected


FLEET = """\
from dataclasses import dataclass
from typing import Optional


@dataclass
class Boat:
    size: int
    crew: int = 1


@dataclass
class Harbor:
    boats: list[Boat]
    named: dict[str, "Boat"]
    first: Optional[Boat] = None
    last: Boat | None = None
    words: list[str] = ()


def harbors() -> list[Harbor]:
    return []
"""
LOST = [("keel.fleet.Boat.crew", "removed", "will break")]
FLEET_READS = [
    # (what it shows, what our function does with a harbor, what is told)
    ("a loop over a field", "for one in h.boats:\n        print(one.crew)", LOST),
    ("counted", "for i, one in enumerate(h.boats):\n        print(one.crew)", LOST),
    ("two at once", "for other, one in zip(x, sorted(h.boats)):\n        print(one.crew)", LOST),
    ("an item", "return h.boats[0].crew", LOST),
    ("an item of a table", "return h.named[x].crew", LOST),
    ("values", "for one in h.named.values():\n        print(one.crew)", LOST),
    ("keys and values", "for name, one in h.named.items():\n        print(one.crew)", LOST),
    ("keys", "for one in h.named:\n        print(one.crew)", []),
    ("items that are words", "for one in h.words:\n        print(one.crew)", []),
    ("in a comprehension", "return [one.crew for one in h.boats if one.size]", LOST),
    ("what a comprehension names stays in it", "y = [one.size for one in h.boats]\n    one = x\n    one.crew", []),
    ("an optional field", "return h.last.crew", LOST),
    ("another", "return h.first.crew", LOST),
    ("by a name of ours", "boats = h.boats\n    return boats[0].crew", LOST),
    ("of a copy", "h = copy.deepcopy(h)\n    return h.boats[0].crew", LOST),
    ("a slice", "return h.boats[1:].crew", []),
    ("items of a slice", "for one in h.boats[1:]:\n        print(one.crew)", LOST),
    ("an item of a slice of what is handed in", "rest = several[1:]\n    return rest[0].last.crew", LOST),
    ("a slice of what is no list", "return h.last[1:].crew", []),
    ("named again", "for one in h.boats:\n        one = x\n        print(one.crew)", []),
    ("in another loop", "for one in h.boats:\n        pass\n    for one in x:\n        print(one.crew)", []),
    ("one of two", "one = h.last\n    if x:\n        one = x\n    return one.crew", []),
    ("known to be another", "return isinstance(h.last, list) and h.last.crew", LOST),
    ("asked for", "one = h.last\n    return isinstance(one, list) and one.crew", []),
    ("what a call gives", "for one in harbors():\n        print(one.last.crew)", LOST),
    ("of a list of harbors", "for one in several:\n        print(one.last.crew)", LOST),
    ("of a table of harbors", "return table[x].last.crew", LOST),
    (
        "our code asks first",
        "return h.boats[0].crew if hasattr(h.boats[0], 'crew') else 0",
        [("keel.fleet.Boat.crew", "removed", "may break")],
    ),
    ("nothing that is gone", "return h.boats[0].size", []),
]
LATER = [
    # (what it shows, what the tip changes, what is told of `h.boats[0].crew`)
    ("the class has another name", ("Boat", "Ship"), []),
    ("the field leads to another class", ("boats: list[Boat]", "boats: list[Other]"), []),
    ("the field is gone", ("boats:", "ships:"), [("keel.fleet.Harbor.boats", "removed", "will break")]),
    ("the field is of no class that is known", ("boats: list[Boat]", "boats: list"), []),
]


def find_fleet(tmp_path: Path, does: str, tip: str) -> list[tuple[str, str, str]]:
    ours = (
        "import copy\nfrom keel.fleet import Harbor, harbors\n\n"
        f"def go(h: Harbor, several: list[Harbor], table: dict[str, Harbor], x):\n    {does}\n"
    )
    found = couple(tmp_path, ours, {"keel/fleet.py": FLEET}, {"keel/fleet.py": tip})
    rows = [(one.target, one.state.value, one.consequence.value) for one in found]
    return [row for row in rows if row[2] in {"will break", "may break"}]


@pytest.mark.parametrize(("does", "told"), [row[1:] for row in FLEET_READS], ids=[row[0] for row in FLEET_READS])
def test_items_of_annotated_fields_are_followed(tmp_path: Path, does: str, told: list[tuple[str, str, str]]) -> None:
    assert find_fleet(tmp_path, does, FLEET.replace("    crew: int = 1\n", "")) == told


@pytest.mark.parametrize(("change", "told"), [row[1:] for row in LATER], ids=[row[0] for row in LATER])
def test_a_road_is_followed_at_the_tip(
    tmp_path: Path, change: tuple[str, str], told: list[tuple[str, str, str]]
) -> None:
    tip = FLEET.replace(*change) + "\n\n@dataclass\nclass Other:\n    crew: int = 2\n"
    assert find_fleet(tmp_path, "return h.boats[0].crew", tip) == told


def test_what_objects_of_a_class_keep_is_seldom_one_of_that_class(tmp_path: Path) -> None:
    inner = "    def run(self, x):\n        return self.core(x, mask=1, heads=2, cache=4)\n"
    before, after = {"keel/layer.py": ATTENTION, "keel/block.py": RUNS}, {"keel/layer.py": CACHED[0] + inner}
    for text, named in ((CACHED[1], ["keel/block.py"]), (RUNS, ["keel/layer.py"])):
        found = couple(tmp_path / named[0], OUR_ATTENTION, before, {**after, "keel/block.py": f"import math\n{text}"})
        (row,) = [one for one in found if one.touch.value == "overrides"]
        assert [place.path for why in row.why for place in why.places] == named, row.detail


def test_of_what_never_fitted_all_that_is_passed_is_named_and_what_is_no_news_is_said(tmp_path: Path) -> None:
    init = "class Layer:\n    def __init__(self, config, number, width, group=None{}):\n        pass\n"
    made = "def build(spec):\n    return build_module(spec, config=1, number=2, width=3, group=4{})\n"
    again = f"{made.format('')}{made.format(', kind=1')}"
    ours = "from keel.layer import Layer\n\nclass Ours(Layer):\n    def __init__(self, config, number, width):\n        pass\n"
    sides = [
        {"keel/layer.py": init.format(more), "keel/block.py": passed}
        for more, passed in (("", made.format("")), (", name=None, kind=0, a=1", f"{again}{made.format(', name=5')}"))
    ]
    found = couple(tmp_path, ours, sides[0], {**sides[1]})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert row.consequence.value == "look at"
    assert row.detail.startswith(
        "our override does not take group, name and kind; upstream may pass that at keel/block.py:4, keel/block.py:6,"
    )
    assert row.detail.endswith("; this was already so at the pin: group")


def test_calls_that_pass_what_others_do_not_are_told_first(tmp_path: Path) -> None:
    """Three calls alike were told, and the fourth passed what nobody read of."""
    init = "class Layer:\n    def __init__(self, config, number, width{}):\n        pass\n"
    alike = "def build(parts):\n    return build_module(parts.layer, config=1, number=2, width=3, group=4, name=5)\n"
    other = "def other(spec):\n    return build_module(spec, config=1, number=2, width=3, stage=4)\n"
    ours = "from keel.layer import Layer\n\nclass Ours(Layer):\n    def __init__(self, config, number, width):\n        pass\n"
    before = {"keel/layer.py": init.format(", stage=None"), "keel/block.py": other.replace(", stage=4", "")}
    after = {"keel/layer.py": init.format(", group=None, name=None, stage=None"), "keel/block.py": 3 * alike + other}
    found = couple(tmp_path, ours, before, {**after})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert row.detail.startswith(
        "our override does not take group, name and stage; "
        "upstream may pass that at keel/block.py:2, keel/block.py:8, keel/block.py:4:"
    )


def test_what_known_calls_do_not_pass_is_not_named(tmp_path: Path) -> None:
    wide = LINEAR.replace("bias)", "bias, mode=0)"), NAMED.replace("bias,", "bias, mode=0,")
    after = {"keel/layer.py": wide[1], "keel/block.py": SLOT}
    found = couple(tmp_path, OUR_LINEAR + "\nspec = Parts(proj=Ours)\n", {"keel/layer.py": wide[0]}, {**after})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert (row.consequence.value, row.detail.partition(";")[0]) == (
        "will break",
        "our override does not take name",
    )


def test_the_slot_that_we_name_is_told(tmp_path: Path) -> None:
    more = SLOT.replace("self.proj = submodules.proj(4,", "self.other = submodules.other(4,").replace("Block", "First")
    ours = OUR_LINEAR + "\nspec = Parts(proj=Ours)\n"
    after = {"keel/layer.py": NAMED, "keel/block.py": f"{more}\n\n{SLOT}"}
    found = couple(tmp_path, ours, {"keel/layer.py": LINEAR}, {**after})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert "keel/block.py:8" in row.detail
    assert "keel/block.py:3" not in row.detail


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("mask):", "mask, cache):"), ("overrides", "keel.layer.Layer.forward", "cannot accept", "will break")),
        (("mask):", "mask, cache=None):"), ("overrides", "keel.layer.Layer.forward", "cannot accept", "ok")),
        (("def forward", "def step"), ("overrides", "keel.layer.Layer.forward", "renamed", "may break")),
        (
            ("self, size):", "self, size, name):"),
            ("calls", "keel.layer.Layer.__init__", "no longer binds", "will break"),
        ),
        (("return x", "return x + 1"), ("overrides", "keel.layer.Layer.forward", "body changed", "look at")),
    ],
)
def test_subclasses(tmp_path: Path, change: tuple[str, str], expected: tuple[str, ...]) -> None:
    found = couple(tmp_path, SUBCLASS, {"keel/layer.py": BASE}, {"keel/layer.py": BASE.replace(*change)})
    rows = [(one.touch.value, one.target, one.state.value, one.consequence.value) for one in found]
    assert expected in rows


STATIC = "class Layer:\n    @staticmethod\n    def twist(x, y):\n        return x\n"
TWISTS = "from keel.layer import Layer\n\nclass Ours(Layer):\n    def go(self):\n        return self.twist({})\n"


@pytest.mark.parametrize(("given", "states"), [("1, 2", ["ok"]), ("1, 2, 3", ["fits neither pin nor tip"])])
def test_a_static_method_gets_no_object(tmp_path: Path, given: str, states: list[str]) -> None:
    found = couple(tmp_path, TWISTS.format(given), {"keel/layer.py": STATIC}, {"keel/x.py": ""})
    assert [one.state.value for one in found if one.touch.value == "calls"] == states


def test_a_method_of_an_object_that_a_module_keeps_gets_the_object(tmp_path: Path) -> None:
    keeps = "class Registry:\n    def add(self, name, what):\n        return name\n\n\nREGISTRY = Registry()\n"
    ours = "from keel.registry import REGISTRY\nREGISTRY.add('a', 1)\n"
    found = couple(tmp_path, ours, {"keel/registry.py": keeps}, {"keel/x.py": ""})
    assert [one for one in found if one.consequence.value != "ok"] == []


def test_a_call_of_what_we_patch_is_held_against_no_signature_of_upstreams(tmp_path: Path) -> None:
    ours = "from keel.run import run\nrun(1, wrong=2)\n"
    for target in ("keel.run.run", "keel.run.run.__init__"):
        owned = frozenset({(Location("harbour/patch.py", 3), target)})
        found = couple(tmp_path / target, ours, {"keel/run.py": RUN}, {"keel/x.py": ""}, owned)
        assert [one.state.value for one in found if one.touch.value == "calls"] == ["undecided"]


def test_inherited_members_used_through_self(tmp_path: Path) -> None:
    ours = (
        "from keel.layer import Layer\n\nclass Ours(Layer):\n    def go(self):\n        self.own()\n        "
        "return self.forward(1, 2)\n\n    def own(self):\n        return 1\n"
    )
    found = couple(tmp_path, ours, {"keel/layer.py": BASE}, {"keel/layer.py": BASE.replace("x, mask", "x")})
    rows = [
        (one.touch.value, one.target, one.state.value, one.consequence.value)
        for one in found
        if one.touch.value == "calls"
    ]
    assert rows == [("calls", "keel.layer.Layer.forward", "no longer binds", "will break")]


def test_a_name_that_our_class_sets_itself_is_not_lost_with_upstreams(tmp_path: Path) -> None:
    base = "class Layer:\n    @property\n    def params(self):\n        return 1\n    def other(self): ...\n"
    ours = (
        "from keel.layer import Layer\n\nclass Ours(Layer):\n    def go(self):\n        {}        return self.params\n"
    )
    tip = "class Layer:\n    def other(self): ...\n"
    for line, expected in (("self.params = 2\n", []), ("pass\n", ["will break"])):
        found = couple(
            tmp_path / expected[0] if expected else tmp_path / "set",
            ours.format(line),
            {"keel/layer.py": base},
            {"keel/layer.py": tip},
        )
        assert [one.consequence.value for one in found if one.target == "keel.layer.Layer.params"] == expected


@pytest.mark.parametrize(
    ("was", "made", "consequence"),
    [("(1,)", "Builder()", "may break"), ("(1,)", "(1,)", "ok"), (None, None, "may break")],
    ids=["another object", "only annotated anew", "nothing but the annotation"],
)
def test_an_override_whose_upstream_method_returns_something_else(
    tmp_path: Path, was: str | None, made: str | None, consequence: str
) -> None:
    ours = "from keel.layer import Layer\n\nclass Ours(Layer):\n    def parts(self) -> tuple:\n        return ()\n"
    text = "class Layer:\n    def parts(self) -> {}:\n        {}\n"
    base, after = (
        text.format(kind, f"return {value}" if value else "...")
        for kind, value in (("tuple[int, ...]", was), ("Builder", made))
    )
    found = couple(tmp_path, ours, {"keel/layer.py": base}, {"keel/layer.py": after})
    rows = [one.consequence.value for one in found if one.touch.value == "overrides"]
    assert rows == [consequence]


def test_an_override_is_called_where_upstream_asks_whether_it_is_there(tmp_path: Path) -> None:
    pin = "class Layer:\n    def go(self):\n        return self.step()\n    def step(self):\n        return 1\n"
    asks = "class Layer:\n    def go(self):\n        return self.step() if hasattr(self, 'step') else self.walk()\n"
    tip = asks + "    def walk(self):\n        return 1\n"
    ours = "from keel.layer import Layer\n\nclass Ours(Layer):\n    def step(self):\n        return 2\n"
    found = couple(tmp_path, ours, {"keel/layer.py": pin}, {"keel/layer.py": tip})
    (told,) = [one for one in found if one.touch is Touch.OVERRIDE]
    assert (told.consequence.value, told.why[0].reason.code) == ("look at", "called-where-there")


def test_an_override_that_our_own_class_calls_is_called(tmp_path: Path) -> None:
    ours = (
        "from keel.layer import Layer\n\nclass Ours(Layer):\n    def forward(self, x):\n        return self.inner(x)\n\n"
        "    def inner(self, x):\n        return x\n"
    )
    base = "class Layer:\n    def forward(self, x):\n        return x\n\n    def inner(self, x):\n        return x\n"
    found = couple(tmp_path, ours, {"keel/layer.py": base}, {"keel/layer.py": base.partition("    def inner")[0]})
    (row,) = [one for one in found if one.touch.value == "overrides" and one.target.endswith("inner")]
    assert (row.consequence.value, row.why[0].reason.code) == ("ok", "called-by-us")


@pytest.mark.parametrize(("name", "called"), [("__init__", True), ("close", False)])
def test_python_calls_a_special_method_whatever_upstream_has(tmp_path: Path, name: str, called: bool) -> None:
    base = f"class Layer:\n    def {name}(self, size=1):\n        self.size = size\n\n    def other(self):\n        return 1\n"
    ours = f"from keel.layer import Layer\nclass Own(Layer):\n    def {name}(self, size=1):\n        self.size = 2\n"
    without = "class Layer:\n    def other(self):\n        return 1\n"
    found = couple(tmp_path, ours, {"keel/layer.py": base}, {"keel/layer.py": without})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert ("Python still calls our method" in row.detail, "not called" in row.detail) == (called, not called)


def test_a_fallback_import_is_guarded(tmp_path: Path) -> None:
    ours = "try:\n    from keel.new import run\nexcept ImportError:\n    from keel.run import run\n"
    found = couple(tmp_path, ours, {"keel/run.py": RUN}, {"keel/run.py": None, "keel/new.py": RUN})
    rows = [(one.target, one.consequence.value) for one in found if one.state.value != "undecided"]
    assert rows == [("keel.run.run", "ok")]  # the first choice is there


def test_what_follows_a_broken_import_is_the_same_trouble(tmp_path: Path) -> None:
    found = couple(tmp_path, SUBCLASS, {"keel/layer.py": BASE}, {"keel/layer.py": "x = 1\n"})
    assert [(one.touch.value, one.consequence.value) for one in found] == [("imports the name", "will break")]


CONFIG = "from dataclasses import dataclass\n\n@dataclass\nclass RunConfig:\n    steps: int = 1\n    seed: int = 0\n"


def test_config_fields_of_annotated_variables(tmp_path: Path) -> None:
    ours = (
        "from keel.config import RunConfig\n\ndef go(config: RunConfig):\n    if hasattr(config, 'seed'):\n     "
        "   print(config.seed)\n    return config.steps\n"
    )
    found = couple(
        tmp_path,
        ours,
        {"keel/config.py": CONFIG},
        {"keel/config.py": CONFIG.replace("steps", "rounds").replace("    seed: int = 0\n", "")},
    )
    rows = [
        (one.target, one.state.value, one.consequence.value, one.guarded)
        for one in found
        if one.touch.value == "reads the config field"
    ]
    assert sorted(rows) == [
        ("keel.config.RunConfig.seed", "removed", "may break", True),
        ("keel.config.RunConfig.steps", "removed", "will break", False),
    ]


CLAIMS = [
    # (what it shows, our function, what becomes of its read)
    ("an annotated parameter", "def go(config: RunConfig):\n    return config.steps\n", "will break"),
    ("what it is put onto decides", "def go(self: RunConfig):\n    return self.steps\n", "may break"),
    (
        "and of what it is handed to",
        "def go(self: RunConfig):\n    return read(self)\n\ndef read(config: RunConfig):\n    return config.steps\n",
        "may break",
    ),
    (
        "a method is where it is",
        "class Ours:\n    def go(self, config: RunConfig):\n        return config.steps\n",
        "will break",
    ),
]


@pytest.mark.parametrize(("ours", "consequence"), [row[1:] for row in CLAIMS], ids=[row[0] for row in CLAIMS])
def test_an_annotation_is_a_claim_where_a_line_elsewhere_decides(tmp_path: Path, ours: str, consequence: str) -> None:
    after: dict[str, str | None] = {"keel/config.py": CONFIG.replace("steps", "rounds")}
    found = couple(tmp_path, f"from keel.config import RunConfig\n\n{ours}", {"keel/config.py": CONFIG}, after)
    assert [one.consequence.value for one in found if one.touch.value == "reads the config field"] == [consequence]


def test_a_member_that_another_base_gives_is_not_gone(tmp_path: Path) -> None:
    ours = "from keel.words import Words\n\ndef go(words: Words):\n    return words.add\n"
    before = "class Special:\n    def add(self): ...\n\nclass Words(Special):\n    def cut(self): ...\n"
    after = "class Words:\n    def add(self): ...\n    def cut(self): ...\n"
    found = couple(tmp_path, ours, {"keel/words.py": before}, {"keel/words.py": after})
    assert [one.consequence.value for one in found if one.touch.value == "reads the config field"] in ([], ["ok"])


ARGUMENTS = (
    "def add(parser):\n    parser.add_argument('--old-flag', type=int, default=1)\n    "
    "parser.add_argument('--kept', dest='stays', action='store_true')\n\ndef get_args():\n    return None\n"
)


def test_flags_read_from_get_args(tmp_path: Path) -> None:
    ours = (
        "from keel.arguments import get_args\n\ndef go():\n    args = get_args()\n    return args.old_flag, "
        "args.stays, args.ours_alone\n"
    )
    after = ARGUMENTS.replace("    parser.add_argument('--old-flag', type=int, default=1)\n", "").replace(
        "dest='stays'", "dest='remains'"
    )
    found = couple(tmp_path, ours, {"keel/arguments.py": ARGUMENTS}, {"keel/arguments.py": after})
    rows = [
        (one.target, one.state.value, one.consequence.value)
        for one in found
        if one.touch.value == "reads the config field"
    ]
    assert rows == [("args.old_flag", "removed", "will break"), ("args.stays", "renamed", "will break")]


OWN_PARSER = "def add(parser):\n    parser.add_argument('--old-flag', type=int)\n\n\n"
READS = "from keel.arguments import get_args\n\n\ndef go(args):\n    return args.old_flag\n"
PARSERS = [
    # (what it shows, our file, what is said of the flag that upstream drops)
    ("of upstream, by its name", READS, ["may break"]),
    ("of a parser in the same file", f"{READS}\n\n{OWN_PARSER}", []),
    ("of another parser", f"{READS}\n\n{OWN_PARSER.replace('old', 'new')}", ["may break"]),
]


@pytest.mark.parametrize(("ours", "said"), [row[1:] for row in PARSERS], ids=[row[0] for row in PARSERS])
def test_a_flag_that_the_file_declares_itself_is_its_own(tmp_path: Path, ours: str, said: list[str]) -> None:
    after = ARGUMENTS.replace("    parser.add_argument('--old-flag', type=int, default=1)\n", "")
    found = couple(tmp_path, ours, {"keel/arguments.py": ARGUMENTS}, {"keel/arguments.py": after})
    assert [one.consequence.value for one in found if one.target == "args.old_flag"] == said


def test_an_override_breaks_where_upstream_passes_what_it_does_not_take(tmp_path: Path) -> None:
    """`mask=None` is optional; a call on `self` in upstream's own class passes it, so our override is called with
    it."""
    after = (
        BASE.replace("x, mask):", "x, mask, cache=None):")
        + "\n    def run(self, x):\n        return self.forward(x, 1, cache={})\n"
    )
    others = "".join(f"class Other{number}:\n    def forward(self, x): ...\n" for number in range(6))
    found = couple(tmp_path, SUBCLASS, {"keel/layer.py": BASE, "keel/more.py": others}, {"keel/layer.py": after})
    (row,) = [one for one in found if one.touch.value == "overrides" and one.target.endswith("forward")]
    assert (row.state.value, row.consequence.value) == ("cannot accept", "will break")
    assert row.detail.endswith("upstream passes that at keel/layer.py:9")


LAYER = "class Layer:\n    def __init__(self):\n        self.size = 1\n\n    def forward(self, x, mask, heads{}):\n        return x\n"
STACK = """\
class Stack:
    def __init__(self, mine: Other):
        self.layer = {layer}
        self.other = Other()

    def run(self, x, mask, pick):
        step = pick(self)
        step(x, mask, heads=2, cache=3)
        self.other(x, mask, heads=2, cache=4)
        self.layer(x, mask, heads=2, cache=1, kind=1)
"""
MADE = "class Other:\n    def forward(self, x, mask, heads, cache=None, kind=None): ...\n"
OUR_LAYER = (
    "from keel.layer import Layer\n\nclass Ours(Layer):\n    def forward(self, x, mask, heads):\n        return x\n"
)
HELD = [
    # (what it shows, what the attribute holds, lines that are told)
    ("the class that ours stands below", "Layer()", ["keel/stack.py:11"]),
    ("nobody knows", "pick()", ["keel/stack.py:11", "keel/stack.py:9"]),
    ("another class", "Other()", ["keel/stack.py:9"]),
    ("something that is said to be of another class", "mine", ["keel/stack.py:11", "keel/stack.py:9"]),
]


@pytest.mark.parametrize(("layer", "told"), [row[1:] for row in HELD], ids=[row[0] for row in HELD])
def test_a_call_of_what_is_known_to_be_another_class_does_not_reach_an_override(
    tmp_path: Path, layer: str, told: list[str]
) -> None:
    stack = "from keel.layer import Layer\n" + STACK.format(layer=layer)
    others = "".join(f"class Other{number}:\n    def forward(self, x): ...\n" for number in range(6))
    before = {"keel/layer.py": LAYER.format(""), "keel/more.py": others}
    after = {"keel/layer.py": LAYER.format(", cache=None, kind=None"), "keel/stack.py": f"{stack}\n\n{MADE}"}
    found = couple(tmp_path, OUR_LAYER, before, {**after})
    (row,) = [one for one in found if one.touch.value == "overrides" and one.target.endswith("forward")]
    (where,) = [one for one in row.why if one.places]
    assert [str(place) for place in where.places] == told


MAKER = "class Trainer:\n    def __init__(self, model, {0}):\n        self.model = model\n"
PASSES_ON = "class Ours(Trainer):\n    def __init__(self, {}**kwargs):\n        {}\n        super().__init__({}**kwargs)\n\n{}\n"
BUILDS = [
    # (what it shows, our code, how bad the call is)
    ("inherited", "class Ours(Trainer):\n    pass\n\nOurs(1, tokenizer=2)\n", ["will break"]),
    (
        "behind a mixin without one",
        "class Mixin:\n    def loss(self): ...\n\nclass Ours(Mixin, Trainer):\n    pass\n\nOurs(1, tokenizer=2)\n",
        ["will break"],
    ),
    ("handed on", PASSES_ON.format("size, *args, ", "pass", "*args, ", "Ours(1, 2, tokenizer=2)"), ["will break"]),
    ("taken out before", PASSES_ON.format("", "kwargs.pop('tokenizer')", "1, ", "Ours(tokenizer=2)"), []),
    ("taken by ours", PASSES_ON.format("tokenizer=None, ", "pass", "1, ", "Ours(tokenizer=2)"), []),
    (
        "of another base that comes first",
        "from sail import Sail\n\nclass Ours(Sail, Trainer):\n    pass\n\nOurs(1, tokenizer=2)\n",
        [],
    ),
    ("what stays is passed", "class Ours(Trainer):\n    pass\n\nOurs(1, data=2)\n", []),
]


@pytest.mark.parametrize(("ours", "said"), [row[1:] for row in BUILDS], ids=[row[0] for row in BUILDS])
def test_a_call_of_our_class_runs_the_constructor_that_it_inherits(tmp_path: Path, ours: str, said: list[str]) -> None:
    sides = [{"keel/trainer.py": MAKER.format(words)} for words in ("tokenizer=None, data=None", "data=None")]
    found = couple(tmp_path, f"from keel.trainer import Trainer\n\n{ours}", sides[0], {**sides[1]})
    calls = [one for one in found if one.touch.value == "calls" and one.target == "keel.trainer.Trainer"]
    assert [one.consequence.value for one in calls] == said


TOKENS = "class Tokens:\n    def add(self, words):\n        return words\n"
BASE_OF = "class Base(Tokens):\n    def run(self, x):\n        return self.add(x)\n"
MERGED = "class Base:\n    def run(self, x):\n        return self.add(x)\n\n    def add(self, words{}):\n        return words\n"
THROUGH = [
    # (what it shows, our code, what became of `add`, what is said)
    ("a variable", "def go(base: keel.Base):\n    return base.add(1)\n", "", []),
    ("a variable, called otherwise", "def go(base: keel.Base):\n    return base.add(1)\n", ", kind", ["will break"]),
    ("our class", "class Ours(keel.Base):\n    def go(self):\n        return self.add(1)\n", "", []),
    (
        "our class, called otherwise",
        "class Ours(keel.Base):\n    def go(self):\n        return self.add(1)\n",
        ", kind",
        ["will break"],
    ),
    ("our override", "class Ours(keel.Base):\n    def add(self, words):\n        return 1\n", "", []),
]


@pytest.mark.parametrize(("ours", "more", "said"), [row[1:] for row in THROUGH], ids=[row[0] for row in THROUGH])
def test_a_member_is_sought_on_the_class_of_the_object(tmp_path: Path, ours: str, more: str, said: list[str]) -> None:
    """The class that held it at the pin was merged into the one that our code names."""
    before = {"keel/base.py": f"{TOKENS}\n\n{BASE_OF}", "keel/__init__.py": "from keel.base import Base\n"}
    after = {
        "keel/base.py": None,
        "keel/core.py": MERGED.format(more),
        "keel/__init__.py": "from keel.core import Base\n",
    }
    if "class Ours" in ours:
        after = {"keel/base.py": MERGED.format(more)}
    found = couple(tmp_path, f"import keel\n\n\n{ours}", before, after)
    told = [one for one in found if one.target.endswith("add") and one.consequence.value != "ok"]
    assert [one.consequence.value for one in told] == said, [one.detail for one in told]


TRAINER = "class Trainer:\n    def load(self{0}):\n        return 1\n    def evaluate(self, data):\n        return self.load({1})\n"
HANDS = (
    "class Trainer:\n    def load(self, *args, **kwargs):\n        return self.inner(*args, **kwargs)\n"
    "    def inner(self{0}):\n        return 1\n    def evaluate(self, data):\n        return self.load({1})\n"
)
SIBLING = "class Sibling(Trainer):\n    def other(self):\n        return self.load(1)\n"
BOX = "class Box:\n    def __init__(self):\n        self.trainer = Trainer()\n    def go(self):\n        return self.trainer.load({})\n"
MINE = "from keel.trainer import Trainer\n\nclass Mine(Trainer):\n    def load(self):\n        return 2\n"
STARRED = (
    MINE,
    HANDS.format(", data=None", "data=data"),
    HANDS.format("", ""),
)
IDLE = TRAINER.format("", "").replace("self.load()", "data")
BELOW = "class Sibling(Trainer):\n    def load(self):\n        return super().load()\n"
REACHED = [
    # (what it shows, our class, pin, tip, how bad the override of `load` is)
    ("upstream begins to pass it", MINE, TRAINER.format("", ""), TRAINER.format(", data=None", "data"), "will break"),
    (
        "the only caller is a method that ours replaces",
        f"{MINE}    def evaluate(self, data):\n        return self.load()\n",
        TRAINER.format("", ""),
        TRAINER.format(", data=None", "data"),
        "ok",
    ),
    (
        "the only caller is a method that a class of ours between replaces",
        MINE.replace("Mine(Trainer)", "Mine(Middle)").replace(
            "\nclass", "\nclass Middle(Trainer):\n    def evaluate(self, data):\n        return self.load()\n\nclass"
        ),
        TRAINER.format("", ""),
        TRAINER.format(", data=None", "data"),
        "ok",
    ),
    (
        "a class of ours between goes on to upstream's caller",
        MINE.replace("Mine(Trainer)", "Mine(Middle)").replace(
            "\nclass",
            "\nclass Middle(Trainer):\n    def evaluate(self, data):\n        return super().evaluate(data)\n\nclass",
        ),
        TRAINER.format("", ""),
        TRAINER.format(", data=None", "data"),
        "will break",
    ),
    (
        "ours goes on to upstream's caller",
        f"{MINE}    def evaluate(self, data):\n        return super().evaluate(data)\n",
        TRAINER.format("", ""),
        TRAINER.format(", data=None", "data"),
        "will break",
    ),
    (
        "only a class beside ours calls it so",
        MINE,
        TRAINER.format("", "") + SIBLING,
        TRAINER.format(", data=None", "") + SIBLING,
        "ok",
    ),
    (
        "only an object that upstream makes itself is called so",
        MINE,
        TRAINER.format("", "") + BOX.format(""),
        TRAINER.format(", data=None", "") + BOX.format("data=1"),
        "ok",
    ),
    (
        "an object that upstream makes is called so, and ours is kept in its place",
        f"{MINE}\nclass Keep:\n    def __init__(self):\n        self.trainer = Mine()\n",
        TRAINER.format("", "") + BOX.format(""),
        TRAINER.format(", data=None", "") + BOX.format("data=1"),
        "will break",
    ),
    (
        "it hands its stars on to a method that takes more",
        STARRED[0],
        STARRED[1],
        STARRED[1] + "LATER = 1\n",
        "look at",
    ),
    ("to one that takes more now, and is passed it", STARRED[0], STARRED[2], STARRED[1], "will break"),
    (
        "to nobody knows whom",
        STARRED[0],
        STARRED[2].replace("self.inner(", "self.hull.inner("),
        STARRED[1].replace("self.inner(", "self.hull.inner("),
        "ok",
    ),
    (
        "it did not fit at the pin either",
        MINE,
        TRAINER.format(", data=None", "data"),
        TRAINER.format(", data=None", "data") + "LATER = 1\n",
        "look at",
    ),
    ("nobody passes it", MINE, TRAINER.format(", data=None", ""), TRAINER.format(", data=None", ""), "ok"),
    ("upstream does not call it any more", MINE, TRAINER.format("", ""), IDLE, "may break"),
    ("nor do classes of upstream's below", MINE, TRAINER.format("", ""), IDLE + BELOW, "may break"),
    ("upstream never called it", MINE, IDLE, IDLE + "LATER = 1\n", "ok"),
    (
        "only a method called it that ours replaces",
        f"{MINE}    def evaluate(self, data): ...\n",
        TRAINER.format("", ""),
        IDLE,
        "ok",
    ),
    (
        "our class calls it itself",
        f"{MINE}    def go(self):\n        self.load()\n",
        TRAINER.format("", ""),
        IDLE,
        "ok",
    ),
    (
        "upstream calls it elsewhere now",
        MINE,
        TRAINER.format("", ""),
        f"{IDLE}def go(one):\n    return one.load()\n",
        "ok",
    ),
    ("upstream asks for it by its name", MINE, TRAINER.format("", ""), f"{IDLE}STEPS = ['load']\n", "ok"),
]


@pytest.mark.parametrize(("shows", "ours", "before", "after", "consequence"), REACHED, ids=[row[0] for row in REACHED])
def test_an_override_breaks_where_upstream_reaches_it(
    tmp_path: Path, shows: str, ours: str, before: str, after: str, consequence: str
) -> None:
    found = couple(tmp_path, ours, {"keel/trainer.py": before}, {"keel/trainer.py": after, "x.py": ""})
    (row,) = [one for one in found if one.touch.value == "overrides" and one.target.endswith("load")]
    assert row.consequence.value == consequence
    assert ("already so at the pin" in row.detail) == (consequence == "look at")


def test_what_an_override_needs_is_not_said_to_be_passed(tmp_path: Path) -> None:
    """Upstream dropped the parameter: it calls without it."""
    ours = "from keel.trainer import Trainer\n\n\nclass Mine(Trainer):\n    def load(self, data):\n        return 2\n"
    before, after = TRAINER.format(", data", "1"), TRAINER.format("", "")
    found = couple(tmp_path, ours, {"keel/trainer.py": before}, {"keel/trainer.py": after})
    (row,) = [one for one in found if one.touch is Touch.OVERRIDE]
    told = "our override needs data, which upstream does not pass; upstream calls it that way at keel/trainer.py:5"
    assert (row.consequence, row.detail) == (Consequence.WILL_BREAK, told)


def test_an_override_that_only_our_own_code_calls_is_as_it_was(tmp_path: Path) -> None:
    before, after = {"keel/trainer.py": TRAINER.format("", "")}, {"keel/trainer.py": IDLE, "x.py": ""}
    found = couple(tmp_path, MINE, before, dict(after), steps={"stop calling it": {"keel/trainer.py": IDLE}})
    (row,) = [one for one in found if one.touch.value == "overrides"]
    assert row.detail == (
        "upstream called it at keel/trainer.py:5 and no code of the tip does, so our override is not called"
    )
    assert row.culprit is not None
    for text, consequence in (("x.load()", "ok"), ("load()", "may break"), ("super().load()", "may break")):
        ours = History.start(tmp_path / consequence / text[0])
        tree = Tree(open_repository(ours.path), ours.commit("ours", {"harbour/more.py": f"def go(x):\n    {text}\n"}))
        assert [one.consequence.value for one in drop_reached([row], tree)] == [consequence], text


def test_super_of_a_class_of_ours_is_no_call_of_upstream(tmp_path: Path) -> None:
    ours = (
        "from keel.trainer import Trainer\n\nclass Middle(Trainer):\n    def load(self, data, fast):\n        return 2\n\n"
        "class Mine(Middle):\n    def run(self):\n        return super().load(1, fast=True)\n"
        "    def go(self):\n        return super().evaluate(1)\n"
    )
    before = TRAINER.format(", data=None, fast=1", "")
    after = TRAINER.format(", data=None", "").replace("evaluate(self, data)", "evaluate(self)")
    found = couple(tmp_path, ours, {"keel/trainer.py": before}, {"keel/trainer.py": after})
    rows = [(one.target, one.consequence.value) for one in found if one.touch.value == "calls"]
    assert rows == [("keel.trainer.Trainer.evaluate", "will break")]


@pytest.mark.parametrize(
    ("user", "consequence"),
    [
        (
            "from keel.layer import Layer\n\ndef use(layer: Layer):\n    return layer.forward(1, 2, cache={})\n",
            "will break",
        ),
        (
            (
                "from keel.layer import Layer\n\ndef use():\n    layer = Layer(1)\n    return layer.forward(1, 2, "
                "cache={})\n"
            ),
            "may break",
        ),
        ("from keel.layer import Layer\n\ndef use(layer):\n    return layer.forward(1, 2, cache={})\n", "may break"),
        (
            (
                "from keel.layer import Layer\n\ndef use(layer: Layer):\n    layer = make()\n    return "
                "layer.forward(1, 2, cache={})\n"
            ),
            "may break",
        ),
        ("from keel.layer import Layer\n\ndef use(layer: Layer):\n    return layer.forward(1, 2)\n", "ok"),
    ],
    ids=["annotated", "constructed", "unknown", "two makers", "not passed"],
)
def test_calls_on_variables_whose_class_is_written(tmp_path: Path, user: str, consequence: str) -> None:
    """Upstream's own functions take a Layer, ours is one."""
    after = BASE.replace("x, mask):", "x, mask, cache=None):")
    other = "class Other:\n    def forward(self, x): ...\n"
    found = couple(
        tmp_path,
        SUBCLASS,
        {"keel/layer.py": BASE, "keel/use.py": other},
        {"keel/layer.py": after, "keel/use.py": user + other},
    )
    (row,) = [one for one in found if one.touch.value == "overrides" and one.target.endswith("forward")]
    assert row.consequence.value == consequence


def test_a_call_on_another_class_proves_nothing(tmp_path: Path) -> None:
    after = BASE.replace("x, mask):", "x, mask, cache=None):")
    other = (
        "class Other:\n    def forward(self, x, mask, cache): ...\n    def run(self, x):\n        return "
        "self.forward(x, 1, cache={})\n"
    )
    found = couple(tmp_path, SUBCLASS, {"keel/layer.py": BASE, "keel/more.py": other}, {"keel/layer.py": after})
    (row,) = [one for one in found if one.touch.value == "overrides" and one.target.endswith("forward")]
    assert row.consequence.value == "ok"


def patch_row(severity: str, kind: str, location: str = "harbour/keel.py:2") -> Drift:
    return drift_row(severity, kind, location, "keel.run.run")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (patch_row("breaks", "signature-changed"), ("cannot accept", "will break")),
        (patch_row("look", "signature-changed"), ("signature changed", "look at")),
        (patch_row("ok", "body-changed"), ("body changed", "ok")),
        (patch_row("breaks", "signature-changed", "harbour/keel.py:9"), ("body changed", "look at")),
        (patch_row("look", "unresolved"), ("body changed", "look at")),
    ],
    ids=["breaks", "looks", "wraps", "another line", "undecided"],
)
def test_a_patch_has_one_verdict(tmp_path: Path, row: Drift, expected: tuple[str, str]) -> None:
    ours = "import keel.run as r\nr.run = print\n"
    couplings = couple(tmp_path, ours, {"keel/run.py": RUN}, {"keel/run.py": RUN.replace("+=", "-=")})
    (found,) = [one for one in agree_on_patches(couplings, [row]) if one.touch.value == "patches"]
    assert (found.state.value, found.consequence.value) == expected


def test_each_row_speaks_for_its_line_and_for_those_that_put_back(tmp_path: Path) -> None:
    """Two patched lines have two rows; the line that puts the original back has none and is no place of its own."""
    ours = "import keel.run as r\nold = r.run\nr.run = print\nr.run = old\nr.run = max\n"
    rows = [
        patch_row("look", "signature-changed", "harbour/keel.py:3"),
        patch_row("breaks", "signature-changed", "harbour/keel.py:5"),
    ]
    after: dict[str, str | None] = {"keel/run.py": RUN.replace("y=1", "y=1, z=2")}
    couplings = couple(tmp_path, ours, {"keel/run.py": RUN}, after, find_owned(rows))
    found = [one for one in agree_on_patches(couplings, rows) if one.touch is Touch.PATCH]
    told = [(one.location.line, one.lines, one.consequence.value) for one in found]
    assert told == [(5, (), "will break"), (3, (4,), "look at")]


WIDER = RUN.replace("x, y=1", "x, group, y=1")
REFUSED_SINCE = [
    # (what it shows, upstream's file at the pin, in between, after the commit, how the call passes its one argument,
    # which of the two commits is to blame)
    ("a new parameter", RUN, RUN.replace("+=", "-="), WIDER, CallShape(positional=1), 1),
    ("back in another form: who took it away broke the call", RUN, "other = 1\n", WIDER, CallShape(positional=1), 0),
    (
        "a decorator that took another name",
        f"from keel.old import renames\n\n\n@renames('old', new='x')\n{RUN}",
        f"from keel.old import renames\n\n\n@renames('old', new='x')\n{RUN}".replace("+=", "-="),
        RUN,
        CallShape(positional=0, keywords=("old",)),
        1,
    ),
]


@pytest.mark.parametrize(
    ("before", "between", "after", "call", "to_blame"),
    [row[1:] for row in REFUSED_SINCE],
    ids=[row[0] for row in REFUSED_SINCE],
)
def test_a_call_that_no_longer_binds_names_its_commit(
    tmp_path: Path, before: str, between: str, after: str, call: CallShape, to_blame: int
) -> None:
    upstream = History.start(tmp_path / "up")
    pin = upstream.commit("pin", {"keel/__init__.py": "", "keel/run.py": before})
    commits = (
        upstream.commit("in between", {"keel/run.py": between}),
        upstream.commit("the signature", {"keel/run.py": after}),
    )
    tip = upstream.commit("later", {"keel/run.py": after.replace("+=", "*=")})
    repository = open_repository(upstream.path)
    resolvers = [Resolver(build_index([Part(tree=Tree(repository, one), packages=PACKAGES)])) for one in (pin, tip)]
    comparer = Comparer(resolvers[0], resolvers[1], [Tracer(repository, pin, tip)])
    place = Place(
        touch=Touch.CALL,
        target="keel.run.run",
        location=Location("a.py", 1),
        call=call,
        imported="keel.run.run",
    )
    (found,) = Judge(comparer).find_couplings([place])
    assert (found.culprit, found.consequence) == (commits[to_blame], Consequence.WILL_BREAK)
    # who took it away broke the call; what is said of it now, who brought it back did
    went = [("upstream removed the name", commits[0]), ("at the tip run needs group, which is not passed", commits[1])]
    assert list(found.causes) == ([] if to_blame else went)
    assert found.detail.startswith("upstream removed it in ") is not to_blame


OLD_NAMES = (
    "from keel.old import renames\n\n\n@renames('old', new='x')\ndef run(x, wide=None, *, far=None):\n    return x\n"
)
EACH = [
    # (what it shows, upstream's file at the pin, after one commit, after the other, our call, what is told of which)
    (
        "a decorator stays while a parameter goes",
        OLD_NAMES,
        OLD_NAMES.replace(", wide=None", ""),
        OLD_NAMES.replace(", wide=None", "").replace("@renames('old', new='x')\n", ""),
        CallShape(positional=0, keywords=("old", "wide")),
        [
            ("at the tip run does not take the keyword wide", 0),
            ("at the tip run needs x, which our call passes as old", 1),
        ],
    ),
    (
        "two new parameters",
        "def run(x):\n    return x\n",
        "def run(x, deep):\n    return x\n",
        "def run(x, deep, far):\n    return x\n",
        CallShape(positional=1),
        [
            ("at the tip run needs deep, which is not passed", 0),
            ("at the tip run needs far, which is not passed", 1),
        ],
    ),
    (
        "one commit did it all",
        "def run(x):\n    return x\n",
        "def run(x, deep, far):\n    return x\n",
        "def run(x, deep, far):\n    return [x]\n",
        CallShape(positional=1),
        [],
    ),
]


@pytest.mark.parametrize(("shows", "before", "one", "other", "call", "told"), EACH, ids=[row[0] for row in EACH])
def test_each_argument_names_the_commit_that_changed_it(
    tmp_path: Path, shows: str, before: str, one: str, other: str, call: CallShape, told: list[tuple[str, int]]
) -> None:
    upstream = History.start(tmp_path / "up")
    pin = upstream.commit("pin", {"keel/__init__.py": "", "keel/run.py": before})
    commits = [upstream.commit(str(number), {"keel/run.py": text}) for number, text in enumerate((one, other))]
    tip = upstream.commit("later", {"keel/run.py": f"{other}\n\nLATER = 1\n"})
    repository = open_repository(upstream.path)
    resolvers = [Resolver(build_index([Part(tree=Tree(repository, at), packages=PACKAGES)])) for at in (pin, tip)]
    comparer = Comparer(resolvers[0], resolvers[1], [Tracer(repository, pin, tip)])
    name = "keel.run.run"
    place = Place(touch=Touch.CALL, target=name, location=Location("a.py", 1), call=call, imported=name)
    (found,) = Judge(comparer).find_couplings([place])
    # the first of them broke the call
    assert found.culprit == commits[0]
    assert list(found.causes) == [(words, commits[number]) for words, number in told]


FIELDS = "from dataclasses import dataclass\n@dataclass\nclass Run:\n    x: int\n    {}: int = 0\n"
TYPED = "class Run:\n    def go(self, x) -> {}:\n        return x\n"
TAKEN = "import keel.run\nfrom keel.run import Run\n"
SINCE = [
    # (what it shows, our file, upstream's at the pin, in between, after the commit)
    (
        "an attribute",
        f"{TAKEN}class Mine(Run):\n    def a(self):\n        return self.speed\n",
        "class Run:\n    def __init__(self):\n        self.speed = 1\n",
        "class Run:\n    def __init__(self):\n        self.size = self.speed = 1\n",
        "class Run:\n    def __init__(self):\n        self.size = 1\n",
    ),
    (
        "an attribute whose name a parameter still has",
        f"{TAKEN}class Mine(Run):\n    def a(self):\n        return self.speed\n",
        "class Run:\n    def __init__(\n        self,\n        speed: int,\n    ):\n        self.speed = speed\n",
        "class Run:\n    def __init__(\n        self,\n        speed: int,\n    ):\n        self.speed = [speed]\n",
        "class Run:\n    def __init__(\n        self,\n        speed: int,\n    ):\n        self.pace = speed\n",
    ),
    (
        "a class that is a function",
        f"{TAKEN}def a(x):\n    return isinstance(x, keel.run.Run)\n",
        "class Run:\n    pass\n",
        "class Run:\n    x = 1\n",
        "def Run(x):\n    return x\n",
    ),
    (
        "how many values it returns",
        "from keel.run import run\ndef a(x):\n    b, c = run(x)\n",
        "def run(x):\n    return x, 1\n",
        "def run(x):\n    return 1, x\n",
        "def run(x):\n    return x, 1, 2\n",
    ),
    (
        "a field of a class whose constructor nobody wrote",
        f"{TAKEN}def a(x):\n    return Run(x=x, wide=1)\n",
        FIELDS.format("wide"),
        FIELDS.format("wide").replace("= 0", "= 1"),
        FIELDS.format("far"),
    ),
    (
        "what a method returns",
        f"{TAKEN}class Mine(Run):\n    def go(self, x):\n        return x\n",
        TYPED.format("tuple[int, str]"),
        TYPED.format("tuple[int, str]").replace("return x", "return [x]"),
        TYPED.format("Box").replace("return x", "return Box(x)"),
    ),
    (
        "an override that upstream may not reach",
        f"{TAKEN}class Mine(Run):\n    def go(self, x):\n        return x\n",
        "class Run:\n    def go(self, x):\n        return x\ndef walk(a):\n    a.go(1)\n",
        "class Run:\n    def go(self, x):\n        return [x]\ndef walk(a):\n    a.go(1)\n",
        "class Run:\n    def go(self, x, far=0):\n        return x\ndef walk(a):\n    a.go(1, far=2)\n",
    ),
    (
        "an override that took no other new argument either, which nothing passes",
        f"{TAKEN}class Mine(Run):\n    def go(self, x):\n        return x\n",
        "class Run:\n    def go(self, x):\n        return x\n    def walk(self):\n        self.go(1)\n",
        "class Run:\n    def go(self, x, deep=0):\n        return x\n    def walk(self):\n        self.go(1)\n",
        "class Run:\n    def go(self, x, deep=0, far=0):\n        return x\n    def walk(self):\n        self.go(1, far=2)\n",
    ),
]


@pytest.mark.parametrize(
    ("ours", "before", "between", "after"), [row[1:] for row in SINCE], ids=[row[0] for row in SINCE]
)
def test_a_place_names_the_commit_since_which_it_does_not_fit(
    tmp_path: Path, ours: str, before: str, between: str, after: str
) -> None:
    steps = {"between": {"keel/run.py": between}, "culprit": {"keel/run.py": after}}
    found = couple(tmp_path, ours, {"keel/run.py": before}, {"keel/run.py": f"{after}\n\nx = 1\n"}, steps=steps)
    told = [one.culprit for one in found if one.consequence in {Consequence.WILL_BREAK, Consequence.MAY_BREAK}]
    commits = read_commits(open_repository(tmp_path / "up"), sorted({one for one in told if one}))
    assert told, found
    assert [one.subject for one in commits] == ["culprit"], found
    assert None not in told, found


def test_of_calls_that_are_known_only_what_they_pass_is_told(tmp_path: Path) -> None:
    """A parameter at another place harms nobody who passes it by name."""
    run = "class Run:\n    def go(self, a, {}b=0, c=0):\n        return a\n    def walk(self):\n        self.go(1, {}c=2)\n"
    ours = "from keel.run import Run\nclass Mine(Run):\n    def go(self, a, b=0, c=0):\n        return a\n"
    before, after = (
        {"keel/run.py": run.format(*("",) * 2)},
        {"keel/run.py": run.format("far=0, ", "far=1, ")},
    )
    (row,) = [one for one in couple(tmp_path, ours, before, {**after}) if one.touch is Touch.OVERRIDE]
    assert row.consequence is Consequence.WILL_BREAK
    assert row.detail == "our override does not take far; upstream passes that at keel/run.py:5"


HULL = """\
from torch.nn import Module
from keel.config import RunConfig

class Base(Module):
    def __init__(self, config: RunConfig):
        self.config = config
        self.width = 1

class Hull(Base):
    def __init__(self, config):
        super().__init__(config)
        self.depth = 2
        self.register_buffer("ballast", None)
"""
OUR_HULL = """\
from keel.hull import Hull

class Ours(Hull):
    def __init__(self, config):
        super().__init__(config)
        self.own = 1

    def go(self):
        self.own += 1
        self.config.steps = 3
        return self.width, self.depth, self.ballast, self.own, self.unknown, self.config.seed, self.config.steps
"""


def rows_of(found: list[Coupling]) -> list[tuple[str, str, str, str]]:
    return [
        (one.touch.value, one.target, one.state.value, one.consequence.value)
        for one in found
        if one.consequence.value != "ok"
    ]


def test_attributes_that_methods_of_upstream_set(tmp_path: Path) -> None:
    """Set by a base's method or as a buffer they count as members; what we set ourselves, or nobody sets, does not."""
    after = HULL.replace("self.width = 1", "pass").replace("self.depth = 2", "self.depth_m = 2")
    config = CONFIG.replace("    seed: int = 0\n", "")
    found = couple(
        tmp_path,
        OUR_HULL,
        {"keel/hull.py": HULL, "keel/config.py": CONFIG},
        {"keel/hull.py": after, "keel/config.py": config},
    )
    rows = [row for row in rows_of(found) if row[0] in {"reads the attribute", "reads the config field"}]
    assert rows == [
        ("reads the attribute", "keel.hull.Base.width", "removed", "will break"),
        ("reads the attribute", "keel.hull.Hull.depth", "removed", "will break"),
        ("reads the config field", "keel.config.RunConfig.seed", "removed", "will break"),
    ]


def test_attributes_that_are_still_set_are_fine(tmp_path: Path) -> None:
    found = couple(
        tmp_path,
        OUR_HULL,
        {"keel/hull.py": HULL, "keel/config.py": CONFIG},
        {"keel/hull.py": HULL.replace('"ballast", None', '"ballast", 0')},
    )
    assert [row for row in rows_of(found) if row[0] == "reads the attribute"] == []


FN = """\
from torch.autograd import Function

class Swish(Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale

    @staticmethod
    def backward(ctx, grad):
        return grad, None
"""
KERNEL = "import triton\n\n\n@triton.jit\ndef add(x, n):\n    return x + n\n"
TYPED = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from keel.engine import run\n"
UNPACK = "from keel.run import pair\n\n\ndef go():\n    one, two = pair(1)\n    return one + two\n"
PAIR = "def pair(x):\n    total = x + 1\n    return total, x\n"
ONE = "def one(x):\n    y = x + 1\n    return y\n\n\ndef go(x):\n    z = one(x)\n    return z\n"
TWO = ONE.replace("return y", "return y, 2").replace("z =", "z, _ =")
UNSEEN = [
    # (what it shows, our code, pin, tip, [(touch, target, state, consequence)] beyond "ok")
    (
        "apply calls forward",
        "from keel.fn import Swish\n\n\ndef go(x):\n    return Swish.apply(x, 2)\n",
        {"keel/fn.py": FN},
        {"keel/fn.py": FN.replace("x, scale)", "x, scale, bias)")},
        [("calls", "keel.fn.Swish.forward", "no longer binds", "will break")],
    ),
    (
        "apply still binds",
        "from keel.fn import Swish\n\n\ndef go(x):\n    return Swish.apply(x, 2)\n",
        {"keel/fn.py": FN},
        {"keel/fn.py": FN.replace("x, scale)", "x, scale, bias=None)")},
        [],
    ),
    (
        "a kernel with its grid",
        "from keel.fn import add\n\n\ndef go(x):\n    add[(1,)](x, 2, num_warps=4)\n",
        {"keel/fn.py": KERNEL},
        {"keel/fn.py": KERNEL.replace("x, n", "x, y, n")},
        [("calls", "keel.fn.add", "no longer binds", "will break")],
    ),
    (
        "left for type checking only",
        "from keel.run import run\nrun(1)\n",
        {"keel/run.py": "from keel.engine import run\n", "keel/engine.py": RUN},
        {"keel/run.py": TYPED},
        [("imports the name", "keel.run.run", "no longer re-exported", "will break")],
    ),
    (
        "another number of results",
        UNPACK,
        {"keel/run.py": PAIR},
        {"keel/run.py": PAIR.replace("return total, x", "return total, x, 3")},
        [("calls", "keel.run.pair", "no longer binds", "will break")],
    ),
    (
        "the same number of results",
        UNPACK,
        {"keel/run.py": PAIR},
        {"keel/run.py": PAIR.replace("return total, x", "return x, total")},
        [],
    ),
    (
        "a tuple where one value was",
        "from keel.run import one\nx = one(1)\n",
        {"keel/run.py": ONE},
        {"keel/run.py": TWO},
        [("calls", "keel.run.one", "no longer binds", "will break")],
    ),
    (
        "a tuple where one value was, given to a function",
        "from keel.run import one\n\n\ndef go(found):\n    found.append(one(1))\n",
        {"keel/run.py": ONE},
        {"keel/run.py": TWO},
        [("calls", "keel.run.one", "no longer binds", "will break")],
    ),
    (
        "one value where a tuple was",
        "from keel.run import one\nx, y = one(1)\n",
        {"keel/run.py": TWO},
        {"keel/run.py": ONE},
        [("calls", "keel.run.one", "no longer binds", "will break")],
    ),
    (
        "a tuple where one value was, printed and handed on to who may ask",
        "from keel.run import one\n\n\ndef go():\n    print(one(1))\n    split(one(2))\n    return one(3)\n",
        {"keel/run.py": ONE},
        {"keel/run.py": TWO},
        [],
    ),
    (
        "a tuple where one value was, and ours asks",
        "from keel.run import one\n\n\ndef go():\n    x = one(1)\n    return x[0] if isinstance(x, tuple) else x\n",
        {"keel/run.py": ONE},
        {"keel/run.py": TWO},
        [],
    ),
    (
        "upstream takes apart at once what it took apart later",
        "from keel.run import one\nx = one(1)\n",
        {"keel/run.py": ONE.replace("x + 1", "(x, 1)")},
        {"keel/run.py": TWO.replace("x + 1", "(x, 2)").replace("return y, 2", "return y")},
        [],
    ),
]


@pytest.mark.parametrize(("shows", "ours", "before", "after", "expected"), UNSEEN, ids=[row[0] for row in UNSEEN])
def test_calls_that_do_not_look_like_calls(
    tmp_path: Path,
    shows: str,
    ours: str,
    before: dict[str, str],
    after: dict[str, str | None],
    expected: list[tuple[str, str, str, str]],
) -> None:
    assert rows_of(couple(tmp_path, ours, before, after)) == expected


OWN_KEYS = [
    # (what it shows, keys of our own configuration, consequence)
    ("nobody sets it", (), "will break"),
    ("our configuration sets it", ("legacy",), "look at"),
    ("it sets another", ("other",), "will break"),
]


@pytest.mark.parametrize(("shows", "ours", "consequence"), OWN_KEYS, ids=[row[0] for row in OWN_KEYS])
def test_a_dropped_flag_that_our_configuration_sets_breaks_nothing(
    shows: str, ours: tuple[str, ...], consequence: str
) -> None:
    place = Coupling(
        touch=Touch.FIELD,
        target=f"{FLAG}legacy",
        location=Location("harbour/keel.py", 3),
        state=State.OK,
        consequence=Consequence.OK,
    )
    gone = SurfaceRow(
        change=SurfaceChange.REMOVED,
        kind="flag",
        name="legacy",
        was="--legacy",
        now=None,
        pin_evidence=None,
        tip_evidence=None,
    )
    (told,) = settle_flags([place], {"legacy": gone}, frozenset(), ours)
    assert told.consequence == consequence


def test_keys_of_our_configuration_are_read_at_every_depth(tmp_path: Path) -> None:
    ours = History.start(tmp_path / "down")
    files: dict[str, str | bytes | None] = {
        "configs/a.yaml": "legacy: false\nmodel:\n  - deep: 1\n",
        "other/b.yaml": "apart: 1\n",
        "configs/c.yaml": "a: [",
    }
    tree = Tree(open_repository(ours.path), ours.commit("ours", files))
    assert find_own_keys(tree, ("configs",), ["legacy", "deep", "apart", "gone"]) == {"legacy", "deep"}


CREW = "class Base:\n    def __init__(self, {0}):\n        self.{0} = {0}\n    def go(self):\n        return 1\n\n"
SUB = "class Sub(Base):\n    def {}(self):\n        return 1, 2, 3\n"
READS_LAST = "from keel.run import Base\ndef f(one: Base):\n    return one.last\n"
TAKES_FOUR = "from keel.run import Base\ndef f(one: Base):\n    a, b, c, d = one.more()\n"
BELOW_IT = [
    # (what it shows, ours, the pin, the tip, target, state and consequence)
    ("gone", READS_LAST, SUB, ("config", SUB), [("Base.last", "removed", "will break")]),
    (
        "gone, and a class below has it",
        READS_LAST,
        SUB,
        ("config", SUB + "    def set(self):\n        self.last = 1\n"),
        [("Base.last", "removed", "may break")],
    ),
    (
        "gone, and a class below sets what a table names",
        READS_LAST,
        SUB,
        ("config", SUB + "    def set(self):\n        for one in ('last',):\n            setattr(self, one, 1)\n"),
        [("Base.last", "removed", "may break")],
    ),
    (
        "gone, and a class below has the word as a text alone",
        READS_LAST,
        SUB,
        ("config", SUB + "    def said(self):\n        return [hasattr(self, one) for one in ('last',)]\n"),
        [("Base.last", "removed", "will break")],
    ),
    (
        "gone, and set from outside",
        READS_LAST,
        SUB,
        ("config", SUB + "\ndef mend(sub):\n    sub.last = 1\n"),
        [("Base.last", "removed", "may break")],
    ),
    (
        "a method that went to a class below",
        READS_LAST.replace("one.last", "one.more()"),
        "    def more(self):\n        return 1\n\nclass Sub(Base):\n    pass\n",
        ("last", SUB.format("more")),
        [("Base.more", "removed", "may break")],
    ),
    (
        "what one class below alone has",
        TAKES_FOUR,
        SUB,
        ("last", SUB),
        [("Sub.more", "fits neither pin nor tip", "look at")],
    ),
    (
        "what two below have",
        TAKES_FOUR,
        SUB + "\nclass Other(Base):\n    def more(self): ...\n",
        ("last", SUB),
        [],
    ),
    (
        "what one class below had, and another has",
        TAKES_FOUR,
        SUB,
        ("last", SUB.format("less") + "\nclass Other(Base):\n    def more(self): ...\n"),
        [("Sub.more", "renamed", "may break")],
    ),
]


@pytest.mark.parametrize(
    ("ours", "pin", "tip", "said"), [row[1:] for row in BELOW_IT], ids=[row[0] for row in BELOW_IT]
)
def test_what_is_said_to_be_of_a_class_may_be_of_one_below(
    tmp_path: Path, ours: str, pin: str, tip: tuple[str, str], said: list[tuple[str, str, str]]
) -> None:
    before = {"keel/run.py": CREW.format("last") + pin.replace("{}", "more")}
    found = couple(tmp_path, ours, before, {"keel/run.py": CREW.format(tip[0]) + tip[1].replace("{}", "more")})
    told = [one for one in found if one.consequence.value != "ok" and one.touch is not Touch.IMPORT]
    assert [(one.target.removeprefix("keel.run."), one.state.value, one.consequence.value) for one in told] == said


STANDS = "class Base:\n    def __init__(self, x):\n        self.x = x\n{}\n    def go(self):\n        return self.{}\n"
ALL = "    def all(self):\n        return self.go()\n"
ALONE = [
    # (what it shows, our class, what upstream's class has more, what is said of our constructor)
    ("nobody is seen to ask", "class Ours(Base):\n    def __init__(self, x):\n        self.x = x\n", "", "may break"),
    ("upstream's class asks", "class Ours(Base):\n    def __init__(self, x):\n        self.x = x\n", ALL, "will break"),
    (
        "ours asks",
        "class Ours(Base):\n    def __init__(self, x):\n        self.x = x\n    def use(self):\n        self.go()\n",
        "",
        "will break",
    ),
    ("upstream's runs", "class Ours(Base):\n    def __init__(self, x):\n        super().__init__(x)\n", ALL, "look at"),
    ("ours sets it", "class Ours(Base):\n    def __init__(self, x):\n        self.y = x\n", ALL, "look at"),
    (
        "ours has its own",
        "class Ours(Base):\n    def __init__(self, x):\n        self.x = x\n    def go(self):\n        pass\n",
        ALL,
        "look at",
    ),
    ("others may set it", "class Ours(Base):\n    def __init__(self, x):\n        make(self)\n", ALL, "look at"),
    ("another base", "class Ours(Base, Other):\n    def __init__(self, x):\n        self.x = x\n", ALL, "look at"),
]


@pytest.mark.parametrize(("ours", "more", "said"), [row[1:] for row in ALONE], ids=[row[0] for row in ALONE])
def test_a_constructor_of_ours_that_never_runs_upstreams_lacks_what_that_sets(
    tmp_path: Path, ours: str, more: str, said: str
) -> None:
    text = f"from keel.run import Base\nfrom here import Other, make\n\n\n{ours}"
    then, now = (
        {"keel/run.py": STANDS.format("", "x")},
        {"keel/run.py": STANDS.format("        self.y = 1\n", "y") + more},
    )
    found = couple(tmp_path, text, then, {**now}, steps={"between": now, "after": {"keel/more.py": ""}})
    (made,) = [one for one in found if one.touch is Touch.OVERRIDE and one.target.endswith("__init__")]
    assert made.consequence.value == said, made.detail
    assert (made.culprit is None) is (said == "look at")


CONTEXT = (
    "class Context:\n    def __init__(self):\n        self.size = 1\n{last}\n\n"
    "def renew(old, new):\n    if old is None:\n        return new\n    return old\n\n\ndef make(old):\n    return [old]\n"
)
HANDED_BACK = [
    # (what it shows, our line, whether it is told)
    ("as it came", "pass", True),
    ("handed back", "context = renew(context, None)", True),
    ("made into something", "context = make(context)", False),
    ("handed back by another", "context = other(context)", False),
    ("made into something by a method of a text", "context = ' '.join(context)", False),
]


@pytest.mark.parametrize(("line", "is_told"), [row[1:] for row in HANDED_BACK], ids=[row[0] for row in HANDED_BACK])
def test_what_a_parameter_lost_is_told_also_where_it_was_handed_back(tmp_path: Path, line: str, is_told: bool) -> None:
    ours = (
        "from keel.run import Context, make, renew\nfrom here import other\n\n\n"
        f"def go(context: Context):\n    {line}\n    return context.last\n"
    )
    before, after = ({"keel/run.py": CONTEXT.format(last=last)} for last in ("        self.last = 1\n", ""))
    lost = [one for one in couple(tmp_path, ours, before, {**after}) if one.target.endswith(".last")]
    assert [(one.consequence, one.guarded) for one in lost] == [(Consequence.WILL_BREAK, False)] * is_told


REMOVED = [
    # (what it shows, what the module was before the pin, who is told)
    ("it once had the name", {"keel/run.py": "def go():\n    return 1\n"}, "upstream removed it in"),
    ("it never had it", {"keel/run.py": "def other():\n    return 1\n"}, ""),
]


@pytest.mark.parametrize(("earlier", "told"), [row[1:] for row in REMOVED], ids=[row[0] for row in REMOVED])
def test_an_import_that_fails_at_the_pin_says_who_removed_the_name(
    tmp_path: Path, earlier: dict[str, str], told: str
) -> None:
    both = {"keel/run.py": "x = 1\n"}
    found = couple(tmp_path, "from keel.run import go\n", both, {**both, "keel/new.py": ""}, earlier=earlier)
    (row,) = [one for one in found if one.target == "keel.run.go"]
    assert row.detail.startswith("the import fails: neither the pin nor the tip has this name")
    assert told in row.detail
    assert ("removed" in row.detail) == bool(told)


RENAMED_BODY = (
    "    a = q * cos\n    b = k * sin\n    for x in range(3):\n        a += x * b\n        b -= a\n"
    "    c = a + b\n    return c, a, b, q, k\n"
)


@pytest.mark.parametrize(("taken", "told"), [("q, k, cos, sin, part", "renamed"), ("q, k, cos, sin", "other")])
def test_an_import_says_where_the_new_name_takes_other_parameters(tmp_path: Path, taken: str, told: str) -> None:
    before = {"keel/m.py": f"def turn_all(q, k, cos, sin, part):\n{RENAMED_BODY}"}
    after: dict[str, str | None] = {
        "keel/m.py": f"def turn(q, k, cos, sin{taken.removeprefix('q, k, cos, sin')}):\n{RENAMED_BODY}"
    }
    (row,) = [
        one
        for one in couple(tmp_path, "from keel.m import turn_all\n", before, after)
        if one.target == "keel.m.turn_all"
    ]
    assert (row.new_target, row.detail) == ("keel.m.turn", "renamed, with other parameters" if told == "other" else "")


@pytest.mark.parametrize("number", [1, 2])
def test_a_merge_of_one_commit_is_told_by_that_commit(tmp_path: Path, number: int) -> None:
    upstream = History.start(tmp_path / "up")
    upstream.commit("start", {"keel/run.py": RUN})
    upstream.git("checkout", "-q", "-b", "work")
    commits = [upstream.commit(f"Work {one}", {f"keel/{one}.py": "x = 1\n"}) for one in range(number)]
    upstream.git("checkout", "-q", "main")
    upstream.git("merge", "-q", "--no-ff", "-m", "Merge branch 'work'", "work")
    merge = upstream.git("rev-parse", "HEAD")
    repository = open_repository(upstream.path)
    told = commits[0] if number == 1 else merge
    assert name_removal(Reason.HAD_UNTIL, merge, repository).name == told[:10]
    assert name_removal(Reason.HAD_UNTIL, commits[0], repository).name == commits[0][:10]


ORDERS = {
    "build, kind": "def set_up(build, kind): ...\n",
    "kind, build": "def set_up(kind, build=None): ...\n",
    "kind, plan": "def set_up(kind, plan=None): ...\n",
    "plan, build": "def set_up(plan, build=None, kind=None): ...\n",
}
CROSSED = [
    # (what it shows, an order before the pin, that of the pin, that of the tip, state)
    ("it was written for an older order", "build, kind", "kind, build", "kind, build", "fits neither pin nor tip"),
    ("and the tip has neither", "build, kind", "kind, build", "kind, plan", "fits neither pin nor tip"),
    ("the tip has that order again", "build, kind", "kind, build", "build, kind", "too new"),
    ("and the tip takes others elsewhere, too", "build, kind", "kind, build", "plan, build", "no longer binds"),
    ("no version had the order of the call", "kind, plan", "kind, build", "kind, build", None),
    ("the pin has the order", "kind, build", "build, kind", "kind, build", "no longer binds"),
]


@pytest.mark.parametrize(
    ("earlier", "before", "after", "state"), [row[1:] for row in CROSSED], ids=[row[0] for row in CROSSED]
)
def test_a_call_whose_variables_land_in_other_parameters(
    tmp_path: Path, earlier: str, before: str, after: str, state: str | None
) -> None:
    ours = "from keel.run import set_up\n\n\ndef go(build_, options):\n    return set_up(build_, options.kind)\n"
    orders = [{"keel/run.py": ORDERS[one]} for one in (earlier, before, after)]
    found = couple(tmp_path, ours, orders[1], {**orders[2], "keel/new.py": ""}, earlier=orders[0])
    told = [one.state.value for one in found if one.touch is Touch.CALL and one.state is not State.OK]
    assert told == ([state] if state else [])


def test_the_order_of_a_call_may_be_that_of_a_file_that_moved(tmp_path: Path) -> None:
    upstream = History.start(tmp_path / "up")
    text = RUN + RUN.replace("run", "walk")
    upstream.commit("start", {"keel/__init__.py": "", "keel/old.py": text + ORDERS["build, kind"]})
    move = {"keel/old.py": None, "keel/new.py": text + ORDERS["kind, build"]}
    moved = upstream.commit("move", {**move})
    (tree,) = [Tree(open_repository(upstream.path), moved)]
    side = Resolver(build_index([Part(tree=tree, packages=PACKAGES)]))
    call = CallShape(positional=2, names=("build", "kind"))
    found = find_crossed(side, side.resolve("keel.new.set_up"), call, bound=False)
    assert found is not None
    assert (found.pairs, found.commit) == ((("build", "kind"), ("kind", "build")), moved)


def test_who_put_a_parameter_before_ours_is_told_and_not_who_touched_ours(tmp_path: Path) -> None:
    """verl: a line of its own came between; the lines of the others had changed before and did so after."""
    upstream = History.start(tmp_path / "up")
    text = "def set_up(\n    build,\n{plan}    kind={kind},\n): ...\n"
    given = [("", "0"), ("", "None"), ("    plan=None,\n", "None"), ("    plan=None,\n", "1")]
    commits = [
        upstream.commit("x", {"keel/__init__.py": "", "keel/run.py": text.format(plan=plan, kind=kind)})
        for plan, kind in given
    ]
    side = Resolver(build_index([Part(tree=Tree(open_repository(upstream.path), commits[-1]), packages=PACKAGES)]))
    call = CallShape(positional=2, names=("build", "kind"))
    found = find_crossed(side, side.resolve("keel.run.set_up"), call, bound=False)
    assert found is not None
    assert (found.pairs, found.commit) == ((("kind", "plan"),), commits[2])


def test_a_member_that_an_enumeration_lacks_fails_already(tmp_path: Path) -> None:
    both = {"keel/kinds.py": "import enum\n\n\nclass Kind(enum.Enum):\n    one = 1\n"}
    ours = "from keel.kinds import Kind\n\n\ndef go(x):\n    return Kind.one if x else Kind.two\n"
    found = couple(tmp_path, ours, both, {"keel/new.py": ""})
    assert [(one.target, one.state) for one in found if one.state is not State.OK] == [
        ("keel.kinds.Kind.two", State.MISSING)
    ]


CHAT = (
    "class Reader:\n    def read(self, text, tokenize=True, *, whole={}, **rest):\n        out = {{text: 1}}\n"
    "        if tokenize:\n            if whole:\n                return out\n            return out[text]\n        return text\n"
)
LEFT_OUT = [
    # (what it shows, what our call passes, whether it is told)
    ("left out", "x", True),
    ("perhaps among others", "x, **more", True),
    ("passed", "x, whole=False", False),
    ("another argument may lead elsewhere", "x, tokenize=False", False),
    ("that one by position", "x, False", False),
]


@pytest.mark.parametrize(("given", "is_told"), [row[1:] for row in LEFT_OUT], ids=[row[0] for row in LEFT_OUT])
def test_a_default_that_decides_what_is_returned(tmp_path: Path, given: str, is_told: bool) -> None:
    """verl: the length of what apply_chat_template returns became the number of its keys."""
    ours = (
        "from keel.run import Reader\n\n\nclass Data:\n    def __init__(self, reader: Reader):\n        self.reader = reader\n\n"
        f"    def go(self, **more):\n        reader = self.reader\n\n        def count(x):\n            return len(reader.read({given}))\n"
        "        return count\n"
    )
    before, after = ({"keel/run.py": CHAT.format(one)} for one in ("False", "True"))
    steps = {"other": {"keel/x.py": ""}, "switch": after}
    found = couple(tmp_path, ours, before, {"keel/y.py": ""}, steps=steps)
    told = [one for one in found if one.consequence is Consequence.MAY_BREAK]
    assert [one.target for one in told] == ["keel.run.Reader.read"] * is_told
    for one in told:
        assert one.detail == (
            "our call does not name whole, which decides what is returned: its default is True now (at the pin: False)"
        )
        assert one.culprit == History(tmp_path / "up").git("rev-parse", "HEAD~1")


BECOMES_STATIC = "class Box:\n    @staticmethod\n    def split(text, add=False):\n        return text\n"
OWN_SPLITS = [
    # (what it shows, what our method takes, what becomes of it, what it did at the pin)
    ("what upstream's takes", "text, add=False", Consequence.WILL_BREAK, False),
    ("something else, at the pin already", "text, image", Consequence.LOOK, True),
]


@pytest.mark.parametrize(
    ("taken", "consequence", "already"), [row[1:] for row in OWN_SPLITS], ids=[row[0] for row in OWN_SPLITS]
)
def test_an_override_of_what_became_static(tmp_path: Path, taken: str, consequence: Consequence, already: bool) -> None:
    """NeMo: upstream's engine never calls the controller of ours that takes an image."""
    ours = f"from keel.box import Box\n\n\nclass Mine(Box):\n    def split(self, {taken}):\n        return 1\n"
    before = BECOMES_STATIC.replace("    @staticmethod\n", "").replace("(text", "(self, text")
    found = couple(tmp_path, ours, {"keel/box.py": before}, {"keel/box.py": BECOMES_STATIC})
    (row,) = [one for one in found if one.touch is Touch.OVERRIDE]
    assert (row.consequence, row.is_so_already) == (consequence, already)
