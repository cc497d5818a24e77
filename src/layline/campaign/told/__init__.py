"""What the commands of a campaign answer."""
