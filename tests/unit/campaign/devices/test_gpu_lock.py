"""One accelerator, one user."""

from __future__ import annotations

from pathlib import Path

import pytest

from layline.campaign.devices.gpu_lock import find_fitting, find_visible, hold_one, name_first
from layline.errors import BenchError

LINES = ("GPU-aa11, Abacus 9, 550.1, 700 W", "GPU-bb22, Abacus 9, 550.1, 700 W")


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, ("GPU-aa11", "GPU-bb22")),
        ("", ()),
        ("1", ("GPU-bb22",)),
        ("1,0", ("GPU-bb22", "GPU-aa11")),
        ("GPU-bb", ("GPU-bb22",)),
        ("7", ()),
        ("GPU-cc", ()),
    ],
)
def test_which_accelerators_a_process_may_use(visible: str | None, found: tuple[str, ...]) -> None:
    assert find_visible(LINES, visible) == found


@pytest.mark.parametrize(
    ("visible", "kind", "found"),
    [(None, "Abacus 9", ("GPU-aa11", "GPU-bb22")), ("2,1", "Abacus 9", ("GPU-bb22",)), ("", "Abacus 9", ())],
)
def test_only_accelerators_of_the_kind_are_taken(visible: str | None, kind: str, found: tuple[str, ...]) -> None:
    assert find_fitting((*LINES, "GPU-cc33, Screen 1, 550.1, 30 W"), visible, kind) == found


def test_where_there_are_only_others_none_is_taken() -> None:
    with pytest.raises(BenchError, match="None of the accelerators that may be used here is of kind Abacus 10"):
        find_fitting(LINES, None, "Abacus 10")


@pytest.mark.parametrize(
    ("visible", "asked"),
    [
        (None, "0"),
        ("3", "3"),
        ("2,0", "2"),
        ("GPU-12345678-1234-1234-1234-123456789012", "GPU-12345678-1234-1234-1234-123456789012"),
        ("", None),
        ("GPU-cc", None),
    ],
)
def test_the_driver_is_asked_for_the_one_in_use(
    visible: str | None, asked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("layline.campaign.devices.gpu_lock.read_accelerators", lambda: LINES)
    assert name_first(visible) == asked


def test_the_next_one_gets_the_next_and_the_third_waits(tmp_path: Path) -> None:
    names = ("GPU-aa11", "GPU-bb22")
    with hold_one(names, tmp_path) as first:
        with hold_one(names, tmp_path) as second:
            assert (first, second) == names
            waited = pytest.raises(TimeoutError)
            with waited, hold_one(names, tmp_path, wait=_give_up):
                pass
        with hold_one(names, tmp_path) as again:
            assert again == "GPU-bb22"


def test_where_there_is_none_nothing_is_held(tmp_path: Path) -> None:
    with hold_one((), tmp_path) as held:
        assert held is None
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "layline-GPU-aa11.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), hold_one(("GPU-aa11",), tmp_path):  # noqa: PT011  whatever the system calls it
        pass
    assert not (tmp_path / "elsewhere").exists()


def _give_up() -> None:
    raise TimeoutError
