"""What a campaign is made of and decided by: pure values, no I/O, no clock."""
