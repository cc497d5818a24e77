from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commands import layline
from layered import CONFIG, make_layered
from layline import codec


def test_text(tmp_path: Path) -> None:
    make_layered(tmp_path)
    result = layline("gap", "show", "keel", "--date", "2026-01-05", cwd=tmp_path)
    assert result.code == 0
    assert (
        result.out
        == """\
Keel is pinned 2 commits behind f99e41e2 and 0 ahead; 3 files differ, +1 −1 lines, 2 days apart.
downstream: harbour at 628e5d2d6094
what                       value
───────────────────────────────────────────────────────────────────
pin                        d0930c7715d80f9b904ad3deea4e68f5c0eac404
pin date                   2026-01-02
pin subject                Add run (#2)
pin version                1.0
tag in the pin's history   v1.0
tip                        f99e41e2da3262bc0816a4979ff51e06275114d0
tip date                   2026-01-04
tip subject                Release (#4)
tip version                1.1
tag in the tip's history   v1.0 (2 commits before)
behind                     2
ahead                      0
merge base                 d0930c7715d80f9b904ad3deea4e68f5c0eac404
relation                   behind
files changed              3
insertions                 1
deletions                  1
age in days                2
"""
    )


def test_every_figure_is_what_its_command_prints(tmp_path: Path) -> None:
    """The evidence is run, by a shell, in the clones it names."""
    layered = make_layered(tmp_path)
    data = layline("gap", "show", "keel", "--format", "json", "--date", "2026-01-05", cwd=tmp_path).json
    printed = {
        name: subprocess.run(["sh", "-c", command], cwd=layered.upstream.path, capture_output=True, check=True)
        .stdout.decode()
        .strip()
        for name, command in data["evidence"].items()
    }
    for name in ("behind", "ahead", "merge_base"):
        assert printed[name] == str(data[name])
    for side in ("pin", "tip"):
        for name in ("commit", "date", "subject"):
            assert printed[f"{side}.{name}"] == data[side][name]
        assert data[side]["version"] in printed[f"{side}.version"]
        assert printed[f"{side}.tag"] == str(data[side]["tag"][1])
    for name, word in (("files", "files changed"), ("insertions", "insertions(+)"), ("deletions", "deletions(-)")):
        assert any(part.strip().startswith(str(data[name])) for part in printed[name].split(",")), (word, printed[name])
    assert printed["age_days"].split() == [data["tip"]["date"], data["pin"]["date"]]


def test_same_inputs_same_bytes(tmp_path: Path) -> None:
    make_layered(tmp_path)
    runs = {
        layline("gap", "show", "keel", "--format", "json", "--date", "2026-01-05", cwd=tmp_path).out for _ in range(2)
    }
    assert len(runs) == 1


