"""Where kernels run: memory, worker processes, clocks, the machine's own word about itself."""
