"""Decisions that the operators ask for: what is opaque, what may recurse, what a loop's options allow."""
