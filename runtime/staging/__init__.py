"""The operators that converted code calls: statements, access, builtins and calls. README.md describes them."""
