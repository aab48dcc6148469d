"""Rebuild library wrappers such as ``jax.jit(f)`` around the converted function.

So a helper that is under a transform when converted code calls it has its control flow staged, and keeps what the
transform does: a compilation of its own, a derivative of its own, an axis. JAX traces such a helper once for many
calls, so what it writes to objects from outside cannot be part of a call, and is refused.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import jax

from autograph.backends.base import Backend
from autograph.runtime.code.library_table import is_library
from autograph.runtime.effects.raising import current, through_control_flow
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.leaked_tracers import refuse_writes, take_back_leaks
from autograph.runtime.tracing.locations import is_internal
from autograph.runtime.tracing.recording import LOCAL

_KEPT = 1024  # a wrapper may be reached from what is made of it, so that nothing but the number ends it


class Memory:
    """What has been made of objects, while they live, and of so many at most."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Callable[[], Any], Any, Any]] = {}

    @functools.cached_property
    def guards(self) -> Memory:
        """The same for functions with their writes refused: a transform that keeps traces may hold one that is kept here, too."""
        return Memory()

    def get(self, value: Any, held: Any = ()) -> Any:
        """What has been made of it, and of what it held; None if nothing has."""
        known = self._made.get(id(value))
        return known[1] if known is not None and known[0]() is value and known[2] == held else None

    def keep(self, value: Any, made: Any, held: Any = ()) -> bool:
        """Keep what has been made of it; False if it cannot be told how long it lives."""
        try:
            self._made[id(value)] = weakref.ref(value), made, held
        except TypeError:
            return False
        if len(self._made) > _KEPT:
            newer = list(self._made.items())[_KEPT // 2 :]
            self._made = {key: entry for key, entry in newer if entry[0]() is not None}
        return True

    def forget(self, value: Any) -> None:
        self._made.pop(id(value), None)


class Transformed(InTrace):
    """Wrappers made again around converted functions, each once, so that what it keeps (compiled programs) is kept.

    Args:
      backend: knows JAX's own transforms.
      trace: of which the journal knows what is written while a function is traced.
      convert: what is called in place of a function of the user's.
      is_converted: whether a function is what a conversion has made.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        convert: Callable[[Any], Any],
        is_converted: Callable[[types.FunctionType], bool],
    ) -> None:
        self._backend = backend
        super().__init__(trace)
        self._converted = convert
        self._is_converted = is_converted
        self._eager = Memory()
        self._of_frames: weakref.WeakKeyDictionary[Any, dict[bool, Memory]] = weakref.WeakKeyDictionary()
        self._of_attempts: weakref.WeakKeyDictionary[Any, Memory] = weakref.WeakKeyDictionary()

    @property
    def _memory(self) -> Memory:
        """What has been made for what is being recorded: what is traced there is no other recording's.

        Its lists have the room of that recording, and an exception meets the handlers that surround the call.
        """
        frame, scope = LOCAL.frame, current().scope
        if current().catches:
            return self._of_attempts.setdefault(current().catches[-1], Memory())
        if frame is None:
            return self._eager
        return self._of_frames.setdefault(frame, defaultdict(Memory))[scope is not None and scope.tries > 0]

    def around(self, called: Any) -> Any:
        """As `of`, for a call; in a ``try`` such that exceptions go on after it."""
        made = self.of(called)
        if made is called or not current().catches:
            return made
        return functools.wraps(called, updated=())(
            lambda *args, **kwargs: through_control_flow(lambda: made(*args, **kwargs))
        )

    def of(self, called: Any) -> Any:
        """What to call in place of a library's function or object; that itself if it wraps no function that is converted."""
        memory = self._memory
        rules = self._backend.rules_of(called)  # which may be defined again, or after it has been converted
        known = memory.get(called, rules)
        if known is not None:
            return known
        if _is_method(called):
            return self._method(called)  # created again at each lookup, and so is this
        if not hasattr(called, "__wrapped__") and not _is_partial(called):
            return called
        if not memory.keep(called, called, rules):  # which what it wraps may refer to
            return called
        try:
            made = self._around_converted(called, lambda begun: memory.keep(called, begun, rules))
        except BaseException:
            memory.forget(called)
            raise
        memory.keep(called, made, rules)
        return made

    def _convert(self, called: Any) -> Any:
        """What a wrapper calls in place of a function or an object of the user's: always the same."""
        converted = self._converted(called)
        if type(converted) is types.MethodType and type(converted.__func__) is types.FunctionType:
            function = self._guarded(converted.__func__, called)
            return converted if function is converted.__func__ else types.MethodType(function, converted.__self__)
        is_new = type(converted) is types.FunctionType and converted is not called
        return self._guarded(converted, called) if is_new else converted

    def _guarded(self, converted: Callable[..., Any], called: Any) -> Callable[..., Any]:
        """The converted function of ``called``, whose writes to what is outside of it are refused."""
        memory = self._memory.guards
        known: Callable[..., Any] | None = memory.get(converted)
        if known is not None:
            return known

        @functools.wraps(converted)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.journal.watching(is_part=True) as watch:
                try:
                    result = converted(*args, **kwargs)
                except BaseException:
                    take_back_leaks(watch)
                    raise
                refuse_writes(watch, called, [("argument", (args, kwargs))], watch.is_staged)
            return result

        memory.keep(converted, call)
        return call

    def _around_converted(self, called: Any, begun: Callable[[Any], object]) -> Any:
        if type(called) is types.FunctionType:
            return self._closure(called)
        if _is_partial(called):
            function = self._inner(called.func)
            return called if function is called.func else functools.partial(function, *called.args, **called.keywords)
        replace = self._kept if self._backend.keeps_traces(called) else self._inner
        made = self._backend.around_another(called, replace, begun)
        if made is not None:
            return made
        make = _MAKERS.get(f"{type(called).__module__}.{type(called).__qualname__}")
        if make is None:
            return called
        wrapped = called.__wrapped__
        function = self._converted_object(wrapped)
        return called if function is wrapped else make(self._backend, called, function)

    def _closure(self, function: types.FunctionType, around: Any = None) -> types.FunctionType:
        """A library's closure with converted functions instead of the user's. ``around``: what a closure around it is of."""
        replace = self._kept if self._backend.keeps_traces(function) else self._inner
        own = function.__dict__.get("__wrapped__")
        wrapped = around if own is None else own
        cells, is_new = [], False
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # bound later
                cells.append(cell)
                continue
            if held is wrapped:
                made = self._converted_object(held, replace)
            elif type(held) is types.FunctionType and is_library(held) and not hasattr(held, "__wrapped__"):
                made = self._closure(held, wrapped)
            else:
                made = self._part(held, replace)
            is_new = is_new or made is not held
            cells.append(cell if made is held else types.CellType(made))
        if not is_new:
            return function
        again = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
        )
        again.__kwdefaults__ = function.__kwdefaults__
        functools.update_wrapper(again, function)
        if own is not None:
            again.__wrapped__ = self._converted_object(own)  # type: ignore[attr-defined]
        else:
            del again.__wrapped__  # type: ignore[attr-defined]
        return again

    def _part(self, held: Any, replace: Callable[[Any], Any]) -> Any:
        if type(held) is tuple:
            parts = tuple(map(replace, held))
            return held if all(new is old for new, old in zip(parts, held, strict=True)) else parts
        return replace(held)

    def _inner(self, value: Any) -> Any:
        """A function that a wrapper holds, converted if it is the user's, or wrapped again if it is wrapped itself."""
        kind = type(value)
        if kind is types.FunctionType and is_internal(value.__code__.co_filename):
            return value  # it is converted
        if kind is types.FunctionType and is_library(value):
            return self.of(value) if hasattr(value, "__wrapped__") else self._closure(value)
        if kind is types.FunctionType or (kind is types.MethodType and type(value.__func__) is types.FunctionType):
            return self._convert(value)
        if kind is functools.partial:
            function = self._inner(value.func)
            return value if function is value.func else functools.partial(function, *value.args, **value.keywords)
        if not isinstance(value, type) and is_library(kind) and callable(value):
            return self.of(value)
        return value

    def _kept(self, value: Any) -> Any:
        """What a transform holds that keeps traces, those of a function that a converted one defines, too, without its writes."""
        inner = self._inner(value)
        part = self._converted_part(value) if inner is value else None
        return inner if part is None else self._guarded(value, part)

    def _converted_part(self, value: Any) -> types.FunctionType | None:
        """The converted function that this is, or wraps."""
        while not (type(value) is types.FunctionType and self._is_converted(value)):
            value = value.func if isinstance(value, functools.partial) else getattr(value, "__wrapped__", None)
            if value is None:
                return None
        return value

    def _method(self, called: Any) -> Any:
        """A library's bound method: a tree with the instance in it, as Equinox's are, of which a static part may be made."""
        function = self._inner(called.__func__)
        return called if function is called.__func__ else jax.tree_util.Partial(function, called.__self__)

    def _converted_object(self, wrapped: Any, replace: Callable[[Any], Any] | None = None) -> Any:
        """What a wrapper is of: a function, or an object of the user's that is called."""
        if not callable(wrapped) or isinstance(wrapped, type) or is_library(type(wrapped)):
            return (replace or self._inner)(wrapped)
        made = self._convert(wrapped)
        is_tree = not jax.tree_util.all_leaves([wrapped])
        is_method = type(made) is types.MethodType and made.__self__ is wrapped
        return jax.tree_util.Partial(made.__func__, wrapped) if is_tree and is_method else made


