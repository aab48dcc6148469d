"""Explain a retrace: compare the trace with the nearest earlier one, and suggest how to avoid it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from autograph.runtime.heap.leaked_tracers import HELD
from autograph.runtime.layouts.shown import Shown
from autograph.runtime.layouts.static_values import StaticLeaf, describe_static
from autograph.runtime.signatures.signature import CallSignature, as_tree
from autograph.runtime.signatures.tensor_spec import type_name
from autograph.runtime.tracing.locations import warn

MANY = 5  # more traces than this …
FEW = 10  # … within so many calls are warned of
_REMEMBERED = 100
_MORE_AT_ONCE = (
    "the loop's `set_loop_options(maximum_length=…)`, or the function's `recursion_limit(…)`, makes room at once"
)
_KEEP_STRUCTURE = "each structure is a graph of its own; keep one, or hold an array"
_NUMBERS = (bool, int, float, complex)


@dataclass(frozen=True)
class Trace:
    """What a program was traced for.

    Attributes:
      signature: the static part of the call.
      types: the types of its arrays, in order.
      captured: the captured Python values, by name.
      rooms: how many elements there is room for in lists without a known bound, by the loop's line and the list's name.
    """

    signature: CallSignature
    types: tuple[Any, ...]
    captured: dict[str, StaticLeaf]
    rooms: dict[tuple[str, str], int] = field(default_factory=dict)

    def leaves(self) -> list[Any]:
        """For each leaf its type, or its value as a `StaticLeaf`."""
        pending = iter(self.types)
        return [next(pending) if static is None else static for static in self.signature.statics]


@dataclass(frozen=True)
class Difference:
    """One thing that differs between two traces.

    Attributes:
      what: where it is: ``argument 2 `n```.
      before, after: what it was and became.
      advice: how to avoid the new trace.
    """

    what: str
    before: str
    after: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what}: {self.before} → {self.after}; {self.advice}"


class TraceLog:
    """The traces of one function, as far back as is remembered.

    Args:
      opens_sizes: whether it has ``reduce_retracing=True``.
    """

    def __init__(self, name: str, opens_sizes: bool) -> None:
        self._name, self._opens_sizes = name, opens_sizes
        self._lock = threading.Lock()
        self._traces: deque[Trace] = deque(maxlen=_REMEMBERED)
        self._calls: deque[int] = deque(maxlen=MANY + 1)
        self._warned = False
        self.count = 0

    def add(self, trace: Trace, call: int | None) -> None:
        """Take down a trace, made in this call (None: it was asked for), and warn if they come too often."""
        with self._lock:
            self.count += 1
            self._traces.append(trace)
            grown = _rooms(*list(self._traces)[-2:]) if len(self._traces) > 1 else []
            is_again = bool(grown) and set(self._reasons(len(self._traces) - 1)) == set(grown)
            if call is None or is_again:
                return
            self._calls.append(call)
            crowded = len(self._calls) > MANY and call - self._calls[0] < FEW
            if not crowded or self._warned:
                return
            self._warned = True
            reasons = "; ".join(map(str, self._reasons(len(self._traces) - 1)))
        warn(
            f"{self._name} was traced {MANY + 1} times within {FEW} calls, and each trace is compiled. The last "
            f"retrace was caused by {reasons}. explain_retraces() lists all."
        )

    def explain(self) -> str:
        """For every trace after the first what differed, one paragraph each."""
        with self._lock:
            known, forgotten = len(self._traces), self.count - len(self._traces)
            if self.count <= 1:
                return f"{self._name} was traced {'once' if self.count else 'not at all'}: nothing was retraced."
            lines = [f"{self._name} was traced {self.count} times."]
            if forgotten:
                lines.append(f"The first {forgotten} are no longer remembered.")
            for position in range(1, known):
                reasons = self._reasons(position)
                lines.append(f"Trace {forgotten + position + 1}:")
                lines += [f"  {reason}" for reason in reasons]
        return "\n".join(lines)

    def retraces(self) -> list[tuple[int, list[Difference]]]:
        """For every trace after the first that is remembered, its number and what differed."""
        with self._lock:
            forgotten = self.count - len(self._traces)
            return [(forgotten + k + 1, self._reasons(k)) for k in range(1, len(self._traces))]

    def _reasons(self, position: int) -> list[Difference]:
        """What tells a trace from the earlier one that it differs from least."""
        trace = self._traces[position]
        earlier = [differences(self._traces[k], trace, self._opens_sizes) for k in range(position - 1, -1, -1)]
        found = min(earlier, key=len)
        if found:
            return found
        return [Difference("every argument", "the same", "the same", "the earlier trace had been dropped, or failed")]


def differences(before: Trace, after: Trace, opens_sizes: bool = False) -> list[Difference]:
    """What differs between two traces, argument by argument."""
    found: list[Difference] = []
    mine, other = _by_parameter(before), _by_parameter(after)
    for number, name in enumerate(mine if len(mine) > len(other) else other):
        where = f"argument {number + 1} `{name}`"
        if name not in mine or name not in other:
            change = ("given", "left out") if name in mine else ("left out", "given")
            found.append(Difference(where, *change, "each number of arguments is a graph of its own"))
            continue
        (shape, leaves), (new_shape, new_leaves) = mine[name], other[name]
        if shape != new_shape:
            advice = "each structure is a graph of its own; keep one, or stack into an array"
            if len(leaves) == len(new_leaves) == 1 and shape.num_nodes == new_shape.num_nodes:
                advice = "keep one structure"
            found.append(Difference(where, _structure(shape, leaves), _structure(new_shape, new_leaves), advice))
            continue
        numbered = jax.tree_util.tree_unflatten(shape, range(len(leaves)))
        paths, _ = jax.tree_util.tree_flatten_with_path(as_tree(numbered))
        for (path, _), leaf, new in zip(paths, leaves, new_leaves, strict=False):
            place = where if not path else f"argument {number + 1} `{name}{jax.tree_util.keystr(path)}`"
            if not _equal(leaf, new):
                found.append(_leaf_difference(place, name + jax.tree_util.keystr(path), leaf, new, opens_sizes))
    for name, value in after.captured.items():
        earlier = before.captured.get(name)
        if earlier is not None and earlier != value:
            was = describe_static(earlier.value)
            now = _shortened(was, describe_static(value.value))
            found.append(
                Difference(f"captured `{name}`", was, now, "pass it as an argument, as an array if it is a number")
            )
    if before.signature.shared != after.signature.shared:
        was, now = (
            "some are one object" if trace.signature.shared else "none are one object" for trace in (before, after)
        )
        advice = "give copies, or the same ones each time"
        found.append(Difference("the lists, dicts and dataclasses in the arguments", was, now, advice))
    return found + _taken(before, after) + _places(before, after) + _rooms(before, after)


def _taken(before: Trace, after: Trace) -> list[Difference]:
    """What places outside hold that the program takes: its structure, and the types of arrays."""
    was = {key: (name, structure) for key, name, structure in before.signature.taken}
    found = [
        Difference(f"what `{name}` holds, which the function assigns", *_held(was[key][1], structure), _KEEP_STRUCTURE)
        for key, name, structure in after.signature.taken
        if key in was and was[key][1] != structure
    ]
    if was.keys() != {key for key, *_ in after.signature.taken}:
        found.append(
            Difference("what the function assigns outside", "not taken", "taken", "it was assigned for the first time")
        )
    types = dict(zip(before.signature.names, before.types, strict=False))
    return found + [
        _leaf_difference(f"what `{name}` holds, which the function assigns", name, types[name], new, False)
        for name, new in zip(after.signature.names, after.types, strict=False)
        if name in types and not _equal(types[name], new)
    ]


def _held(before: Any, after: Any) -> tuple[str, str]:
    """What the structure of a place's value was and became; the number of items of a list or dict."""
    one, other = map(_counted, (before, after))
    return (one, other) if one != other else ("one structure", "another")


