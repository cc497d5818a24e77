"""What the upstream packages offer, at pin and tip: definitions, config fields, command-line flags."""
