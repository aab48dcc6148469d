"""Find the integers in a loop's body that are loop-invariant or an affine function of the index.

An index passes through a few operations on its way to an array: JAX adds the array's size where it is negative, a
branch that does not write puts a number beyond any array in its place. Where the loop's length is known, all of these
have known results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import is_literal


@dataclass(frozen=True)
class Progression:
    """``first + step * index``; a constant where the step is 0. The truth values are 0 and 1."""

    first: int
    step: int = 0

    def bounds(self, length: int) -> tuple[int, int]:
        """The least and the greatest item of so many."""
        last = self.first + self.step * (length - 1)
        return min(self.first, last), max(self.first, last)


@dataclass(frozen=True)
class Fixed:
    """An integer that no iteration changes: the variable ``operands[0]`` of the body, or an operation on such integers.

    Equal where it is computed alike. ``dtypes`` are those of the operands, ``dtype`` is that of the result.
    """

    name: str
    operands: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    dtype: Any

    def value(self, outside: Callable[[Any], Any]) -> Any:
        """The integer, outside the loop, where ``outside`` returns the values of the body's variables."""
        if self.name == _VARIABLE:
            return outside(self.operands[0])
        operands = [value_of(each, dtype, outside) for each, dtype in zip(self.operands, self.dtypes, strict=True)]
        if self.name == "convert_element_type":
            return jax.lax.convert_element_type(operands[0], self.dtype)
        return _OPERATIONS[self.name](*operands)


_VARIABLE = "variable"
_LARGEST = 64  # elements of a vector: one that indexes an array has one for each axis
Integer = Progression | Fixed
Vector = tuple[Integer, ...]


@dataclass(frozen=True)
class Choice:
    """Where a value's alternatives come from: a predicate of the same program, and the vectors if it is false and if it is true."""

    predicate: Any
    on_false: frozenset[Vector]
    on_true: frozenset[Vector]


@dataclass(frozen=True)
class Vectors:
    """What an integer, or a vector of integers, may be in an iteration: one of these."""

    found: frozenset[Vector]
    choice: Choice | None = field(default=None, compare=False)

    @property
    def only(self) -> Vector | None:
        """What it is, if there is one possibility."""
        return next(iter(self.found)) if len(self.found) == 1 else None


def one(integer: Integer) -> Vectors:
    return Vectors(frozenset([(integer,)]))


def variable(atom: Any) -> Vectors:
    """A variable that no iteration changes."""
    return one(Fixed(_VARIABLE, (atom,), (None,), atom.aval.dtype))


def of_literal(atom: Any) -> Vectors | None:
    return one(Progression(int(atom.val))) if is_integer(atom.aval) else None


def value_of(integer: Integer, dtype: Any, outside: Callable[[Any], Any]) -> Any:
    """An integer that no iteration changes, outside the loop."""
    return np.asarray(integer.first, dtype) if isinstance(integer, Progression) else integer.value(outside)


def either(on_false: Vectors | None, on_true: Vectors | None, predicate: Any) -> Vectors | None:
    """What a value is that a predicate chooses."""
    if on_false is None or on_true is None:
        return None
    return Vectors(on_false.found | on_true.found, Choice(predicate, on_false.found, on_true.found))


def result_of(equation: Any, operands: Sequence[Vectors | None], length: int) -> Vectors | None:
    """What an equation computes from these operands; None if that is not known."""
    if len(equation.outvars) != 1:
        return None
    aval, name = equation.outvars[0].aval, jax_compat.name_of(equation)
    if len(getattr(aval, "shape", (0, 0))) > 1 or not _holds_integers(aval.dtype):
        return None
    found = _result_of(equation, name, operands, length)
    if found is not None and not all(_fits(each, aval.dtype, length) for vector in found.found for each in vector):
        return None
    return found


def _result_of(equation: Any, name: str, operands: Sequence[Vectors | None], length: int) -> Vectors | None:
    aval = equation.outvars[0].aval
    if name == "select_n" and len(operands) == 3:
        predicate, *cases = operands
        if equation.invars[0].aval.size != 1:
            return None
        if predicate is None or predicate.only is None:
            return either(cases[0], cases[1], equation.invars[0])
        (known,) = predicate.only[:1]
        if isinstance(known, Progression) and known.step == 0:
            return cases[known.first]
    if any(operand is None for operand in operands) or not operands:
        return None
    given = [operand for operand in operands if operand is not None]
    if name in _SHAPES and equation.invars[0].aval.size == aval.size:
        return given[0]
    if name == "broadcast_in_dim" and given[0].only is not None and equation.invars[0].aval.size == 1:
        if aval.size > _LARGEST:
            return None
        return Vectors(frozenset([given[0].only * aval.size]))
    if name == "convert_element_type" and all(
        isinstance(each, Progression) for vector in given[0].found for each in vector
    ):
        return given[0]
    vectors = [operand.only for operand in given]
    if any(vector is None for vector in vectors):
        return None
    known_vectors: list[Vector] = [vector for vector in vectors if vector is not None]
    if name == "concatenate":
        return Vectors(frozenset([tuple(integer for vector in known_vectors for integer in vector)]))
    if any(len(vector) != 1 for vector in known_vectors):
        return None
    made = _arithmetic(equation, name, [vector[0] for vector in known_vectors], length)
    return None if made is None else one(made)


