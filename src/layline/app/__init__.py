"""One function per command, used by both doors and named like the command; only this layer writes the files."""
