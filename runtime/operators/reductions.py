"""What ``sum``, ``max``, ``min``, ``any`` and ``all`` do with generator expressions whose loops are staged."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.operators.iterables import UNROLLED_AT_MOST, as_staged
from autograph.runtime.operators.orderings import is_better
from autograph.runtime.operators.state import value_of
from autograph.runtime.optional import Optional, used

_BUILTINS = (builtins.sum, builtins.max, builtins.min, builtins.any, builtins.all)
_NUMBERS = (int, float, complex, np.ndarray, np.generic, jax.Array)


@jax.tree_util.register_pytree_node_class
class Total:
    """What has been added up. Before anything was (``value`` is None), it joins with others as the zeros of their type."""

    dynamic_size = False

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any]) -> Total:
        return cls(*children)

    def before_loop(self, bound: Any) -> Total:
        """Itself: as for a `TensorArray`, what is to be added is made room for when it is known."""
        del bound
        return self


class Reductions:
    """The operators. Needs ``backend`` and those for raising from the object it is mixed into."""

    backend: Backend
    can_raise_later: Callable[[], bool]
    raise_unless: Callable[..., None]

    def reduce(
        self,
        function: Any,
        loop: Callable[..., Any],
        as_it_was: Callable[..., Any],
        items: Any,
        *option: Any,
        always: bool = False,
    ) -> Any:
        """``function`` of what a generator expression makes of ``items``.

        Args:
          function: what the name of a builtin stands for, the builtin or something else.
          loop: does what the builtin does.
          as_it_was: the call as Python runs it.
          option: what ``sum`` starts with, or ``max`` and ``min`` give of nothing.
          always: whether, in a trace, the loop is to be run whatever the items are.
        """
        wanted = any(function is each for each in _BUILTINS) and not self.backend.is_eager()
        if wanted and function is builtins.sum:
            wanted = all(isinstance(value_of(start), _NUMBERS) for start in option)
        return (loop if wanted and (always or self._is_long(items)) else as_it_was)(items, *option)

    def _is_long(self, items: Any) -> bool:
        """Whether a loop over this would be a staged one, and has more iterations than may well stand one by one."""
        if type(items) is range:
            return len(items) > UNROLLED_AT_MOST
        staged = as_staged(items, self.backend)
        return staged is not None and not (isinstance(staged.length, int) and staged.length <= UNROLLED_AT_MOST)

    total = Total

    def added(self, total: Total, value: Any) -> Total:
        """The total and one value more."""
        return Total((0 if total.value is None else total.value) + used(value))

    def total_of(self, total: Total, start: Any = 0) -> Any:
        """What ``sum`` gives, once everything is added."""
        return start if total.value is None else start + total.value

    def better(self, function: Any, best: Any, value: Any) -> Any:
        """The greater (for ``max``) of the best value yet, None if there is none, and another; the best if neither is."""
        value = used(value)
        if best is None:
            return value
        present, best = (best.present, best.value) if isinstance(best, Optional) else (True, best)
        decided = is_better(value, best, operator.gt if function is builtins.max else operator.lt)
        if present is not True:
            decided = decided | ~present
        if not self.backend.is_traced(decided):
            return value if decided else best
        return jax.tree.map(lambda new, old: jnp.where(decided, new, old), value, best)

    def best_of(self, function: Any, best: Any, *default: Any) -> Any:
        """What ``max`` or ``min`` gives, once the best value, if there is one, is known.

        Raises:
          ValueError: there is none, and no default.
        """
        if best is None:
            return default[0] if default else function(())
        if not isinstance(best, Optional):
            return best
        if not default:
            if self.can_raise_later():
                self.raise_unless(best.present, _error_of_empty(function))
            return best.value
        if default[0] is None:
            return best
        return jax.tree.map(lambda found, other: jnp.where(best.present, found, other), best.value, default[0])


def _error_of_empty(function: Callable[..., Any]) -> ValueError:
    try:
        function(())
    except ValueError as error:
        return ValueError(*error.args)
    raise AssertionError(function)
