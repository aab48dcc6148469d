"""One program in one way of running it: agreement, a refusal, or a difference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from autograph.tools.fuzz.oracle import Outcome, load, run

# The programs are small and each is run a few times: compiling quickly matters more than fast code.
_QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
_FILENAME = "<generated program>"

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Verdict:
    """What came of one way of running a program.

    Attributes:
      kind: ``same``, ``refused``, ``crash``, ``hang``, ``value`` (another result),
        ``error`` (another exception).
      text: what was found; for a refusal, its message.
      input: which input showed it.
      staged: how many equations of each kind the traced program has.
    """

    kind: str
    text: str = ""
    input: int = 0
    staged: tuple[tuple[str, int], ...] = ()

    @property
    def failed(self) -> bool:
        return self.kind in ("value", "error", "crash", "hang")


def run_mode(mode: str, source: str, inputs: tuple[Arguments, ...]) -> Verdict:
    """Run a program on inputs in one way, and compare each result with plain Python's."""
    module = load(source, _FILENAME)
    function = module.__dict__["f"]
    wanted = [run(function, arguments) for arguments in inputs]
    try:
        outcomes, staged = _MODES[mode](function, inputs)
    except (ag.StagingError, ag.ConversionError) as error:
        return Verdict("refused", f"{type(error).__name__}: {error}")
    except Exception as error:
        if any(outcome.error is not None for outcome in wanted):
            return Verdict("same")
        return Verdict("crash", f"{type(error).__name__}: {error}")
    counts = tuple(sorted(staged.items()))
    for position, (plain, found) in enumerate(zip(wanted, outcomes, strict=True)):
        if isinstance(found.error, ag.StagingError | ag.ConversionError):
            return Verdict("refused", f"{type(found.error).__name__}: {found.error}", position, counts)
        difference = _difference(plain, found)
        if difference is not None:
            return Verdict(*difference, position, counts)
    return Verdict("same", staged=counts)


def _difference(wanted: Outcome, found: Outcome) -> tuple[str, str] | None:
    if wanted.error is not None or found.error is not None:
        if wanted.raised == found.raised:
            return None
        if wanted.error is None:
            known = "error" if isinstance(found.error, ValueError | KeyError | AssertionError) else "crash"
            return known, f"plain Python returned {wanted.result!r}, found {found.error!r}"
        shown = found.result if found.error is None else found.error
        return "error", f"plain Python raised {wanted.error!r}, found {shown!r}"
    difference = next(differences(wanted.result, found.result), None)
    return None if difference is None else ("value", difference)


def differences(wanted: Any, found: Any) -> Iterator[str]:
    """Differences in structure, kind, shape and value; numbers of one kind are equal if their values are."""
    if str(jax.tree.structure(wanted)) != str(jax.tree.structure(found)):
        yield f"plain Python gives {wanted!r}, found {found!r}"
        return
    for left, right in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
        a, b = np.asarray(left), np.asarray(right)
        if a.dtype.kind != b.dtype.kind or a.shape != b.shape or not np.array_equal(a, b):
            yield f"plain Python gives {wanted!r}, found {found!r}"
            return


# The ways of running.


def _eager_numpy(function: Any, inputs: tuple[Arguments, ...]) -> tuple[list[Outcome], dict[str, int]]:
    converted = ag.convert(function)
    return [run(converted, arguments) for arguments in inputs], {}


def _eager_jax(function: Any, inputs: tuple[Arguments, ...]) -> tuple[list[Outcome], dict[str, int]]:
    converted = ag.convert(function)
    return [run(converted, _as_jax(arguments)) for arguments in inputs], {}


def _jit(function: Any, inputs: tuple[Arguments, ...]) -> tuple[list[Outcome], dict[str, int]]:
    traced = jax.jit(ag.convert(function), compiler_options=_QUICK).trace(*_as_jax(inputs[0]))
    compiled = traced.lower().compile()
    outcomes = [run(compiled, _as_jax(arguments)) for arguments in inputs]
    return outcomes, staged_equations(traced.jaxpr.jaxpr)


def _function(function: Any, inputs: tuple[Arguments, ...]) -> tuple[list[Outcome], dict[str, int]]:
    made = ag.function(function, compiler_options=_QUICK)
    outcomes = [run(made, _as_jax(inputs[0]))]
    if not isinstance(outcomes[0].error, TypeError | RuntimeError):
        outcomes += [run(made, _as_jax(arguments)) for arguments in inputs[1:]]
    else:
        raise outcomes[0].error
    # What is raised while tracing leaves no trace to be used again.
    if made.experimental_get_tracing_count() > 1 and all(outcome.error is None for outcome in outcomes):
        return [Outcome(error=RuntimeError("traced more than once"))] * len(inputs), {}
    return outcomes, {}


def _vmap(function: Any, inputs: tuple[Arguments, ...]) -> tuple[list[Outcome], dict[str, int]]:
    mapped = jax.jit(jax.vmap(ag.convert(function)), compiler_options=_QUICK)
    columns = zip(*(_as_jax(arguments) for arguments in inputs), strict=True)
    outcome = run(mapped, tuple(jnp.stack(column) for column in columns))
    if outcome.error is not None:
        raise outcome.error
    lanes = range(len(inputs))
    return [Outcome(jax.tree.map(lambda leaf: leaf[lane], outcome.result)) for lane in lanes], {}  # noqa: B023


_MODES: dict[str, Callable[[Any, tuple[Arguments, ...]], tuple[list[Outcome], dict[str, int]]]] = {
    "eager": _eager_numpy,
    "eager_jax": _eager_jax,
    "jit": _jit,
    "function": _function,
    "vmap": _vmap,
}


def _as_jax(arguments: Arguments) -> Arguments:
    return tuple(jnp.asarray(value) for value in arguments)


def staged_equations(jaxpr: Any) -> dict[str, int]:
    """How many ``cond``, ``while`` and ``scan`` equations there are, at any depth."""
    counts = {"cond": 0, "while": 0, "scan": 0}
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in counts:
            counts[name] += 1
        for parameter in equation.params.values():
            for nested in parameter if isinstance(parameter, tuple | list) else (parameter,):
                nested = getattr(nested, "jaxpr", nested)
                if hasattr(nested, "eqns"):
                    for inner, count in staged_equations(nested).items():
                        counts[inner] += count
    return counts


def reason(message: str) -> str:
    """A refusal's message without what is particular to the program: names, lines, types."""
    lines = [line.strip() for line in message.splitlines() if line.strip() and not line.startswith("<")]
    text = lines[0] if lines else message
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"<generated program>:\d+[^;]*", "…", text)
    return re.sub(r"\d+", "#", text)[:110]
