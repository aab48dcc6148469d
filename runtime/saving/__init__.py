"""Saving and loading: `save`, `load` and their file formats. See README.md."""
