"""Ahead-of-time stages of a `Function`: ``lower``, ``trace`` and ``eval_shape``, as in `jax.jit`.

`jax.export.export` takes whatever has ``trace`` and ``lower``, so it takes a `Function`, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax

from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.function.outputs import finished
from autograph.runtime.signatures.chosen_arguments import ChosenArguments
from autograph.runtime.signatures.inputs import stand_ins
from autograph.runtime.signatures.placement import placed, placed_types, spread_shardings
from autograph.runtime.signatures.signature import Arguments, as_tree, is_array_leaf, is_array_like, is_record
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.typing import PyTree

if TYPE_CHECKING:
    from autograph.runtime.function.function import Function


def lower(
    function: Function[..., PyTree], *args: PyTree, platforms: Sequence[str] | None = None, **kwargs: PyTree
) -> Lowered:
    """Trace and lower the function for these arguments, as `jax.jit`'s ``lower`` does.

    Args:
      *args: as for a call; `TensorSpec` and `jax.ShapeDtypeStruct` may replace arrays.
      platforms: the platforms to lower for, such as ``["cpu", "cuda", "tpu"]``; by default the one that is attached.
      **kwargs: keyword arguments, in the same way.

    Returns:
      A `jax.stages.Lowered`-like object. Its ``compile(target=None)`` returns the compiled program, with
      ``cost_analysis()`` and ``memory_analysis()``. A target may be a topology that is not attached:
      ``"tpu:v5e:2x2"``.

    Raises:
      StagingError: the program contains an operation that a platform does not support.
      TargetError: a platform does not exist.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> lowered = ag.function(lambda x: x + 1).lower(jax.ShapeDtypeStruct((3,), jnp.float32))
    >>> "stablehlo.add" in lowered.as_text()
    True
    """
    signature, arrays = function._given(args, kwargs)
    types = placed_types(function.__name__, signature, arrays, function._options.in_shardings)
    program = function._entry(signature, _is_open(function)).program
    jitted, operands = program.staged(types)
    program.refuse_unseen(arrays)
    inputs = _inputs(function, signature, arrays, args, kwargs)
    count = len(operands) - len(types)

    def call(compiled: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        _, arrays = function._given(*inputs.complete(args[count:], kwargs))
        result = compiled(*args[:count], *arrays)
        return (finished(result[0]), result[1]) if program.has_state else finished(result)

    return Lowered(STAGING.lowered(jitted, operands, platforms, function._options.compile or {}), call)


class Lowered:
    """A function lowered for some arguments, as `jax.stages.Lowered`: what is not said here is that object's."""

    def __init__(self, lowered: Any, call: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]) -> None:
        self._lowered, self._call = lowered, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lowered, name)

    def compile(self, target: str | None = None, **options: Any) -> Compiled:
        """Compile the program, for a target that need not be attached; by default for the machine that is here."""
        return Compiled(self._lowered.compile(target, **options), self._call)


class Compiled:
    """A compiled function, as `jax.stages.Compiled`: what is not said here is that object's.

    It is called as the function was lowered, without the Python values among the arguments. Of a function that uses Variables
    their values come first, and the result is that of the function and a list of the new values.
    """

    def __init__(self, compiled: Any, call: Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]) -> None:
        self._compiled, self._call = compiled, call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        return self._call(self._compiled, args, kwargs)


def trace(function: Function[..., PyTree], *args: PyTree, **kwargs: PyTree) -> jax.stages.Traced:
    """Trace the function for these arguments, as `jax.jit`'s ``trace`` does.

    `jax.export.export` calls it. Variables that the function reads become constants. Python values are part of the
    program and are omitted from its arguments, like static arguments; inside a container, None replaces them, and a
    dataclass that is not a pytree becomes a tuple of its fields.

    Args:
      *args: as for a call; `TensorSpec` and `jax.ShapeDtypeStruct` may replace arrays, with symbolic dimensions. All
        may be omitted if the function has an ``input_signature``.
      **kwargs: keyword arguments, in the same way.

    Returns:
      A `jax.stages.Traced`: a function of the arrays among the arguments.

    Raises:
      StagingError: the function assigns Variables.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> @ag.function
    ... def relu(x):
    ...     if x > 0:
    ...         return x
    ...     return 0.0 * x
    >>> exported = jax.export.export(relu)(jax.ShapeDtypeStruct((), jnp.float32))
    >>> float(exported.call(jnp.float32(-2.0)))
    -0.0
    """
    return _traced(function, args, kwargs, may_write=False)


