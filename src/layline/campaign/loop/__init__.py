"""The sentences of the loop: what a campaign begins with, what a round must hold, how it goes on by itself and ends."""
