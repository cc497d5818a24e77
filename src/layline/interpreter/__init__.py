"""Reads installers without running them: an abstract interpreter over `ast` that yields what they would write."""
