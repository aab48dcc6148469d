"""What is being traced in this thread, where in the user's source, and what was staged there."""
