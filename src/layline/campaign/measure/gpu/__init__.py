"""Measuring on an accelerator: the parent's side, with the torch of the machine, imported late.

The same values as on the CPU (`Operator`, `Measurement`, `Verdict`), so that one judge, one ledger and one report serve
both.
A clock called `cpu` there is the device's own here: milliseconds between two events in the worker. The parent's wall
clock decides; the two must agree.
"""
