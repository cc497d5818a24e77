"""What has to be changed beside the places that break: settings, tests, texts in our code, overrides of moved classes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from layline.core.prose import count, listed, verb
from layline.gap.cells import change_cell, join_text, listed_text, own_place

if TYPE_CHECKING:
    from layline.core.report import Inline
    from layline.gap.model import Gap


def tell_beside(gap: Gap, *, whole: bool) -> Inline:
    """Settings, tests, and files of upstream that our code reads; empty where there are none. `whole`: with names."""
    lines = sum(stale.lines for stale in gap.stale_keys)
    parts: list[Inline] = []
    if lines:
        keys = count(len(gap.stale_keys), "key")
        parts.append(f"{count(lines, 'YAML line')} {verb(lines, 'sets')} {keys} that the tip does not know")
    if gap.tests:
        files = len({place.path for place in gap.tests})
        names = listed(list(dict.fromkeys(place.path.rpartition("/")[2] for place in gap.tests)), most=3)
        told = f" ({names})" if whole else ""
        parts.append(f"{count(files, 'test file')} {verb(files, 'imports')} names that are gone{told}")
    for path, places in gap.read_files[:1]:
        more = f" and {len(gap.read_files) - 1} more that are gone" if len(gap.read_files) > 1 else ", which is gone"
        text = str(places[0]) if whole else f"{places[0].path.rpartition('/')[2]}:{places[0].line}"
        cell = own_place(gap, str(places[0]), text=text)
        parts.append(join_text(cell, f" reads {path if whole else path.rpartition('/')[2]}{more}"))
    return join_text(" Besides the code, ", listed_text(parts), ".") if parts else ""


def tell_asked(gap: Gap, most: int = 3, *, whole: bool = True) -> Inline:
    """Lines of our code that ask for keys which the tip does not know; empty where none does."""
    if not gap.asked:
        return ""
    lines = [place for _, places in gap.asked for place in places]
    shown: list[Inline] = [
        join_text(
            own_place(gap, str(places[0]), text=f"{places[0].path.rpartition('/')[2]}:{places[0].line}"), f" ({key})"
        )
        for key, places in gap.asked[:most]
    ]
    rest = len(gap.asked) - len(shown)
    names = listed_text([*shown, *([f"{count(rest, 'further key')}"] if rest else [])])
    asks = f"At least {count(len(lines), 'line')} of our code {'asks' if len(lines) == 1 else 'ask'} for"
    if not whole:
        return f"{asks} such keys: a patch that depends on one stops applying once the key is gone from our YAML."
    told = f"{asks} {count(len(gap.asked), 'key')} that the tip does not know: "
    return join_text(
        told, names, ". A patch that depends on such a key stops applying once the key is gone from our YAML."
    )


def tell_unmade(gap: Gap, *, whole: bool = True) -> str:
    """Classes that we replace by name and that nobody makes by name at the tip; empty where there are none. `whole`:
    with their names.
    """
    unmade = {one.target for one in gap.successors if one.is_unmade}
    homes = {one.target: one.new_target for one in gap.couplings if one.new_target and one.target in unmade}
    names = list(dict.fromkeys(home.rpartition(".")[2] for home in homes.values()))
    if not names:
        return ""
    told = f"{count(len(homes), 'class')} that we replace"
    named = f" ({listed(names, most=3)})" if whole else ""
    if len(homes) == 1:
        return (
            f"{told} has a new name{named}; upstream never constructs it by that name, so replacing it changes nothing."
        )
    new = "a new name" if len(names) == 1 else count(len(names), "new name")
    return (
        f"{told} have {new}{named}; upstream never constructs them by these names, so replacing them changes nothing."
    )


def tell_follows(gap: Gap, most: int = 3, *, whole: bool = True) -> Inline:
    """Overrides of ours for which a new address is not enough, by the upstream changes behind them; empty where there
    are none. `whole`: with the titles.
    """
    if not gap.follows:
        return ""
    steps = [step for one in gap.follows for step in one.changes]
    counted, weight = Counter(step.commit for step in steps), Counter[str]()
    for step in steps:
        weight[step.commit] += 1 if step.is_rename and not (step.unset or step.sizes) else 2
    root = gap.causes[0].commit if gap.causes else None  # the first page tells it by itself
    ranked = sorted(counted, key=lambda commit: (commit == root, -weight[commit], commit))
    titles = {commit: change.title for change in gap.changes.kept for commit in change.commits}
    named: list[Inline] = []
    for commit in ranked[:most]:
        title = f": “{titles[commit]}”" if whole and commit in titles else ""
        cell = change_cell(gap, commit, gap.numbers.get(commit))
        named.append(join_text(cell, f" ({counted[commit]}{title})"))
    if len(ranked) > most:
        named.append(count(len(ranked) - most, "other change"))
    total = count(len(gap.follows), "method")
    if not whole:
        rest = "must be rewritten, not only imported by the new name, because of "
        return join_text(f"{total} of ours {rest}", listed_text(named), ".")
    one = len(gap.follows) == 1
    takes = ("needs", "method it overrides takes", "sets") if one else ("need", "methods they override take", "set")
    told = (
        f"{total} of ours {takes[0]} more than the new name of a class: the {takes[1]} different arguments or "
        f"{takes[2]} "
    )
    return join_text(told[:1].upper() + told[1:], "other attributes, by ", listed_text(named), ".")
