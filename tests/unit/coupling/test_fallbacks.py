"""What is left of a file when an import in a caught `try` fails."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from coupled import RUN, couple
from layline.coupling.fallbacks import find_fallback
from layline.coupling.model import Consequence, Coupling, Touch
from layline.coupling.told import tells_elsewhere
from layline.patches.drift.elsewhere import merge_imports

TRY = "try:\n    from keel.run import run\n"
FLAGGED = f"{TRY}    HAVE = True\nexcept ImportError:\n    HAVE = False\n"
BARE = f"{TRY}except ImportError:\n    pass\n"
NONE = f"{TRY}except ImportError:\n    run = None\n"
TOLD = [
    # (what it shows, our code, what is said of it)
    ("a flag", FLAGGED, "sets HAVE to False"),
    (
        "a name that a flag tells of",
        f"{FLAGGED}def go():\n    if HAVE:\n        return run(1)\n    return 0\n",
        "sets HAVE to False",
    ),
    (
        "the same without a test",
        f"{FLAGGED}def go():\n    return run(1)\n",
        "sets HAVE to False; leaves run undefined, which raises NameError in line 7",
    ),
    ("a flag that __init__ asks for", (f"{FLAGGED}class A:\n    def __init__(self):\n        if not HAVE:\n"
     "            raise ImportError\n    def go(self):\n        return run(1)\n"), "sets HAVE to False"),
    ("two lines", f"{BARE}def go():\n    run(1)\n    return run\n",
     "leaves run undefined, which raises NameError in lines 6 and 7"),
    ("a test of a name that nothing binds", f"{BARE}def go():\n    assert run is not None\n    return run(1)\n",
     "leaves run undefined, which raises NameError in lines 6 and 7"),
    ("none", f"{NONE}def go():\n    return run(1)\n", "sets run to None"),
    ("none, and only other files use it", NONE, "sets run to None"),
    ("none, and nothing where it is", f"{NONE}if run is not None:\n    run(1)\n", "sets run to None"),
    ("a stand-in", f"{TRY}except ImportError:\n    run = min\nrun(1)\n", "uses min instead of run"),
    ("a stand-in that stood there before", f"run = print\n{BARE}run(1)\n", "uses print instead of run"),
    (
        "the rest of the try",
        ("def go():\n    try:\n        from keel.run import run\n        run(1)\n        print(2)\n    except Exception:\n"
        "        pass\n"),
        "skips lines 4 to 5",
    ),
    (
        "a handler that leaves",
        "def go():\n    try:\n        from keel.run import run\n    except ImportError:\n        return 0\n    return run(1)\n",
        "ends the function in the handler at line 4",
    ),
    ("an annotation that nobody evaluates", f"from __future__ import annotations\n{FLAGGED}def go(x: run): ...\n",
     "sets HAVE to False"),
]  # fmt: skip


@pytest.mark.parametrize(("ours", "said"), [case[1:] for case in TOLD], ids=[case[0] for case in TOLD])
def test_what_a_caught_import_leaves_behind_is_told(tmp_path: Path, ours: str, said: str) -> None:
    (found,) = _find_imports(tmp_path, ours)
    told = "the import fails at the tip; our code catches that and "
    sure = Consequence.WILL_BREAK if said.endswith("in lines 6 and 7") else Consequence.MAY_BREAK
    assert (found.detail, found.consequence) == (f"{told}{said}", sure)
    assert tells_elsewhere(found)


ANOTHER_WAY = [
    ("another place", f"{TRY}except ImportError:\n    from keel.walk import run\nrun(1)\n"),
    ("a place of another package", f"{TRY}except ImportError:\n    from harbour.own import run\nrun(1)\n"),
    ("a second choice, of which the first is there", ("try:\n    from keel.walk import run\nexcept ImportError:\n"
     "    from keel.run import run\nrun(1)\n")),
    ("bound again", f"{NONE}run = make()\nrun(1)\n"),
    ("two ways by a test", f"{NONE}if isinstance(run, type):\n    kinds = (run,)\nelse:\n    kinds = ()\n"),
    ("never used", BARE),
    ("another name of the same spelling", f"{BARE}def go(run):\n    return run(1)\n"),
]  # fmt: skip


@pytest.mark.parametrize("ours", [case[1] for case in ANOTHER_WAY], ids=[case[0] for case in ANOTHER_WAY])
def test_a_file_with_another_way_is_no_finding(tmp_path: Path, ours: str) -> None:
    found = [one for one in _find_imports(tmp_path, ours) if one.target == "keel.run.run"]
    assert [(one.consequence, tells_elsewhere(one)) for one in found] == [(Consequence.OK, False)]


@pytest.mark.parametrize(
    ("use", "consequence"),
    [
        ("class Own(run): ...", Consequence.WILL_BREAK),
        ("def go(x: run): ...", Consequence.WILL_BREAK),
        ("def go(x=run): ...", Consequence.WILL_BREAK),
        ("go = lambda: run", Consequence.MAY_BREAK),
        ("def go():\n    if run is not None:\n        run(1)\n    else:\n        pass", Consequence.MAY_BREAK),
        ("def go():\n    return run", Consequence.WILL_BREAK),
        ("class A:\n    def go(self):\n        return run", Consequence.WILL_BREAK),
        ("def go(x):\n    if x:\n        return run", Consequence.MAY_BREAK),
        ("def go(x):\n    if x:\n        return 0\n    return run", Consequence.MAY_BREAK),
        ("def go(x):\n    return x and run", Consequence.MAY_BREAK),
        ("def go(x):\n    return lambda: run", Consequence.MAY_BREAK),
        ("try:\n    run(1)\nexcept NameError:\n    pass", Consequence.OK),
    ],
)
def test_a_name_that_is_needed_while_the_file_is_imported_breaks_it(
    tmp_path: Path, use: str, consequence: Consequence
) -> None:
    (found,) = _find_imports(tmp_path, f"{BARE}{use}\n")
    assert found.consequence is consequence


@pytest.mark.parametrize(
    ("use", "consequence"),
    [
        ("def other():\n    return 1 if HAVE else 0\n", Consequence.WILL_BREAK),
        ("def other():\n    return go() if HAVE else 0\n", Consequence.MAY_BREAK),
        ("", Consequence.MAY_BREAK),  # the flag is for other files
    ],
)
def test_a_function_that_fails_is_no_break_where_a_flag_is_asked_first(
    tmp_path: Path, use: str, consequence: Consequence
) -> None:
    (found,) = _find_imports(tmp_path, f"{FLAGGED}def go():\n    return run(1)\n{use}")
    assert found.consequence is consequence


def test_one_try_is_one_place(tmp_path: Path) -> None:
    ours = "try:\n    from keel.run import run\n    from keel.run import walk\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n"
    couplings = _find_imports(tmp_path, ours, {"keel/run.py": f"{RUN}\ndef walk(): ...\n"})
    ((one, _),) = merge_imports(couplings)
    assert (one.target, one.location.line) == ("keel.run.run", 2)
    assert one.detail.endswith("sets HAVE to False; the same `try` imports more names that are gone: walk")


def test_a_try_around_a_function_does_not_catch_what_the_function_imports() -> None:
    body = ast.parse("try:\n    def go():\n        from keel.run import run\nexcept ImportError:\n    pass\n").body
    assert find_fallback(body, 3, lambda _: True) is None


def _find_imports(tmp_path: Path, ours: str, pin: dict[str, str] | None = None) -> list[Coupling]:
    walk = {"keel/walk.py": "def run(x):\n    '''Walks.'''\n    return [x, x, x]\n"}
    found = couple(tmp_path, ours, {**walk, **(pin or {"keel/run.py": RUN})}, {"keel/run.py": "def sit(): ...\n"})
    return [one for one in found if one.touch is Touch.IMPORT and one.target.startswith("keel.run.")]
