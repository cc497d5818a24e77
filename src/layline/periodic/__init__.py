"""Weekly and monthly engineering reports from git history alone."""
