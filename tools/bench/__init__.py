"""Benchmarks: what calls cost."""
