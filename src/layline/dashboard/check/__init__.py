"""A built site, read as a stranger would: nothing but the files themselves is trusted."""
