"""`gap report` finds what the upstreams of the sample were made to do."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from commands import layline
from layline.sample import DATE, Sample, write_sample
from layline.sample import expected as truth

Facts = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """The sample with the reports of all backends."""
    world = write_sample(tmp_path_factory.mktemp("gap") / "world")
    result = layline("gap", "report", "--all", "--date", DATE, cwd=world.harbor)
    assert result.code == 0, result.err
    return world


@pytest.fixture(scope="module")
def facts(world: Sample) -> Facts:
    """Backend → name of a fact → its value, as the evidence files tell them."""
    folder = world.harbor / "docs" / "backend-gap" / "dashboard-data" / "evidence"
    told = {key: json.loads((folder / f"{key}-upstream-main.json").read_text()) for key in truth.GAPS}
    return {key: {fact["name"]: fact["value"] for fact in file["facts"]} for key, file in told.items()}


@pytest.mark.parametrize("backend", list(truth.GAPS))
def test_figures(facts: Facts, backend: str) -> None:
    gap, found = truth.GAPS[backend], facts[backend]

    assert (found["pin.commit"], found["tip.commit"]) == (gap.pin, gap.tip)
    assert (found["pin.version"], found["tip.version"]) == (gap.pin_version, gap.tip_version)
    assert (found["behind"], found["files"], found["insertions"], found["deletions"]) == (
        gap.behind,
        gap.files,
        gap.insertions,
        gap.deletions,
    )


@pytest.mark.parametrize("backend", list(truth.DEPENDENCIES))
def test_dependencies(facts: Facts, backend: str) -> None:
    metadata = {name: value for name, value in facts[backend].items() if name.startswith("dependency.metadata.")}

    assert {name.rpartition(".")[2]: tuple(value[2]) for name, value in metadata.items()} == truth.DEPENDENCIES[backend]


@pytest.mark.parametrize("backend", list(truth.SURFACE))
def test_surface(facts: Facts, backend: str) -> None:
    kinds = ("field.", "flag.", "package.", "shim.")
    found = {name for name in facts[backend] if name.startswith(kinds)}
    stale = {name for name in truth.SURFACE[backend] if name.startswith("stale-key.")}

    assert found == set(truth.SURFACE[backend]) - stale
    assert stale <= facts[backend].keys()


@pytest.mark.parametrize("backend", list(truth.BROKEN_COUPLINGS))
def test_couplings_that_break(facts: Facts, backend: str) -> None:
    broken = {
        name.removeprefix("coupling.")
        for name, value in facts[backend].items()
        if name.startswith("coupling.")
        and value["consequence"] in {"will break", "may break"}
        and "/patches/" not in name
    }

    assert broken == set(truth.BROKEN_COUPLINGS[backend])


def test_a_change_and_its_revert_are_left_out(facts: Facts) -> None:
    assert facts["keel"]["changes.reverted"] == facts["spar"]["changes.reverted"] == 2
    assert not {"change.#63", "change.#64"} & facts["keel"].keys()


def test_our_own_records_are_not_contradicted(world: Sample) -> None:
    records = sorted((world.harbor / "docs" / "backend-gap" / "dashboard-data" / "reports").glob("*.json"))

    audited = layline("gap", "audit", *map(str, records), "--format", "json", cwd=world.harbor)

    assert audited.code == 0, audited.out
    assert len(audited.json["records"]) == len(truth.GAPS)


@pytest.mark.parametrize("backend", list(truth.GAPS))
def test_a_card_names_each_place_once_and_nothing_it_does_not_have(world: Sample, backend: str) -> None:
    folder = world.harbor / "docs" / "backend-gap" / "dashboard-data" / "reports"
    summary = json.loads((folder / f"{backend}-upstream-main.json").read_text())["dashboard_summary"]

    places = [re.search(r"harbor/[\w/]+\.py:\d+", risk) for risk in summary["integration_risks"]]
    named = [found[0] for found in places if found]

    assert len(named) == len(set(named)), named
    assert not [item for item in summary["dependency_deltas"] if "appendix" in item]


def test_one_label_has_one_reason_in_every_report(world: Sample, facts: Facts) -> None:
    """A month that ends at the commits of the gap reports takes over what they counted."""
    told = layline("periodic", "monthly", "--month", DATE[:7], "--no-write", "--format", "json", cwd=world.harbor)

    assert told.code == 0, told.err
    statuses = told.json["record"]
    for backend in ("keel", "spar"):
        status = statuses[f"{backend}_status"]
        assert [status["recommendation"], status["recommendation_rule"]] == facts[backend]["recommendation"]


def read_number(pattern: str, text: str) -> int | None:
    found = re.search(pattern, text)
    return int(found[1]) if found else None


@pytest.mark.parametrize("backend", list(truth.GAPS))
def test_the_report_counts_what_does_nothing_as_drift_does(world: Sample, facts: Facts, backend: str) -> None:
    """Before, it counted them with what needs a look, or with what fits."""
    answer = layline("patches", "drift", backend, "--format", "json", cwd=world.harbor).json
    drift, places = answer["places"], facts[backend]["places"]
    assert places["do nothing even at the pin"] == drift["does_nothing"]
    assert places["fail at the pin already"] >= drift["fails_already"]
    # in patches and outside: one set of places, by the same names
    inside = {row["location"] for row in answer["rows"] if row["severity"] == "breaks" and row["today"] == "fits"}
    outside = {(one["severity"], one["location"]) for one in answer["elsewhere"] if one["today"] == "fits"}
    broken = {place for severity, place in outside if severity == "breaks"} - inside
    assert places["break"] == drift["breaks"] + len(broken)
    look = {one["location"] for one in answer["elsewhere"] if one["severity"] == "look"}
    assert places["need a look"] + places["stop applying"] == drift["look"] + len(look - inside)


@pytest.mark.parametrize("backend", list(truth.GAPS))
def test_the_figures_of_one_report_agree_with_one_another(world: Sample, facts: Facts, backend: str) -> None:
    """One number for one question, wherever it is told: evidence, summary, report, its tables."""
    folder, told = world.harbor / "docs/backend-gap/reports" / backend / "upstream-main", facts[backend]
    report, summary = ((folder / f"{name}.md").read_text() for name in ("report", "summary"))
    places, total = told["places"], sum(told["places"].values())
    plan = [value for name, value in told.items() if name.startswith("plan.")]
    causes = [set(value) for name, value in told.items() if name.startswith("cause.")]
    stale = [value for name, value in told.items() if name.startswith("stale-key.")]

    assert sum(map(len, causes)) == len(set().union(*causes)) == sum(step["places"] for step in plan)
    for text in (report, summary):
        broken = places["break"]
        said = f"| {total} | {broken or 'none'} of them {'breaks' if broken == 1 else 'break'} |"
        assert said in text.replace("| 0 of", "| none of")
        if places["break"]:
            assert f"{places['break']} of the {total} places" in text
            assert read_number(r"fix (\d+) places? in", text) == places["break"]
            assert read_number(r"At least (\d+) line", text) == told["effort"]["lines"]
        lines = read_number(r"(\d+) YAML lines? sets?", text)
        assert (lines or 0) == sum(1 + others for others, _ in stale)
        assert (read_number(r"sets? (\d+) keys? that", text) or 0) == len(stale)
    for kind, heading in (("break", "Errors: "), ("need a look", "Warnings: ")):
        one = kind.replace(" ", "s ", 1) if " " in kind else f"{kind}s"
        found = re.search(rf"### {heading}(?:.*, )?(\d+|no) (?:places? {kind}|place {one})", report)
        assert found is not None
        assert int(found[1].replace("no", "0")) == places[kind]
    seldom = {
        "fail at the pin already",
        "do nothing even at the pin",
        "use names that the pin does not have",
        "are undecided",
    }  # without a place there is no column
    shown = [number for kind, number in places.items() if kind not in seldom or number]
    rows = re.findall(rf"^\| `[^`]+`((?: \| \d+){{{len(shown)}}}) \|$", report, re.MULTILINE)
    rest = read_number(r"further files? fits: (\d+)\.", report) or 0
    columns = [[int(cell) for cell in row.split(" | ")[1:]] for row in rows]
    sums = [sum(column) for column in zip(*columns, strict=True)]
    assert not rows or [*sums[:-1], sums[-1] + rest] == shown

    stops = len([step for step in plan[:-1] if step["behind"]])
    listed = len(re.findall(r"^- \[`[0-9a-f]{8}`\].*: ", summary, re.MULTILINE))
    others = read_number(r"The other (\d+) stops are in", summary) or 0
    assert listed + others == stops
    assert (read_number(r"(\d+) stops? on the way", report) or 0) == stops
    assert not stops or read_number(r"Move the pin with (\d+) stop", summary) == stops


FOUND = [
    ("checkpoint", "1 of 17 changes of Keel since the pin matches 'checkpoint': 1 in the title", [88]),
    (
        "tide",
        "4 of 17 changes of Keel since the pin match 'tide': 4 only in the path of a file",
        [58, 104, 97, 83],
    ),
    (
        "report_memory",
        "1 of 17 changes of Keel since the pin matches 'report_memory': 1 only in code that is added or removed",
        [74],
    ),
    ("zzz", "None of 17 changes of Keel since the pin matches 'zzz'", []),
]


@pytest.mark.parametrize(("word", "said", "numbers"), FOUND)
def test_what_upstream_did_about_a_word(world: Sample, word: str, said: str, numbers: list[int]) -> None:
    assert layline("gap", "find", word, "keel", cwd=world.harbor).out.splitlines()[0] == said
    assert layline("gap", "find", "keel", word, cwd=world.harbor).out.splitlines()[0] == said, "either order"
    told = json.loads(layline("gap", "find", word, "keel", "--format", "json", cwd=world.harbor).out)
    assert [row["number"] for row in told["changes"]] == numbers
    assert (told["searched"], told["left_out"]) == (17, {"reverted": 2, "housekeeping": 11})


def test_a_word_that_nothing_matches_says_what_was_searched(world: Sample) -> None:
    text = layline("gap", "find", "chekpoint", "keel", cwd=world.harbor).out
    assert "Code is searched only for a name with an underscore or a capital inside" in text
    assert "Did you mean 'checkpoints'?" in text
    text = layline("gap", "find", "no_such_name", "keel", cwd=world.harbor).out
    assert "searched: titles, paths of code files, and code that is added or removed" in text
    assert "No match." not in text, "the first line says so"
    told = json.loads(layline("gap", "find", "chekpoint", "keel", "--format", "json", cwd=world.harbor).out)
    assert (told["searched_code"], told["near"]) == (False, "checkpoints")


def test_one_letter_is_no_word(world: Sample) -> None:
    result = layline("gap", "find", "x", "keel", cwd=world.harbor)
    assert (result.code, result.err.splitlines()[0]) == (2, "error: Give at least two letters to look for.")