def eval_shape(function: Function[..., PyTree], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """Return the shapes and dtypes of the results for these arguments, as `jax.eval_shape` does.

    Nothing is computed, and Variables keep their values.

    Args:
      *args: as in `trace`.
      **kwargs: as in `trace`.

    Returns:
      The result's structure, with a `jax.ShapeDtypeStruct` in place of each array.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> ag.function(lambda x: x @ x.T).eval_shape(jax.ShapeDtypeStruct((3, 4), jnp.float32))
    ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """
    return _traced(function, args, kwargs, may_write=True).out_info


def pretty_printed_concrete_signatures(function: Function[..., PyTree], verbose: bool = True) -> str:
    """Return the signature of each concrete function as text.

    Args:
      verbose: whether the types of arguments and results are listed.

    Returns:
      Text with one block for each concrete function, in the order of their traces.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def add(a, b=1):
    ...     return a + b
    >>> _ = add(jnp.array(1))
    >>> print(add.pretty_printed_concrete_signatures(verbose=False))
    add(a, b=1)
    """
    blocks = [concrete.pretty_printed_signature(verbose) for concrete in function.concrete_functions()]
    return ("\n\n" if verbose else "\n").join(blocks)


def experimental_get_compiler_ir(
    function: Function[..., PyTree], *args: PyTree, **kwargs: PyTree
) -> Callable[..., str]:
    """Return a function of ``stage`` that returns the program for these arguments as text.

    Args:
      *args: as in `get_concrete_function`.
      **kwargs: as in `get_concrete_function`.

    Returns:
      A function like `Graph.as_text`, whose default stage is ``"hlo"``. It raises `ValueError` for a stage that there is not.

    >>> import autograph as ag, jax.numpy as jnp
    >>> f = ag.function(lambda x: x * x)
    >>> "multiply" in f.experimental_get_compiler_ir(jnp.ones(3))("hlo")
    True
    """
    graph = function.get_concrete_function(*args, **kwargs).graph
    return lambda stage="hlo": graph.as_text(stage)


def _traced(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], may_write: bool) -> Any:
    signature, given = function._given(args, kwargs)
    inputs = _inputs(function, signature, given, args, kwargs)
    signature, arrays = function._given(inputs.args, inputs.kwargs)
    values, program = _pure(function, signature, [_type(array) for array in arrays], may_write)
    function._entry(signature, _is_open(function)).program.refuse_unseen(given)

    def run(*args: Any, **kwargs: Any) -> Any:
        _, arrays = function._given(*inputs.complete(args, kwargs))
        if function._options.in_shardings is not None:
            arrays = placed(arrays, spread_shardings(function._options.in_shardings, signature))
        return program(*values, *arrays)

    run.__name__ = run.__qualname__ = function.__name__
    return STAGING.traced(run, *inputs.taken())


