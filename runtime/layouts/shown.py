"""`Shown`: what a part of a value is written as, in a message, where Python writes the value."""

from __future__ import annotations


class Shown(str):
    """A text without quotes around it in what holds it.

    >>> [Shown("float32[3]"), 2]
    [float32[3], 2]
    """

    __slots__ = ()
    __repr__ = str.__str__
