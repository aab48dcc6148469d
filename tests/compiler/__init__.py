"""The compiler by itself: source text in, source text or facts about it out. Nothing here traces, or imports JAX for it."""
