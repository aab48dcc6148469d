"""What converted code calls, and what a user holds."""
