"""How one staged statement becomes XLA, and the plain-Python reference beside it."""
