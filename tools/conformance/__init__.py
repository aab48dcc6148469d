"""Run CPython's own tests unconverted and converted. Nothing is traced in them, so the results must agree."""
