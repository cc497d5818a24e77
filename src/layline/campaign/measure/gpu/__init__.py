"""What only an accelerator has: counters of its own profiler, and a training loop beside the kernel."""
