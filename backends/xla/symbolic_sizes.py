"""Programs with symbolic dimensions: traced once, and instantiated for each size (`known_sizes`).

A shape may contain a symbolic dimension. As a value it is a traced integer. Operations that Python cannot perform on
one (``x.shape[0] in (2, 3)``, a reshape that must divide it) fail at trace time; such a function is traced for each size
instead, with a warning.
"""

from __future__ import annotations

import functools
import re
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax import export

from autograph.backends.xla import jax_compat
from autograph.backends.xla.compared_sizes import OTHERS, OWN, EqualityWatch, is_symbolic_size
from autograph.backends.xla.exported_calls import call_of
from autograph.backends.xla.jax_compat import replay
from autograph.backends.xla.known_sizes import is_known_for, with_known_sizes
from autograph.runtime.errors import StagingError, StagingWarning, place_of


class SymbolicSizes:
    """A compiler of functions whose inputs have symbolic dimensions.

    Attributes:
      compiler: compiles programs without symbolic dimensions.
      specs: for each input its shape (ints, names, None for any size; None for any rank) and dtype; or None,
        to make dimensions symbolic when they differ between calls.
      admit: called with the types of the inputs of each program; raises if they do not fit the specs.
      warn: warns of a function that cannot be traced with symbolic dimensions.
    """

    def __init__(
        self,
        compiler: Any,
        specs: Sequence[Any] | None,
        admit: Callable[[Sequence[Any]], None] | None = None,
        warn: Callable[[str], None] = lambda message: warnings.warn(message, StagingWarning, stacklevel=2),
    ) -> None:
        self.compiler = compiler
        self.specs = specs
        self.admit = admit
        self.warn = warn
        self._stand_ins: dict[Any, tuple[Any, ...]] = {}

    def compile(self, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        """As the compiler's: a jitted function, whose user code is traced once for all sizes."""
        return OpenProgram(function, options, self)

    def stand_ins(self, shapes: Sequence[tuple[Any, ...]], types: Sequence[Any]) -> tuple[Any, ...]:
        """Types with a symbolic dimension for each size that is not fixed, created once."""
        opened = [k for k, shape in enumerate(shapes) if not all(isinstance(size, int) for size in shape)]
        key = tuple((shapes[k], types[k].dtype, types[k].weak_type) for k in opened)
        if key not in self._stand_ins:
            self._stand_ins[key] = tuple(
                jax.ShapeDtypeStruct(shape, types[k].dtype, weak_type=types[k].weak_type)
                for k, shape in zip(opened, _symbolic([shapes[k] for k in opened]), strict=True)
            )
        pending = iter(self._stand_ins[key])
        return tuple(next(pending) if k in opened else type for k, type in enumerate(types))

    def interpret(self, function: Callable[..., Any]) -> Any:
        return self.compiler.interpret(function)


_UNNAMED = re.compile(r"\b_d\d+\b")
_EQUAL_SIZES = (
    "Each None in an input_signature is a size of its own. Sizes that are equal have one name: "
    'autograph.TensorSpec(["n", 3]), autograph.TensorSpec(["n"]).'
)


@dataclass(frozen=True)
class SymbolicTraced:
    """A program traced with symbolic sizes, as far as it is like `jax.stages.Traced`.

    Attributes:
      export: makes its `jax.export.Exported`.
      composes: whether calls of it may be mapped and differentiated.
    """

    jaxpr: Any
    out_info: Any
    export: Callable[[], Any]
    composes: bool

    @functools.cached_property
    def exported(self) -> Any:
        return self.export()

    def lower(self) -> Any:
        raise ValueError(
            "the program has symbolic dimensions, and is lowered for each size separately: pass arguments of concrete sizes"
        )


@dataclass(frozen=True)
class _Graph:
    """One trace: the types it was made for (sizes symbolic where open), how to call it, how to look at it."""

    types: tuple[Any, ...]
    call: Callable[..., Any]
    traced: Callable[[], Any]
    is_bound: bool = False  # to a trace that is under way, and is of no use after it

    def admits(self, types: Sequence[Any]) -> bool:
        return _sizes_in(self.types, types) is not None


def _sizes_in(mine: Sequence[Any], types: Sequence[Any]) -> dict[str, Any] | None:
    """What the symbolic sizes of ``mine`` are, by name, in ``types``; None if those do not fit."""
    sizes: dict[str, Any] = {}
    fits = all(
        own.dtype == other.dtype
        and own.weak_type == other.weak_type
        and len(own.shape) == len(other.shape)
        and all(_size_fits(a, b, sizes) for a, b in zip(own.shape, other.shape, strict=True))
        for own, other in zip(mine, types, strict=True)
    )
    return sizes if fits else None


def _size_fits(mine: Any, size: Any, sizes: dict[str, Any]) -> bool:
    if not is_symbolic_size(mine):
        return bool(mine == size)
    # `jax.export` assumes that a symbolic dimension is at least 1.
    return (is_symbolic_size(size) or size >= 1) and bool(sizes.setdefault(str(mine), size) == size)


class OpenProgram(functools.partial[Any]):
    """A jitted function of arrays; what it runs for some types is the one trace that admits them.

    The specs are those of its last operands. What comes before them (the values of Variables) has no open
    sizes. A call goes on to what is jitted in C, as a partial function of nothing.
    """

    def __new__(cls, function: Callable[..., Any], options: dict[str, Any], sizes: SymbolicSizes) -> OpenProgram:
        def entry(*arrays: Any) -> Any:
            mine = reference()
            assert mine is not None
            return mine._graph(arrays).call(*(mine._settled(array) for array in arrays))

        entry.__name__ = entry.__qualname__ = function.__name__
        made = super().__new__(cls, jax.jit(entry, **options))
        reference = weakref.ref(made)
        return made

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], sizes: SymbolicSizes) -> None:
        self._function = function
        self._sizes = sizes
        self._specs = sizes.specs
        self._graphs: list[_Graph] = []
        self._hopeless: set[Any] = set()  # shapes that could not be traced, with None for a symbolic dimension
        self._lock = threading.RLock()
        self._concrete = jax.jit(function)

    def trace(self, *arrays: Any) -> Any:
        """What was traced for arrays, or stand-ins, of these types."""
        return self._graph(arrays).traced()

    def _settled(self, array: Any) -> Any:
        """Under a spec weak types are no types of their own: there is one trace."""
        if self._specs is None or not jax.typeof(array).weak_type:
            return array
        return jax.lax.convert_element_type(array, array.dtype)

    def _type(self, array: Any) -> Any:
        aval = (
            array if isinstance(array, jax.ShapeDtypeStruct) or not isinstance(array, jax.Array) else jax.typeof(array)
        )
        weak = self._specs is None and bool(getattr(aval, "weak_type", False))
        return jax.ShapeDtypeStruct(tuple(aval.shape), aval.dtype, weak_type=weak)

    def _graph(self, arrays: Sequence[Any]) -> _Graph:
        types = tuple(map(self._type, arrays))
        if self._sizes.admit is not None:
            self._sizes.admit(types[len(types) - len(self._specs or ()) :])
        with self._lock:
            for graph in self._graphs:
                if graph.admits(types):
                    return graph
            graph = self._make(types)
            if not graph.is_bound:
                self._graphs.append(graph)
            return graph

    def _make(self, types: tuple[Any, ...]) -> _Graph:
        shapes = self._open_shapes(types)
        if shapes is None or any(size == 0 for type in types for size in type.shape):
            return self._made_for(types)
        key = tuple(shapes)
        if key in self._hopeless:
            return self._made_for(types)
        try:
            return self._made_symbolic(self._sizes.stand_ins(shapes, types), types)
        except Exception as error:
            reason = _reason_of(error)
            remedy = _EQUAL_SIZES if self._specs is not None and len(set(_UNNAMED.findall(reason))) > 1 else None
            if any(is_symbolic_size(size) for type in types for size in type.shape):
                if remedy is not None:
                    error.add_note(remedy)
                raise  # asked for by itself: there are no sizes to trace for instead
            graph = self._made_for(types)
        self._hopeless.add(key)
        self._sizes.warn(
            f"{self._function.__name__} could not be traced once for all sizes, so it is traced again for "
            f"each: {reason}" + ("" if remedy is None else f"\n  {remedy}")
        )
        return graph

    def _made_symbolic(self, types: tuple[Any, ...], sizes: Sequence[Any]) -> _Graph:
        """The graph of these symbolic types. ``sizes``: the types of the call that it is made for."""
        jitted = jax.jit(self._function)
        with EqualityWatch() as watch:
            traced = jitted.trace(*types)
        if traced.jaxpr.effects:  # `jax.export` has no callbacks
            raise NotImplementedError("it prints or calls Python at run time, for which XLA needs the sizes")
        watch.check()
        program = traced.jaxpr
        tree = jax.tree_util.tree_structure(traced.out_info)

        def call(*arrays: Any) -> Any:
            found = _sizes_in(types, tuple(map(self._type, arrays)))
            assert found is not None
            return jax.tree_util.tree_unflatten(tree, replay(with_known_sizes(program, found), *arrays))

        def export_it() -> Any:
            return export.export(jitted)(*types)

        found = _sizes_in(types, sizes)
        assert found is not None
        composes = is_known_for(program, found)
        symbolic = SymbolicTraced(program, traced.out_info, export_it, composes)
        is_bound = any(map(jax_compat.is_tracer, program.consts))
        return _Graph(types, call if composes else call_of(symbolic.exported), lambda: symbolic, is_bound)

    def _made_for(self, types: tuple[Any, ...]) -> _Graph:
        traced = self._concrete.trace(*types)
        return _Graph(types, self._concrete, lambda: traced)

    def _open_shapes(self, types: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
        """The shapes to trace with, None or a name for a symbolic dimension; or None if all sizes are fixed."""
        if self._specs is not None:
            before = len(types) - len(self._specs)
            shapes = [type.shape for type in types[:before]] + [
                (None,) * len(type.shape) if spec.shape is None else spec.shape
                for spec, type in zip(self._specs, types[before:], strict=True)
            ]
        else:
            shapes = self._differing(types)
        return shapes if any(not isinstance(size, int) for shape in shapes for size in shape) else None

    def _differing(self, types: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """The shapes of ``types``, open where an earlier trace of the same ranks and dtypes differs."""
        shapes: list[tuple[Any, ...]] = [type.shape for type in types]
        for graph in self._graphs:
            if all(
                a.dtype == b.dtype and a.weak_type == b.weak_type and len(a.shape) == len(b.shape)
                for a, b in zip(graph.types, types, strict=True)
            ):
                shapes = [
                    tuple(a if isinstance(a, int) and a == b else None for a, b in zip(shape, type.shape, strict=True))
                    for shape, type in zip(shapes, graph.types, strict=True)
                ]
        return shapes


def _reason_of(error: Exception) -> str:
    """What a warning says of an error: its first line, or where it is one of ours, which begins with the place, the first two."""
    lines = str(error).strip().split("\n")
    if isinstance(error, StagingError) and len(lines) > 1:
        return "\n".join(lines[:2])
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    if isinstance(error, AttributeError | AssertionError | KeyError) and frames[-1][0].startswith(OTHERS):
        where = [place_of(*line) for line in frames if not line[0].startswith((*OTHERS, *OWN))]
        return "JAX has no program for this with a symbolic size" + "".join(f" ({place})" for place in where[-1:])
    return lines[0]


def _symbolic(shapes: Sequence[tuple[Any, ...]]) -> list[Any]:
    """These shapes with a symbolic dimension for each size that is not fixed, all of one scope; without a name it is
    called ``_d0`` …
    """
    scope = export.SymbolicScope()
    taken = {size for shape in shapes for size in shape if isinstance(size, str)}
    fresh = (name for k in range(sum(map(len, shapes)) + len(taken)) if (name := f"_d{k}") not in taken)
    texts = [", ".join(next(fresh) if size is None else str(size) for size in shape) for shape in shapes]
    return [export.symbolic_shape(text, scope=scope) if text else () for text in texts]


def symbolic_types(specs: Sequence[Any]) -> list[Any]:
    """Stand-ins for inputs of these specs, all of known rank."""
    return [
        jax.ShapeDtypeStruct(shape, spec.dtype)
        for shape, spec in zip(_symbolic([spec.shape for spec in specs]), specs, strict=True)
    ]
