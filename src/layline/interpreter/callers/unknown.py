"""Calls in files that know none of the classes in question: counted by their text."""

from __future__ import annotations

import re
from functools import lru_cache

_NOT_CODE = re.compile(rb"(\"\"\"|''')(?:\\.|[^\\])*?\1|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*", re.DOTALL)
_IMPORTED = re.compile(rb"^[ \t]*import[ \t]+(?:[\w.]+[ \t]+as[ \t]+)?(\w+)", re.MULTILINE)


def count_unknown(text: bytes, method: str, *, is_read: bool = False) -> int:
    """Calls in a file that knows none of the classes: all but those on `self`, which are the file's own, and
    imports.
    """
    code, imported = _read_bare(text)
    end = rb"\b(?![ \t]*=[^=])" if is_read else rb"(?:[.]remote)?[ \t]*\("
    receivers = re.findall(rb"(\w*|super\(\))[ \t]*\.[ \t]*" + re.escape(method.encode()) + end, code)
    known = {b"self", b"cls", b"super()", *imported}
    return sum(1 for name in receivers if name not in known)


@lru_cache(maxsize=4096)
def _read_bare(text: bytes) -> tuple[bytes, frozenset[bytes]]:
    """A file without strings and comments, and the names it imports: asked for once a method, read once."""
    code = _NOT_CODE.sub(b"", text)
    return code, frozenset(_IMPORTED.findall(code))
