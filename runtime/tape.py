"""Derivatives with respect to Variables: `value_and_grad`, `grad` and `GradientTape`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.array_like import plain
from autograph.runtime.raising import leave
from autograph.runtime.recording import LOCAL
from autograph.runtime.results import StaticOutput
from autograph.runtime.variables import Frame, Variable, current_frame, staging, touched_by


def value_and_grad(
    f: Callable[..., Any], variables: Any = None, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """A function of ``f``'s arguments that gives ``f``'s value and its gradient with respect to Variables.

    What ``f`` writes to Variables is written once, as by a call of ``f``, and derivatives go through it. Inside a
    `Function` the whole is part of the program; outside, ``f`` is traced on each call.

    Args:
      f: gives a scalar; with ``has_aux`` a pair of it and anything else.
      variables: a Variable, or a list, tuple or dict of them, nested as may be; the gradient has the same
        structure. By default
        a list for the trainable Variables that ``f`` reads, in the order in which they were created.
      has_aux: whether ``f`` gives a pair.
    """

    @functools.wraps(f, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _Differentiation(f, variables, has_aux).run(args, kwargs)

    return differentiated


def grad(f: Callable[..., Any], variables: Any = None, has_aux: bool = False) -> Callable[..., Any]:
    """As `value_and_grad`, without the value: the gradient, or with ``has_aux`` a pair of it and what ``f`` gave
    beside.
    """
    both = value_and_grad(f, variables, has_aux)

    @functools.wraps(f, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


class _Differentiation:
    """One call: ``f`` recorded, then run as a function of Variables' values and differentiated."""

    def __init__(self, f: Callable[..., Any], variables: Any, has_aux: bool) -> None:
        self.f = f
        self.has_aux = has_aux
        self.name = getattr(f, "__name__", "the function")
        self.given = variables
        self.treedef: Any = None

    def run(self, args: Any, kwargs: Any, may_create: bool = True) -> tuple[Any, Any]:
        outer = current_frame()
        frame = Frame(
            self.name, may_create and (outer is None or outer.may_create), None if outer is None else outer.rooms
        )
        structure: list[Any] = []  # not the results, which nothing may hold when their trace ends

        def block() -> Sequence[Any]:
            value = self.f(*args, **kwargs)
            if self.has_aux and not (isinstance(value, tuple) and len(value) == 2):
                raise TypeError(
                    f"{self.name} must give a pair (value, aux) under has_aux=True; got {type(value).__name__}"
                )
            loss, aux = value if self.has_aux else (value, None)
            leaves, tree = jax.tree_util.tree_flatten(jax.tree_util.tree_map(_as_leaf, (jnp.asarray(plain(loss)), aux)))
            structure[:] = len(leaves), tree
            return leaves

        program = frame.record(block, ())
        count, tree = structure
        touched = touched_by(program)
        if any(start is not None for _, start in frame.created):
            self._start(frame, program, count, [variable for variable, _ in touched])
            return self.run(args, kwargs, may_create=False)  # now that they exist
        every = {id(variable): variable for variable, _ in touched}
        wrt = self._with_respect_to([variable for variable, _ in touched])
        every.update((id(variable), variable) for variable in wrt)
        with ExitStack() as held:
            if outer is None:
                for variable in sorted(every.values(), key=lambda variable: variable._order):
                    held.enter_context(variable._lock)
            leaves, gradients = self._run(program, touched, wrt)
        value, aux = jax.tree_util.tree_map(_from_leaf, tree.unflatten(leaves[:count]), is_leaf=_is_static)
        gradient = list(gradients) if self.treedef is None else self.treedef.unflatten(gradients)
        return ((value, aux) if self.has_aux else value), gradient

    def _run(
        self, program: Any, touched: Sequence[tuple[Variable, bool]], wrt: Sequence[Variable]
    ) -> tuple[list[Any], Sequence[Any]]:
        variables = [variable for variable, _ in touched]
        stand_ins = [variable._standing() for variable in variables]
        positions = {id(variable): k for k, variable in enumerate(variables)}
        values = [variable.value for variable in variables]

        def pure(inputs: Sequence[Any]) -> Any:
            given = list(values)
            for variable, value in zip(wrt, inputs, strict=True):
                if id(variable) in positions:
                    given[positions[id(variable)]] = value
            outputs, last, error = staging().run(program, (), stand_ins, given)
            if error is not None:
                leave(*error)
            return outputs[0], (outputs, last)

        inputs = [values[positions[id(variable)]] if id(variable) in positions else variable.value for variable in wrt]
        (_, (outputs, last)), gradients = jax.value_and_grad(pure, has_aux=True)(inputs)
        written = [(variable, new) for (variable, is_written), new in zip(touched, last, strict=True) if is_written]
        if current_frame() is None:
            for variable, new in written:
                variable.check_writable(new)
        for variable, new in written:
            variable._write(new)
        return outputs, gradients

    def _start(self, frame: Frame, program: Any, count: int, variables: Sequence[Variable]) -> None:
        """Give the Variables that ``f`` created from recorded values their start values."""
        starting = [variable for variable, start in frame.created if start is not None]
        created = {id(variable) for variable in starting}
        values = [jnp.zeros(v.shape, v.dtype) if id(v) in created else v.value for v in variables]
        stand_ins = [variable._standing() for variable in variables]
        starts = staging().run_part(program, (), stand_ins, values, range(count, count + len(starting)))
        for variable, start in zip(starting, starts, strict=True):
            variable._initialise(start)

    def _with_respect_to(self, touched: Sequence[Variable]) -> list[Variable]:
        if self.given is None:
            chosen = [v for v in touched if v.trainable and jnp.issubdtype(v.dtype, jnp.inexact)]
            return sorted(chosen, key=lambda variable: variable._order)
        leaves, self.treedef = jax.tree_util.tree_flatten(self.given, is_leaf=lambda leaf: isinstance(leaf, Variable))
        for leaf in leaves:
            if not isinstance(leaf, Variable):
                raise TypeError(f"variables holds Variables; got {type(leaf).__name__}")
            if not jnp.issubdtype(leaf.dtype, jnp.inexact):
                raise TypeError(f"{leaf._label()} has dtype {leaf.dtype}, for which there is no gradient")
        return leaves


