"""What became of a name between two commits: compared, followed home, traced to the commit that did it."""
