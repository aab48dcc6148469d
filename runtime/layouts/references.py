"""References: objects that conditions choose by which they are, the nodes of linked structures among them.

Objects of one class that conditions choose are, at first, chosen attribute by attribute: the third that takes their place is as good
as either while nobody writes to them. Of nodes, objects that lead to others of their class, a copy of one is a copy of all that it
leads to, and a write to one would have to be made in all of these. Where that is met (`Births.link`), and where a trace is refused
that has chosen objects at all (`Births.linkable`), the trace is made again
with the classes in question `linked`. An object of such a class is a place in the program, allocated while tracing, wherever it is
made: it is a leaf of every layout, never opened and never copied. What it holds is state of its own: a statement that writes
its attributes joins, or carries, these. A variable or attribute that may hold one of several is a `OneOf` of them, their number
the only leaf; reading an attribute of it selects among what the candidates hold now, writing one is a masked write to each.
So aliases are exact, and cycles do no harm. A Variable is a reference in every program.
A loop reaches further candidates by its own fixed point. A conditional takes the
nodes that a branch makes for ones that are there on both paths: on the other, nothing leads to them. A staged loop cannot: how many
nodes it makes only a run would know, so it is unrolled where its length is known, and refused where it is not.
"""

from __future__ import annotations

from typing import Any

from autograph.backends.thread import LOCAL


def is_reference(value: Any) -> bool:
    """Whether this object is of a class that is linked in the program that is traced."""
    return bool(LOCAL.linked) and type(value) in LOCAL.linked


def is_linked(kind: Any) -> bool:
    """Whether a class is linked: itself, or one that the same statement made in an earlier trace of the function that it is in."""
    if kind in LOCAL.linked:
        return True
    if not LOCAL.linked or "<locals>" not in getattr(kind, "__qualname__", ""):
        return False
    name = kind.__module__, kind.__qualname__
    if all((each.__module__, each.__qualname__) != name for each in LOCAL.linked):
        return False
    LOCAL.linked |= {kind}
    return True


def is_variable(value: Any) -> bool:
    """Whether this is a Variable, which is a reference in every program: a place outside of it, read and written as such."""
    return hasattr(type(value), "__autograph_is_variable__")
