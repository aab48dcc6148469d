"""`GradientTape`: derivatives of the operations in a block of code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.layouts.one_of import candidates_of, is_one_of
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.linked_state import Linked, in_place_of, is_variable
from autograph.runtime.state.variables import Variable, current_frame, staging
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.recording import LOCAL
from autograph.runtime.typing import ArrayLike, PyTree


class GradientTape:
    """Records the operations inside its ``with`` statement for differentiation.

    In a `Function` the block is part of the program, staged statements included. Outside, the block runs as Python.

    Args:
      persistent: whether more than one derivative may be computed.
      watch_accessed_variables: whether every Variable and array that the block uses may be a source. If False, only
        what `watch` is called with.

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

    def saw(self, variable: Variable, value: ArrayLike) -> None:
        """Record the value of a Variable at its first read; None in a `Function`, where its stand-in has the value."""
        if not self._is_paused and self._first.get(id(variable), (variable, None))[1] is None:
            self._first[id(variable)] = variable, value

    def watch(self, tensor: PyTree) -> None:
        """Declare arrays and Variables as sources. This is only needed with ``watch_accessed_variables=False``.

        Args:
          tensor: an array or a Variable, or a container of them.

        Raises:
          TypeError: the dtype of one is not a floating-point or complex dtype.

        >>> import autograph as ag, jax.numpy as jnp
        >>> x = jnp.array(3.0)
        >>> with ag.GradientTape(watch_accessed_variables=False) as tape:
        ...     tape.watch(x)
        ...     y = x * x
        >>> float(tape.gradient(y, x))
        6.0
        """
        for leaf in map(in_place_of, jax.tree_util.tree_leaves(tensor, is_leaf=_is_variable)):
            if not jnp.issubdtype(getattr(leaf, "dtype", type(leaf)), jnp.inexact):
                raise TypeError(f"a tape watches arrays of floats; got {leaf!r}")
            if self._watched is not None:
                self._watched[id(leaf)] = leaf

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the trainable Variables that the block has read so far, in the order of their first reads.

        Returns:
          A tuple of Variables; with ``watch_accessed_variables=False``, those that `watch` was called with.

        >>> import autograph as ag
        >>> w = ag.Variable(2.0, name="w")
        >>> with ag.GradientTape() as tape:
        ...     y = w * w
        >>> [v.name for v in tape.watched_variables()]
        ['w']
        """
        if self._watched is not None:
            return tuple(leaf for leaf in self._watched.values() if isinstance(leaf, Variable))
        return tuple(variable for variable, _ in self._first.values() if variable.trainable)

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Return a context in which nothing is recorded: its results are constants for this tape.

        Returns:
          A context manager, for use inside the tape's ``with`` statement.

        Raises:
          ValueError: it is entered outside of the tape's ``with`` statement.

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
            raise ValueError("this tape is not recording: call stop_recording() inside its `with` statement")
        outer, self._is_paused = self._is_paused, True
        self._tape.pause(True)
        try:
            yield
        finally:
            self._is_paused = outer
            self._tape.pause(outer)

    def reset(self) -> None:
        """Discard everything recorded so far, inside the block or after it.

        Raises:
          ValueError: the block has not been entered yet.

        >>> import autograph as ag
        >>> w = ag.Variable(2.0)
        >>> with ag.GradientTape() as tape:
        ...     y = w * w
        ...     tape.reset()
        ...     z = 3 * w
        >>> float(tape.gradient(z, w))
        3.0
        """
        self._check_started("reset")
        self._tape.forget()
        self._first.clear()
        self._is_used = False

    def _check_started(self, method: str) -> None:
        if not self._has_started:
            raise ValueError(
                f"this tape has recorded nothing: call {method}() inside or after its `with` statement, `with tape:`"
            )

    def gradient(
        self,
        target: PyTree,
        sources: PyTree,
        output_gradients: PyTree = None,
        unconnected_gradients: Literal["none", "zero"] = "none",
    ) -> PyTree:
        """Return the gradient of the sum of ``target`` with respect to each source.

        Args:
          target: an array, or a container of arrays, that the block computed.
          sources: a Variable or an array that the block used, or a container of them. Variables of Keras and flax.nnx
            are accepted, and NumPy arrays outside of functions.
          output_gradients: weights for the elements of ``target``, with its structure and shapes; 1 by default.
          unconnected_gradients: the gradient with respect to a source that ``target`` does not depend on: ``"none"``
            for None, ``"zero"`` for zeros, or an enum member with such a value.

        Returns:
          Gradients in the structure of ``sources``, each with the shape and dtype of its source.

        Raises:
          RuntimeError: the tape is not persistent, and this is the second derivative.
          ValueError: ``output_gradients`` has another structure than ``target``.

        >>> import autograph as ag
        >>> w, b = ag.Variable(2.0), ag.Variable(1.0)
        >>> with ag.GradientTape() as tape:
        ...     y = w * w + b
        >>> [float(g) for g in tape.gradient(y, [w, b])]
        [4.0, 1.0]
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

    def jacobian(
        self, target: ArrayLike, sources: PyTree, unconnected_gradients: Literal["none", "zero"] = "none"
    ) -> PyTree:
        """Return the derivative of each element of ``target`` with respect to each element of each source.

        Args:
          target: an array that the block computed.
          sources: as in `gradient`.
          unconnected_gradients: as in `gradient`.

        Returns:
          For each source, in the structure of ``sources``, an array of shape ``target.shape + source.shape``.

        Raises:
          RuntimeError: the tape is not persistent, and this is the second derivative.

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

    def batch_jacobian(
        self, target: ArrayLike, source: ArrayLike, unconnected_gradients: Literal["none", "zero"] = "none"
    ) -> PyTree:
        """Return the Jacobian of each row of ``target`` with respect to the same row of ``source``.

        A row of ``target`` must not depend on other rows of ``source``.

        Args:
          target: an array of shape ``(rows, …)`` that the block computed.
          source: a Variable or an array of shape ``(rows, …)``.
          unconnected_gradients: as in `gradient`.

        Returns:
          An array of shape ``(rows, *target.shape[1:], *source.shape[1:])``.

        Raises:
          ValueError: the first axes differ in length.
          RuntimeError: the tape is not persistent, and this is the second derivative.

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
                f"batch_jacobian takes a target and a source with the same number of rows; got shapes {jnp.shape(array)} and {shape}"
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
        """In the structure of the sources, the derivatives by those that the targets depend on, and what represents others."""
        unconnected = getattr(unconnected, "value", unconnected)
        if unconnected not in ("none", "zero"):
            raise ValueError(f"unconnected_gradients must be 'none' or 'zero'; got {unconnected!r}")
        given, treedef = jax.tree_util.tree_flatten(sources, is_leaf=_is_variable)
        groups = [candidates_of(leaf) if is_one_of(leaf) else (leaf,) for leaf in given]
        leaves = [in_place_of(leaf) for group in groups for leaf in group]
        pairs = [self._source(leaf) for leaf in leaves]
        self._check_started("gradient")
        if self._is_used and not self._persistent:
            raise RuntimeError("this tape has computed its derivative; make it with persistent=True to compute more")
        self._is_used = True
        found = [
            k for k, (source, value) in enumerate(pairs) if value is not None and self._tape.reaches(targets, source)
        ]
        for source, _ in (pairs[k] for k in found):
            if not jnp.issubdtype(source.dtype, jnp.inexact):
                raise TypeError(
                    f"a source holds floating-point numbers; got {source.dtype}{list(source.shape)}, which has no gradient"
                )
        made = derivatives([pairs[k][0] for k in found], [pairs[k][1] for k in found]) if found else []
        results: list[Any] = [None if unconnected == "none" else zeros(jnp.asarray(plain(leaf))) for leaf in leaves]
        for k, derivative in zip(found, made, strict=True):
            results[k] = derivative
        left = iter(results)
        by_source = [[next(left) for _ in group] for group in groups]
        return jax.tree_util.tree_unflatten(treedef, list(map(_of_one, given, by_source)))

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
                    f"a source of NumPy's, {leaf.dtype}{list(leaf.shape)}, was not used by any operation of JAX unchanged: NumPy's own "
                    "operations are not recorded, and JAX converts what has another dtype. Make it jax.numpy.asarray(x) before "
                    "the block."
                )
            return copy, jnp.asarray(copy)
        if not isinstance(leaf, Variable):
            return leaf, leaf
        if current_frame() is not None:
            stand_in = leaf._standing()
            return stand_in, self._tape.first_value(stand_in)
        if isinstance(leaf, Linked):  # its library reads it without our seeing
            return leaf.value, leaf.value
        _, value = self._first.get(id(leaf), (leaf, None))
        return value, value


def _of_one(source: Any, derivatives: Sequence[Any]) -> Any:
    """The derivative by a source, which may be one of several: that of the one that it is."""
    if not is_one_of(source) or all(each is None for each in derivatives):
        return derivatives[0]
    known = next(each for each in derivatives if each is not None)
    numbers = enumerate(jnp.zeros_like(known) if each is None else each for each in derivatives)
    return LANGUAGE.operators.references.selected(source, dict(numbers))


def _one_array(value: Any) -> Any:
    if not isinstance(value, Variable | jax.Array | np.ndarray):
        raise TypeError(f"jacobian takes one array; got {type(value).__name__}")
    return value if isinstance(value, np.ndarray) else plain(value)


def _is_variable(leaf: Any) -> bool:
    return is_one_of(leaf) or isinstance(leaf, Variable) or is_variable(leaf)
