"""Writes to items and attributes: functional updates for arrays, Python's assignment for everything else."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.containers.key_parts import holds_tracer
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.padded_gathers import written_at
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.leaked_tracers import held_or, hold_array, note_augmented, note_known_write
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, AttributePlace, ContentsPlace
from autograph.runtime.heap.reach import refuse_array_written
from autograph.runtime.layouts.objects import is_plain_object
from autograph.runtime.layouts.one_of import OneOf, candidates_of, each, takes_branches
from autograph.runtime.layouts.optional import used
from autograph.runtime.layouts.perhaps import is_perhaps, read, read_key
from autograph.runtime.layouts.statement_variables import CellVariable, GlobalVariable, has_contents, holds_traced
from autograph.runtime.staging.access.aliased_writes import AliasedWrites
from autograph.runtime.staging.access.lookups import Lookups, _plain, as_index, resolved_key
from autograph.runtime.staging.access.masks import Taken, has_mask
from autograph.runtime.staging.access.operations import check_cast
from autograph.runtime.staging.access.user_methods import user_method
from autograph.runtime.state.array_keys import plain_key
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.given_arrays import cannot_hold, is_given
from autograph.runtime.state.spans import has_span
from autograph.runtime.state.writes_in_place import note_write
from autograph.runtime.tracing.caller_arrays import may_be_numpys, will_write, writing_place
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import lines_around, user_line, user_location
from autograph.runtime.tracing.recording import LOCAL, births, hold_arrays

_UNREAD = object()
_PLAIN, _PLAIN_KEYS = frozenset({list, dict}), frozenset({int, str})  # in Python, and as quick as can be


class _Index:
    """``ag__.index[1:2, ::-1]`` is the index itself: slices have no other spelling as a value."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        return key


INDEX = _Index()


