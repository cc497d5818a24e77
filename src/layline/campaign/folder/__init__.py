"""The familiar campaign folder: every file of it is derived from the ledger."""
