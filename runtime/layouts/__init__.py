"""Layouts: the structure of Python values for XLA, and the join of two layouts."""
