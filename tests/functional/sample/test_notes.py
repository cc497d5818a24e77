"""`patches notes` finds which claims of the hand-written notes have gone stale."""

from __future__ import annotations

from commands import layline
from layline.sample import Sample
from layline.sample import expected as truth


def test_stale_claims_and_untold_flags_are_found(sample: Sample) -> None:
    result = layline("patches", "notes", "docs/patch-notes.md", "--format", "json", cwd=sample.harbor)
    assert result.code == 0, result.err
    claims = result.json["claims"]

    wrong = {
        (one["flag"], one["kind"]): one["verdict"] for one in claims if one["verdict"] in {"contradicted", "stale"}
    }
    untold = {one["flag"] for one in claims if one["verdict"] == "missing"}

    assert wrong == truth.STALE_NOTES
    assert untold == set(truth.UNTOLD_FLAGS)
    assert sum(one["verdict"] == "confirmed" for one in claims) >= 15
