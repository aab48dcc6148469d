"""Operators and attributes of user objects, through the converted methods of their classes."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.keyed_lists import MIRRORED, KeyedList
from autograph.runtime.containers.orderings import all_scalars_some_traced, is_better, values_of
from autograph.runtime.containers.sizes import compared_sizes, holds_sizes, is_symbolic_size
from autograph.runtime.containers.traced_dicts import DictView
from autograph.runtime.containers.traced_lists import is_traced_list
from autograph.runtime.effects.raising import has_handlers
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.leaked_tracers import hold_array
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, ContentsPlace
from autograph.runtime.heap.reach import refuse_array_written
from autograph.runtime.layouts.large_ints import holds_number
from autograph.runtime.layouts.objects import compared_fields
from autograph.runtime.layouts.one_of import OneOf, class_of, each, holds_objects, is_no_number, takes_branches
from autograph.runtime.layouts.optional import (
    Optional,
    held_in,
    is_known,
    may_be_beyond,
    possible_values,
    present_in,
    resolved,
    used,
)
from autograph.runtime.layouts.perhaps import is_sentinel
from autograph.runtime.layouts.perhaps import read as read_of
from autograph.runtime.layouts.statement_variables import has_contents, holds_traced, tested
from autograph.runtime.staging.access.aliased_writes import AliasedWrites
from autograph.runtime.staging.access.cached_properties import first_read
from autograph.runtime.staging.access.numbers import OF_TRACED_NUMBERS, attribute_of
from autograph.runtime.staging.access.user_methods import are_alike_containers, are_lists, has_own_equality, user_method
from autograph.runtime.staging.access.value_errors import ValueErrors
from autograph.runtime.state.given_arrays import is_given
from autograph.runtime.tracing.recording import LOCAL

_OPERATIONS: Mapping[str, tuple[str, Callable[..., Any]]] = types.MappingProxyType(
    {
        "+": ("add", operator.add),
        "-": ("sub", operator.sub),
        "*": ("mul", operator.mul),
        "@": ("matmul", operator.matmul),
        "/": ("truediv", operator.truediv),
        "//": ("floordiv", operator.floordiv),
        "%": ("mod", operator.mod),
        "**": ("pow", operator.pow),
        "<<": ("lshift", operator.lshift),
        ">>": ("rshift", operator.rshift),
        "&": ("and", operator.and_),
        "|": ("or", operator.or_),
        "^": ("xor", operator.xor),
        "divmod": ("divmod", divmod),
    }
)
_COMPARISONS: Mapping[str, tuple[str, str, Callable[..., Any]]] = types.MappingProxyType(
    {
        "<": ("__lt__", "__gt__", operator.lt),
        "<=": ("__le__", "__ge__", operator.le),
        ">": ("__gt__", "__lt__", operator.gt),
        ">=": ("__ge__", "__le__", operator.ge),
        "==": ("__eq__", "__eq__", operator.eq),
        "!=": ("__ne__", "__ne__", operator.ne),
    }
)
_UNARY: Mapping[str, tuple[str, Callable[..., Any]]] = types.MappingProxyType(
    {
        "-": ("__neg__", operator.neg),
        "+": ("__pos__", operator.pos),
        "~": ("__invert__", operator.invert),
        "abs": ("__abs__", abs),
    }
)
IN_PLACE: Mapping[str, Callable[[Any, Any], Any]] = types.MappingProxyType(
    {
        f"{symbol}=": getattr(operator, f"i{name}")
        for symbol, (name, _) in _OPERATIONS.items()
        if hasattr(operator, f"i{name}")
    }
)
"""The functions of `operator` for ``x += y`` and its like, by what is written."""
OPERATOR_FUNCTIONS: Mapping[Callable[..., Any], str] = types.MappingProxyType(
    {plain: symbol for symbol, (name, plain) in _OPERATIONS.items()}
    | {plain: symbol for symbol, (_, plain) in _UNARY.items()}
)
"""The functions of `operator` (and `divmod`, `abs`) by the operator that each stands for."""
_NO_NUMBERS = (dict, list, set, tuple)  # equal to no number, which JAX refuses to compare with them
_COUNTING = frozenset(["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "divmod", "abs"])
_ITSELF = object()
# What answers an operand that it does not know with NotImplemented, as written; sequences do not always.
_ARITHMETIC = (bool, int, float, complex, np.generic, np.ndarray, jax.Array)


def check_cast(symbol: str, dtype: Any, value: Any) -> None:
    """Raise what NumPy raises of ``part += value`` for the dtypes, of a part of an array that has one of these.

    One of JAX's is not asked: of that ``+=`` makes a new array, which an assignment casts.
    """
    if getattr(value, "kind", None) is np.ndarray:  # a place
        value = np.empty(0, value.dtype)
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray) and symbol != "@=":
        IN_PLACE[symbol](np.empty(0, dtype), np.empty(0, np.asarray(value).dtype) if np.ndim(value) else value)


def _function_of(symbol: str, count: int) -> Callable[..., Any]:
    if count == 1:
        return _UNARY[symbol][1]
    return _OPERATIONS[symbol.removesuffix("=") if symbol in IN_PLACE else symbol][1]


class Operations(InTrace):
    """The operators for operators and for reads of attributes.

    Args:
      call: what to call in place of a function.
      errors: what Python raises for the values of numbers.
      checks: the operators that these are part of.
    """

    def __init__(
        self,
        backend: Backend,
        aliased: AliasedWrites,
        trace: Callable[[], Trace],
        call: Callable[[Any], Any],
        errors: ValueErrors,
        checks: Any,
    ) -> None:
        self.backend = backend
        self.aliased = aliased
        super().__init__(trace)
        self.call = call
        self.errors = errors
        self.checks = checks

    def operate(self, symbol: str, *operands: Any, written: str = "") -> Any:
        """``a + b``, ``-a``, ``a < b`` and their like: ``operate("+", a, b)``; ``written`` as ``+=``, say."""
        for k, operand in enumerate(operands):
            if type(operand) is OneOf and takes_branches(operand):
                if class_of(operand) is not OneOf and self._is_for_all(symbol, operands):
                    continue
                rest = operands[:k], operands[k + 1 :]
                return each(
                    operand,
                    lambda one: self.operate(symbol, *rest[0], one, *rest[1], written=written),  # noqa: B023 (called at once)
                    is_pure=symbol in _COMPARISONS and not holds_objects(operand),
                )
        if symbol not in _COMPARISONS and may_be_beyond(operands):
            found = self.of_numbers(_function_of(symbol, len(operands)), *operands)
            if found is not NotImplemented:
                return found
            operands = tuple(map(used, operands))
        if symbol in _COUNTING and all(map(self._is_truth, operands)) and any(map(self.backend.is_traced, operands)):
            operands = tuple(operand * 1 for operand in operands)
        if len(operands) == 2 and symbol in _COUNTING and has_handlers():
            operands = self.errors.operands(symbol, _OPERATIONS[symbol][1], *operands)
        if len(operands) == 1:
            name, plain = _UNARY[symbol]
            method = user_method(class_of(operands[0]), name)
            return plain(*operands) if method is None else self.call(method)(*operands)
        if symbol in IN_PLACE:
            self._refuse_hidden(operands[1:])
            return self.in_place(symbol, *operands)
        self._refuse_hidden(operands)
        if symbol == "|" and LOCAL.has_perhaps and all(type(operand) is dict for operand in operands):
            return self.checks.absences.merged(*operands)
        if symbol in _COMPARISONS:
            return self._compared(symbol, *operands)
        if symbol == "*" and (found := self.checks.repeated_by_traced(*operands)) is not NotImplemented:
            return found
        name, plain = _OPERATIONS[symbol]
        if (
            LOCAL.places and is_given(operands[1]) and isinstance(operands[0], jax.Array | np.ndarray)
        ):  # JAX's operator makes no place
            return getattr(operands[1], f"__r{name}__")(operands[0])
        plain = IN_PLACE.get(written, plain)  # which words an error as Python does
        found = self._dispatched(written or symbol, f"__{name}__", f"__r{name}__", plain, *operands)
        return self.checks.keys.noted(found) if type(found) is set else found

    def _refuse_hidden(self, operands: Sequence[Any]) -> None:
        if self.journal.hidden or self.journal.regions:
            for operand in operands:
                if isinstance(operand, MUTABLE_CONTAINERS):
                    self.checks.refuse_hidden(operand)

    def of_numbers(self, function: Callable[..., Any], *operands: Any) -> Any:
        """An operation on numbers that may be ints which no array holds: see `number_choices`."""
        from autograph.runtime.layouts.number_choices import operated

        return operated(function, *operands)

    def _is_for_all(self, symbol: str, operands: Sequence[Any]) -> bool:
        """Whether a method of the user's does this, which takes a choice of references as it is."""
        if symbol in IN_PLACE:
            return False
        if symbol in _COMPARISONS:
            names = _COMPARISONS[symbol][:2]
        elif len(operands) == 1:
            names = _UNARY[symbol][0], ""
        else:
            names = f"__{_OPERATIONS[symbol][0]}__", f"__r{_OPERATIONS[symbol][0]}__"
        return any(
            user_method(class_of(operand), name) is not None or compared_fields(class_of(operand), name) is not None
            for operand, name in zip(operands, names, strict=False)
        )

    def _is_truth(self, value: Any) -> bool:
        """Whether this is a bool, which is a number in Python: a traced one counts as Python's."""
        is_traced = self.backend.is_traced(value) and getattr(value, "dtype", None) == np.bool_
        return type(value) is bool or (is_traced and value.shape == ())

    def in_place(self, symbol: str, target: Any, value: Any) -> Any:
        """What ``target += value`` binds."""
        self.checks.will_augment(target)
        name, _ = _OPERATIONS[symbol[:-1]]
        method = user_method(type(target), f"__i{name}__")
        if method is not None:
            found = self.call(method)(target, value)
            if found is not NotImplemented:
                return found
        elif getattr(type(target), f"__i{name}__", None) is not None:
            if isinstance(target, MUTABLE_CONTAINERS):
                if symbol in _METHODS and (later := self.checks.at_run_time(target, _METHODS[symbol])) is not None:
                    later(value)
                    return target
                self.journal.touch(ContentsPlace(target))
                if isinstance(target, dict) and isinstance(value, KeyedList):
                    self.checks.keys.end_trace(target, "A dict is given a traced key")
                if type(target) is set:
                    self.checks.keys.check_writes(target, [value])
                with self.aliased.writing(target):
                    if LOCAL.has_perhaps and symbol == "|=" and isinstance(target, dict) and isinstance(value, dict):
                        self.checks.absences.update(target, value)
                        return target
                    if LOCAL.has_perhaps and isinstance(target, list) and not isinstance(target, KeyedList):
                        value = self.checks.items_in(value)
                    if symbol == "+=" and type(target) is list and has_contents(value):
                        return list.__iadd__(target, value)  # whose sum with one of Python's is another
                    return IN_PLACE[symbol](target, value)
            elif isinstance(target, np.ndarray):
                if is_given(value) and value.kind is np.ndarray:
                    hold_array(target, self.journal.watch)
                if self.journal.is_open:
                    refuse_array_written()
            return IN_PLACE[symbol](target, value)
        return self.operate(symbol[:-1], target, value, written=symbol)

    def has_own_equality(self, *values: Any) -> bool:
        """See `has_own_equality`."""
        return has_own_equality(*values)

    def equals(self, left: Any, right: Any) -> Any:
        """Whether a container that holds one of these finds the other in its place: a bool, traced where parts are."""
        if left is right:
            return True
        truth = self.asked(self._compared("==", left, right))
        return jnp.all(truth) if self.backend.is_traced(truth) else bool(np.all(truth))

    def _equal_parts(self, left: Any, right: Any) -> Any:
        """``left == right`` of two tuples, lists or dicts with traced values in them."""
        if isinstance(left, dict) and self.checks.absences.may_lack_keys(left, right):
            return self.checks.absences.equal(left, right)
        if isinstance(left, dict):
            if left.keys() != right.keys():
                return False
            left, right = tuple(left.values()), tuple(map(right.__getitem__, left))
        if len(left) != len(right):
            return False
        found: Any = True
        for one, other in zip(left, right, strict=True):
            same = self.equals(one, other)
            if same is False:
                return False
            found = same if found is True else found & same
        return found

    def _compared(self, symbol: str, left: Any, right: Any) -> Any:
        name, reflected, plain = _COMPARISONS[symbol]
        for one, other, asked in ((left, right, symbol), (right, left, MIRRORED[symbol])):
            if isinstance(one, KeyedList | DictView) and (found := one.compared(asked, other)) is not NotImplemented:
                return found
        if is_symbolic_size(left) or is_symbolic_size(right):
            return compared_sizes(symbol, plain, left, right)
        if (known := self._beyond_integers(plain, left, right)) is not None:
            return known
        if may_be_beyond((left, right)) and (found := self.of_numbers(plain, left, right)) is not NotImplemented:
            return found
        kinds = class_of(left), class_of(right)
        if symbol in ("==", "!=") and Optional in kinds:
            one, other = (left, right) if kinds[0] is Optional else (right, left)
            return self._compared_with_optional(symbol, plain, one, read_of(other))
        if (
            symbol in ("==", "!=")
            and are_alike_containers(left, right)
            and (
                holds_traced(left)
                or holds_traced(right)
                or holds_sizes(left, right)
                or LOCAL.has_perhaps
                or (not self.backend.is_eager() and has_own_equality(left, right))
            )
        ):
            equal = self._equal_parts(left, right)
            return equal if symbol == "==" else ~equal if self.backend.is_traced(equal) else not equal
        if symbol in ("==", "!=") and (is_traced_list(left) or is_traced_list(right)) and are_lists(left, right):
            one, other = (left, right) if is_traced_list(left) else (right, left)
            equal = one is other or one.equals(other)
            return equal if symbol == "==" else ~equal if self.backend.is_traced(equal) else not equal
        if symbol in ("==", "!=") and all(_are_told_apart(symbol, each) for each in (left, right)):
            equal = self.aliased.are_one(left, right)
            return equal if symbol == "==" else ~equal if self.backend.is_traced(equal) else not equal
        if symbol in ("==", "!=") and any(
            self._is_traced_number(one) and (isinstance(other, _NO_NUMBERS) or is_no_number(other))
            for one, other in ((left, right), (right, left))
        ):
            return symbol == "!="
        if kinds in ((tuple, tuple), (list, list)) and symbol not in ("==", "!="):
            if self._are_traced_keys(left, right):
                return is_better(tuple(left), tuple(right), plain)
        if symbol not in ("==", "!=") and are_lists(left, right):
            if any(is_traced_list(each) or holds_traced(each) for each in (left, right)):
                return self._by_order(symbol, left, right)
        if kinds[0] is kinds[1] and (fields := compared_fields(kinds[0], name)) is not None:
            return self._compared(symbol, values_of(left, fields), values_of(right, fields))
        if symbol == "!=" and not any(user_method(kind, "__ne__") for kind in kinds):
            if not any(user_method(kind, "__eq__") for kind in kinds):
                return plain(left, right)
            equal = self.asked(self._compared("==", left, right))  # as `object.__ne__` has it
            return ~self.backend.predicate(equal) if self.backend.is_traced(equal) else not equal
        found = self._dispatched(symbol, name, reflected, plain, left, right)
        if found is _ITSELF:
            return (left is right) if symbol == "==" else (left is not right)
        return found

    def _beyond_integers(self, plain: Callable[..., Any], left: Any, right: Any) -> Any:
        """A comparison of traced integers with an int that none of them can be; None if it is no such."""
        for one, other in ((left, right), (right, left)):
            if type(other) is int and self.backend.is_traced(one) and jnp.issubdtype(one.dtype, jnp.integer):
                if not holds_number(one.dtype, other):
                    sides = (0, other) if one is left else (other, 0)
                    return jnp.full(one.shape, plain(*sides))
        return None

    def _is_traced_number(self, value: Any) -> bool:
        return self.backend.is_traced(value) and np.ndim(value) == 0

    def _compared_with_optional(self, symbol: str, plain: Callable[..., Any], one: Optional, other: Any) -> Any:
        """``one == other`` and ``one != other`` where the first may be None, which equals nothing else."""
        if other is None or is_sentinel(other) or isinstance(other, Optional) or resolved(one) is not one:
            return plain(one, other)
        if is_known(present_in(one)):
            return self._compared(symbol, held_in(one), other)
        equal = present_in(one) & self.asked(self._compared("==", held_in(one), other))
        return equal if symbol == "==" else ~equal

    def _by_order(self, symbol: str, left: Any, right: Any) -> Any:
        """``left < right`` and others of two tuples or lists, which may differ in length."""
        one, other = (left, right) if symbol in ("<", "<=") else (right, left)
        if is_traced_list(one):
            before, same = one.before(other)
        elif is_traced_list(other):
            after, same = other.before(one)
            before = ~(after | same)
        else:
            before, same = self._first_that_differs(one, other)
        return before if symbol in ("<", ">") else before | same

    def _first_that_differs(self, one: Any, other: Any) -> tuple[Any, Any]:
        """Whether a tuple or list comes before another, and whether they are equal; their lengths are known."""
        before: Any = len(one) < len(other)
        same: Any = len(one) == len(other)
        pairs = []
        reached: Any = True
        for pair in zip(one, other, strict=False):
            is_same = self.equals(*pair)
            pairs.append((*pair, is_same, reached))
            if is_same is False:  # what comes after is not compared
                break
            reached = is_same if reached is True else reached & is_same
        for mine, theirs, is_same, reached in reversed(pairs):
            if is_same is not True:
                is_less = self._less_where(reached, is_same, mine, theirs)
                is_less = bool(is_less) if np.ndim(is_less) else is_less  # raises
                before = is_less if is_same is False else jnp.where(is_same, before, is_less)
                same = False if is_same is False else same & is_same
        return before, same

    def _less_where(self, reached: Any, is_same: Any, one: Any, other: Any) -> Any:
        """Whether one item is less than another that it does not equal, where all before them are equal: elsewhere that one of them
        is None does no harm.
        """

        def is_less() -> Any:
            return self.asked(self._compared("<", one, other))

        if not (_may_be_none(one) or _may_be_none(other)):
            return is_less()
        if is_same is not False:
            reached = reached & ~is_same if reached is not True else ~is_same
        return self.checks.if_exp(reached, is_less, lambda: False)

    def _are_traced_keys(self, left: Sequence[Any], right: Sequence[Any]) -> bool:
        """Whether these are as many numbers each, and some are traced."""
        if not 0 < len(left) == len(right) or any(map(_may_be_none, (*left, *right))):
            return False
        return all_scalars_some_traced((*left, *right), self.backend)

    def _dispatched(
        self, symbol: str, name: str, reflected: str, plain: Callable[..., Any], left: Any, right: Any
    ) -> Any:
        """As Python finds a method for two operands; ``_ITSELF`` where only identity is left to compare."""
        one, another = class_of(left), class_of(right)
        first, second = user_method(one, name), user_method(another, reflected)
        if first is None and second is None:
            return plain(left, right)
        is_tried_first = self._is_tried_first(one, another, name, reflected)
        if first is None and not (is_tried_first or name in _COMPARING or isinstance(left, _ARITHMETIC)):
            return plain(left, right)
        calls: list[tuple[Any, Any, Any]] = [(first or getattr(one, name, None), left, right)]
        if one is not another or name in _COMPARING:
            calls.append((second or getattr(another, reflected, None), right, left))
            if is_tried_first:
                calls.reverse()
        for method, owner, other in calls:
            if method is not None:
                found = self.call(method)(owner, other) if type(method) is types.FunctionType else method(owner, other)
                if found is not NotImplemented:
                    return found
        if symbol in ("==", "!="):
            return _ITSELF
        kinds = f"'{one.__name__}' and '{another.__name__}'"
        if name in _COMPARING:
            raise TypeError(f"'{symbol}' not supported between instances of {kinds}")
        raise TypeError(f"unsupported operand type(s) for {symbol}: {kinds}")

    def _is_tried_first(self, one: type, other: type, name: str, reflected: str) -> bool:
        """Whether the right operand's class, a subclass of the left one's, goes first."""
        if one is other or not issubclass(other, one):
            return False
        return name in _COMPARING or class_attribute(one, reflected) is not class_attribute(other, reflected)

    def get_attr(self, target: Any, name: str) -> Any:
        """``target.name``, where that may be a property."""
        kind = type(target)
        if name in OF_TRACED_NUMBERS and self._is_traced_number(target):
            return OF_TRACED_NUMBERS[name](target)
        if kind is super:
            return self._inherited(target, name)
        if kind is OneOf and name.startswith("__") and name.endswith("__"):
            return each(target, lambda one: self.get_attr(one, name), is_pure=True)
        descriptor = class_attribute(kind, name)
        if isinstance(descriptor, property) and type(descriptor.fget) is types.FunctionType:
            if user_method(kind, "__getattribute__") is None and not is_library(descriptor.fget):
                return self.call(descriptor.fget)(target)
        elif type(descriptor) is functools.cached_property and type(descriptor.func) is types.FunctionType:
            values = getattr(target, "__dict__", None)
            if type(values) is dict and not is_library(descriptor.func):
                if name not in values:
                    return first_read(self.journal, descriptor, self.call(descriptor.func), target, name)
                return values[name]
        elif (read := user_method(type(descriptor), "__get__")) is not None:
            is_first = class_attribute(type(descriptor), "__set__") is not None
            if is_first or name not in (getattr(target, "__dict__", None) or ()):
                return self.call(read)(descriptor, target, kind)
        elif descriptor is None and (missing := user_method(kind, "__getattr__")) is not None:
            try:
                return object.__getattribute__(target, name)
            except AttributeError:
                pass
            return self.call(missing)(target, name)
        return attribute_of(target, name)

    def _inherited(self, target: Any, name: str) -> Any:
        """``super().name``."""
        if target.__self_class__ is None:  # it is bound to no object
            return getattr(target, name)
        classes = target.__self_class__.__mro__
        for base in classes[classes.index(target.__thisclass__) + 1 :]:
            if name in vars(base):
                descriptor = vars(base)[name]
                if isinstance(descriptor, property) and type(descriptor.fget) is types.FunctionType:
                    return self.call(descriptor.fget)(target.__self__)
                break
        return getattr(target, name)

    def asked(self, value: Any) -> Any:
        """What the truth of ``value`` is the truth of: a traced bool, if its class's own method says so."""
        found = tested(value)
        kind = type(found)
        if LOCAL.has_perhaps and (truth := self.checks.absences.truth(found)) is not None:
            return truth
        if found is not value or kind in (bool, int, float) or isinstance(found, _ARRAYS):
            return found
        if isinstance(found, MUTABLE_CONTAINERS):
            self.checks.refuse_hidden(found)
        method = user_method(kind, "__bool__")
        if method is not None:
            answer = self.call(method)(found)
            if not self.backend.is_traced(answer) and type(answer) is not bool:
                raise TypeError(f"__bool__ should return bool, returned {type(answer).__name__}")
            return answer
        if class_attribute(kind, "__bool__") is None and (length := user_method(kind, "__len__")) is not None:
            size = self.call(length)(found)
            return size if self.backend.is_traced(size) else found
        return found


_METHODS: Mapping[str, str] = types.MappingProxyType({"+=": "extend", "|=": "update"})
_ARRAYS = (jax.core.Tracer, jax.Array)  # asking a tracer whether it is a `jax.Array` takes long
_COMPARING = frozenset(_COMPARISONS[symbol][0] for symbol in _COMPARISONS)


def _are_told_apart(symbol: str, value: Any) -> bool:
    """Whether objects like this are equal, as ``==`` or ``!=`` compares, to none but themselves."""
    kind: Any = type(value)
    return kind.__eq__ is object.__eq__ and (symbol == "==" or kind.__ne__ is object.__ne__)


def _may_be_none(value: Any) -> bool:
    return isinstance(value, Optional) or any(candidate is None for candidate in possible_values(value))
