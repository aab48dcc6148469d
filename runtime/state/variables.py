"""`Variable`: a mutable array, which programs take as an input and return as an output.

While one is recorded, a stand-in takes its place.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType, Staging
from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.list_room import Rooms
from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.assignable import Assignable
from autograph.runtime.state.assigned_derivatives import AssignedDerivatives
from autograph.runtime.state.commits import COMMITS, GIVEN_AWAY, VariableLock, commit
from autograph.runtime.state.processes import is_readable
from autograph.runtime.tracing.locations import user_line, user_location
from autograph.runtime.tracing.recording import LOCAL, count_effect
from autograph.runtime.tracing.statements import Statements
from autograph.runtime.typing import DTypeLike, TensorLike

_KINDS = "biufc"  # a Python value fits a variable of its own kind or of a later one; u counts as i
_ORDER = itertools.count()


class Frame:
    """One recording of a user's function, in which Variables are read and assigned through stand-ins.

    Attributes:
      may_create: whether the function may create Variables now.
      make_rooms: returns the capacities of its lists; None if the function cannot run again with larger ones.
      created: the Variables that it created, each with its recorded initial value, or None if that is known.
      statements: the staged statements recorded in it.
      lines: by the identities of the lists, dicts and objects from outside that it has written, the line that did so first.
      is_watched: whether someone notes the writes of the whole trace.
      arguments: the identities of the lists, dicts and dataclasses among its arguments, and of those in the places of others outside.
      changes: what it has changed in them; None if nothing.
      tells_apart: whether it depends on which of them are one.
      given: the arrays among its arguments that it writes in place, each a `given_arrays.GivenArray`.
      signature: of the call that is recorded; None outside of a `Function`.
      taken: what stands for what the places outside hold that the program takes and leaves; see `signatures.outside_places`.
      places: the keys of these places. reached: what is outside, of a trace that takes some.
      warnings: what issues those that count if the trace ends.
      extended: by id, the lists outside that are only appended to, each with the error for anything else.
      touched: the Variables that it read or assigned, by identity. The program needs them even if they are dropped
        later.
    """

    def __init__(
        self,
        name: str,
        may_create: bool,
        make_rooms: Callable[[], Rooms] | None,
        statements: Statements | None = None,
    ) -> None:
        self.name = name
        self.statements = Statements() if statements is None else statements
        self.make_rooms = make_rooms
        self.may_create = may_create
        self.created: list[tuple[Variable, Any]] = []
        self.lines: dict[int, str] = {}
        self.is_watched = False
        self.arguments: Collection[int] = ()
        self.changes: Any = None
        self.tells_apart = False
        self.given: list[Any] = []
        self.signature: Any = None
        self.taken: Sequence[Any] = ()
        self.places: Container[Any] = ()
        self.reached: Any = None
        self.extended: dict[int, Callable[[], Exception]] = {}
        self.warnings: list[Callable[[], None]] = []
        self.touched: dict[int, Variable] = {}
        self.place: Any = None

    @property
    def rooms(self) -> Rooms | None:
        """What `make_rooms` returns."""
        return None if self.make_rooms is None else self.make_rooms()

    def record(self, block: Callable[..., Sequence[Any]], arrays: Sequence[Any]) -> Any:
        """Run ``block`` once on stand-ins of ``arrays``.

        The initial values of the Variables that it created follow its results.
        """

        def run(*operands: Any) -> list[Any]:
            outer, LOCAL.frame = LOCAL.frame, self
            if outer is not None:
                outer.statements.include(self.statements)
            self.place = STAGING.place()
            COMMITS.busy += 1
            try:
                outputs = list(block(*operands))
                return outputs + [initial for _, initial in self.created if initial is not None]
            finally:
                COMMITS.busy -= 1
                LOCAL.frame, self.place = outer, None

        run.__wrapped__ = block  # type: ignore[attr-defined]
        program = STAGING.record(run, arrays)
        for site in STAGING.sites(program):
            if site.is_caught:  # by a handler that does not receive it
                raise StagingError(site.refusal)
        for issue in self.warnings:
            issue()
        return program


_MAKING_STAND_INS = threading.Lock()


def staging() -> Staging:
    """Return the object that records programs."""
    return STAGING


def current_frame() -> Frame | None:
    """Return the recording that runs in this thread now."""
    frame: Frame | None = LOCAL.frame
    return frame


@contextmanager
def outside_recordings() -> Iterator[None]:
    """Run a block outside of all recordings, for internal state that is made on first use."""
    outer, LOCAL.frame = LOCAL.frame, None
    try:
        with jax.core.eval_context():
            yield
    finally:
        LOCAL.frame = outer


def touched_by(program: Any) -> list[tuple[Variable, bool]]:
    """Return the Variables that a recorded program uses, and whether it assigns each."""
    staging = STAGING
    return [(staging.owner(ref), written) for ref, written in staging.stand_ins(program)]


class Variable(Assignable, AssignedDerivatives):
    """A mutable array that compiled functions can read and assign.

    A `Function` takes the Variables that it uses as implicit inputs and returns their new values as implicit outputs.
    Assignments in branches, loops, ``lax.scan`` bodies and nested functions happen in program order, once for each
    execution; a call that raises leaves Variables unchanged. The shape and the dtype are fixed at creation. NumPy's
    operators, indexing and the methods of an array apply to the value; in-place operators assign.

    Args:
      initial_value: an array, a number, a nested list, or a function without arguments that returns one of these.
      trainable: whether `grad` and `Module.trainable_variables` include it by default.
      name: its name in messages.
      dtype: the dtype; by default that of the initial value.
      sharding: a `jax.sharding.Sharding` that its value is kept in.

    Raises:
      TypeError: ``initial_value`` or ``sharding`` is of another type.
      ValueError: it is created inside a `Function` after the first call.
      StagingError: it is created from a traced value in a staged statement or under a transform.

    >>> import autograph as ag, jax.numpy as jnp
    >>> total = ag.Variable(0.0, name="total")
    >>> @ag.function
    ... def add(x):
    ...     for part in x:
    ...         if part > 0:
    ...             total.assign_add(part)
    >>> add(jnp.array([1.0, -2.0, 3.0]))
    >>> total
    <ag.Variable 'total' float32[] 4.0>
    """

    __slots__ = (
        "__weakref__",
        "_is_awaited",
        "_lent",
        "_lock",
        "_name",
        "_order",
        "_position",
        "_stand_in",
        "_trainable",
        "_type",
        "_value",
    )

    __autograph_is_variable__ = True
    _is_plain: ClassVar[bool] = True  # whether reading and writing ``_value`` runs none of Python's code

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike],
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        sharding: jax.sharding.Sharding | jax.Device | None = None,
    ) -> None:
        self._name = name
        self._position = user_line()
        self._trainable = bool(trainable)
        self._order = next(_ORDER)
        self._lock = VariableLock()
        self._stand_in: Any = None
        self._lent = False
        self._is_awaited = False  # whether a program that calls Python holds it, and gives it a value when it ends
        self._value: Any = None
        self._moving: tuple[Any, Any] | None = None
        frame: Frame | None = LOCAL.frame
        if frame is not None and not frame.may_create:
            raise self._created_too_late(frame.name)
        initial = plain(initial_value() if callable(initial_value) else initial_value)
        leaves = jax.tree_util.tree_leaves(initial)
        if initial is None or any(isinstance(leaf, str | bytes) for leaf in leaves):
            raise TypeError(f"initial_value must be an array, a number or a nested list of numbers; got {initial!r}")
        if not isinstance(sharding, jax.sharding.Sharding | jax.Device | None):
            raise TypeError(f"sharding must be a jax.sharding.Sharding; got {sharding!r}")
        traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
        if traced:
            value = _strong(initial, dtype)
        else:
            with jax.core.eval_context():
                value = _strong(np.array(initial) if isinstance(initial, np.ndarray) else initial, dtype)
                value = value if sharding is None else jax.device_put(value, sharding)
        self._type = LeafType(tuple(value.shape), value.dtype)
        if traced:
            self._start_with(value)
            return
        self._value = value
        if frame is not None:
            frame.created.append((self, None))

    def _start_with(self, value: Any) -> None:
        """Take a start value that is known only when what is being recorded runs."""
        frame: Frame | None = LOCAL.frame
        if frame is None or STAGING.place() is not frame.place:
            raise StagingError(
                f"{user_location()}\n  {self._label()} is created from a traced value, "
                + (
                    "inside a staged branch or loop. Create it before that statement."
                    if frame is not None
                    else "inside a JAX trace that autograph does not own. Wrap the function in autograph.function."
                )
            )
        frame.created.append((self, value))
        STAGING.write(self._standing(), value)

    def _initialise(self, value: Any) -> None:
        """Set a Variable that was made in a recording to its start value, now that the recording runs."""
        if isinstance(value, jax.core.Tracer):
            self._start_with(value)
        else:
            self._value = value

    @property
    def value(self) -> jax.Array:
        """The current value, a `jax.Array`."""
        staging = STAGING
        place = staging.place()
        frame: Frame | None = LOCAL.frame
        if frame is not None:
            if not staging.is_within(place, frame.place):
                raise self._out_of_order("read")
            for tape in LOCAL.tapes:
                tape.saw(self, None)  # which knows the value by the stand-in
            moving = self._moving_value(place, frame)
            return moving if moving is not None else staging.read(self._standing())
        if not staging.is_plain(place) and staging.is_recording(place):
            raise self._not_ours("read")
        moving = self._moving_value(place, None)
        if moving is not None:
            return moving
        value = self._shared()
        if value is None:
            raise self._unset()
        if value.is_deleted():
            raise self._lost()
        for tape in LOCAL.tapes:
            tape.saw(self, value)
        return value

    def _shared(self) -> Any:
        """The value, which someone else holds, too, from now on: no call takes its memory."""
        while True:
            value = self._value
            self._lent = True
            if value is GIVEN_AWAY:
                with self._lock:  # until the call that takes its memory has given another
                    if self._value is GIVEN_AWAY:  # which waits for this: an interrupt's handler asks
                        raise self._under_way()
                continue
            if self._value is value:  # so no call has begun to take it before it was marked
                return value

    def _given_away(self, value: Any) -> Any:
        """The value, with whose memory a call that holds the lock may do as it likes: a copy if someone else may hold it."""
        if value is None:
            return None
        self._value = GIVEN_AWAY  # first: who reads it from now on waits
        if not self._lent:
            return value
        self._value = value
        return jnp.array(value, copy=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """The fixed shape."""
        return self._type.shape

    @property
    def dtype(self) -> jnp.dtype:
        """The fixed dtype."""
        return self._type.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._type.shape)

    @property
    def trainable(self) -> bool:
        """Whether `grad` and `Module.trainable_variables` include it by default."""
        return self._trainable

    @property
    def name(self) -> str:
        """The name that it was created with; ``'Variable'`` by default."""
        return self._name or "Variable"

    def _change(self, new: Callable[[Variable], Any]) -> Variable:
        """Assign what ``new`` returns for the Variable."""
        self._check_free()
        with self._lock:
            self._write(self._fitted(new(self)))
        return self

    def __repr__(self) -> str:
        value = None if LOCAL.frame is not None else self._value
        is_known = value is not None and value is not GIVEN_AWAY and value.size <= 16 and is_readable(value)
        text = f" {np.asarray(self._shared()).tolist()}" if is_known else ""
        return f"<ag.Variable {self.name!r} {self._type}{text}>"

    def _described(self) -> str:
        return f"Variable {self.name!r}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        copy = memo[id(self)] = Variable(self.value, self._trainable, self._name)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return Variable, (self.numpy(), self._trainable, self._name)

    # Writing.

    def _check_free(self) -> None:
        """Raise if a function that a program calls would write a Variable of that program's, or wait for it for
        ever.
        """
        if LOCAL.in_callback and self._is_awaited:
            raise RuntimeError(
                f"{user_location()}\n  {self._label()} is used by the program that is calling this function (py_function), which "
                "assigns it when it ends.\n  Return what the function computes, and assign it in the program."
            )

    def _write(self, value: Any) -> None:
        staging = STAGING
        place = staging.place()
        frame: Frame | None = LOCAL.frame
        if frame is None:
            if not staging.is_plain(place):
                self.check_writable(value)
                value = self._without_derivative(place, value, None)
            self._lent = True  # to whoever assigns it
            commit((self,), (value,))
            return
        if not staging.is_within(place, frame.place):
            raise self._out_of_order("written")
        if staging.is_mapped(place, frame.place):
            raise self._mapped()
        if place is not frame.place:
            value = self._without_derivative(place, value, frame)
        try:
            staging.write(self._standing(), value)
        except Exception as error:
            if type(error) is not Exception:
                raise
            raise self._differentiated() from error
        count_effect()

    def check_writable(self, value: TensorLike) -> None:
        """Raise unless ``value`` can be assigned here, outside of all recordings."""
        staging = STAGING
        place = staging.place()
        if staging.is_recording(place):
            raise self._not_ours("written")
        if staging.is_mapped(place):
            raise self._mapped()
        if isinstance(value, jax.core.Tracer) and not staging.is_differentiated(value, place):
            raise self._differentiated()

    def _fitted(self, value: Any) -> Any:
        """``value`` as an array of this shape and dtype, if it is one or a Python value that fits."""
        value = plain(value)
        if isinstance(value, jax.Array):
            fits = value.dtype == self.dtype or (value.weak_type and self._admits(value.dtype))
        elif isinstance(value, np.ndarray | np.generic):
            fits = jax.dtypes.canonicalize_dtype(value.dtype) == self.dtype
            value = np.array(value)
        else:
            value = self._array_of(value)
            fits = self._admits(value.dtype)
        if not fits or tuple(value.shape) != self._type.shape:
            raise ValueError(
                f"{user_location()}\n  {self._label()} holds {self._type}, and is assigned "
                f"{LeafType(tuple(value.shape), value.dtype)}.\n  A variable keeps its shape and dtype: cast or reshape "
                "the value, or create the variable with another."
            )
        return jnp.asarray(value, dtype=self.dtype)

    def _array_of(self, value: Any) -> Any:
        """A Python value as an array."""
        try:
            return jnp.asarray(value)
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):  # ours, or of a tracer
                raise
            raise self._no_array(value, error) from None

    def _admits(self, dtype: Any) -> bool:
        """Whether Python values of this dtype's kind may be stored."""
        kinds = [np.dtype(d).kind.replace("u", "i").replace("V", "f") for d in (dtype, self.dtype)]
        return all(kind in _KINDS for kind in kinds) and _KINDS.index(kinds[0]) <= _KINDS.index(kinds[1])

    def _standing(self) -> Any:
        """What represents this variable while a program is recorded: one object for life, since JAX caches what
        it records.
        """
        if LOCAL.frame is not None:
            LOCAL.frame.touched[id(self)] = self
        if self._stand_in is None:
            with _MAKING_STAND_INS:
                if self._stand_in is None:
                    self._stand_in = STAGING.stand_in(self._type, self)
        return self._stand_in


def accept_variables(kinds: Sequence[type] = (Variable,)) -> None:
    """Make JAX's functions accept Variables as arrays; each call reads the current value."""
    for kind in kinds:
        STAGING.accept(kind, lambda variable: variable.__jax_array__(), lambda variable: variable._type)


def _strong(value: Any, dtype: Any) -> Any:
    array = jnp.asarray(value, dtype=dtype)
    return jnp.array(array, dtype=array.dtype, copy=True)
