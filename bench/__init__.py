"""Measurements, as ratios against a peer in the same run. See README.md."""
