"""Dispatch of calls to programs: generated code for signatures seen before, the cache for others.

A `Function` is called through what its `Dispatcher` has written (`function`): it has the parameters of the user's
function, so that positions, keywords and defaults come to the same, and a block for each combination of types that a
call has had. A block compares the structure and the types of the arguments, looks Python values up, and calls the
compiled function, whose own cache compares shapes. Each frame, operation and object that a call touches is part of
what it costs beyond `jax.jit`'s own; most of all between long programs, which leave the processor's caches with none
of them.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from autograph.runtime.code.generated import (
    DISPATCHED_AT_MOST,
    Block,
    Check,
    block_source,
    dispatch_function,
    float_key,
    itself,
)
from autograph.runtime.effects.failed_calls import cause_of
from autograph.runtime.errors import ArgumentsChanged, StateNeeded, TracersLeaked
from autograph.runtime.function.array_writes import checked
from autograph.runtime.function.outputs import Changed
from autograph.runtime.function.outside_writes import is_part
from autograph.runtime.layouts.static_values import BY_VALUE, SIMPLE, WholeArgument, has_no_equality, weak_reference
from autograph.runtime.signatures.changed_arguments import ArgumentParts
from autograph.runtime.signatures.chosen_arguments import StaticArgument
from autograph.runtime.signatures.retrace import FEW
from autograph.runtime.signatures.signature import (
    Arguments,
    as_tree,
    dictionary_key_types,
    is_array_leaf,
    is_array_like,
    record_fields,
)
from autograph.runtime.tracing.caller_arrays import ArraysWritten
from autograph.runtime.tracing.locations import clean_traceback

KeyPart = Callable[[Any], Any]


class Collects(Protocol):
    """What is told of the programs that run. See `collecting.Collection`."""

    def add(self, program: Any, arrays: Any) -> None:
        """This program has run with these arrays."""


class _Calls:
    """What users have set for the calls of all functions.

    Attributes:
      run_eagerly: whether each runs its Python function (`run_functions_eagerly`).
      collection: what is told of the programs that run (`summary.trace_on`); None if nobody asks.
      have_shortcuts: whether calls may use generated dispatch code: neither is set.
    """

    def __init__(self) -> None:
        self.run_eagerly = False
        self.collection: Collects | None = None
        self.have_shortcuts = True
        self._using: weakref.WeakSet[Any] = weakref.WeakSet()

    def use(self, function: Any) -> None:
        """Calls of this function go by blocks from now on: tell it when they may not any more."""
        self._using.add(function)

    def set_eager(self, run_eagerly: bool) -> None:
        """Let each call run the Python function, or the program again."""
        self.run_eagerly = run_eagerly
        self._update()

    def set_collection(self, collection: Collects | None) -> None:
        """Tell this collection of the programs that run, and no other."""
        self.collection = collection
        self._update()

    def _update(self) -> None:
        self.have_shortcuts = not self.run_eagerly and self.collection is None
        if not self.have_shortcuts:  # each call of a function passes `Function._call` then
            functions, self._using = list(self._using), weakref.WeakSet()
            for function in functions:
                function.forget_blocks()


CALLS = _Calls()


def _ticks() -> Callable[..., int]:
    """What a `Dispatcher` counts with that has seen no call."""
    number = 0

    def tick(step: int = 1) -> int:
        nonlocal number
        number += step
        return number

    return tick


class Dispatcher:
    """Writes the function that calls go through.

    Attributes:
      function: that function; None while no call has been seen that it could be written for.
      check: whether what the user's function reads from outside is not as it was; None if there is nothing.
      tick: counts a call that no block is for, and returns its number; with 0, the number of the last call, from which blocks
        count anew: they count the others, of the same program in a row those that a warning of many traces could ask for.
    """

    def __init__(
        self,
        parameters: Arguments,
        has_defaults: bool,
        tick: Callable[..., int] | None,
        otherwise: Callable[..., Any],
        reported: Callable[[BaseException], BaseException | None],
    ) -> None:
        """Leave calls to ``otherwise`` that no block is for; ``tick`` has counted those before, if there were any."""
        self._parameters, self._has_defaults = parameters, has_defaults
        self._environment = {
            "otherwise": otherwise,
            "reported": reported,
            "Redone": (StateNeeded, ArgumentsChanged, ArraysWritten, TracersLeaked),
        }
        self._blocks: dict[Any, _Seen] = {}
        self.tick = tick or _ticks()
        self.check: Check | None = None
        self.function: Callable[..., Any] | None = None

    def guard(self, check: Check | None) -> None:
        """Leave all calls to the cache while something has changed."""
        if check is not self.check:
            self.check = check
            self._write()

    def add(self, values: tuple[Any, ...], entry: Any) -> None:
        """Lead calls with canonical arguments like these to this entry from now on, if a block can be written for them."""
        if self._parameters.static is not None:
            if not all(
                type(v.value) in BY_VALUE for v in jax.tree_util.tree_leaves(values) if type(v) is StaticArgument
            ):
                return
            values = self._parameters.given(values)
        tree = as_tree(values)
        key_types = set(dictionary_key_types(tree))
        if not key_types <= {int}:
            return
        leaves, treedef = jax.tree_util.tree_flatten(tree)
        leaves = [leaf.value if isinstance(leaf, WholeArgument) else leaf for leaf in leaves]
        key = treedef, tuple(map(type, leaves))
        seen = self._blocks.get(key)
        if seen is None:
            if len(self._blocks) >= DISPATCHED_AT_MOST or (parts := _key_parts(leaves)) is None:
                return
            block = block_source(
                len(self._blocks), self._parameters, tree, key[1], parts, record_fields, by_jax=not key_types
            )
            if block is None:
                return
            seen = self._blocks[key] = _Seen(block, parts)
        if seen.add(leaves, entry):
            self._write()

    def _write(self) -> None:
        if self._blocks:
            blocks = [seen.block for seen in self._blocks.values()]
            self.function, self.tick = dispatch_function(
                self._parameters, self._has_defaults, blocks, self.check, self._environment, self.tick(), FEW
            )


class _Seen:
    """One combination of types.

    Attributes: block (its source).
    """

    def __init__(self, block: Block, parts: Sequence[KeyPart | None]) -> None:
        self.block = block
        self._parts = parts

    def add(self, leaves: Sequence[Any], entry: Any) -> bool:
        """Lead to an entry from now on; whether the source must be written again for that."""
        keys = [part(leaf) for leaf, part in zip(leaves, self._parts, strict=True) if part is not None]
        if keys:
            is_first = not self.block.entries
            self.block.entries[keys[0] if len(keys) == 1 else tuple(keys)] = entry
            return is_first
        known = self.block.environment.get(self.block.only)
        self.block.environment[self.block.only] = entry
        return known is not entry


def _key_parts(leaves: Sequence[Any]) -> list[KeyPart | None] | None:
    """For each leaf what it is distinguished by among those of its type, None for an array; None if that takes longer."""
    parts: list[KeyPart | None] = []
    for leaf in leaves:
        part = None if is_array_leaf(leaf) else _key_part(leaf)
        if part is None and not is_array_leaf(leaf):
            return None
        parts.append(part)
    return parts


def _key_part(value: Any) -> KeyPart | None:
    kind = type(value)
    if kind in SIMPLE:
        return itself
    if kind is float:
        return float_key
    if kind in BY_VALUE:
        return BY_VALUE[kind]
    if kind is range or isinstance(value, np.dtype):
        return itself
    if kind in _BY_CONTENTS:
        return None if _contents(value) is None else _contents
    if has_no_equality(kind) and not is_array_like(value):
        # When the object goes, whoever holds it weakly clears the blocks, before its id can be another's.
        return id if weak_reference(value) is not None else None
    return None


_BY_CONTENTS: Mapping[type, Callable[[Any], Iterable[Any]]] = types.MappingProxyType(
    {slice: lambda value: (value.start, value.stop, value.step), set: iter, frozenset: iter}
)
_TOLD_APART = frozenset({*BY_VALUE, type(None)})


def _contents(value: Any) -> Any:
    """A key for a slice or a set of numbers and texts; None if it holds anything else, which no block is for."""
    kind = type(value)
    parts = [(type(part), part) for part in _BY_CONTENTS[kind](value)]
    if not all(each in _TOLD_APART for each, _ in parts):
        return None
    keys = [(each, part if each not in BY_VALUE else BY_VALUE[each](part)) for each, part in parts]
    return tuple(keys) if kind is slice else frozenset(keys)


def call_program(
    function: Any,
    values: Callable[[], tuple[Any, ...]],
    entry: Any,
    arrays: Sequence[Any],
    given: Sequence[Any],
    taken: Any,
) -> Any:
    """Call a program of a `Function`, and write what it changes into ``values()``, the caller's arguments, ``given``, the arrays in
    them, and the places outside that it has ``taken`` what they hold of, a `Taken` or None."""
    program, call = entry.program, entry.call
    parts: ArgumentParts | None = None
    changes = program.changes
    while True:
        if changes is not None:
            if is_part(arrays):
                raise function._changed_in_trace(program, changes)
            parts = checked(function, entry, changes, given, parts or ArgumentParts(values()), taken)
            if program.admit(changes):
                function.forget_blocks()  # which have no arguments to write into
            call = entry.call_with_changes
        try:
            result = call(arrays)
        except ArgumentsChanged as error:
            if error.program is not program:
                raise
            changes = error.changes
        else:
            if type(result) is not Changed:
                return result
            assert parts is not None
            return result.put_into(parts.values, given, function.__name__, taken)


def general_call(reference: Callable[[], Any], is_bound: bool) -> Callable[..., Any]:
    """How the function referred to is called while no call is known; with the instance first if it is bound to one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        # The outermost frame of ours: what takes our frames out of a traceback stands here.
        try:
            return referred(reference)._call(args[1:] if is_bound else args, kwargs)
        except BaseException as error:
            cause = reported(error)
            if cause is None:
                raise
            raise cause from None

    return call


def through_cache(reference: Callable[[], Any]) -> Callable[[Sequence[Any], dict[str, Any]], Any]:
    """A function that calls the one referred to through its cache. It is held by that."""
    return lambda args, kwargs: referred(reference)._call(args, kwargs)


def referred(reference: Callable[[], Any]) -> Any:
    found = reference()
    assert found is not None, "a Function was called after its end"
    return found


def reported(error: BaseException) -> BaseException | None:
    """The exception that a call ends with instead of this one, if any, with our frames taken out of it."""
    cause = cause_of(error)
    clean_traceback(error if cause is None else cause)
    return cause
