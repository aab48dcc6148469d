"""One list or dict under two names in a staged statement that writes to it: refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograph.runtime.errors import StagingError
from autograph.runtime.operators.locations import user_location
from autograph.runtime.operators.state import UNBOUND, Variable, containers_in


def refuse_aliases(variables: Sequence[Variable], seen: Sequence[Variable]) -> None:
    """Raise if a list or dict that the statement may change has a second name in it; ``seen`` is all that it reads.

    While a block is traced each name holds a stand-in of its own, so that what is written through one name would not
    be seen through the other.
    """
    changed: dict[int, str] = {}
    for variable in variables:
        value = variable.get()
        if value is UNBOUND or not isinstance(value, list | dict):
            continue
        for container in containers_in(value):
            if id(container) in changed:
                raise _aliased(changed[id(container)], variable.name, container)
            changed[id(container)] = variable.name
    if not changed:
        return
    names = {variable.name for variable in variables}
    for place in seen:
        value = place.get()
        if place.name in names or not isinstance(value, list | dict | tuple):
            continue
        for container in containers_in(value):
            if id(container) in changed:
                raise _aliased(changed[id(container)], place.name, container)


def _aliased(first: str, second: str, container: Any) -> StagingError:
    kind = type(container).__name__
    names = f"{first!r} and {second!r} are" if first != second else f"Two parts of {first!r} are"
    return StagingError(
        f"{user_location()}\n  {names} one {kind}, which this staged statement may change: what is written through one name "
        f"would not be seen through the other.\n  Use one name for it in this statement, or copy the {kind}."
    )
