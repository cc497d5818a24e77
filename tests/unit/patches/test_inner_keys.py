"""What a replacement reads and refuses when it runs, which no guard says."""

from __future__ import annotations

from pathlib import Path

from layline.core.evidence import Location
from layline.coupling.replacements import Replacements
from layline.patches.declared_keys import Declared, Schema
from layline.patches.find import find_keys, find_word
from layline.patches.inner_keys import find_inner_keys, find_limits, read_inner_keys
from layline.patches.inventory.read import read_inventory
from layline.patches.notes import check_notes
from snippets import handler, open_reading

OURS = """
import up.a
class Mine:
    def __init__(self, config):
        if config.size <= 1:
            raise ValueError("too small")
        assert config.flat, "flat only"
        self.deep_width = 1
        args = up.a.get_args()
        self.width = args.deep_width
        self.level = getattr(args, "deep_level", 2)
        self.size = args.unheard_of
    def go(self):
        return self.deep_width, self.deep_height
"""
SOURCE = handler("import up.a\nfrom own.ours import Mine\nup.a.Theirs = Mine")
KEYS = ("deep_width", "deep_level", "deep_height", "shallow")
SCHEMA = Schema({key: (Declared(key, "1", Location("own/c.yaml", n)),) for n, key in enumerate(KEYS, 1)})
NOTES = "| New Argument | Default | Patched |\n| --- | --- | --- |\n| `deep_width` | `1` | `up.a.Theirs` |\n"


def test_keys_and_limits_inside_a_replacement_are_told_everywhere(tmp_path: Path) -> None:
    reading = open_reading(tmp_path, {"own/patches/case_patches.py": SOURCE, "own/ours.py": OURS})
    inventory = read_inventory(reading, "up")
    (patch,), tree = inventory.patches, reading.tree
    found = find_inner_keys(patch, Replacements(tree), set(KEYS))
    assert [(one.key, str(one.location), one.needed) for one in found] == [
        ("deep_width", "own/ours.py:10", True),
        ("deep_level", "own/ours.py:11", False),
    ]
    limits = [(limit.text, limit.location.line) for limit in find_limits(patch, Replacements(tree))]
    assert limits == [("not (config.size <= 1)", 5), ("config.flat", 7)]
    inner = read_inner_keys([patch], Replacements(tree), find_keys(SCHEMA, "deep"))
    assert [(hit.patch, hit.text) for hit in find_word(inventory, SCHEMA, "deep", inner)] == [
        ("the.id", "deep_width deep_level"),
        (None, "deep_width: 1 (read by the.id when it runs, own/ours.py:10)"),
        (None, "deep_level: 1 (read by the.id when it runs, own/ours.py:11)"),
        (None, "deep_height: 1 (read by no guard)"),
    ]
    claims = check_notes(NOTES, [inventory], {"up": SCHEMA}, {}, inner)
    assert [(claim.kind, claim.verdict.value, claim.reason) for claim in claims][::2] == [
        ("flag", "confirmed", "read by the.id when it runs"),
        ("symbol", "confirmed", "changed by the.id, which reads deep_width when it runs"),
    ]
