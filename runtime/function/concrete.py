"""`ConcreteFunction`: the callable program of one signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from autograph.runtime.effects.raising import Guarded
from autograph.runtime.errors import InvalidArgumentError
from autograph.runtime.explorer.view import View
from autograph.runtime.function.cache import Entry
from autograph.runtime.function.graph import Graph
from autograph.runtime.function.options import Tools
from autograph.runtime.function.outputs import types_of
from autograph.runtime.layouts.static_values import static_leaf
from autograph.runtime.signatures.input_signature import as_input, check
from autograph.runtime.signatures.inputs import InputType, specs_of, stand_ins
from autograph.runtime.signatures.signature import CallSignature, as_tree
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.locations import clean_traceback
from autograph.runtime.typing import PyTree


class ConcreteFunction:
    """The compiled program of one signature.

    It is called with arrays of that signature, by position or by name. Python values of the signature are part of the
    program: a call may pass them again, with the same values, or omit them.

    Attributes:
      name: the name of the function.
      implements: ``experimental_implements`` of `autograph.function`.
      trace_with_state: returns the jaxpr of the program as a function of its inputs and the values of its Variables.

    Raises:
      InvalidArgumentError: a call passes another shape, dtype, number of arguments or Python value.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def power(x, n):
    ...     return x**n
    >>> cube = power.get_concrete_function(ag.TensorSpec([None]), 3)
    >>> cube(jnp.array([1.0, 2.0])).tolist()
    [1.0, 8.0]
    >>> print(cube.pretty_printed_signature())
    power(x, n=3)
      Args:
        x: float32 Tensor, shape=(None,)
      Returns:
        float32 Tensor, shape=(None,)
    """

    def __init__(
        self,
        name: str,
        signature: CallSignature,
        specs: Sequence[TensorSpec],
        run: Callable[..., PyTree],
        inspect: Callable[[], Any],
        variables: Callable[[], Sequence[Variable]],
        has_state: Callable[[], bool],
        trace: Callable[[], PyTree],
        view: View,
        implements: str | None,
    ) -> None:
        self.name = name
        self.implements = implements
        self._signature = signature
        self._specs = tuple(specs)
        self._run = run
        self._inspect = inspect
        self._variables = variables
        self._has_state = has_state
        self.trace_with_state = trace
        self._view = view
        self._made_graph: Graph | None = None
        self._inspection: Any = None

    @property
    def graph(self) -> Graph:
        """The `Graph` of the traced program."""
        if self._made_graph is None:
            self._made_graph = Graph(self.name, self._inspected(), self._view, self.pretty_printed_signature())
        return self._made_graph

    @property
    def variables(self) -> list[Variable]:
        """The Variables that the program reads or assigns."""
        self._inspected()
        return list(self._variables())

    @property
    def trainable_variables(self) -> list[Variable]:
        """The trainable Variables among `variables`."""
        return [variable for variable in self.variables if variable.trainable]

    @property
    def inputs(self) -> list[TensorSpec]:
        """The `TensorSpec` of each array input, in order, with its name."""
        labels = self._signature.array_labels()
        return [TensorSpec(s.shape, s.dtype, s.name or n) for s, n in zip(self._specs, labels, strict=True)]

    @property
    def structured_input_signature(self) -> tuple[tuple[PyTree, ...], dict[str, PyTree]]:
        """The pair of positional and keyword arguments, with a `TensorSpec` in place of each array."""
        return self._signature.arguments(self.inputs)

    @property
    def structured_outputs(self) -> PyTree:
        """The structure of the results, with a `TensorSpec` in place of each array."""
        results = self._inspected().out_info
        if self._has_state():  # new values of Variables come with the results
            results, _ = results
        if isinstance(results, Guarded):
            results = results.result

        return types_of(results, TensorSpec.from_array)

    def __call__(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        try:
            arrays = self._arrays(args, kwargs)
        except TypeError as error:
            clean_traceback(error)
            raise
        return self._run(*arrays)

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Return the signature as text.

        Args:
          verbose: whether the types of arguments and results are listed.

        Returns:
          One line; with ``verbose``, followed by one line for each argument and result.

        >>> import autograph as ag, jax.numpy as jnp
        >>> @ag.function
        ... def add(a, b=1):
        ...     return a + b
        >>> print(add.get_concrete_function(jnp.array(1)).pretty_printed_signature(verbose=False))
        add(a, b=1)
        """
        names, values = self._parameters(self.inputs)
        shown, described = [], []
        for name, value in zip(names, values, strict=True):
            leaves = jax.tree_util.tree_leaves(as_tree(value))
            if any(isinstance(leaf, TensorSpec) for leaf in leaves):
                shown.append(name)
                described += _described(name, value)
            else:
                shown.append(f"{name}={value!r}")
        lines = [f"{self.name}({', '.join(shown)})"]
        if verbose:
            lines += ["  Args:", *(f"    {line}" for line in described)] if described else []
            lines += ["  Returns:", *(f"    {line}" for line in _described("", self.structured_outputs))]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.pretty_printed_signature(verbose=False)}>"

    def __copy__(self) -> ConcreteFunction:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ConcreteFunction:
        return self  # as a function is, which its Variables belong to

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"cannot pickle the ConcreteFunction {self.pretty_printed_signature(verbose=False)}: its program belongs to this process. "
            "Pickle the Function, and ask that for its concrete function there; or save this one with autograph.save."
        )

    def _inspected(self) -> Any:
        """The traced program, which is traced now if it has not been."""
        if self._inspection is None:
            self._inspection = self._inspect()
        return self._inspection

    def _parameters(self, arrays: Sequence[Any]) -> tuple[list[str], tuple[Any, ...]]:
        values = self._signature.values(arrays)
        parameters = self._signature.parameters
        names: list[str] = parameters.names(len(values))
        values = values if parameters.static is None else parameters.given(values)
        if parameters.var_keyword is None:
            return names, values
        extra = values[-1]  # each of which has its name
        return [*names[:-1], *extra], (*values[:-1], *extra.values())

    def _arrays(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The array inputs of a call, in order. `InvalidArgumentError` if it is no call of this signature."""
        names, templates = self._parameters([_Input(k) for k in range(len(self._specs))])
        holds_array = [bool(_inputs_of(template)) for template in templates]
        if len(args) > len(names):
            raise InvalidArgumentError(f"{self.name} takes {len(names)} arguments; got {len(args)}")
        given = dict(zip(names, args, strict=False))
        if any(
            not held and not _same(templates[k], given[name])
            for k, (name, held) in enumerate(zip(names, holds_array, strict=True))
            if name in given
        ):  # called with its array arguments alone
            own = [name for name, held in zip(names, holds_array, strict=True) if held]
            if len(args) > len(own):
                self._refuse_static(names, templates, holds_array, given)
            given = dict(zip(own, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise InvalidArgumentError(f"{self.name} has no argument `{name}`; it has {', '.join(names)}")
            if name in given:
                raise InvalidArgumentError(f"{self.name} got two values for the argument `{name}`")
            given[name] = value
        self._refuse_static(names, templates, holds_array, given)
        found: dict[int, Any] = {}
        for name, template, held in zip(names, templates, holds_array, strict=True):
            if held and name not in given:
                number = _inputs_of(template)[0]
                raise InvalidArgumentError(f"input #{number} (zero-based), `{name}`, is missing")
            if held:
                self._take(template, given[name], name, found)
        arrays = [found[k] for k in range(len(self._specs))]
        labels = self._signature.array_labels()
        numbers = {label: k for k, label in enumerate(labels)}
        types = [array if isinstance(array, jax.Array) else jax.typeof(array) for array in arrays]
        check(self._specs, labels, types, lambda label, what: self._refusal(numbers[label], what))
        return arrays

    def _refuse_static(
        self,
        names: Sequence[str],
        templates: Sequence[Any],
        holds_array: Sequence[bool],
        given: Mapping[str, Any],
    ) -> None:
        for name, template, held in zip(names, templates, holds_array, strict=True):
            if not held and name in given and not _same(template, given[name]):
                raise InvalidArgumentError(
                    f"{self.name} was traced for {name}={template!r}, which is part of the program; got {given[name]!r}"
                )

    def _take(self, template: Any, value: Any, name: str, found: dict[int, Any]) -> None:
        """Collect the inputs of one parameter's value by their numbers."""
        slots, structure = _flattened(template)
        try:
            parts = structure.flatten_up_to(as_tree(value))
        except (TypeError, ValueError, KeyError):
            number = _inputs_of(template)[0]
            raise InvalidArgumentError(
                f"input #{number} (zero-based), in `{name}`, expected a value structured like {template!r}, "
                f"got {value!r}"
            ) from None
        for slot, part in zip(slots, parts, strict=True):
            if isinstance(slot, _Input):
                spec = self._specs[slot.number]
                found[slot.number] = as_input(part, spec, functools.partial(self._refusal, slot.number))
            elif not _same(slot, part):
                raise InvalidArgumentError(f"{self.name} was made for {slot!r} in `{name}`; got {part!r}")

    def _refusal(self, number: int, what: str) -> InvalidArgumentError:
        label = self._signature.array_labels()[number]
        return InvalidArgumentError(f"input #{number} (zero-based), `{label}`, {what}")


@dataclass
class Traced:
    """What a `ConcreteFunction` is made of, when it is asked for.

    Attributes:
      inputs: the specs that the arrays were known to fit, or their types.
      concrete: the function, once it is made.
    """

    signature: CallSignature
    inputs: Sequence[TensorSpec | InputType]
    entry: Entry
    concrete: ConcreteFunction | None = None


def concrete_function(name: str, traced: Traced, tools: Tools, view: View, implements: str | None) -> ConcreteFunction:
    """Return the concrete function of a signature's program."""
    specs, entry = specs_of(traced.inputs), traced.entry

    def types() -> Sequence[Any]:
        return stand_ins(specs, tools.symbolic_types)

    def call(*arrays: Any) -> Any:
        entry.program.refuse_unseen(arrays)
        return entry.program.without_changes(*arrays)

    return ConcreteFunction(
        name,
        traced.signature,
        specs,
        call,
        lambda: tools.inspect(entry.program.jitted.trace(*types())),
        lambda: entry.program.variables,
        lambda: entry.program.has_state,
        lambda: entry.program.jitted.trace_with_state(*types()),
        view,
        implements,
    )


class _Input:
    """Represents the array input of this number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<input #{self.number}>"


def _inputs_of(template: Any) -> list[int]:
    return [leaf.number for leaf in jax.tree_util.tree_leaves(as_tree(template)) if isinstance(leaf, _Input)]


def _flattened(value: Any) -> tuple[list[Any], Any]:
    return jax.tree_util.tree_flatten(as_tree(value))


def _same(template: Any, value: Any) -> bool:
    mine, structure = _flattened(template)
    given, other = _flattened(value)
    return bool(structure == other) and all(static_leaf(a) == static_leaf(b) for a, b in zip(mine, given, strict=True))


def _described(name: str, value: Any) -> list[str]:
    """A value's lines in a printed signature: its structure with numbered leaves, then each leaf."""
    prefix = f"{name}: " if name else ""
    if isinstance(value, TensorSpec):
        return [f"{prefix}{_tensor(value)}"]
    leaves, structure = jax.tree_util.tree_flatten(as_tree(value))
    if not any(isinstance(leaf, TensorSpec) for leaf in leaves):
        return [f"{prefix}{value!r}"]
    numbers = [_Numbered(k + 1) if isinstance(leaf, TensorSpec) else leaf for k, leaf in enumerate(leaves)]
    lines = [f"{prefix}{jax.tree_util.tree_unflatten(structure, numbers)!r}"]
    return lines + [f"  <{k + 1}>: {_tensor(leaf)}" for k, leaf in enumerate(leaves) if isinstance(leaf, TensorSpec)]


class _Numbered:
    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"<{self.number}>"


def _tensor(spec: TensorSpec) -> str:
    shape = "<unknown>" if spec.shape is None else str(spec.shape).replace("'", "")
    return f"{spec.dtype} Tensor, shape={shape}"
