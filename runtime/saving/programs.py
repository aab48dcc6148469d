"""Loaded programs as Python functions: which program matches a call, and how it runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from autograph.backends.base import Artifact
from autograph.backends.selected import STAGING
from autograph.runtime.effects.raising import Guarded
from autograph.runtime.errors import InvalidArgumentError, StagingError
from autograph.runtime.saving.dtypes import dtype_of
from autograph.runtime.saving.raised import SavedSite
from autograph.runtime.saving.structures import Decoder, Node, NoForm, Records, Slot, encode
from autograph.runtime.signatures.input_signature import as_input, check
from autograph.runtime.signatures.inputs import WeakSpec
from autograph.runtime.signatures.signature import Arguments, is_array_leaf, is_array_like
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.state.variables import Variable

_NUMBERS = frozenset(["bool", "int", "float", "complex"])


class LoadedProgram:
    """One program of a saved function.

    Attributes:
      name: the function's.
      specs: of its inputs.
    """

    def __init__(
        self,
        entry: dict[str, Any],
        artifact: Artifact,
        state: Sequence[Variable],
        records: Records,
        labels: Sequence[str],
    ) -> None:
        self.name: str = entry["name"]
        self.specs = [spec_of(each) for each in entry["specs"]]
        self.arguments: Node = entry["arguments"]
        self._results: Node = entry["results"]
        self._outputs: int = entry["outputs"]
        self._weak: list[int] = entry["weak"]
        self._artifact, self._state, self._records, self._labels = artifact, list(state), records, list(labels)
        self._written = self._state[: entry["written"]]
        self._sites = [SavedSite(site, records) for site in entry["errors"]]

    @property
    def is_open(self) -> bool:
        """Whether it takes inputs of more than one size."""
        return not all(spec.is_fixed for spec in self.specs)

    @property
    def is_for_here(self) -> bool:
        """Whether it runs on the platform that is here."""
        return jax.default_backend() in _platform_names(self._artifact.platforms)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Its arguments, in canonical form, with specs instead of arrays."""
        values: tuple[Any, ...] = Decoder(self.specs, self._records).value(self.arguments)
        return values

    def inputs(self, node: Node, leaves: Sequence[Any], exactly: bool) -> list[Any]:
        """The inputs in a call with these arguments.

        Args:
          node, leaves: the arguments, `structures.encode`d.
          exactly: whether a Python number may not be given for an array.

        Raises:
          InvalidArgumentError: it is no call of this program.
        """
        found: dict[int, Any] = {}
        for where, mine, given in _differing(self.arguments, node):
            if mine[0] != "slot":
                raise InvalidArgumentError(f"it was traced for {_shown(mine)}{where}; got {_shown(given)}")
            number = mine[1]
            spec, label = self.specs[number], self._labels[number]
            if given[0] == "slot":
                found[number] = as_input(leaves[given[1]], spec, _complain(label))
            elif exactly or not _is_number(given):
                raise InvalidArgumentError(f"`{label}` is {spec}; got {_shown(given)}")
            else:
                number_given = Decoder((), self._records).value(given)
                found[number] = as_input(number_given, spec, _complain(label))
        inputs = [found[k] for k in range(len(self.specs))]
        types = [value if isinstance(value, jax.Array) else jax.typeof(value) for value in inputs]
        check(self.specs, self._labels, types, lambda label, what: _complain(label)(what))
        return inputs

    def run(self, inputs: Sequence[Any]) -> Any:
        """Run it: read and write its Variables, raise what it raises, and return its results."""
        artifact = self._artifact
        if not self.is_for_here:
            raise StagingError(
                f"{self.name} was saved for {', '.join(artifact.platforms)}, and this machine has {jax.default_backend()}.\n"
                "  Save it for both: platforms=(…) of autograph.save."
            )
        for value, spec, label in zip(inputs, self.specs, self._labels, strict=True):
            if 0 in value.shape and not spec.is_fixed:
                raise InvalidArgumentError(f"`{label}` is empty: a symbolic dimension of a saved program is at least 1")
        outputs = artifact.call(*[variable.value for variable in self._state], *inputs)
        results, rest = outputs[: self._outputs], outputs[self._outputs :]
        if self._sites:
            code, *values = rest[: len(rest) - len(self._written)]
            pending = iter(values)
            Guarded(
                None, code, [[next(pending) for _ in site.types] for site in self._sites], tuple(self._sites)
            ).check()
        for variable, value in zip(self._written, rest[len(rest) - len(self._written) :], strict=True):
            variable.assign(value)
        for k in self._weak:
            results[k] = STAGING.weak(results[k])
        return Decoder(results, self._records).value(self._results)


