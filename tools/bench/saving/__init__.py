"""Benchmark of models that leave the process: see `__main__`."""
