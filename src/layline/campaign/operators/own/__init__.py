"""Operators of the user's own: one file each, read by the trusted parent alone."""
