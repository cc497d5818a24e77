"""The gate's own calls: each probe shows one property of a kernel, or says by name that it could not be looked at."""
