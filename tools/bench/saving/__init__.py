"""Benchmark of saving and loading. See `__main__`."""
