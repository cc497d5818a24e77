"""When a patch is on: the condition of its registration, of its line, of those who call it."""
