"""Measuring with the user's own benchmark command."""
