"""Layline charts the course of a framework that is layered over upstream projects."""

__version__ = "0.1.0"
