"""Writes to lists, dicts and sets from outside the function: at trace time, or at run time with `Feature.LISTS`."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any

import jax

from autograph.backends.base import NotRollable
from autograph.runtime.effects.as_python import resolved_values
from autograph.runtime.effects.callbacks import py_function
from autograph.runtime.errors import StagingError, TracersLeaked
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.leaked_tracers import held_or, hold
from autograph.runtime.heap.object_graph import Reached, traced_part
from autograph.runtime.heap.places import MUTABLE_CONTAINERS, ContentsPlace, is_mutating_method
from autograph.runtime.heap.reach import same
from autograph.runtime.layouts.perhaps import is_perhaps
from autograph.runtime.layouts.statement_variables import class_name, has_contents
from autograph.runtime.state.processes import is_one_of_several
from autograph.runtime.tracing.locations import user_location, warn
from autograph.runtime.tracing.recording import LOCAL, births, is_recording

_APPENDING = frozenset({"append", "extend"})
_GIVING = frozenset({"pop", "popleft", "popitem", "setdefault"})


def is_outside(owner: Any) -> bool:
    """Whether what the function of this trace reads from outside, or an object among its arguments, leads to this."""
    return owner in Reached(LOCAL.roots())


def write_later(owners: Iterable[Any], refusal: StagingError) -> None:
    """Make the trace again, in which the program writes to these lists when it runs, where they are from outside of an `ag.function`.
    In place of other containers, and of lists that it writes then already, the trace has its own.

    Args:
      refusal: the error where it cannot do that.
    """
    known = births()
    if known is None or LOCAL.frame is None or is_one_of_several():
        return
    found = [owner for owner in owners if not has_contents(owner)]
    known.write_later([owner for owner in found if type(owner) is list and is_outside(owner)], refusal)
    for owner in found:
        hold(owner, refusal)


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
        self.refuse_other_writes(owner, called.__name__)
        is_conditional = self.journal.is_conditional
        if is_conditional and not self.writes_at_run_time and LOCAL.frame is None:
            raise StagingError(
                f"{user_location()}\n  This writes to a {kind} that lives outside the function, under a traced "
                "condition: whether it happens is known only at run time, and a bare jax.jit cannot "
                "write then.\n  "
                "Call the function through autograph.function, or return the values."
            )
        known = births()
        is_later = id(owner) in LOCAL.written or (known is not None and known.is_written_later(owner))
        if self.writes_at_run_time or is_conditional or (is_later and LOCAL.frame is not None):
            return self._at_run_time(called, owner)
        if not self.journal.is_open:
            return self.call(called)
        if self.journal.is_rolling:
            raise NotRollable("it writes to a container that lives outside the function")
        if called.__name__ in _GIVING:
            refusal = StagingError(
                f"{user_location()}\n  `{called.__name__}` takes something out of a {kind} that lives outside the function, in a staged "
                "loop: it happens once, while tracing, and all iterations would get the same.\n  Pass the "
                f"{kind} as an argument, or take the items out before the loop."
            )
            raise self._held_or(owner, refusal)
        self._refuse_read_before(owner, lambda kind: self._held_or(owner, _written_once(kind)))
        warn(
            f"this writes to a {kind} that lives outside the function, inside a staged statement: it happens once, while "
            "tracing, not on each execution. Use autograph.TensorArray or Feature.LISTS, or return the values.",
            None if LOCAL.frame is None else LOCAL.frame.warnings,
        )
        place = ContentsPlace(owner)
        before = place.get()

        def refusal_of_read() -> StagingError:
            error = self._held_or(owner, _written_once(kind))
            if isinstance(error, TracersLeaked):  # the trace that is made again writes it otherwise
                place.set(before)
            return error

        self.journal.leave_alone(owner)
        if id(owner) not in self.journal.hidden:
            self.journal.hidden[id(owner)] = owner, refusal_of_read
        return called

    def at_run_time(self, owner: Any, name: str) -> Callable[..., Any] | None:
        """The method of a list or dict, which attributes or items of objects from outside lead to, that writes to it when the
        program runs; None of others, and where writes happen now.

        Raises:
          TracersLeaked: the writes are those of a container of the trace.
        """
        if type(owner) is collections.deque and self.journal.is_open and not self.journal.has_made(owner):
            hold(owner, _written_at_run_time("deque"))
        if type(owner) not in (list, dict) or LOCAL.frame is None:
            return None
        self.refuse_other_writes(owner, name)
        known = births()
        is_later = known is not None and known.is_written_later(owner)
        if not is_later and not (self.writes_at_run_time and (id(owner) in self.journal.hidden or is_outside(owner))):
            return None
        return self._at_run_time(getattr(owner, name), owner)

    def _at_run_time(self, called: Any, owner: Any) -> Callable[..., Any]:
        if is_recording() and called.__name__ in _GIVING:
            refusal = StagingError(
                f"{user_location()}\n  `{called.__name__}` takes something out of a {type(owner).__name__} that lives outside the "
                "function: with Feature.LISTS that happens at run time, and its result is not known while "
                "tracing.\n  Take it out before the call, and pass it as an argument."
            )
            raise self._held_or(owner, refusal)

        if is_recording() and is_one_of_several():
            raise StagingError(
                f"{user_location()}\n  This write to a {type(owner).__name__} that lives outside the function happens when the program "
                "runs, and Python is called in one process of this job's then, not in all.\n  Return the values, and write "
                "them after the call."
            )

        if is_recording():
            self._refuse_read_before(owner, lambda kind: self._held_or(owner, _written_at_run_time(kind)))
            self._refuse_other_times(owner)

        def write(*args: Any, **kwargs: Any) -> Any:
            leaves, structure = jax.tree_util.tree_flatten((args, kwargs))
            traced = [k for k, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]
            for leaf in (*leaves, *jax.tree_util.tree_leaves((args, kwargs), is_leaf=is_perhaps)):
                if not isinstance(leaf, jax.core.Tracer) and (is_perhaps(leaf) or traced_part(leaf, "") is not None):
                    raise self._held_or(owner, _unwritable(owner, leaf))
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
                given, named = resolved_values((given, named))
                called(*given, **named)

            def refusal() -> StagingError:
                return self._held_or(owner, _written_at_run_time(type(owner).__name__))

            LOCAL.written[id(owner)] = owner
            py_function(run, [leaves[k] for k in traced], None)
            # Until the call ends whose writes are watched.
            if type(owner) is list and id(owner) not in self.journal.hidden and self.journal.watch is not None:
                self.journal.unknowns.conceal(owner, lambda _: refusal())
            self.journal.hidden[id(owner)] = owner, refusal

        return write

    def _held_or(self, owner: Any, refusal: StagingError) -> StagingError:
        """As `held_or`, unless the user wants the writes to be operations of the program."""
        return refusal if self.writes_at_run_time else held_or(owner, refusal)

    def refuse_other_writes(self, owner: Any, name: str) -> None:
        """End the trace if this is a list that the program only appends to, and the method of this name does something else.

        Raises:
          TracersLeaked: the program is to take what the list holds.
        """
        if LOCAL.frame is not None and id(owner) in LOCAL.frame.extended and name not in _APPENDING:
            raise LOCAL.frame.extended[id(owner)]()

    def _refuse_other_times(self, owner: Any) -> None:
        """Make the trace again if it has written to a list while tracing that the program is to write when it runs, too.

        Raises:
          StagingError: the program takes what the list holds, and leaves something there.
        """
        if LOCAL.frame is None or self.journal.watch is None:
            return
        refusal = self._held_or(owner, _written_at_run_time(type(owner).__name__))
        key = ContentsPlace(owner).key
        is_written = any(p.key == key and not same(p.get(), old) for p, old, _ in self.journal.watch.entries())
        if is_written and type(refusal) is StagingError and (known := births()) is not None:
            known.write_later([owner], refusal)
        if is_written or (key in LOCAL.frame.places and id(owner) not in LOCAL.frame.extended):
            raise refusal

    def _refuse_read_before(self, owner: Any, error: Callable[[str], StagingError]) -> None:
        """Refuse a write in a staged loop whose iterations have read what they write to: the next would read the same."""
        if any(region.repeats and id(owner) in region.asked for region in self.journal.regions):
            written = self.journal.hidden.get(id(owner))
            raise error(type(owner).__name__) if written is None else written[1]()

    def refuse_hidden(self, container: Any) -> None:
        """`StagingError` if this is a container whose contents are asked for after a write that these do not show."""
        if not isinstance(container, MUTABLE_CONTAINERS) or has_contents(container):
            return
        LOCAL.asked.add(id(container))
        for region in self.journal.regions:
            region.asked.add(id(container))
        if self.journal.hidden and id(container) in self.journal.hidden and is_recording():
            raise self.journal.hidden[id(container)][1]()

    def refusing_hidden(self, called: Any, made: Callable[..., Any]) -> Callable[..., Any]:
        """``made``, called in place of code that is not converted, which reads what it is given."""
        if not is_mutating_method(called):
            self.refuse_hidden(getattr(called, "__self__", None))

        def call(*args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                self.refuse_hidden(value)
            return made(*args, **kwargs)

        return call


def _unwritable(owner: Any, item: Any) -> StagingError:
    return StagingError(
        f"{user_location()}\n  This writes a {class_name(item)} that holds traced values to a {class_name(owner)} that lives outside the "
        "function. The write happens when the program runs, and only arrays, and tuples, lists, dicts and registered pytrees of them, "
        f"are values then.\n  Write its attributes, make {class_name(item)} a pytree, or return it."
    )


def _written_at_run_time(kind: str) -> StagingError:
    return StagingError(
        f"{user_location()}\n  This reads a {kind} that the program writes at run time, as it lives outside the function: its contents are "
        f"not known while tracing.\n  Read it after the call, pass the {kind} as an argument, or collect the values in a list made in the "
        "function."
    )


def _written_once(kind: str) -> StagingError:
    return StagingError(
        f"{user_location()}\n  A staged loop writes to a {kind} that lives outside the function. That happens once, while tracing, so "
        f"what this reads is not what the iterations would leave in it.\n  Pass the {kind} as an argument, or collect the values in a list "
        "made in the function."
    )
