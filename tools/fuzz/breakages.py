"""Ways to break the compiler on purpose, to test that the fuzzer finds them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import autograph as ag

_CONDITIONALS: Any = type(ag.operators.if_stmt.__self__)  # type: ignore[attr-defined]
_BACKEND: Any = type(ag.operators.backend)
_JOURNAL: Any = type(ag.operators.journal)
# The join of layouts, which no public name leads to: see `runtime/layouts/README.md`.
_JOIN: Any = importlib.import_module("autograph.runtime.layouts.join")
_SIDES: Any = importlib.import_module("autograph.runtime.layouts.sides")
_PADDED: Any = importlib.import_module("autograph.runtime.containers.padded").Padded


def _breaks_ignored() -> None:
    """A loop runs on after ``break``."""
    operators: Any = ag.operators
    whole = operators.for_stmt

    def for_stmt(iterable: Any, body: Any, names: Any, test: Any = None, *rest: Any, **options: Any) -> None:
        whole(iterable, body, names, None, *rest, **options)

    operators.for_stmt = for_stmt


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
    """``and`` returns what ``or`` would."""
    whole = _CONDITIONALS._logic

    def logic(self: Any, value: Any, rest: Any, names: Any, is_test: bool, decided: bool) -> Any:
        return whole(self, value, rest, names, is_test, True)

    _CONDITIONALS._logic = logic


def _branch_writes_stay() -> None:
    """What a branch writes to an attribute or a container stays written when it is not taken."""

    def touch(self: Any, place: Any, again: bool = False) -> None:
        """Nobody is told."""

    _JOURNAL.touch = touch


def _item_writes_lost() -> None:
    """``x[i] = v`` on a traced array leaves it as it was."""
    operators: Any = ag.operators
    whole = operators.set_item

    def set_item(target: Any, key: Any, value: Any) -> Any:
        return target if operators.backend.is_array(target) else whole(target, key, value)

    operators.set_item = set_item


def _prints_dropped() -> None:
    """``print`` of traced values prints nothing."""
    overloads: Any = ag.operators.overloads
    whole = overloads[print]

    def show(*values: Any, **options: Any) -> None:
        if not any(ag.operators.backend.is_traced(value) for value in values):
            whole(*values, **options)

    overloads[print] = show


# Of the join of layouts.


def _none_is_a_value() -> None:
    """Where one path has None, or has not bound a variable, it counts as a value."""
    _JOIN.FALSE = _SIDES.FALSE = _SIDES.TRUE


def _constants_keep_their_numbers() -> None:
    """The number that says which constant a value is stays what it was on its side, where the join numbers them again."""
    whole = _JOIN.code_of

    def code_of(side: Any, candidates: Any) -> Any:
        code, source = whole(side, candidates)
        return code, side.start if isinstance(source, _JOIN.Renumbered) else source

    _JOIN.code_of = code_of


def _left_type_wins() -> None:
    """A number has the type that it has on the left side, no matter what it is on the right."""
    whole = _JOIN.Joiner._join_leaves

    def join_leaves(self: Any, a: Any, left: Any, b: Any, right: Any, path: Any) -> Any:
        joined = whole(self, a, left, b, right, path)
        is_wider = isinstance(joined, _JOIN.Array) and not joined.type.shape and isinstance(a, _JOIN.Array)
        return a if is_wider else joined

    _JOIN.Joiner._join_leaves = join_leaves


def _left_constant_wins() -> None:
    """A Python number that differs is the one of the left side."""
    _JOIN.is_one_value = lambda one, other: type(one) is type(other) and isinstance(one, bool | int | float)


def _left_bounds_win() -> None:
    """A list may be as long as on the left side."""
    _PADDED.bounded_as = lambda self, other: self


def _left_object_wins() -> None:
    """Of two objects of one class, it is the one of the left side."""
    whole = _JOIN.Joiner._join_objects

    def join_objects(self: Any, left: Any, right: Any, path: Any) -> Any:
        both = left.layout.whole is not None and right.layout.whole is not None
        return self._itself(left.layout) if both else whole(self, left, right, path)

    _JOIN.Joiner._join_objects = join_objects


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
        _none_is_a_value,
        _constants_keep_their_numbers,
        _left_type_wins,
        _left_constant_wins,
        _left_bounds_win,
        _left_object_wins,
    )
}
