"""Every place where downstream code depends on an upstream name, and what became of that name at the tip."""
