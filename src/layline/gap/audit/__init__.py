"""Holds published records, made by anyone, against git: confirmed, contradicted with the right value, or not
checkable.
"""
