"""Split a function's results into arrays, which are outputs of the program, and the rest, which is rebuilt on each
call.
"""

from __future__ import annotations

import collections
import enum
import inspect
import types
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.iterators import Iterated
from autograph.runtime.containers.sizes import is_symbolic_size
from autograph.runtime.containers.traced_dicts import TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.traced_sets import TracedSet
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.function.outputs import (
    Changed,
    GivenOutput,
    MadeOutput,
    ReferencesOutput,
    SameObject,
    StaticOutput,
)
from autograph.runtime.heap.leaked_tracers import EXTENDED
from autograph.runtime.heap.list_outputs import CountedList, references_of_elements, with_plain_lists
from autograph.runtime.heap.object_graph import Reached, attributes, is_one_shot, traced_part
from autograph.runtime.heap.unread import Unread
from autograph.runtime.layouts.dict_by_path import with_dicts_by_path
from autograph.runtime.layouts.large_ints import fits_integers
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import OneOf, candidates_of, chooses_values
from autograph.runtime.layouts.optional import Optional, held_in
from autograph.runtime.layouts.perhaps import GONE, Perhaps
from autograph.runtime.layouts.pytrees import is_unsorted
from autograph.runtime.layouts.statement_variables import UNBOUND, value_of
from autograph.runtime.signatures.changed_arguments import ArgumentParts, Changes, Path
from autograph.runtime.signatures.outside_places import Taken
from autograph.runtime.state.given_arrays import ArrayView, GivenArray, LocalArray
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.recording import LOCAL

_VALUES = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)


def is_number(result: Any) -> bool:
    """Whether a result is an array or a number, and no member of an enum, which is a constant.

    By its class, as what represents a value answers `isinstance` for that. A tracer's is no subclass of `jax.Array`.
    """
    return issubclass(type(result), (*_VALUES, jax.core.Tracer)) and not issubclass(type(result), enum.Enum)


def _leads_to_objects(part: Any) -> bool:
    return isinstance(part, TracedList) and bool(references_of_elements(part))


def returns_objects(result: Any) -> bool:
    """Whether a result has objects of the user's classes among its parts, which are told apart by more than what they hold."""
    pending = [result]
    while pending:
        part = pending.pop()
        if type(part) is Optional:
            pending.append(held_in(part))
        elif type(part) is OneOf:
            pending.extend(candidates_of(part))
        elif isinstance(part, dict):
            pending.extend(dict.values(part))
        elif isinstance(part, list | tuple):
            is_held = isinstance(part, TracedList) and part.padded is not None  # in arrays
            pending.extend(() if is_held else list.__iter__(part) if isinstance(part, list) else tuple.__iter__(part))
        elif not is_number(part) and is_plain_object(part):
            return True
    return False


