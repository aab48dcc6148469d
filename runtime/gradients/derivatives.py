"""`value_and_grad` and `grad`: derivatives with respect to Variables and arguments."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.effects.raising import leave
from autograph.runtime.errors import StagingError
from autograph.runtime.function.outputs import StaticOutput
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.linked_state import Linked, in_place_of, is_variable
from autograph.runtime.state.variables import Frame, Variable, current_frame, staging, touched_by
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location


def value_and_grad(
    f: Callable[..., Any], variables: Any = None, has_aux: bool = False, argnums: int | Sequence[int] | None = None
) -> Callable[..., tuple[Any, Any]]:
    """See `autograph.value_and_grad`."""
    chosen = None if argnums is None else _argnums(argnums)

    @functools.wraps(f, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return _Differentiation(f, variables, has_aux, chosen).run(args, kwargs)

    return differentiated


def grad(
    f: Callable[..., Any], variables: Any = None, has_aux: bool = False, argnums: int | Sequence[int] | None = None
) -> Callable[..., Any]:
    """See `autograph.grad`."""
    both = value_and_grad(f, variables, has_aux, argnums)

    @functools.wraps(f, updated=())
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


def value_and_grad_again(
    f: Callable[[], Any], variables: Sequence[Variable]
) -> tuple[Any, list[Any], Callable[[Sequence[Any]], Any]]:
    """The value of ``f``, converted, and its gradients by these Variables, and its value as a function of theirs.

    That function runs what was recorded of ``f`` again, and writes to no Variable.
    """
    call = _Differentiation(LANGUAGE.operators.call(f), list(variables), False, None)
    call.name = getattr(f, "__name__", call.name)
    value, gradients = call.run((), {})
    return value, gradients, call.again


def _argnums(given: Any) -> int | tuple[int, ...]:
    try:
        return tuple(map(operator.index, given)) if isinstance(given, Sequence) else operator.index(given)
    except TypeError:
        raise TypeError(f"argnums must be an int or a sequence of ints; got {given!r}") from None


class RecordedCall:
    """One call of a user's function, recorded as a program of arrays and of the Variables that it touches.

    Attributes:
      name: what messages call the function.
      program: the recorded program.
      touched: the Variables that it touches, and whether it writes each.
      is_inside: whether it is called in a recording.
    """

    def __init__(self, name: str, block: Callable[..., Sequence[Any]], operands: Sequence[Any]) -> None:
        """Record ``block`` on stand-ins of ``operands``; the Variables that it creates are then there."""
        self.name, self.operands = name, operands
        outer = current_frame()
        self.is_inside = outer is not None
        make_rooms = None if outer is None else outer.make_rooms
        counts: list[int] = []  # not the results, which nothing may hold when their trace ends

        def counted(*arrays: Any) -> Sequence[Any]:
            leaves = block(*arrays)
            counts[:] = [len(leaves)]
            return leaves

        frame = Frame(name, outer is None or outer.may_create, make_rooms)
        self.program = frame.record(counted, operands)
        self.touched = touched_by(self.program)
        if any(start is not None for _, start in frame.created):
            self._start(frame, counts[0])
            self.program = Frame(name, False, make_rooms).record(counted, operands)  # now that they exist
            self.touched = touched_by(self.program)

    @property
    def variables(self) -> list[Variable]:
        return [variable for variable, _ in self.touched]

    def values(self) -> list[Any]:
        return [variable.value for variable in self.variables]

    def evaluated(self, operands: Sequence[Any], values: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        """Its results, the Variables' values after it, and what `leave` takes for its exception, or None."""
        stand_ins = [variable._standing() for variable in self.variables]
        return staging().run(self.program, operands, stand_ins, values)

    def locked(self, others: Sequence[Variable] = ()) -> ExitStack:
        """Keeps other threads from its Variables while it runs outside of a program."""
        held = ExitStack()
        if not self.is_inside:
            every = {id(variable): variable for variable in (*self.variables, *others)}
            for variable in sorted(every.values(), key=lambda variable: variable._order):
                held.enter_context(variable._lock)
        return held

    def write(self, last: Sequence[Any]) -> None:
        """Set the Variables that it writes to the values that they have after it."""
        written = [
            (variable, new) for (variable, is_written), new in zip(self.touched, last, strict=True) if is_written
        ]
        if not self.is_inside:
            for variable, new in written:
                variable.check_writable(new)
        for variable, new in written:
            variable._write(jnp.asarray(new))  # of a constant, NumPy has made it

    def _start(self, frame: Frame, count: int) -> None:
        """Set the Variables that it created from recorded values to their start values."""
        starting = [variable for variable, start in frame.created if start is not None]
        created = {id(variable) for variable in starting}
        values = [jnp.zeros(v.shape, v.dtype) if id(v) in created else v.value for v in self.variables]
        stand_ins = [variable._standing() for variable in self.variables]
        starts = staging().run_part(self.program, self.operands, stand_ins, values, range(count, count + len(starting)))
        for variable, start in zip(starting, starts, strict=True):
            variable._initialise(start)


