"""The primitive ``raise_if``, which represents an exception that a program may raise at run time.

Where its code is not zero it raises the exception that the code is the number of. Run by itself it does so at once;
mapped, for the first lane that fails. A program for XLA cannot raise: see `discharge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.exceptions import RaiseSite
from autograph.backends.xla import jax_compat
from autograph.backends.xla.errors import renumbered, split_payloads
from autograph.backends.xla.receivers import receivers_here
from autograph.backends.xla.tracing import leading
from autograph.runtime.errors import StagingError

raise_p = jax_compat.new_primitive("raise_if")
RAISES = jax_compat.passing_effect("raise")


def raise_if(code: Any, payloads: Sequence[Sequence[Any]], sites: Sequence[RaiseSite]) -> None:
    """Raise at run time where ``code`` is not 0: it is the number, from 1, of one of ``sites``.

    ``payloads`` are the values that the exception of each would carry.
    """
    values = [
        jnp.asarray(value) if site.is_caught else _constant(value)
        for site, payload in zip(sites, payloads, strict=True)
        for value in payload
    ]
    deliver(code, values, tuple(sites))


def deliver(code: Any, values: Sequence[Any], sites: Sequence[RaiseSite]) -> None:
    """Hand an exception to the receivers here that catch it; what is left of it is an operation of the program."""
    for receiver in reversed(receivers_here()):
        caught = [receiver.catches(site) for site in sites]
        if any(caught):
            receiver.note(*_only(caught, code, values, sites))
            code, values, sites = _only([not each for each in caught], code, values, sites)
            if not sites:
                return
        code = code if receiver.code is None else code * (receiver.code == 0)  # nothing happens after an exception
    raise_p.bind(jnp.asarray(code, np.int32), *values, sites=tuple(sites))


def _only(
    marked: Sequence[bool], code: Any, values: Sequence[Any], sites: Sequence[RaiseSite]
) -> tuple[Any, list[Any], tuple[RaiseSite, ...]]:
    """The exceptions of these sites alone, as `deliver` takes them."""
    kept = [k for k, is_marked in enumerate(marked) if is_marked]
    numbers = np.zeros(len(sites) + 1, np.int32)
    numbers[[k + 1 for k in kept]] = range(1, len(kept) + 1)
    payloads = split_payloads(values, sites)
    return renumbered(code, numbers), [value for k in kept for value in payloads[k]], tuple(sites[k] for k in kept)


def _constant(value: Any) -> Any:
    inexact = jnp.issubdtype(jax.typeof(value).dtype, jnp.inexact)
    return jax.lax.stop_gradient(value) if inexact else jnp.asarray(value)


def _run(code: Any, *values: Any, sites: Sequence[RaiseSite]) -> list[Any]:
    number = int(code)
    if number:
        sites[number - 1].raise_with(split_payloads(values, sites)[number - 1])
    return []


def _jvp(primals: Sequence[Any], _: Sequence[Any], *, sites: Sequence[RaiseSite]) -> tuple[list[Any], list[Any]]:
    code, *values = primals
    deliver(code, values, sites)
    return [], []


def _batch(operands: Sequence[Any], dims: Sequence[Any], *, sites: Sequence[RaiseSite]) -> tuple[list[Any], list[Any]]:
    lanes = leading(operands, dims)
    lane = 0 if dims[0] is None else jnp.argmax(lanes[0] != 0)
    taken = [value if dim is None else value[lane] for value, dim in zip(lanes, dims, strict=True)]
    code, *values = taken
    deliver(code, values, sites)
    return [], []


def _lower(_: Any, *__: Any, sites: Sequence[RaiseSite]) -> Any:
    site = next((site for site in sites if not site.is_check), None)
    if site is None:
        return []
    raise StagingError(site.refusal)


jax_compat.define_effect(raise_p, RAISES, run=_run, jvp=_jvp, batch=_batch, lower=_lower)


# What a program may raise.


def may_raise(program: Any) -> bool:
    """Whether a recorded program holds a ``raise_if``."""
    return RAISES in program.effects


def sites_in(programs: Iterable[Any]) -> list[RaiseSite]:
    """What may be raised in recorded programs, each once, in program order."""
    found: dict[RaiseSite, None] = {}
    for program in programs:
        if RAISES in program.effects:
            find_sites(program.jaxpr, found)
    return list(found)


def find_sites(jaxpr: Any, found: dict[RaiseSite, None]) -> None:
    """Add what may be raised in a jaxpr."""
    for equation in jaxpr.eqns:
        if equation.primitive is raise_p:
            found.update(dict.fromkeys(equation.params["sites"]))
        elif RAISES in equation.effects:
            for inner in jax_compat.inner_programs(equation):
                find_sites(inner, found)
