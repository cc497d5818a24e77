from __future__ import annotations

from pathlib import Path
from typing import Any

from layline.source.cache import Cache
from layline.source.memos import Answers, Memos


def test_what_was_checked_is_not_checked_again_after_a_save(tmp_path: Path) -> None:
    """A report saves between its parts; what one part found the next one asks for."""
    compared: list[str] = []

    def compare(what: str, kept: dict[str, Any] | None, fresh: dict[str, Any]) -> None:
        compared.append(f"{what}: {kept == fresh}")

    cache = Cache(tmp_path / "cache", "memo")
    first = Answers(Memos(cache))
    assert first.find("blob", "words", lambda: ["a"]) == ["a"]
    first.save()
    checking, made = Answers(Memos(cache, compare=compare)), list[str]()

    def make() -> list[str]:
        made.append("now")
        return ["a"]

    for _ in range(2):
        assert checking.find("blob", "words", make) == ["a"]
        checking.save()
    assert compared == ["words of blob: True"]
    assert made == ["now"]
