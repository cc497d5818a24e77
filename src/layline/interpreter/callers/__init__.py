"""Who calls a function of the downstream: by what names resolve to, never by what they are called."""
