"""Backends that run staged statements: XLA, and a reference in plain Python."""
