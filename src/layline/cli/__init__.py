"""The door for people: parse → app → render → exit code."""

from layline.cli.main import main

__all__ = ["main"]
