"""Reads and writes of items, attributes and slices, and the operators of users' classes."""
