"""Three programs that were ported from TensorFlow, by step, beside TensorFlow: see `__main__`."""
