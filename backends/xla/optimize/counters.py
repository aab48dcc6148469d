"""Choose an induction variable other than the loop index where the body counts by one.

``for m in range(p * p, n, p)`` with traced bounds is staged with an index, and its body computes ``m`` from that.
Where a body uses the index for nothing else, the loop carries ``m`` itself and adds the step to it: a multiplication
and an addition fewer in every iteration (1.1 times faster on the sieve of Eratosthenes). It ends when ``m`` is where
the last step would lead, which holds in wrapping arithmetic too: no earlier item equals that one, as the items of a
range lie within the integers. Of other sums of that form, which a body may hold as well, only steps by one have this
property.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LoopSpec, Traced
from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import ClosedJaxpr, is_literal
from autograph.backends.xla.statements import Loop


@dataclass(frozen=True)
class _Counter:
    """``program`` takes the item instead of the index; ``start`` and ``step`` are atoms of the original."""

    program: ClosedJaxpr
    start: Any
    step: Any


def count_by_item(loop: Loop) -> Loop:
    """The loop that counts by an item, if its body computes one; a loop that is a `jax.lax.scan` keeps its index."""
    spec = loop.spec
    is_wide = getattr(spec.length, "dtype", np.int32) != np.int32
    counter = None if spec.length is None or loop.is_scan or is_wide else _counter_of(spec)
    if counter is None:
        return loop
    start, step = (_value_of(atom, spec) for atom in (counter.start, counter.step))
    if not _is_one(step) and step is not spec.stride and not _are_equal(step, spec.stride):
        return loop
    spec = dataclasses.replace(spec, body=Traced(counter.program, spec.body.leaves))
    return dataclasses.replace(loop, spec=spec, counter=(jnp.asarray(start, np.int32), jnp.asarray(step, np.int32)))


def _counter_of(spec: LoopSpec) -> _Counter | None:
    """The item that a loop's body computes from its index, if it uses the index for that alone."""
    jaxpr = spec.body.program.jaxpr
    index: Any = jaxpr.invars[spec.inputs]
    if spec.arrays or index.aval.dtype != np.int32:
        return None
    unchanging = {var for var, result in zip(jaxpr.invars[: spec.inputs], spec.results, strict=False) if result is None}
    unchanging.update(jaxpr.constvars)

    def is_fixed(atom: Any) -> bool:
        return atom.aval.shape == () and atom.aval.dtype == np.int32 and (is_literal(atom) or atom in unchanging)

    step: Any = jax_compat.literal(np.int32(1), index.aval)
    removed = []
    item = index
    for name in ("mul", "add"):
        users = [equation for equation in jaxpr.eqns if _is_among(item, equation.invars)]
        if len(users) != 1 or jax_compat.name_of(users[0]) not in ("mul", "add") or _is_among(item, jaxpr.outvars):
            return None
        if jax_compat.name_of(users[0]) != name:
            continue
        others = [atom for atom in users[0].invars if atom is not item]
        if len(others) != 1 or not is_fixed(others[0]):
            return None
        removed.append(users[0])
        (item,) = users[0].outvars
        if name == "mul":
            (step,) = others
        else:
            (start,) = others
            own = jax_compat.program_of(
                [equation for equation in jaxpr.eqns if not any(equation is gone for gone in removed)],
                [item if var is index else var for var in jaxpr.invars],
                jaxpr.outvars,
                jax_compat.constants_of(spec.body.program),
            )
            return _Counter(own, start, step)
    return None


def _value_of(atom: Any, spec: LoopSpec) -> Any:
    """What an atom that no iteration changes is, outside the loop."""
    program = spec.body.program
    if is_literal(atom):
        return int(atom.val)
    for var, (value, _) in zip(program.jaxpr.invars[: spec.inputs], spec.carry, strict=False):
        if var is atom:
            return value
    return jax_compat.constants_of(program)[atom]


def _is_one(step: Any) -> bool:
    return isinstance(step, int) and abs(step) == 1


def _are_equal(step: Any, stride: Any) -> bool:
    return isinstance(step, int) and isinstance(stride, int) and step == stride


def _is_among(item: Any, atoms: Any) -> bool:
    return any(atom is item for atom in atoms)
