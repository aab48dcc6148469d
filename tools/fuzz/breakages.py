"""Ways to break the compiler on purpose, to test that the fuzzer finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograph as ag

_OPERATORS: Any = type(ag.operators)
_BACKEND: Any = type(ag.operators.backend)
_JOURNAL: Any = type(ag.operators.journal)


def _breaks_ignored() -> None:
    """A loop runs on after ``break``."""
    whole = _OPERATORS.for_stmt

    def for_stmt(self: Any, iterable: Any, body: Any, names: Any, test: Any = None, *rest: Any, **options: Any) -> None:
        whole(self, iterable, body, names, None, *rest, **options)

    _OPERATORS.for_stmt = for_stmt


def _branches_swapped() -> None:
    """A staged conditional takes the other branch."""
    whole = _BACKEND.cond

    def cond(self: Any, predicate: Any, branches: Any, types: Any) -> Any:
        return whole(self, ~predicate, branches, types)

    _BACKEND.cond = cond


def _variable_not_carried() -> None:
    """A staged loop leaves the last of its variables as it was."""
    whole = _BACKEND.loop

    def loop(self: Any, spec: Any) -> list[Any]:
        values: list[Any] = whole(self, spec)
        start, _ = spec.carry[len(values) - 1]
        return [*values[:-1], start] if len(values) > 1 else values

    _BACKEND.loop = loop


def _or_for_and() -> None:
    """``and`` gives what ``or`` would."""
    _OPERATORS.and_ = _OPERATORS.or_


def _branch_writes_stay() -> None:
    """What a branch writes to an attribute or a container stays written when it is not taken."""

    def touch(self: Any, place: Any) -> None:
        """Nobody is told."""

    _JOURNAL.touch = touch


def _item_writes_lost() -> None:
    """``x[i] = v`` on a traced array leaves it as it was."""
    whole = _OPERATORS.set_item

    def set_item(self: Any, target: Any, key: Any, value: Any) -> Any:
        return target if self.backend.is_array(target) else whole(self, target, key, value)

    _OPERATORS.set_item = set_item


def _prints_dropped() -> None:
    """``print`` of traced values prints nothing."""
    overloads: Any = ag.operators.overloads
    whole = overloads[print]

    def show(*values: Any, **options: Any) -> None:
        if not any(ag.operators.backend.is_traced(value) for value in values):
            whole(*values, **options)

    overloads[print] = show


BREAKAGES: dict[str, Callable[[], None]] = {
    made.__name__.strip("_").replace("_", "-"): made
    for made in (
        _breaks_ignored,
        _branches_swapped,
        _variable_not_carried,
        _or_for_and,
        _branch_writes_stay,
        _item_writes_lost,
        _prints_dropped,
    )
}
