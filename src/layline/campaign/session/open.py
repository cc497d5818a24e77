"""Opening a campaign: find it, lock it, mend what a crash left, and derive its folder afterwards."""

from __future__ import annotations

import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from layline.campaign.command.run import CommandBench
from layline.campaign.elsewhere import BenchElsewhere
from layline.campaign.ledger.ledger import FILE_NAME, Ledger
from layline.campaign.ledger.replay import fold
from layline.campaign.ledger.state import Phase
from layline.campaign.rounds import Campaign, prepare
from layline.campaign.session.live import PAUSE_S, describe_live, read_allowed, read_live, tell_live
from layline.campaign.session.places import WORKSPACE, clock, quiet
from layline.campaign.session.publish import publish
from layline.campaign.trusted import TrustedBench
from layline.campaign.values.manifest import Measuring
from layline.campaign.workspace import find_kernel_root, is_workspace
from layline.errors import BenchError, ConfigError
from layline.git.write import WorkTree, open_work_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from layline.campaign.bench import Bench
    from layline.campaign.values.manifest import Manifest
    from layline.executors import Executor


def find_folder(tree: WorkTree, chosen: str | None) -> Path:
    """The campaign folder: the one named, else the only one that is not finished."""
    base = tree.root / WORKSPACE
    if chosen is not None:
        for place in (Path(chosen).resolve(), base / chosen):
            if (place / FILE_NAME).is_file():
                return place
        raise ConfigError(f"There is no campaign {chosen!r}.", hint=_known(base))
    found = sorted(path.parent for path in base.glob(f"*/{FILE_NAME}"))
    if len(found) > 1:
        going = [folder for folder in found if _is_going(folder)]
        found = going or found
    if len(found) != 1:
        raise ConfigError("Which campaign?" if found else f"There is no campaign under {WORKSPACE}.", hint=_known(base))
    return found[0]


def _is_going(folder: Path) -> bool:
    state = fold(Ledger(folder).read().entries)
    return state is not None and state.phase not in (Phase.REPORTED, Phase.ACCEPTED)


def _known(base: Path) -> str:
    names = sorted(path.parent.name for path in base.glob(f"*/{FILE_NAME}"))
    return f"Name one with --campaign: {', '.join(names)}." if names else "`layline campaign new` begins one."


def choose_bench(
    manifest: Manifest, root: Path, folder: Path, frozen: dict[str, str] | None, progress: Callable[[str], None]
) -> Bench:
    """How this campaign measures."""
    if manifest.measuring is Measuring.COMMAND:
        where = folder if is_workspace(manifest) else root
        return CommandBench(manifest, where, find_kernel_root(manifest, folder, root), frozen)
    return TrustedBench(manifest, progress, root)


def read_campaign(
    chosen: str | None, progress: Callable[[str], None] = quiet, executor: Executor | None = None
) -> Campaign:
    """A campaign to look at; nothing is written and no lock is taken."""
    tree = open_work_tree(Path.cwd())
    campaign = _open(tree, find_folder(tree, chosen), progress)
    _take_elsewhere(campaign, executor)
    return campaign


@contextmanager
def write_campaign(
    chosen: str | None,
    *,
    now: Callable[[], str] = clock,
    progress: Callable[[str], None] = quiet,
    executor: Executor | None = None,
) -> Iterator[Campaign]:
    """A campaign to work on: locked, mended, prepared; its folder is derived however the work ends."""
    tree = open_work_tree(Path.cwd())
    ledger = Ledger(find_folder(tree, chosen))
    with ledger.lock(), tell_live(ledger.folder, progress) as tell:
        mend(ledger, now)
        campaign = _open(tree, ledger.folder, tell, ledger, now)
        _take_elsewhere(campaign, executor)
        prepare(campaign)
        try:
            yield campaign
        except BenchError:
            publish(campaign)
            raise
        publish(campaign)


def _take_elsewhere(campaign: Campaign, executor: Executor | None) -> None:
    """Measure on a machine that the executor has, of the campaign's own kind."""
    if executor is None:
        return
    if not isinstance(campaign.bench, TrustedBench):
        raise ConfigError(
            "This campaign measures with your own command, in your tree: it cannot run on another machine.",
            hint="Leave --executor out.",
        )
    campaign.bench = BenchElsewhere(campaign.bench, executor, campaign.state.machine)


def follow(chosen: str | None, *, pause_s: float = PAUSE_S) -> Iterator[str]:
    """What a campaign says of itself, again and again while somebody measures it."""
    folder = find_folder(open_work_tree(Path.cwd()), chosen)
    while (live := read_live(folder)) is not None:
        state = fold(Ledger(folder).read().entries)
        if state is not None:
            is_open = bool(state.rounds) and state.rounds[-1].settled is None
            number = len(state.rounds) + (not is_open)
            yield describe_live(state.manifest.name, number, live, time.time(), read_allowed(folder))
        time.sleep(pause_s)


def mend(ledger: Ledger, now: Callable[[], str]) -> None:
    """Remove what a crash left half-written, and say so in the record."""
    torn = ledger.recover()
    if torn and ledger.read().entries:
        ledger.append(now(), "recovered", {"bytes": torn})


def _open(
    tree: WorkTree,
    folder: Path,
    progress: Callable[[str], None],
    ledger: Ledger | None = None,
    now: Callable[[], str] = clock,
) -> Campaign:
    ledger = ledger or Ledger(folder)
    state = fold(ledger.read().entries)
    if state is None:
        raise BenchError(
            f"{folder} holds no campaign.", hint="Its creation was interrupted: run `layline campaign new` again."
        )
    bench = choose_bench(state.manifest, tree.root, folder, dict(state.origin["frozen"]), progress)
    return Campaign(folder, tree, ledger, bench, now)
