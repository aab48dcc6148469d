"""Functions with custom derivatives: `custom_gradient`, `stop_gradient`, `recompute_grad`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.effects.raising import leave
from autograph.runtime.errors import StagingError
from autograph.runtime.gradients.derivatives import RecordedCall, as_leaf, from_leaf, is_static
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.variables import Variable, current_frame, staging, touched_by
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.typing import PyTree

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def stop_gradient(value: T) -> T:
    """Return ``value`` as a constant for derivatives.

    Args:
      value: an array or a Variable, or a container of them.

    Returns:
      Arrays in the structure of ``value``.

    >>> import autograph as ag, jax
    >>> float(jax.grad(lambda x: x * ag.stop_gradient(x))(3.0))
    3.0
    """
    return jax.tree_util.tree_map(lambda leaf: staging().without_derivative(plain(leaf)), value, is_leaf=_is_variable)


def custom_gradient(f: Callable[P, tuple[R, Callable[..., PyTree]]]) -> Callable[P, R]:
    """Decorate a function that returns its value together with a function that computes its gradient.

    Args:
      f: returns a pair ``(value, grad_fn)``. ``value`` is an array or a container of arrays. ``grad_fn(*upstream)``
        takes the gradient with respect to each array of ``value``, and returns the gradient with respect to each
        positional argument of ``f``: one, or a list of them; None means zero. If ``f`` reads trainable Variables,
        ``grad_fn(*upstream, variables=…)`` takes a list of them and returns a pair: the gradients with respect to the
        arguments, and a list of the gradients with respect to the Variables.

    Returns:
      A function of the arguments of ``f`` that returns ``value``. There is no gradient with respect to keyword
      arguments. Values that ``f`` assigns to Variables are constants for derivatives.

    Raises:
      TypeError: when it is called: ``f`` does not return a pair, or ``grad_fn`` returns gradients of another number
        or shape.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> @ag.custom_gradient
    ... def clipped(x):
    ...     return x, lambda upstream: jnp.clip(upstream, -1, 1)
    >>> float(jax.grad(lambda x: 5 * clipped(x))(2.0))
    1.0
    """
    _check_callable("custom_gradient", f)

    @functools.wraps(f, updated=())
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        return _CustomCall(f, args, kwargs).run()

    return with_gradient


def recompute_grad(f: Callable[P, R]) -> Callable[P, R]:
    """Return ``f`` with a gradient that recomputes intermediate values in place of keeping them.

    `jax.checkpoint` does the same, without Variables.

    Args:
      f: a function. It may read and assign Variables.

    Returns:
      A function with the parameters, the values and the gradients of ``f``.

    Raises:
      TypeError: ``f`` is not callable.

    >>> import autograph as ag, jax, jax.numpy as jnp
    >>> layer = ag.recompute_grad(lambda x: jnp.sin(jnp.sin(x)))
    >>> print(jax.grad(layer)(0.0))
    1.0
    """
    _check_callable("recompute_grad", f)

    @functools.wraps(f, updated=())
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        arguments = _Arguments(args, kwargs)
        structure: list[Any] = []

        def block(*operands: Any) -> Sequence[Any]:
            args, kwargs = arguments.with_arrays(operands)
            results = jax.tree_util.tree_map(as_leaf, LANGUAGE.operators.call(f)(*args, **kwargs), is_leaf=_is_variable)
            leaves, tree = jax.tree_util.tree_flatten(results)
            structure[:] = len(leaves), tree
            return leaves

        call = RecordedCall(_name(f), block, arguments.arrays)
        with call.locked():
            pure = _Pure(call)
            outputs, last, error = jax.checkpoint(pure)(arguments.arrays, call.values())
            call.write(last)
        pure.leave(error)
        count, tree = structure
        return jax.tree_util.tree_map(from_leaf, tree.unflatten(outputs[:count]), is_leaf=is_static)

    return recomputed


class _Arguments:
    """The arguments of a call, of which those that are arrays, or floats, are a program's operands.

    Attributes:
      arrays: the operands.
      by_position: for each leaf of the positional arguments, its number among the operands, or None.
    """

    def __init__(self, args: Any, kwargs: Any) -> None:
        self._tree: Any
        leaves, self._tree = jax.tree_util.tree_flatten((args, kwargs), is_leaf=_is_variable)
        self._leaves = list(map(plain, leaves))
        self._places = [
            k for k, leaf in enumerate(self._leaves) if isinstance(leaf, jax.Array | np.ndarray | np.generic | float)
        ]
        self.arrays = [self._leaves[k] for k in self._places]
        numbers = {k: number for number, k in enumerate(self._places)}
        by_position = len(jax.tree_util.tree_leaves(args, is_leaf=_is_variable))
        self.by_position = [numbers.get(k) for k in range(by_position)]

    def with_arrays(self, operands: Sequence[Any]) -> tuple[Any, Any]:
        """The positional and the keyword arguments, with these in the places of the arrays."""
        leaves = list(self._leaves)
        for k, operand in zip(self._places, operands, strict=True):
            leaves[k] = operand
        args, kwargs = self._tree.unflatten(leaves)
        return args, kwargs


class _Pure:
    """A recorded call as a function of arrays: what JAX's transforms take. Its exception comes out as arrays, too."""

    def __init__(self, call: RecordedCall) -> None:
        self.call = call
        self.sites: Any = None

    def __call__(self, operands: Sequence[Any], values: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        outputs, last, error = self.call.evaluated(operands, values)
        if error is None:
            return outputs, last, None
        code, payloads, self.sites = error
        return outputs, last, (code, payloads)

    def leave(self, error: Any) -> None:
        """Leave, or raise, the exception."""
        if error is not None:
            code, payloads = error
            leave(code, payloads, self.sites)


class _CustomCall:
    """One call of a function with a gradient of its own.

    Attributes:
      rule: the gradient as a program of what is kept, and of the gradients by the value.
      wrt: the Variables that the rule returns gradients for.
    """

    def __init__(self, f: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.f, self.name = f, _name(f)
        self.arguments = _Arguments(args, kwargs)
        self.count, self.tree, self.types = 0, None, []  # type: ignore[var-annotated]
        self.rule: Callable[[Sequence[Any], Sequence[Any]], Any]
        self.wrt: list[Variable] = []

    def run(self) -> Any:
        arguments = self.arguments
        call = RecordedCall(self.name, self._block, arguments.arrays)
        pure = _Pure(call)

        def split(operands: Any, values: Any) -> tuple[Any, Any]:
            outputs, last, error = pure(operands, values)
            return (outputs[: self.count], last, error), outputs[self.count :]

        @jax.custom_vjp
        def primal(operands: Any, values: Any) -> Any:
            return split(operands, values)[0]

        def backward(kept: Any, upstream: Any) -> Any:
            return self._gradients(call, kept, upstream[0])

        primal.defvjp(split, backward)
        with call.locked():
            outputs, last, error = primal(arguments.arrays, call.values())
            call.write(last)
        pure.leave(error)
        return jax.tree_util.tree_unflatten(self.tree, outputs)

    def _block(self, *operands: Any) -> Sequence[Any]:
        """The arrays of the value, and what its gradient keeps."""
        args, kwargs = self.arguments.with_arrays(operands)
        result = LANGUAGE.operators.call(self.f)(*args, **kwargs)
        if not (isinstance(result, tuple) and len(result) == 2 and callable(result[1])):
            raise TypeError(
                f"{self.name} has a custom_gradient: it must return a pair of its value and a gradient function; got {result!r}"
            )
        value, rule = result
        leaves, self.tree = jax.tree_util.tree_flatten(
            jax.tree_util.tree_map(lambda leaf: jnp.asarray(plain(leaf)), value, is_leaf=_is_variable)
        )
        self.count, self.types = len(leaves), [jax.typeof(leaf) for leaf in leaves]
        self.wrt = self._differentiable_variables(rule)
        return [*leaves, *self._record_rule(rule)]

    def _differentiable_variables(self, rule: Any) -> list[Variable]:
        frame = current_frame()
        assert frame is not None
        found = [v for v in frame.touched.values() if v.trainable and jnp.issubdtype(v.dtype, jnp.inexact)]
        if found and not _takes_variables(rule):
            raise TypeError(
                f"{self.name} reads {found[0]._label(article='the')}: its gradient function must take `variables`, a list of the trainable "
                "Variables read, and return a pair: the gradients for the arguments, and a list of the gradients for the Variables"
            )
        return sorted(found, key=lambda variable: variable._order)

    def _record_rule(self, rule: Any) -> list[Any]:
        """Record the gradient as a program; return what it keeps of this call: values that it closes over, and of Variables."""
        named = {"variables": list(self.wrt)} if _takes_variables(rule) else {}
        structure: list[Any] = []

        def gradients(*upstream: Any) -> list[Any]:
            made = LANGUAGE.operators.call(rule)(*upstream, **named)
            given, tree = self._in_order(made, bool(self.wrt))
            structure[:] = [tree]
            return given

        zeros = [jnp.zeros(type.shape, type.dtype) for type in self.types]
        program = staging().record(gradients, zeros)
        touched = touched_by(program)
        if staging().may_raise(program) or any(written for _, written in touched):
            raise StagingError(
                f"{user_location()}\n  The function for the gradient of {self.name} raises under a traced condition, or writes a "
                "Variable: a gradient may be computed any number of times.\n  Compute it from the upstream gradients alone."
            )
        stand_ins = [variable._standing() for variable, _ in touched]

        def evaluated(values: Sequence[Any], *upstream: Any) -> list[Any]:
            return staging().run(program, upstream, stand_ins, values)[0]

        values = [variable.value for variable, _ in touched]
        constants, computed = staging().opened(evaluated, [values, *zeros])
        self.rule = lambda kept, upstream: structure[0](
            computed(kept[len(values) :], [*kept[: len(values)], *upstream])
        )
        return [*values, *constants]

    def _in_order(self, made: Any, with_variables: bool) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        """The gradients that are arrays, and what puts them back: by argument, and by Variable, None where there is none."""
        by_args, by_variables = made, ()
        if with_variables:
            if not (isinstance(made, tuple) and len(made) == 2):
                raise TypeError(
                    f"the gradient of {self.name} must be a pair, for the arguments and for the Variables; got {type(made).__name__}"
                )
            by_args, by_variables = made
        of_args = jax.tree_util.tree_leaves(by_args, is_leaf=_is_none)
        of_variables = jax.tree_util.tree_leaves(by_variables, is_leaf=_is_none)
        for what, given, wanted in (
            ("arguments", of_args, len(self.arguments.by_position)),
            ("Variables", of_variables, len(self.wrt) if with_variables else 0),
        ):
            if len(given) != wanted:
                raise TypeError(
                    f"{self.name} has {wanted} {what}, and its gradient function returns {len(given)} gradients"
                )
        shapes = [
            *(None if k is None else jnp.shape(self.arguments.arrays[k]) for k in self.arguments.by_position),
            *(variable.shape for variable in self.wrt),
        ]
        gradients = [*of_args, *of_variables]
        for k, (gradient, shape) in enumerate(zip(gradients, shapes, strict=True)):
            if gradient is not None and shape is not None and jnp.shape(plain(gradient)) != tuple(shape):
                raise TypeError(
                    f"the gradient of {self.name} for its {'Variable' if k >= len(of_args) else 'argument'} of shape "
                    f"{tuple(shape)} has shape {jnp.shape(plain(gradient))}"
                )
        there = [k for k, gradient in enumerate(gradients) if gradient is not None]

        def put(arrays: list[Any]) -> Any:
            every: list[Any] = [None] * len(gradients)
            for k, array in zip(there, arrays, strict=True):
                every[k] = array
            return every[: len(of_args)], every[len(of_args) :]

        return [jnp.asarray(plain(gradients[k])) for k in there], put

    def _gradients(
        self, call: RecordedCall, kept: Sequence[Any], upstream: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        given = [
            jnp.zeros(type.shape, type.dtype) if each.dtype == jax.dtypes.float0 else each
            for each, type in zip(upstream, self.types, strict=True)
        ]
        by_args, by_variables = self.rule(kept, given)
        operands: list[Any] = [None] * len(self.arguments.arrays)
        for k, gradient in zip(self.arguments.by_position, by_args, strict=True):
            if k is not None:
                operands[k] = _as_gradient(gradient, self.arguments.arrays[k])
        known = {id(variable): gradient for variable, gradient in zip(self.wrt, by_variables, strict=True)}
        values = [_as_gradient(known.get(id(variable)), variable) for variable in call.variables]
        return operands, values


def _as_gradient(gradient: Any, of: Any) -> Any:
    dtype = jnp.result_type(of) if not hasattr(of, "dtype") else of.dtype
    return None if gradient is None or not jnp.issubdtype(dtype, jnp.inexact) else gradient.astype(dtype)


def _takes_variables(rule: Any) -> bool:
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.name == "variables" or each.kind is each.VAR_KEYWORD for each in parameters)


def _check_callable(name: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"{name} takes a function; got {type(f).__name__}")


def _name(f: Any) -> str:
    return str(getattr(f, "__name__", "the function"))


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable)


def _is_none(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, Variable)
