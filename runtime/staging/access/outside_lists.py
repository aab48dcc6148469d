"""Writes to lists, dicts and sets from outside the function: at trace time, or at run time with `Feature.LISTS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from autograph.backends.base import NotRollable
from autograph.runtime.effects.callbacks import py_function
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import is_mutating_method
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.state.processes import is_one_of_several
from autograph.runtime.tracing.locations import user_location, warn
from autograph.runtime.tracing.recording import LOCAL, is_recording

_GIVING = frozenset({"pop", "popleft", "popitem", "setdefault"})


class OutsideLists(InTrace):
    """The operator for such writes.

    Args:
      call: what to call in place of a function.
      writes_at_run_time: whether they are operations of the program (`Feature.LISTS`).
    """

    def __init__(self, trace: Callable[[], Trace], call: Callable[[Any], Any], writes_at_run_time: bool) -> None:
        super().__init__(trace)
        self.call = call
        self.writes_at_run_time = writes_at_run_time

    def call_outside(self, called: Any) -> Any:
        """`call` for a method of an object that lives outside the function, a list say."""
        owner = getattr(called, "__self__", None)
        if not is_mutating_method(called) or has_contents(owner):
            return self.call(called)
        kind = type(owner).__name__
        is_conditional = self.journal.is_conditional
        if is_conditional and not self.writes_at_run_time and LOCAL.frame is None:
            raise StagingError(
                f"{user_location()}\n  This writes to a {kind} that lives outside the function, under a traced "
                "condition: whether it happens is known only at run time, and a bare jax.jit cannot "
                "write then.\n  "
                "Call the function through autograph.function, or return the values."
            )
        if self.writes_at_run_time or is_conditional:
            return self._at_run_time(called, owner)
        if not self.journal.is_open:
            return self.call(called)
        if self.journal.is_rolling:
            raise NotRollable("it writes to a container that lives outside the function")
        warn(
            f"this writes to a {kind} that lives outside the function, inside a staged statement: it happens once, while "
            "tracing, not on each execution. Use autograph.TensorArray or Feature.LISTS, or return the values."
        )
        self.journal.leave_alone(owner)
        return called

    def _at_run_time(self, called: Any, owner: Any) -> Callable[..., Any]:
        if is_recording() and called.__name__ in _GIVING:
            raise StagingError(
                f"{user_location()}\n  `{called.__name__}` takes something out of a {type(owner).__name__} that lives outside the "
                "function: with Feature.LISTS that happens at run time, and its result is not known while "
                "tracing.\n  Take it out before the call, and pass it as an argument."
            )

        if is_recording() and is_one_of_several():
            raise StagingError(
                f"{user_location()}\n  This write to a {type(owner).__name__} that lives outside the function happens when the program "
                "runs, and Python is called in one process of this job's then, not in all.\n  Return the values, and write "
                "them after the call."
            )

        def write(*args: Any, **kwargs: Any) -> Any:
            leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
            traced = [k for k, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]
            if not is_recording():
                if not traced:
                    return called(*args, **kwargs)
                raise StagingError(
                    f"{user_location()}\n  With Feature.LISTS this write to a {type(owner).__name__} outside the function "
                    "happens when a program runs, and under this transform of JAX's none is made.\n  Run it in an "
                    "autograph.function, or in jax.jit."
                )

            def run(*values: Any) -> None:
                known = dict(zip(traced, values, strict=True))
                given, named = jax.tree_util.tree_unflatten(
                    structure, [known.get(k, leaf) for k, leaf in enumerate(leaves)]
                )
                called(*given, **named)

            self.journal.pending[id(owner)] = LOCAL.written[id(owner)] = owner
            return py_function(run, [leaves[k] for k in traced], None)

        return write

    def refuse_pending(self, container: Any) -> None:
        """`StagingError` if this is a container that the program writes when it runs, and its contents are asked for now."""
        if self.journal.pending and id(container) in self.journal.pending and is_recording():
            raise StagingError(
                f"{user_location()}\n  This reads a {type(container).__name__} that the program writes at run "
                "time (Feature.LISTS): its contents are not known while tracing.\n  Read it after the call, "
                "or collect the values in a list made "
                "in the function."
            )
