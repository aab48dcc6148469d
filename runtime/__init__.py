"""The operators that converted code calls, and the objects that users hold."""
