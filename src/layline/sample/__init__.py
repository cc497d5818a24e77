"""The embedded sample: Harbor, a small framework layered over Keel and Spar, with real git histories."""

from layline.sample.write import CHRONICLES, DATE, Sample, write_sample

__all__ = ["CHRONICLES", "DATE", "Sample", "write_sample"]
