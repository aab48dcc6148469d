"""What happens when a program runs, in program order: prints, calls of Python, exceptions."""
