"""`functools.lru_cache`, `functools.singledispatch` and `contextlib.contextmanager` with traced values."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.tracing.locations import user_location

CACHE: Any = type(functools.lru_cache(lambda: None))
_DISPATCH = functools.singledispatch(lambda value: None).__code__  # type: ignore[attr-defined]
_bound = functools.singledispatchmethod(lambda self, value: None).__get__(0, int)
_DISPATCH_METHOD = getattr(_bound, "__code__", None)  # no function from Python 3.14 on
_MANAGER = contextlib.contextmanager(lambda: iter(())).__code__
_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


class Wrappers(InTrace):
    """Calls of what `functools` and `contextlib` have made.

    Args:
      call: what to call in place of a function.
      is_converted: whether a function is what a conversion has made.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        call: Callable[[Any], Any],
        is_converted: Callable[[types.FunctionType], bool],
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.call = call
        self.is_converted = is_converted

    def cached(self, called: Any) -> Callable[..., Any]:
        """A cached function: its converted self for traced arguments, which no cache may keep.

        For others it runs as it is, and what it computes is computed now, so that a later program finds arrays in the
        cache, and not this trace's values.
        """

        @functools.wraps(called, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if any(map(self.backend.is_traced, jax.tree_util.tree_leaves((args, kwargs)))):
                return self.call(called.__wrapped__)(*args, **kwargs)
            if not self.backend.is_tracing() or self.is_converted(called.__wrapped__):
                found = called(*args, **kwargs)  # one that the converted function has made goes with it, cache and all
                if any(map(self.backend.has_ended, jax.tree_util.tree_leaves(found))):
                    called.cache_clear()  # a block has computed it for itself
                    found = called(*args, **kwargs)
                self.journal.keeps(found)
                return found
            with jax.ensure_compile_time_eval():
                result = called(*args, **kwargs)
            if any(map(self.backend.is_traced, jax.tree_util.tree_leaves(result))):
                raise StagingError(
                    f"{user_location()}\n  {called.__qualname__} caches its results, and reads a traced value that is no argument: the "
                    "cache would hold what belongs to this program.\n  Pass the value as an argument, or cache nothing."
                )
            self.journal.keeps(result)
            return result

        return call

    def dispatched(self, called: types.FunctionType) -> Callable[..., Any] | None:
        """What `functools.singledispatch` made, dispatching on `jax.Array` for a traced value; None for others."""
        generic: Any = called
        bound: tuple[Any, ...] = ()
        if called.__code__ is _DISPATCH_METHOD:
            cells = (cell.cell_contents for cell in called.__closure__ or ())
            held = dict(zip(called.__code__.co_freevars, cells, strict=True))
            owner = called.register.__self__  # type: ignore[attr-defined]
            generic, bound = owner.dispatcher, (held["obj"], held["cls"])
        elif called.__code__ is not _DISPATCH:
            return None

        def call(*args: Any, **kwargs: Any) -> Any:
            if not args:
                return called(*args, **kwargs)
            chosen = self._chosen(generic, args[0])
            return self.call(chosen.__get__(*bound) if bound else chosen)(*args, **kwargs)

        return call

    def managing(self, called: Any) -> Callable[..., Any] | None:
        """What `contextlib.contextmanager` made, of the converted generator function; None for others."""
        if called.__code__ is not _MANAGER or "__wrapped__" not in called.__dict__:
            return None
        made = self.call(called.__wrapped__)
        return called if made is called.__wrapped__ else contextlib.contextmanager(made)

    def _chosen(self, generic: Any, value: Any) -> Any:
        if not self.backend.is_traced(value):
            return generic.dispatch(value.__class__)
        chosen = generic.dispatch(jax.Array)
        rest = [kind.__name__ for kind in _NUMBERS if generic.dispatch(kind) is not generic.dispatch(object)]
        if rest and chosen is generic.dispatch(object):
            raise StagingError(
                f"{user_location()}\n  {generic.dispatch(object).__qualname__} dispatches on the type of a traced value here. It is "
                f"registered for {', '.join(rest)}, but not for jax.Array.\n  Register it for jax.Array too."
            )
        return chosen
