"""Run one program in one mode: agreement, a refusal, or a difference."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from autograph.tools.fuzz.interpreter import Evaluated, evaluated_function
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
        ``error`` (another exception), ``prints``.
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
        return self.kind in ("value", "error", "prints", "crash", "hang")


class Subject:
    """A program that is loaded and converted once, with what plain Python returns for each input.

    Attributes:
      function: as it is written.
      converted: by `ag.convert`.
      by_xla: whether traced programs are compiled by XLA; else `interpreter` evaluates them.
    """

    def __init__(self, source: str, inputs: tuple[Arguments, ...], by_xla: bool = True) -> None:
        self.inputs = inputs
        self.by_xla = by_xla
        self.function = load(source, _FILENAME).__dict__["f"]
        self.converted = ag.convert(self.function)
        self.wanted = [run(self.function, arguments) for arguments in inputs]

    def run(self, mode: str) -> Verdict:
        """Run the program on its inputs in one way, and compare each result with plain Python's."""
        try:
            outcomes, staged = _MODES[mode](self)
            wanted = self.wanted
            if mode == "vmap":  # lanes print in no order, and where they go different ways all print
                wanted = [replace(outcome, printed="") for outcome in wanted]
        except (ag.StagingError, ag.ConversionError) as error:
            return Verdict("refused", f"{type(error).__name__}: {error}")
        except Exception as error:
            if any(outcome.error is not None for outcome in self.wanted):
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


def run_mode(mode: str, source: str, inputs: tuple[Arguments, ...], by_xla: bool = True) -> Verdict:
    """Run a program on inputs in one way, and compare each result with plain Python's."""
    return Subject(source, inputs, by_xla).run(mode)


def _difference(wanted: Outcome, found: Outcome) -> tuple[str, str] | None:
    if wanted.error is not None or found.error is not None:
        if wanted.raised == found.raised:
            if found.printed is None or wanted.printed == found.printed:
                return None
            return "prints", f"before {wanted.error!r}, plain Python prints {wanted.printed!r}, found {found.printed!r}"
        if wanted.error is None:
            known = "error" if isinstance(found.error, ValueError | KeyError | AssertionError) else "crash"
            return known, f"plain Python returned {wanted.result!r}, found {found.error!r}"
        shown = found.result if found.error is None else found.error
        return "error", f"plain Python raised {wanted.error!r}, found {shown!r}"
    difference = next(differences(wanted.result, found.result), None)
    if difference is None and wanted.printed != found.printed:
        return "prints", f"plain Python prints {wanted.printed!r}, found {found.printed!r}"
    return None if difference is None else ("value", difference)


def differences(wanted: Any, found: Any) -> Iterator[str]:
    """Differences in structure, kind, shape and value; numbers of one kind are equal if their values are.

    What bare `jax.jit` gives as an `ag.Optional` counts as the value, or the None, that it represents.
    """
    found = jax.tree.map(_of_optional, found, is_leaf=lambda part: isinstance(part, ag.Optional))
    if str(jax.tree.structure(wanted)) != str(jax.tree.structure(found)):
        yield f"plain Python gives {wanted!r}, found {found!r}"
        return
    for left, right in zip(jax.tree.leaves(wanted), jax.tree.leaves(found), strict=True):
        a, b = np.asarray(left), np.asarray(right)
        if a.dtype.kind != b.dtype.kind or a.shape != b.shape or not np.array_equal(a, b):
            yield f"plain Python gives {wanted!r}, found {found!r}"
            return


def _of_optional(part: Any) -> Any:
    if not isinstance(part, ag.Optional):
        return part
    return part.value if part.present else None


# The ways of running.


_Outcomes = tuple[list[Outcome], dict[str, int]]


def _eager_numpy(subject: Subject) -> _Outcomes:
    return [run(subject.converted, arguments) for arguments in subject.inputs], {}


