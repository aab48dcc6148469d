"""Facts about a syntax tree, as frozen values keyed by node."""
