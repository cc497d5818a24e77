"""Report → str | bytes. Pure: no git, no files, no clock. A module each, so that an answer loads only its own form."""
