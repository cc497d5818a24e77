"""The first line of `patches drift` for none, one and many places; what is said of a target that stayed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drift_rows import drift_row
from layline.core.condition import Condition, ConditionKind, combine
from layline.core.drift import DriftKind, Uncompared
from layline.core.evidence import Evidence, Location, Severity
from layline.core.finding import Finding
from layline.core.listing import limit_listing
from layline.core.patch import Effect, Guard, Patch, Style, TargetKind
from layline.core.revision import Commit
from layline.core.why import Reason, Why
from layline.coupling.drift_model import Cause, Drift, find_breaking
from layline.patches.drift.elsewhere import Elsewhere
from layline.patches.drift.headline import say_broken, say_others
from layline.patches.drift.kinds import DRIFT_KINDS, name_kinds
from layline.patches.drift.lines import build_drift_listing, group_causes, say_retired
from layline.patches.drift.places import Places, count_places
from layline.patches.drift.report import DriftReport, encode_drift
from layline.patches.drift.sentences import say_row, tell_row
from layline.patches.drift.tally import group_effects
from layline.patches.show import say_need, say_needs
from layline.patches.wanted import DEAD as DEAD_WORD
from layline.patches.wanted import Wanted
from layline.render.listing import render_listing

BROKEN = [
    (Places(0, 0, 0, 0, 0), "none of our patches has a known target in this upstream"),
    (Places(1, 0, 0, 0, 0), "the one patched place does not break"),
    (Places(1, 1, 0, 0, 0), "the one patched place breaks"),
    (Places(5, 0, 0, 1, 0), "none of 5 patched places break"),
    (Places(5, 1, 0, 0, 0), "1 of 5 patched places breaks"),
    (Places(5, 2, 0, 0, 3), "2 of 5 patched places break"),
]


@pytest.mark.parametrize(("places", "said"), BROKEN)
def test_the_count_reads_like_a_sentence(places: Places, said: str) -> None:
    assert say_broken(places) == said


OTHERS = [
    (Places(41, 9, 0, 0, 19), ["19 more need a look", "13 fit"]),
    (Places(5, 2, 0, 1, 1), ["1 does nothing even at the pin", "1 more needs a look", "1 fits"]),
    (Places(5, 5, 0, 0, 0), []),
    (Places(5, 1, 0, 0, 0), []),
    (Places(3, 0, 0, 0, 3), ["3 need a look"]),
]


@pytest.mark.parametrize(("places", "said"), OTHERS)
def test_the_other_places_add_up(places: Places, said: list[str]) -> None:
    assert say_others(places) == said


def row_of(*findings: Finding, line: int = 3) -> Drift:
    return Drift(
        patch="paint",
        active=True,
        target="keel.run.Hull.paint",
        style=Style.BINDING_REPLACEMENT,
        location=Location("harbor/hull.py", line),
        findings=findings,
    )


BREAKING = Finding(kind=DriftKind.BODY_CHANGED, severity=Severity.BREAKS, why=Why(Reason.MISREADS))
TODAY = Finding(kind=DriftKind.UNCHANGED, severity=Severity.BREAKS, why=Why(Reason.MISREADS_TODAY))
RAISES = Finding(kind=DriftKind.DEAD_AT_PIN, severity=Severity.BREAKS, why=Why(Reason.RAISES_TODAY))
DEAD = Finding(kind=DriftKind.DEAD_AT_PIN, severity=Severity.LOOK, why=Why(Reason.NEVER_HAD))
APART = Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.ONLY_WITHOUT, "keel"))
FITS = Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.KIND_ALONE))
COUNTED = [
    # (what is found at one place, how the place counts)
    ((BREAKING,), Places(1, 1, 0, 0, 0)),
    ((TODAY,), Places(1, 0, 1, 0, 0)),
    ((TODAY, BREAKING), Places(1, 1, 0, 0, 0)),
    ((RAISES,), Places(1, 0, 1, 0, 0)),
    ((DEAD,), Places(1, 0, 0, 1, 0)),
    ((FITS,), Places(1, 0, 0, 0, 0)),
    ((APART,), Places(0, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("findings", "places"), COUNTED)
def test_what_fails_at_the_pin_is_not_broken_by_the_upgrade(findings: tuple[Finding, ...], places: Places) -> None:
    row = row_of(*findings)
    assert count_places([row]) == places
    assert list(find_breaking([row])) == ([row] if places.broken else [])


def test_a_place_counts_by_what_the_upgrade_breaks_first() -> None:
    assert count_places([row_of(TODAY), row_of(BREAKING), row_of(FITS, line=9)]) == Places(2, 1, 0, 0, 0)


def test_a_heading_says_how_many_effects_its_places_have() -> None:
    for lines, said in (
        ((3, 3, 3), "3 effects at 1 place"),
        ((3, 3, 9), "3 effects at 2 places"),
        ((1, 2, 3), "at 3 places"),
    ):
        [group] = group_causes([row_of(BREAKING, line=line) for line in lines])
        assert group.title.startswith(f"error[does-not-fit] {said}: ")


BEHIND = Finding(kind=DriftKind.REMOVED, severity=Severity.BREAKS, why=Why(Reason.NOT_INSTALLED))
BESIDE = [
    # what is found of the target, what keeps it from working, the word and the sentence of the line
    (DriftKind.UNRESOLVED, Reason.NOT_INSTALLED, "not-installed", "keel.run.Hull.paint is not patched"),
    (DriftKind.EXTERNAL, Reason.NOT_INSTALLED, "not-installed", "keel.run.Hull.paint is not patched"),
    (DriftKind.UNRESOLVED, Reason.MISREADS, "does-not-fit", "our replacement of keel.run.Hull.paint does not work"),
]


@pytest.mark.parametrize(("kind", "reason", "code", "said"), BESIDE)
def test_what_nobody_decided_is_never_called_the_error(kind: DriftKind, reason: Reason, code: str, said: str) -> None:
    own = Finding(kind=kind, severity=Severity.LOOK, why=Why(Reason.RESULT_UNKNOWN))
    row = row_of(own, Finding(severity=Severity.BREAKS, why=Why(reason)))
    assert (row.kind, row.code, say_row(row)) == (kind, code, said)
    assert row_of(own).code == kind.value


def test_of_a_target_without_a_name_the_patch_is_told_not_judged() -> None:
    """It said that the patch cannot be decided, or that the patch is not patched."""
    own = Finding(kind=DriftKind.UNRESOLVED, severity=Severity.LOOK, why=Why(Reason.RESULT_UNKNOWN))
    row = replace(row_of(own), target=None, patch="keel.fast")
    assert say_row(row) == "what keel.fast changes here cannot be named without running the code"
    both = (own, Finding(severity=Severity.BREAKS, why=Why(Reason.NOT_INSTALLED)))
    assert say_row(replace(row, findings=both)) == "keel.fast changes nothing here"


NAMED = [
    # (what is found, every word that `--kind` takes for it)
    (BREAKING, {"does-not-fit", "body-changed"}),
    (BEHIND, {"not-installed", "removed"}),
    (DEAD, {"dead-at-pin"}),
    (FITS, {"unchanged"}),
]


@pytest.mark.parametrize(("finding", "kinds"), NAMED)
def test_every_word_that_is_printed_for_a_row_can_be_asked_for(finding: Finding, kinds: set[str]) -> None:
    row = row_of(finding)
    assert {kind for kind in DRIFT_KINDS if Wanted(kinds=(kind,)).keeps_row(row, name_kinds(row))} == kinds
    assert row.code in kinds


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (
            Why(Reason.KEY_DROPPED, names=("env:THREADS", "keel.fast")),
            "upstream no longer mentions the environment variable THREADS and the config key keel.fast, which the patch sets",
        ),
        (
            Why(Reason.KEY_NEEDED, "threads"),
            "upstream no longer mentions the config key threads, which the patch reads",
        ),
    ],
)
def test_a_setting_that_upstream_dropped_is_told_by_what_it_is(why: Why, said: str) -> None:
    row = row_of(Finding(kind=DriftKind.REMOVED, severity=Severity.LOOK, why=why))
    assert (say_row(row), dict(tell_row(row).details).get("why")) == (said, None)


def test_several_lines_in_one_row_are_counted_there() -> None:
    """The first line counts places: whoever adds up the rows has to find each."""
    here = Location("harbor/hull.py", 3)
    one = Elsewhere(
        touch="imports",
        target="keel.Mast",
        location=here,
        also=(replace(here, line=7),),
        severity=Severity.LOOK,
        detail="removed",
    )
    text = render_listing(build_drift_listing(replace(report_of(), elsewhere=(one,))), width=120)
    assert "2 places need a look" in text
    assert "our code imports keel.Mast, which was removed\n  counts   as 2 places: lines 3 and 7\n" in text


def test_names_of_one_statement_that_share_a_reason_are_told_together() -> None:
    one = Elsewhere(
        touch="imports",
        target="keel.old.Mast",
        location=Location("harbor/hull.py", 3),
        severity=Severity.BREAKS,
        detail="the import fails",
        new_target="keel.Mast",
    )
    two, other = replace(one, target="keel.old.Keel", new_target="keel.Keel"), replace(one, detail="removed")
    text = render_listing(build_drift_listing(replace(report_of(), elsewhere=(one, other, two))), width=120)
    assert "our code imports keel.old.Mast and keel.old.Keel: the import fails\n" in text
    assert "  fix      use keel.Mast and keel.Keel\n" in text
    assert "our code imports keel.old.Mast, which was removed\n" in text
    assert "1 place breaks" in text


def test_a_new_name_alone_is_no_fix_where_it_takes_other_parameters() -> None:
    one = Elsewhere(
        touch="imports",
        target="keel.old.furl",
        location=Location("harbor/hull.py", 3),
        severity=Severity.BREAKS,
        detail="renamed, with other parameters",
        new_target="keel.furl",
        differs=True,
    )
    text = render_listing(build_drift_listing(replace(report_of(), elsewhere=(one,))), width=120)
    assert "  fix      use keel.furl; it takes different parameters, so change the calls, too\n" in text


def test_a_commit_is_named_once_with_all_that_it_did() -> None:
    said = [Why(Reason.WAS_REMOVED), Why(Reason.GONE)]
    row = replace(row_of(BREAKING), causes=tuple(Cause(why=why, commit=COMMIT) for why in said))
    assert [text for label, text in tell_row(row).details if label == "since"] == [
        "0123456789ab (2026-04-28): Take the old hull away (#80): upstream removed the name; it is gone"
    ]


def test_what_a_commit_did_has_the_subject_of_the_whole() -> None:
    parts = Why(Reason.USES_GONE, "keel.mast"), Why(Reason.READS_LOST, "self.rig", "keel.Hull")
    whole = Finding(severity=Severity.BREAKS, why=Why(Reason.MISREADS, parts=parts))
    row = replace(row_of(whole), causes=tuple(Cause(why=why, commit=COMMIT) for why in (*parts, Why(Reason.GONE))))
    (told,) = (text for label, text in tell_row(row).details if label == "since")
    assert told.endswith(
        "(#80): our replacement uses keel.mast, which is gone, and reads self.rig, which keel.Hull does not have at the tip; "
        "it is gone"
    )


def test_a_condition_that_is_false_is_not_called_uncertain() -> None:
    doubt = Finding(severity=Severity.OK, why=Why(Reason.NOT_CERTAIN, text="only where keel.fast can be imported"))
    never = Finding(
        severity=Severity.OK, why=Why(Reason.GUARD_NEVER, "its guard", parts=(Why(Reason.TEXT, text="so"),))
    )
    assert dict(tell_row(row_of(DEAD, doubt)).details)["why"].endswith(
        "not certain: only where keel.fast can be imported"
    )
    told = dict(tell_row(row_of(DEAD, doubt, never)).details)["why"]
    assert told.endswith("its guard is already false at the pin: so")
    assert "not certain" not in told


def test_only_other_decorators_are_no_other_signature() -> None:
    told = {
        words: say_row(
            row_of(Finding(kind=DriftKind.SIGNATURE_CHANGED, severity=Severity.LOOK, why=Why(Reason.SIGNATURE, words)))
        )
        for words in ("decorators", "removed", "")
    }
    assert told == {
        "decorators": "the decorators of keel.run.Hull.paint changed",
        "removed": "the signature of keel.run.Hull.paint changed",
        "": "the signature of keel.run.Hull.paint changed",
    }


NEEDS = [
    ("version:packaging >= 2", "It depends on a version: packaging >= 2."),
    ("env:KEEL_FAST", "It depends on an environment variable: KEEL_FAST."),
    ("no attr:keel.run", "It depends on the absence of a name: keel.run."),
    ("the weather", "It depends on the weather."),
]


@pytest.mark.parametrize(("need", "said"), NEEDS)
def test_what_a_patch_depends_on_is_a_sentence(need: str, said: str) -> None:
    assert say_need(need) == said


NEEDED = [
    # id, what its condition asks for, what `show` says beside the condition
    (
        "own.norm",
        ("package:sys importable", "package:up.fast importable"),
        ["It depends on a package: up.fast importable."],
    ),
    ("e-0123456", ("package:up.fast importable",), []),
]


@pytest.mark.parametrize(("id_", "needs", "said"), NEEDED)
def test_a_condition_is_told_once_and_the_standard_library_is_none(
    id_: str, needs: tuple[str, ...], said: list[str]
) -> None:
    asked = tuple(Condition(kind=ConditionKind.OPAQUE, text=need, needs=(need,)) for need in needs)
    patch = Patch(
        id=id_,
        backend=None,
        phase=None,
        priority=None,
        location=Location("own/a.py", 3),
        handler="go",
        handler_lines=(3, 3),
        guard=Guard(when=combine(ConditionKind.ALL, asked)),
    )
    assert list(say_needs(patch)) == said


CALLED = Why(Reason.CALLS_ORIGINAL)
TARGET = "keel.core.Hull.paint"
KEPT = [
    (None, CALLED, f"{TARGET} is unchanged"),
    ("keel.paint.paint", CALLED, f"{TARGET} is unchanged"),
    ("varnish.coats.paint", CALLED, f"{TARGET} is still imported from varnish.coats; varnish itself is not compared"),
    (
        None,
        Why(Reason.FROM_OUTSIDE),
        f"{TARGET}: its class is still there, but upstream does not define the name there: a base class of another package has it, or our code adds it",
    ),
]


@pytest.mark.parametrize(("alias", "why", "said"), KEPT)
def test_what_is_as_it_was_is_named(alias: str | None, why: Why, said: str) -> None:
    """`unchanged` was said of names whose own definition nobody had compared."""
    place = Location("harbor/hull.py", 3)
    effect = Effect(style=Style.BINDING_REPLACEMENT, target=TARGET, location=place, alias_of=alias)
    finding = Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=why)
    row = Drift(
        patch="paint",
        active=True,
        target=TARGET,
        style=effect.style,
        location=place,
        findings=(finding,),
        effect=effect,
    )
    assert say_row(row) == said


COMMIT = Commit(
    hash="0123456789ab" + "0" * 28,
    committed="2026-04-28T09:00:00Z",
    authored="2026-04-28T09:00:00Z",
    author="a",
    subject="Take the old hull away (#80)",
)


def test_rows_behind_one_import_tell_what_they_are_without_it() -> None:
    gone = Why(Reason.NEEDS_GONE, "keel.old", places=(Location("harbor/base.py", 2),))
    waits = Finding(severity=Severity.BREAKS, why=Why(Reason.NOT_INSTALLED, parts=(gone,)))
    own = [
        Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.KIND_ALONE)),
        Finding(kind=DriftKind.BODY_CHANGED, severity=Severity.LOOK, why=Why(Reason.BODY_USES, names=("varnish",))),
    ]
    rows = [
        Drift(
            patch="paint",
            active=True,
            target=TARGET,
            style=Style.BINDING_REPLACEMENT,
            location=Location("harbor/hull.py", line),
            findings=(one, waits),
        )
        for line, one in enumerate(own, 3)
    ]
    (group,) = group_causes(rows)
    assert group.title == (
        "error: the import of keel.old at harbor/base.py:2 fails. 2 effects are not installed because of it."
    )
    assert [(item.severity, item.code, item.message, item.details) for item in group.items] == [
        (Severity.BREAKS, "not-installed", f"{TARGET} is not patched", ()),
        (
            Severity.BREAKS,
            "not-installed",
            f"{TARGET} is not patched",
            (("then", f"the body of {TARGET} changed"), ("why", "its body now uses varnish")),
        ),
    ]
    (alike,) = group_causes([replace(row, culprit=COMMIT) for row in (rows[0], rows[0])])
    assert alike.title == (
        "error: the import of keel.old at harbor/base.py:2 fails (since 0123456789ab (2026-04-28): Take the old hull away "
        "(#80)). 2 effects are not installed because of it. Nothing else breaks them."
    )
    assert [item.details for item in alike.items] == [(), ()]
    more = Finding(
        kind=DriftKind.SIGNATURE_CHANGED,
        severity=Severity.BREAKS,
        why=Why(Reason.MISFITS, parts=(Why(Reason.REFUSES, text="keep"),)),
    )
    worse = replace(rows[0], findings=(more, waits), location=Location("harbor/hull.py", 9))
    first, single = group_causes([*rows, worse])
    assert first.title == (
        "error: the import of keel.old at harbor/base.py:2 fails. 3 effects are not installed because of it. 2 of them are "
        "listed here; 1 has an error of its own and is listed below."
    )
    assert [item.location.line for item in single.items] == [9]
    other = Why(Reason.NEEDS_GONE, "keel.older", places=(Location("harbor/crew.py", 5),))
    both = replace(waits, why=replace(waits.why, parts=(gone, other)))
    (group,) = group_causes([rows[0], replace(rows[0], findings=(own[0], both))])
    assert group.title.endswith("fails. 2 effects are not installed because of it.")
    also = ("also", "the import of keel.older at harbor/crew.py:5 fails")
    assert [item.details for item in group.items] == [(), (also,)]


PIN = Evidence(repo="keel", commit="c" * 40, path="keel/core.py", lines=(3, 4))
DEAD = Finding(
    kind=DriftKind.DEAD_AT_PIN, severity=Severity.LOOK, why=Why(Reason.TEXT_MISSING, text="x"), is_limit=True
)
MOVED = Finding(kind=DriftKind.MOVED, severity=Severity.BREAKS, why=Why(Reason.NOW, "keel.hull.paint"))
STOPS = Finding(severity=Severity.LOOK, why=Why(Reason.STOPS_APPLYING), is_limit=True)
FIRST_LINES = [
    # findings, the target's place at the pin, the first line
    ((DEAD,), None, f"dead patch: {TARGET} does not exist at the pin"),
    ((DEAD,), PIN, f"dead patch: {TARGET} exists at the pin, but our patch has no effect on it"),
    ((MOVED,), PIN, f"{TARGET} moved"),
    ((MOVED, STOPS), PIN, f"{TARGET} moved; the patch stops applying"),
]


SPELLED = [
    (Reason.NEVER_HAD, f"dead patch: {TARGET} does not exist at the pin. Did you mean keel.core.Hull.point?"),
    (Reason.COMES_LATER, f"dead patch: {TARGET} does not exist at the pin"),
]


@pytest.mark.parametrize(("reason", "said"), SPELLED)
def test_a_name_spelled_alike_is_offered_where_nothing_better_is_known(reason: Reason, said: str) -> None:
    place = Location("harbor/hull.py", 3)
    effect = Effect(style=Style.BINDING_REPLACEMENT, target=TARGET, location=place, suggestion="keel.core.Hull.point")
    known = Finding(severity=Severity.OK, why=Why(reason))
    row = replace(drift_row("ok", "unchanged", "harbor/hull.py:3", TARGET), findings=(DEAD, known), effect=effect)
    assert say_row(row) == said


@pytest.mark.parametrize(("findings", "pin", "said"), FIRST_LINES)
def test_the_first_line_does_not_contradict_the_reason(
    findings: tuple[Finding, ...], pin: Evidence | None, said: str
) -> None:
    row = replace(drift_row("ok", "unchanged", "harbor/hull.py:3", TARGET), findings=findings, pin_evidence=pin)
    assert say_row(row) == said


REASONS = [
    (Reason.MISREADS, f"{TARGET} is still there, but our replacement no longer fits"),
    (Reason.MISFITS_PASSED, f"the signature of {TARGET} changed"),
]


@pytest.mark.parametrize(("reason", "said"), REASONS)
def test_the_first_line_names_what_breaks(reason: Reason, said: str) -> None:
    changed = Finding(kind=DriftKind.SIGNATURE_CHANGED, severity=Severity.LOOK, why=Why(Reason.SIGNATURE))
    row = Drift(
        patch="paint",
        active=True,
        target=TARGET,
        style=Style.BINDING_REPLACEMENT,
        location=Location("harbor/hull.py", 3),
        findings=(changed, Finding(severity=Severity.BREAKS, why=Why(reason))),
    )
    assert say_row(row) == said


def test_what_pin_and_tip_do_not_need_is_told_once_for_each_place() -> None:
    own = Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.EQUAL_NOW), retires=True)
    rows = [
        Drift(
            patch="paint",
            active=True,
            target=f"{TARGET}{number}",
            style=Style.BINDING_REPLACEMENT,
            location=Location("harbor/hull.py", line),
            findings=(own,),
        )
        for number, line in enumerate((3, 3, 3, 9))
    ]
    live = replace(rows[0], location=Location("harbor/hull.py", 9), findings=(replace(own, retires=False),))
    assert [line.split(": ")[0] for line in say_retired(rows, [*rows, live])][:-1] == ["harbor/hull.py:3"]
    told = list(say_retired(rows, rows))
    assert [line.split(": ")[0] for line in told[:-1]] == ["harbor/hull.py:3", "harbor/hull.py:9"]
    assert told[0].startswith("harbor/hull.py:3: the tip does not need this line of paint (3 effects): ")
    assert told[1].startswith("harbor/hull.py:9: the tip does not need this line of paint: ")
    assert "as long as you support a version that needs it" in told[-1]  # the pin may be one
    assert list(say_retired([], [])) == []


def report_of(*rows: Drift, listed: int = 9) -> DriftReport:
    commit = Commit(hash="a" * 40, committed="2026-01-01", authored="2026-01-01", author="A", subject="Begin")
    return DriftReport(
        backend="keel",
        label="Keel",
        downstream=Evidence(repo="harbor", commit="c" * 40),
        pin=commit,
        tip=commit,
        rows=rows,
        listed=listed,
    )


def effect_row(finding: Finding, kind: TargetKind = TargetKind.DEFINITION, line: int = 3) -> Drift:
    row = row_of(finding, line=line)
    effect = Effect(style=row.style, target=row.target, location=row.location, target_kind=kind, id="e-1")
    return replace(row, effect=effect)


ABSENT = TargetKind.ABSENT
GONE = Finding(kind=DriftKind.DEAD_AT_PIN, severity=Severity.OK, why=Why(Reason.NEVER_HAD))
ADDED = Finding(kind=DriftKind.EXTERNAL, severity=Severity.OK, why=Why(Reason.NEVER_HAD))
TALLIES = [
    # rows, effects of the list, what is counted, what is said of it
    ((effect_row(FITS),), 1, [(1, "compared: 1 fits (`--severity note` lists it)")], []),
    (
        (effect_row(GONE, ABSENT), effect_row(FITS, line=4)),
        2,
        [(2, "compared: 1 does nothing, 1 fits (`--severity note` lists it)")],
        [],
    ),
    (
        (effect_row(GONE, ABSENT), effect_row(DEAD, ABSENT), effect_row(ADDED, ABSENT, line=5)),
        3,
        [
            (
                3,
                "compared, at 2 places (a place is one line of ours): 2 effects do nothing, 1 fits (`--severity note` lists it)",
            )
        ],
        ["The pin does not have the targets of 3 of those compared: 2 do nothing and 1 fits."],
    ),
    (
        (effect_row(BREAKING, line=4), effect_row(TODAY, line=5), effect_row(FITS, line=6), effect_row(APART, line=7)),
        4,
        [
            (
                4,
                (
                    "compared: 1 breaks, 1 fails at the pin already, 1 fits (`--severity note` lists it), "
                    "1 only runs where Keel is not installed (no place)"
                ),
            )
        ],
        [],
    ),
    (
        (row_of(BREAKING), effect_row(FITS)),
        1,
        [(1, "compared: 1 fits (`--severity note` lists it)")],
        ["1 more row is about config keys that our patches read."],
    ),
    ((), 0, [], []),
]


@pytest.mark.parametrize(("rows", "listed", "counts", "said"), TALLIES)
def test_every_effect_of_the_list_is_counted_once(
    rows: tuple[Drift, ...], listed: int, counts: list[tuple[int, str]], said: list[str]
) -> None:
    groups = list(group_effects(report_of(*rows, listed=listed), notes=False))
    assert [pair for group in groups for pair in group.counts] == counts
    assert [line for group in groups for line in group.lines] == said
    assert sum(number for number, _ in counts) == listed


def test_what_is_not_compared_adds_up_with_what_is() -> None:
    report = replace(
        report_of(effect_row(FITS), effect_row(FITS), listed=9),
        uncompared={Uncompared.OTHER_PACKAGE: 3, Uncompared.NO_TARGET: 4},
    )
    assert build_drift_listing(report).meta[0] == (
        "Compared: 2 of the 9 effects of `patches list`; why the others are not: see the end."
    )
    text = render_listing(build_drift_listing(report), width=80)
    assert text.endswith(
        "\nThe 9 effects of `patches list`:\n"
        "  2 compared, at 1 place (a place is one line of ours): 2 effects fit\n"
        "    (`--severity note` lists them)\n"
        "  3 not compared: the target is in a package that is not this upstream\n"
        "  4 not compared: the target cannot be named without running the code (`patches\n"
        "    list --uncertain` lists them and says what helps)\n"
    )


SHOWN = [
    # rows that the filters leave, what the line above them says
    ((), "The filters show none of these places."),
    ((effect_row(BREAKING),), "The filters show 1 patched place (1 breaks)."),
    ((effect_row(FITS),), "The filters show 1 patched place (1 fits)."),
    (
        (effect_row(BREAKING), effect_row(DEAD, line=4), effect_row(FITS, line=5), effect_row(FITS, line=6)),
        "The filters show 4 patched places (1 breaks, 1 does nothing even at the pin, 2 fit).",
    ),
]


@pytest.mark.parametrize(("rows", "said"), SHOWN)
def test_the_first_line_counts_all_and_the_next_what_the_filters_show(rows: tuple[Drift, ...], said: str) -> None:
    whole = report_of(effect_row(BREAKING), effect_row(DEAD, line=4), effect_row(FITS, line=5))
    listing = build_drift_listing(report_of(*rows), whole=whole)
    assert listing.title.startswith("Keel: 1 of 3 patched places breaks")
    assert said in listing.meta


SEARCHES = [
    # rows, what names the missing commits
    (
        BREAKING,
        [
            "`layline patches drift keel --culprits` names the upstream commit behind this finding without a `since` line."
        ],
    ),
    (FITS, []),
    (TODAY, []),
    (DEAD, []),
]


@pytest.mark.parametrize(("finding", "said"), SEARCHES)
def test_the_command_that_names_missing_commits_is_told_once(finding: Finding, said: list[str]) -> None:
    report = report_of(effect_row(finding))
    asked = replace(report, culprits=True)
    broke = finding is BREAKING
    told, silent = (
        [line for group in build_drift_listing(one).groups for line in group.lines] for one in (report, asked)
    )
    older = (
        "Where a line fails at the pin already, `layline patches drift keel --from OLDER --culprits` names the commit; "
        "OLDER is a version that the line was written for."
    )
    none = ["No commit between pin and tip breaks anything.", *([older] if finding is TODAY else [])]
    assert (told, silent) == (said, [] if broke else none)


def test_the_command_asks_for_the_same_commits() -> None:
    report = replace(report_of(effect_row(BREAKING), effect_row(BREAKING, line=9)), since="v1", to="v2")
    told = [line for group in build_drift_listing(report).groups for line in group.lines]
    assert (
        "`layline patches drift keel --from v1 --to v2 --culprits` names the upstream commit behind 2 findings without a `since` line."
        in told
    )


def test_the_places_of_the_first_line_are_in_the_json() -> None:
    rows = (effect_row(BREAKING), effect_row(GONE, ABSENT, line=4), effect_row(FITS, line=5), effect_row(FITS, line=5))
    told = encode_drift(report_of(*rows))["places"]
    assert told == {"total": 3, "breaks": 1, "fails_already": 0, "does_nothing": 1, "look": 0, "fits": 1}


def test_what_a_limit_leaves_out_is_told_before_the_tally() -> None:
    report = report_of(*(effect_row(BREAKING, line=line) for line in range(3, 8)), listed=5)
    text = render_listing(limit_listing(build_drift_listing(report), 2))
    assert text.index("… 3 more; raise --limit") < text.index("The 5 effects of `patches list`:")


@pytest.mark.parametrize(
    ("number", "lines", "last"), [(4, 4, "uses name 3"), (6, 5, "2 more commits: `--format json`")]
)
def test_a_row_names_few_of_many_commits(number: int, lines: int, last: str) -> None:
    when = "2026-01-01T00:00:00+00:00"
    causes = tuple(
        Cause(
            why=Why(Reason.BODY_USES, names=(f"name {at}",)),
            commit=Commit(hash=f"{at:040}", committed=when, authored=when, author="a", subject="s"),
        )
        for at in range(number)
    )
    row = replace(drift_row("look", "body-changed", "own/a.py:4", "keel.run"), culprit=causes[0].commit, causes=causes)
    told = [words for name, words in tell_row(row).details if name == "since"]
    assert len(told) == lines
    assert last in told[-1]


def test_the_commit_of_a_failing_import_is_its_own_not_the_first_that_broke_the_rows() -> None:
    gone = Why(Reason.NEEDS_GONE, "keel.old", places=(Location("harbor/base.py", 2),))
    other = Why(Reason.NEEDS_GONE, "keel.older", places=(Location("harbor/crew.py", 5),))
    waits = Finding(severity=Severity.BREAKS, why=Why(Reason.NOT_INSTALLED, parts=(gone, other)))
    earlier = replace(COMMIT, hash="9" * 40, subject="Take the older one away (#7)")
    row = Drift(
        patch="paint",
        active=True,
        target=TARGET,
        style=Style.BINDING_REPLACEMENT,
        location=Location("harbor/hull.py", 3),
        findings=(Finding(kind=DriftKind.UNCHANGED, severity=Severity.OK, why=Why(Reason.KIND_ALONE)), waits),
        culprit=earlier,
        causes=(Cause(why=gone, commit=COMMIT), Cause(why=other, commit=earlier)),
    )
    (group,) = group_causes([row, replace(row, location=Location("harbor/hull.py", 4))])
    assert "harbor/base.py:2 fails (since 0123456789ab (2026-04-28): Take the old hull away (#80))" in (
        group.title or ""
    )


def test_what_is_dead_has_one_word_in_list_and_drift() -> None:
    assert DriftKind.DEAD_AT_PIN.value == DEAD_WORD
