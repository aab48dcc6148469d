"""The XLA backend. README.md follows one ``while`` through these files."""
