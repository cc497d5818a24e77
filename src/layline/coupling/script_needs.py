"""What a script installs for itself before it runs: the block of its own metadata (PEP 723), read and never run."""

from __future__ import annotations

import re
import tomllib
from itertools import takewhile

_BEGIN, _END = "# /// script", "# ///"
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def find_script_needs(text: str) -> frozenset[str]:
    """The distributions that the head of a script names, spelled as modules are."""
    lines = [line.rstrip() for line in text.splitlines()]
    if _BEGIN not in lines:
        return frozenset()
    after = lines[lines.index(_BEGIN) + 1 :]
    block = list(takewhile(lambda line: line.startswith("#") and line != _END, after))
    if after[len(block) : len(block) + 1] != [_END]:
        return frozenset()
    try:
        plain = tomllib.loads("\n".join(line[1:].removeprefix(" ") for line in block))
    except (tomllib.TOMLDecodeError, RecursionError):
        return frozenset()
    needs = plain.get("dependencies")
    found = (_NAME.match(one) for one in (needs if isinstance(needs, list) else ()) if isinstance(one, str))
    return frozenset(re.sub(r"[-.]+", "_", one[1]).lower() for one in found if one)
