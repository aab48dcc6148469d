"""Jumps in nested loops: a search left by `return`, a sieve that goes on with the next number by `continue`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from autograph.tools.bench.workloads.workload import Program, Workload

# The Pythagorean triple of a perimeter: both loops are left, the inner one by `break` and both by `return`.


def _triple(xp: Any) -> Program:
    def triple(perimeter):
        for a in range(1, perimeter):
            for b in range(a + 1, perimeter):
                c = perimeter - a - b
                if c <= b:
                    break
                if (a + b + c) % 2 == 1:
                    continue
                if a * a + b * b == c * c:
                    return a * b * c
        return 0

    return triple


def _triple_by_hand() -> Mapping[str, Program]:
    import jax.numpy as jnp
    from jax import lax

    def with_flags(perimeter):
        """As people write it: what has been found, and whether, goes along in both loops."""

        def goes_on(carry):
            b, done, _ = carry
            return (b < perimeter) & ~done

        def outer(carry):
            a, _, _ = carry

            def step(carry):
                b, _, product = carry
                c = perimeter - a - b
                is_even = (a + b + c) % 2 == 0
                is_found = (c > b) & is_even & (a * a + b * b == c * c)
                return b + 1, (c <= b) | is_found, jnp.where(is_found, a * b * c, product)

            product = lax.while_loop(goes_on, step, (a + 1, False, 0))[2]
            return a + 1, product != 0, product

        return lax.while_loop(lambda c: (c[0] < perimeter) & ~c[1], outer, (1, False, 0))[2]

    def by_tests(perimeter):
        """The loops' tests say where they end; what is found is computed once, from where they ended."""

        def is_found(a, b):
            c = perimeter - a - b
            return ((a + b + c) & 1 == 0) & (a * a + b * b == c * c)

        def first(a):
            """The b at which the search with this a ends."""
            return lax.while_loop(lambda b: (perimeter - a - b > b) & ~is_found(a, b), lambda b: b + 1, a + 1)

        def goes_on(carry):
            a, b = carry
            return (a < perimeter) & ~((perimeter - a - b > b) & is_found(a, b))

        a, b = lax.while_loop(goes_on, lambda c: (c[0] + 1, first(c[0] + 1)), (jnp.int32(1), first(jnp.int32(1))))
        return jnp.where(a < perimeter, a * b * (perimeter - a - b), 0)

    return {"straightforward": with_flags, "best": by_tests}


# The sieve of Eratosthenes, with `continue` around an inner loop that writes.


def _sieve_continue(xp: Any) -> Program:
    def sieve(marks, n):
        flags = xp.copy(marks)
        p = 1
        while p * p < n:
            p += 1
            if not flags[p]:
                continue
            m = p * p
            while m < n:
                flags[m] = False
                m += p
        return flags

    return sieve


def _sieve_continue_by_hand() -> Mapping[str, Program]:
    from jax import lax

    def sieve(marks, n):
        def strike(p, flags):
            return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + p, c[1].at[c[0]].set(False)), (p * p, flags))[1]

        def step(carry):
            p, flags = carry
            p = p + 1
            return p, lax.cond(flags[p], lambda: strike(p, flags), lambda: flags)

        return lax.while_loop(lambda c: c[0] * c[0] < n, step, (1, marks))[1]

    return {"straightforward": sieve}


def _perimeter(quick: bool) -> tuple[Any, ...]:
    return (np.int32(60 if quick else 1006),)


def _marks(quick: bool) -> tuple[Any, ...]:
    n = 60 if quick else 20_000
    return np.ones(n, np.bool_), np.int32(n)


JUMPS = [
    Workload(
        "triple",
        "the Pythagorean triple of a perimeter of which there is none, by nested loops with break, continue and return",
        _triple,
        _perimeter,
        _triple_by_hand,
    ),
    Workload(
        "sieve-continue",
        "the sieve up to 20,000, with continue around an inner while that writes",
        _sieve_continue,
        _marks,
        _sieve_continue_by_hand,
    ),
]
