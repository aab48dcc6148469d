"""Optimizations of staged statements before they are lowered to `jax.lax`."""
