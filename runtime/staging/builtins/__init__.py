"""Python's builtins, logging and progress bars where they meet traced values."""
