"""The differentiable ``while``: a loop primitive with derivatives in both modes, to any order."""
