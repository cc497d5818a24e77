"""What each monkey patch replaces, when it is on, whether it still fits upstream; read from code alone."""
