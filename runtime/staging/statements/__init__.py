"""``if``, ``while``, ``for``, ``try``, ``with``, ``raise`` and generators: in Python, or staged."""
