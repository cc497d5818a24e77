"""Answers about nodes are remembered with them, and go with them."""

import ast
import gc
import weakref

from layline.source.walking import remember


class Answer(frozenset[str]):
    """A set that can be watched."""


def test_each_node_is_asked_once_for_each_question() -> None:
    asked: list[tuple[str, int]] = []

    @remember
    def name_of(node: ast.Name, more: int) -> str:
        asked.append((node.id, more))
        return node.id * more

    first, second = ast.Name(id="a"), ast.Name(id="b")
    said = [name_of(node, more) for node in (first, second, first) for more in (1, 2)]

    assert said == ["a", "aa", "b", "bb", "a", "aa"]
    assert asked == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_two_questions_do_not_meet() -> None:
    node = ast.Name(id="a")

    assert remember(lambda one: one.id)(node) == "a"
    assert remember(lambda one: one.id.upper())(node) == "A"


def test_what_was_said_goes_with_the_tree() -> None:
    @remember
    def read(node: ast.Module) -> Answer:
        return Answer(part.id for part in ast.walk(node) if isinstance(part, ast.Name))

    tree = ast.parse("a = b")
    watched = weakref.ref(read(tree))
    assert watched() == Answer({"a", "b"})

    del tree
    gc.collect()
    assert watched() is None
