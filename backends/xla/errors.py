"""`Errors`: the first exception that a program has raised, as values that its statements carry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from autograph.backends.base import LeafType
from autograph.backends.exceptions import RaiseSite
from autograph.backends.xla import jax_compat

_CODE = LeafType((), np.dtype(np.int32))


def split_payloads(values: Sequence[Any], sites: Sequence[RaiseSite]) -> list[list[Any]]:
    """Each site's own values."""
    pending = iter(values)
    return [[next(pending) for _ in site.types] for site in sites]


def renumbered(code: Any, numbers: Any) -> Any:
    """The number instead of a code, which is an index of ``numbers``, of which the first is 0."""
    if not jax_compat.is_tracer(code):
        return numbers[int(code)]
    if list(numbers) == list(range(len(numbers))):
        return code
    return code * numbers[1] if len(numbers) == 2 else jnp.asarray(numbers)[code]


class Errors:
    """The error state at one point of a program.

    Attributes:
      sites: what may be raised; where there are none, there is no state.
      code: the number of the first error, from 1, or 0; None as long as there can have been none.
    """

    def __init__(self, sites: Sequence[RaiseSite], values: Sequence[Any] | None = None) -> None:
        self.sites = list(sites)
        self.code: Any = None
        self._held: list[list[Any]] = [[np.zeros(t.shape, t.dtype) for t in site.types] for site in sites]
        if values is not None:
            self.install(values)

    def install(self, values: Sequence[Any]) -> None:
        """Take over the state of another point."""
        if self.sites:
            self.code, *held = values
            self._held = split_payloads(held, self.sites)

    def copy(self) -> Errors:
        made = Errors(self.sites)
        made.code, made._held = self.code, list(self._held)
        return made

    @property
    def payloads(self) -> list[list[Any]]:
        """The values that the exception of each site carries."""
        return self._held

    def types(self) -> list[LeafType]:
        """Those of the state's values."""
        if not self.sites:
            return []
        return [_CODE, *(LeafType(tuple(t.shape), t.dtype) for site in self.sites for t in site.types)]

    def values(self) -> list[Any]:
        """The state."""
        if not self.sites:
            return []
        code = np.int32(0) if self.code is None else self.code
        return [code, *(value for payload in self._held for value in payload)]

    def arrays(self) -> list[Any]:
        """The state as arrays of its types, for what `jax.lax` carries."""
        return [jnp.asarray(value, type.dtype) for value, type in zip(self.values(), self.types(), strict=True)]

    @property
    def is_clear(self) -> Any:
        """Whether there has been none so far."""
        return self.code == 0

    def unless_caught(self, new: Any, old: Any) -> Any:
        """What a Variable holds after a write: ``old`` after an exception that a handler catches, after which it is read.

        After any other, nothing is.
        """
        if self.code is None or not any(site.is_caught for site in self.sites):
            return new
        return jnp.where(self.is_clear, new, old)

    def number_of(self, site: RaiseSite) -> int:
        """The number of a site."""
        return self.sites.index(site) + 1

    def note(self, code: Any, values: Sequence[Any], sites: Sequence[RaiseSite]) -> None:
        """Let this error count, if it is one and the first."""
        numbers = np.array([0, *map(self.number_of, sites)], np.int32)
        new = renumbered(code, numbers)
        if self.code is None:
            first, self.code = True, new
        else:
            first = self.code == 0
            self.code = jnp.where(first, new, self.code)
        for number, payload in zip(numbers[1:], split_payloads(values, sites), strict=True):
            if number == 0:
                continue
            held = self._held[number - 1]
            here = first if len(sites) == 1 else first & (new == number)
            self._held[number - 1] = [
                v if here is True else jnp.where(here, v, h) for v, h in zip(payload, held, strict=True)
            ]
