"""`gap audit` contradicts only what git contradicts: true values, and what nobody can know, are left in peace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from audited import CONFIG, audit, gap_record, make_project, verdicts
from histories import History
from layline.app.gap_audit import gap_audit
from layline.workspace.open import open_workspace


def field(answer: Any, name: str) -> tuple[str, Any]:
    """Verdict and computed value of one field of the first record."""
    return next(
        (one["verdict"], one["computed"]) for one in answer.data["records"][0]["fields"] if one["field"] == name
    )


def monthly(**changes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "report_id": "2026-02",
        "content_type": "monthly-report",
        "title": "Month",
        "report_path": "docs/monthly_reports/x.md",
        "report_github_url": "https://example.org/x",
        "generated_at": "2026-02-20T00:00:00+00:00",
        "merged_pr_count": 1,
        "time_window": {"timezone": "UTC", "start": "2026-01-02T00:00:00+00:00", "end": "2026-02-20T00:00:00+00:00"},
        "category_breakdown": {"Other": 1},
        "keel_status": {},
        "recommendations": {"keel": "monitor"},
        "key_findings": ["Quiet."],
    }
    return record | changes


def make_unversioned(root: Path) -> tuple[str, str]:
    """An upstream that declares no version we can read."""
    upstream = History.start(root / "upstream")
    pin = upstream.commit("Begin (#1)", {"keel/run.py": "def run(): ...\n", "keel/old/a.py": "x = 1\n"})
    tip = upstream.commit(
        "More (#2)", {"keel/more.py": "x = 1\n", "keel/new/b.py": "y = 1\n", "keel/new/c.py": "z = 1\n"}
    )
    downstream = History.start(root / "downstream")
    downstream.gitlink("third_party/keel", pin)
    downstream.commit("Layer (#7)", {"harbour/keel/trainer.py": "from keel.run import run\n"})
    (root / "layline.toml").write_text(CONFIG)
    return pin, tip


@pytest.mark.parametrize(
    "sentence",
    [
        "We pin version 1.0.0 while upstream declares 1.1.0.",
        "Upstream tracks the latest nightly on CUDA cu130.",
    ],
)
def test_a_claim_against_an_unknown_value_is_not_checkable(tmp_path: Path, sentence: str) -> None:
    pin, tip = make_unversioned(tmp_path)
    answer = audit(tmp_path, gap_record(pin, tip, highlights=[sentence]))
    assert verdicts(answer)["highlights[0]"] == "not-checkable"


def test_one_unknown_side_leaves_the_other_open(tmp_path: Path) -> None:
    pin, _ = make_unversioned(tmp_path)
    tip = History(tmp_path / "upstream", commits=["x", "y"]).commit(
        "Declare (#3)", {"pyproject.toml": '[project]\nname = "keel"\nversion = "1.1.0"\n'}
    )
    sentence = "We pin version 1.0.0 while upstream declares 1.1.0."
    assert verdicts(audit(tmp_path, gap_record(pin, tip, highlights=[sentence])))["highlights[0]"] == "not-checkable"


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Added `keel/new/` (a home for news).", "confirmed"),
        ("Added `keel/new/b.py` and `c.py`.", "confirmed"),
        ("Added `keel/old/` for the old.", "contradicted"),
        ("Added `keel/new/b.py`, `keel/run.py`.", "contradicted"),
        ("Added `keel/never/`.", "contradicted"),
        ("Added keel/old/a.py as a start.", "contradicted"),
        ("Added shared `keel/new/` abstractions and moved `old` into `keel/old/`.", "confirmed"),
        ("Added a `--fast` flag.", "not-checkable"),
        ("Added `nightly/cu130` wheels.", "not-checkable"),
        ("Added Hybrid/Mamba models.", "not-checkable"),
    ],
)
def test_a_path_said_to_be_added_is_looked_up_on_both_sides(tmp_path: Path, sentence: str, verdict: str) -> None:
    pin, tip = make_unversioned(tmp_path)
    assert verdicts(audit(tmp_path, gap_record(pin, tip, highlights=[sentence])))["highlights[0]"] == verdict


def test_bullets_of_the_published_report_that_add_paths(tmp_path: Path) -> None:
    pin, tip = make_unversioned(tmp_path)
    text = "# Report\n\n- Added `keel/new/` (news)\n* Added `keel/old/`\n- Raised the floor\n"
    history = History(tmp_path / "downstream", commits=["x"])
    history.commit("Publish (#8)", {"docs/backend-gap/reports/keel/upstream-main/report.md": text})
    found = verdicts(audit(tmp_path, gap_record(pin, tip)))
    assert {name: verdict for name, verdict in found.items() if name.startswith("report.md")} == {
        "report.md:3: keel/new/ added": "confirmed",
        "report.md:4: keel/old/ added": "contradicted",
    }


def test_the_previous_pin_is_read_at_the_start_of_the_window(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    history = History(tmp_path / "downstream", commits=["x"])
    history.gitlink("third_party/keel", tip)
    history.commit("Bump (#8)", {}, at=1_770_681_600)
    status = {"upstream_repo": "https://example.org/keel", "pin_commit": tip, "previous_pin_commit": pin}
    answer = audit(tmp_path, monthly(keel_status=status))
    assert field(answer, "keel_status.pin_commit")[0] == "confirmed"
    assert field(answer, "keel_status.previous_pin_commit") == ("confirmed", pin)
    wrong = audit(tmp_path, monthly(keel_status=status | {"previous_pin_commit": tip}))
    assert field(wrong, "keel_status.previous_pin_commit") == ("contradicted", pin)


@pytest.mark.parametrize(
    ("zone", "report", "window", "name", "value"),
    [
        # a report made late, whose window begins where the last one ended: the period names the quarter
        (
            "UTC",
            "2026-08",
            ("2026-06-02T17:53:00+00:00", "2026-08-03T17:03:00+00:00"),
            "quarter_start_ts",
            "2026-07-01T00:00:00+00:00",
        ),
        (
            "Europe/Berlin",
            "2026-06",
            ("2026-06-01T00:00:00+02:00", "2026-06-30T00:00:00+02:00"),
            "quarter_start_ts",
            "2026-04-01T00:00:00+02:00",
        ),
        # summer time began inside the quarter
        (
            "Europe/Berlin",
            "2026-03",
            ("2026-03-30T00:00:00+02:00", "2026-03-31T00:00:00+02:00"),
            "quarter_start_ts",
            "2026-01-01T00:00:00+01:00",
        ),
    ],
)
def test_the_start_of_a_quarter_is_the_one_the_generator_writes(
    tmp_path: Path, zone: str, report: str, window: tuple[str, str], name: str, value: str
) -> None:
    make_project(tmp_path)
    record = monthly(
        report_id=report,
        generated_at=window[1],
        keel_status={name: value},
        time_window={"timezone": zone, "start": window[0], "end": window[1]},
    )
    assert field(audit(tmp_path, record), f"keel_status.{name}")[0] == "confirmed"


def test_a_branch_without_code_contradicts_nothing(tmp_path: Path) -> None:
    """Records are often published on a branch of their own that holds nothing else."""
    pin, tip = make_project(tmp_path)
    history = History(tmp_path / "downstream", commits=["x"])
    history.git("checkout", "-q", "--orphan", "data")
    history.git("rm", "-rfq", ".")
    history.commit("Publish", {"docs/note.md": "words\n"}, at=1_767_139_200)
    records = (
        gap_record(pin, tip),
        monthly(
            keel_status={"pin_commit": pin, "current_ci_commit": pin, "upstream_repo": "https://example.org/keel"},
            key_findings=["No submodule SHA changed: no submodule SHA changed."],
        ),
    )
    paths = []
    for number, record in enumerate(records):
        paths.append(tmp_path / f"r{number}.json")
        paths[-1].write_text(json.dumps(record))
    answer = gap_audit(open_workspace(tmp_path / "layline.toml", at="data"), tuple(paths))
    rows = [one for record in answer.data["records"] for one in record["fields"]]
    assert [(one["field"], one["computed"]) for one in rows if one["verdict"] == "contradicted"] == []
    open_ = {one["field"]: one["computed"] for one in rows if one["verdict"] == "not-checkable"}
    assert "contains no code" in open_["merged_pr_count"]
    assert "contains no code" in open_["integration.backend_files"]


def _lose(root: Path, repository: str, commit: str, path: str) -> None:
    """Remove one blob from an object store, as a partial clone lacks it."""
    history = History(root / repository, commits=["x"])
    oid = history.git("rev-parse", f"{commit}:{path}").strip()
    (root / repository / ".git/objects" / oid[:2] / oid[2:]).unlink()


def test_a_missing_blob_of_the_downstream_leaves_one_field_open(tmp_path: Path) -> None:
    pin, _ = make_project(tmp_path)
    mark = "a" * 40
    history = History(tmp_path / "downstream", commits=["x"])
    commit = history.commit("CI (#8)", {"ci.yaml": f"TURBO: {mark}\n", "big.txt": "lost\n"})
    _lose(tmp_path, "downstream", commit, "big.txt")
    status = {
        "current_ci_commit": mark,
        "current_aiter_commit": "b" * 40,
        "pin_commit": pin,
        "upstream_repo": "https://example.org/keel",
    }
    answer = audit(tmp_path, monthly(keel_status=status))
    assert field(answer, "keel_status.pin_commit")[0] == "confirmed"
    assert field(answer, "keel_status.current_ci_commit") == ("confirmed", "ci.yaml:1:TURBO: " + mark)
    verdict, why = field(answer, "keel_status.current_aiter_commit")
    assert (verdict, "1 file" in why) == ("not-checkable", True)


def test_a_missing_blob_of_the_upstream_leaves_its_fields_open(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    _lose(tmp_path, "upstream", tip, "pyproject.toml")
    found = verdicts(audit(tmp_path, gap_record(pin, tip)))
    assert found["stats.commit_gap"] == "confirmed"
    assert found["local.commit"] == "confirmed"
    assert found["stats.insertions"] == "not-checkable"


def test_a_commit_that_is_not_here_does_not_end_the_audit_of_other_records(tmp_path: Path) -> None:
    pin, tip = make_project(tmp_path)
    lost = gap_record(pin, tip, upstream=gap_record(pin, tip)["upstream"] | {"commit": "c" * 40})
    answer = audit(tmp_path, lost, gap_record(pin, tip))
    first, second = answer.data["records"]
    assert {one["verdict"] for one in first["fields"]} == {"not-checkable"}
    assert any(one["verdict"] == "confirmed" for one in second["fields"])
