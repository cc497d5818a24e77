"""`patches trace`: which rebindings really happen while a command runs, and what the static list says of them."""
