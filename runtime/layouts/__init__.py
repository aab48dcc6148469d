"""Layouts: what values look like to XLA, and the one layout that two of them have in common."""
