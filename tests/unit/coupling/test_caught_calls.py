"""A call of ours that no longer binds, inside a `try`: what catches it is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from coupled import couple

CALL = "run(1, quick=True)"
WAYS = [
    # (what it shows, our lines around the call, the clause that is told)
    ("no try", f"    {CALL}\n", ""),
    (
        "whatever fails",
        f"    try:\n        {CALL}\n    except Exception as error:\n        print(error)\n",
        "except Exception",
    ),
    ("without a name", f"    try:\n        {CALL}\n    except:\n        pass\n", "`except`"),
    ("another error", f"    try:\n        {CALL}\n    except KeyError:\n        pass\n", ""),
    ("raised again", f"    try:\n        {CALL}\n    except Exception:\n        raise\n", ""),
    (
        "the inner one",
        (
            f"    try:\n        try:\n            {CALL}\n        except TypeError:\n            pass\n"
            "    except Exception:\n        pass\n"
        ),
        "except TypeError",
    ),
    ("in the clause itself", f"    try:\n        pass\n    except Exception:\n        {CALL}\n", ""),
    ("beside it", f"    try:\n        pass\n    except Exception:\n        pass\n    {CALL}\n", ""),
]


@pytest.mark.parametrize(("lines", "clause"), [row[1:] for row in WAYS], ids=[row[0] for row in WAYS])
def test_what_catches_a_call_that_does_not_bind_is_said(tmp_path: Path, lines: str, clause: str) -> None:
    before, after = ({"keel/run.py": f"def run(x{more}):\n    return x\n"} for more in (", quick=None", ""))
    ours = f"from keel.run import run\n\n\ndef go():\n{lines}"
    (told,) = [one for one in couple(tmp_path, ours, before, {**after}) if one.target == "keel.run.run" and one.detail]
    assert ("catches that" in told.detail) is bool(clause), told.detail
    assert clause in told.detail
