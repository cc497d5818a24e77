"""Campaigns over real machine code: what a kernel may do wrong is a verdict, never an accident of the campaign."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from campaign_project import inside, now, propose
from histories import History
from layline.app.campaign import campaign_baseline, campaign_new, campaign_note, campaign_resume, campaign_round
from layline.app.campaign_operators import find_start
from layline.campaign.loop.define import define_target
from layline.core.report import Answer
from layline.errors import BenchError, ConfigError

pytestmark = pytest.mark.slow
NAIVE = find_start("softmax", "naive")
HEAD = "int forward("


def settle(action: Callable[[], Answer]) -> Answer:
    """Do as a user does: a run whose controls failed on a busy machine says nothing, `resume` measures again."""
    for _ in range(6):
        try:
            return action()
        except BenchError as error:
            if "control failed" not in error.message:
                raise
            action = partial(campaign_resume, now=now)
    return action()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> History:
    history = History.start(tmp_path_factory.mktemp("trusted") / "project")
    history.commit("Start", {"kernels/softmax.c": NAIVE})
    history.git("config", "user.name", "Ada")
    history.git("config", "user.email", "ada@example.org")
    chosen = {
        "operator": "softmax",
        "kernels": ("kernels/softmax.c",),
        "target": None,
        "branch": "auto",
        "max_iterations": None,
        "shapes": (),
    }
    with inside(history.path):
        campaign_new(define_target("softmax_cpu", None, **chosen), now=now)
        settle(partial(campaign_baseline, now=now))
    return history


FAULTS = [
    ("crashes", "    *(volatile int *)0 = 1;\n"),
    ("hangs", "    for (volatile int go = 1; go;) {}\n"),
    ("writes nothing", "    return 0;\n"),
    ("does not compile", "    this is not C;\n"),
]


@pytest.mark.parametrize(("what", "line"), FAULTS, ids=[what for what, _ in FAULTS])
def test_a_kernel_that_misbehaves_is_rolled_back(project: History, what: str, line: str) -> None:
    place = project.path / "kernels/softmax.c"
    body = NAIVE.index("{", NAIVE.index(HEAD)) + 1
    place.write_text(f"{NAIVE[:body]}\n{line}{NAIVE[body:]}")
    with inside(project.path):
        answer = settle(partial(campaign_round, propose(what), now=now))
        notes = [(kind, f"{kind} of {what}") for kind in ("diagnosis", "profile", "inspection", "comparison")]
        campaign_note(answer.data["round"], [*notes, *(("direction", f"{what} {n}") for n in range(3))], now=now)
    assert answer.data["settled"] == "ROLLED BACK"
    assert answer.data["verdict"]["outcome"] == "ROLLBACK"
    assert place.read_text() == NAIVE
    assert project.git("status", "--porcelain") == ""


def test_a_kernel_that_returns_nan_is_rolled_back(project: History, tmp_path: Path) -> None:
    place = project.path / "kernels/softmax.c"
    place.write_text(
        NAIVE.replace(HEAD, "static int plain(")
        + (
            "\nint forward(const float *x, float *y, int64_t R, int64_t C) "
            "{\n    int done = plain(x, y, R, C);\n    if (R * C) y[R * C - 1] = 0.0f / 0.0f;\n    return done;\n}\n"
        )
    )
    with inside(project.path):
        answer = settle(partial(campaign_round, propose("returns NaN"), now=now))
    assert answer.data["settled"] == "ROLLED BACK"
    assert "finite" in answer.data["verdict"]["reason"]


def test_a_comment_is_no_change(project: History) -> None:
    place = project.path / "kernels/softmax.c"
    place.write_text("/* faster */\n" + NAIVE.replace("\n", "\n\n"))
    with inside(project.path), pytest.raises(ConfigError, match="except for comments and spacing"):
        campaign_round(propose("a comment"), now=now)
    place.write_text(NAIVE)
