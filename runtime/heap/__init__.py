"""Reads and writes of staged code outside of its local variables: locations, the journal, aliases, leaked tracers."""
