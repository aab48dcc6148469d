"""Rebuild the objects that JAX's transforms return, such as those of `jax.jit` and `jax.custom_vjp`, around other
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from autograph.backends.xla import jax_compat


def around_another(called: Any, replace: Callable[[Any], Any], begun: Callable[[Any], object]) -> Any:
    """See `backends.base.Backend`."""
    options = jax_compat.jit_options(called)
    if options is not None:
        own = jax_compat.function_of(called)
        function = replace(own)
        return called if function is own else jax.jit(function, **options)
    rules = jax_compat.custom_rules(called)
    if rules is None:
        return None
    own = jax_compat.function_of(called)
    function, replaced = replace(own), [replace(rule) for rule in rules.values()]
    if function is own and all(new is old for new, old in zip(replaced, rules.values(), strict=True)):
        return called
    return jax_compat.with_custom_rules(called, function, replace, begun)
