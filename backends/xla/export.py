"""Export programs as StableHLO with `jax.export`, and import them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import export

from autograph.backends.base import LeafType
from autograph.backends.described import Exported
from autograph.backends.xla import jax_compat
from autograph.backends.xla.ahead import known_platforms, refuse_what_cannot_be
from autograph.backends.xla.saved_calls import SavedCall
from autograph.runtime.errors import StagingError


def exported(program: Any, name: str, platforms: Sequence[str] | None, derivatives: int | None) -> Exported:
    """See `backends.base.Staging.exported`."""
    platforms = known_platforms(platforms)
    _refuse_calls_of_python(program, name)
    for platform in platforms or ():
        refuse_what_cannot_be(program.jaxpr, platform)

    def run(*operands: Any) -> list[Any]:
        return jax_compat.replay(program, *operands)

    run.__name__ = run.__qualname__ = name
    types = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in program.in_avals]
    made = _made(run, name, types, platforms)
    if not any(jax.numpy.issubdtype(type.dtype, jax.numpy.inexact) for type in types):
        return _result(made, 0, "no input of it is a floating-point number")
    try:
        return _result(made, 1 if derivatives is None else derivatives, None)
    except Exception as error:
        if derivatives is not None:
            raise StagingError(
                f"{name} cannot be saved with derivatives of order {derivatives}: {error}\n  Save it with derivatives=0."
            ) from error
        return _result(made, 0, str(error).strip().partition("\n")[0])


def _made(run: Any, name: str, types: Sequence[Any], platforms: Sequence[str] | None) -> Any:
    try:
        return export.export(jax.jit(run), platforms=platforms)(*types)
    except (ValueError, NotImplementedError) as error:
        raise StagingError(f"{name} cannot be saved: {error}") from error


def _result(made: Any, derivatives: int, why_not: str | None) -> Exported:
    try:
        data = bytes(made.serialize(vjp_order=derivatives))
    except ImportError:
        raise _no_flatbuffers() from None
    return Exported(data, derivatives, why_not, made.platforms)


def _no_flatbuffers() -> ImportError:
    return ImportError(
        "saving and loading programs requires the package flatbuffers: pip install 'autograph-xla[save]'"
    )


def _refuse_calls_of_python(program: Any, name: str) -> None:
    """Raise for the first equation that calls Python when the program runs: there will be none to call."""
    for equation in jax_compat.all_equations(program.jaxpr):
        if jax_compat.is_call_of_python(equation.primitive):
            raise StagingError(
                f"{jax_compat.source_line(equation)}\n  {name} calls Python at run time here (a py_function, a print, a summary, an "
                "iterator of the host), and a loaded program has no Python to call.\n  Remove it from what is saved: compute it "
                "before, and pass it in."
            )


class SavedProgram:
    """See `backends.base.Artifact`."""

    def __init__(self, data: bytes) -> None:
        try:
            found = export.deserialize(bytearray(data))
            last, self.derivatives = found, 0
            while last.has_vjp():
                last, self.derivatives = last.vjp(), self.derivatives + 1
        except ImportError:
            raise _no_flatbuffers() from None
        except Exception as error:  # whatever a reader of a foreign format raises
            raise ValueError(f"it is not a program of jax.export: {type(error).__name__}: {error}") from error
        self.inputs = [_type_of(aval) for aval in found.in_avals]
        self.outputs = [_type_of(aval) for aval in found.out_avals]
        self.platforms: tuple[str, ...] = tuple(found.platforms)
        self.devices: int = found.nr_devices
        self._call = SavedCall(found, self.derivatives)

    def call(self, *operands: Any) -> list[Any]:
        return self._call(*operands)


def _type_of(aval: Any) -> LeafType:
    return LeafType(tuple(size if isinstance(size, int) else str(size) for size in aval.shape), aval.dtype)
