"""Inputs that several tools share, described once."""

from __future__ import annotations

from layline.mcp.tool import Input

BACKEND = Input(name="backend", says="Key or label of a backend; may be left out where only one is configured.")
AT = Input(name="at", says="Downstream commit; default HEAD.")
TO = Input(name="to", says="Upstream ref; default: the configured one.")
FULL = Input(name="full", says="Every field of each row, with its evidence.", kind="boolean", default=False)
CAMPAIGN = Input(name="campaign", says="Name of a campaign; default: the campaign in progress.")
