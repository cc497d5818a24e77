"""Every patch and effect of a downstream at one commit."""
