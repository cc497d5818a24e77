"""A word or phrase that somebody looks for."""

from __future__ import annotations

import re

_SIGNS = re.compile(r"[\W_]+")


class Word:
    """Case is ignored; `-`, `_`, dots and spaces separate words, so that `deep_ep` is also found in DeepEP."""

    def __init__(self, text: str) -> None:
        self._wanted = _SIGNS.sub("", text.lower())

    def stands_in(self, text: str) -> bool:
        """Inside one word, or from the beginning of one on: `moe` is in `MoELayer`, not in `demo/example`."""
        words = _SIGNS.split(text.lower())
        if any(self._wanted in word for word in words):
            return True
        bare = "".join(words)
        return self._wanted in bare and any(
            bare.startswith(self._wanted, len("".join(words[:index]))) for index in range(len(words))
        )
