"""`unittest.mock.patch` outside tests: for the time of a block, or from `start()` on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from layline.core.patch import Effect, Moment
from layline.interpreter.events import Call, Event
from layline.interpreter.state import text_of
from layline.interpreter.values import Called, Function, Literal, Member, Outside, Table, Value, truth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.patches.installer import Installer

_MODULES = ("unittest.mock.patch", "mock.patch", "mock.mock.patch")
_FORMS = {f"{module}{form}": form for module in _MODULES for form in ("", ".object", ".multiple", ".dict")}
_DICT_OPTIONS = frozenset({"in_dict", "values", "clear"})
_OPTIONS = frozenset("new spec create spec_set autospec new_callable unsafe".split())


def is_mock(event: Event) -> bool:
    """Whether a call makes or uses one of the library's patches."""
    if not isinstance(event, Call):
        return False
    callee = event.callee
    while isinstance(callee, Called | Member):
        callee = callee.callee if isinstance(callee, Called) else callee.owner
    return isinstance(callee, Outside) and callee.path in _FORMS


def find_mocks(event: Event, installer: Installer) -> Iterator[Effect]:
    """`mock.patch("a.b.f", g).start()`, `with mock.patch.object(C, "m", g):`, `@mock.patch(…)`; `.multiple` and `.dict`
    too.
    """
    made = _find_made(event)
    if made is None or not isinstance(event, Call):
        return
    starts = isinstance(event.callee, Member) and event.callee.name == "start"
    form = _find_form(made)
    raises = form != ".dict" and truth(dict(made.keywords).get("create", Literal(False))) is False
    moment = None if starts else Moment.TRANSIENT
    for target, value in _find_pairs(form, made):
        effect = replace(installer.build_effect(event, target, value), raises=raises)
        yield replace(effect, moment=moment or effect.moment)
    for target, key, value in _find_entries(form, made):
        effect = installer.build_effect(event, target, value)
        shown = installer.describe(key)[0]
        yield replace(effect, mutates=(f"{target.rpartition('.')[2]}[{shown}]",), moment=moment or effect.moment)


def find_mocked(event: Event) -> Iterator[Value]:
    """What such a call puts in the place of something."""
    made = _find_made(event)
    if made is None:
        return
    pairs, entries = _find_pairs(_find_form(made), made), _find_entries(_find_form(made), made)
    for value in (*(value for _, value in pairs), *(value for _, _, value in entries)):
        if value is not None:
            yield value


def _find_made(event: Event) -> Called | None:
    """The patch that a call starts, enters or decorates with."""
    match event:
        case Call(callee=Member(owner=Called() as made, name="start" | "__enter__")):
            return made
        case Call(callee=Called() as made, arguments=(Function(),)):
            return made
        case Call(callee=Member(name="enter_context"), arguments=(Called() as made,)):
            return made
    return None


def _find_form(made: Called) -> str | None:
    return _FORMS.get(made.callee.path if isinstance(made.callee, Outside) else "")


def _find_pairs(form: str | None, made: Called) -> Iterator[tuple[str, Value | None]]:
    given, keywords = made.arguments, dict(made.keywords)
    base = _find_base(made)
    if base is None:
        return
    match form:
        case "":
            yield base, _new(given[1:], keywords)
        case ".object":
            name = text_of(given[1] if len(given) > 1 else keywords.get("attribute", made))
            if name is not None:
                yield f"{base}.{name}", _new(given[2:], keywords)
        case ".multiple":
            yield from ((f"{base}.{name}", value) for name, value in keywords.items() if name not in _OPTIONS)
        case ".dict" if not any(_find_entries(form, made)):
            yield base, Outside("unittest.mock.patch.dict")


def _find_entries(form: str | None, made: Called) -> Iterator[tuple[str, Value, Value]]:
    """`mock.patch.dict("a.TABLE", {"key": g}, other=h)`: entries are put there, the table stays."""
    base = _find_base(made) if form == ".dict" else None
    if base is None:
        return
    keywords = dict(made.keywords)
    values = made.arguments[1] if len(made.arguments) > 1 else keywords.get("values")
    if isinstance(values, Table):
        yield from ((base, key, value) for key, value in values.entries)
    yield from ((base, Literal(name), value) for name, value in keywords.items() if name not in _DICT_OPTIONS)


def _find_base(made: Called) -> str | None:
    """What a patch is put on, or its whole path."""
    keywords = dict(made.keywords)
    owner = made.arguments[0] if made.arguments else keywords.get("target") or keywords.get("in_dict")
    return None if owner is None else text_of(owner) or (owner.path if isinstance(owner, Outside) else None)


def _new(rest: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    """What takes the place; without a word of it, a mock."""
    return rest[0] if rest else keywords.get("new") or Called(Outside("unittest.mock.MagicMock"))
