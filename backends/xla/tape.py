"""A record of the operations that run, for `GradientTape`: kept beside them, so that the values stay what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal, find_top_trace, jaxpr_as_fun, jaxprs_in_params, set_current_trace

from autograph.backends.xla.parts import evaluate_equations
from autograph.runtime.errors import StagingError

_CALLS = ("jit", "pjit", "closed_call", "core_call", "eval_jaxpr")
_OUTWARD = ("io_callback", "debug_callback", "debug_print")


class TapeTrace(jax.core.Trace):
    """Runs each operation in the trace around it, and keeps what it was, by the identity of its operands and results.

    Attributes:
      parent_trace: the trace around.
      entries: for each operation, how to do it again, its operands and its results.
    """

    def __init__(self, parent: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parent_trace = parent
        self.requires_low = getattr(parent, "requires_low", True)
        self.entries: list[tuple[Any, Any, Sequence[Any], Sequence[Any]]] = []

    def stage_value(self, value: Any) -> Any:
        with set_current_trace(self.parent_trace):
            staged = self.parent_trace.stage_value(value)
        if staged is not value:
            self.entries.append(("stage", lambda same: [same], [value], [staged]))
        return staged

    def process_primitive(self, primitive: Any, operands: Any, params: Any, /) -> Any:
        effects = any(jaxpr.effects for jaxpr in jaxprs_in_params(params))
        if effects and primitive.name in _CALLS:  # its parts one by one, so that effects are not done again
            with set_current_trace(self):
                closed = _called(params)
                return jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *operands)
        with set_current_trace(self.parent_trace):
            results = primitive.bind(*operands, **params)
        outputs = list(results) if primitive.multiple_results else [results]
        name = primitive.name
        if effects or name in _OUTWARD:
            name = "effects"

        closed = _called(params) if name in _CALLS else None
        constants = [] if closed is None else list(_constants_of(closed).values())

        def again(*values: Any) -> list[Any]:
            if constants:
                instead = dict(zip(map(id, constants), values[len(operands) :], strict=True))
                return _evaluated(closed, values[: len(operands)], instead)
            redone = primitive.bind(*values, **params)
            return list(redone) if primitive.multiple_results else [redone]

        # What a compiled function closes over is an operand as well.
        self.entries.append((name, again, [*operands, *constants], outputs))
        return results

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, operands: Any, /, *, symbolic_zeros: Any
    ) -> Any:
        return self._staged(
            lambda *values: find_top_trace(None).process_custom_jvp_call(
                primitive, fun, jvp, values, symbolic_zeros=symbolic_zeros
            ),
            operands,
        )

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, operands: Any, /, *, out_trees: Any, symbolic_zeros: Any
    ) -> Any:
        return self._staged(
            lambda *values: find_top_trace(None).process_custom_vjp_call(
                primitive, fun, fwd, bwd, values, out_trees=out_trees, symbolic_zeros=symbolic_zeros
            ),
            operands,
        )

    def _staged(self, call: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """A call with a derivative of its own, as a program that keeps it."""
        with set_current_trace(self.parent_trace):
            program = jaxpr_as_fun(jax.make_jaxpr(call)(*operands))
            outputs = list(program(*operands))
        self.entries.append(("call", program, list(operands), outputs))
        return outputs


def _constants_of(closed: Any) -> dict[int, Any]:
    """The floating-point arrays that a program and those it calls close over, by their identity."""
    found = {id(const): const for const in closed.consts if jnp.issubdtype(jnp.result_type(const), jnp.inexact)}
    for equation in closed.jaxpr.eqns:
        if equation.primitive.name in _CALLS:
            found |= _constants_of(_called(equation.params))
    return found


def _called(params: Any) -> Any:
    """The program that a call with these parameters runs."""
    return params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]


def _evaluated(closed: Any, operands: Sequence[Any], instead: dict[int, Any]) -> list[Any]:
    """What a program gives, with other arrays in the place of those it closes over."""
    known = dict(zip(closed.jaxpr.constvars, [instead.get(id(const), const) for const in closed.consts], strict=True))
    known |= dict(zip(closed.jaxpr.invars, operands, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else known[atom]

    for equation in closed.jaxpr.eqns:
        if equation.primitive.name in _CALLS:
            made = _evaluated(_called(equation.params), list(map(value, equation.invars)), instead)
            known |= dict(zip(equation.outvars, made, strict=True))
        else:
            evaluate_equations([equation], known)
    return list(map(value, closed.jaxpr.outvars))


class XlaTape:
    """See `backends.base.Tape`."""

    def __init__(self) -> None:
        self._trace: Any = None
        self._entered: Any = None

    def start(self) -> None:
        entries = [] if self._trace is None else self._trace.entries
        self._trace = TapeTrace(find_top_trace(None))
        self._trace.entries = entries
        self._entered = set_current_trace(self._trace)
        self._entered.__enter__()

    def stop(self) -> None:
        self._entered.__exit__(None, None, None)
        self._trace.parent_trace = None

    def first_value(self, stand_in: Any) -> Any:
        for name, _, operands, outputs in self._trace.entries:
            if name in ("get", "swap") and operands[0] is stand_in:
                return outputs[0] if name == "get" else None
        return None

    def reaches(self, targets: Sequence[Any], source: Any) -> bool:
        return any(self._replay([source], [None], target, dry=True) is not None for target in targets)

    def gradient(
        self, targets: Sequence[Any], sources: Sequence[Any], values: Sequence[Any], weights: Sequence[Any]
    ) -> list[Any]:
        def pure(inputs: Sequence[Any]) -> Any:
            total: Any = 0.0
            for target, weight in zip(targets, weights, strict=True):
                value = self._replay(sources, inputs, target)
                value = target if value is None else value
                total = total + jnp.sum(value if weight is None else value * weight)
            return total

        return list(jax.grad(pure)(list(values)))

    def _replay(self, sources: Sequence[Any], inputs: Sequence[Any], target: Any, dry: bool = False) -> Any:
        """The target as a function of the sources, by doing again what depends on them; None if it does not."""
        known = {id(source): value for source, value in zip(sources, inputs, strict=True)}
        for name, again, operands, outputs in list(self._trace.entries):
            if name == "get":
                if id(operands[0]) in known:
                    known.setdefault(id(outputs[0]), known[id(operands[0])])
                continue
            if name == "swap":
                ref, new = operands[:2]
                if id(ref) in known:
                    known[id(outputs[0])] = known[id(ref)]
                if id(new) in known or id(ref) in known:
                    known[id(ref)] = known.get(id(new), new)
                continue
            if not any(id(operand) in known for operand in operands):
                continue
            if name == "effects":
                if outputs and any(jnp.issubdtype(output.dtype, jnp.inexact) for output in outputs):
                    raise StagingError(
                        "the tape's block holds a call or a loop with effects (a print, py_function, a Variable written by "
                        "jax.lax code) that the target may depend on. Use autograph.value_and_grad there."
                    )
                continue
            if dry:
                made = [None] * len(outputs)
            else:
                made = again(*(known.get(id(operand), operand) for operand in operands))
            for output, value in zip(outputs, made, strict=True):
                if id(output) not in {id(source) for source in sources}:
                    known[id(output)] = value
        return (known[id(target)] if not dry else True) if id(target) in known else None
