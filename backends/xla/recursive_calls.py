"""The primitive ``recursive_call``: a call of a function that is being traced.

It stands in recorded programs until the outermost call of the function is complete, and never reaches XLA: see `recursion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp

from autograph.backends.base import LeafType
from autograph.backends.xla import jax_compat
from autograph.backends.xla.leaf_types import as_struct
from autograph.backends.xla.tracing import trace
from autograph.runtime.errors import StagingError

call_p = jax_compat.new_primitive("recursive_call")
CALLS = jax_compat.passing_effect("call")


def recursive_call(function: Any, operands: Sequence[Any], types: Sequence[LeafType]) -> list[Any]:
    """Record a call of a function that is being traced, with results of these types."""
    avals = tuple(trace(lambda *values: values, [as_struct(type) for type in types]).in_avals)
    results: list[Any] = call_p.bind(*map(jnp.asarray, operands), callee=function, avals=avals)
    return results


def _types(*_: Any, avals: Sequence[Any], **__: Any) -> list[Any]:
    return list(avals)


def refuse_transform(*_: Any, callee: Any, **__: Any) -> Any:
    raise StagingError(
        f"{callee.where}\n  {callee.name!r} calls itself under a traced condition here, inside a JAX transform of a part of it "
        "(jax.vmap, jax.grad, jax.checkpoint, a scan …).\n  Apply the transform to the whole recursion, or call the function in a "
        "loop."
    )


jax_compat.define_recorded_only(call_p, CALLS, types=_types, refuse=refuse_transform)


def functions_called(programs: Iterable[Any]) -> list[Any]:
    """The functions that recorded programs call while these are being traced, each once."""
    found: dict[Any, None] = {}
    for program in programs:
        for equation in jax_compat.all_equations(program.jaxpr) if CALLS in program.effects else ():
            if equation.primitive is call_p:
                found[equation.params["callee"]] = None
    return list(found)
