"""Staged statements for XLA: see README.md, which walks one ``while`` through these files."""
