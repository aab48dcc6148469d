"""What the backend assumes of JAX beyond its documented interface: one function or table for each assumption.

No other file names `jax.interpreters`, `jax.extend`, the internals of `jax.core`, a private attribute, or what an
equation is called and what its parameters are. ``tests/test_jax_compat.py`` holds a contract test for each of these,
which says what no longer holds when a release of JAX breaks it.
"""

from __future__ import annotations

import math
import operator
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import jax
import jax.export
import numpy as np
from jax._src.dispatch import runtime_tokens
from jax.api_util import shaped_abstractify
from jax.experimental.hijax import register_hitype
from jax.extend import linear_util, source_info_util
from jax.extend.core import ClosedJaxpr as ClosedJaxpr
from jax.extend.core import (
    DebugInfo,
    DropVar,
    Jaxpr,
    Literal,
    Primitive,
    Var,
    concrete_or_error,
    jaxprs_in_params,
    new_jaxpr_eqn,
    set_current_trace,
    unmapped_aval,
)
from jax.extend.core import (
    find_top_trace as find_top_trace,
)
from jax.extend.core.primitives import scan_p
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe
from jax.interpreters.xla import canonicalize_dtype_handlers
from jax.sharding import NamedSharding, PartitionSpec

from autograph.runtime.errors import cell_of

# Programs: `ClosedJaxpr` is the class of what `jax.make_jaxpr` returns, equations closed over constants.

_SOURCE_LINE = re.compile(r"(.+):(\d+):(\d+) \((.*)\)", re.DOTALL)
_PART = DebugInfo("part of a program", "autograph", None, None)


def recorded(function: Callable[..., Sequence[Any]], types: Sequence[Any]) -> ClosedJaxpr:
    """A function of arrays of these types, which returns a list of arrays, as a program.

    What `jax.make_jaxpr` does, without the function being prepared as one that a user jits: a tenth of the time.
    """
    known = {id(each): each for each in types}  # few, where the types are `as_struct`'s
    for key, each in known.items():
        if isinstance(each, jax.ShapeDtypeStruct):
            known[key] = shaped_abstractify(each)
    avals = [known[id(each)] for each in types]
    own: Any = function
    for _ in range(100):  # a chain of wrappers, which might be a ring
        inner = getattr(own, "__wrapped__", own.func if isinstance(own, partial) else None)
        if inner is None:
            break
        own = inner
    code = getattr(own, "__code__", None)  # of what is written in C there is none
    where = "a block" if code is None else f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}"
    about = DebugInfo("autograph", where, None, None)
    jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(linear_util.wrap_init(function, debug_info=about), avals)
    return ClosedJaxpr(jaxpr, consts)


def is_literal(atom: Any) -> bool:
    """Whether an operand or a result of equations is a constant in their text, with a ``val``, and no variable."""
    return isinstance(atom, Literal)


def is_typed_number(value: Any) -> bool:
    """Whether this is a Python number with a dtype: JAX passes literals of its programs so, to rules of derivatives say."""
    return isinstance(value, int | float | complex) and isinstance(getattr(value, "aval", None), jax.core.ShapedArray)


def is_dropped(variable: Any) -> bool:
    """Whether nothing reads a result of an equation; such variables may not be results of a program."""
    return isinstance(variable, DropVar)


def variable(aval: Any) -> Any:
    """A variable of this type that is in no program yet."""
    return Var(aval)


def literal(value: Any, aval: Any) -> Any:
    """A constant in the text of a program."""
    return Literal(value, aval)


def program_of(
    equations: Sequence[Any], invars: Sequence[Any], outvars: Sequence[Any], outer: Mapping[Any, Any]
) -> ClosedJaxpr:
    """A program of some equations of another, which may read the variables in ``outer``, of these values."""
    effects = frozenset().union(*(equation.effects for equation in equations))
    is_high = any(map(_is_high, equations))
    jaxpr = Jaxpr(list(outer), list(invars), list(outvars), list(equations), effects, _PART, is_high)
    return ClosedJaxpr(jaxpr, list(outer.values()))


def with_equations(program: ClosedJaxpr, equations: Sequence[Any]) -> ClosedJaxpr:
    """The same program with other equations, of the same results."""
    return ClosedJaxpr(program.jaxpr.replace(eqns=list(equations)), program.consts)


def with_operands(program: ClosedJaxpr, invars: Sequence[Any]) -> ClosedJaxpr:
    """The same program without operands that it does not use."""
    jaxpr = program.jaxpr.replace(invars=list(invars), debug_info=program.jaxpr.debug_info.with_unknown_names())
    return ClosedJaxpr(jaxpr, program.consts)


def with_results(program: ClosedJaxpr, outvars: Sequence[Any]) -> ClosedJaxpr:
    """The same program with other results, computed already."""
    jaxpr = program.jaxpr.replace(outvars=list(outvars), debug_info=program.jaxpr.debug_info.with_unknown_names())
    return ClosedJaxpr(jaxpr, program.consts)


def with_constants(program: ClosedJaxpr, constants: Sequence[Any]) -> ClosedJaxpr:
    """The same program closed over other values."""
    return program.replace(consts=list(constants))


def closed_over_nothing(program: ClosedJaxpr, outer: Sequence[Any]) -> ClosedJaxpr:
    """The same program with variables, its constants among them, as its first operands."""
    jaxpr = program.jaxpr.replace(
        constvars=[],
        invars=[*outer, *program.jaxpr.invars],
        debug_info=program.jaxpr.debug_info.with_unknown_names(),
    )
    return ClosedJaxpr(jaxpr, ())


def constants_of(program: ClosedJaxpr) -> dict[Any, Any]:
    """The variables of a program that represent what it is closed over, with their values."""
    return dict(zip(program.jaxpr.constvars, program.consts, strict=True))


def replay(program: ClosedJaxpr, *operands: Any) -> list[Any]:
    """Run a program; each equation keeps its place in the user's source."""
    trace = current_trace()
    if does(trace, "recording") and _holds_for(program, operands):
        return _recorded_again(program.jaxpr, [*program.consts, *operands], trace)
    if any(getattr(jax.config, name) for name in ("jax_debug_nans", "jax_debug_infs")):
        return _checked_results(program, operands)
    return list(_results(program, operands))


def _results(program: ClosedJaxpr, operands: Sequence[Any]) -> Sequence[Any]:
    """What a program returns. JAX's `jaxpr_as_fun` turns its search for NaN off meanwhile, and with it that of this thread for good."""
    results: Sequence[Any] = jax.core.eval_jaxpr(program.jaxpr, program.consts, *operands)
    return results