def _is_method(called: Any) -> bool:
    """Whether a library's object is a bound method."""
    return type(called) is not types.MethodType and hasattr(called, "__func__") and hasattr(called, "__self__")


def _is_partial(called: Any) -> bool:
    """Whether a library's object is a function with some of its arguments, as `functools.partial` is."""
    return type(called).__name__ == "Partial" and all(hasattr(called, name) for name in ("func", "args", "keywords"))


def _filter_jit(backend: Backend, called: Any, function: Any) -> Any:
    """Equinox's: as `filter_jit` makes it of another function."""
    donated = {
        (True, True, True): "all",
        (True, False, True): "all-except-first",
        (False, True, True): "warn",
        (False, False, True): "warn-except-first",
        (False, False, False): "none",
    }
    donate = donated.get((called.filter_warning, called.donate_first, called.donate_rest))
    if donate is None:
        return called
    made = sys.modules["equinox"].filter_jit(function, donate=donate)
    is_alike = backend.compilation_options(made._cached) == backend.compilation_options(called._cached)
    return made if is_alike else called


def _filtered(backend: Backend, called: Any, function: Any) -> Any:
    """Equinox's other transforms: a tree, one leaf of which is the function."""
    inner = called.__wrapped__
    return jax.tree_util.tree_map(
        lambda leaf: function if leaf is inner else leaf, called, is_leaf=lambda leaf: leaf is inner
    )


def _nnx_jit(backend: Backend, called: Any, function: Any) -> Any:
    """Flax's: as `nnx.jit` makes it, where no shardings are given."""
    options = backend.compilation_options(called.jitted_fn)
    if options is None or called.in_shardings is not None or called.out_shardings is not None:
        return called
    own = {name: value for name, value in options.items() if name in _NNX_OPTIONS}
    return type(called)(function, None, None, **own)


_NNX_OPTIONS = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "keep_unused", "inline")


_MAKERS: Mapping[str, Callable[[Backend, Any, Any], Any]] = types.MappingProxyType(
    {
        "equinox._jit._JitWrapper": _filter_jit,
        "equinox._ad._ValueAndGradWrapper": _filtered,
        "equinox._ad._GradWrapper": _filtered,
        "equinox._vmap_pmap._VmapWrapper": _filtered,
        "flax.nnx.transforms.compilation.JitWrapped": _nnx_jit,
    }
)