class _Differentiation:
    """One call: ``f`` recorded, then run as a function of Variables' values, and of arguments, and differentiated."""

    def __init__(
        self, f: Callable[..., Any], variables: Any, has_aux: bool, argnums: int | tuple[int, ...] | None
    ) -> None:
        self.f = f
        self.has_aux = has_aux
        self.argnums = argnums
        self.name = getattr(f, "__name__", "the function")
        self.given = variables
        self.treedef: Any = None
        self.again: Callable[[Sequence[Any]], Any]

    def run(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        self._refuse_unseen()
        positions = self._positions(len(args))
        structure_of_args: Any
        leaves, structure_of_args = jax.tree_util.tree_flatten([args[k] for k in positions], is_leaf=_is_variable)
        for leaf in leaves:
            self._check_argument(leaf)
        structure: list[Any] = []

        def block(*operands: Any) -> Sequence[Any]:
            given = list(args)
            for k, argument in zip(positions, structure_of_args.unflatten(operands), strict=True):
                given[k] = argument
            value = self.f(*given, **kwargs)
            if self.has_aux and not (isinstance(value, tuple) and len(value) == 2):
                raise TypeError(
                    f"{self.name} must return a pair (value, aux) with has_aux=True; got {_described(value)}"
                )
            loss, aux = value if self.has_aux else (value, None)
            results, tree = jax.tree_util.tree_flatten(jax.tree_util.tree_map(as_leaf, (self._scalar(loss), aux)))
            structure[:] = len(results), tree
            return results

        call = RecordedCall(self.name, block, leaves)
        count, tree = structure
        wrt = self._with_respect_to(call.variables)
        with call.locked(wrt):
            outputs, by_args, by_variables = self._run(call, leaves, wrt)
        value, aux = jax.tree_util.tree_map(from_leaf, tree.unflatten(outputs[:count]), is_leaf=is_static)
        gradient = by_variables if self.treedef is None else self.treedef.unflatten(by_variables)
        if self.argnums is not None:
            of_args = tuple(structure_of_args.unflatten(by_args))
            chosen = of_args[0] if isinstance(self.argnums, int) else of_args
            gradient = chosen if self.given is None else (chosen, gradient)
        return ((value, aux) if self.has_aux else value), gradient

    def _scalar(self, loss: Any) -> Any:
        value = plain(loss)
        is_number = isinstance(value, jax.Array | np.ndarray | np.generic | bool | int | float | complex)
        found = jnp.asarray(value) if is_number else None
        if found is None or found.shape or not jnp.issubdtype(found.dtype, jnp.floating):
            what = _described(loss) if found is None else f"{found.dtype}[{','.join(map(str, found.shape))}]"
            raise TypeError(f"{self.name} must return a scalar of a floating-point dtype; got {what}")
        return found

    def _refuse_unseen(self) -> None:
        if self.given is None or current_frame() is not None:
            return
        for leaf in jax.tree_util.tree_leaves(self.given, is_leaf=_is_variable):
            if isinstance(leaf, Linked) or is_variable(leaf):
                raise TypeError(
                    f"outside of a function, variables of Keras and flax.nnx that {self.name} uses are not tracked: differentiate it in "
                    "an autograph.function, or with a GradientTape"
                )

    def _positions(self, count: int) -> list[int]:
        if self.argnums is None:
            return []
        numbers = [self.argnums] if isinstance(self.argnums, int) else list(self.argnums)
        for number in numbers:
            if not -count <= number < count:
                raise ValueError(
                    f"argnums names the argument {number} of {self.name}, which is called with {count} by position"
                )
        positions = [number % count for number in numbers]
        if len(set(positions)) < len(positions):
            raise ValueError(f"argnums names an argument of {self.name} twice: {self.argnums}")
        return positions

    def _check_argument(self, leaf: Any) -> None:
        if isinstance(leaf, Variable):
            raise TypeError(
                f"argnums names an argument that holds {leaf._label(article='the')}: pass it as one of the `variables`"
            )
        if not isinstance(leaf, float | complex) and not jnp.issubdtype(
            getattr(leaf, "dtype", type(leaf)), jnp.inexact
        ):
            what = f"dtype {leaf.dtype}" if hasattr(leaf, "dtype") else type(leaf).__name__
            raise TypeError(f"argnums names an argument of {self.name} that holds {what}, which has no gradient")

    def _run(
        self, call: RecordedCall, args: Sequence[Any], wrt: Sequence[Variable]
    ) -> tuple[list[Any], Sequence[Any], list[Any]]:
        positions = {id(variable): k for k, variable in enumerate(call.variables)}
        values = call.values()
        name = self.name  # `again` must not hold what holds it: Variables are freed with their last reference

        def evaluated(operands: Sequence[Any], inputs: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
            given = list(values)
            for variable, value in zip(wrt, inputs, strict=True):
                if id(variable) in positions:
                    given[positions[id(variable)]] = value
            return call.evaluated(operands, given)

        def pure(operands: Sequence[Any], inputs: Sequence[Any]) -> Any:
            outputs, last, error = evaluated(operands, inputs)
            if error is not None:
                leave(*error)
            return outputs[0], (outputs, last)

        def again(inputs: Sequence[Any]) -> Any:
            outputs, _, error = evaluated(args, inputs)
            if error is not None:
                raise StagingError(
                    f"{user_location()}\n  {name} may raise an exception, and is evaluated in a line "
                    "search, which cannot carry exceptions.\n  Check the condition before, or use an optimizer "
                    "without a line search."
                )
            return outputs[0]

        self.again = again

        inputs = [values[positions[id(variable)]] if id(variable) in positions else variable.value for variable in wrt]
        (_, (outputs, last)), gradients = jax.value_and_grad(pure, argnums=(0, 1), has_aux=True)(list(args), inputs)
        call.write(last)
        return outputs, *gradients

    def _with_respect_to(self, touched: Sequence[Variable]) -> list[Variable]:
        if self.given is None:
            if self.argnums is not None:
                return []
            chosen = [v for v in touched if v.trainable and jnp.issubdtype(v.dtype, jnp.inexact)]
            if not chosen:
                raise ValueError(
                    f"{self.name} reads no trainable Variable of a floating-point dtype: there is nothing to differentiate with respect "
                    "to. Pass argnums=0 for the gradient with respect to its first argument, or the Variables as `variables`."
                )
            return sorted(chosen, key=lambda variable: variable._order)
        leaves, self.treedef = jax.tree_util.tree_flatten(self.given, is_leaf=_is_variable)
        if current_frame() is not None:  # in which the variables of other libraries are linked
            leaves = list(map(in_place_of, leaves))
        for leaf in leaves:
            if not isinstance(leaf, Variable):
                raise TypeError(f"variables holds Variables; got {type(leaf).__name__}")
            if not jnp.issubdtype(leaf.dtype, jnp.inexact):
                raise TypeError(f"{leaf._label()} has dtype {leaf.dtype}, which has no gradient")
        return leaves


def _is_variable(leaf: Any) -> bool:
    return isinstance(leaf, Variable) or is_variable(leaf)


def as_leaf(leaf: Any) -> Any:
    """A result as one of a program: an array, or what is no array kept beside it."""
    leaf = plain(leaf)
    is_value = isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex)
    return leaf if is_value else StaticOutput(leaf)


def from_leaf(leaf: Any) -> Any:
    """The result that `as_leaf` took."""
    return leaf.value if isinstance(leaf, StaticOutput) else leaf


def is_static(leaf: Any) -> bool:
    """Whether `as_leaf` kept this beside the program."""
    return isinstance(leaf, StaticOutput)


def _described(value: Any) -> str:
    return "an array" if isinstance(value, jax.Array) else type(value).__name__
