"""Calls in converted code: what is converted, what recurses, which transformations are looked into."""
