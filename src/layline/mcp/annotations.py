"""What a tool may do, said honestly. No tool opens a connection."""

from mcp.types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""Writes files of its own, in place; what others wrote is refused."""
ACTS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
"""Changes the user's repository: accepts or rolls back an edit."""