def test_any_downstream_commit_and_a_bare_repository(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    first = layered.downstream.commits[0]
    layered.downstream.gitlink("third_party/keel", layered.tip)
    layered.downstream.commit("Bump keel (#9)")
    subprocess.run(["git", "clone", "-q", "--bare", str(layered.downstream.path), str(tmp_path / "bare")], check=True)
    (tmp_path / "layline.toml").write_text(CONFIG.replace('git = "downstream"', 'git = "bare"'))
    now = layline("gap", "show", "keel", "--format", "json", cwd=tmp_path).json
    then = layline("gap", "show", "keel", "--at", first[:10], "--format", "json", cwd=tmp_path).json
    assert (now["behind"], now["relation"]) == (0, "same")
    assert (then["behind"], then["relation"]) == (2, "behind")


def test_fail_on_exits_with_one(tmp_path: Path) -> None:
    make_layered(tmp_path)
    broken = layline("gap", "show", "keel", "--fail-on", "behind>1", cwd=tmp_path)
    assert broken.code == 1
    assert "behind is 2, above the limit of 1" in broken.out
    assert layline("gap", "show", "keel", "--fail-on", "behind>2", cwd=tmp_path).code == 0


@pytest.mark.parametrize(("day", "stale"), [("2026-01-05", False), ("2026-06-01", True)])
def test_an_old_tip_may_be_stale(tmp_path: Path, day: str, stale: bool) -> None:
    make_layered(tmp_path)
    out = layline("gap", "show", "keel", "--date", day, cwd=tmp_path).out
    assert ("use --fetch first" in out) is stale


def test_diverged_pin_counts_both_sides(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("checkout", "-q", "-b", "fork", layered.pin)
    fork = layered.upstream.commit("Fix of our own", {"fix.txt": "x"})
    layered.downstream.gitlink("third_party/keel", fork)
    layered.downstream.commit("Pin the fork")
    data = layline("gap", "show", "keel", "--format", "json", cwd=tmp_path).json
    assert (data["behind"], data["ahead"], data["relation"], data["merge_base"]) == (2, 1, "diverged", layered.pin)
    assert "days apart (their histories diverged on 2026-01-02)." in layline("gap", "show", "keel", cwd=tmp_path).out


def test_the_newest_release_is_told_where_the_tip_does_not_have_it(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("checkout", "-q", "-b", "release", "HEAD~1")
    commit = layered.upstream.commit("Release 9.0", {"release.txt": "x"})
    layered.upstream.git("checkout", "-q", "main")
    layered.upstream.commit("Go on", {"on.txt": "x"})
    layered.upstream.git("update-ref", "refs/tags/v9.0", commit)
    assert "v9.0 of 2026-" in layline("gap", "show", "keel", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("refs/tags/v1.0.1", "note: the pin is on a release branch (v1.0.1) with 1 commit that main does not have."),
        (
            "refs/remotes/origin/next",
            "note: the pin is on upstream's branch next with 1 commit that main does not have.",
        ),
        (None, "warning: the pin is not an ancestor of main (diverged)"),
    ],
)
def test_a_pin_on_a_branch_of_upstream_is_no_warning(tmp_path: Path, ref: str | None, said: str) -> None:
    layered = make_layered(tmp_path)
    layered.upstream.git("checkout", "-q", "-b", "side", layered.pin)
    side = layered.upstream.commit("Fix", {"fix.txt": "x"})
    layered.upstream.git("checkout", "-q", "main")
    if ref is not None:
        layered.upstream.git("update-ref", ref, side)
    layered.downstream.gitlink("third_party/keel", side)
    layered.downstream.commit("Pin the branch")
    assert said in layline("gap", "show", "keel", "--date", "2026-01-05", cwd=tmp_path).out


def test_all_backends_in_one_table(tmp_path: Path) -> None:
    make_layered(tmp_path)
    more = '\n[backends.rope]\npin = { revision = "v1.0" }\nobjects = "upstream"\n'
    lost = '\n[backends.lost]\npin = { revision = "v1.0" }\nobjects = "nowhere"\n'
    (tmp_path / "layline.toml").write_text(CONFIG + more + lost)
    told = layline("gap", "show", "--all", "--date", "2026-01-05", cwd=tmp_path)
    assert told.code == 0, told.err
    assert [line.split()[0] for line in told.out.splitlines() if " 2026-01-02 " in line] == ["Keel", "rope"]
    assert "backend lost" in told.out
    data = layline("gap", "show", "--all", "--format", "json", "--date", "2026-01-05", cwd=tmp_path).json
    assert [one["behind"] for one in data["backends"]] == [2, 2]
    assert [one["what"] for one in data["skipped"]] == ["backend lost"]


def test_rules_for_auditors_stand_behind_evidence(tmp_path: Path) -> None:
    make_layered(tmp_path)
    told = layline("gap", "show", "keel", "--evidence", "--date", "2026-01-05", cwd=tmp_path).out
    assert "looked at on: 2026-01-05; dates are committer dates" in told
    assert "diff: renames on at 50 %" in told


def test_written_pins(tmp_path: Path) -> None:
    layered = make_layered(tmp_path)
    workflow = f"env:\n  # KEEL_COMMIT: {'0' * 40}\n  KEEL_COMMIT: {layered.pin}  # Add run\n"
    layered.downstream.commit(
        "Pin elsewhere",
        {
            ".github/keel.commit": f"{layered.pin}\n",
            ".github/workflows/ci.yaml": workflow,
            "requirements.txt": "keel[fast]==1.0\n",
        },
    )
    for pin in (
        'pin = { file = ".github/keel.commit" }',
        'pin = { file = ".github/workflows/ci.yaml", variable = "KEEL_COMMIT" }',
        'pin = { file = "requirements.txt", requirement = "keel" }',
        'pin = { revision = "v1.0" }',
    ):
        (tmp_path / "layline.toml").write_text(CONFIG.replace('path = "third_party/keel"', pin))
        data = layline("gap", "show", "keel", "--format", "json", cwd=tmp_path).json
        assert (data["pin"]["commit"], data["behind"]) == (layered.pin, 2), pin


def test_output_is_saved_whole(tmp_path: Path) -> None:
    make_layered(tmp_path)
    result = layline("gap", "show", "keel", "--format", "md", "-o", "out/gap.md", cwd=tmp_path)
    assert (result.code, result.out) == (0, "")
    assert (tmp_path / "out/gap.md").read_text().startswith("# Keel is pinned 2 commits behind ")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["gap.md"]


def test_json_is_strict(tmp_path: Path) -> None:
    make_layered(tmp_path)
    result = layline("gap", "show", "keel", "--format", "json", cwd=tmp_path)
    assert codec.parse_json(result.out, where="stdout")["schema"] == "layline.gap/1"


def test_packages_are_known_from_the_upstream_tree(tmp_path: Path) -> None:
    """`init` leaves `packages` out where it has no objects; every command fills them in."""
    layered = make_layered(tmp_path)
    assert "packages" not in CONFIG
    (tmp_path / "layline.toml").write_text(CONFIG + 'integration = ["harbour"]\n')
    assert layline("gap", "report", "keel", "--date", "2026-01-05", cwd=tmp_path).code == 0
    report = (tmp_path / "docs/backend-gap/reports/keel/upstream-main/report.md").read_text()
    assert "keel.run" in report
    assert layline("gap", "verify", cwd=tmp_path).code == 0
    assert layered.tip[:12] in report