def _checked_results(program: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """The results of a program while JAX looks for NaN and infinities.

    Raises:
      FloatingPointError: an equation gives one; with the line that it comes from.
    """
    return _evaluated(program, operands, _checked_again)


def _checked_again(equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """As `bind_again`, for `_checked_results`: the equations of a branch and of a called program one by one."""
    with at_source_of(equation), equation.ctx.manager:
        try:
            if kind(equation) is Kind.COND and not is_tracer(operands[0]):
                return _checked_results(branches(equation)[int(operands[0])], operands[1:])
            if kind(equation) is Kind.CALL and (program := called(equation.params)) is not None:
                return _checked_results(program, operands)
            return bind_again(equation, operands)
        except FloatingPointError as error:
            where = source_line(equation)
            if not where or "\n" in str(error):  # an equation within it has a line
                raise
            raise FloatingPointError(f"{where}\n  {error}") from None


def _evaluated(
    program: ClosedJaxpr, operands: Sequence[Any], results_of: Callable[[Any, Sequence[Any]], Sequence[Any]]
) -> list[Any]:
    """The results of a program, where an equation's are those of ``results_of(equation, operands)``."""
    known = constants_of(program) | dict(zip(program.jaxpr.invars, operands, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if is_literal(atom) else known[atom]

    for equation in program.jaxpr.eqns:
        known.update(zip(equation.outvars, results_of(equation, list(map(value, equation.invars))), strict=True))
    return list(map(value, program.jaxpr.outvars))


def _holds_for(program: ClosedJaxpr, operands: Sequence[Any]) -> bool:
    """Whether a program has no effects, and would have the equations that it has if it were recorded for these operands."""
    jaxpr = program.jaxpr
    return (
        not any(equation.effects or _is_high(equation) for equation in jaxpr.eqns)
        and all(isinstance(each, jax.Array) for each in operands)
        and all(jax.typeof(each) == var.aval for each, var in zip(operands, jaxpr.invars, strict=True))
        and all(jax.typeof(each) == var.aval for each, var in zip(program.consts, jaxpr.constvars, strict=True))
        and not new_jaxpr_eqn(
            [], [], scan_p, {}, jaxpr.effects
        ).ctx.xla_metadata  # which what is around would give to each
    )


def _is_high(equation: Any) -> bool:
    """Whether JAX lowers an equation before it compiles it, which it notes as it records it."""
    return bool(equation.primitive.is_high(*(atom.aval for atom in equation.invars), **equation.params))


def _recorded_again(jaxpr: Any, values: Sequence[Any], trace: Any) -> list[Any]:
    """The results of a jaxpr in a trace that records: those of `_results`, without any type being computed again."""
    around = source_info_util.current()
    names = around.name_stack

    def recorded_here(each: Any) -> Any:
        return trace.to_jaxpr_tracer(each, around)

    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), map(recorded_here, values), strict=True))
    for equation in jaxpr.eqns:
        taken = {atom: known[atom] for atom in equation.invars if not is_literal(atom)}
        if any(map(_is_in_text, taken.values())):  # JAX may compute with it now
            alone = program_of([equation], (), [var for var in equation.outvars if not is_dropped(var)], taken)
            known.update(zip(alone.jaxpr.outvars, map(recorded_here, _results(alone, ())), strict=True))
            continue
        place = equation.source_info
        if names.stack:
            place = place.replace(name_stack=names + place.name_stack)
        operands = [
            pe.DynamicJaxprTracer(trace, atom.aval, literal(atom.val, atom.aval), place)
            if is_literal(atom)
            else taken[atom]
            for atom in equation.invars
        ]
        types = [variable.aval for variable in equation.outvars]
        results = trace.emit_eqn(
            operands, types, equation.primitive, equation.params, equation.effects, place, equation.ctx
        )
        known.update(zip(equation.outvars, results, strict=True))
    return [atom.val if is_literal(atom) else known[atom] for atom in jaxpr.outvars]


def _is_in_text(tracer: Any) -> bool:
    """Whether a tracer represents a number in the text of a program, or an array that is none of JAX's."""
    value = tracer.get_const()
    return value is not None and not isinstance(value, jax.Array)


def replay_here(program: ClosedJaxpr) -> list[Any]:
    """Run a program of no operands; each equation comes from the line that calls this, as if it were recorded now."""
    return _evaluated(program, (), bind_again)


def record_here(function: Callable[[], Sequence[Any]], rewritten: Callable[[Any], Any]) -> list[Any]:
    """The results of a function of no operands, with each equation that it records rewritten."""
    program = recorded(function, ())
    return replay_here(with_equations(program, list(map(rewritten, program.jaxpr.eqns))))


def bind_again(equation: Any, operands: Iterable[Any]) -> list[Any]:
    """The results of an equation with other operands."""
    results = equation.primitive.bind(*operands, **equation.params)
    return list(results) if equation.primitive.multiple_results else [results]


# Equations.


def equation_like(
    equation: Any, primitive: Any, params: Mapping[str, Any], invars: Sequence[Any], outvars: Sequence[Any]
) -> Any:
    """An equation at the place of another, with its effects."""
    return new_jaxpr_eqn(
        list(invars),
        list(outvars),
        primitive,
        dict(params),
        equation.effects,
        equation.source_info,
        equation.ctx,
    )


def name_of(equation: Any) -> str:
    """What JAX calls the operation."""
    name: str = equation.primitive.name
    return name


def source_position(equation: Any) -> tuple[str, int, int, str] | None:
    """File, line, column (from 0) and function of the user's that an equation comes from; None where that is not known."""
    match = _SOURCE_LINE.fullmatch(source_info_util.summarize(equation.source_info))
    return None if match is None else (match[1], int(match[2]), int(match[3]), match[4])


def source_line(equation: Any) -> str:
    """The same as text, ``file:line:column (function)``, a cell of a notebook by its name; empty where it is not known."""
    found = source_position(equation)
    if found is None:
        return ""
    file, line, column, function = found
    return f"{cell_of(file) or file}:{line}:{column} ({function})"


def name_scopes(equation: Any) -> str:
    """The scopes of `jax.named_scope` that an equation is in, outermost first, with ``/`` between; transforms are written
    around the first that they are of, as in ``transpose(jvp(outer))/inner``.
    """
    return str(equation.source_info.name_stack)


@contextmanager
def at_source_of(equation: Any) -> Iterator[None]:
    """What is recorded in it comes from the line that an equation comes from."""
    names = source_info_util.current_name_stack() + equation.source_info.name_stack
    failure: BaseException | None = None
    with source_info_util.user_context(equation.source_info.traceback, name_stack=names):
        try:
            yield
        except BaseException as error:  # JAX's context would set a cause of its own
            failure = error
    if failure is not None:
        raise failure


def leave_out_of_source_lines(folder: str) -> None:
    """From now on files in this folder are nobody's line."""
    source_info_util.register_exclusion(folder)


def inner_programs(equation: Any) -> Iterator[Any]:
    """The jaxprs that an equation holds, with or without constants."""
    yield from jaxprs_in_params(equation.params)


def all_equations(jaxpr: Any) -> Iterator[Any]:
    """Every equation, each before those of the jaxprs that it holds."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in inner_programs(equation):
            yield from all_equations(inner)


def replace_literals(program: Any, new: Callable[[Any], Any]) -> None:
    """Set each literal of a program, and of those in it, to ``new(value)``."""
    jaxpr = getattr(program, "jaxpr", program)
    for equation in jaxpr.eqns:
        for atom in equation.invars:
            if is_literal(atom) and (value := new(atom.val)) is not atom.val:
                atom.val = value
        for inner in inner_programs(equation):
            replace_literals(inner, new)


def has_inner_effects(params: Mapping[str, Any]) -> bool:
    """Whether the jaxprs among an operation's parameters have effects."""
    return any(jaxpr.effects for jaxpr in jaxprs_in_params(params))


class Kind(Enum):
    """What an equation is, where it holds programs or touches state."""

    CALL = "runs a program on its operands"
    RULED = "runs a program on its operands that has a derivative of its own"
    CHECKPOINT = "runs a program on its operands and computes it again for derivatives"
    COND = "runs one of several programs on the operands after the first, which says which"
    WHILE = "runs a program while another says so"
    SCAN = "runs a program for each row"
    READ = "reads a Ref"
    WRITE = "writes a Ref, and returns what it held"
    OTHER = "is none of these"


# Primitives of this backend that have the form of JAX's of the same name count as such.
_KINDS = MappingProxyType(
    {
        "jit": Kind.CALL,
        "pjit": Kind.CALL,
        "closed_call": Kind.CALL,
        "core_call": Kind.CALL,
        "eval_jaxpr": Kind.CALL,
        "custom_jvp_call": Kind.RULED,
        "custom_vjp_call": Kind.RULED,
        "checkpoint": Kind.CHECKPOINT,
        "remat2": Kind.CHECKPOINT,
        "cond": Kind.COND,
        "while": Kind.WHILE,
        "scan": Kind.SCAN,
        "get": Kind.READ,
        "swap": Kind.WRITE,
    }
)


def kind_of(primitive: Any) -> Kind:
    return _KINDS.get(primitive.name, Kind.OTHER)


def kind(equation: Any) -> Kind:
    return kind_of(equation.primitive)


def called(params: Mapping[str, Any]) -> ClosedJaxpr | None:
    """The program that a `Kind.CALL`, `Kind.RULED` or `Kind.CHECKPOINT` with these parameters runs."""
    found = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
    return found if found is None or hasattr(found, "consts") else ClosedJaxpr(found, ())


def checkpoint_options(equation: Any) -> dict[str, Any]:
    """What `jax.checkpoint` was called with."""
    return {key: equation.params[key] for key in ("prevent_cse", "policy") if key in equation.params}


def branches(equation: Any) -> Sequence[ClosedJaxpr]:
    """The programs of a `Kind.COND`, by the number that its first operand is."""
    found: Sequence[ClosedJaxpr] = equation.params["branches"]
    return found


@dataclass(frozen=True)
class While:
    """A `Kind.WHILE`: operands are ``test_consts`` of the test, ``body_consts`` of the body, and the carry."""

    test: ClosedJaxpr
    body: ClosedJaxpr
    test_consts: int
    body_consts: int


def while_of(equation: Any) -> While:
    params = equation.params
    return While(params["cond_jaxpr"], params["body_jaxpr"], params["cond_nconsts"], params["body_nconsts"])


def run_while(test: ClosedJaxpr, body: ClosedJaxpr, consts: Sequence[Any], start: Sequence[Any]) -> list[Any]:
    """`jax.lax.while_loop` of programs of consts and carry, whose types are fixed, without tracing them again."""
    count = len(consts)
    params = dict(cond_nconsts=count, cond_jaxpr=test, body_nconsts=count, body_jaxpr=body)
    return list(jax.lax.while_p.bind(*consts, *consts, *start, **params))


@dataclass(frozen=True)
class WhileForm:
    """A `run_while` that a primitive stands for. It is lowered as it stands, where its operands need no conversion.

    Attributes:
      consts: how many of the operands are such.
      run: the same as a function of the operands, which converts them.
    """

    test: ClosedJaxpr
    body: ClosedJaxpr
    consts: int
    run: Callable[..., list[Any]] = field(compare=False)

    def __call__(self, *operands: Any) -> list[Any]:
        return self.run(*operands)

    def is_lowered_as_it_stands(self, context: Any) -> bool:
        """Whether tracing it would say nothing new."""
        programs = self.test, self.body
        if context.platforms is not None or any(each.effects or each.jaxpr.is_high for each in programs):
            return False
        return all(map(operator.eq, map(strong, context.avals_in), map(strong, self.body.in_avals)))

    def lower(self, context: Any, operands: Sequence[Any]) -> Any:
        """What the lowering rule of JAX's loop makes."""
        count, rule = self.consts, mlir._lowerings[jax.lax.while_p].rule
        types, values = ([*all[:count], *all[:count], *all[count:]] for all in (context.avals_in, operands))
        params = dict(cond_nconsts=count, cond_jaxpr=self.test, body_nconsts=count, body_jaxpr=self.body)
        return rule(context.replace(avals_in=types), *values, **params)


@dataclass(frozen=True)
class Scan:
    """A `Kind.SCAN`: operands are ``consts``, the carry, ``carried`` in number, and arrays by rows."""

    body: ClosedJaxpr
    consts: int
    carried: int
    options: dict[str, Any]


def scan_of(equation: Any) -> Scan:
    return scan_with(equation.params, *([atom.aval for atom in atoms] for atoms in (equation.invars, equation.outvars)))


def scan_with(params: Mapping[str, Any], operands: Sequence[Any], results: Sequence[Any]) -> Scan:
    """The scan of an equation with these parameters, from operands to results of these types."""
    body = params["jaxpr"]

    def whole(inner: Sequence[Any], outer: Sequence[Any]) -> int:  # a row has one rank less inside
        return sum(len(a.shape) == len(b.shape) for a, b in zip(inner, outer, strict=True))

    carried = whole(body.out_avals, results)
    consts = whole(body.in_avals, operands) - carried
    return Scan(body, consts, carried, {key: params[key] for key in ("length", "reverse", "unroll")})


@dataclass(frozen=True)
class Scanned:
    """What a scan does, whatever its operands are."""

    body: ClosedJaxpr
    length: int
    is_reverse: bool


def scanned(params: Mapping[str, Any]) -> Scanned:
    """What a scan with these parameters does."""
    return Scanned(params["jaxpr"], params["length"], params["reverse"])


def with_scanned_body(params: Mapping[str, Any], body: ClosedJaxpr) -> dict[str, Any]:
    """Parameters of a scan of another body, of the same types."""
    return {**params, "jaxpr": body}


def scan_types(operands: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """The types of the results of a scan with these parameters."""
    avals, _ = scan_p.abstract_eval(*map(jax.typeof, operands), **params)
    return list(avals)


def function_name(equation: Any) -> str | None:
    """The name of the function that a `Kind.CALL` is of, where JAX keeps one."""
    return equation.params.get("name")


def is_select(equation: Any) -> bool:
    """Whether an equation chooses between values by a predicate."""
    return name_of(equation) == "select_n"


def multiply_adds(equation: Any) -> int | None:
    """How many products a product of matrices, or a convolution, adds up; None of another equation."""
    if name_of(equation) == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        return _fixed_size(equation.outvars[0].aval.shape) * _fixed_size(
            [equation.invars[0].aval.shape[k] for k in contracted]
        )
    if name_of(equation) == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
        return _fixed_size(equation.outvars[0].aval.shape) * _fixed_size(kernel) // max(features, 1)
    return None


def _fixed_size(shape: Sequence[Any]) -> int:
    return math.prod(size if isinstance(size, int) else 1 for size in shape)


def is_stop_gradient(equation: Any) -> bool:
    return name_of(equation) == "stop_gradient"


def is_symbolic_size(equation: Any) -> bool:
    """Whether it makes a value of a size that is known only at run time."""
    return name_of(equation) == "dim_as_value"


def cast_to(equation: Any) -> Any:
    """The dtype that an equation casts its operand to; None if it is no cast."""
    return equation.params["new_dtype"] if name_of(equation) == "convert_element_type" else None


def cast_like(equation: Any, atom: Any) -> Any:
    """The equation that makes of a value, which is the result of another but for its type, that result."""
    (result,) = equation.outvars
    params = {"new_dtype": result.aval.dtype, "weak_type": result.aval.weak_type, "sharding": None}
    return equation_like(equation, jax.lax.convert_element_type_p, params, [atom], [result])


def rounds_to_even(equation: Any) -> bool:
    """Whether a ``round`` takes a number in the middle to the even one, as Python does."""
    return int(equation.params["rounding_method"]) == 1


def exponent(equation: Any) -> int:
    """The exponent of an ``integer_pow``."""
    power: int = equation.params["y"]
    return power


_ELEMENT_READS = frozenset({"dynamic_slice", "gather", "slice"})
_SCATTERS = frozenset({"scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"})


def is_scatter(equation: Any) -> bool:
    """Whether it writes to its first operand, at the indices and the values that the others are."""
    return name_of(equation) in _SCATTERS


def is_update(equation: Any) -> bool:
    """Whether its result is its first operand but for the elements that it writes."""
    return is_scatter(equation) or name_of(equation) == "dynamic_update_slice"


def is_read_of_elements(equation: Any) -> bool:
    """Whether it reads elements of its first operand, at indices."""
    return name_of(equation) in _ELEMENT_READS


def held_apart(equation: Any, results: Sequence[int]) -> list[Any]:
    """The equation, and an optimization barrier between these of its results and what uses them."""
    raw = list(equation.outvars)
    for k in results:
        raw[k] = variable(equation.outvars[k].aval)
    computed = equation_like(equation, equation.primitive, equation.params, equation.invars, raw)
    held = [equation.outvars[k] for k in results]
    barrier = equation_like(equation, jax.lax.optimization_barrier_p, {}, [raw[k] for k in results], held)
    return [computed, barrier]


def drops_out_of_range(equation: Any) -> bool:
    """Whether a scatter writes nothing where an index is out of range."""
    return bool(equation.params["mode"] == jax.lax.GatherScatterMode.FILL_OR_DROP)


def scatter_window(equation: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Of a scatter that writes one block: the axes that its vector of indices is of, and the sizes of the block."""
    if not is_scatter(equation):
        return None
    array, indices, updates = (atom.aval for atom in equation.invars)
    numbers = equation.params["dimension_numbers"]
    if (
        len(indices.shape) != 1
        or numbers.operand_batching_dims
        or len(numbers.update_window_dims) != len(updates.shape)
    ):
        return None
    pending = iter(updates.shape)
    sizes = tuple(1 if axis in numbers.inserted_window_dims else next(pending) for axis in range(len(array.shape)))
    return tuple(numbers.scatter_dims_to_operand_dims), sizes


def scatter_within(outer: Any, inner: Any) -> list[Any]:
    """The equations of one scatter to an array, for one that writes what another has made of the block that is there."""
    first, second = outer.params["dimension_numbers"], inner.params["dimension_numbers"]
    kept = [axis for axis in range(outer.invars[0].aval.ndim) if axis not in first.inserted_window_dims]
    numbers = jax.lax.ScatterDimensionNumbers(
        update_window_dims=second.update_window_dims,
        inserted_window_dims=tuple(
            sorted((*first.inserted_window_dims, *(kept[axis] for axis in second.inserted_window_dims)))
        ),
        scatter_dims_to_operand_dims=(
            *first.scatter_dims_to_operand_dims,
            *(kept[axis] for axis in second.scatter_dims_to_operand_dims),
        ),
    )
    (array, place, _), (_, within, new) = outer.invars, inner.invars
    indices = Var(place.aval.update(shape=(place.aval.shape[0] + within.aval.shape[0],)))
    joined = equation_like(outer, jax.lax.concatenate_p, {"dimension": 0}, [place, within], [indices])
    params = {**outer.params, "dimension_numbers": numbers}
    return [joined, equation_like(outer, outer.primitive, params, [array, indices, new], outer.outvars)]


def update_in_range(scatter: Any, starts: Sequence[Any]) -> list[Any]:
    """The equations of a write of one block, for a scatter of it at these indices, one for each axis, which are in range."""
    array, _, new = scatter.invars
    numbers, sizes = scatter.params["dimension_numbers"], scatter_window(scatter)
    assert sizes is not None and len(numbers.update_window_dims) == len(new.aval.shape)
    block = Var(new.aval.update(shape=sizes[1]))
    params = {"new_sizes": sizes[1], "dimensions": None, "sharding": None}
    shaped = equation_like(scatter, jax.lax.reshape_p, params, [new], [block])
    return [
        shaped,
        equation_like(scatter, jax.lax.dynamic_update_slice_p, {}, [array, block, *starts], scatter.outvars),
    ]


def without_unit_axes(equation: Any) -> list[Any]:
    """The equations of a scatter in lanes whose blocks have no axes of one element that its indices are of; itself, if it has none."""
    array, _, updates = (atom.aval for atom in equation.invars)
    numbers = equation.params["dimension_numbers"]
    outside = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    axes = [axis for axis in range(len(array.shape)) if axis not in outside]  # of a block, in order
    indexed = set(numbers.scatter_dims_to_operand_dims)
    unit = [
        (axis, place)
        for axis, place in zip(axes, numbers.update_window_dims, strict=True)
        if axis in indexed and updates.shape[place] == 1
    ]
    if not unit or not numbers.operand_batching_dims:
        return [equation]
    places = {place for _, place in unit}
    left = [place for place in range(len(updates.shape)) if place not in places]
    made = jax.lax.ScatterDimensionNumbers(
        update_window_dims=tuple(left.index(place) for place in numbers.update_window_dims if place not in places),
        inserted_window_dims=tuple(sorted((*numbers.inserted_window_dims, *(axis for axis, _ in unit)))),
        scatter_dims_to_operand_dims=numbers.scatter_dims_to_operand_dims,
        operand_batching_dims=numbers.operand_batching_dims,
        scatter_indices_batching_dims=numbers.scatter_indices_batching_dims,
    )
    sizes = tuple(updates.shape[place] for place in left)
    elements = Var(updates.update(shape=sizes))
    shape = {"new_sizes": sizes, "dimensions": None, "sharding": None}
    reshaped = equation_like(equation, jax.lax.reshape_p, shape, [equation.invars[2]], [elements])
    params = {**equation.params, "dimension_numbers": made}
    written = equation_like(equation, equation.primitive, params, [*equation.invars[:2], elements], equation.outvars)
    return [reshaped, written]


def squeezed_axes(equation: Any) -> tuple[int, ...]:
    """The axes that a ``squeeze`` leaves out."""
    return tuple(equation.params["dimensions"])


def sliced_numbers(equation: Any) -> range:
    """Which numbers of a vector a ``slice`` takes."""
    (start,), (limit,) = equation.params["start_indices"], equation.params["limit_indices"]
    return range(start, limit, *(equation.params["strides"] or ()))


def sliced_rows(equation: Any) -> range | None:
    """Which rows of an array a ``slice`` takes, whole and one after another; None for any other equation."""
    if name_of(equation) != "slice":
        return None
    array, params = equation.invars[0].aval, equation.params
    starts, limits = params["start_indices"], params["limit_indices"]
    is_fixed = all(isinstance(size, int) for size in (*starts, *limits))
    if not is_fixed or any(starts[1:]) or tuple(limits[1:]) != array.shape[1:] or set(params["strides"] or ()) - {1}:
        return None
    return range(starts[0], limits[0])


_VIEWS = frozenset(["squeeze", "slice", "dynamic_slice", "transpose", "reshape", "rev", "broadcast_in_dim"])


def viewed(value: Any) -> Any:
    """The value of which a traced one is all or some elements, in another order or shape; None if it is of no such operation."""
    equation = _equation_of(value) if is_tracer(value) else None
    if equation is None or equation.primitive.name not in _VIEWS or not value.aval.ndim:
        return None
    operand = equation.in_tracers[0]
    is_larger = equation.primitive.name == "broadcast_in_dim" and operand.aval.size != value.aval.size
    return None if is_larger or not operand.aval.ndim else operand


def is_concatenation(equation: Any) -> bool:
    return name_of(equation) == "concatenate"


def is_read_of_row(equation: Any) -> bool:
    """Whether it is one row of its first operand, at the index that the second is."""
    if name_of(equation) != "dynamic_slice":
        return False
    return tuple(equation.outvars[0].aval.shape) == (1, *equation.invars[0].aval.shape[1:])


def is_update_of_row(equation: Any) -> bool:
    """Whether it writes one row of its first operand, the second, at the index that the third is."""
    if name_of(equation) != "dynamic_update_slice":
        return False
    return tuple(equation.invars[1].aval.shape) == (1, *equation.invars[0].aval.shape[1:])


def is_cast(equation: Any) -> bool:
    """Whether its result is its operand in another type."""
    return name_of(equation) == "convert_element_type"


def is_cast_of_weakness(equation: Any) -> bool:
    """Whether its result is its operand, of a type that is weak or no longer."""
    return is_cast(equation) and equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype


def slice_like(equation: Any, array: Any, starts: Sequence[Any], result: Any) -> Any:
    """The equation of another ``dynamic_slice``."""
    params = {**equation.params, "slice_sizes": result.aval.shape}
    return equation_like(equation, equation.primitive, params, [array, *starts], [result])


def are_one_scatter(first: Any, second: Any) -> bool:
    """Whether two scatters differ in their operands at most; each has a function of its own that says the same."""
    own = ("update_jaxpr", "update_consts")
    return first.primitive is second.primitive and all(
        first.params[key] == second.params[key] for key in first.params if key not in own
    )


# Types.


def strong(aval: Any) -> Any:
    """The same type, not weak."""
    return aval.update(weak_type=False) if getattr(aval, "weak_type", False) else aval


def weak(value: Any) -> Any:
    """The same array, of weak type."""
    return jax.lax.convert_element_type_p.bind(value, new_dtype=value.dtype, weak_type=True, sharding=None)


def stacked(size: int, aval: Any) -> Any:
    """The type of so many values of a type along a new first axis."""
    return unmapped_aval(size, 0, aval)


def is_ref(aval: Any) -> bool:
    """Whether this is the type of a mutable array."""
    return "Ref" in type(aval).__name__


def symbolic_size_class() -> type:
    """The class of sizes that is known only at run time."""
    return type(jax.export.symbolic_shape("n")[0])


def size_at(size: Any, known: Mapping[str, Any]) -> Any:
    """What a symbolic size is where its variables are these sizes, which may be symbolic themselves."""
    found = size._evaluate(dict(known))
    return found if jax.export.is_symbolic_dim(found) else operator.index(found)


def with_shape(aval: Any, shape: Sequence[Any]) -> Any:
    """The same type of another shape."""
    return aval.update(shape=tuple(shape))


def is_array_type(value: Any) -> bool:
    """Whether this is the type of an array."""
    return type(value) is jax.core.ShapedArray


def is_jaxpr(value: Any) -> bool:
    """Whether this is a program without its constants."""
    return isinstance(value, Jaxpr)


def retyped(
    jaxpr: Any,
    aval: Callable[[Any], Any],
    size: Callable[[Any], Any],
    part: Callable[[str, Any], Any],
    rules: list[Callable[[], object]],
) -> Any:
    """A jaxpr with other types of its variables, and other parameters of its operations; a value of a size is a constant if
    ``size`` returns an int for it.

    ``rules`` gets what makes the derivatives that parts of it have of their own, which are made when they are asked for.
    """
    known: dict[Any, Any] = {}

    def bound(variable: Any) -> Any:
        if is_dropped(variable):
            return DropVar(aval(variable.aval))
        known[variable] = Var(aval(variable.aval))
        return known[variable]

    def atom(found: Any) -> Any:
        return found if is_literal(found) else known[found]

    constvars, invars = list(map(bound, jaxpr.constvars)), list(map(bound, jaxpr.invars))
    equations = []
    for equation in jaxpr.eqns:
        if is_symbolic_size(equation):
            found = size(equation.params["dim"])
            if isinstance(found, int):
                (variable,) = equation.outvars
                known[variable] = Literal(variable.aval.dtype.type(found), variable.aval)
                continue
        params = {key: part(key, value) for key, value in equation.params.items()}
        params.update(_retyped_rule(equation, params, part, rules))
        operands = list(map(atom, equation.invars))
        equations.append(
            equation_like(equation, equation.primitive, params, operands, list(map(bound, equation.outvars)))
        )
    return jaxpr.replace(constvars=constvars, invars=invars, outvars=list(map(atom, jaxpr.outvars)), eqns=equations)


def sizeless_classes() -> tuple[type, ...]:
    """The classes, beside public ones, of parameters that tell no sizes: those of dtypes of keys, and of what is not specified."""
    (unspecified,) = _JITTED._jit_info.out_shardings_leaves
    return type(unspecified), type(jax.eval_shape(jax.random.key, 0).dtype)


# Parameters of operations that are functions, or hold some, and tell no sizes. ``jvp_jaxpr_fun``: see `_retyped_rule`;
# ``ft_in`` and ``ft_out``: how what a scan takes and returns is nested.
SIZELESS = frozenset(["policy", "impl", "jvp_jaxpr_fun", "ft_in", "ft_out"])


def _retyped_rule(
    equation: Any, params: Mapping[str, Any], part: Callable[[str, Any], Any], rules: list[Callable[[], object]]
) -> dict[str, Any]:
    """The derivative that a function of `jax.custom_jvp` has of its own: a program that is made when it is asked for."""
    rule = params.get("jvp_jaxpr_fun")
    if rule is None:
        return {}

    @cache
    def made(*zeros: bool) -> Any:
        jaxpr, consts, zero_results = rule.call_wrapped(*zeros)
        return part("jaxpr", jaxpr), consts, zero_results

    if params["symbolic_zeros"]:
        raise NotImplementedError("a derivative of jax.custom_jvp is told which tangents are zero")
    rules.append(partial(made, *[False] * (len(equation.invars) - params["num_consts"])))
    return {"jvp_jaxpr_fun": linear_util.wrap_init(made, debug_info=rule.debug_info)}


# Tracers, and the traces that operations go to: run, recorded, mapped or differentiated, one within another.

_TRACES = MappingProxyType(
    {
        "running": ("EvalTrace",),
        "recording": ("DynamicJaxprTrace",),
        "differentiating": ("JVPTrace", "LinearizeTrace"),
        "mapping": ("BatchTrace", "ShardMapTrace"),
    }
)


def is_tracer(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


def trace_of(value: Any) -> Any:
    """The trace that a tracer belongs to; None for other values."""
    return getattr(value, "_trace", None)


def is_live(tracer: Any) -> bool:
    """Whether the trace of a tracer goes on: operations go there now, or to a trace inside of it."""
    trace = current_trace()
    while trace is not None and trace is not trace_of(tracer):
        trace = trace_around(trace)
    return trace is not None


def known_value(tracer: Any) -> Any:
    """The value that a tracer has at hand (of eager differentiation, say); None if it has none."""
    return tracer.to_concrete_value()


def concrete(value: Any) -> Any:
    """The value of an array that is being differentiated; raises if it has none now."""
    return concrete_or_error(None, value)


def current_trace() -> Any:
    """Where operations go now."""
    return find_top_trace(None)


@cache
def running_trace() -> Any:
    """What `current_trace` is where operations run at once, on values."""
    with outside_traces():
        return current_trace()


def trace_around(trace: Any) -> Any:
    """The trace that one hands its operations on to; None for the outermost."""
    return getattr(trace, "parent_trace", None)


def forget_order_of_effects() -> None:
    """Let the next program with effects start without waiting for those before it in this thread, which failed.

    Where programs run asynchronously (GPUs), their tokens hold the failure, and each later program with effects would end
    with it. JAX clears them in `effects_barrier`, before 0.12 only if nothing failed.
    """
    runtime_tokens.clear()


def equations_recorded() -> int:
    """How many equations the program that is being recorded has by now, those inside of its equations not counted."""
    trace = current_trace()
    while trace is not None and not hasattr(trace, "frame"):
        trace = trace_around(trace)
    return 0 if trace is None else len(trace.frame.tracing_eqns)


class _Tracers(weakref.WeakValueDictionary[int, Any]):
    """The tracers of constants, by the constants' identities.

    Arrays of NumPy's may be written to between two uses. What JAX makes of one is cached as long as it exists, and is a copy of
    another type if JAX has not the array's: nothing may hold it. Their tracers are found by the contents.

    Attributes:
      last: the one that was added last.
      has_arrays: whether one has been of an array of NumPy's that may be written to.
      of_contents: of arrays of NumPy's, by their types and the hashes of their contents.
    """

    def __init__(self, tracers: Any) -> None:
        super().__init__(tracers)
        self.last: tuple[int, Any] | None = None
        self.has_arrays = False
        self.of_contents: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()

    def __setitem__(self, identity: int, tracer: Any) -> None:
        self.last = identity, tracer
        super().__setitem__(identity, tracer)


class _Copies(dict[Any, Any]):
    """The constants of a program that is being recorded: of arrays of NumPy's, which may be written to before it runs, copies."""

    def __init__(self, known: _Tracers, constants: Mapping[Any, Any]) -> None:
        super().__init__(constants)
        self._known = known
        tracers = {tracer.val: (identity, tracer) for identity, tracer in known.items()}
        for variable, constant in constants.items():
            if (known_one := tracers.get(variable)) is not None:
                known.last = known_one
                self[variable] = constant

    def __setitem__(self, variable: Any, constant: Any) -> None:
        added, self._known.last = self._known.last, None
        if added is None or added[1].val is not variable or not _may_be_written(constant):
            super().__setitem__(variable, constant)
            return
        identity, tracer = added
        self._known.has_arrays = True
        self._known.pop(identity, None)
        contents = constant.tobytes()
        key = tracer.aval, hash(contents)
        earlier = self._known.of_contents.get(key)
        if earlier is not None and self[earlier.val].tobytes() == contents:
            tracer.val = earlier.val
            tracer.parent = earlier  # which JAX forgets the constant with
            return
        self._known.of_contents[key] = tracer
        super().__setitem__(variable, constant.copy())


def _may_be_written(constant: Any) -> bool:
    """Whether a constant is an array of NumPy's, or a view of one, that may be written to."""
    while isinstance(constant, np.ndarray):
        if constant.flags.writeable:
            return True
        constant = constant.base
    return False


def copy_constants() -> None:
    """Let the programs that are being recorded copy the arrays of NumPy's that they compute with, which JAX does when they are complete."""
    for frame in _frames():
        if type(frame.constvar_to_val) is not _Copies:
            frame.constid_to_tracer = _Tracers(frame.constid_to_tracer)
            frame.constvar_to_val = _Copies(frame.constid_to_tracer, frame.constvar_to_val)


def has_copied_constants() -> bool:
    """Whether what runs here may have made copies of arrays of NumPy's that may be written to: values of what is recorded, or mapped."""
    known = [getattr(frame.constid_to_tracer, "has_arrays", True) for frame in _frames()]
    return any(known) or not known


def _frames() -> Iterator[Any]:
    """What the programs that are being recorded here consist of so far."""
    traces = [current_trace()]
    while traces:
        trace = traces.pop()
        if (frame := getattr(trace, "frame", None)) is not None:
            yield frame
        inner = (trace_around(trace), getattr(trace, "tangent_trace", None))
        traces += [each for each in inner if each is not None and each is not trace]


def number_at_hand(value: Any) -> Any:
    """What an array holds, if that is known without running anything: no tracer, or one that is recorded as a literal. Else None."""
    if not is_tracer(value):
        return value
    atom = getattr(value, "val", None)
    return atom.val if atom is not None and is_literal(atom) else None


def recorded_by(value: Any) -> Any:
    """The equation that a value was recorded as a result of, its operands the values that it was recorded for, in a program that is
    being recorded, under whatever transforms; None of what is no such result.
    """
    while value is not None and not does(trace_of(value), "recording"):
        value = getattr(value, "primal", getattr(value, "val", None))
    return _equation_of(value)


def _equation_of(tracer: Any) -> Any:
    """The equation that a tracer is a result of; None of another one, as of a constant that is found by its contents (`_Copies`)."""
    parent = getattr(tracer, "parent", None)
    return None if is_tracer(parent) else parent


def does(trace: Any, what: str) -> bool:
    """Whether a trace is ``running`` operations, ``recording``, ``mapping`` or ``differentiating`` them."""
    return type(trace).__name__ in _TRACES[what]


def outside_traces() -> AbstractContextManager[Any]:
    """In its block operations run at once."""
    return jax.core.eval_context()


def in_trace(trace: Any) -> AbstractContextManager[Any]:
    """In its block operations go to this trace."""
    return set_current_trace(trace)


class RecordingTrace(jax.core.Trace):
    """Sees each operation before it goes on to the trace around.

    Attributes:
      parent_trace: the trace around.
    """

    def __init__(self, parent: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parent_trace = parent
        self.requires_low = getattr(parent, "requires_low", True)

    def on_stage(self, value: Any, staged: Any) -> None:
        """A value has become another object, to stand in the trace around."""
        raise NotImplementedError

    def on_operation(self, primitive: Any, operands: Sequence[Any], params: Mapping[str, Any]) -> Any:
        """Run an operation. Returns its result: a list of them for primitives with ``multiple_results``."""
        raise NotImplementedError

    def on_ruled_call(self, call: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """Run a function that has a derivative of its own; ``call`` hands it to the trace of its operands."""
        raise NotImplementedError

    def stage_value(self, value: Any) -> Any:
        with in_trace(self.parent_trace):
            staged = self.parent_trace.stage_value(value)
        if staged is not value:
            self.on_stage(value, staged)
        return staged

    def process_primitive(self, primitive: Any, operands: Any, params: Any, /) -> Any:
        return self.on_operation(primitive, operands, params)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, operands: Any, /, *, symbolic_zeros: Any
    ) -> Any:
        return self.on_ruled_call(
            lambda *values: current_trace().process_custom_jvp_call(
                primitive, fun, jvp, values, symbolic_zeros=symbolic_zeros
            ),
            operands,
        )

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, operands: Any, /, *, out_trees: Any, symbolic_zeros: Any
    ) -> Any:
        return self.on_ruled_call(
            lambda *values: current_trace().process_custom_vjp_call(
                primitive, fun, fwd, bwd, values, out_trees=out_trees, symbolic_zeros=symbolic_zeros
            ),
            operands,
        )


# Effects.


def passing_effect(name: str) -> Any:
    """A new effect of the kind that JAX lets through all statements, derivatives included: that of debug callbacks."""
    (debugging,) = jax.make_jaxpr(lambda: jax.debug.callback(lambda: None))().effects
    kind: Any = type(f"{name.title()}Effect", (type(debugging),), {"__str__": lambda _: name})
    return kind()


def has_side_effects(program: ClosedJaxpr) -> bool:
    """Whether a program does more than compute. That a collective names an axis counts among a program's effects, too."""
    return any(type(effect).__name__ != "NamedAxisEffect" for effect in program.effects)


def calls_python(program: ClosedJaxpr) -> bool:
    """Whether a program calls Python when it runs, by `io_callback`; JAX's means of debugging do not count."""
    return any("IO" in type(effect).__name__ for effect in program.effects)


def python_function(equation: Any) -> Any:
    """The function that an equation calls in Python; None if it calls none."""
    return getattr(equation.params.get("callback"), "callback_func", None)


def is_call_of_python(primitive: Any) -> bool:
    return primitive.name in ("io_callback", "debug_callback", "debug_print")


# What JAX's transforms make of functions.

_JITTED: Any = jax.jit(lambda: None)
_CHECKPOINTED: Any = (jax.checkpoint(_JITTED).__closure__ or ())[0].cell_contents.__code__
_NOT_A_RULE = frozenset(["fun", "nondiff_argnums", "__wrapped__", "__module__", "__name__", "__qualname__", "__doc__"])


def jit_options(jitted: Any) -> dict[str, Any] | None:
    """What `jax.jit` was called with to make this; None if it is of something else, or if an option is not known here."""
    info = getattr(jitted, "_jit_info", None) if type(jitted) is type(_JITTED) else None
    if info is None or info.use_resource_env or info.device is not None or info.backend is not None:
        return None
    if any(layout is not None for layout in (*info.in_layouts_leaves, *info.out_layouts_leaves)):
        return None
    options: dict[str, Any] = {
        "static_argnums": info.static_argnums,
        "static_argnames": info.static_argnames,
        "donate_argnums": info.donate_argnums,
        "donate_argnames": info.donate_argnames,
        "keep_unused": info.keep_unused,
        "inline": info.inline,
        "compiler_options": dict(info.compiler_options_kvs) or None,
    }
    (unspecified,) = _JITTED._jit_info.out_shardings_leaves
    for name in ("in_shardings", "out_shardings"):
        leaves = getattr(info, f"{name}_leaves")
        if not (len(leaves) == 1 and leaves[0] is unspecified):
            options[name] = jax.tree_util.tree_unflatten(getattr(info, f"{name}_treedef"), leaves)
    return options


def keeps_traces(transformed: Any) -> bool:
    """Whether this is what `jax.jit` makes of a function, or the innermost closure of what `jax.checkpoint` makes of one.

    Both find the trace of an earlier call by the function and the types of its arguments.
    """
    is_checkpoint = getattr(transformed, "__code__", None) is _CHECKPOINTED
    return is_checkpoint or type(transformed) is type(_JITTED)


def function_of(called: Any) -> Any:
    """The function that `jax.jit`, `jax.custom_vjp` or `jax.custom_jvp` made this of; ``__wrapped__`` may be what that one wraps."""
    return called._fun if type(called) is type(_JITTED) else called.fun


def rules_so_far(called: Any) -> dict[str, Any]:
    """The functions that a `jax.custom_vjp` or `jax.custom_jvp` holds beside the one that it is of, None where it has none yet;
    empty of anything else.
    """
    names = {jax.custom_vjp: ("fwd", "bwd"), jax.custom_jvp: ("jvp",)}.get(type(called), ())
    return {name: vars(called).get(name) for name in names}


def custom_rules(called: Any) -> dict[str, Any] | None:
    """`rules_so_far`; None of one without rules, too."""
    rules = rules_so_far(called)
    return rules if rules and None not in rules.values() else None


def with_custom_rules(
    called: Any, function: Any, replace: Callable[[Any], Any], begun: Callable[[Any], object]
) -> Any | None:
    """A `jax.custom_vjp` or `jax.custom_jvp` of another function, with replaced rules; None if it holds what is not known here.

    ``begun`` gets it before its rules are replaced, which may refer to it.
    """
    held, rules = vars(called), custom_rules(called)
    assert rules is not None
    made = type(called)(function, nondiff_argnums=held["nondiff_argnums"])
    begun(made)
    options = {name: held[name] for name in ("symbolic_zeros", "optimize_remat", "generic_batching") if name in held}
    replaced = [replace(rule) for rule in rules.values()]
    (made.defjvp if "jvp" in rules else made.defvjp)(*replaced, **options)
    copied = {*_NOT_A_RULE, *rules, *vars(function), "__annotations__", "__type_params__"}
    is_same = all(name in copied or vars(made).get(name) is value for name, value in held.items())
    return made if is_same else None


# Primitives of our own.


def new_primitive(name: str) -> Any:
    primitive = Primitive(name)
    primitive.multiple_results = True
    return primitive


def define(
    primitive: Any,
    *,
    types: Callable[..., Sequence[Any]],
    run: Callable[..., Sequence[Any]] | None = None,
    run_on: Callable[..., Callable[..., Sequence[Any]]] | None = None,
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
) -> None:
    """Rules of a primitive that represents the function ``run`` of its operands.

    Where that depends on what a program is lowered for, it is ``run_on(platform, **params)`` instead, which is asked when that is
    known. Where a program is lowered for several platforms it holds each form once: forms that are equal are one.
    ``types(*avals, **params)`` runs outside of any trace, so it makes no arrays. ``batch(axis, operands, dims, **params)``.
    The attribute ``form_on`` that the primitive gets is ``run_on``, for those who evaluate programs without XLA.
    """
    primitive.form_on = (lambda _, **params: partial(run, **params)) if run is not None else run_on
    primitive.is_high = _is_never_high
    primitive.def_abstract_eval(_varying_with_operands(types))
    primitive.def_impl(_compiled(primitive))
    mlir.register_lowering(primitive, _lowering(run, run_on))
    ad.primitive_jvps[primitive] = _unchecked_rule(jvp)
    batching.fancy_primitive_batchers[primitive] = _unchecked_rule(batch)
    if transpose is not None:
        ad.primitive_transposes[primitive] = _unchecked_rule(transpose)


def _compiled(primitive: Any) -> Callable[..., Sequence[Any]]:
    """How a primitive runs outside of any trace: as a program of its own, where `jax.disable_jit` is in force too."""

    def run(*operands: Any, **params: Any) -> Sequence[Any]:
        def bound(*operands: Any) -> Any:
            return primitive.bind(*operands, **params)

        bound.__name__ = bound.__qualname__ = primitive.name
        bound._apply_primitive = True  # type: ignore[attr-defined] # JAX looks no further in it for NaN
        with jax.disable_jit(False):
            results: Sequence[Any] = jax.jit(bound)(*operands)
        return results

    return run


def _is_never_high(*_: Any, **__: Any) -> bool:
    """Whether JAX is to replace equations of a primitive before it lowers them: ours lower what is in their programs themselves."""
    return False


def _lowering(
    run: Callable[..., Sequence[Any]] | None, run_on: Callable[..., Callable[..., Sequence[Any]]] | None
) -> Callable[..., Any]:
    if run is not None:
        return mlir.lower_fun(_unchecked(run), multiple_results=True)
    assert run_on is not None
    form_on = run_on

    def lower(context: Any, *operands: Any, **params: Any) -> Any:
        platforms = context.platforms or context.module_context.platforms
        forms = {platform: form_on(platform, **params) for platform in platforms}
        form = forms[platforms[0]]
        if isinstance(form, WhileForm) and len(platforms) == 1 and form.is_lowered_as_it_stands(context):
            return form.lower(context, operands)

        def run_here(*operands: Any) -> Sequence[Any]:
            if len(set(forms.values())) == 1:
                return form(*operands)
            chosen: Sequence[Any] = jax.lax.platform_dependent(*operands, **forms)
            return chosen

        return mlir.lower_fun(_unchecked(run_here), multiple_results=True)(context, *operands)

    return lower


def define_like_scan(primitive: Any, *, run_on: Callable[..., Callable[..., Sequence[Any]]]) -> None:
    """Rules of a primitive that takes and returns what `jax.lax.scan`'s does, and is that for all transforms. See `define`."""
    primitive.def_effectful_abstract_eval(scan_p.abstract_eval)
    primitive.is_high = _is_never_high
    primitive.def_impl(_compiled(primitive))
    mlir.register_lowering(primitive, _lowering(None, run_on))
    ad.primitive_jvps[primitive] = ad.primitive_jvps[scan_p]
    batching.fancy_primitive_batchers[primitive] = batching.fancy_primitive_batchers[scan_p]


def bind_scan(operands: Sequence[Any], params: Mapping[str, Any], unroll: int) -> list[Any]:
    """`jax.lax.scan`, where ``params`` are the parameters of its equation, with so many iterations at once."""
    found: list[Any] = scan_p.bind(*operands, **{**params, "unroll": unroll})
    return found


def define_effect(
    primitive: Any,
    effect: Any,
    *,
    run: Callable[..., Sequence[Any]],
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    lower: Callable[..., Any],
) -> None:
    """Rules of a primitive without results that is there for its effect. ``batch(operands, dims, **params)``."""
    primitive.def_impl(run)
    primitive.def_effectful_abstract_eval(lambda *_, **__: ([], {effect}))
    mlir.register_lowering(primitive, lower)
    ad.primitive_jvps[primitive] = jvp
    batching.primitive_batchers[primitive] = batch


def define_recorded_only(
    primitive: Any, effect: Any, *, types: Callable[..., Sequence[Any]], refuse: Callable[..., Any]
) -> None:
    """Rules of a primitive that is recorded and taken out again, for its effect: it is neither run, transformed nor lowered.

    ``types(*avals, **params)``; ``refuse`` raises, and is given the primitive's parameters.
    """
    primitive.def_effectful_abstract_eval(lambda *avals, **params: (list(types(*avals, **params)), {effect}))
    primitive.def_impl(refuse)
    mlir.register_lowering(primitive, refuse)
    ad.primitive_jvps[primitive] = refuse
    batching.primitive_batchers[primitive] = refuse


def define_partial_evaluation(
    primitive: Any,
    rule: Callable[..., Any],
    known_part: Callable[[Any, Sequence[bool]], tuple[Any, list[bool]] | None],
) -> None:
    """How a primitive is split into what is known now and what is left.

    ``rule(trace, *tracers, **params)`` where `jax.vjp` linearizes. ``known_part(equation, unknown)`` where a jaxpr is
    checkpointed and some operands are unknown: an equation for the results that are known all the same, and which of all
    results are not; None if all wait. What is left is the equation itself.
    """

    def rule_in_jaxprs(_: Any, unknown: Sequence[bool], held: Sequence[bool], equation: Any) -> Any:
        every = [True] * len(equation.outvars)
        needed = [atom for atom, h in zip(equation.invars, held, strict=True) if not is_literal(atom) and not h]
        if not any(unknown):
            return equation, equation, [False] * len(every), every, needed
        known, later = known_part(equation, unknown) or (None, every)
        return known, equation, later, every, needed

    pe.custom_partial_eval_rules[primitive] = _unchecked_rule(rule, takes_types=True)
    pe.partial_eval_jaxpr_custom_rules[primitive] = rule_in_jaxprs


def are_known(tracers: Iterable[Any]) -> bool:
    """Whether all operands of a rule of partial evaluation have their values now."""
    return all(tracer.is_known() for tracer in tracers)


def known_values(tracers: Iterable[Any]) -> list[Any]:
    known: list[Any] = _typed([tracer.pval.get_known() for tracer in tracers], frozenset())
    return known


def left_for_later(trace: Any, primitive: Any, tracers: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """Leave an operation to the part of a program that is not known now."""
    results: list[Any] = trace.default_process_primitive(primitive, tracers, dict(params))
    return results


def sum_left_for_later(trace: Any, known: Any, later: Any) -> Any:
    """The sum of an array and of one of those that `left_for_later` returned, of its type."""
    return trace.default_process_primitive(jax.lax.add_p, [trace.to_jaxpr_tracer(known), later], {})


# Tangents in rules: an array, or a symbolic zero.


def is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero


def as_array(tangent: Any) -> Any:
    """The tangent or cotangent as an array, where it is a symbolic zero."""
    return ad.instantiate_zeros(tangent)


def no_tangent(value: Any) -> Any:
    """The symbolic zero that is the tangent of ``value``."""
    return ad.Zero(jax.typeof(value).to_tangent_aval())


# Manual axes of a mesh. Inside `jax.shard_map` a type says along which axes values vary from device to device, and JAX's own
# operations check that their operands vary alike (its argument ``check_vma``). What a staged statement is traced to knows nothing
# of them: all that enters it is made to vary along each axis along which any of it does, its programs are traced, and its
# primitives' rules run, with the check off, and all that leaves varies along these axes.


def checks_varying() -> bool:
    """Whether the trace under way is one of `jax.shard_map` whose types say over which axes of the mesh values vary."""
    return bool(jax.config.check_vma)  # type: ignore[attr-defined]


def unchecked() -> AbstractContextManager[Any]:
    """Operations recorded in here are not checked for the axes along which their operands vary."""
    if not checks_varying():
        return nullcontext()
    setting: Any = jax.config._value_holders["check_vma"]
    without: AbstractContextManager[Any] = setting(False)
    return without


def varying_axes(values: Iterable[Any]) -> frozenset[Any]:
    """The axes along which any of the values, or types, varies: of those that `jax.shard_map` has made manual."""
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return frozenset()
    types = (value if isinstance(value, jax.core.AbstractValue) else jax.typeof(value) for value in values)
    return frozenset().union(*(_axes_of(each) for each in types))


def vary_alike(values: Sequence[Any]) -> list[Any]:
    """``values``, each varying along all axes along which one of them does, where that is checked."""
    if not checks_varying():
        return list(values)
    axes = varying_axes(values)
    return [varying_along(value, axes) for value in values]


def everywhere(aval: Any) -> Any:
    """The type, which does not say along which axes values vary."""
    return _with_axes(aval, frozenset())


def unaware(program: ClosedJaxpr) -> ClosedJaxpr:
    """The same program as one that JAX records without the check: its types say nothing of axes along which values vary, and
    what is there for such types alone is left out.
    """
    jaxpr = _unaware(program.jaxpr)
    return program if jaxpr is program.jaxpr else ClosedJaxpr(jaxpr, program.consts)


_FOR_TYPES = frozenset(["pvary", "varying", "same_along"])  # operations that return their operand


def _unaware(jaxpr: Any) -> Any:
    variables = [*jaxpr.constvars, *jaxpr.invars, *(v for equation in jaxpr.eqns for v in equation.outvars)]
    if not varying_axes(variable.aval for variable in variables):
        return jaxpr
    known = {variable: Var(everywhere(variable.aval)) for variable in variables if not is_dropped(variable)}

    def atom(found: Any) -> Any:
        return Literal(found.val, everywhere(found.aval)) if is_literal(found) else known[found]

    equations = []
    for equation in jaxpr.eqns:
        name = name_of(equation)
        if name in _FOR_TYPES:
            known.update(zip(equation.outvars, map(atom, equation.invars), strict=True))
            continue
        primitive, params = equation.primitive, {key: _unaware_parts(value) for key, value in equation.params.items()}
        if name == "psum_invariant":
            primitive, params = jax.lax.psum_p, {"axes": params["axes"], "axis_index_groups": None}
        outvars = [DropVar(everywhere(v.aval)) if is_dropped(v) else known[v] for v in equation.outvars]
        equations.append(equation_like(equation, primitive, params, list(map(atom, equation.invars)), outvars))
    return jaxpr.replace(
        constvars=list(map(atom, jaxpr.constvars)),
        invars=list(map(atom, jaxpr.invars)),
        outvars=list(map(atom, jaxpr.outvars)),
        eqns=equations,
    )


def _unaware_parts(value: Any) -> Any:
    if isinstance(value, ClosedJaxpr):
        return unaware(value)
    if isinstance(value, Jaxpr):
        return _unaware(value)
    return tuple(map(_unaware_parts, value)) if type(value) is tuple else value


def _cast_to_varying(value: Any, axes: frozenset[Any]) -> Any:
    return jax.lax.pcast(value, tuple(axes), to="varying") if axes else value


def _axes_of(aval: Any) -> frozenset[Any]:
    axes: frozenset[Any] = getattr(getattr(aval, "manual_axis_type", None), "varying", frozenset())
    return axes


def _with_axes(aval: Any, axes: frozenset[Any]) -> Any:
    found = getattr(aval, "manual_axis_type", None)
    if found is None or axes == found.varying:
        return aval
    sharding = aval.sharding
    if sharding.mesh.empty:
        sharding = NamedSharding(jax.sharding.get_abstract_mesh(), PartitionSpec(*[None] * aval.ndim))
    return aval.update(sharding=sharding, manual_axis_type=found.update(varying=axes))


def same_along(value: Any, axes: frozenset[Any]) -> Any:
    """``value``, of which it is known that it is the same all along these axes."""
    for axis in axes & varying_axes([value]):
        value = _same_p.bind(value, axis=axis, size=jax.lax.axis_size(axis))
    return value


def varying_along(value: Any, axes: frozenset[Any]) -> Any:
    """``value`` as one that varies along these axes, too, where that is checked."""
    return _cast_to_varying(value, axes - varying_axes([value])) if axes and checks_varying() else value


def struct_varying_along(struct: jax.ShapeDtypeStruct, axes: frozenset[Any]) -> Any:
    """The same type, of values that vary along these axes."""
    return _with_axes(jax.core.ShapedArray(struct.shape, struct.dtype, weak_type=struct.weak_type), axes)


def varying_everywhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of arrays, run without the check; what it returns counts as varying along every axis."""
    if not checks_varying():
        return function
    axes, run = frozenset(jax.sharding.get_abstract_mesh().manual_axes), _unchecked(function)
    return lambda *operands: _typed(run(*operands), axes)


def _unchecked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of arrays without the check, on types that do not say along which axes values vary."""

    def run(*args: Any, **kwargs: Any) -> Any:
        if not checks_varying():
            return function(*args, **kwargs)
        with unchecked():
            return function(*_typed(args, frozenset()), **kwargs)

    return run


def _varying_with_operands(types: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    def varying(*avals: Any, **params: Any) -> Sequence[Any]:
        axes = varying_axes(avals)
        found = types(*avals, **params)
        return [_with_axes(aval, axes) for aval in found] if axes else found

    return varying


def _unchecked_rule(rule: Callable[..., Any], takes_types: bool = False) -> Callable[..., Any]:
    """A primitive's rule, run without the check. What it returns varies as what it is given.

    ``takes_types``: it is left to say along which axes its operands vary, as it hands them on.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        if not checks_varying():
            return rule(*args, **kwargs)
        axes = varying_axes(filter(_is_array, jax.tree_util.tree_leaves(args, is_leaf=_is_tangent_or_operand)))
        with unchecked():
            return _typed(rule(*(args if takes_types else _typed(args, frozenset())), **kwargs), axes)

    return run


def _typed(values: Any, axes: frozenset[Any]) -> Any:
    """The arrays among ``values`` as such whose types say that they vary along these axes."""

    def typed(value: Any) -> Any:
        if is_zero(value):
            return ad.Zero(_with_axes(value.aval, axes))
        return _typed_p.bind(value, axes=axes) if _is_array(value) and varying_axes([value]) != axes else value

    return jax.tree_util.tree_map(typed, values, is_leaf=_is_tangent_or_operand)


def _is_tangent_or_operand(value: Any) -> bool:
    return is_zero(value) or isinstance(value, ad.UndefinedPrimal)


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array)


def _typed_transpose(cotangent: Any, operand: Any, *, axes: frozenset[Any]) -> list[Any]:
    return [_typed(cotangent, varying_axes([operand.aval]))]


# The same value, with a type that says that it varies along certain axes.
_typed_p = Primitive("varying")
_typed_p.def_abstract_eval(lambda aval, axes: _with_axes(aval, axes))
_typed_p.def_impl(lambda value, axes: value)
mlir.register_lowering(_typed_p, lambda _, value, axes: [value])
ad.primitive_jvps[_typed_p] = lambda primals, tangents, axes: (
    _typed_p.bind(*primals, axes=axes),
    _typed(tangents[0], axes),
)
ad.primitive_transposes[_typed_p] = _typed_transpose
batching.primitive_batchers[_typed_p] = lambda values, dims, axes: (_typed_p.bind(*values, axes=axes), dims[0])


# The same value, of which it is known that it is the same all along an axis. Each device adds its part to the cotangent.
_same_p = Primitive("same_along")
_same_p.def_abstract_eval(lambda aval, axis, size: _with_axes(aval, _axes_of(aval) - {axis}))
_same_p.def_impl(lambda value, axis, size: value)
mlir.register_lowering(_same_p, lambda _, value, axis, size: [value])
ad.primitive_jvps[_same_p] = lambda primals, tangents, **params: (
    _same_p.bind(*primals, **params),
    ad.Zero(_with_axes(tangents[0].aval, _axes_of(tangents[0].aval) - {params["axis"]}))
    if is_zero(tangents[0])
    else _same_p.bind(tangents[0], **params),
)
ad.primitive_transposes[_same_p] = lambda cotangent, operand, axis, size: [
    _typed(cotangent if is_zero(cotangent) else cotangent / size, varying_axes([operand.aval]))
]
batching.primitive_batchers[_same_p] = lambda values, dims, **params: (_same_p.bind(*values, **params), dims[0])


# Programs of `jax.export`.


def without_lapack(exported: jax.export.Exported) -> jax.export.Exported:
    """The same program, for a call that does not import SciPy, where it was exported for the CPU alone and does not call LAPACK.

    Lowering a call of a program for the CPU has JAX look up LAPACK's functions in SciPy, which takes longer to import than most
    programs to compile. Here it is told of no platform, and not to check that. The caller checks.
    """
    if exported.platforms != ("cpu",) or b"lapack_" in exported.mlir_module_serialized:
        return exported
    checks = (*exported.disabled_safety_checks, jax.export.DisabledSafetyCheck.platform())
    return replace(exported, platforms=("",), disabled_safety_checks=checks)


# What JAX's functions take for arrays, and what they hold.


def accept(kind: type, read: Callable[[Any], Any], type_of: Callable[[Any], Any]) -> None:
    """Let JAX's functions take objects of this class for the arrays that ``read`` returns, of the types ``type_of``.

    Every operation of JAX passes its operands through these two tables first, so what it records is what was read.
    """
    register_hitype(kind, lambda value: jax.typeof(type_of(value)))
    canonicalize_dtype_handlers[kind] = read


def drop_buffer(ref: Any) -> None:
    """Free what a Ref holds: a program that is run with it fails, where it would read an old value."""
    _buffer_of(ref).delete()


def set_owner_of_ref(ref: Any, owner: Any) -> None:
    """Note what a Ref represents: JAX hands the Ref itself back with the programs that use it."""
    ref._autograph_owner = weakref.ref(owner)


def owner_of_ref(ref: Any) -> Any:
    """What `set_owner_of_ref` has noted; None if that is no more."""
    return ref._autograph_owner()


def ref_without_buffer(blank: jax.Array) -> Any:
    """A Ref of the type of ``blank``, which it takes and frees. `jax.new_ref` would copy that, by a program for each type."""
    kind, type_kind, held_kind = _ref_classes()
    aval = type_kind(jax.typeof(blank))
    blank.delete()
    return kind(aval, held_kind(aval, blank))


@cache
def _ref_classes() -> tuple[Any, Any, Any]:
    """The classes of a Ref, of its type, and of what is in it."""
    ref: Any = jax.new_ref(jax.device_put(np.zeros((), np.bool_)))
    return type(ref), type(ref._aval), type(ref._refs)


def of_ref(ref: Any) -> Any:
    """What a Ref holds, read by the program that is being recorded, in `jax.ensure_compile_time_eval` too."""
    with _recorded():
        return ref[...]


def write_ref(ref: Any, value: Any) -> None:
    """Have the program that is being recorded write a Ref, in `jax.ensure_compile_time_eval` too."""
    with _recorded():
        ref[...] = value


def _recorded() -> AbstractContextManager[Any]:
    setting: Any = jax.config._value_holders["eager_constant_folding"]
    return setting(False) if setting.value else nullcontext()


def is_ref_without_buffer(value: Any) -> bool:
    """Whether this is a Ref whose buffer has been dropped."""
    buffer = _buffer_of(value)
    return buffer is not None and bool(buffer.is_deleted())


def _buffer_of(ref: Any) -> Any:
    return None if is_tracer(ref) else getattr(getattr(ref, "_refs", None), "_buf", None)


_SETTINGS = (
    "check_vma",
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
    "jax_default_prng_impl",
    "jax_threefry_partitionable",
    "jax_debug_nans",
    "jax_debug_infs",
    "jax_softmax_custom_jvp",
    "jax_disable_jit",
)


def indexed_by_at(value: Any) -> Any:
    """The array that ``value`` is the ``at`` of; None if it is that of none."""
    return value.array if type(value).__name__ == "_IndexUpdateHelper" else None


def recording_settings() -> tuple[Any, ...]:
    """What of `jax.config` shows in a recorded program."""
    return tuple(getattr(jax.config, name, None) for name in _SETTINGS)
