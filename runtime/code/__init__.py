"""Facts about Python functions: the library table, the names that their code reads, generated functions."""
