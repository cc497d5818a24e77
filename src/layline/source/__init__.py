"""Python text → structure; AST only. Analysed code is never imported or run."""
