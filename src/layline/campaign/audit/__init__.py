"""Holds a foreign campaign folder against the rules; every violation says where it was read."""

from layline.campaign.audit.folder import CampaignFolder, read_directory, read_revision
from layline.campaign.audit.rules import RULES, Violation, find_violations

__all__ = ["RULES", "CampaignFolder", "Violation", "find_violations", "read_directory", "read_revision"]
