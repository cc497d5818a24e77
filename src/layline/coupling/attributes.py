"""Attributes that only methods of upstream's class set on `self`, and that our classes read."""

from __future__ import annotations

from typing import TypeAlias

from layline.change.compare import Comparer
from layline.core.evidence import Evidence
from layline.core.why import Reason, Why
from layline.coupling.below import may_have
from layline.coupling.lost_attribute import find_attribute_loss
from layline.coupling.model import Consequence, State
from layline.coupling.place import Place
from layline.coupling.states import Verdict
from layline.source import DefinitionKind
from layline.source.instances import Instances

Both: TypeAlias = tuple[Instances, Instances]
"""Of pin and tip."""


def judge_attribute(comparer: Comparer, instances: Both, place: Place) -> Verdict | None:
    """An attribute that upstream's methods set, and whether methods of the class at the tip still do."""
    home = comparer.tip.resolve(place.imported).home or comparer.compare(place.imported).new_home
    name = place.target.rpartition(".")[2]
    definition = comparer.tip.resolve(home).definition if home is not None else None
    if home is None or definition is None or definition.kind is not DefinitionKind.CLASS:
        return None  # the class itself is gone, or is none any more, which its own row says
    here = instances[1].find(home)
    if name in here or comparer.tip.resolve(f"{home}.{name}").exists:
        stays = here.get(name)
        held = instances[0].find(place.imported).get(name)
        if stays is not None and held is not None and held.kind and stays.kind and held.kind != stays.kind:
            return Verdict(
                state=State.SIGNATURE,
                consequence=Consequence.LOOK,
                why=(Why(Reason.HOLDS_ANOTHER, held.kind, stays.kind),),
            )
        return Verdict(state=State.OK, consequence=Consequence.OK)
    answers = comparer.tip.resolve(f"{home}.__getattr__").exists
    doubt = place.guarded or not place.certain or answers or instances[1].mentions(home, name)
    doubt = doubt or (place.may_be_below and may_have(comparer, instances[1], home, name))
    consequence = Consequence.MAY_BREAK if doubt else Consequence.WILL_BREAK
    return Verdict(state=State.REMOVED, consequence=consequence, why=(Why(Reason.NOT_SET, home, name),))


def find_attribute_evidence(
    comparer: Comparer, instances: Both, place: Place
) -> tuple[Evidence | None, Evidence | None]:
    """Where methods of the class set it."""
    name = place.target.rpartition(".")[2]
    then = instances[0].find(place.imported).get(name)
    home = comparer.tip.resolve(place.imported).home
    now = instances[1].find_told(home).get(name) if home is not None else None
    return then.evidence if then else None, now.evidence if now else None


def find_unset(comparer: Comparer, pin: Instances, place: Place) -> str | None:
    """Since when no method of the class that set it does."""
    name = place.target.rpartition(".")[2]
    held = pin.find(place.imported).get(name)
    return find_attribute_loss(comparer, held.owner, name) if held is not None else None
