"""All rules, one tuple, one loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from layline.campaign.audit import figures, layout
from layline.campaign.audit.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from layline.campaign.audit.folder import CampaignFolder

RULES = (
    layout.find_manifest_faults,
    layout.find_round_folder_faults,
    layout.find_summary_faults,
    layout.find_second_baselines,
    layout.find_harness_faults,
    layout.find_log_faults,
    layout.find_trend_faults,
    layout.find_lesson_faults,
    figures.find_csv_faults,
    figures.find_dropped_shapes,
    figures.find_representative_faults,
    figures.find_contradicting_scores,
    figures.find_unproven_gains,
    figures.find_nondeterminism,
    figures.find_identity_caches,
    figures.find_history_faults,
)

__all__ = ["RULES", "Violation", "find_violations"]


def find_violations(folder: CampaignFolder) -> Iterator[Violation]:
    for rule in RULES:
        yield from rule(folder)
