"""The embedded sample: Harbor, a small framework layered over Keel and Spar, with real git histories."""

from layline.sample.world import Sample, write_sample

__all__ = ["Sample", "write_sample"]