def _arithmetic(equation: Any, name: str, integers: Sequence[Integer], length: int) -> Integer | None:
    progressions = [each for each in integers if isinstance(each, Progression)]
    if len(progressions) == len(integers):
        rule = _RULES.get(name)
        return None if rule is None else rule(length, *progressions)
    if any(each.step for each in progressions) or (name not in _OPERATIONS and name != "convert_element_type"):
        return None
    dtypes = tuple(atom.aval.dtype for atom in equation.invars)
    if name == "convert_element_type" and dtypes[0] == equation.outvars[0].aval.dtype:
        return integers[0]
    return Fixed(name, tuple(integers), dtypes, equation.outvars[0].aval.dtype)


def _product(length: int, a: Progression, b: Progression) -> Progression | None:
    if a.step and b.step:
        return None
    return Progression(a.first * b.first, a.first * b.step + a.step * b.first)


def _test(decided: Callable[[int, int], int | None]) -> Callable[..., Progression | None]:
    def rule(length: int, a: Progression, b: Progression) -> Progression | None:
        found = decided(*Progression(a.first - b.first, a.step - b.step).bounds(length))
        return None if found is None else Progression(found)

    return rule


def _less(low: int, high: int) -> int | None:
    return 1 if high < 0 else 0 if low >= 0 else None


def _at_most(low: int, high: int) -> int | None:
    return 1 if high <= 0 else 0 if low > 0 else None


def _negated(test: Callable[[int, int], int | None]) -> Callable[[int, int], int | None]:
    return lambda low, high: None if (found := test(low, high)) is None else 1 - found


def _greatest(length: int, a: Progression, b: Progression) -> Progression | None:
    is_less = _less(*Progression(a.first - b.first, a.step - b.step).bounds(length))
    return None if is_less is None else b if is_less else a


def _least(length: int, a: Progression, b: Progression) -> Progression | None:
    greatest = _greatest(length, a, b)
    return None if greatest is None else a if greatest is b else b


_SHAPES = frozenset({"squeeze", "reshape", "expand_dims", "copy"})
_RULES: Mapping[str, Callable[..., Progression | None]] = MappingProxyType(
    {
        "add": lambda length, a, b: Progression(a.first + b.first, a.step + b.step),
        "sub": lambda length, a, b: Progression(a.first - b.first, a.step - b.step),
        "neg": lambda length, a: Progression(-a.first, -a.step),
        "mul": _product,
        "max": _greatest,
        "min": _least,
        "lt": _test(_less),
        "le": _test(_at_most),
        "gt": _test(_negated(_at_most)),
        "ge": _test(_negated(_less)),
    }
)
_OPERATIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": jax.lax.add,
        "sub": jax.lax.sub,
        "mul": jax.lax.mul,
        "neg": jax.lax.neg,
        "lt": jax.lax.lt,
        "le": jax.lax.le,
        "gt": jax.lax.gt,
        "ge": jax.lax.ge,
        "max": jax.lax.max,
        "min": jax.lax.min,
        "select_n": jax.lax.select_n,
    }
)


def is_integer(aval: Any) -> bool:
    """Whether values of this type are single integers or truth values."""
    return getattr(aval, "shape", None) == () and _holds_integers(aval.dtype)


def _holds_integers(dtype: Any) -> bool:
    return bool(dtype == jnp.bool_ or jnp.issubdtype(dtype, jnp.integer))


def _fits(integer: Integer, dtype: Any, length: int) -> bool:
    """Whether no item is beyond what the dtype holds, where operations would wrap."""
    if isinstance(integer, Fixed):
        return True
    low, high = integer.bounds(length)
    if dtype == jnp.bool_:
        return low >= 0 and high <= 1
    limits = jnp.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(limits.min) <= low and high <= int(limits.max)


def known(atom: Any, found: dict[Any, Any]) -> Any:
    """What an operand is."""
    return of_literal(atom) if is_literal(atom) else found.get(atom)
