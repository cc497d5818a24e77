"""The side of a campaign that runs the candidate: standard library alone, no secret, no clock, no answer.

These files are copied out and run as plain scripts in a process of their own; nothing of Layline is importable there.
"""
