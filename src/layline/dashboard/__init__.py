"""One static site from records, Markdown and data files: built aside, checked, then put in place in one step."""
