"""Optimizers with their state in Variables, from optax's gradient transformations.

>>> import autograph as ag, jax.numpy as jnp, optax
>>> w = ag.Variable(jnp.zeros(2), name="w")
>>> optimizer = ag.optim.from_optax(optax.sgd(0.25))
>>> @ag.function
... def fit(steps):
...     for _ in ag.range(steps):
...         optimizer.minimize(lambda: jnp.sum((w - 1.0) ** 2), [w])
>>> fit(2)
>>> w.numpy().tolist(), int(optimizer.iterations)
([0.75, 0.75], 2)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.gradients.derivatives import value_and_grad_again
from autograph.runtime.gradients.library_closures import calling_converted
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.linked_state import in_place_of
from autograph.runtime.state.module import Module
from autograph.runtime.state.variables import Variable, current_frame, outside_recordings
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.typing import ArrayLike, GradientTransformation, PyTree

if TYPE_CHECKING:
    from autograph.runtime.gradients.tape import GradientTape

_NUMBERS = (jax.Array, np.ndarray, np.generic, bool, int, float, complex)
_RATE = "learning_rate"


def from_optax(tx: GradientTransformation, name: str | None = None) -> Optimizer:
    """Return an `Optimizer` that updates Variables with a gradient transformation of optax.

    Args:
      tx: a transformation of optax, such as ``optax.adam(1e-3)``, or another object with ``init(params)`` and
        ``update(updates, state, params)``. Its ``params`` are a list of the Variables' values, in the order in which
        the Variables are first passed. Functions of yours that it calls, such as a learning-rate schedule or a mask,
        are converted: they may branch on the step count.
      name: the name of the optimizer in messages, and the prefix of the names of its Variables.

    Returns:
      An `Optimizer`.

    Raises:
      TypeError: ``tx`` has no ``init`` and ``update``.

    >>> import autograph as ag, optax
    >>> def schedule(count):
    ...     if count < 2:
    ...         return 1.0
    ...     return 0.5
    >>> w = ag.Variable(0.0)
    >>> optimizer = ag.optim.from_optax(optax.sgd(schedule))
    >>> for _ in range(3):
    ...     optimizer.apply_gradients([(-1.0, w)])
    >>> float(w)
    2.5
    """
    for method in ("init", "update"):
        if not callable(getattr(tx, method, None)):
            raise TypeError(
                f"from_optax takes a gradient transformation, an object with init(params) and update(updates, state, params); "
                f"got {type(tx).__name__}, which has no {method}"
            )
    return Optimizer(tx, name)


class Optimizer(Module):
    """An optimizer whose state is in Variables. `from_optax` creates one.

    Its methods may be called in functions, in staged branches and loops, and outside. The state is created once: by
    `build`, or by the first call that applies gradients. `checkpoints` and `save` find it like the state of any Module.

    Args:
      tx: as in `from_optax`.
      name: as in `from_optax`.

    Attributes:
      iterations: an int32 Variable that counts the updates.
      state: the Variables of the transformation's state, by the names of its fields; empty before `build`.
      name: the name in messages.

    >>> import autograph as ag, optax
    >>> optimizer = ag.optim.from_optax(optax.adam(1e-3))
    >>> int(optimizer.iterations)
    0
    """

    def __init__(self, tx: GradientTransformation, name: str | None = None) -> None:
        self.name = name or "optimizer"
        self._init, self._update = calling_converted(tx.init), calling_converted(tx.update)
        self._layout: _Layout | None = None
        self.iterations = Variable(0, trainable=False, name=f"{self.name}/iterations")
        self.state: dict[str, Variable] = {}

    def __repr__(self) -> str:
        return f"<ag.optim.Optimizer {self.name!r}>"

    @property
    def learning_rate(self) -> Variable:
        """The Variable that holds the learning rate, if the transformation keeps it in its state; it can be assigned.

        ``optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)`` does; ``optax.adam(1e-3)`` does not.

        Raises:
          AttributeError: the transformation has no such state, or the optimizer is not built yet.
        """
        for path, variable in self.state.items():
            if path.rpartition(".")[2] == _RATE:
                return variable
        raise AttributeError(
            f"{self!r} has no learning_rate yet: call build(variables) first"
            if self._layout is None
            else f"{self!r} has no learning_rate in its state. Make the transformation with "
            "optax.inject_hyperparams(optax.adam)(learning_rate=…), or with any other optimizer of optax instead of adam."
        )

    @learning_rate.setter
    def learning_rate(self, value: ArrayLike) -> None:
        self.learning_rate.assign(value)

    def build(self, variables: Iterable[Variable]) -> None:
        """Create the state for the Variables to optimize. Later calls must pass the same Variables.

        Args:
          variables: all Variables that will be optimized.

        Raises:
          ValueError: the optimizer was built for other Variables.

        >>> import autograph as ag, optax
        >>> optimizer = ag.optim.from_optax(optax.sgd(0.1, momentum=0.9))
        >>> optimizer.build([ag.Variable(1.0, name="w")])
        >>> sorted(optimizer.state)
        ['0.trace.0']
        """
        given = _checked(variables)
        if not given:
            raise ValueError(f"{self!r} is given no Variables")
        if self._layout is None:
            self._build(given)
        else:
            self._refuse_others(self._layout, given)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[ArrayLike | None, Variable]], **extra: PyTree) -> None:
        """Update Variables with their gradients.

        Args:
          grads_and_vars: pairs of a gradient, an array of its Variable's shape, and the Variable:
            ``zip(grads, variables)``. A pair whose gradient is None is skipped. All calls must pass the same
            Variables, in any order.
          **extra: further keyword arguments of the transformation's ``update``.

        Raises:
          ValueError: there are no gradients, the Variables differ from those before, a gradient has another shape, or
            a Variable occurs twice.
          TypeError: an item is not a pair of an array and a Variable.

        >>> import autograph as ag, optax
        >>> w = ag.Variable([1.0, 2.0])
        >>> ag.optim.from_optax(optax.sgd(0.5)).apply_gradients([([1.0, 1.0], w)])
        >>> w.numpy().tolist()
        [0.5, 1.5]
        """
        pairs = [_pair(pair) for pair in grads_and_vars]
        pairs = [(gradient, variable) for gradient, variable in pairs if gradient is not None]
        given = _checked(variable for _, variable in pairs)
        if not given:
            raise ValueError(f"{self!r} is given no gradients: the loss depends on none of the Variables")
        by_id = {id(variable): _fitting(gradient, variable) for gradient, variable in pairs}
        self.build(given)
        assert self._layout is not None
        self._step(self._layout, [by_id[id(variable)] for variable in self._layout.variables], extra)

    def minimize(
        self,
        loss: ArrayLike | Callable[[], ArrayLike],
        var_list: Iterable[Variable] | Callable[[], Iterable[Variable]],
        tape: GradientTape | None = None,
    ) -> ArrayLike:
        """Compute the gradients of a loss, and apply them.

        Args:
          loss: a function without arguments that returns a scalar, and is called once; with ``tape``, an array that
            the tape's block computed.
          var_list: the Variables, or a function without arguments that returns them. The gradient with respect to a
            Variable that the loss does not depend on is zero.
          tape: a `GradientTape`, or None.

        Returns:
          The loss before the update. A transformation with a line search, such as ``optax.lbfgs()``, evaluates
          ``loss`` for it.

        Raises:
          TypeError: ``loss`` is not a function, and there is no ``tape``.

        >>> import autograph as ag, optax
        >>> w = ag.Variable(3.0)
        >>> loss = ag.optim.from_optax(optax.sgd(0.5)).minimize(lambda: w * w, [w])
        >>> float(loss), float(w)
        (9.0, 0.0)
        """
        variables = list(_checked(var_list() if callable(var_list) else var_list))
        if tape is not None:
            self.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
            return cast("ArrayLike", loss)
        if not callable(loss):
            raise TypeError(f"minimize takes a function without arguments, or a tape beside the loss; got {loss!r}")
        self.build(variables)
        assert self._layout is not None
        variables = list(self._layout.variables)
        value, gradients, again = value_and_grad_again(loss, variables)
        extra = {"value": value, "grad": gradients, "value_fn": again} if _takes_any(self._update) else {}
        self._step(self._layout, gradients, extra)
        return value

    def _step(self, layout: _Layout, gradients: list[Any], extra: dict[str, Any]) -> None:
        values = [variable.value for variable in layout.variables]
        state = layout.state_of([variable.value for variable in self.state.values()])
        updates, state = self._update(gradients, state, values, **extra)
        leaves = layout.leaves_of(state, self)
        written = [*layout.variables, *self.state.values()]
        new = [
            *(_updated(value, update) for value, update in zip(values, updates, strict=True)),
            *leaves,
        ]
        fitted = [variable._fitted(value) for variable, value in zip(written, new, strict=True)]
        for variable, value in zip(written, fitted, strict=True):
            variable.assign(value)
        self.iterations.assign_add(1)

    def _build(self, variables: Sequence[Variable]) -> None:
        frame = current_frame()
        if frame is None:
            self._start(variables, self._init([variable.value for variable in variables]))
            return
        # The state belongs to no program: it is made outside of the recording, unless it starts from the Variables' values.
        with outside_recordings():
            zero, one = (self._init([_filled(variable, number) for variable in variables]) for number in (0, 1))
            if _are_equal(zero, one):
                self._start(variables, zero)
                return
        if STAGING.place() is not frame.place:
            raise StagingError(
                f"{user_location()}\n  The state of {self!r} starts from the Variables' values, and is created "
                "inside a staged branch or loop.\n  Call build(variables) before that statement, or outside of the function."
            )
        self._start(variables, self._init([variable.value for variable in variables]))

    def _start(self, variables: Sequence[Variable], state: Any) -> None:
        layout, values = _Layout.of(tuple(variables), state)
        self.state = {
            path: Variable(value, trainable=False, name=f"{self.name}/{path}") for path, value in values.items()
        }
        self._layout = layout

    def _refuse_others(self, layout: _Layout, given: Sequence[Variable]) -> None:
        known, now = ({id(variable): variable for variable in each} for each in (layout.variables, given))
        unknown = [variable.name for key, variable in now.items() if key not in known]
        missing = [variable.name for key, variable in known.items() if key not in now]
        if unknown:
            raise ValueError(
                f"{self!r} was built for other Variables, and is now given {', '.join(map(repr, unknown))}. "
                "Make an optimizer for each set of Variables, or build(variables) with all of them first."
            )
        if missing:
            raise ValueError(
                f"{self!r} has no gradient of {', '.join(map(repr, missing))}, for which it was built: a transformation updates all "
                "its Variables at once. Pass zeros (tape.gradient(…, unconnected_gradients='zero')), or create an optimizer for each set."
            )


@dataclass(frozen=True)
class _Layout:
    """How the state of a transformation is kept in Variables.

    Attributes:
      variables: those that are optimized, in the transformation's order.
      structure: the state's.
      constants: its leaves that are no arrays, by number.
      keys: the implementations of its leaves that are keys for random numbers, by number.
    """

    variables: tuple[Variable, ...]
    structure: Any
    constants: dict[int, Any]
    keys: dict[int, Any]

    @classmethod
    def of(cls, variables: tuple[Variable, ...], state: Any) -> tuple[_Layout, dict[str, Any]]:
        """The layout of a state, and its arrays by names."""
        found, structure = jax.tree_util.tree_flatten_with_path(state)
        constants = {number: leaf for number, (_, leaf) in enumerate(found) if not isinstance(leaf, _NUMBERS)}
        keys = {number: jax.random.key_impl(leaf) for number, (_, leaf) in enumerate(found) if _is_key(leaf)}
        arrays = {
            ".".join(jax.tree_util.keystr((key,), simple=True) for key in path) or "value": _without_key(leaf)
            for number, (path, leaf) in enumerate(found)
            if number not in constants
        }
        return cls(variables, structure, constants, keys), arrays

    def state_of(self, values: Sequence[Any]) -> Any:
        """The state with these arrays."""
        arrays = iter(values)
        leaves = [
            self.constants[number] if number in self.constants else next(arrays)
            for number in range(self.structure.num_leaves)
        ]
        for number, kind in self.keys.items():
            leaves[number] = jax.random.wrap_key_data(leaves[number], impl=kind)
        return self.structure.unflatten(leaves)

    def leaves_of(self, state: Any, optimizer: Optimizer) -> list[Any]:
        """The arrays of a state."""
        leaves, structure = jax.tree_util.tree_flatten(state)
        if structure != self.structure:
            raise ValueError(
                f"the state of {optimizer!r} changes its structure, which Variables cannot.\n  before: {self.structure}\n"
                f"  after:  {structure}"
            )
        return [_without_key(leaf) for number, leaf in enumerate(leaves) if number not in self.constants]


def _checked(variables: Iterable[Any]) -> tuple[Variable, ...]:
    if isinstance(variables, Variable):
        raise TypeError(f"an optimizer takes a list of Variables; got {variables!r}")
    given = tuple(map(in_place_of, variables.values() if isinstance(variables, dict) else variables))
    for variable in given:
        if not isinstance(variable, Variable):
            raise TypeError(f"an optimizer updates Variables; got {type(variable).__name__}")
    if len({id(variable) for variable in given}) < len(given):
        twice = next(v.name for k, v in enumerate(given) if any(v is other for other in given[:k]))
        raise ValueError(f"the Variable {twice!r} is given twice")
    return given


def _pair(pair: Any) -> tuple[Any, Variable]:
    try:
        gradient, variable = pair
    except (TypeError, ValueError):
        raise TypeError(f"apply_gradients takes pairs of a gradient and a Variable; got {pair!r}") from None
    return gradient, in_place_of(variable)


def _fitting(gradient: Any, variable: Variable) -> Any:
    array = jnp.asarray(plain(gradient))
    if array.shape != variable.shape:
        raise ValueError(
            f"the gradient of {variable.name!r} has the shape {array.shape}, and the Variable {variable.shape}"
        )
    return array


def _updated(value: Any, update: Any) -> Any:
    return value if update is None else jnp.asarray(value + update, value.dtype)


def _filled(variable: Variable, number: int) -> Any:
    """An array like the Variable's, placed as its value is."""
    value = variable._value
    if isinstance(value, jax.Array) and not value.is_deleted():
        return jnp.full_like(value, number)
    return jnp.full(variable.shape, number, variable.dtype)


def _are_equal(one: Any, other: Any) -> bool:
    first, second = jax.tree_util.tree_leaves(one), jax.tree_util.tree_leaves(other)
    return len(first) == len(second) and all(
        np.array_equal(_without_key(a), _without_key(b)) if isinstance(a, _NUMBERS) else a is b or a == b
        for a, b in zip(first, second, strict=True)
    )


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _without_key(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _takes_any(function: Callable[..., Any]) -> bool:
    """Whether a function takes keyword arguments of any name."""
    parameters = inspect.signature(function).parameters.values()
    return any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
