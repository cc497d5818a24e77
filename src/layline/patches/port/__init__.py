"""Takes one patch out of its downstream: the code it needs, a small installer, a README, a smoke test."""
