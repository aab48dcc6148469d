"""Functions that are known to write to their arguments: `setattr`, ``list.append(items, x)``, `heapq.heappush`."""

from __future__ import annotations

import builtins
import functools
import operator
import types
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.code.pure_python import written_in_c
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, AttributePlace, ContentsPlace
from autograph.runtime.layouts.objects import error_members, is_plain_object
from autograph.runtime.layouts.perhaps import is_perhaps
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.staging.access.operations import IN_PLACE
from autograph.runtime.state.given_arrays import cannot_hold
from autograph.runtime.tracing.recording import LOCAL, hold_arrays

_NO_DEFAULT = object()
_OF_ATTRIBUTES = frozenset(["__setattr__", "__delattr__"])
_OF_CONTENTS = frozenset(
    ["__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__isub__", "__ixor__"]
)


def is_init_of_error(called: Any) -> bool:
    """Whether this is the ``__init__`` of a builtin class of exceptions, which sets their arguments."""
    kind = type(called)
    if kind not in (types.MethodWrapperType, types.WrapperDescriptorType) or called.__name__ != "__init__":
        return False
    return issubclass(called.__objclass__, BaseException)


class ReportedWrites(InTrace):
    """The operators for such calls.

    Args:
      convert: the rewritten form of a function.
      call: what to call in place of a function.
      checks: what lists of traced length ask, as `TracedList` takes it.
      get_attr, operate: of `Operations`.
      set_item, del_item, written_in_place, set_attr, del_attr, store_attr, remove_attr: of `Items`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        *,
        convert: Callable[[types.FunctionType], types.FunctionType],
        call: Callable[[Any], Any],
        checks: Any,
        get_attr: Callable[[Any, str], Any],
        operate: Callable[..., Any],
        set_item: Callable[[Any, Any, Any], Any],
        del_item: Callable[[Any, Any], None],
        written_in_place: Callable[[Any, Any], None],
        set_attr: Callable[[Any, str, Any], None],
        del_attr: Callable[[Any, str], None],
        store_attr: Callable[[Any, str, Any, Callable[[str, Any], None]], None],
        remove_attr: Callable[[Any, str, Callable[[str], None]], None],
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.convert = convert
        self.call = call
        self.checks = checks
        self.get_attr, self.operate = get_attr, operate
        self.set_item, self.del_item, self.written_in_place = set_item, del_item, written_in_place
        self.set_attr = set_attr
        self.del_attr = del_attr
        self.store_attr = store_attr
        self.remove_attr = remove_attr

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """What is called in place of functions that write to their arguments."""
        return {
            builtins.getattr: self._getattr,
            builtins.setattr: self._setattr,
            builtins.delattr: self._delattr,
            operator.setitem: self._setitem,
            operator.delitem: self.del_item,
            **{function: functools.partial(self._in_place, symbol) for symbol, function in IN_PLACE.items()},
            **{function: self._in_python(function, twin) for function, twin in written_in_c().items()},
        }

    def _getattr(self, target: Any, name: str, default: Any = _NO_DEFAULT, /) -> Any:
        if default is not _NO_DEFAULT and LOCAL.has_perhaps:
            if is_perhaps(found := AttributePlace(target, name).get()):
                return self.checks.absences.either(found, default)
        try:
            return self.get_attr(target, name)
        except AttributeError:
            if default is _NO_DEFAULT:
                raise
            return default

    def _setattr(self, target: Any, name: str, value: Any, /) -> None:
        self.set_attr(target, name, value)

    def _delattr(self, target: Any, name: str, /) -> None:
        self.del_attr(target, name)

    def _setitem(self, target: Any, key: Any, value: Any, /) -> None:
        self.written_in_place(self.set_item(target, key, value), target)

    def _in_place(self, symbol: str, target: Any, value: Any, /) -> Any:
        if isinstance(target, jax.Array | np.ndarray) and np.ndim(target):
            hold_arrays(cannot_hold())  # no variable is bound to what takes the place of a value
        return self.operate(symbol, target, value)

    def _in_python(self, function: Any, twin: Callable[[], types.FunctionType]) -> Callable[..., Any]:
        """``function``, and its converted twin in Python where traced values meet it, or its writes are asked for."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.journal.is_open or any(map(self._may_decide, jax.tree_util.tree_leaves((args, kwargs)))):
                return self.convert(twin())(*args, **kwargs)
            for owner in args:
                if isinstance(owner, MUTABLE_CONTAINERS):
                    self.journal.touch(ContentsPlace(owner))
            return function(*args, **kwargs)

        return call

    def _may_decide(self, leaf: Any) -> bool:
        """Whether a comparison with a value may be traced: one is, or a method of the user compares it in a trace."""
        return self.backend.is_traced(leaf) or (is_plain_object(leaf) and not STAGING.is_outside())

    def unbound(self, called: Any) -> Any:
        """A method of a builtin class, to be called with its object: ``list.append``, ``object.__setattr__``."""
        kind, name = called.__objclass__, called.__name__
        writes = (
            issubclass(kind, (*MUTABLE_CONTAINERS, frozenset)) or name in _OF_ATTRIBUTES or is_init_of_error(called)
        )
        if not writes:
            return called

        def call(*given: Any, **kwargs: Any) -> Any:
            if not given:
                return called(**kwargs)  # raises
            owner, *args = given
            if has_contents(owner) and issubclass(owner.stands_for, kind):  # of a trace
                return self.call(getattr(owner, name))(*args, **kwargs)
            return self.call(called.__get__(owner))(*args, **kwargs)

        return call

    def special(self, called: types.MethodWrapperType) -> Any:
        """A special method of a builtin class, bound to its object: ``super().__setattr__``, say."""
        owner: Any = called.__self__
        if called.__name__ == "__call__" and isinstance(owner, types.FunctionType):
            return self.call(owner)
        if called.__name__ in _OF_CONTENTS and isinstance(owner, MUTABLE_CONTAINERS):
            self.journal.touch(ContentsPlace(owner))
        if called.__name__ == "__setattr__":
            return lambda name, value: self.store_attr(owner, name, value, called)
        if called.__name__ == "__delattr__":
            return lambda name: self.remove_attr(owner, name, called)
        if is_init_of_error(called):
            for name in ("args", *error_members(type(owner))):
                self.journal.touch(AttributePlace(owner, name))
        return called

    def at_any_index(self, called: Any) -> Callable[..., Any]:
        """``items.insert`` or ``items.pop`` of one of Python's lists, also at a traced index."""
        items: list[Any] = called.__self__

        def call(*args: Any) -> Any:
            if not args or not self.backend.is_traced(args[0]):
                return called(*args)
            made = TracedList(items, self.checks)
            found = getattr(made, called.__name__)(*args)
            items[:] = list(made)
            return found

        return call
