"""The rules under which drift findings are filed by tools that annotate code; ids never change their meaning."""

from __future__ import annotations

from layline.core.drift import KINDS
from layline.core.report import Rule

_TOUCHES = {
    "imports": (
        122,
        "ImportFails",
        ("An import in our code fails at the tip. Patches that need it are not installed; each has its own finding."),
    ),
    "overrides": (
        120,
        "OverrideMisfits",
        (
            "One of our methods overrides an upstream method, but does not accept what upstream passes at the tip, "
            "or is no longer called."
        ),
    ),
    "calls": (
        121,
        "CallMisfits",
        "One of our calls to an upstream function does not fit its signature at the tip, or the function is gone.",
    ),
    "reads": (
        123,
        "AttributeGone",
        "An attribute or a config field of upstream that our code reads is gone at the tip.",
    ),
    "subclasses": (
        124,
        "BaseGone",
        "An upstream class that one of our classes inherits from is gone at the tip, or is no longer a class.",
    ),
}

RULES: dict[str, Rule] = {
    word: Rule(id=f"DRIFT{number}", name=name, title=f"drift/{word}", text=text)
    for word, (number, name, text) in {**{kind.value: facts.rule for kind, facts in KINDS.items()}, **_TOUCHES}.items()
}
