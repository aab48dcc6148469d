"""The plain-Python backend, in which nothing is traced and each statement runs as Python.

It is the reference: converted code means here what Python means by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from autograph.backends.base import LeafType, LoopSpec, Output, RolledLoop, Traced
from autograph.backends.recursive import RecursionSpec


class PythonBackend:
    """Answers that nothing is traced. The staging half of the protocol is never reached."""

    def is_traced(self, value: Any) -> bool:
        return False

    def is_eager(self) -> bool:
        return True

    def around_another(self, called: Any, replace: Callable[[Any], Any], begun: Callable[[Any], object]) -> Any:
        return None

    def rules_of(self, called: Any) -> tuple[Any, ...]:
        return ()

    def compilation_options(self, jitted: Any) -> dict[str, Any] | None:
        return None

    def keeps_traces(self, transformed: Any) -> bool:
        return False

    def is_tracing(self) -> bool:
        return False

    def is_array(self, value: Any) -> bool:
        return hasattr(value, "at") and hasattr(value, "dtype")

    def indexed_by_at(self, value: Any) -> Any:
        return None

    def predicate(self, value: Any) -> bool:
        return bool(value)

    def trace(
        self,
        block: Callable[..., Sequence[Any]],
        operand_types: Sequence[LeafType],
        unchanged: Sequence[Any] = (),
    ) -> Traced:
        return _unreachable()

    def blocks_around(self) -> Sequence[Any]:
        return _unreachable()

    def is_small(self, array: Any) -> bool:
        return _unreachable()

    def untraced(self, leaves: Sequence[Any]) -> Traced:
        return _unreachable()

    def with_results(
        self, traced: Traced, more: Sequence[tuple[Output, Callable[[Any], Any]]]
    ) -> tuple[Traced, list[Output]]:
        return _unreachable()

    def strengthened(self, traced: Traced, operands: Sequence[int]) -> Traced | None:
        return _unreachable()

    def type_of(self, leaf: Any) -> LeafType | None:
        return _unreachable()

    def has_ended(self, value: Any) -> bool:
        return False

    def line_of(self, traced: Traced, leaf: Any) -> str | None:
        return _unreachable()

    def join(self, left: LeafType, right: LeafType) -> LeafType | None:
        return _unreachable()

    def cond(
        self, predicate: Any, branches: Sequence[tuple[Traced, Sequence[Any]]], types: Sequence[LeafType]
    ) -> list[Any]:
        return _unreachable()

    def loop(self, spec: LoopSpec) -> list[Any]:
        return _unreachable()

    def recursive_call(self, function: Any, operands: Sequence[Any], types: Sequence[LeafType]) -> list[Any]:
        _unreachable()

    def functions_called(self, traced: Traced) -> list[Any]:
        _unreachable()

    def closes_over(self, traced: Traced, place: Any) -> bool:
        _unreachable()

    def recursion(self, spec: RecursionSpec) -> tuple[list[Any], Any]:
        _unreachable()

    def known_result(self, spec: LoopSpec, position: int) -> int | None:
        return _unreachable()

    def alike(self, spec: LoopSpec) -> Sequence[Mapping[int, bool]]:
        return _unreachable()

    def at_most(self, spec: LoopSpec, position: int, starts: Mapping[int, int], trips: int | None) -> int | None:
        return _unreachable()

    def rolled(self, spec: LoopSpec) -> RolledLoop | None:
        return _unreachable()

    def iterations(self, spec: LoopSpec) -> int | None:
        return _unreachable()

    def operations(self, traced: Traced) -> int:
        return _unreachable()

    def operations_recorded(self) -> int:
        return _unreachable()

    def copy_constants(self) -> None:
        pass  # NumPy computes at once

    def has_copied_constants(self) -> bool:
        return False

    def select(self, which: Any, values: Sequence[Any], type: LeafType) -> Any:
        return _unreachable()

    def zeros(self, type: LeafType) -> Any:
        return _unreachable()

    def window(self, array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
        return _unreachable()

    def put_window(self, array: Any, window: Any, starts: Sequence[Any]) -> Any:
        return _unreachable()

    def is_static(self, traced: Traced, static_operands: set[int]) -> bool:
        return _unreachable()

    def operands_used(self, traced: Traced) -> tuple[set[int], dict[int, int]]:
        return _unreachable()

    def test_is_static(self, spec: LoopSpec, static_leaves: set[int]) -> bool:
        return _unreachable()


def _unreachable() -> NoReturn:
    raise AssertionError("the Python backend was asked to stage a statement")
