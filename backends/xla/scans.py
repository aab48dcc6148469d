"""`jax.lax.scan`, of which several iterations are one, or writes are in branches, where a platform gains by it.

A loop that is unrolled while it is traced is differentiated and mapped as it is then, and a body that is small enough to be unrolled
no longer is so once it is differentiated. So the choice waits for the lowering: the primitive ``scan`` (`unrolled_p`) is that of JAX
for all transforms, which make JAX's own of it, and is lowered with as many iterations at once as `optimize.unrolling` finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.xla import jax_compat
from autograph.backends.xla.dependence import split
from autograph.backends.xla.jax_compat import Kind, Scan, replay
from autograph.backends.xla.optimize.lowered_bodies import lowered_body, with_writes
from autograph.backends.xla.optimize.unrolling import iterations_at_once
from autograph.backends.xla.platforms import PLATFORMS, Choices, choices_on
from autograph.backends.xla.rings import has_rotation, rings_in

unrolled_p = jax_compat.new_primitive("scan")


def scan(body: Callable[[Any, Any], tuple[Any, Any]], first: Any, arrays: Any, *, length: int, unroll: int) -> Any:
    """`jax.lax.scan`; where ``unroll`` is 1, with as many iterations at once as the platform gains by that it is lowered for.

    So are writes moved into branches, see `optimize.writes_in_branches`.
    """
    structures: list[Any] = []

    def run() -> list[Any]:
        leaves, structure = jax.tree.flatten(jax.lax.scan(body, first, arrays, length=length, unroll=unroll))
        structures.append(structure)
        return leaves

    results = jax_compat.record_here(run, lambda equation: _replaced(equation) if unroll == 1 else equation)
    return jax.tree.unflatten(structures[0], results)


def _replaced(equation: Any) -> Any:
    if jax_compat.kind(equation) is not Kind.SCAN or equation.effects:
        return equation
    scanned = jax_compat.scanned(equation.params)
    if iterations_at_once(scanned) == 1 and not has_rotation(scanned.body):
        if all(lowered_body(scanned.body, choices) is scanned.body for choices in set(PLATFORMS.values())):
            return equation
    return jax_compat.equation_like(equation, unrolled_p, equation.params, equation.invars, equation.outvars)


@dataclass(frozen=True)
class _Form:
    """A scan with so many iterations at once, its body as it was or as these choices have it; ``params`` are those of the equation."""

    at_once: int
    body_for: Choices | None
    length: int
    params: Any = field(compare=False)

    def __call__(self, *operands: Any) -> list[Any]:
        if self.length % self.at_once == 0:
            return jax_compat.bind_scan(operands, self.params, self.at_once)
        return _in_blocks(_scan_of(self.params, operands), self.length, self.at_once, operands)


@dataclass(frozen=True)
class _RingForm:
    """A scan with arrays that its iterations rotate as rings, if they can be; ``params`` are those of the equation."""

    otherwise: _Form
    choices: Choices
    params: Any = field(compare=False)

    def __call__(self, *operands: Any) -> list[Any]:
        found = _scan_of(self.params, operands)
        bodies = (with_writes(found.body, self.choices), found.body)
        candidates = (rings_in(body, found.consts, found.carried) for body in bodies)
        rings = next((each for each in candidates if each is not None), None)
        if rings is None:
            return self.otherwise(*operands)
        body = lowered_body(rings.body, self.choices)
        consts, carry, arrays = split(rings.start(operands), found.consts, found.carried + len(rings.places))

        def step(carry: Any, rows: Any) -> Any:
            return tuple(split(replay(body, *consts, *carry, *rows), len(carry)))

        last, made = jax.lax.scan(step, carry, arrays, **found.options)
        return rings.finish([*last, *made])


def _scan_of(params: Any, operands: Sequence[Any]) -> Scan:
    return jax_compat.scan_with(params, list(map(jax.typeof, operands)), jax_compat.scan_types(operands, params))


def _run_on(platform: str, **params: Any) -> _Form | _RingForm:
    scanned, choices = jax_compat.scanned(params), choices_on(platform)
    body = lowered_body(scanned.body, choices)
    body_for = None if body is scanned.body else choices
    at_once = iterations_at_once(scanned) if choices.unrolls else 1
    form = _Form(at_once, body_for, scanned.length, jax_compat.with_scanned_body(params, body))
    return _RingForm(form, choices, params) if has_rotation(scanned.body) else form


def _in_blocks(scan: Scan, length: int, at_once: int, operands: Sequence[Any]) -> list[Any]:
    """The scan where a number of iterations is left over. JAX's own would copy all that it takes and returns."""
    consts, carry, arrays = split(operands, scan.consts, scan.carried)
    whole, left = divmod(length, at_once)
    types = scan.body.out_avals[scan.carried :]

    def iterations(count: int, start: Any, carry: Sequence[Any], outs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        blocks = [jax.lax.dynamic_slice_in_dim(array, start, count) for array in arrays]
        rows = []
        for k in range(count):
            carry, row = split(replay(scan.body, *consts, *carry, *(block[k] for block in blocks)), scan.carried)
            rows.append(row)
        made = [jnp.stack(column) for column in zip(*rows, strict=True)]
        outs = [jax.lax.dynamic_update_slice_in_dim(out, each, start, 0) for out, each in zip(outs, made, strict=True)]
        return list(carry), outs

    def block(number: Any, state: Any) -> Any:
        return iterations(at_once, number * at_once, *state)

    first = (carry, [jnp.zeros((length, *aval.shape), aval.dtype) for aval in types])
    carry, outs = iterations(left, whole * at_once, *jax.lax.fori_loop(0, whole, block, first))
    return [*carry, *outs]


jax_compat.define_like_scan(unrolled_p, run_on=_run_on)
