"""The one truth of a campaign, and what follows from it alone."""
