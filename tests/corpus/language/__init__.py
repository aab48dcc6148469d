"""Programs on the rest of the language: growing lists, `try`, `match`, writes to objects, comprehensions …

They are a group of their own (`Program.group == "language"`), run with `AUTOGRAPH_CORPUS=language` or `=all`.
"""
