"""Kernel campaigns: one hypothesis, one change, one verdict per round; truth is one append-only ledger."""
