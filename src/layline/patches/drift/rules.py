"""The rules under which drift findings are filed by tools that annotate code; ids never change their meaning."""

from __future__ import annotations

from layline.core.drift import DriftKind
from layline.core.report import Rule

_KINDS: dict[DriftKind, tuple[int, str, str]] = {
    DriftKind.UNCHANGED: (100, "TargetUnchanged", "The target has the same signature and the same body at the tip."),
    DriftKind.BODY_CHANGED: (
        101,
        "TargetBodyChanged",
        (
            "The target keeps its signature and has another body at the tip. A replacement made from the old body "
            "misses what upstream changed."
        ),
    ),
    DriftKind.SIGNATURE_CHANGED: (
        102,
        "TargetSignatureChanged",
        (
            "Parameters, defaults, decorators or sync/async of the target differ at the tip. A replacement that does "
            "not take what upstream passes raises TypeError."
        ),
    ),
    DriftKind.MOVED: (
        103,
        "TargetMoved",
        "The target lives in another module at the tip. Assigning to the old address raises nothing and does nothing.",
    ),
    DriftKind.RENAMED: (
        104,
        "TargetRenamed",
        "The target has another name at the tip. Assigning to the old name raises nothing and does nothing.",
    ),
    DriftKind.REMOVED: (
        105,
        "TargetRemoved",
        "Nothing at the tip is the target. Assigning to it raises nothing and does nothing.",
    ),
    DriftKind.DEAD_AT_PIN: (106, "TargetAbsentAtPin", "Upstream does not have the target at the pin either."),
    DriftKind.BINDING_LOST: (
        107,
        "BindingLost",
        "The module no longer imports the name that we rebind, though the object lives elsewhere.",
    ),
    DriftKind.ANCHOR_LOST: (
        108,
        "AnchorLost",
        "A source rewrite searches for a text that is gone from upstream's source.",
    ),
    DriftKind.EXTERNAL: (109, "TargetExternal", "The target does not belong to this upstream."),
    DriftKind.UNRESOLVED: (110, "TargetUnresolved", "Reading cannot decide what the target is; the message says why."),
}
_TOUCHES = {
    "imports": (
        122,
        "ImportFails",
        (
            "An import of ours finds nothing at the tip. Patches that wait behind it are not put in place; they are "
            "named by their own findings."
        ),
    ),
    "overrides": (
        120,
        "OverrideMisfits",
        (
            "A method of ours overrides one of upstream and does not take what upstream's signature or calls pass at "
            "the tip, or is no longer called."
        ),
    ),
    "calls": (
        121,
        "CallMisfits",
        "A call of ours to an upstream function does not fit its signature at the tip, or the function is gone.",
    ),
    "reads": (
        123,
        "AttributeGone",
        "An attribute or a config field of upstream that our code reads is gone at the tip.",
    ),
    "subclasses": (
        124,
        "BaseGone",
        "A class of upstream that ours is derived from is gone at the tip, or is no class any more.",
    ),
}

RULES: dict[str, Rule] = {
    word: Rule(id=f"DRIFT{number}", name=name, title=f"drift/{word}", text=text)
    for word, (number, name, text) in {**{kind.value: row for kind, row in _KINDS.items()}, **_TOUCHES}.items()
}
