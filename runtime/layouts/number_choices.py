"""`NumberChoice`: a traced number, or an int that no array holds and one more, as ``best`` after ``best = sys.maxsize`` in a loop.

A variable that is such an int on one path, and a number on another, is an `Optional` whose number is absent where it is that
int. An int here is so large that no number of an array changes how it compares with others: sums with such numbers are
compared without being computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.large_ints import is_far_beyond
from autograph.runtime.layouts.large_ints import must_fit, too_large
from autograph.runtime.layouts.optional import Optional, absent_in, held_in, is_number_choice, present_in, used
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

PLAIN = (int, bool, float)
_MOST = 8  # cases that are told apart
_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_SIGNS = (operator.neg, operator.pos, abs)


class Case(NamedTuple):
    """What a number is where a condition holds: an int of any size, or 0, and a number more."""

    when: Any
    base: int
    more: Any


@jax.tree_util.register_pytree_node_class
class NumberChoice:
    """The sum of a number that may be an int which no array holds, and others. Looked at, it is a number that an array holds.

    Attributes: cases, of which one holds; where (the user's line that makes it).
    """

    def __init__(self, cases: tuple[Case, ...]) -> None:
        self.cases = cases
        self.where = user_location()

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.held(),), None

    @classmethod
    def tree_unflatten(cls, _: None, children: Any) -> Any:
        return children[0]

    def held(self) -> Any:
        """The number; raises, when the program runs, where it is none that an array holds."""
        large = next(case.base for case in self.cases if case.base)
        small = next((case for case in self.cases if not case.base), None)
        if small is None:
            if not LANGUAGE.operators.journal.regions:  # else the block may be one that never runs
                raise too_large(self.where, large)
            small = Case(jnp.asarray(False), 0, 0)
        LANGUAGE.operators.check_present(small.when, large)
        return small.more

    def __jax_array__(self) -> Any:
        must_fit(next(case.base for case in self.cases if case.base))

    def __autograph_number__(self) -> Any:
        return self.held()

    def __autograph_truth__(self) -> Any:
        return operated(operator.ne, self, 0)


def _as_float(value: Any) -> Any:
    """``float(value)`` of such a number."""
    found: Any = None
    for case in _cases(value, True):
        number = jnp.asarray(float(case.base) + case.more, jnp.result_type(float))
        found = number if found is None else jnp.where(case.when, number, found)
    return found


def operated(function: Callable[..., Any], *operands: Any) -> Any:
    """An operation on numbers some of which are, or may be, ints that no array holds; NotImplemented if it needs the number."""
    if not all(map(_is_number, operands)):
        return NotImplemented
    if function is float:
        return _as_float(*operands)
    cases = [list(_cases(operand, True)) for operand in operands]
    if len(operands) == 1:
        signed = [_signed(function, case) for case in cases[0]] if function in _SIGNS else None
        return NotImplemented if signed is None else _made(signed)
    if function in _COMPARISONS:
        return _compared(function, *cases)
    if function in (operator.add, operator.sub):
        return _made(
            [Case(_both(a, b), function(a.base, b.base), function(a.more, b.more)) for a in cases[0] for b in cases[1]]
        )
    if function is operator.truediv:
        one, other = (_as_float(operand) if is_number_choice(operand) else operand for operand in operands)
        return one / other
    factor = next((each for each in operands if type(each) is int), None)
    if function is operator.mul and factor is not None and not is_far_beyond(factor):
        other = cases[operands[0] is factor]
        return _made([Case(case.when, case.base * factor, case.more * factor) for case in other])
    return NotImplemented


def _is_number(value: Any) -> bool:
    """Whether the cases of this are numbers of one element."""
    if type(value) is NumberChoice:
        return True
    if type(value) is Optional:
        return type(absent_in(value)) is int and _is_number(held_in(value))
    return type(value) in PLAIN or (hasattr(value, "dtype") and np.ndim(value) == 0)


def _cases(value: Any, when: Any) -> Iterator[Case]:
    if type(value) is NumberChoice:
        for case in value.cases:
            yield Case(_and(when, case.when), case.base, case.more)
    elif type(value) is Optional:
        present = present_in(value)
        yield Case(_and(when, ~present), absent_in(value), 0)
        yield from _cases(held_in(value), _and(when, present))
    elif is_far_beyond(value):
        yield Case(when, value, 0)
    else:
        yield Case(when, 0, value)


def _and(one: Any, other: Any) -> Any:
    return other if one is True else one if other is True else one & other


def _both(one: Case, other: Case) -> Any:
    return _and(one.when, other.when)


def _signed(function: Callable[[Any], Any], case: Case) -> Case:
    if function is operator.neg or (function is abs and case.base < 0):
        return Case(case.when, -case.base, -case.more)
    return case if function is operator.pos or case.base else Case(case.when, 0, abs(case.more))


def _made(cases: list[Case]) -> Any:
    """The number of these cases."""
    merged: dict[int, Case] = {}
    for case in cases:
        if case.base and not is_far_beyond(case.base):
            must_fit(case.base)
        if _is_float(case.more) and case.base:
            case = Case(case.when, 0, float(case.base) + case.more)
        if (known := merged.get(case.base)) is None:
            merged[case.base] = case
        else:
            more = jnp.where(case.when, case.more, known.more)
            when = True if case.when is True or known.when is True else case.when | known.when
            merged[case.base] = Case(when, case.base, more)
    if list(merged) == [0]:
        return merged[0].more
    if len(merged) > _MOST:
        must_fit(next(base for base in merged if base))
    return NumberChoice(tuple(merged.values()))


def _is_float(number: Any) -> bool:
    return type(number) is float or jnp.issubdtype(getattr(number, "dtype", np.int32), jnp.floating)


def _compared(function: Callable[[Any, Any], Any], left: list[Case], right: list[Case]) -> Any:
    found: Any = None
    for one in left:
        for other in right:
            same = _decided(function, one, other)
            found = same if found is None else jnp.where(_both(one, other), same, found)
    return found


def _decided(function: Callable[[Any, Any], Any], one: Case, other: Case) -> Any:
    """How two cases compare."""
    if one.base == other.base:
        return function(one.more, other.more)
    if _is_float(one.more) or _is_float(other.more):
        return function(float(one.base) + one.more, float(other.base) + other.more)
    apart = one.base - other.base
    if not is_far_beyond(apart):
        if type(one.more) is int and type(other.more) is int:
            return function(one.base + one.more, other.base + other.more)
        must_fit(apart if apart > 0 else -apart)
    return function(one.base, other.base)


def _method(function: Callable[..., Any], is_reflected: bool = False) -> Any:
    def method(*operands: Any) -> Any:
        given = operands[::-1] if is_reflected else operands
        found = operated(function, *given)
        return function(*map(used, given)) if found is NotImplemented else found

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _function = getattr(operator, f"__{_name}__")
    setattr(NumberChoice, f"__{_name}__", _method(_function))
    setattr(NumberChoice, f"__r{_name}__", _method(_function, True))
for _function in (*_COMPARISONS, *_SIGNS, operator.invert):
    setattr(NumberChoice, f"__{_function.__name__}__", _method(_function))
