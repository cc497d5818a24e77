"""Reads git repositories; the only code that runs git. `write` (branch, commit, restore) stands apart."""

from layline.git.commands import DIFF_RULE, DIFF_SETTINGS, show_command
from layline.git.objects import Blob, TreeEntry
from layline.git.repository import Repository, open_repository

__all__ = ["DIFF_RULE", "DIFF_SETTINGS", "Blob", "Repository", "TreeEntry", "open_repository", "show_command"]
