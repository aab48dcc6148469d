"""Run-time effects in program order: prints, calls of Python, exceptions."""
