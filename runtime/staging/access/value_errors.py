"""What Python raises for the values of numbers (a domain, a range, a zero), inside a ``try`` that catches it.

JAX's operations return nan, inf or some number there, and outside of such a ``try`` so does a program. Where a handler
waits for the exception, the program raises it.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.effects.raising import has_handlers, meets_handler
from autograph.runtime.effects.staged_raises import Raising

_DIVISIONS = frozenset(["/", "//", "%", "divmod"])
_SHIFTS = frozenset(["<<", ">>"])
_NUMBERS = (bool, int, float, complex, np.generic, np.ndarray, jax.Array)
_OVERFLOWING = frozenset(["exp", "exp2", "expm1", "cosh", "sinh", "pow", "hypot", "gamma", "lgamma", "ldexp"])
_OF_REALS = (
    *("sqrt", "exp", "expm1", "log1p", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "hypot", "fmod", "exp2"),
    *("remainder", "asin", "acos", "atanh", "acosh", "pow", "gamma", "lgamma", "log", "ldexp"),
)
_TO_INTS = (builtins.int, builtins.round, math.floor, math.ceil, math.trunc)

Found = tuple[Exception, Any]
"""An exception, and where the program raises it."""
Errors = Callable[[Sequence[Any], Callable[..., Any]], Iterator[Found]]
"""What a function raises, of its arguments and JAX's form of it."""


class ValueErrors:
    """Operators and functions of numbers, with the exceptions that a ``try`` around them catches."""

    def __init__(self, backend: Backend, raising: Raising) -> None:
        self.backend = backend
        self.raising = raising

    def operands(self, symbol: str, plain: Callable[[Any, Any], Any], left: Any, right: Any) -> tuple[Any, Any]:
        """The operands of ``left symbol right``, after the exception that Python raises for them.

        Where it has raised they are others. Arrays are not asked: they return inf or nan, as NumPy's.
        """
        if not has_handlers() or not self._are_numbers(left, right):
            return left, right
        kinds = [np.dtype(jnp.result_type(each)).kind for each in (left, right)]
        one: Any = 1j if "c" in kinds else 1.0 if "f" in kinds else 1
        if symbol in _DIVISIONS:
            return left, self._raised([(_raised_by(plain, one, one * 0), _is(right == 0))], 1, right)[0]
        if symbol in _SHIFTS and set(kinds) <= {"i", "u", "b"}:
            return left, self._raised([(_raised_by(plain, 1, -1), _is(right < 0))], 1, right)[0]
        if symbol == "**" and "c" not in kinds:
            found: list[Found] = [
                (_raised_by(plain, one * 0, -one), _is((left == 0) & (right < 0) & (right != -math.inf)))
            ]
            if one == 1.0 and type(one) is float:
                value = plain(jnp.asarray(left), jnp.asarray(right))
                over = jnp.isinf(value) & jnp.isfinite(left) & jnp.isfinite(right) & (left != 0)
                found.append((_raised_by(plain, 10.0, 1e9), over))
            base, exponent = self._raised(found, 1, left, right)
            return base, exponent
        return left, right

    def around(self, overloads: Mapping[Any, Callable[..., Any]]) -> Mapping[Any, Callable[..., Any]]:
        """Those of the overloads whose functions raise for the values of numbers, so that they do."""
        found: dict[Any, Errors] = dict.fromkeys(_TO_INTS, _of_ints)
        found[math.isqrt] = _of_roots
        for name in _OF_REALS:
            if hasattr(math, name):
                found[getattr(math, name)] = functools.partial(_of_reals, name)
        return {
            function: self._checked(errors, 2.0 if function is math.acosh else 0.5, overloads[function])
            for function, errors in found.items()
            if function in overloads
        }

    def _checked(self, errors: Errors, instead: float, overload: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not has_handlers() or kwargs or not self._are_numbers(*args):
                return overload(*args, **kwargs)
            numbers = list(map(jnp.asarray, args))
            return overload(*self._raised(errors(numbers, overload), instead, *args))

        return functools.update_wrapper(call, overload, updated=())

    def _raised(self, found: Iterable[Found], instead: float, *operands: Any) -> list[Any]:
        """The operands, and ``instead`` of them where one of these exceptions has been raised: the derivative of what
        follows is to be finite."""
        given = list(operands)
        for error, where in found:
            if where is False or not meets_handler(type(error)):
                continue
            if where is True:
                raise error
            self.raising.raise_unless(~where, error)
            given = [jnp.where(where, jnp.asarray(instead, jnp.result_type(each)), each) for each in given]
        return given

    def _are_numbers(self, *values: Any) -> bool:
        """Whether these are numbers, some of which only the run knows."""
        if not any(map(self.backend.is_traced, values)):
            return False
        return all(isinstance(each, _NUMBERS) and np.ndim(each) == 0 for each in values)


def _is(test: Any) -> Any:
    """What is known while tracing as a bool, so that nothing is staged for it."""
    return test if isinstance(test, jax.core.Tracer) else bool(test)


def _raised_by(plain: Callable[[Any, Any], Any], left: Any, right: Any) -> Exception:
    """What Python raises for these."""
    try:
        plain(left, right)
    except (ArithmeticError, TypeError, ValueError) as error:
        return type(error)(*error.args)
    raise AssertionError("Python raises nothing for these operands")


def _of_reals(name: str, numbers: Sequence[Any], function: Callable[..., Any]) -> Iterator[Found]:
    """What a function of `math` raises: for nan of what is none a domain error, for inf of what is finite one or the other."""
    value = function(*numbers)
    are_finite = functools.reduce(jnp.logical_and, map(jnp.isfinite, numbers))
    are_no_nan = ~functools.reduce(jnp.logical_or, map(jnp.isnan, numbers))
    if name == "log" and len(numbers) == 2:
        yield ZeroDivisionError("float division by zero"), (numbers[1] == 1) & (numbers[0] > 0)
        yield ValueError("math domain error"), ((numbers[0] <= 0) | (numbers[1] <= 0))
        return
    is_pole = jnp.isinf(value) & are_finite
    domain = jnp.isnan(value) & are_no_nan
    if name == "pow":
        is_zero = numbers[0] == 0
        domain, is_pole = domain | (is_pole & is_zero), is_pole & ~is_zero
    elif name in ("gamma", "lgamma"):
        domain, is_pole = domain | (is_pole & (numbers[0] <= 0)), is_pole & (numbers[0] > 0)
    if name in _OVERFLOWING:
        yield OverflowError("math range error"), is_pole
    else:
        domain = domain | is_pole
    yield ValueError("math domain error"), domain


def _of_ints(numbers: Sequence[Any], function: Callable[..., Any]) -> Iterator[Found]:
    """What a function from floats to ints raises."""
    if len(numbers) == 1 and jnp.issubdtype(numbers[0].dtype, jnp.floating):
        yield ValueError("cannot convert float NaN to integer"), jnp.isnan(numbers[0])
        yield OverflowError("cannot convert float infinity to integer"), jnp.isinf(numbers[0])


def _of_roots(numbers: Sequence[Any], function: Callable[..., Any]) -> Iterator[Found]:
    """What `math.isqrt` raises."""
    yield ValueError("isqrt() argument must be nonnegative"), numbers[0] < 0
