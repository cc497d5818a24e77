from __future__ import annotations

import pytest

from layline.change.binding import CallShape, check_call, check_replacement, read_call
from layline.change.signatures import compare_signatures, returns_another
from layline.source import Definition, Module, parse_module


def the(text: str) -> Definition:
    module = parse_module("m.py", text.encode())
    assert isinstance(module, Module)
    found = module.best("f")
    assert found is not None
    return found


def sig(signature: str) -> Definition:
    return the(f"def f{signature}: ...")


CHANGES = [
    ("(a, b)", "(a, b)", []),
    ("(a: int)", "(a: str)", []),
    ("(a)", "(a, b=1)", ["parameter b=1 added"]),
    ("(a)", "(a, b)", ["required parameter b added"]),
    ("(a, b)", "(a)", ["parameter b removed"]),
    ("(a, b)", "(a, c)", ["parameter b renamed to c"]),
    ("(a, b)", "(b, a)", ["a: reordered a, b became b, a"]),
    ("(a=1)", "(a=2)", ["a: default 1 became 2"]),
    ("(a=1)", "(a)", ["a: default 1 became required"]),
    ("(a)", "(*, a)", ["a: kind positional became keyword-only"]),
    ("(a)", "(b=None, a=1)", ["a: default required became 1", "parameter b=None added"]),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_parameter_changes(before: str, after: str, expected: list[str]) -> None:
    assert [str(item) for item in compare_signatures(sig(before), sig(after))] == expected


NATURE = [
    ("def f(): ...", "async def f(): ...", ("def became async def", True)),
    ("def f(): ...", "@staticmethod\ndef f(): ...", ("decorator @staticmethod added", True)),
    ("def f(): ...", "@cache\ndef f(): ...", ("decorator @cache added", False)),
    ("@contextmanager\n@a\ndef f(): ...", "@a\ndef f(): ...", ("decorator @contextmanager removed", True)),
    ("@a\n@b\ndef f(): ...", "@b\n@a\ndef f(): ...", ("@a @b became @b @a", False)),
]


@pytest.mark.parametrize(("before", "after", "expected"), NATURE)
def test_async_and_decorators_count(before: str, after: str, expected: tuple[str, bool]) -> None:
    (change,) = compare_signatures(the(before), the(after))
    assert (str(change), change.may_break) == expected


CALLS = [
    ("f(1, 2)", "(a, b)", []),
    ("f(1)", "(a, b)", ["needs b, which is not passed"]),
    ("f(1, b=2)", "(a, *, b)", []),
    ("f(1, 2, 3)", "(a, b)", ["takes at most 2 positional arguments and gets 3"]),
    ("f(1, 2, 3)", "(a, *rest)", []),
    ("f(c=1)", "(a=1)", ["does not take the keyword c"]),
    ("f(c=1)", "(**kw)", []),
    ("f(1, a=1)", "(a)", ["gets a twice, by position and by keyword"]),
    ("f(*xs)", "(a, b)", []),
    ("f(**kw)", "(a, *, b)", []),
    ("f(a=1)", "(a, /)", ["does not take the keyword a", "needs a, which is not passed"]),
    ("f(*xs)", "(a, *, b)", ["needs b, which is not passed"]),
]


@pytest.mark.parametrize(("call", "signature", "expected"), CALLS)
def test_calls(call: str, signature: str, expected: list[str]) -> None:
    import ast

    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    found = check_call(read_call(node), sig(signature).parameters or (), bound=False)
    assert [item.message for item in found] == expected


def test_a_bound_call_does_not_pass_self() -> None:
    assert not check_call(CallShape(positional=1), sig("(self, a)").parameters or (), bound=True)
    assert check_call(CallShape(positional=1), sig("(self, a)").parameters or (), bound=False)


REPLACEMENTS = [
    # ours, theirs, (message, certain)
    ("(a, b)", "(a, b)", []),
    ("(*args, **kwargs)", "(a, b=1, *, c)", []),
    ("(a)", "(a, b=1)", [("does not take b=1", False)]),
    ("(a)", "(a, *, b)", [("does not take b", True)]),
    ("(self, x)", "(self, x, clamp=None)", [("does not take clamp=None", False)]),
    ("(a, extra)", "(a)", [("needs extra, which upstream does not pass", True)]),
    # the same parameter under another name: only a call that names it would notice
    ("(a, other)", "(a, b)", [("does not take b by name (our parameter is called other)", False)]),
    ("(a, b)", "(a, b, c)", [("does not take c", True)]),
    ("(b, a)", "(a, b)", [("has b at the position where upstream has a", False)]),
    ("(a, b=None)", "(a)", []),
]


@pytest.mark.parametrize(("ours", "theirs", "expected"), REPLACEMENTS)
def test_replacements(ours: str, theirs: str, expected: list[tuple[str, bool]]) -> None:
    found = check_replacement(sig(ours).parameters or (), sig(theirs).parameters or ())
    assert [(item.message, item.certain) for item in found] == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("Optional[torch.utils.data.Sampler]", "torch.utils.data.Sampler | None", False),
        ("typing.Union[A, B]", "B | A", False),
        ("'List[int]'", "list[int]", False),
        ("A", "A | None", False),
        ("type", "type[A]", False),
        ("A", "A | B", True),
        ("A", "B", True),
        ("tuple[A, B]", "A", True),
        ("Union[tuple, A]", "A", False),
        ("Tensor", "Any", False),
        ("A", "None", True),
    ],
)
def test_another_return_type_is_no_other_spelling(before: str, after: str, expected: bool) -> None:
    assert returns_another(before, after) is expected
