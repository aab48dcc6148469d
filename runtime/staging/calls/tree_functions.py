"""Functions that go over pytrees, where a value in a tree is one that JAX would take apart in another way than Python's own.

What stands for a value of Python's in a trace, such as an `Optional` or a `OneOf`, is a pytree of arrays to JAX, so that loops and
branches can carry it: a tag is among them, or room for more elements. A function of the user's may not see these.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax

from autograph.runtime.code.library_table import is_of_pytrees
from autograph.runtime.containers.keyed_lists import KeyedList
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.padded_arrays import PaddedArray
from autograph.runtime.containers.traced_deques import TracedDeque
from autograph.runtime.containers.traced_dicts import DictView, TracedDict
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.layouts.one_of import OneOf, candidates_of, chooses_values, each
from autograph.runtime.layouts.optional import (
    Optional,
    absent_in,
    held_in,
    is_known,
    is_number_choice,
    present_in,
    resolved,
    used,
)
from autograph.runtime.layouts.statement_variables import stands_for_text, value_of
from autograph.runtime.tracing.locations import raised_in, user_location

_TREES = jax.tree_util.tree_map.__code__.co_filename
_MOST_CHOICES = 4  # in the trees of a call: each doubles how often it is traced


class TreeFunctions(InTrace):
    """The calls of functions that go over pytrees.

    Args:
      if_exp: of `Conditionals`.
      call: the operator for calls.
      raised: that for what ``raise`` raises.
    """

    def __init__(
        self,
        trace: Callable[[], Trace],
        if_exp: Callable[..., Any],
        call: Callable[[Any], Any],
        raised: Callable[[Exception], Any],
    ) -> None:
        super().__init__(trace)
        self._if_exp = if_exp
        self._call = call
        self._raised = raised

    def taking(self, called: Any, made: Callable[..., Any]) -> Callable[..., Any]:
        """``made``, which is called in place of ``called``, so that it meets in its trees what Python would have there."""

        def call(*args: Any, **kwargs: Any) -> Any:
            given = (args, kwargs)
            parts = [part for part in jax.tree_util.tree_leaves(given, is_leaf=_stands_in) if _stands_in(part)]
            if not parts:
                return made(*args, **kwargs)
            knows_leaves = _takes_is_leaf(called)
            for part in parts:
                _check_counted(called, part)
            chosen = [part for part in parts if not (knows_leaves and _is_leaf(part))]
            if not chosen:
                return _with_leaves(called, made, args, kwargs)
            if len({id(present_in(part) if type(part) is Optional else part) for part in chosen}) > _MOST_CHOICES:
                raise _too_many(called)
            part = chosen[0]
            if type(part) is not OneOf and type(part) is not Optional:
                raise _no_tree(called, part)
            value = _known(part)
            if value is not part:
                return self._call_with(called, _replaced(given, part, value))
            if type(part) is OneOf:
                return each(part, lambda candidate: self._call_with(called, _replaced(given, part, candidate)))
            return self._with_and_without(called, given, part)

        return call

    def _with_and_without(self, called: Any, given: Any, part: Optional) -> Any:
        """The call with the value, and without it, of a part that may be None."""
        present = present_in(part)
        self.facts.note(present, *self.facts.saying(present))
        # Made before the branches, in which a variable that may be None is one of both.
        with_value, without = (_replaced(given, part, value) for value in (held_in(part), absent_in(part)))
        del part
        return self._if_exp(
            present, lambda: self._call_with(called, with_value), lambda: self._call_with(called, without)
        )

    def _call_with(self, called: Any, given: Any) -> Any:
        """The call with what one path has: where its trees differ in structure, that path raises what JAX raises."""
        args, kwargs = given
        try:
            return self._call(called)(*args, **kwargs)
        except (TypeError, ValueError, KeyError) as error:
            if raised_in(error.__traceback__) != _TREES:
                raise
            raise self._raised(error) from None


def _known(part: Any) -> Any:
    """The value that a part is in the code that is being traced; the part itself if it may be one or another."""
    if type(part) is OneOf:
        return value_of(part) if chooses_values(part) else part
    if is_number_choice(part):
        return used(part)
    if is_known(present_in(part)):
        return held_in(part)
    return absent_in(part) if is_known(present_in(part), False) else part


def _replaced(given: Any, part: Any, value: Any) -> Any:
    """What a call is given, with this value in place of a part."""
    return jax.tree_util.tree_map(lambda leaf: value if leaf is part else leaf, given, is_leaf=_stands_in)


def _takes_is_leaf(called: Any) -> bool:
    """Whether a function of JAX's can be told what is a leaf."""
    return not is_of_pytrees(called) and "is_leaf" in inspect.signature(called).parameters


def _stands_in(part: Any) -> bool:
    """Whether JAX takes this apart, and not in the way of the value of Python's that it stands for."""
    kind = type(part)
    if kind is OneOf or isinstance(part, Optional):
        return kind is OneOf or resolved(part) is part
    if isinstance(part, Padded | PaddedArray):
        return not isinstance(part.length, int)
    if isinstance(part, KeyedList | TracedDeque | DictView):
        return part.resolve() is part
    return stands_for_text(part) and not isinstance(part, str)


def _is_leaf(part: Any) -> bool:
    """Whether JAX takes the value of Python's for a leaf."""
    if type(part) is OneOf:
        return chooses_values(part) or jax.tree_util.all_leaves(candidates_of(part))
    return type(part) is not Optional or is_number_choice(part)


def _with_leaves(called: Any, made: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """The call with what stands for leaves as leaves."""
    bound = inspect.signature(called).bind(*args, **kwargs)
    is_leaf = bound.arguments.get("is_leaf")
    bound.arguments["is_leaf"] = lambda part: _stands_in(part) or bool(is_leaf and is_leaf(part))
    return made(*bound.args, **bound.kwargs)


def _check_counted(called: Any, part: Any) -> None:
    """Refuse what has parts in Python that only run time counts, or names.

    Raises:
      StagingError: this is such.
    """
    if isinstance(part, Padded | PaddedArray):
        raise StagingError(
            f"{user_location()}\n  `{called.__name__}` is called with {part!r}, whose length is traced: it would treat "
            "the padding and the length as elements.\n  Write a loop over the elements."
        )
    if isinstance(part, TracedDict):
        raise StagingError(
            f"{user_location()}\n  `{called.__name__}` is called with a dict whose keys are traced: it would treat the keys as "
            "elements.\n  Write a loop over the items."
        )


def _no_tree(called: Any, part: Any) -> StagingError:
    what = part.kind_name if isinstance(part, TracedList) else "str"
    return StagingError(
        f"{user_location()}\n  `{called.__name__}` is called with a {what} of traced values, which it would take apart.\n"
        "  Leave it out of the tree."
    )


def _too_many(called: Any) -> StagingError:
    return StagingError(
        f"{user_location()}\n  More than {_MOST_CHOICES} values in the trees of this call of `{called.__name__}` are chosen by traced "
        "conditions, such as whether they are None: each doubles how often it is traced.\n  Call it in the branches."
    )
