"""Demonstrations on real input: `python -m autograph.tools.demo`."""
