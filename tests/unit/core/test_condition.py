"""A condition is one value: negated, joined and asked without a text being taken apart."""

from __future__ import annotations

import pytest

from layline import codec
from layline.core.condition import (
    ALWAYS,
    NEVER,
    OPAQUE,
    Condition,
    ConditionKind,
    VersionPattern,
    asks_about,
    combine,
    find_keys,
    is_decidable,
    need_key,
    need_name,
    need_version,
    negate,
)

ALL, ANY, NOT = ConditionKind.ALL, ConditionKind.ANY, ConditionKind.NOT
A, B = need_name("keel.a"), need_version("keel", ">=", "2.0 rc 1")

JOINED = [
    # (kind, parts, what they make)
    (ALL, (), ALWAYS),
    (ANY, (), NEVER),
    (ALL, (A,), A),
    (ALL, (A, A), A),
    (ALL, (A, ALWAYS), A),
    (ALL, (A, NEVER), NEVER),
    (ANY, (A, ALWAYS), ALWAYS),
    (ANY, (OPAQUE, OPAQUE), OPAQUE),
    (ALL, (A, OPAQUE), Condition(kind=ALL, parts=(A, OPAQUE))),
    (ANY, (A, B), Condition(kind=ANY, parts=(A, B))),
]


@pytest.mark.parametrize(("kind", "parts", "made"), JOINED)
def test_what_several_make_together(kind: ConditionKind, parts: tuple[Condition, ...], made: Condition) -> None:
    assert combine(kind, parts) == made


@pytest.mark.parametrize("one", [A, B, OPAQUE, ALWAYS, NEVER, Condition(kind=ALL, parts=(A, B))])
def test_twice_negated_is_itself(one: Condition) -> None:
    assert negate(one) != one
    assert negate(negate(one)) == one


def test_parts_are_found_at_any_depth() -> None:
    deep = Condition(kind=ANY, parts=(OPAQUE, negate(Condition(kind=ALL, parts=(need_key("fp8"), B)))))
    assert list(find_keys(deep)) == ["fp8"]
    assert asks_about(deep, ConditionKind.VERSION)
    assert not asks_about(deep, ConditionKind.NAME)
    assert not asks_about(None, ConditionKind.NAME)
    assert is_decidable(deep)
    assert not is_decidable(Condition(kind=ConditionKind.ENV, text="HOME"))


def test_what_a_version_is_compared_with_stays_whole() -> None:
    assert (B.text, B.operator, B.wanted, str(B)) == ("keel", ">=", "2.0 rc 1", "keel >= 2.0 rc 1")
    assert str(VersionPattern("backend_versions: new", "<2")) == "backend_versions: new: <2"


def test_it_can_be_kept() -> None:
    whole = Condition(kind=NOT, parts=(Condition(kind=ALL, parts=(A, B, need_key("fp8"))),))
    assert codec.decode(Condition, codec.encode(whole), where="cache") == whole
