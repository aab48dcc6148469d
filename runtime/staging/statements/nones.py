"""``x is None`` as a traced test, and what is known of ``x`` in its branches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.effects.raising import has_handlers
from autograph.runtime.effects.staged_raises import Raising
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.facts import Facts
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.object_graph import Reached
from autograph.runtime.heap.places import MUTABLE_CONTAINERS
from autograph.runtime.heap.unknown import check_known
from autograph.runtime.layouts.one_of import each_purely, is_one_of
from autograph.runtime.layouts.optional import Optional, absent_in, held_in, is_known, knowing, present_in
from autograph.runtime.layouts.perhaps import is_sentinel
from autograph.runtime.layouts.statement_variables import EmptySnapshot, Snapshot, tested
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL


class Nones(InTrace):
    """The operator for ``is None``.

    Args:
      are_one: of `AliasedWrites`.
      if_exp, truth: of `Conditionals`.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        raising: Raising,
        are_one: Callable[[Any, Any], Any],
        if_exp: Callable[..., Any],
        truth: Callable[[Any], Any],
    ) -> None:
        self.backend = backend
        super().__init__(trace)
        self.are_one = are_one
        self.if_exp = if_exp
        self.truth = truth
        self.raising = raising

    def is_none(self, value: Any) -> Any:
        """``value is None``, a traced bool if only run time knows."""
        if isinstance(value, Optional):
            return self._is_optional(value, None)
        check_known(value)
        return value is None

    def _is_absent(self, value: Optional) -> Any:
        """Whether there is no value in an `Optional`."""
        if is_known(present_in(value), True) or is_known(present_in(value), False):
            return is_known(present_in(value), False)
        if not self.backend.is_traced(present_in(value)):
            return not bool(present_in(value))
        absent = ~present_in(value)
        self.facts.note(absent, *reversed(self.facts.saying(present_in(value))))
        return absent

    def is_(self, one: Any, other: Any) -> Any:
        """``one is other``, a traced bool if only run time knows."""
        check_known(one)
        check_known(other)
        if isinstance(one, Optional) or isinstance(other, Optional):
            return self._is_optional(one, other)
        for value, asked in ((one, other), (other, one)):
            if is_one_of(value):  # each object may itself stand for others
                return each_purely(value, functools.partial(self.is_, asked))
        if one is other:
            return True
        if self._is_truth(one) and self._is_truth(other):  # a traced bool represents Python's, of which there are two
            return one == other
        if LOCAL.frame is not None:
            self._tell_apart(one, other)
        return self.are_one(one, other)

    def id_of(self, value: Any, /) -> int:
        """``id(value)``, of what is one object whatever the conditions are.

        Raises:
          StagingError: which object it is, or whether it is one that was there before, is known only at run time.
        """
        is_itself = self.identities.conditions_of(id(value)) == {id(value): True}
        is_chosen = isinstance(value, Optional) or is_one_of(value) or not is_itself
        if is_chosen or self.backend.is_traced(value):
            what = "an object that may be one of several" if is_chosen else "a traced value"
            raise StagingError(
                f"{user_location()}\n  This takes the `id` of {what}, which is known only at run time, and not as a number.\n"
                "  Compare objects with `is`, and values with `==`; as a key, use a number or text that each object holds."
            )
        return id(value)

    def _tell_apart(self, one: Any, other: Any) -> None:
        """Note that containers among the arguments are compared, of which the trace has its own.

        Raises:
          StagingError: one of them is compared with an object from outside, which the caller may have given.
        """
        given = [self._may_be_given(value) for value in (one, other)]
        if all(given):
            LOCAL.frame.tells_apart = True
        elif any(given):
            rest = other if given[0] else one
            if isinstance(rest, MUTABLE_CONTAINERS) and rest in Reached(LOCAL.roots()):
                raise StagingError(
                    f"{user_location()}\n  A {type(rest).__name__} from outside is compared by identity with an argument: the program is "
                    "given copies of lists, dicts and sets, so that it cannot tell whether they are one.\n  As a default, take None, or "
                    "an object(); compare contents with ==."
                )

    def _may_be_given(self, value: Any) -> bool:
        """Whether this is, or may be, a container among the arguments of the trace."""
        return any(key in LOCAL.frame.arguments for key in self.identities.conditions_of(id(value)))

    def _is_truth(self, value: Any) -> bool:
        is_traced = self.backend.is_traced(value) and getattr(value, "dtype", None) == np.bool_
        return (is_traced and value.shape == ()) or type(value) is bool

    def _is_optional(self, one: Any, other: Any) -> Any:
        """``one is other`` where either may be None, or an object that stands for none: both are, or what they hold is one."""
        if one is other:
            return True
        if not isinstance(one, Optional):
            one, other = other, one
        absent, held, present = absent_in(one), held_in(one), present_in(one)
        if other is absent:
            return self._is_absent(one)
        if not isinstance(other, Optional):
            if (other is None or is_sentinel(other)) and not isinstance(held, Optional):
                return present if held is other else False
            found = self.is_(held, other)
            return False if found is False else present & found
        present_other = present_in(other)
        if absent_in(other) is not absent:
            return present & self.is_(held, other) | ~jnp.asarray(present) & self.is_(other, absent)
        if held is None or held_in(other) is None:
            return present == present_other
        return present & present_other & self.is_(held, held_in(other)) | ~(jnp.asarray(present) | present_other)

    def is_bool(self, value: Any, wanted: bool) -> Any:
        """``value is True`` or ``value is False``: a traced bool represents Python's."""
        check_known(value)
        if not self.backend.is_traced(value) or getattr(value, "dtype", None) != np.bool_ or value.shape != ():
            return value is wanted
        return value if wanted else ~value

    def check_present(self, present: Any, absent: object = None) -> None:
        """Raise at run time where an `Optional` that is used is None, or the object that it is ``absent``.

        Raises:
          StagingError: the program cannot raise at run time.
        """
        if type(absent) is int:
            self._check_fits(present, absent)
            return
        none, test = ("None", "None") if absent is None else ("an object()", "that object")
        if not self.raising.can_raise_later(TypeError):
            raise StagingError(
                f"{user_location()}\n  A value is used here that may be {none}: one path of a traced condition sets it, another does not.\n"
                f"  Test `is {test}` first, or give it a value of the same type on every path."
            )
        self.raising.raise_unless(
            present, TypeError(f"{none} was used where a value is needed: test `is {test}` first")
        )

    def _check_fits(self, present: Any, number: int) -> None:
        text = (
            f"{user_location()}\n  A value that may be the Python int {number}, or a sum with it, is used here as one that fits "
            f"{jnp.result_type(int).name}, the type of JAX's integers.\n  Compare it with {number} first, or write that as a float "
            f"({number}.0)."
        )
        if not self.raising.can_raise_later() or has_handlers():
            raise StagingError(text)
        self.raising.raise_unless(present, StagingError(text))

    def truth_of_optional(self, value: Optional) -> Any:
        """Whether an `Optional` is true: it is not None, and the value is true."""
        if is_known(present_in(value)):
            return tested(held_in(value))
        present, held = present_in(value), held_in(value)
        found = tested(held)
        if self.backend.type_of(found) is not None:
            truth = present & self.backend.predicate(jnp.asarray(found))
        else:  # its class may say, by a method, which None has not
            truth = self.if_exp(present, lambda: self.truth(held), lambda: False)
        if absent_in(value) is not None:  # an object is true
            return ~present | truth
        self.facts.note(truth, self.facts.saying(present_in(value))[0], ())
        return truth


@contextmanager
def narrowed(facts: Facts, snapshot: Snapshot | EmptySnapshot, lasts: bool = False) -> Iterator[None]:
    """Trace a branch in which these facts hold: the variables it reaches are values, or None, that were either.

    Whoever has the snapshot puts them back. ``lasts``: what the branch has left in them is looked at after it.
    """
    if not facts:
        yield
        return
    with knowing(facts):
        _narrow(snapshot)
        yield
        if lasts:
            _narrow(snapshot)


def _narrow(snapshot: Snapshot | EmptySnapshot) -> None:
    for variable in snapshot.places():
        value = variable.get()
        if isinstance(value, Optional):
            if is_known(present_in(value), True):
                variable.set(held_in(value))
            elif is_known(present_in(value), False):
                variable.set(absent_in(value))
