"""The errors for elements that cannot be in one list of traced length."""

from __future__ import annotations

from autograph.backends.base import LeafType
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.locations import user_location


class DifferentKinds(StagingError):
    """The elements of a list of traced length differ in structure.

    Attributes: kinds (two of theirs, as they are shown).
    """

    kinds: tuple[str, str]

    def of(self, name: str) -> DifferentKinds:
        """The error for a list with this name."""
        return differing_structure(*self.kinds, name)


def differing_structure(one: str, other: str, name: str | None = None) -> DifferentKinds:
    """The error for elements of such kinds, in a list that may have a name."""
    subject = "A list whose length is traced" if name is None else f"{name!r}, a list whose length is traced,"
    error = DifferentKinds(
        f"{user_location()}\n  {subject} holds elements of different structure: {one} and {other}.\n"
        "  Append elements of one structure, or keep a list for each."
    )
    error.kinds = one, other
    return error


def differing_types(one: LeafType, other: LeafType) -> StagingError:
    """The error for arrays that have no type in common."""
    if one.shape == other.shape:
        return StagingError(
            f"{user_location()}\n  A list whose length is traced holds arrays without a common dtype: {one.dtype} and {other.dtype}.\n"
            "  Keep a list for each."
        )
    mine, others = tuple(one.shape), tuple(other.shape)
    return StagingError(
        f"{user_location()}\n  A list whose length is traced holds arrays of different shapes: {mine} and {others}.\n"
        "  Pad them to one shape, or write them into an autograph.TensorArray(max_size=…)."
    )
