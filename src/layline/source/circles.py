"""Circles in what leads to what: files that import one another, parts that name one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node")


def find_circles(
    starts: Iterable[Node], find_edges: Callable[[Node], Iterable[Node]], is_known: Callable[[Node], bool]
) -> Iterator[list[Node]]:
    """Nodes that lead to one another, after all that they lead to; one in no circle stands alone. What is known is not
    followed. Tarjan's algorithm, without recursion.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    closed: set[Node] = set()
    for start in starts:
        if start in number or is_known(start):
            continue
        number[start] = low[start] = len(number)
        stack.append(start)
        work = [(start, iter(find_edges(start)))]
        while work:
            node, following = work[-1]
            fresh = None
            for item in following:
                if item in closed or is_known(item):
                    continue
                if item not in number:
                    fresh = item
                    break
                low[node] = min(low[node], number[item])
            if fresh is not None:
                number[fresh] = low[fresh] = len(number)
                stack.append(fresh)
                work.append((fresh, iter(find_edges(fresh))))
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == number[node]:
                circle = [stack.pop()]
                while circle[-1] != node:
                    circle.append(stack.pop())
                closed.update(circle)
                yield circle