def _counted(structure: Any) -> str:
    if type(structure) is tuple and len(structure) == 3 and type(structure[2]) is tuple:
        return f"{structure[0].__name__} of {len(structure[2])}"
    if type(structure) is not tuple or structure[0] is not HELD:
        return "a value"
    _, kind, _, *elements = structure
    return f"{kind.__name__} of {f'up to {elements[1]}' if len(elements) > 1 else len(elements[0])}"


def _places(before: Trace, after: Trace) -> list[Difference]:
    """Which arrays are written in place, as the caller's, or are known to be NumPy's."""
    kinds: dict[int, tuple[str, str]] = {}
    for name, titles in (
        ("numpys", ("a JAX array", "a NumPy array")),
        ("written", ("a value", "a NumPy array that is written in place")),
    ):
        one, other = getattr(before.signature, name), getattr(after.signature, name)
        kinds |= {k: titles if k in other else titles[::-1] for k in one ^ other}
    labels = after.signature.array_labels() if kinds else []
    return [
        Difference(f"argument `{labels[k]}`", *kinds[k], "pass arrays of one kind")
        for k in sorted(kinds)
        if k < len(labels)
    ]


def _rooms(before: Trace, after: Trace) -> list[Difference]:
    """What lists have got more room for."""
    return [
        Difference(f"room of `{name}` ({where})", f"{before.rooms[where, name]} elements", str(size), _MORE_AT_ONCE)
        for (where, name), size in after.rooms.items()
        if before.rooms.get((where, name), size) != size
    ]


