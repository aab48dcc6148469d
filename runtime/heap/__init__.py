"""What staged code reads and writes outside of its local variables: locations, the journal, aliases, leaked tracers."""
