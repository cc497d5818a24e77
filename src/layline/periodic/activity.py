"""Everything that happened in a window, read from the downstream's and the upstreams' histories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from layline.config import Periodic
from layline.core.evidence import Skipped
from layline.periodic.distance import ReportScope, Target, count_move, measure_drift, measure_repo_drift, short_ref
from layline.periodic.merged import build_pull_requests, find_backend_moves, find_moves, find_submodules, read_merged
from layline.periodic.model import Activity, Drift, Merged, PinMove, RepoDrift

if TYPE_CHECKING:
    from layline.config import StatusShape


def read_activity(
    ground: ReportScope, settings: Periodic, targets: Mapping[str, Target], missing: Mapping[str, Skipped]
) -> Activity:
    """`targets` are the backends whose objects are here, `missing` the others with the reason."""
    merged = read_merged(ground.downstream, ground.before, ground.tip)
    submodules = find_submodules(ground.downstream, ground.tip)
    moves = tuple(_find_moves(ground, merged, submodules | find_submodules(ground.downstream, ground.before)))
    moving = frozenset(move.commit.hash for move in moves)
    found = tuple(_measure(ground, settings, targets))
    told = {item.key for item in found if not isinstance(item, Skipped)}
    reasons = {
        item.what.rpartition(" ")[2]: item.why for item in (*missing.values(), *found) if isinstance(item, Skipped)
    }
    counted = tuple((count_move(move, owner), owner) for move, owner in _find_owners(moves, settings.statuses, targets))
    bumps = {owner.key: item.move.commit for item, owner in reversed(counted) if owner is not None}
    return Activity(
        window=ground.window,
        repo=ground.downstream.name,
        ref=short_ref(settings.ref) if settings.ref != "HEAD" else ground.downstream.branch or "HEAD",
        before=ground.before,
        tip=ground.tip,
        pulls=tuple(build_pull_requests(ground.downstream, merged, moving, ground.window, settings.categories)),
        direct=tuple(item.commit for item in merged if item.number is None),
        moves=tuple(item for item, _ in counted),
        drifts=tuple(replace(item, bump=bumps.get(item.key)) for item in found if isinstance(item, Drift)),
        repo_drifts=tuple(item for item in found if isinstance(item, RepoDrift)),
        submodules=len(submodules),
        unmeasured=tuple(
            Skipped(key, reasons.get(key, f"no backend is configured under the key {key!r}"))
            for key in settings.required
            if key not in told
        ),
        skipped=(*missing.values(), *(item for item in found if isinstance(item, Skipped))),
    )


def _find_moves(ground: ReportScope, merged: tuple[Merged, ...], submodules: frozenset[str]) -> Iterator[PinMove]:
    yield from find_moves(ground.downstream, merged, submodules)
    for key, backend in ground.backends.items():
        yield from find_backend_moves(ground.downstream, ground.before, ground.tip, key, backend)


def _measure(
    ground: ReportScope, settings: Periodic, targets: Mapping[str, Target]
) -> Iterator[Drift | RepoDrift | Skipped]:
    """Required targets first, in their order, then the others."""
    keys = dict.fromkeys((*settings.required, *targets, *settings.statuses))
    for key in keys:
        shape = settings.statuses.get(key)
        if shape is not None and shape.kind == "in-repo":
            yield from measure_repo_drift(ground, key, shape, targets.get(key))
        elif key in targets:
            yield measure_drift(ground, targets[key])


def _find_owners(
    moves: tuple[PinMove, ...], statuses: Mapping[str, StatusShape], targets: Mapping[str, Target]
) -> Iterator[tuple[PinMove, Target | None]]:
    yield from ((move, _find_owner(move, statuses, targets)) for move in moves)


def _find_owner(move: PinMove, statuses: Mapping[str, StatusShape], targets: Mapping[str, Target]) -> Target | None:
    """The backend whose commits a pin names: its submodule, its own pin, or a counted variable of its status."""
    for target in targets.values():
        backend = target.backend
        if move.kind == "submodule" and backend.path == move.name:
            return target
        pin = backend.pin
        if pin is not None and (pin.file, pin.variable or pin.requirement or target.key) == (move.file, move.name):
            return target
    for key, shape in statuses.items():
        if any(pin.counted and (pin.file, pin.variable) == (move.file, move.name) for pin in shape.pins.values()):
            return targets.get(key)
    return None
