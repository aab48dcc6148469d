"""Call programs made by `jax.export`, without importing SciPy unless the program calls LAPACK.

``exported_for_p`` is the identity, and refuses to be lowered for a platform that the program was not exported for:
JAX does not check that for the programs that are called here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from autograph.backends.xla import jax_compat
from autograph.runtime.errors import StagingError


def call_of(exported: jax.export.Exported) -> Callable[..., Any]:
    """What calls an exported program, as ``exported.call`` does."""
    lean = jax_compat.without_lapack(exported)
    if lean is exported or not exported.in_avals:
        return exported.call

    def call(*operands: Any) -> Any:
        first, *others = operands
        (first,) = exported_for_p.bind(first, name=exported.fun_name, platforms=exported.platforms)
        return lean.call(first, *others)

    return call


exported_for_p = jax_compat.new_primitive("exported_for")


def _run_on(platform: str, *, name: str, platforms: Sequence[str]) -> Callable[..., list[Any]]:
    # JAX lowers the derivative of an exported program of several devices for no platform by name.
    if platform and platform not in platforms:
        raise StagingError(
            f"{name} was saved for {', '.join(platforms)}, and is lowered for {platform} here.\n"
            "  Save it for both: platforms=(…) of autograph.save."
        )
    return _identity


def _identity(*values: Any) -> list[Any]:
    return list(values)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return exported_for_p.bind(*primals, **params), list(tangents)


def _batch(_: Any, operands: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list[Any], Sequence[Any]]:
    return exported_for_p.bind(*operands, **params), dims


jax_compat.define(exported_for_p, types=lambda *avals, **_: list(avals), run_on=_run_on, jvp=_jvp, batch=_batch)
