"""Who proposes a round: a person, a search, an agent. One small interface, the same gate for all.

A proposer reads a `Brief` and answers with a `Proposed` edit or says why it has none (`Declined`); what it edited is
read from the tree, never taken from its words.
"""

from layline.campaign.ledger.proposal import Proposal
from layline.campaign.proposers.answer import Declined, Proposed, Proposer
from layline.campaign.proposers.brief import Brief, Direction, build_brief

__all__ = ["Brief", "Declined", "Direction", "Proposal", "Proposed", "Proposer", "build_brief"]
