"""A configured project, opened: settings, repositories and pins; what is kept of answers; uncommitted edits."""
