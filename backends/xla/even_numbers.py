"""`Even`: an int that goes up or down by the same step in each iteration of a loop, in arithmetic as an int."""

from __future__ import annotations

from typing import Any


class Uneven(Exception):
    """The result is no int that goes by one step, or not the same in all iterations."""


class Even:
    """``first``, ``first + step``, and so on, ``length`` of them; what is compared has to come out alike in all iterations.

    >>> item = Even(0, 1, 10) * 2 + 3
    >>> item.first, item.step, item.last, item < 22, max(item, 1) is item
    (3, 2, 21, True, True)
    """

    __slots__ = ("first", "length", "step")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, first: int, step: int, length: int) -> None:
        self.first, self.step, self.length = first, step, length

    @property
    def last(self) -> int:
        return self.first + self.step * (self.length - 1)

    def __add__(self, other: Any) -> Even:
        first, step = _parts(other)
        return Even(self.first + first, self.step + step, self.length)

    def __mul__(self, other: Any) -> Even:
        first, step = _parts(other)
        if step and self.step:
            raise Uneven
        return Even(self.first * first, self.step * first + self.first * step, self.length)

    def __neg__(self) -> Even:
        return self * -1

    def __sub__(self, other: Any) -> Even:
        return self + other * -1

    def __rsub__(self, other: Any) -> Even:
        return -self + other

    def __abs__(self) -> Even:
        return -self if self < 0 else self

    def __lt__(self, other: Any) -> bool:
        less = self - other
        if (less.first < 0) != (less.last < 0):
            raise Uneven
        return less.first < 0

    def __gt__(self, other: Any) -> bool:
        return -self < other * -1

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __eq__(self, other: Any) -> bool:
        less = self - other
        if less.step == 0 or less.first > 0 < less.last or less.first < 0 > less.last:
            return less.first == 0 == less.step
        raise Uneven

    def __bool__(self) -> bool:
        return self != 0

    __radd__, __rmul__ = __add__, __mul__


def _parts(number: Any) -> tuple[int, int]:
    if isinstance(number, Even):
        return number.first, number.step
    if type(number) is not int:
        raise Uneven
    return number, 0