class GradientTape:
    """Records what runs inside its ``with`` statement, to differentiate it afterwards.

    In a `Function` the block is part of the program, staged statements included; outside it runs as it is.

    Args:
      persistent: whether more than one derivative may be asked for.
      watch_accessed_variables: False where only what `watch` is given may be a source. By default every Variable and
        every array that the block uses may.

    >>> import autograph as ag, jax.numpy as jnp
    >>> w = ag.Variable(3.0)
    >>> @ag.function
    ... def slope(x):
    ...     with ag.GradientTape() as tape:
    ...         y = w * w * x
    ...         if x > 1:
    ...             y = y * 2
    ...     return tape.gradient(y, w)
    >>> float(slope(jnp.array(2.0))), float(slope(jnp.array(0.5)))
    (24.0, 3.0)
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = bool(persistent)
        self._watched: dict[int, Any] | None = None if watch_accessed_variables else {}
        self._tape = staging().tape()
        self._first: dict[int, tuple[Variable, Any]] = {}
        self._outer: tuple[Any, ...] = ()
        self._has_started = self._is_recording = self._is_paused = self._is_used = False

    def __enter__(self) -> GradientTape:
        self._outer = LOCAL.tapes
        LOCAL.tapes = (*self._outer, self)
        self._tape.start()
        self._has_started = self._is_recording = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_recording = False
        self._tape.stop()
        LOCAL.tapes = self._outer

    def saw(self, variable: Variable, value: Any) -> None:
        """Note the value that a Variable has when it is first read; None in a `Function`, where its stand-in tells."""
        if not self._is_paused and self._first.get(id(variable), (variable, None))[1] is None:
            self._first[id(variable)] = variable, value

    def watch(self, tensor: Any) -> None:
        """Let arrays and Variables be sources. Need not be called unless the tape has ``watch_accessed_variables=False``.

        Args:
          tensor: an array or a Variable, or a container of them.

        Raises:
          TypeError: it holds no floats.
        """
        for leaf in jax.tree_util.tree_leaves(tensor, is_leaf=_is_variable):
            if not jnp.issubdtype(getattr(leaf, "dtype", type(leaf)), jnp.inexact):
                raise TypeError(f"a tape watches arrays of floats; got {leaf!r}")
            if self._watched is not None:
                self._watched[id(leaf)] = leaf

    def watched_variables(self) -> tuple[Variable, ...]:
        """The trainable Variables that the block has read so far, in the order in which it first read them.

        With ``watch_accessed_variables=False``, the Variables that `watch` was given.
        """
        if self._watched is not None:
            return tuple(leaf for leaf in self._watched.values() if isinstance(leaf, Variable))
        return tuple(variable for variable, _ in self._first.values() if variable.trainable)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """A context within the block in which nothing is recorded: what it computes is a constant to this tape.

        Raises:
          ValueError: outside the tape's ``with`` statement.

        >>> import autograph as ag, jax.numpy as jnp
        >>> x = jnp.array(2.0)
        >>> with ag.GradientTape() as tape:
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         size = jnp.abs(y)
        ...     z = y / size
        >>> print(tape.gradient(z, x))
        1.0
        """
        if not self._is_recording:
            raise ValueError("this tape does not record here: stop_recording() is for inside its `with` statement")
        outer, self._is_paused = self._is_paused, True
        self._tape.pause(True)
        try:
            yield
        finally:
            self._is_paused = outer
            self._tape.pause(outer)

    def reset(self) -> None:
        """Forget all that was recorded, inside the block or after it.

        Raises:
          ValueError: the tape has not recorded yet.
        """
        if not self._has_started:
            raise ValueError("this tape has recorded nothing: reset() is for inside its `with` statement, or after it")
        self._tape.forget()
        self._first.clear()
        self._is_used = False

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: Any = "none"
    ) -> Any:
        """The derivative of the sum of ``target`` by each source.

        Args:
          target: an array, or a container of arrays, that the block computed.
          sources: Variables and arrays that the block used, in a container or not; the result has the same structure.
            Outside of functions NumPy's arrays too.
          output_gradients: weights for the elements of ``target``, in its structure.
          unconnected_gradients: what stands for a source that the target does not depend on: ``'none'`` (None) or
            ``'zero'``, or a member of an enum with such a value.

        Raises:
          RuntimeError: a second derivative of a tape that is not persistent.
        """
        targets = [plain(leaf) for leaf in jax.tree_util.tree_leaves(target, is_leaf=_is_variable)]
        weights = [None] * len(targets) if output_gradients is None else jax.tree_util.tree_leaves(output_gradients)
        if len(weights) != len(targets):
            raise ValueError(
                f"output_gradients has the structure of the target: {len(targets)} arrays; got {len(weights)}"
            )
        return self._derivatives(
            targets,
            sources,
            unconnected_gradients,
            lambda found, values: self._tape.gradient(targets, found, values, weights),
            lambda leaf: jnp.zeros_like(leaf),
        )

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: Any = "none") -> Any:
        """The derivative of each element of ``target`` by each element of each source.

        Args:
          target: an array that the block computed.
          sources: as for `gradient`.
          unconnected_gradients: as for `gradient`.

        Returns:
          For each source, in the structure of ``sources``, an array of the target's shape followed by the source's.

        Raises:
          RuntimeError: a second derivative of a tape that is not persistent.

        >>> import autograph as ag, jax.numpy as jnp
        >>> x = jnp.array([1.0, 2.0])
        >>> with ag.GradientTape() as tape:
        ...     y = x * x
        >>> tape.jacobian(y, x).tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        array = _one_array(target)
        return self._derivatives(
            [array],
            sources,
            unconnected_gradients,
            lambda found, values: self._tape.jacobian(array, found, values, False),
            lambda leaf: jnp.zeros((*jnp.shape(array), *jnp.shape(leaf)), leaf.dtype),
        )

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: Any = "none") -> Any:
        """The jacobian of each row of ``target`` by the same row of ``source``, which alone it may depend on.

        Args:
          target: an array of at least one axis that the block computed.
          source: a Variable or an array whose first axis is as long.
          unconnected_gradients: as for `gradient`.

        Returns:
          An array of shape ``(rows, *target.shape[1:], *source.shape[1:])``.

        Raises:
          ValueError: first axes that differ in length.
          RuntimeError: a second derivative of a tape that is not persistent.

        >>> import autograph as ag, jax.numpy as jnp
        >>> x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
        >>> with ag.GradientTape() as tape:
        ...     y = x.prod(axis=1)
        >>> tape.batch_jacobian(y, x).tolist()
        [[2.0, 1.0], [4.0, 3.0]]
        """
        array, shape = _one_array(target), jnp.shape(plain(_one_array(source)))
        if not jnp.ndim(array) or not shape or shape[0] != array.shape[0]:
            raise ValueError(
                f"batch_jacobian is for a target and a source with as many rows; got shapes {jnp.shape(array)} and {shape}"
            )
        rows = len(array.shape) - 1

        def found(sources: Sequence[Any], values: Sequence[Any]) -> list[Any]:
            return [jnp.moveaxis(each, rows, 0) for each in self._tape.jacobian(array, sources, values, True)]

        return self._derivatives(
            [array],
            source,
            unconnected_gradients,
            found,
            lambda leaf: jnp.zeros((shape[0], *array.shape[1:], *shape[1:]), leaf.dtype),
        )

    def _derivatives(
        self,
        targets: Sequence[Any],
        sources: Any,
        unconnected: Any,
        derivatives: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
        zeros: Callable[[Any], Any],
    ) -> Any:
        """In the structure of the sources, the derivatives by those that the targets depend on, and what stands for others."""
        unconnected = getattr(unconnected, "value", unconnected)
        if unconnected not in ("none", "zero"):
            raise ValueError(f"unconnected_gradients is 'none' or 'zero'; got {unconnected!r}")
        leaves, treedef = jax.tree_util.tree_flatten(sources, is_leaf=_is_variable)
        pairs = [self._source(leaf) for leaf in leaves]
        if self._is_used and not self._persistent:
            raise RuntimeError("this tape has given its derivative; make it with persistent=True to ask for more")
        self._is_used = True
        found = [
            k for k, (source, value) in enumerate(pairs) if value is not None and self._tape.reaches(targets, source)
        ]
        made = derivatives([pairs[k][0] for k in found], [pairs[k][1] for k in found]) if found else []
        results: list[Any] = [None if unconnected == "none" else zeros(jnp.asarray(plain(leaf))) for leaf in leaves]
        for k, derivative in zip(found, made, strict=True):
            results[k] = derivative
        return jax.tree_util.tree_unflatten(treedef, results)

    def _source(self, leaf: Any) -> tuple[Any, Any]:
        """What the tape knows a source by, and the value it had; None for one that it does not watch."""
        if not isinstance(leaf, Variable | jax.Array | np.ndarray):
            raise TypeError(f"a source is a Variable or an array that the block used; got {type(leaf).__name__}")
        if self._watched is not None and id(leaf) not in self._watched:
            return leaf, None
        if isinstance(leaf, np.ndarray):
            copy = self._tape.known_as(leaf)
            if copy is None:
                raise TypeError(
                    f"a source of NumPy's, {leaf.dtype}{list(leaf.shape)}, was not taken by any operation of JAX's as it is: NumPy's own "
                    "operations are not recorded, and JAX converts what has another dtype. Make it jax.numpy.asarray(x) before "
                    "the block."
                )
            return copy, jnp.asarray(copy)
        if not isinstance(leaf, Variable):
            return leaf, leaf
        if current_frame() is not None:
            stand_in = leaf._standing()
            return stand_in, self._tape.first_value(stand_in)
        _, value = self._first.get(id(leaf), (leaf, None))
        return value, value


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable)


def _as_leaf(leaf: Any) -> Any:
    leaf = plain(leaf)
    is_value = isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex)
    return leaf if is_value else StaticOutput(leaf)


def _one_array(value: Any) -> Any:
    if not isinstance(value, Variable | jax.Array | np.ndarray):
        raise TypeError(f"a jacobian is of one array; got {type(value).__name__}")
    return value if isinstance(value, np.ndarray) else plain(value)


def _from_leaf(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, StaticOutput) else leaf


def _is_static(leaf: Any) -> bool:
    return isinstance(leaf, StaticOutput)
