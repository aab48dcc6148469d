"""The trace of the current thread: what is being traced, its source locations, and the staged statements."""
