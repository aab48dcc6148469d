"""Runs a corpus program in one of several ways, and compares two results the way Python's user would."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.corpus import Program

# Eager and compiled arithmetic round differently (fused multiply-add, reassociation).
RELATIVE, ABSOLUTE = 2e-5, 1e-6
KINDS = "biufc"


def arguments(program: Program, example: tuple[Any, ...], arrays: str | None = None) -> tuple[Any, ...]:
    """Fresh arguments: static ones as they stand, every other number as an array."""
    to_array = {"jax": jax_array, "numpy": numpy_array}[arrays or program.arrays]
    static = program.static_positions
    return tuple(
        value if position in static else jax.tree.map(to_array, value) for position, value in enumerate(example)
    )


def jax_array(value: Any) -> Any:
    # `array` makes a strongly typed array of a Python number, as an argument of `jit` should be.
    return jnp.array(value)


def numpy_array(value: Any) -> Any:
    # `[()]` makes a NumPy scalar of a 0-d array, which `+=` would change in place; else this is a fresh copy.
    dtype = jax.dtypes.canonicalize_dtype(np.asarray(value).dtype)
    return np.array(value, dtype)[()]


@functools.cache
def expected(program: Program) -> tuple[Any, ...]:
    """What plain Python returns for each example, on concrete arrays."""
    return tuple(program.function(*arguments(program, example)) for example in program.examples)


def report(program: Program, run: Callable[..., Any], arrays: str | None = None) -> str:
    """One paragraph for each example on which `run` differs from plain Python; empty when it never does."""
    problems = []
    for example, wanted in zip(program.examples, expected(program), strict=True):
        try:
            found = run(*arguments(program, example, arrays))
        except Exception as error:
            problems.append(f"{call_text(program, example)}\n    raised {type(error).__name__}: {error}")
            continue
        for difference in differences(wanted, found, widens=program.widens):
            problems.append(f"{call_text(program, example)}\n    {difference}")
    return "\n".join(problems)


def call_text(program: Program, example: tuple[Any, ...]) -> str:
    shown = (np.array2string(v, separator=", ") if isinstance(v, np.ndarray) else repr(v) for v in example)
    return f"{program.name}({', '.join(shown)})"


def agrees_when_compiled(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    """Asserts that one `ag.function` returns for the arguments of each call, as arrays, what plain Python returns for them."""
    compiled = ag.function(function)
    for given in calls:
        found = compiled(*jax.tree.map(jnp.asarray, given))
        assert list(differences(function(*given), found, widens=True)) == []


def differences(wanted: Any, found: Any, *, widens: bool = False, where: str = "result") -> Iterable[str]:
    """Differences in structure, kind, shape and value. `3`, `np.int32(3)` and a 0-d array are equal.

    An `ag.Optional`, which a bare `jax.jit` gives where Python gives a value or None, counts as what it resolves to.
    """
    found = jax.tree.map(
        lambda part: part.resolve() if isinstance(part, ag.Optional) else part,
        found,
        is_leaf=lambda part: isinstance(part, ag.Optional),
    )
    wanted_tree, found_tree = jax.tree.structure(wanted), jax.tree.structure(found)
    if wanted_tree != found_tree:
        yield f"{where} has another structure: plain Python {wanted_tree}, found {found_tree}"
        return
    paths = jax.tree_util.tree_leaves_with_path(wanted)
    for (path, left), right in zip(paths, jax.tree.leaves(found), strict=True):
        message = leaf_difference(left, right, widens)
        if message:
            yield f"{where}{jax.tree_util.keystr(path)}: {message}"


def leaf_difference(wanted: Any, found: Any, widens: bool) -> str | None:
    if not is_number(wanted) or not is_number(found):
        same = type(wanted) is type(found) and wanted == found
        return None if same else f"plain Python {wanted!r}, found {found!r}"
    left, right = np.asarray(wanted), np.asarray(found)
    both = f"plain Python {left.dtype}{list(left.shape)} {left}, found {right.dtype}{list(right.shape)} {right}"
    if left.shape != right.shape:
        return f"another shape: {both}"
    wider = widens and KINDS.index(right.dtype.kind) > KINDS.index(left.dtype.kind)
    if left.dtype.kind != right.dtype.kind and not wider:
        return f"another kind: {both}"
    if not np.allclose(left, right, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
        return f"another value: {both}"
    return None


def is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | np.ndarray | np.generic | jax.Array)


def groups_of_equal_shape(program: Program) -> list[list[int]]:
    """Examples that may be stacked for `jax.vmap`: equal structure, shapes, dtypes, and static values."""
    groups: dict[Any, list[int]] = {}
    for index, example in enumerate(program.examples):
        static = tuple(example[position] for position in program.static_positions)
        mapped = [v for position, v in enumerate(example) if position not in program.static_positions]
        leaves, structure = jax.tree.flatten(mapped)
        shapes = tuple((np.shape(leaf), np.asarray(leaf).dtype.kind) for leaf in leaves)
        groups.setdefault((static, structure, shapes), []).append(index)
    return list(groups.values())


def report_vmap(program: Program, converted: Callable[..., Any]) -> str:
    """As `report`, for `converted` mapped over stacked examples; each lane is compared by itself."""
    problems = []
    axes = [None if p in program.static_positions else 0 for p in range(len(program.examples[0]))]
    for group in groups_of_equal_shape(program):
        lanes = [arguments(program, program.examples[index], "jax") for index in group]
        stacked = [
            column[0] if axis is None else jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *column)
            for axis, column in zip(axes, zip(*lanes, strict=True), strict=True)
        ]
        mapped = [value for value, axis in zip(stacked, axes, strict=True) if axis == 0]
        # One program of all operations, where it may be one: operation by operation, each is compiled.
        compiled = (lambda function: function) if "jit" in program.refused else jax.jit

        def with_static(*values, stacked=stacked):
            remaining = iter(values)
            return converted(
                *(value if axis is None else next(remaining) for value, axis in zip(stacked, axes, strict=True))
            )

        try:
            batched = jax.tree.map(np.asarray, compiled(jax.vmap(with_static))(*mapped))
        except Exception as error:
            problems.append(f"{program.name} under vmap, examples {group}\n    {type(error).__name__}: {error}")
            continue
        for lane, index in enumerate(group):
            found = jax.tree.map(lambda leaf: leaf[lane], batched)
            # One lane's Python kind may differ from another's, so a stacked result holds the widest.
            for difference in differences(expected(program)[index], found, widens=program.widens):
                problems.append(f"{call_text(program, program.examples[index])}\n    lane {lane}: {difference}")
    return "\n".join(problems)


def derivatives(program: Program, function: Callable[..., Any], example: tuple[Any, ...]) -> Any:
    """The derivative of the summed results in the first argument, by the mode that the program asks for."""
    first, *rest = arguments(program, example, "jax")

    def scalar(x):
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(function(x, *rest))]
        return sum(leaf.sum() for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating))

    if program.grad == "reverse":
        return jax.grad(scalar)(first)
    return jax.jvp(scalar, (first,), (jnp.ones_like(first),))[1]
