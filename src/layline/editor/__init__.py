"""The door for editors: a language server over stdin and stdout."""
