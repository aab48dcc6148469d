"""What leaves the process: `save`, `load`, and what lies between them. See README.md."""
