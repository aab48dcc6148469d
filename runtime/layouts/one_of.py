"""`OneOf`: one of several Python constants, objects, or values of different kinds, chosen at run time."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.errors import NoArrayOfKinds, StagingError
from autograph.runtime.layouts.constants import is_same_constant, place_of, sort_of_constant
from autograph.runtime.layouts.objects import attributes_of, is_plain_object
from autograph.runtime.layouts.perhaps import is_perhaps
from autograph.runtime.layouts.pytrees import tree_flatten, tree_map
from autograph.runtime.layouts.references import is_reference, is_variable
from autograph.runtime.layouts.shown import Shown
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL
from autograph.runtime.typing import ArrayLike, PyTree

MOST_CANDIDATES = 32  # each operation is done for every candidate
CODE = jnp.dtype(
    jnp.uint32
)  # of the number that says which constant a value is: seldom kept by arithmetic; a loop over bytes takes twice as long

Fact = tuple[Any, Any]
IN_PLACE: Fact = ("in place", True)  # a test is computed that Python may not ask: nothing in it may raise at run time
_NAMES = frozenset(["__name__", "__qualname__", "__module__", "__doc__"])  # of classes and functions
_FUNCTIONS = frozenset([types.FunctionType, types.MethodType, types.BuiltinFunctionType])
_LISTED = 6
_SELECTED = 8  # numbers, that change, at most: of so few one is chosen by selects, which XLA fuses


@jax.tree_util.register_pytree_node_class
class OneOf:
    """A value that is one Python constant, or object, on one path of a traced condition and another on another.

    It may be of another kind there: a number on one path, a string or a tuple on another. In converted code it behaves as
    the value does: it can be compared, looked up, called and passed on. Each operation is executed for every candidate,
    and the result for the actual value is selected. Objects of several classes each have their own attributes and methods.

    `autograph.function` returns the constant or object. ``jax.jit(autograph.convert(f))`` returns a `OneOf`, since XLA has no
    strings: `resolve` returns the constant. It is a pytree of one number, the index of the
    candidate, and of what is no constant in the candidates.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> def sign(x):
    ...     return "negative" if x < 0 else "positive"
    >>> ag.function(sign)(jnp.float32(-2.0))
    'negative'
    >>> jax.jit(ag.convert(sign))(3.0).resolve()
    'positive'
    """

    __slots__ = ("_candidates", "_code", "__weakref__")

    def __init__(self, candidates: Sequence[object], code: ArrayLike) -> None:
        object.__setattr__(self, "_candidates", tuple(candidates))
        object.__setattr__(self, "_code", code)

    def tree_flatten(self) -> tuple[tuple[PyTree, ...], _Candidates]:
        parts: list[PyTree] = [self._code]
        values = tuple(_opened(each, parts) for each in self._candidates)
        return tuple(parts), _Candidates(values)

    @classmethod
    def tree_unflatten(cls, candidates: _Candidates, parts: Sequence[PyTree]) -> OneOf:
        code, *left = parts
        if getattr(code, "dtype", CODE) != CODE:
            raise StagingError(
                f"{user_location()}\n  A function of arrays was mapped over a value that is one of {listed(candidates.values)}, chosen "
                "at run time.\n  Leave it out of the tree that is mapped over."
            )
        pending = iter(left)
        return OneOf([_closed(value, pending) for value in candidates.values], code)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of all candidates, where it is one: what `isinstance` and class patterns ask.

        Who asks for a function goes on to read its code, which is that of one candidate, and who asks for a tuple to read its items.
        """
        kinds = {candidate.__class__ for candidate in self._candidates}
        if len(kinds) > 1 or kinds & _FUNCTIONS or any(isinstance(each, tuple) for each in self._candidates):
            return type(self)
        return kinds.pop()

    def resolve(self) -> PyTree:
        """Return the constant.

        Returns:
          The constant; inside a trace, where it is not known, ``self``; for a batch, a NumPy array of constants.
        """
        code = self._code
        if isinstance(code, jax.core.Tracer) or not isinstance(code, int | np.generic | np.ndarray | jax.Array):
            return self
        if np.ndim(code) == 0:
            return self._candidates[int(code)] if int(code) < len(self._candidates) else self
        found = np.empty(np.shape(code), object)
        for place, number in np.ndenumerate(np.asarray(code)):
            found[place] = _row_of(self._candidates[number], place)
        return found

    def __copy__(self) -> OneOf:
        return OneOf(list(map(copy.copy, self._candidates)), self._code)

    def __deepcopy__(self, memo: dict[int, Any]) -> OneOf:
        return OneOf([copy.deepcopy(each, memo) for each in self._candidates], self._code)

    @property
    def __autograph_value__(self) -> Callable[[], Any]:
        """Where it is one of several Variables and values: what returns the present value."""
        if not chooses_values(self):
            raise AttributeError("__autograph_value__")
        return lambda: _value(self)

    def __autograph_truth__(self) -> Any:
        if chooses_values(self):
            return _value(self)
        if takes_branches(self):
            return each(self, lambda candidate: LANGUAGE.operators.truth(candidate))
        return each_purely(self, bool)

    def __bool__(self) -> bool:
        return bool(self.__autograph_truth__())

    def __getattr__(self, name: str) -> Any:
        is_of_class = name in _NAMES and all(isinstance(each, type) for each in candidates_of(self))
        if (name.startswith("__") and not is_of_class) or not hasattr(self, "_code"):
            raise AttributeError(name)
        if not any(_may_have(candidate, name) for candidate in candidates_of(self)):  # any code may ask for any name
            getattr(self._candidates[0], name)
        if chooses_values(self):
            return getattr(_variable(self), name)
        if (method := _compiled_method(self, name)) is not None:
            return types.MethodType(method, self)
        if is_reference(self._candidates[0]):
            found = LANGUAGE.operators.references.read(self, name)
            if found is not NotImplemented:
                return found
        if takes_branches(self):
            return each(self, lambda candidate: LANGUAGE.operators.get_attr(candidate, name), _may_ask(self, name))
        return each_purely(self, operator.attrgetter(name))

    def __setattr__(self, name: str, value: Any) -> None:
        each(self, lambda candidate: LANGUAGE.operators.set_attr(candidate, name, value))

    def __delattr__(self, name: str) -> None:
        each(self, lambda candidate: LANGUAGE.operators.del_attr(candidate, name))

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        return each(self, lambda candidate: LANGUAGE.operators.call(candidate)(*args, **kwargs))

    def __jax_array__(self) -> Any:
        if chooses_values(self):
            return _value(self)
        if (found := known_candidate(self)) is not self:
            return jnp.asarray(found)
        if not all(isinstance(candidate, int) for candidate in self._candidates):  # as members of an `enum.IntEnum` are
            raise NoArrayOfKinds(f"a value that is one of {listed(self._candidates)} is no array")
        return jnp.asarray([int(candidate) for candidate in self._candidates])[self._code]

    def __len__(self) -> int:
        length: int = len(_variable(self)) if chooses_values(self) else each_purely(self, len)
        return length

    def __getitem__(self, key: Any) -> Any:
        if chooses_values(self):
            return _variable(self)[key]
        if takes_branches(self):
            return LANGUAGE.operators.get_item(self, key)
        return each_purely(self, lambda candidate: candidate[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if chooses_values(self):
            _variable(self)[key] = value
        else:
            each(self, lambda candidate: operator.setitem(candidate, key, value))

    def __contains__(self, item: Any) -> bool:
        return bool(each_purely(self, lambda candidate: item in candidate))

    def __iter__(self) -> Iterator[Any]:
        if chooses_values(self):
            return iter(_value(self))
        if (found := known_candidate(self)) is not self and type(found) is tuple:
            return iter(found)
        if (items := LANGUAGE.operators.constants.items(self)) is not None:
            return items
        raise _needs_the_constant(self, "Iteration over it")

    def __hash__(self) -> int:
        raise _needs_the_constant(self, "A hash of it")

    def __str__(self) -> str:
        return self._text(str)

    def __format__(self, form: str) -> str:
        return self._text(lambda candidate: format(candidate, form))

    def __repr__(self) -> str:
        found = OneOf.resolve(self)
        return f"OneOf({listed(self._candidates)})" if found is self else repr(found)

    def _text(self, written: Callable[[Any], str]) -> str:
        found = OneOf.resolve(self)
        if found is not self:
            return written(found)
        if isinstance(self._code, jax.core.Tracer):
            raise _needs_the_constant(self, "A text of it")
        return repr(self)  # of types, in the description of what a function returns


def _row_of(candidate: Any, place: tuple[int, ...]) -> Any:
    """What a candidate is in one row of a batch."""
    return tree_map(lambda leaf: leaf[place] if isinstance(leaf, jax.Array) else leaf, candidate)


class _Part:
    """Instead of a part of a candidate that is no constant."""

    __slots__ = ()


_PART = _Part()


class _Opened:
    """A candidate that is no constant: its structure, and its leaves, with `_PART` for those that are no constants."""

    __slots__ = ("treedef", "leaves")

    def __init__(self, treedef: Any, leaves: tuple[Any, ...]) -> None:
        self.treedef, self.leaves = treedef, leaves

    def __repr__(self) -> str:
        shown = [Shown("a value") if leaf is _PART else leaf for leaf in self.leaves]
        return repr(jax.tree_util.tree_unflatten(self.treedef, shown))


def _opened(candidate: Any, parts: list[PyTree]) -> Any:
    """A constant, or how another candidate is built of what is added to ``parts``."""
    if sort_of_constant(candidate) is not None:
        return candidate
    leaves, treedef = tree_flatten(candidate)
    is_constant = [sort_of_constant(leaf) is not None for leaf in leaves]
    parts += [leaf for leaf, constant in zip(leaves, is_constant, strict=True) if not constant]
    return _Opened(
        treedef, tuple(leaf if constant else _PART for leaf, constant in zip(leaves, is_constant, strict=True))
    )


def _closed(value: Any, parts: Iterator[PyTree]) -> Any:
    """The candidate that is built so."""
    if type(value) is not _Opened:
        return value
    leaves = [next(parts) if leaf is _PART else leaf for leaf in value.leaves]
    return jax.tree_util.tree_unflatten(value.treedef, leaves)


class _Candidates:
    """The constants in the structure of a pytree: equal where each may represent the other."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Candidates) or len(self.values) != len(other.values):
            return False
        return all(map(_is_same_candidate, self.values, other.values))

    def __hash__(self) -> int:
        return hash(tuple(map(type, self.values)))

    def __repr__(self) -> str:
        return listed(self.values)


def _is_same_candidate(one: Any, other: Any) -> bool:
    if type(one) is not _Opened or type(other) is not _Opened:
        return is_same_constant(one, other)
    is_alike = one.treedef == other.treedef and len(one.leaves) == len(other.leaves)
    return is_alike and all(map(is_same_constant, one.leaves, other.leaves))


def is_one_of(value: Any) -> bool:
    """Whether this is a `OneOf`, whose class `isinstance` does not see."""
    return type(value) is OneOf


def candidates_of(value: OneOf) -> tuple[Any, ...]:
    """The constants that it may be."""
    candidates: tuple[Any, ...] = object.__getattribute__(value, "_candidates")
    return candidates


def code_of(value: OneOf) -> Any:
    """The number of the candidate that it is: an array of dtype `CODE`."""
    return object.__getattribute__(value, "_code")


def one_of(candidates: Sequence[Any], code: Any) -> Any:
    """The constant of this number; the constant itself where Python knows it."""
    return candidates[code] if type(code) is int and code < len(candidates) else OneOf(candidates, code)


def class_of(value: Any) -> type:
    """The class of a value: that of all references that a choice may be, where it is one."""
    if type(value) is not OneOf:
        return type(value)
    first, *others = candidates_of(value)
    is_one = is_reference(first) and all(type(each) is type(first) for each in others)
    return type(first) if is_one else OneOf


def _compiled_method(value: OneOf, name: str) -> Any:
    """The function of the method with this name that the class of all candidates has as a `Function`; None if there is none."""
    kinds = {type(candidate) for candidate in candidates_of(value)}
    found: Any = inspect.getattr_static(kinds.pop(), name, None) if len(kinds) == 1 else None
    return found.python_function if hasattr(type(found), "python_function") else None


def holds_objects(value: OneOf) -> bool:
    """Whether a value is one of several objects of the user's."""
    return any(map(is_plain_object, candidates_of(value)))


def takes_branches(value: OneOf) -> bool:
    """Whether what is done with a value is a branch for each candidate: it is one of several objects, or of values of different kinds."""
    return not (is_of_constants(value) or chooses_values(value))


def is_of_constants(value: OneOf) -> bool:
    """Whether a value is one of several constants, and of nothing else."""
    return all(sort_of_constant(each) is not None for each in candidates_of(value))


def chooses_values(value: OneOf) -> bool:
    """Whether a value is one of several places of arrays, Variables among them, and values: it is used as an array is."""
    candidates = candidates_of(value)
    return any(map(is_place, candidates)) or all(hasattr(type(each), "dtype") for each in candidates)


def is_no_number(value: Any) -> bool:
    """Whether a value is one of several constants that equal no number."""
    if type(value) is not OneOf or not is_of_constants(value):
        return False
    return not any(isinstance(each, int | float) for each in candidates_of(value))


def is_place(value: Any) -> bool:
    """Whether a value is used as the array that it holds now."""
    return type(value) is not OneOf and hasattr(type(value), "__autograph_value__")


def _value(value: OneOf) -> Any:
    """What the Variable, array or value holds now that this is."""
    found = _variable(value)
    return found.value if is_place(found) else found


def _variable(value: OneOf) -> Any:
    """The Variable, or array, that a value is; itself where it is known."""
    found = OneOf.resolve(value)
    return LANGUAGE.operators.references.variable(value) if is_one_of(found) else found


def _may_ask(value: OneOf, name: str) -> bool:
    """Whether this attribute of the objects that a value may be is no property, which could do anything, and each surely has it."""
    possible = [candidates_of(value)[k] for k in possible_candidates(value)]
    return not any(_is_computed(type(each), name) or _may_lack(each, name) for each in possible)


def _may_lack(candidate: Any, name: str) -> bool:
    """Whether only some paths have set this attribute of an object: to read it may raise."""
    return is_plain_object(candidate) and is_perhaps(attributes_of(candidate).get(name))


def _may_have(candidate: Any, name: str) -> bool:
    if is_plain_object(candidate):
        kind = type(candidate)
        in_class = any(name in vars(each) for each in kind.__mro__) or hasattr(kind, "__getattr__")
        return in_class or name in attributes_of(candidate)
    return hasattr(candidate, name)


def _is_computed(kind: type, name: str) -> bool:
    if "__getattribute__" in vars(kind) or hasattr(kind, "__getattr__"):
        return True
    found = next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)
    plain = (types.FunctionType, staticmethod, classmethod, types.MemberDescriptorType)
    return hasattr(type(found), "__get__") and not isinstance(found, plain)


def renumbered(code: Any, table: Sequence[int]) -> Any:
    """``table[code]``: the number of the same constant in another list of candidates."""
    if type(code) is int:
        return table[code]
    changed = [(old, new) for old, new in enumerate(table) if old != new]
    if len(changed) > _SELECTED:
        return jnp.asarray(table, CODE)[code]
    found = code
    for old, new in changed:
        found = jnp.where(code == old, jnp.asarray(new, CODE), found)
    return found


def listed(candidates: Sequence[Any]) -> str:
    """The constants in a sentence.

    >>> listed(("a", "b", "c"))
    "'a', 'b' or 'c'"
    """
    names = [_name_of(each) for each in candidates]
    if len(names) > _LISTED:
        names[_LISTED - 1 :] = [f"{len(names) - _LISTED + 1} others"]
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def _name_of(candidate: Any) -> str:
    if is_plain_object(candidate):
        return f"a {type(candidate).__qualname__}"
    return getattr(candidate, "__qualname__", None) or repr(candidate)


def each(value: OneOf, function: Callable[[Any], Any], is_pure: bool = False) -> Any:
    """``function`` of the constant that this is: what it returns for each candidate, chosen by the tags."""
    found = OneOf.resolve(value)
    return LANGUAGE.operators.constants.each(value, function, is_pure) if is_one_of(found) else function(found)


def each_purely(value: OneOf, function: Callable[[Any], Any]) -> Any:
    """`each`, of a function that does nothing but return something of the constant."""
    return each(value, function, True)


def is_among(value: OneOf, numbers: Sequence[int]) -> Fact:
    """That a value is one of the candidates of these numbers: see `knowing`."""
    return code_of(value), frozenset(numbers)


def possible_candidates(value: OneOf) -> list[int]:
    """The numbers of the candidates that a value can be in the code that is being traced."""
    possible = list(range(len(candidates_of(value))))
    for fact, numbers in LOCAL.facts:
        if fact is code_of(value) and isinstance(numbers, frozenset):
            possible = [k for k in possible if k in numbers]
    return possible


def known_candidate(value: OneOf) -> Any:
    """The candidate that a value is, in code that only one can reach; else the value."""
    possible = possible_candidates(value)
    return candidates_of(value)[possible[0]] if len(possible) == 1 else value


def certain_kind(value: Any) -> Any:
    """``value``, or the one of its kinds that it is, in code that no other can reach."""
    return known_candidate(value) if type(value) is OneOf and takes_branches(value) else value


def merged(value: OneOf, results: Mapping[int, Any]) -> Any:
    """One result from those for the candidates of these numbers, where all are bools, or all constants; else `NotImplemented`."""
    if all(isinstance(result, bool) for result in results.values()):
        return has_number_in(value, [k for k, result in results.items() if result is True])
    if all(isinstance(result, types.MethodType) for result in results.values()) and takes_branches(value):
        return _merged(value, results)
    if all(map(is_variable, results.values())):
        return _merged(value, results)
    sorts = {sort_of_constant(result) if not is_one_of(result) else None for result in results.values()}
    if len(sorts) > 1 or None in sorts:
        return NotImplemented
    if sorts == {"callable"} and not all(isinstance(result, type) for result in results.values()):
        return NotImplemented
    return _merged(value, results)


def _merged(value: OneOf, results: Mapping[int, Any]) -> Any:
    candidates: list[Any] = []
    table = [0] * len(candidates_of(value))
    for k, result in results.items():
        place = place_of(result, candidates)
        if place is None:
            place = len(candidates)
            candidates.append(result)
        table[k] = place
    return candidates[0] if len(candidates) == 1 else OneOf(candidates, renumbered(value._code, table))


def has_number_in(value: OneOf, wanted: Sequence[int]) -> Any:
    """Whether a value is one of the candidates of these numbers."""
    others = [k for k in possible_candidates(value) if k not in wanted]
    if not wanted or not others:
        return not others
    is_few = len(wanted) <= len(others)
    tests = [code_of(value) == k for k in wanted] if is_few else [code_of(value) != k for k in others]
    found = functools.reduce(operator.or_ if is_few else operator.and_, tests)
    LANGUAGE.operators.facts.note(found, (is_among(value, wanted),), (is_among(value, others),))
    return found


def _needs_the_constant(value: OneOf, what: str) -> StagingError:
    if takes_branches(value):
        needed, remedy = (
            "object",
            "Test its class first: if isinstance(value, …): …, or match. Of lists and tuples, make one: list(value).",
        )
    else:
        needed, remedy = "constant", 'Compare it first: if value == "a": …, or match.'
    return StagingError(
        f"{user_location()}\n  This value is one of {listed(value._candidates)}, selected at run time. {what} "
        f"needs the {needed}.\n  {remedy}"
    )


def _operation(symbol: str, function: Callable[..., Any], is_reflected: bool = False) -> Any:
    """A special method for this operator: of objects, by their classes' own."""

    def operate(self: OneOf, *others: Any) -> Any:
        operands = (*others, self) if is_reflected else (self, *others)
        if takes_branches(self):
            return LANGUAGE.operators.operate(symbol, *operands)
        if chooses_values(self):
            return function(*(_variable(each) if is_one_of(each) else each for each in operands))
        if function is operator.add and is_one_of(OneOf.resolve(self)):
            found = LANGUAGE.operators.constants.text_of_both(*operands)
            if found is not NotImplemented:
                return found
        if is_reflected:
            return each_purely(self, lambda candidate: function(*others, candidate))
        return each_purely(self, lambda candidate: function(candidate, *others))

    return operate


def _in_place(function: Callable[..., Any]) -> Any:
    """The method for an operator in place, which assigns to a Variable."""

    def update(self: OneOf, other: Any) -> Any:
        return function(_variable(self), other) if chooses_values(self) else NotImplemented

    return update


for _name, _symbol in {
    **{"add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"},
    **{"and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>"},
}.items():
    _plain = _name.rstrip("_")
    setattr(OneOf, f"__{_plain}__", _operation(_symbol, getattr(operator, _name)))
    setattr(OneOf, f"__r{_plain}__", _operation(_symbol, getattr(operator, _name), is_reflected=True))
    setattr(OneOf, f"__i{_plain}__", _in_place(getattr(operator, f"i{_plain}")))
for _name, _symbol in {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    setattr(OneOf, f"__{_name}__", _operation(_symbol, getattr(operator, _name)))
for _name, _symbol in {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}.items():
    setattr(OneOf, f"__{_name}__", _operation(_symbol, getattr(operator, _name)))
