"""CPython's own tests, run as they are and run converted: nothing is traced in them, so nothing may differ."""