def _inputs(
    function: Any, signature: Any, arrays: Sequence[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> _Inputs:
    """The arguments of a call of this signature, or of all calls if the function has an ``input_signature``."""
    if function._options.input_signature is not None:
        args, kwargs = signature.arguments(arrays)[0][: len(function._options.input_signature)], {}
    args, kwargs = _with_types((args, kwargs), function._tools.symbolic_types)
    return _Inputs(function._arguments, args, kwargs)


def _pure(function: Any, signature: Any, types: Sequence[Any], may_write: bool) -> tuple[list[Any], Callable[..., Any]]:
    """The values of the Variables that a program reads, and the program as a function of such values and of arrays."""
    program = function._entry(signature, _is_open(function)).program
    jitted, operands = program.staged(types)
    if program.written and not may_write:
        raise StagingError(
            f"{function.__name__} writes {program.written[0].name!r}, and an exported program has no state to "
            "keep the new value in.\n  Return it instead, or save the function with its Variables: autograph.save."
        )

    def run(*operands: Any) -> Any:
        result = jitted(*operands)
        if program.has_state:
            result, _ = result
        return finished(result)

    return operands[: len(operands) - len(types)], run


def _is_open(function: Any) -> bool:
    """Whether sizes may differ from call to call: they are settled then, as in another transform."""
    return function._options.reduce_retracing or function._options.input_signature is not None


def _type(array: Any) -> Any:
    if isinstance(array, jax.ShapeDtypeStruct):
        return array
    aval = jax.typeof(array)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class _Inputs:
    """The arguments of a call, those without arrays apart.

    Attributes: args, kwargs (the arguments).
    """

    def __init__(self, arguments: Arguments, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        chosen = arguments.static or ChosenArguments()
        static = set(chosen.places([*arguments.positional, *map(str, args)], len(arguments.positional)))
        self.args, self.kwargs, self._name = args, kwargs, arguments.name
        self._places = {k for k, value in enumerate(args) if k not in static and _has_array(value)}
        self._names = {n for n, value in kwargs.items() if n not in chosen.names and _has_array(value)}

    def taken(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with arrays, and nothing but those in them."""
        args = tuple(_arrays(value) for k, value in enumerate(self.args) if k in self._places)
        return args, {name: _arrays(value) for name, value in self.kwargs.items() if name in self._names}

    def complete(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All arguments, these in the places of those with arrays."""
        if len(args) != len(self._places) or kwargs.keys() != self._names:
            raise TypeError(
                f"{self._name} was lowered for {_listed(len(self._places), self._names)}, and is called with "
                f"{_listed(len(args), kwargs)}. Call it as it was lowered, without the Python values among the arguments."
            )
        pending = iter(args)
        every = [_filled(v, next(pending)) if k in self._places else v for k, v in enumerate(self.args)]
        named = {n: _filled(v, kwargs[n]) if n in self._names else v for n, v in self.kwargs.items()}
        return tuple(every), named


def _listed(count: int, names: Iterable[str]) -> str:
    """A description of arguments: ``2 arguments by position and `k` by name``."""
    text = f"{count} argument{'' if count == 1 else 's'} by position"
    named = ", ".join(f"`{name}`" for name in sorted(names))
    return f"{text} and {named} by name" if named else text


def _is_input(leaf: Any) -> bool:
    return is_array_leaf(leaf) or is_array_like(leaf)


def _has_array(value: Any) -> bool:
    return any(map(_is_input, jax.tree_util.tree_leaves(as_tree(value))))


def _arrays(value: Any) -> Any:
    """The arrays of a value, nested as they are there: a dataclass that JAX does not know is a tuple of its fields."""

    def inner(leaf: Any) -> Any:
        if is_record(leaf):
            return tuple(_arrays(getattr(leaf, field.name)) for field in dataclasses.fields(leaf))
        return leaf if _is_input(leaf) else None

    return jax.tree_util.tree_map(inner, value)


def _filled(value: Any, arrays: Any) -> Any:
    """A value with these arrays in the places of its own."""
    leaves, tree = jax.tree_util.tree_flatten(as_tree(value))
    pending = iter(jax.tree_util.tree_leaves(arrays))
    return jax.tree_util.tree_unflatten(tree, [next(pending) if _is_input(leaf) else leaf for leaf in leaves])


def _with_types(tree: Any, symbolic_types: Callable[[Sequence[TensorSpec]], list[Any]]) -> Any:
    """A tree with types in the places of specs, of sizes that are symbols where those are open."""
    leaves, structure = jax.tree_util.tree_flatten(tree)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, TensorSpec)]
    for k, made in zip(places, stand_ins([leaves[k] for k in places], symbolic_types), strict=True):
        leaves[k] = made
    return jax.tree_util.tree_unflatten(structure, leaves)
