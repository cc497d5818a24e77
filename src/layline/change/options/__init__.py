"""What an upstream can be configured with: fields of its config dataclasses and command-line flags."""
