"""Evaluate traced programs with NumPy, without the time that XLA takes to compile them.

An operation that has no rule here is evaluated by JAX, one at a time. This sees what tracing made of a program; that
XLA is given the same is seen where programs are compiled (`campaign.is_compiled`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.tools.fuzz.windows import gather, scatter

_MOST_ITERATIONS = 10_000


class Endless(Exception):
    """A staged loop went on for longer than plain Python's could."""


class Evaluator:
    """Evaluates one traced program, any number of times."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self._opened: dict[int, Any] = {}
        self._constants: dict[int, list[Any]] = {}

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results, as NumPy values of the program's types."""
        with np.errstate(all="ignore"):
            results = self._closed(self.program, [np.asarray(array) for array in arrays])
        return [np.asarray(result) for result in results]

    def _closed(self, closed: Any, values: Sequence[Any]) -> list[Any]:
        constants = self._constants.get(id(closed))
        if constants is None:
            constants = self._constants[id(closed)] = [_as_numpy(const) for const in closed.consts]
        return self._run(closed.jaxpr, constants, values)

    def _run(self, jaxpr: Any, constants: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        known: dict[Any, Any] = dict(zip(jaxpr.constvars, constants, strict=True))
        known.update(zip(jaxpr.invars, values, strict=True))

        def read(atom: Any) -> Any:
            return known[atom] if not hasattr(atom, "val") else _literal(atom)

        for equation in jaxpr.eqns:
            operands = [read(atom) for atom in equation.invars]
            name = equation.primitive.name
            simple = _SIMPLE.get(name)
            if simple is not None:
                known[equation.outvars[0]] = simple(equation.params, *operands)
                continue
            nested = _NESTED.get(name)
            results = self._other(equation, operands) if nested is None else nested(self, equation, operands)
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _other(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        """An operation without a rule: the program that it represents, if it is of ours, or JAX's own evaluation."""
        primitive, params = equation.primitive, equation.params
        if hasattr(primitive, "form_on"):
            opened = self._opened.get(id(equation))
            if opened is None:
                avals = [jax.ShapeDtypeStruct(atom.aval.shape, atom.aval.dtype) for atom in equation.invars]
                opened = jax.make_jaxpr(primitive.form_on("cpu", **params))(*avals)
                self._opened[id(equation)] = opened
            return self._closed(opened, operands)
        arrays = [jnp.asarray(value, atom.aval.dtype) for value, atom in zip(operands, equation.invars, strict=True)]
        found = primitive.bind(*arrays, **params)
        return [_as_numpy(value) for value in (found if primitive.multiple_results else [found])]

    # What holds programs.

    def jit(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        params = equation.params
        inner = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
        if hasattr(inner, "consts"):
            return self._closed(inner, operands)
        return self._run(inner, (), operands)

    def cond(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        branches = equation.params["branches"]
        chosen = branches[min(max(int(operands[0]), 0), len(branches) - 1)]
        return self._closed(chosen, operands[1:])

    def while_(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        params = equation.params
        test, body = params["cond_jaxpr"], params["body_jaxpr"]
        if "program" in params:  # our own loop: test and body take the same constants
            of_body, carry = params["program"].split(operands)
            of_test = of_body
        else:
            count = params["cond_nconsts"]
            of_test, of_body = operands[:count], operands[count : count + params["body_nconsts"]]
            carry = operands[count + params["body_nconsts"] :]
        for _ in range(_MOST_ITERATIONS):
            goes_on = self._closed(test, [*of_test, *carry])[0]
            if not np.any(goes_on):
                return carry
            after = self._closed(body, [*of_body, *carry])
            # Lanes of `jax.vmap` that are done wait for the others.
            carry = [_where(goes_on, new, old) for new, old in zip(after, carry, strict=True)]
        raise Endless(f"no end after {_MOST_ITERATIONS} iterations")

    def scan(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        params = equation.params
        body = params["jaxpr"].jaxpr
        whole, kept = _unsliced(body.invars, equation.invars), _unsliced(body.outvars, equation.outvars)
        constants, carry, slices = operands[: whole - kept], operands[whole - kept : whole], operands[whole:]
        steps = range(params["length"])
        rows = []
        for step in reversed(steps) if params["reverse"] else steps:
            found = self._closed(params["jaxpr"], [*constants, *carry, *(np.asarray(part)[step] for part in slices)])
            carry = found[:kept]
            rows.append(found[kept:])
        if params["reverse"]:
            rows.reverse()
        stacked = []
        for position, atom in enumerate(equation.outvars[kept:]):
            column = [row[position] for row in rows]
            stacked.append(np.stack(column) if column else np.zeros(atom.aval.shape, atom.aval.dtype))
        return [*carry, *stacked]

    def unstack(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        return list(np.moveaxis(operands[0], equation.params["axis"], 0))

    def sort(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        if np.ndim(operands[0]) != 1:
            return self._other(equation, operands)
        keys = operands[: equation.params["num_keys"]]
        order = np.lexsort(keys[::-1])
        return [np.asarray(operand)[order] for operand in operands]

    def callback(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        found = equation.params["callback"](*map(np.asarray, operands))
        return list(found) if equation.outvars else []


_NESTED: dict[str, Callable[[Evaluator, Any, list[Any]], Sequence[Any]]] = {
    "jit": Evaluator.jit,
    "pjit": Evaluator.jit,
    "closed_call": Evaluator.jit,
    "eval_jaxpr": Evaluator.jit,
    "custom_jvp_call": Evaluator.jit,
    "custom_vjp_call": Evaluator.jit,
    "cond": Evaluator.cond,
    "while": Evaluator.while_,
    "scan": Evaluator.scan,
    "unstack": Evaluator.unstack,
    "sort": Evaluator.sort,
    "io_callback": Evaluator.callback,
    "debug_callback": Evaluator.callback,
}


def _unsliced(inner: Sequence[Any], outer: Sequence[Any]) -> int:
    """How many values a ``scan`` hands to its body, or takes from it, whole: the others have one rank less inside."""
    return sum(len(a.aval.shape) == len(b.aval.shape) for a, b in zip(inner, outer, strict=True))


# Operations on arrays: of the parameters and the operands.


def _divided(_: Any, left: Any, right: Any) -> Any:
    if np.asarray(left).dtype.kind == "f":
        return np.true_divide(left, right)
    return np.trunc(np.true_divide(left, right)).astype(np.asarray(left).dtype)  # towards zero


def _selected(_: Any, which: Any, *cases: Any) -> Any:
    if np.ndim(which) == 0:
        return cases[int(which)]
    if len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    return np.choose(which, cases)


def _where(goes_on: Any, new: Any, old: Any) -> Any:
    if np.ndim(goes_on) == 0:
        return new
    return np.where(np.reshape(goes_on, np.shape(goes_on) + (1,) * (np.ndim(new) - np.ndim(goes_on))), new, old)


def _broadcast(params: Any, value: Any, *_: Any) -> Any:
    shape = [1] * len(params["shape"])
    for size, axis in zip(np.shape(value), params["broadcast_dimensions"], strict=True):
        shape[axis] = size
    return np.broadcast_to(np.reshape(value, shape), params["shape"])


def _sliced(params: Any, value: Any) -> Any:
    strides = params["strides"] or (1,) * np.ndim(value)
    bounds = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return value[tuple(slice(*bound) for bound in bounds)]


def _starts(value: Any, sizes: Sequence[int], starts: Sequence[Any]) -> tuple[slice, ...]:
    """The window of these sizes, moved into the array as XLA moves it."""
    first = [
        min(max(int(start), 0), whole - size) for start, size, whole in zip(starts, sizes, np.shape(value), strict=True)
    ]
    return tuple(slice(start, start + size) for start, size in zip(first, sizes, strict=True))


def _dynamic_slice(params: Any, value: Any, *starts: Any) -> Any:
    return value[_starts(value, params["slice_sizes"], starts)]


def _dynamic_update(_: Any, value: Any, part: Any, *starts: Any) -> Any:
    changed = np.array(value)
    changed[_starts(value, np.shape(part), starts)] = part
    return changed


def _reduced(function: Any) -> Callable[..., Any]:
    def reduce(params: Any, value: Any) -> Any:
        return function.reduce(value, axis=tuple(params["axes"]), dtype=np.asarray(value).dtype)

    return reduce


def _accumulated(function: Any) -> Callable[..., Any]:
    def accumulate(params: Any, value: Any) -> Any:
        axis = params["axis"]
        value = np.flip(value, axis) if params["reverse"] else value
        found = function.accumulate(value, axis=axis, dtype=np.asarray(value).dtype)
        return np.flip(found, axis) if params["reverse"] else found

    return accumulate


def _placed(function: Callable[..., Any]) -> Callable[..., Any]:
    def place(params: Any, value: Any) -> Any:
        (axis,) = params["axes"]
        return function(value, axis=axis).astype(params["index_dtype"])

    return place


def _shifted(function: Any) -> Callable[..., Any]:
    def shift(_: Any, value: Any, count: Any) -> Any:
        # As XLA: what is shifted by more bits than there are, or by a negative number, loses all of them.
        bits = np.asarray(value).dtype.itemsize * 8
        is_known = (count >= 0) & (count < bits)
        shifted = function(value, np.where(is_known, count, bits - 1))
        return shifted if function is np.right_shift else np.where(is_known, shifted, np.zeros_like(value))

    return shift


def _converted(params: Any, value: Any) -> Any:
    return np.asarray(value).astype(params["new_dtype"])


def _iota(params: Any) -> Any:
    index = np.arange(params["shape"][params["dimension"]], dtype=params["dtype"])
    shape = [1] * len(params["shape"])
    shape[params["dimension"]] = len(index)
    return np.broadcast_to(index.reshape(shape), params["shape"])


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda _, *operands: function(*operands)


def _rev(params: Any, value: Any) -> Any:
    return np.flip(value, tuple(params["dimensions"]))


_SIMPLE: dict[str, Callable[..., Any]] = {
    "add": _of(np.add),
    "add_any": _of(np.add),
    "sub": _of(np.subtract),
    "mul": _of(np.multiply),
    "div": _divided,
    "rem": _of(np.fmod),
    "neg": _of(np.negative),
    "abs": _of(np.abs),
    "sign": _of(np.sign),
    "max": _of(np.maximum),
    "min": _of(np.minimum),
    "floor": _of(np.floor),
    "sin": _of(np.sin),
    "cos": _of(np.cos),
    "tanh": _of(np.tanh),
    "sqrt": _of(np.sqrt),
    "exp": _of(np.exp),
    "log": _of(np.log),
    "integer_pow": lambda params, value: np.power(value, params["y"]),
    "square": _of(np.square),
    "ceil": _of(np.ceil),
    "eq": _of(np.equal),
    "ne": _of(np.not_equal),
    "lt": _of(np.less),
    "le": _of(np.less_equal),
    "gt": _of(np.greater),
    "ge": _of(np.greater_equal),
    "and": _of(np.bitwise_and),
    "or": _of(np.bitwise_or),
    "xor": _of(np.bitwise_xor),
    "not": _of(np.invert),
    "is_finite": _of(np.isfinite),
    "stop_gradient": _of(np.asarray),
    "copy": _of(np.asarray),
    "copy_p": _of(np.asarray),
    "select_n": _selected,
    "convert_element_type": _converted,
    "broadcast_in_dim": _broadcast,
    "reshape": lambda params, value: np.reshape(value, params["new_sizes"]),
    "squeeze": lambda params, value: np.squeeze(value, tuple(params["dimensions"])),
    "transpose": lambda params, value: np.transpose(value, params["permutation"]),
    "concatenate": lambda params, *values: np.concatenate(values, params["dimension"]),
    "rev": _rev,
    "slice": _sliced,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "gather": gather,
    "scatter": scatter(None),
    "scatter-add": scatter(np.add),
    "scatter-sub": scatter(np.subtract),
    "scatter-mul": scatter(np.multiply),
    "scatter-min": scatter(np.minimum),
    "scatter-max": scatter(np.maximum),
    "cumsum": _accumulated(np.add),
    "cumprod": _accumulated(np.multiply),
    "cummax": _accumulated(np.maximum),
    "cummin": _accumulated(np.minimum),
    "argmax": _placed(np.argmax),
    "argmin": _placed(np.argmin),
    "stack": lambda params, *values: np.stack(values, params["axis"]),
    "shift_left": _shifted(np.left_shift),
    "shift_right_arithmetic": _shifted(np.right_shift),
    "reduce_sum": _reduced(np.add),
    "reduce_max": _reduced(np.maximum),
    "reduce_min": _reduced(np.minimum),
    "reduce_prod": _reduced(np.multiply),
    "reduce_and": _reduced(np.logical_and),
    "reduce_or": _reduced(np.logical_or),
    "iota": _iota,
}


def _literal(atom: Any) -> Any:
    """A constant in a program; of a Python number only the program knows the dtype."""
    value = atom.val
    if isinstance(value, bool | int | float):
        return np.asarray(value, atom.aval.dtype)
    return value


def _as_numpy(value: Any) -> Any:
    return np.asarray(value)


# Functions whose programs are evaluated so.


class Evaluated:
    """A function staged once for each set of array types, and evaluated.

    Attributes: programs (what it was staged as).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.programs: list[Any] = []
        self._function = function
        self._staged: dict[Any, tuple[Evaluator, Any]] = {}

    def __call__(self, *operands: Any) -> Any:
        leaves, tree = jax.tree.flatten(operands)
        key = (tree, *((np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves))
        if key not in self._staged:
            self._staged[key] = self._stage(operands)
        evaluator, results = self._staged[key]
        return jax.tree.unflatten(results, evaluator(*leaves))

    def _stage(self, operands: Sequence[Any]) -> tuple[Evaluator, Any]:
        trees: list[Any] = []

        def flat(*operands: Any) -> list[Any]:
            leaves, tree = jax.tree.flatten(self._function(*operands))
            trees.append(tree)
            return leaves

        program = jax.make_jaxpr(flat)(*operands)
        self.programs.append(program)
        return Evaluator(program), trees[-1]


class EvaluatingCompiler:
    """Takes the place of XLA in a `Function`. Attributes: made (the functions that it was given)."""

    def __init__(self) -> None:
        self.made: list[Evaluated] = []

    def compile(self, function: Callable[..., Any], options: dict[str, Any]) -> Any:
        del options
        self.made.append(Evaluated(function))
        return self.made[-1]

    def interpret(self, function: Callable[..., Any]) -> Any:
        return self.compile(function, {})


def evaluated_function(made: Any) -> tuple[Any, EvaluatingCompiler]:
    """The same `Function`, its programs evaluated instead of compiled."""
    compiler = EvaluatingCompiler()
    tools = replace(made._tools, compiler=compiler)
    return type(made)(made.python_function, tools, made._options), compiler
