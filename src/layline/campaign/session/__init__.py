"""A campaign at work: where it lies, who holds it, what it says of itself, and the files derived when it is done."""
