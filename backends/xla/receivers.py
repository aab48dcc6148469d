"""`Receiver`: collects the exceptions that the body of a ``try`` may raise, while the body is traced.

A ``try`` statement runs its body in the trace that it is in. What its statements raise there is noted in the
receiver; what has an effect, or may not end, then happens only where there was no exception (`unless_thrown`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.exceptions import RaiseSite
from autograph.backends.thread import LOCAL
from autograph.backends.xla import jax_compat
from autograph.backends.xla.errors import Errors
from autograph.backends.xla.tracing import has_loop, zeros


class Receiver(Errors):
    """The exceptions that one ``try`` catches, in the trace that it is in.

    Attributes: catches (whether an exception is one of them), place (that trace).
    """

    def __init__(self, catches: Callable[[RaiseSite], bool]) -> None:
        super().__init__(())
        self.catches = catches
        self.place = jax_compat.current_trace()

    def number_of(self, site: RaiseSite) -> int:
        if not self.catches(site):
            return 0
        if site not in self.sites:
            self.sites.append(site)
            self._held.append([np.zeros(each.shape, each.dtype) for each in site.types])
        return super().number_of(site)


@contextmanager
def receiving(catches: Callable[[RaiseSite], bool]) -> Iterator[Receiver]:
    """Receive the exceptions that operations raise here."""
    receiver = Receiver(catches)
    LOCAL.receivers.append(receiver)
    try:
        yield receiver
    finally:
        LOCAL.receivers.remove(receiver)


def receivers_here() -> list[Receiver]:
    """Those of the trace that operations go to, outermost first."""
    if not LOCAL.receivers:
        return []
    here = jax_compat.current_trace()
    return [each for each in LOCAL.receivers if each.place is here]


def is_clear() -> Any:
    """Whether no exception has been received here that is still to be handled; None where there can have been none."""
    clear = None
    for receiver in receivers_here():
        if receiver.code is not None:
            clear = receiver.is_clear if clear is None else clear & receiver.is_clear
    return clear


def unless_thrown(run: Callable[[], Sequence[Any]], programs: Sequence[Any] | None = None) -> list[Any]:
    """What ``run`` returns where no exception has been received here; elsewhere it does not run, and its results are zeros.

    ``programs``, where given, are what it runs: if these have no effects and surely end, they may run in any case.
    """
    clear = is_clear()
    if clear is None or (programs is not None and not any(map(_is_felt, programs))):
        return list(run())
    program = jax_compat.recorded(run, ())
    avals = program.out_avals
    return list(
        jax.lax.cond(clear, lambda: jax_compat.replay(program), lambda: [zeros(jax_compat.strong(a)) for a in avals])
    )


def written_unless_thrown(new: Any, old: Callable[[], Any]) -> Any:
    """What a Variable holds after a write here: what it held before, after an exception."""
    clear = is_clear()
    return new if clear is None else jnp.where(clear, new, old())


def _is_felt(program: Any) -> bool:
    """Whether running this program for nothing may be seen."""
    return bool(program.effects) or has_loop(program)