def _by_parameter(trace: Trace) -> dict[str, tuple[Any, list[Any]]]:
    """The structure and the leaves of each parameter's value."""
    children = trace.signature.treedef.children()
    names = trace.signature.parameters.names(len(children))
    pending = iter(list(trace.leaves())[len(trace.signature.names) :])
    return {
        name: (child, [next(pending) for _ in range(child.num_leaves)])
        for name, child in zip(names, children, strict=True)
    }


def _equal(leaf: Any, new: Any) -> bool:
    if isinstance(leaf, StaticLeaf) or isinstance(new, StaticLeaf):
        return bool(leaf == new)
    # By text: sizes known only at run time are compared while they are traced, where the answer would be taken for the user's.
    return (str(leaf.shape), leaf.dtype, leaf.weak_type) == (str(new.shape), new.dtype, new.weak_type)


def _leaf_difference(where: str, name: str, leaf: Any, new: Any, opens_sizes: bool) -> Difference:
    was, now = _leaf(leaf), _leaf(new)
    if isinstance(leaf, StaticLeaf) and isinstance(new, StaticLeaf):
        now = _shortened(was, now)
    if isinstance(new, StaticLeaf):
        value = (
            new.value() if callable(new.value) and not isinstance(new.value, type) and _is_reference(new) else new.value
        )
        if isinstance(value, _NUMBERS):
            return Difference(where, was, now, f"pass it as an array, `jnp.asarray({name})`")
        if _is_reference(new) or isinstance(new.key[0] if isinstance(new.key, tuple) else None, int):
            advice = "another object: pass the same one each time, or give its class __eq__ and __hash__"
            return Difference(where, was, now, advice)
        return Difference(where, was, now, "each value is a graph of its own")
    if isinstance(leaf, StaticLeaf):
        return Difference(where, was, now, f"pass it as an array each time, `jnp.asarray({name})`")
    if leaf.dtype != new.dtype:
        return Difference(where, was, now, f"pass one dtype, `{name}.astype(...)`")
    if len(leaf.shape) != len(new.shape):
        return Difference(where, was, now, "each rank is a graph of its own; `ag.TensorSpec(None)` is one for all")
    if str(leaf.shape) != str(new.shape):
        option = "" if opens_sizes else "`reduce_retracing=True`, or "
        advice = f"leave the size open: {option}`ag.TensorSpec` with None in an input_signature"
        return Difference(where, was, now, advice)
    kind = ("weak " if leaf.weak_type else "") + was, ("weak " if new.weak_type else "") + now
    return Difference(
        where, *kind, f"make it in one way, `jnp.asarray({name}, dtype)`; a Python number gives a weak type"
    )


def _shortened(was: str, now: str) -> str:
    """``Python int 3``, ``Python int 4`` as ``4``."""
    kind = "Python " + was.removeprefix("Python ").partition(" ")[0] + " "
    return now.removeprefix(kind) if was.startswith(kind) else now


def _is_reference(leaf: StaticLeaf) -> bool:
    return type(leaf.value).__name__ in ("ReferenceType", "weakref", "WeakMethod")


def _leaf(leaf: Any) -> str:
    return describe_static(leaf.value) if isinstance(leaf, StaticLeaf) else type_name(leaf)


def _structure(shape: Any, leaves: Sequence[Any]) -> str:
    if shape.num_nodes == 1 and len(leaves) == 1:
        return _leaf(leaves[0])
    if not leaves and shape.num_nodes == 1:
        return "None"
    text = str(jax.tree_util.tree_unflatten(shape, [Shown(_leaf(leaf)) for leaf in leaves]))
    return text if len(text) <= 80 else text[:77] + "..."
