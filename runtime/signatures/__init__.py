"""The signature of a call: its arguments as types, specs and static values, and how two signatures differ."""
