"""What a project's own benchmarks say: shapes, columns and commands, read and never run."""
