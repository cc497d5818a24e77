"""The gate's own calls: each shows one property of a kernel."""