class Outputs:
    """Takes down the results of one trace of a function.

    ``given``: the containers among the arguments that are to be the caller's own in the results, by identity; ``moved``: the
    arrays, in what an argument is left with.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        given: Mapping[int, Path] | None = None,
        moved: Mapping[int, Path] | None = None,
    ) -> None:
        self._name, self._function = name, function
        self._given, self._moved = given or {}, moved or {}
        self._numbers: dict[int, int] = {}
        self._made: list[Any] = []
        self._reached: Reached | None = None

    @property
    def _where(self) -> str:
        return first_line(self._function)

    def of(self, result: Any) -> Any:
        """What the program returns for this result."""
        is_leaf = lambda part: self._is_leaf(part) or (type(part) is OneOf and chooses_values(part))  # noqa: E731
        return jax.tree_util.tree_map(self._leaf, result, is_leaf=is_leaf)

    def contents(self, parts: Iterable[Any]) -> list[Any]:
        """What the program returns for what it leaves in an argument."""
        return list(map(self._content, parts))

    def held(self, made: TracedList) -> tuple[bool, list[Any]]:
        """What the program returns for what it leaves in a container of the trace, and whether its elements are known.

        Where they are not, this is one value, as the container holds them.
        """
        if isinstance(made, TracedDict | TracedSet) or type(elements := made.contents()) is not tuple:
            return False, self.contents([made.holding(made.contents())])
        return True, self.contents(elements)

    def _content(self, part: Any) -> Any:
        if id(part) in self._moved:
            return GivenOutput(self._moved[id(part)])
        if id(part) in self._given:
            return self._part(part)
        if isinstance(part, TracedList):
            return self._made_anew(part, ..., [self._part(part)])
        if type(part) not in (list, dict):
            return self._part(part)
        if self._is_outside(part):
            return StaticOutput(SameObject(part))
        items = part.values() if isinstance(part, dict) else part
        return self._made_anew(
            part, (tuple(part) if isinstance(part, dict) else len(part), ()), map(self._content, items)
        )

    def _is_leaf(self, part: Any) -> bool:
        if id(part) in self._given or id(part) in self._numbers:
            return True
        if type(part) is OneOf:
            self._check_functions(part)
        return not is_number(part) and (is_one_shot(part) or _leads_to_objects(part) or is_unsorted(part))

    def _check_functions(self, value: OneOf) -> None:
        """See that none of several functions, of which a result is one, holds a traced value.

        Raises:
          StagingError: one does.
        """
        for each in candidates_of(value):
            if isinstance(each, types.FunctionType | types.MethodType) and traced_part(each, "") is not None:
                raise self._holds_traced(each)

    def _leaf(self, leaf: Any) -> Any:
        if id(leaf) in self._given:
            return GivenOutput(self._given[id(leaf)])
        if id(leaf) in self._numbers:
            return self._made_anew(leaf, None, ())
        if type(leaf) is OneOf or isinstance(leaf, Variable | ArrayView | LocalArray):
            return value_of(leaf)
        if isinstance(leaf, dict) and is_unsorted(leaf):
            names: tuple[str, ...] = ()
            parts = [*map(self.of, dict.values(leaf))]
            if isinstance(leaf, collections.defaultdict):
                names, parts = ("default_factory",), [*parts, StaticOutput(SameObject(leaf.default_factory))]
            return self._made_anew(leaf, (tuple(leaf), names), parts)
        if _leads_to_objects(leaf):
            return ReferencesOutput.of(leaf, self._leaf)
        if (type(leaf) is int and not fits_integers(leaf)) or isinstance(leaf, enum.Enum):
            return StaticOutput(leaf)
        if type(leaf) is Unread:
            bool(leaf)  # ends the trace
        if isinstance(leaf, _VALUES):
            return leaf
        if is_symbolic_size(leaf):  # `x.shape[0]` where the signature leaves it open
            return jnp.asarray(leaf)
        if isinstance(leaf, set | bytearray):  # whose items cannot be arrays
            return self._made_anew(leaf, None, [StaticOutput(item) for item in leaf])
        if isinstance(leaf, collections.deque):
            return self._made_anew(leaf, leaf.maxlen, map(self._part, leaf))
        if is_one_shot(leaf) and not self._is_outside(leaf):
            raise self._one_shot(leaf)
        if _is_container_without_node(leaf) and not self._is_outside(leaf):
            held = attributes(leaf)
            items = list(leaf.values()) if isinstance(leaf, dict) else list(leaf)
            keys = tuple(leaf) if isinstance(leaf, dict) else len(items)
            return self._made_anew(leaf, (keys, tuple(held)), map(self._part, [*items, *held.values()]))
        if _is_record(leaf) and not self._is_outside(leaf):
            held = attributes(leaf)
            return self._made_anew(leaf, tuple(held), map(self._part, held.values()))
        holder = None if isinstance(leaf, str | enum.Enum | type) else traced_part(leaf, type(leaf).__name__)
        if holder is not None:
            raise self._holds_traced(leaf)
        is_text = isinstance(leaf, str | bytes | types.NoneType)
        return StaticOutput(leaf if is_text else SameObject(leaf))  # the `==` of a class may return anything

    def _made_anew(self, leaf: Any, names: Any, parts: Iterable[Any]) -> MadeOutput:
        known = self._numbers.get(id(leaf))
        if known is not None:
            return MadeOutput(known, type(leaf), names, None)
        number = self._numbers[id(leaf)] = len(self._made)
        self._made.append(leaf)
        return MadeOutput(number, type(leaf), names, list(parts))

    def _part(self, part: Any) -> Any:
        """What an object holds: a Variable is itself there, and not its value."""

        def keep(leaf: Any) -> Any:
            is_kept = isinstance(leaf, Variable) and not isinstance(leaf, GivenArray)
            return StaticOutput(SameObject(leaf)) if is_kept else self._leaf(leaf)

        held = part.held if type(part) is Perhaps else part
        held = with_plain_lists(with_dicts_by_path(held, self._given), CountedList.of, self._given)
        made = jax.tree_util.tree_map(keep, held, is_leaf=self._is_leaf)
        return Perhaps(part.present, made, part.absence) if type(part) is Perhaps else made

    def _is_outside(self, value: Any) -> bool:
        if self._reached is None:
            self._reached = Reached(LOCAL.roots())
        return value in self._reached

    def _one_shot(self, leaf: Any) -> StagingError:
        kind = f"iterator ({leaf.kind})" if isinstance(leaf, Iterated) else type(leaf).__name__
        article = "an" if kind[0] in "aeiou" else "a"
        if isinstance(leaf, types.CoroutineType):
            leaf.close()  # else Python complains that nobody awaits it
        return StagingError(
            f"{self._where}\n  {self._name} returns {article} {kind}, which would be created once, while tracing: all "
            "calls would share it, with its traced values, and the first would exhaust it.\n  Return a list, "
            "list(...), or an array; or make the "
            f"{kind} outside of the compiled function, which calls it for each item."
        )

    def _holds_traced(self, leaf: Any) -> StagingError:
        kind = type(leaf).__name__
        return StagingError(
            f"{self._where}\n  {self._name} returns a {kind} that holds a traced value, which has no meaning "
            "after tracing.\n  Return arrays, in tuples, lists, dicts or objects of classes of yours, and make the "
            f"{kind} of them outside."
        )


def changes_of(
    parts: ArgumentParts | None,
    names: Sequence[str],
    name: str,
    function: Any,
    taken: Taken | None = None,
    left: Iterable[int] = (),
) -> Changes | None:
    """What a trace that ends here has changed in its arguments, and outside; None if nothing. The rest is as `ArgumentParts.changed`
    and `outputs_of` take it."""
    outside = {} if taken is None else {number: taken.name(number) for number in left}
    if parts is None and not outside and not LOCAL.frame.given:
        return None
    where = first_line(function)
    written = {array.number: array.name for array in LOCAL.frame.given if array.is_written}
    changed = None if parts is None else parts.changed(names, name, where, LOCAL.frame.lines)
    return Changes.of_places(outside, name, where, Changes.of_arrays(written, name, where, changed))


def outputs_of(
    result: Any,
    name: str,
    function: Any,
    parts: ArgumentParts | None,
    changes: Changes | None,
    donated: bool,
    taken: Taken | None = None,
    left: Mapping[int, Any] = MappingProxyType({}),
) -> Any:
    """What a program returns for a result, and for what it has changed in the parts of its arguments and in places outside.

    Args:
      taken: what it has taken of these.
      left: what it has left in those that it changed, by number.
    """
    given: dict[int, Any] = {} if parts is None else parts.places()
    moved: dict[int, Any] = {} if parts is None or donated else parts.arrays()
    if taken is not None:
        given |= taken.paths()
        moved |= taken.paths_of_leaves(LOCAL.frame.taken)
    if changes is None:
        return Outputs(name, function, taken.paths() if taken is not None else None).of(result)
    LOCAL.frame.changes = changes
    outputs = Outputs(name, function, given, moved)
    places, contents = [], []
    for path, kind, names, held in () if parts is None else parts.contents(changes):
        places.append((path, kind, names))
        contents.append(outputs.contents(held))
    arrays = {array.number: array.value for array in LOCAL.frame.given if array.is_written}
    outside: dict[int, Any] = {}
    keys: list[Any] = []
    for number, new in left.items():
        assert taken is not None
        if taken.is_held(number):
            is_known, held = outputs.held(new)
            outside[number] = held
            keys.append(None if is_known else ...)
            continue
        is_container = taken.is_container(number)
        is_dict = is_container and isinstance(new, dict)
        held = [new] if not is_container else list(new.values()) if is_dict else list(new)
        if taken.is_set(number):  # whose elements cannot be arrays
            held = list(map(StaticOutput, held))
        outside[number] = outputs.contents(GONE if part is UNBOUND else part for part in held)
        keys.append(tuple(new) if is_dict else EXTENDED if taken.is_extended(number) else None)
    return Changed(outputs.of(result), contents, places, arrays, outside, tuple(keys))


def first_line(function: Any) -> str:
    """Where the user's function begins."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "<unknown>" if code is None else describe_location(code.co_filename, code.co_firstlineno)


def _is_container_without_node(leaf: Any) -> bool:
    """Whether this is a list, tuple or dict of a class of the user's, or a Counter, which JAX does not unpack."""
    return isinstance(leaf, list | tuple | dict) and (not is_library(type(leaf)) or type(leaf) is collections.Counter)


def _is_record(leaf: Any) -> bool:
    """Whether an object is no more than its attributes."""
    if isinstance(leaf, types.SimpleNamespace):
        return True
    has_items = isinstance(leaf, list | tuple | dict | str | bytes | int | float)
    return not has_items and is_plain_object(leaf) and not isinstance(leaf, types.FunctionType | types.MethodType)