class LoadedFunction:
    """What a loaded `Function` calls when it is traced: the one of its programs that the arguments are for."""

    def __init__(self, entry: dict[str, Any], signature: inspect.Signature, programs: Sequence[LoadedProgram]) -> None:
        self.__name__ = self.__qualname__ = entry["name"]
        self.__doc__ = entry["doc"]
        self.__signature__ = signature
        self._arguments = Arguments(self, False, self.__name__)
        self._programs = sorted(programs, key=lambda program: program.is_open)
        is_one = entry["input_signature"] is not None
        self.saved_calls = [((), {}) if is_one else self._arguments.spell(each.signature) for each in programs]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._arguments.canonical(args, kwargs)
        leaves: list[Any] = []

        def take(value: Any) -> Slot | None:
            if not (isinstance(value, Variable) or is_array_leaf(value) or is_array_like(value)):
                return None
            leaves.append(value.value if isinstance(value, Variable) else value)
            return Slot(len(leaves) - 1)

        try:
            node = encode(values, take=take)
        except NoForm as error:
            raise InvalidArgumentError(f"{self.__name__} was saved, and takes no {error}") from None
        complaints = []
        for exactly in (True, False):
            for program in self._programs:
                try:
                    inputs = program.inputs(node, leaves, exactly)
                except InvalidArgumentError as error:
                    complaints.append(str(error))
                    continue
                return program.run(inputs)
        raise InvalidArgumentError(self._refusal(complaints[len(self._programs) :]))

    def _refusal(self, complaints: Sequence[str]) -> str:
        if not complaints:
            return f"{self.__name__} had not been traced for any arguments when it was saved, so there is no program to run"
        first, *more = complaints
        others = f"\n  The other {len(more)} programs do not fit either." if more else ""
        return f"{self.__name__} was saved with {len(complaints)} program{'s' * bool(more)}, for other arguments: {first}{others}"


def spec_of(entry: dict[str, Any]) -> TensorSpec:
    """The spec of a manifest's entry."""
    shape = None if entry["shape"] is None else tuple(entry["shape"])
    return (WeakSpec if entry["weak"] else TensorSpec)(shape, dtype_of(entry["dtype"]), entry["name"])


def _platform_names(platforms: Sequence[str]) -> set[str]:
    """What JAX may call these platforms."""
    return {*platforms, *(["gpu"] if {"cuda", "rocm"} & set(platforms) else [])}


def _complain(label: str) -> Any:
    return lambda what: InvalidArgumentError(f"`{label}`: {what}")


def _is_number(node: Node) -> bool:
    """Whether this is a Python number, or a nested list of such."""
    return node[0] in _NUMBERS or (node[0] in ("list", "tuple") and all(map(_is_number, node[1])))


def _differing(mine: Any, given: Any, where: str = "") -> Iterator[tuple[str, Node, Node]]:
    """Where two nodes meet that are not the same: the slots of the first, and what is otherwise in the second."""
    kind = mine[0] if _is_node(mine) else None
    if kind == "slot":
        yield where, mine, given
    elif kind == "enum" and given in (mine, mine[3]):
        return
    elif isinstance(mine, list) and isinstance(given, list) and len(mine) == len(given):
        if kind is not None and mine[0] != given[0]:
            yield where, mine, given
            return
        for one, other in zip(mine, given, strict=True):
            if _is_node(one) or isinstance(one, list):
                yield from _differing(one, other, where)
            elif one != other or type(one) is not type(other):
                yield where, mine, given
                return
    elif mine != given:
        yield where, mine, given


def _is_node(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], str)


def _shown(node: Any) -> str:
    if not _is_node(node):
        return f"{len(node)} of them" if isinstance(node, list) else repr(node)
    if node[0] == "slot":
        return "an array"
    if node[0] in ("list", "tuple", "dict", "set"):
        return f"a {node[0]} of {len(node[1])}"
    if node[0] in ("namedtuple", "dataclass", "object"):
        return f"a {node[0]} {node[1]}({', '.join(node[2])})"
    if node[0] == "enum":
        return f"{node[1]}.{node[2]}"
    try:
        return repr(Decoder((), Records()).value(node))
    except Exception:  # it holds arrays
        return f"a {node[0]}"
