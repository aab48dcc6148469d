"""The default writer and the default step of a thread.

A compiled program must see the defaults of the call that runs it, not those of its trace, and may change them itself
(``with writer.as_default():`` in a loop). So they are the value of a Variable, which a program takes and gives back
like the user's.
"""

from __future__ import annotations

import threading
import types
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.errors import StagingError
from autograph.runtime.state.held import Held
from autograph.runtime.state.variables import Variable, current_frame, outside_recordings
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL, is_recording
from autograph.runtime.typing import ArrayLike

# What the default state holds, by position.
WRITER, HAS_STEP, STEP, VARIABLE = range(4)
_NOTHING = (0, 0, 0, 0)


class _PerThread(Held):
    """A Variable that has a value of its own in each thread."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(np.array(_NOTHING, np.int32), "defaults of autograph.summary")
        self._value = None

    @property
    def _value(self) -> Any:
        if LOCAL.in_callback:  # in whichever thread: what the function that a program calls has entered by itself
            number, step = LOCAL.summary_writers[-1] if LOCAL.summary_writers else (0, None)
            with outside_recordings():
                return jnp.array([number, step is not None, 0 if step is None else step, 0], np.int32)
        if LOCAL.summary_default is None:
            with outside_recordings():
                LOCAL.summary_default = jnp.array(_NOTHING, np.int32)
        return LOCAL.summary_default

    @_value.setter
    def _value(self, value: Any) -> None:
        LOCAL.summary_default = value


_MAKING = threading.Lock()
_MADE: list[_PerThread] = []
_STEPS: weakref.WeakValueDictionary[int, Variable] = weakref.WeakValueDictionary()


def _state() -> _PerThread:
    with _MAKING:
        if not _MADE:
            _MADE.append(_PerThread())
        return _MADE[0]


def _is_without_defaults() -> bool:
    """Whether what runs has no place for defaults: a trace that takes no Variables in; a function that a program calls,
    in this thread or another.
    """
    return current_frame() is None and (LOCAL.in_callback or is_recording())


@dataclass(frozen=True)
class Target:
    """Where a summary goes, as arrays and other things that the program holds.

    Attributes:
      defaults: the default state, or that of it which is known.
      step: the step that was given, or None.
      variable: the step's Variable, if it is one by default, by number and value.
    """

    defaults: Any
    step: Any
    variable: tuple[int, Any]

    @property
    def content(self) -> tuple[Any, ...]:
        return self.defaults, self.step, self.variable


def target(step: Any) -> Target | None:
    """Where a summary goes that is written now; None where it is known to go nowhere.

    Raises:
      StagingError: a bare ``jax.jit`` is under way, or a function that a program calls, which have no place for defaults.
    """
    if _is_without_defaults():
        if not LOCAL.summary_writers:
            raise StagingError(f"{user_location()}\n  {_IN_CALLBACK if LOCAL.in_callback else _IN_JIT}")
        number, default = LOCAL.summary_writers[-1]
        step = default if step is None else step
        if step is None:
            raise ValueError(_NO_STEP)
        return Target((number, 0, 0, 0), step, (0, 0))
    state = _state().value
    held = LOCAL.summary_step
    if current_frame() is None:
        if not int(state[WRITER]):
            return None
        held = _STEPS.get(int(state[VARIABLE]))
    variable = (0, 0) if step is not None or held is None else (_number(held), held.value)
    return Target(state, step, variable)


def _number(variable: Variable) -> int:
    """What the default state calls a Variable that is the default step."""
    return variable._order + 1


_IN_JIT = (
    "The default writer is not known inside a bare jax.jit, which would keep that of now.\n"
    "  Wrap the function in autograph.function, or enter `with writer.as_default():` inside it."
)
_IN_CALLBACK = (
    "The default writer is not known in a function that a program calls (py_function), which may run in any thread.\n"
    "  Enter `with writer.as_default():` in that function."
)
_NO_STEP = "No step is set: give `step=`, or set a default by autograph.summary.set_step(step) or writer.as_default(step=step)."


def resolved(content: tuple[Any, ...]) -> tuple[int, int] | None:
    """The number of the writer and the step, when the program runs; None where nothing is to be written.

    Raises:
      ValueError: there is no step.
      RuntimeError: the default step is another Variable than when the program was traced.
    """
    defaults, step, (number, value) = content
    writer, has_step, by_default, linked = (int(part) for part in defaults)
    if not writer:
        return None
    if step is not None:
        return writer, int(np.asarray(step))
    if linked and linked != number:
        raise RuntimeError(
            "the default step is a Variable, and was not that Variable when this program was traced. Pass `step=` instead."
        )
    if linked:
        return writer, int(np.asarray(value))
    if not has_step:
        raise ValueError(_NO_STEP)
    return writer, by_default


def now(step: Any) -> tuple[int, int]:
    """The number of the default writer of this thread, 0 if there is none, and the step of what is written now.

    Raises:
      ValueError: there is no step.
    """
    if step is None:
        step = get_step()
    if step is None:
        raise ValueError(_NO_STEP)
    return int(_state().value[WRITER]), int(np.asarray(step))


def checked_step(step: Any) -> Any:
    """``step``, if it is one: an integer, an array of one, a Variable.

    Raises:
      TypeError: it is none.
    """
    if step is None or (isinstance(step, int) and not isinstance(step, bool)):
        return step
    shape, dtype = getattr(step, "shape", None), getattr(step, "dtype", None)
    if shape != () or dtype is None or not np.issubdtype(dtype, np.integer):
        raise TypeError(f"a step must be an integer, an integer scalar array or a Variable of one; got {step!r}")
    return step


def _entries(step: Any) -> list[Any]:
    """The parts of the default state that say which step."""
    step = checked_step(step)
    LOCAL.summary_step = step if isinstance(step, Variable) else None
    if step is None:
        return [0, 0, 0]
    if isinstance(step, Variable):
        _STEPS[_number(step)] = step
        return [1, 0, _number(step)]
    if isinstance(step, int) and not -(2**31) <= step < 2**31:
        raise ValueError(f"a default step has 32 bits; got {step}. Give a larger one as `step=` of each summary.")
    return [1, step, 0]


def _assign(parts: list[Any]) -> None:
    """Make these parts the last ones of the default state."""
    state = _state()
    kept = [state.value[k] for k in range(len(_NOTHING) - len(parts))]
    state.assign(jnp.stack([jnp.asarray(part, np.int32) for part in [*kept, *parts]]))


def set_step(step: ArrayLike | None) -> None:
    """Set the default step of the summaries of this thread.

    In a compiled function the step is set at run time.

    Args:
      step: an integer; a Variable, whose value each summary reads; or None for no default.

    Raises:
      TypeError: ``step`` has another type.
      ValueError: ``step`` does not fit in 32 bits.
      StagingError: in a bare ``jax.jit``, in ``jax.vmap``, or in a function that a program calls.

    >>> ag.summary.set_step(7)
    >>> ag.summary.get_step()
    7
    >>> ag.summary.set_step(None)
    """
    if LOCAL.in_callback:
        raise StagingError(
            f"{user_location()}\n  set_step() is called in a callback (py_function), which may run in any thread.\n"
            "  Pass `step=` to each summary."
        )
    _refuse_mapped("set_step()")
    before = LOCAL.summary_step
    try:
        _assign(_entries(step))
    except BaseException:
        LOCAL.summary_step = before
        raise


def get_step() -> ArrayLike | None:
    """Return the default step of this thread.

    Returns:
      An int, the Variable that was set, or None.

    Raises:
      StagingError: a function is being traced, and the step is not known yet.

    >>> print(ag.summary.get_step())
    None
    """
    if is_recording() or LOCAL.in_callback:
        raise StagingError(
            f"{user_location()}\n  The default step of summaries is known only at run time, and may be None.\n"
            "  Pass the step to the function as an argument."
        )
    _, has_step, step, linked = (int(part) for part in _state().value)
    return _STEPS[linked] if linked else step if has_step else None


@contextmanager
def entered(writer: Any, number: int, step: Any) -> Iterator[Any]:
    """Make a writer, of this number, the default, with a default step if one is given."""
    checked_step(step)
    if _is_without_defaults():
        LOCAL.summary_writers.append((number, step))
        try:
            yield writer
        finally:
            LOCAL.summary_writers.pop()
        return
    _refuse_mapped("as_default()")
    before, linked = _state().value, LOCAL.summary_step
    parts = [before[k] for k in (HAS_STEP, STEP, VARIABLE)] if step is None else _entries(step)
    _assign([number, *parts])
    try:
        yield writer
    finally:
        _leave(before, step is not None, linked)


def _leave(before: Any, had_step: bool, linked: Variable | None) -> None:
    """Put the writer back, and the step if the writer was entered with one."""
    if had_step:
        LOCAL.summary_step = linked
        _assign([before[k] for k in range(len(_NOTHING))])
    else:
        now = _state().value
        _assign([before[WRITER], *(now[k] for k in (HAS_STEP, STEP, VARIABLE))])


def _refuse_mapped(what: str) -> None:
    frame, staging = current_frame(), STAGING
    if staging.is_mapped(staging.place(), None if frame is None else frame.place):
        raise StagingError(
            f"{user_location()}\n  {what} is called inside jax.vmap (or shard_map), for every lane.\n  Call it around the mapped function."
        )


experimental = types.SimpleNamespace(set_step=set_step, get_step=get_step)