class Items(InTrace):
    """The operators for writes of items and attributes.

    Args:
      lookups: the operators for reads.
      aliased: sees which other containers a write is one to.
      call, in_place, get_attr, at_run_time: of other operators.
      converter: finds the `Converter`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        lookups: Lookups,
        aliased: AliasedWrites,
        call: Callable[[Any], Any],
        in_place: Callable[[str, Any, Any], Any],
        get_attr: Callable[[Any, str], Any],
        at_run_time: Callable[[Any, str], Callable[..., Any] | None],
        converter: Callable[[], Any],
    ) -> None:
        super().__init__(trace)
        self.converter = converter
        self.at_run_time = at_run_time
        self.backend = backend
        self.lookups = lookups
        self.aliased = aliased
        self.call = call
        self.in_place = in_place
        self.get_attr = get_attr
        self.slices, self.masks, self.list_writes = lookups.slices, lookups.masks, lookups.list_writes
        self.absences, self.keys = lookups.absences, lookups.keys

    def set_item(self, target: Any, key: Any, value: Any, is_put_back: bool = False) -> Any:
        """``target[key] = value``; returns what the target is from then on.

        Args:
          is_put_back: whether it is the end of a write to what the item is, which has been judged.
        """
        if (
            type(target) in _PLAIN
            and type(key) in _PLAIN_KEYS
            and not (self.journal.is_interested or self.has_aliases or LOCAL.has_perhaps)
        ):
            target[key] = value
            return target
        target, value = used(target), read(value)
        will_write(target)
        if is_given(target):
            self._write_given(target, lambda array: self.set_item(array, plain_key(key), plain(value)))
            return target
        if type(target) is OneOf:
            if any(map(is_given, candidates_of(target))):
                return LANGUAGE.operators.references.write_arrays(target, lambda one: self.set_item(one, key, value))
            if takes_branches(target):
                each(target, lambda one: self._set_in_place(one, key, value))
            else:
                target[key] = value
            return target
        key = self.lookups.known_key(target, key)
        if type(key) is OneOf:
            each(key, lambda one: self._set_in_place(target, one, value))
            return target
        if isinstance(target, PaddedArray):
            target, key = target.resolve(), resolved_key(key)
            if isinstance(target, PaddedArray):
                self.lookups.check_open(target, key)
                return target.at[_plain(as_index(key))].set(value)
        value = value.resolve() if isinstance(value, PaddedArray) else value
        if has_contents(target):
            key = _plain(key)
            value = self.lookups.checks.items_of(value) if type(key) is slice else value
        if has_span(key):
            array = self.slices.array_of(target, key)
            self.lookups.check_bounds(array, key)
            return self.slices.write_spans(array, key, self._set, value)
        if isinstance(target, np.ndarray) or self.backend.is_array(target):
            value = plain(value)
            self.lookups.check_bounds(target, as_index(key))
        is_numpys = isinstance(target, np.ndarray)
        if self.backend.is_array(target) or (is_numpys and self._is_of_trace(key, value)):
            if not is_put_back:
                self._refuse_shared(target)
            return self._set(jnp.asarray(target) if is_numpys else target, key, value)
        if isinstance(target, MUTABLE_CONTAINERS):
            if type(target) is list:
                self.lookups.check_bounds(target, key, is_write=True)
            with self.aliased.writing(target):
                self._set_in_container(target, key, value)
            return target
        method = getattr(type(target), "__setitem__", None)
        if isinstance(method, types.FunctionType):
            self.call(method)(target, key, value)
            return target
        if self.journal.is_open and isinstance(target, np.ndarray):
            if not is_put_back:
                self._refuse_shared(target)
            return self._set(jnp.asarray(target), key, value)
        if self.journal.is_open and isinstance(target, memoryview):
            if not isinstance(target.obj, MUTABLE_CONTAINERS):
                refuse_array_written()
            self.journal.touch(ContentsPlace(target.obj))
        if not is_put_back:
            self.will_write_known(target)
        target[key] = value
        return target

    def _is_of_trace(self, key: Any, value: Any) -> bool:
        """Whether this, with which an item is written, is traced: outside of traces NumPy's arrays take JAX's as they are."""
        parts = (value, as_index(key) if holds_traced(key) else key)
        return not self.backend.is_eager() and (any(map(self._any_traced, parts)) or has_contents(value))

    def _set_in_container(self, target: Any, key: Any, value: Any) -> None:
        if (later := self.at_run_time(target, "__setitem__")) is not None:
            later(key, value)
            return
        if self.journal.is_interested:
            self.journal.touch(ContentsPlace(target))
        if not isinstance(target, KeyedList) and self.list_writes.is_chosen_anew(target, key, value):
            target[:] = self.list_writes.with_one_replaced(target, key, value)
            return
        if isinstance(target, dict) and holds_tracer(key):
            self.keys.end_trace(target, f"A {type(target).__name__} is written at a traced key")
        method = None if has_contents(target) else getattr(type(target), "__setitem__", None)
        if isinstance(method, types.FunctionType):
            self.call(method)(target, key, value)
            return
        if LOCAL.has_perhaps and isinstance(target, dict) and is_perhaps(dict.get(target, key)):
            value = self.absences.store(target, key, value)
        if type(key) is slice:
            self.lookups.refuse_hidden(value)
        if type(key) is slice and type(target) is list and has_contents(value):
            try:
                value = list(
                    value
                )  # says why its items are not known, where Python's error says that it is no iterable
            except StagingError as refusal:
                raise held_or(target, refusal) from None
        target[key] = value

    def _set_in_place(self, target: Any, key: Any, value: Any) -> None:
        self.set_item(target, key, value)

    def exchange_items(self, target: Any, one: Any, other: Any, held: Any = _UNREAD) -> Any:
        """What ``target[one], target[other] = target[other], target[one]`` binds to the target.

        Elements of a list that is held in arrays change places there: as items of their own they would be in two.

        Args:
          held: ``target[one]``, if it has been read.
        """
        target = used(target)
        if type(target) is TracedList and self.lookups.holds_lists_in_arrays(target, (one, other)):
            if self.journal.is_interested:
                self.journal.touch(ContentsPlace(target))
            with self.aliased.writing(target):
                target.exchange(read(one), read(other))
            return target
        first = self.lookups.get_item(target, other)
        second = self.lookups.get_item(target, one) if held is _UNREAD else held
        return self.set_item(self.set_item(target, one, first), other, second)

    def del_item(self, target: Any, key: Any) -> None:
        """``del target[key]``."""
        target = used(target)
        if type(target) is OneOf and takes_branches(target):
            each(target, lambda one: self.del_item(one, key))
            return
        key = self.lookups.known_key(target, key)
        if type(key) is OneOf:
            each(key, lambda one: self.del_item(target, one))
            return
        method = user_method(type(target), "__delitem__")
        if method is not None:
            self.call(method)(target, key)
            return
        is_container = isinstance(target, MUTABLE_CONTAINERS)
        if is_container:
            if (later := self.at_run_time(target, "__delitem__")) is not None:
                later(key)
                return
            self.journal.touch(ContentsPlace(target))
            key = _plain(key) if has_contents(target) else key
            if holds_tracer(key) and not has_contents(target):
                if isinstance(target, dict):
                    self.keys.end_trace(target, f"An item of a {type(target).__name__} is deleted at a traced key")
                refusal = _traced_key(f"An item of a {type(target).__name__} is deleted at a traced index or key")
                raise held_or(target, refusal)
        with self.aliased.writing(target) if is_container else contextlib.nullcontext():
            if LOCAL.has_perhaps and isinstance(target, dict):
                read_key(dict.get(target, key), key)
            del target[key]

    def update_item(self, target: Any, key: Any, symbol: str, value: Any) -> Any:
        """``target[key] += value`` and its like; returns what the target is from then on."""
        return self.update_taken(target, key, self.take_item(target, key), symbol, value)

    def _write_given(self, target: Any, new: Callable[[Any], Any]) -> None:
        """Let a place hold what ``new`` returns for it."""
        before = target.value
        with writing_place():
            after = new(before.copy() if isinstance(before, np.ndarray) else before)
        if after is not before:
            target.become(after)

    def take_item(self, target: Any, key: Any) -> Any:
        """``target[key]`` for `update_taken`, which may come when the target has changed."""
        if is_given(target):
            target, key = target.value, plain_key(key)
        if isinstance(target, PaddedArray):
            return self.lookups.get_item(target, key)
        if (has_span(key) and not has_contents(target)) or (self._is_array_now(target, key) and has_mask(key)):
            array = self.slices.array_of(target, key)
            self.lookups.check_bounds(array, as_index(key))
            return Taken(array)
        return self.lookups.get_item(target, key)

    def update_taken(self, target: Any, key: Any, taken: Any, symbol: str, value: Any) -> Any:
        """The rest of ``target[key] += value``, with what `take_item` returned."""
        will_write(target)
        if is_given(target):
            if target.kind is np.ndarray and (type(taken) is Taken or np.ndim(taken)):
                check_cast(symbol, target.dtype, value)
            self._write_given(
                target, lambda array: self.update_taken(array, plain_key(key), taken, symbol, plain(value))
            )
            return target
        if type(taken) is not Taken:
            if self.journal.is_open and isinstance(target, np.ndarray) and isinstance(taken, np.ndarray):
                check_cast(symbol, target.dtype, value)
                taken = jnp.asarray(taken)  # of which the operator makes a new one: `set_item` writes
            return self.set_item(target, key, self.in_place(symbol, taken, value))

        self._refuse_shared(target)
        array = self.slices.array_of(target, key)
        update = functools.partial(self.in_place, symbol)

        def write(part: Any, rest: Any, new: Any) -> Any:
            if not has_mask(rest):
                return self._set(part, rest, update(part[rest], new))
            before = None
            if taken.array is not array:  # it has changed since
                before = taken.array if part is array else self.slices.window(taken.array, key)[0]
            return self.masks.write_mask(part, rest, new, update, before)

        return self.slices.write_spans(array, key, write, value) if has_span(key) else write(array, key, value)

    def set_attr(self, target: Any, name: str, value: Any) -> None:
        """``target.name = value``, through the class's own converted property or ``__setattr__``, where it has one."""
        value = read(value)
        if name == "__class__" and self.journal.is_open:
            raise StagingError(
                f"{user_location()}\n  The class of an object is changed inside a staged statement, by a traced condition.\n"
                "  Keep what differs in an attribute."
            )
        target = used(target)
        if name in ("shape", "dtype", "strides") and (self.backend.is_array(target) or isinstance(target, np.ndarray)):
            raise StagingError(
                f"{user_location()}\n  The attribute {name!r} of an array is assigned, which changes it in place: an array of a program "
                "keeps its shape and dtype.\n  Make a new array: x = x.reshape(...), x = x.astype(...)."
            )
        if type(target) is OneOf:
            if not LOCAL.linked or not LANGUAGE.operators.references.write(target, name, value):
                each(target, lambda one: self.set_attr(one, name, value))
            return
        method = user_method(type(target), "__setattr__")
        if method is not None:
            self.call(method)(target, name, value)
        else:
            self.store_attr(target, name, value, functools.partial(setattr, target))

    def store_attr(self, target: Any, name: str, value: Any, store: Callable[[str, Any], None]) -> None:
        """What ``object.__setattr__`` does: ``store``, unless a property or descriptor of the user's stands there."""
        descriptor = class_attribute(type(target), name)
        if isinstance(descriptor, property) and isinstance(descriptor.fset, types.FunctionType):
            self.call(descriptor.fset)(target, value)
        elif (write := user_method(type(descriptor), "__set__")) is not None:
            self.call(write)(descriptor, target, value)
        else:
            if type(value) is type(target) and is_plain_object(value) and (known := births()) is not None:
                known.leading.add(type(value))
            if self.journal.is_interested:
                self.journal.touch(AttributePlace(target, name))
            self.will_write_known(target)  # to its `flat`, `real` or `imag`
            with self.aliased.writing(target, name):
                store(name, value)

    def del_attr(self, target: Any, name: str) -> None:
        """``del target.name``, through the class's own converted property or ``__delattr__``, where it has one."""
        target = used(target)
        if type(target) is OneOf:
            each(target, lambda one: self.del_attr(one, name))
            return
        method = user_method(type(target), "__delattr__")
        if method is not None:
            self.call(method)(target, name)
        else:
            self.remove_attr(target, name, functools.partial(delattr, target))

    def remove_attr(self, target: Any, name: str, remove: Callable[[str], None]) -> None:
        """What ``object.__delattr__`` does: ``remove``, unless a property or descriptor of the user's stands there."""
        descriptor = class_attribute(type(target), name)
        if isinstance(descriptor, property) and isinstance(descriptor.fdel, types.FunctionType):
            self.call(descriptor.fdel)(target)
        elif (delete := user_method(type(descriptor), "__delete__")) is not None:
            self.call(delete)(descriptor, target)
        else:
            if self.journal.is_interested:
                self.journal.touch(AttributePlace(target, name))
            with self.aliased.writing(target, name):
                read(AttributePlace(target, name).get())
                remove(name)

    def will_write(self, read: Callable[[], Any]) -> None:
        """Report that the function may write a ``nonlocal`` or ``global`` variable, the one that ``read`` reads."""
        if not self.journal.is_interested:
            return
        code = read.__code__
        if code.co_freevars:
            self.journal.touch(CellVariable(code.co_freevars[0], (read.__closure__ or ())[0]))
        else:
            self.journal.touch(GlobalVariable(code.co_names[0], read.__globals__))

    def update_attr(self, target: Any, name: str, symbol: str, value: Any) -> None:
        """``target.name += value`` and its like."""
        if type(target) is OneOf:
            each(target, lambda one: self.update_attr(one, name, symbol, value))
            return
        self.set_attr(target, name, self.in_place(symbol, self.get_attr(target, name), value))

    def put_back_attr(self, target: Any, name: str, value: Any) -> None:
        """Store what an item write made of ``target.name``, if that is a new object."""
        if self._is_array(value) and getattr(target, name) is not value:
            try:
                self.set_attr(target, name, value)
            except AttributeError:  # of a tuple, a frozen dataclass, a property: Python only writes to the array
                hold_arrays(cannot_hold())
                raise

    def put_back_item(self, target: Any, key: Any, value: Any) -> Any:
        """Store what an item write made of ``target[key]``, if that is a new object.

        Returns the target from then on.
        """
        if not self._is_array(value):
            return target
        if not (self.backend.is_array(target) or self.backend.is_traced(key)) and target[key] is value:
            return target
        if isinstance(target, tuple):
            hold_arrays(cannot_hold())
        return self.set_item(target, key, value, is_put_back=True)

    def rebind(self, new: Any, read: Callable[[], Any]) -> None:
        """Let the variable around the function that ``read`` reads be what an item write made of it, if that is a new object.

        Raises:
          StagingError: it is a global variable, of which there is one for all programs.
        """
        if not self._is_array(new):
            return
        code = read.__code__
        variable: CellVariable | GlobalVariable
        if code.co_freevars:
            variable = CellVariable(code.co_freevars[0], (read.__closure__ or ())[0])
        else:
            variable = GlobalVariable(code.co_names[0], read.__globals__)
            if not self._holds_callers_array(variable):
                said = (
                    f"{code.co_names[0]!r} is an array, and a global variable: JAX arrays are immutable, so this write makes a new array, "
                    "and there is no variable here to hold it.\n  Pass the array in and return it, or declare the name global."
                )
                self._refuse_write_in_place(new, read(), said)
                return
        if variable.get() is not new:
            self.journal.touch(variable)
            variable.set(new)

    def _holds_callers_array(self, variable: GlobalVariable) -> bool:
        """Whether a global variable holds a NumPy array, or did before this trace, which its program takes as a place."""
        if LOCAL.frame is None or self.journal.watch is None:
            return False
        before = [old for place, old, _ in self.journal.watch.entries() if place.key == variable.key]
        return isinstance(before[0] if before else variable.get(), np.ndarray)

    def written_in_place(self, new: Any, target: Any, parameter: str | None = None) -> None:
        """Refuse an item write that made a new array where nothing can be rebound to it.

        Args:
          parameter: the name of the target, if what is written to it is of use only to the caller of the function.
        """
        if not self._is_array(new) and not (is_given(new) and LOCAL.places and parameter is not None):
            return
        if parameter is None:
            said = (
                "This writes into an array that is the result of an expression: JAX arrays are immutable, so the write makes a "
                "new array, and there is no variable here to hold it.\n  Assign the array to a variable first, and write to the "
                "variable."
            )
        else:
            said = (
                f"{parameter!r} is an array that this function is given, and does not return: JAX arrays are immutable, "
                "so this write makes a new array, which the caller does not see.\n  Return the array, and assign the result where "
                f"the function is called: {parameter} = f({parameter}, ...)."
            )
        self._refuse_write_in_place(new, target, said)

    def will_augment(self, target: Any) -> None:
        """Report that ``target += v`` follows, which writes in place to an array of the caller's."""
        will_write(target)
        if isinstance(target, jax.Array | np.ndarray) and self._is_shared(target):
            if isinstance(target, np.ndarray) or may_be_numpys():
                hold_arrays(cannot_hold())
        note_augmented(target, self.journal)

    def augmented_in_place(self, new: Any, target: Any, parameter: str) -> None:
        """Refuse ``x += v`` of an array of which nothing but the caller of the function, which has no result, could see it.

        It is to see it, of an array of JAX's too: without that the statement would be of no use.
        """
        if is_given(new) and is_given(target) and new is not target:
            target.become(new.value)
            new = target
        if is_given(new):
            self.written_in_place(new, target, parameter)
        is_traced = isinstance(new, PaddedArray) or self.backend.is_traced(new)
        if is_traced and self._is_array(target) and np.ndim(target):
            self.written_in_place(new, target, parameter)

    def _refuse_write_in_place(self, new: Any, target: Any, said: str) -> None:
        refusal = StagingError(f"{user_location()}\n  {said}")
        if is_given(new):
            note_write(new, refusal)
        elif new is not target:
            hold_arrays(refusal)
            raise refusal

    def _refuse_shared(self, target: Any) -> None:
        """Make the trace again, in which arrays are places, if this write is to be seen by other names than that which it is by."""
        if self._is_shared(target, 1):
            hold_arrays(cannot_hold())
        if LOCAL.places:
            hold_array(target, self.journal.watch)

    def will_write_known(self, target: Any) -> None:
        """Report that known numbers are about to be written in place to an array of NumPy's: another name may lead to a copy of it."""
        if isinstance(target, np.flatiter | memoryview):
            target = target.base if isinstance(target, np.flatiter) else target.obj
        note_known_write(target, self.journal)
        if not isinstance(target, np.ndarray) or (target.ndim and not self.backend.has_copied_constants()):
            return
        converter = self.converter()
        if converter is None or LOCAL.repeated is None or LOCAL.places:
            return
        if self._is_shared(target) or not converter.names_of_arrays.sees_write(user_line()):
            hold_arrays(cannot_hold())

    def _is_shared(self, target: Any, least: int = 0) -> bool:
        """Whether other names than that which it is written by may lead to an array, in a trace in which it is a value.

        Args:
          least: the number of dimensions that count for none; 1 if it is no number, of which each name has its own.
        """
        if LOCAL.repeated is None or LOCAL.places:
            return False
        if isinstance(target, np.ndarray) and not target.ndim:
            return True  # JAX may read it when the program is complete
        converter = self.converter()
        return converter is not None and converter.names_of_arrays.is_shared(
            user_line(), lines_around, max(np.ndim(target), least), LOCAL.repeated.entry
        )

    def _set(self, array: Any, key: Any, value: Any) -> Any:
        """``array`` with ``value`` at ``key``, in the array's dtype, as NumPy assigns."""
        key = as_index(key)
        parts = key if type(key) is tuple else (key,)
        if any(isinstance(part, PaddedArray) for part in parts) or (
            isinstance(value, PaddedArray) and not has_mask(key)
        ):
            return written_at(jnp.asarray(array), resolved_key(key), value)
        if has_mask(key):
            return self.masks.write_mask(array, key, value, lambda _, new: new)
        return jnp.asarray(array).at[key].set(jnp.asarray(value).astype(array.dtype))

    def _is_array(self, value: Any) -> bool:
        """Whether an item write makes a new one of such a value."""
        return self.backend.is_array(value) or isinstance(value, PaddedArray)

    def _is_array_now(self, target: Any, key: Any) -> bool:
        """Whether an item write makes a new array of the target."""
        return self.backend.is_array(target) or (isinstance(target, np.ndarray) and self._any_traced(key))

    def _any_traced(self, value: Any) -> bool:
        parts = value if isinstance(value, tuple) else (value,)
        return any(self.backend.is_array(part) or isinstance(part, PaddedArray) for part in parts)


def _traced_key(what: str) -> StagingError:
    return StagingError(
        f"{user_location()}\n  {what}: the item is known only at run time.\n"
        "  Compare the key with each of them (if/elif, or match), or store the values in an array, with the key as index."
    )
