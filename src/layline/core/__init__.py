"""Plain values: standard library only, no I/O, no clock."""
