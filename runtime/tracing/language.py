"""`LANGUAGE`: what values and datasets ask of the operators and of `Function`, which are built on them.

A value that differs by path, say, may be used by code that is not converted: its own methods then do what converted code does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Operators(Protocol):
    """What is asked of the operators, without their options; see `runtime.staging.operators`."""

    @property
    def backend(self) -> Any: ...

    @property
    def journal(self) -> Any: ...

    @property
    def identities(self) -> Any: ...

    @property
    def facts(self) -> Any: ...

    @property
    def absences(self) -> Any: ...

    @property
    def constants(self) -> Any: ...

    @property
    def classes(self) -> Any: ...

    @property
    def references(self) -> Any: ...

    @property
    def forms(self) -> Any: ...

    @property
    def texts(self) -> Any: ...

    @property
    def slices(self) -> Any: ...

    @property
    def keys(self) -> Any: ...

    @property
    def recursion(self) -> Any: ...

    def call(self, function: Any, /) -> Callable[..., Any]: ...

    def operate(self, symbol: str, /, *operands: Any) -> Any: ...

    def will_write_known(self, target: Any, /) -> None: ...

    def refuse_hidden(self, container: Any, /) -> None: ...

    def of_numbers(self, function: Callable[..., Any], /, *operands: Any) -> Any: ...

    def truth(self, value: Any, /) -> Any: ...

    def asks_operation(self, line: Any, /) -> bool: ...

    def get_attr(self, owner: Any, name: str, /) -> Any: ...

    def set_attr(self, owner: Any, name: str, value: Any, /) -> None: ...

    def del_attr(self, owner: Any, name: str, /) -> None: ...

    def get_item(self, owner: Any, key: Any, /) -> Any: ...

    def new_list(self, elements: list[Any], /) -> list[Any]: ...

    def new_row(self, *args: Any) -> Any: ...

    def if_exp(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], /) -> Any: ...

    def for_stmt(self, *args: Any) -> None: ...

    def try_stmt(self, *args: Any) -> Any: ...

    def while_stmt(
        self,
        test: Callable[[], Any],
        body: Callable[[], Any],
        names: Sequence[str],
        result: str | None = ...,
        options: Any = ...,
    ) -> None: ...

    def can_raise_later(self, kind: type[BaseException], /) -> bool: ...

    def raise_unless(self, condition: Any, error: Any, /, *, is_check: bool = False) -> None: ...

    def raised(self, error: Any) -> Any: ...

    def exception(self, kind: Any, *args: Any, **kwargs: Any) -> Any: ...

    def text(self, *args: Any) -> Any: ...

    def check_set(self, *args: Any) -> Any: ...

    def check_present(self, *args: Any) -> Any: ...

    def truth_of_optional(self, *args: Any) -> Any: ...

    def best_of(self, *args: Any) -> Any: ...


class _Language:
    """Set once, by `use_language`.

    Attributes:
      operators: those that `from autograph import operators` names.
      compiled: a function of ours, which may call the user's, as a `Function`.
    """

    operators: Operators
    compiled: Callable[[Callable[..., Any]], Any]


LANGUAGE = _Language()


def use_language(operators: Operators, compiled: Callable[[Callable[..., Any]], Any]) -> None:
    """Say what values ask. Called once, where the operators and `Function` are put together."""
    LANGUAGE.operators, LANGUAGE.compiled = operators, compiled