def _eager_jax(subject: Subject) -> _Outcomes:
    outcomes = []
    for arguments, wanted in zip(subject.inputs, subject.wanted, strict=True):
        found = run(subject.converted, _as_jax(arguments))
        # Outside of a trace sets and dicts are Python's, and JAX's arrays have no hash.
        outcomes.append(wanted if str(found.error).startswith("unhashable type: 'jaxlib") else found)
    return outcomes, {}


def _jit(subject: Subject) -> _Outcomes:
    if not subject.by_xla:
        evaluated = Evaluated(subject.converted)
        return _run_all(evaluated, subject.inputs), _staged_in(evaluated.programs)
    traced = jax.jit(subject.converted, compiler_options=_QUICK).trace(*_as_jax(subject.inputs[0]))
    compiled = traced.lower().compile()
    return [run(compiled, _as_jax(arguments)) for arguments in subject.inputs], _staged_in([traced.jaxpr])


def _function(subject: Subject) -> _Outcomes:
    made = ag.function(subject.function, compiler_options=_QUICK)
    if not subject.by_xla:
        made, compiler = evaluated_function(made)
        outcomes = _run_all(made, subject.inputs)
        programs = [program for evaluated in compiler.made for program in evaluated.programs]
    else:
        outcomes = _run_all(made, subject.inputs)
        programs = [made.get_concrete_function(*_as_jax(subject.inputs[0])).graph.jaxpr]
    # What is raised while tracing leaves no trace to be used again.
    if not made.experimental_get_tracing_count():
        outcomes = [replace(outcome, printed=None) for outcome in outcomes]
    # A list that has outgrown its room is one reason to trace again.
    is_again = made.experimental_get_tracing_count() > 1 and not made._rooms
    if is_again and all(outcome.error is None for outcome in outcomes):
        return [Outcome(error=RuntimeError("traced more than once"))] * len(subject.inputs), {}
    return outcomes, _staged_in(programs)


def _run_all(function: Any, inputs: tuple[Arguments, ...]) -> list[Outcome]:
    """The outcome for each input. What cannot be traced for one can be for none, and is raised."""
    first = run(function, _as_jax(inputs[0]))
    if isinstance(first.error, TypeError | RuntimeError | NameError):
        raise first.error
    return [first, *(run(function, _as_jax(arguments)) for arguments in inputs[1:])]


def _vmap(subject: Subject) -> _Outcomes:
    mapped = jax.vmap(subject.converted)
    columns: list[Any] = [np.stack(column) for column in zip(*subject.inputs, strict=True)]
    program: Any = Evaluated(mapped)
    if subject.by_xla:
        program = jax.jit(mapped, compiler_options=_QUICK)
        columns = list(map(jnp.asarray, columns))
    outcome = run(program, tuple(columns))
    if outcome.error is not None:
        raise outcome.error
    lanes = range(len(subject.inputs))
    outcomes = [Outcome(jax.tree.map(lambda leaf: leaf[lane], outcome.result)) for lane in lanes]  # noqa: B023
    return outcomes, _staged_in([] if subject.by_xla else program.programs)


_MODES: dict[str, Callable[[Subject], _Outcomes]] = {
    "eager": _eager_numpy,
    "eager_jax": _eager_jax,
    "jit": _jit,
    "function": _function,
    "vmap": _vmap,
}


def _as_jax(arguments: Arguments) -> Arguments:
    return tuple(jnp.asarray(value) for value in arguments)


def _staged_in(programs: list[Any]) -> dict[str, int]:
    counts: collections.Counter[str] = collections.Counter()
    for program in programs:
        counts.update(staged_equations(getattr(program, "jaxpr", program)))
    return dict(counts)


def staged_equations(jaxpr: Any) -> dict[str, int]:
    """How many ``cond``, ``while`` and ``scan`` equations there are, at any depth."""
    counts = {"cond": 0, "while": 0, "scan": 0, "cond_lanes": 0}
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
    lines = [line.strip() for line in message.splitlines() if line.strip() and "<generated program>:" not in line]
    text = lines[0] if lines else message
    text = re.sub(r"'[^']*'", "'…'", text)
    text = re.sub(r"<generated program>:\d+[^;]*", "…", text)
    return re.sub(r"\d+", "#", text)[:110]
