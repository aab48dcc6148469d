"""Read a directory that `save` wrote."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from autograph.backends.base import Artifact, LeafType
from autograph.backends.selected import STAGING
from autograph.runtime.errors import LoadError
from autograph.runtime.function.function import Function
from autograph.runtime.saving import manifest, tensors
from autograph.runtime.saving.attributes import Part, array_of
from autograph.runtime.saving.directory import MANIFEST, Reading, found
from autograph.runtime.saving.dtypes import implementation, name_of
from autograph.runtime.saving.loaded_module import LoadedModule
from autograph.runtime.saving.programs import LoadedFunction, LoadedProgram, spec_of
from autograph.runtime.saving.shardings import sharding_of
from autograph.runtime.saving.structures import Decoder, Records
from autograph.runtime.signatures.signature import Arguments
from autograph.runtime.state.held import Held
from autograph.runtime.state.random import Generator
from autograph.runtime.state.variables import Variable, outside_recordings

_LARGE = 2**20  # bytes from which on an array stays in its file


def load_from(path: str | os.PathLike[str], function: Callable[..., Any]) -> LoadedModule:
    """See `autograph.load`. ``function`` makes a `Function` of a Python function that is not converted."""
    place = Path(os.path.abspath(os.fspath(path)))
    while True:
        with Reading(found(place)) as directory:
            try:
                return _Loading(directory, function).module()
            except LoadError:
                if not directory.is_replaced():  # by a save, which has removed what was being read
                    raise


class _Loading:
    """What is read from one directory."""

    def __init__(self, directory: Reading, function: Callable[..., Any]) -> None:
        self._directory, self._make = directory, function
        self._body = manifest.read(directory)
        self._records = Records()
        self._functions: list[Function[..., Any]] = []
        self._arrays: dict[tuple[int, str], Any] = {}

    def module(self) -> LoadedModule:
        """All of it."""
        body = self._body
        with outside_recordings():
            self._variables = self._read_variables()
        owners = {
            k: number for number, entry in reversed(list(enumerate(body["functions"]))) for k in entry["programs"]
        }
        signatures = [self._signature(entry) for entry in body["functions"]]
        self._programs = []
        for number, entry in enumerate(body["programs"]):
            if number not in owners:
                raise self._wrong(f"programs[{number}] belongs to no function")
            self._programs.append(self._program(number, entry, signatures[owners[number]]))
        for entry, signature in zip(body["functions"], signatures, strict=True):
            self._functions.append(self._function(entry, signature))
        made = self._objects()
        root = made[0]
        if not isinstance(root, LoadedModule):
            raise self._wrong("objects[0] is no module")
        root.__captured__ = tuple(self._variables[number] for number in body["captured"])
        root.__signatures__ = {name: self._program_as_concrete(k, owners[k]) for name, k in body["signatures"].items()}
        return root

    def _wrong(self, what: str) -> LoadError:
        return self._directory.error(MANIFEST, what)

    # Variables.

    def _read_variables(self) -> list[Any]:
        """The Variables; None for what is only an array of NumPy's."""
        entries = self._body["variables"]
        if not entries:
            return []
        data = self._directory.mapped(manifest.VARIABLES, self._body["files"][manifest.VARIABLES])
        try:
            wanted = {entry["tensor"]: _stored_type(entry["dtype"], entry["shape"]) for entry in entries}
            arrays = tensors.read(data, wanted)
        except (tensors.Damaged, ValueError, OverflowError) as error:
            raise self._directory.error(manifest.VARIABLES, str(error)) from None
        stored = [arrays[entry["tensor"]] for entry in entries]
        taken = {k for program in self._body["programs"] for k in program["state"]}
        for k, kind in _arrays_in(self._body["objects"]):
            if kind == "jax":
                taken.add(k)
            else:
                self._arrays[k, kind] = array_of(stored[k], kind)
        return [
            self._variable(entry, array) if k in taken or not entry["hidden"] else None
            for k, (entry, array) in enumerate(zip(entries, stored, strict=True))
        ]

    def _variable(self, entry: dict[str, Any], stored: np.ndarray) -> Variable:
        wide = stored.dtype.itemsize > 4 * (1 + (stored.dtype.kind == "c")) and stored.dtype.kind in "iufc"
        if wide and not jax.config.read("jax_enable_x64"):
            raise self._wrong(
                f"Variable {entry['tensor']!r} is {entry['dtype']}, which JAX has off: set jax_enable_x64"
            )
        value = self._on_devices(entry, stored)
        kind = implementation(entry["dtype"])
        if kind is not None:
            value = jax.random.wrap_key_data(value, impl=kind)
        if entry["hidden"]:
            return Held(value, entry["name"] or "constant")
        blank = jax.device_put(np.zeros((), np.bool_))  # as an array of JAX's, of which no program makes one
        made = Variable(blank, entry["trainable"], entry["name"])
        made._value, made._type = value, LeafType(tuple(value.shape), value.dtype)
        made._lent = True  # by the file: a call that would use its memory for new values copies first
        return made

    def _on_devices(self, entry: dict[str, Any], stored: np.ndarray) -> Any:
        try:
            sharding = sharding_of(entry["sharding"])
            if sharding is not None:
                return jax.device_put(stored, sharding)
        except Exception as error:  # whatever JAX says of what is no mesh, or does not fit the shape
            raise self._wrong(f"Variable {entry['tensor']!r} cannot be spread as its sharding says: {error}") from error
        # A large array is used where it lies in the file, which is mapped: its pages are read when they are needed.
        return jax.device_put(stored if stored.nbytes >= _LARGE else np.array(stored), may_alias=True)

    # Functions.

    def _signature(self, entry: dict[str, Any]) -> inspect.Signature:
        decoder = Decoder((), self._records)
        parameters = []
        for parameter in entry["parameters"]:
            default = parameter["default"]
            value = inspect.Parameter.empty if default is None else decoder.value(default)
            kind = getattr(inspect.Parameter, parameter["kind"])
            parameters.append((parameter["name"], kind, value))
        try:
            return inspect.Signature([inspect.Parameter(n, k, default=v) for n, k, v in parameters])
        except ValueError as error:
            raise self._wrong(f"the parameters of {entry['name']!r} are none: {error}") from None

    def _program(self, number: int, entry: dict[str, Any], signature: inspect.Signature) -> LoadedProgram:
        data = self._directory.checked(entry["file"], self._body["files"][entry["file"]])
        try:
            artifact = STAGING.artifact(data)
        except ValueError as error:
            raise self._directory.error(entry["file"], str(error)) from None
        self._check_types(number, entry, artifact)
        state = [self._variables[k] for k in entry["state"]]
        parameters = Arguments(_Signed(signature))
        labels = [spec["name"] or f"input {k}" for k, spec in enumerate(entry["specs"])]
        try:
            program = LoadedProgram(entry, artifact, state, self._records, labels)
            args, kwargs = parameters.spell(program.signature)
            signature.bind(*args, **kwargs)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise self._wrong(f"the arguments of programs[{number}] are none of its function: {error}") from None
        return program

    def _check_types(self, number: int, entry: dict[str, Any], artifact: Artifact) -> None:
        """Check that a program takes and returns what the manifest says."""
        variables = [self._body["variables"][k] for k in entry["state"]]
        wanted = [(v["shape"], v["dtype"]) for v in variables] + [(s["shape"], s["dtype"]) for s in entry["specs"]]
        if entry["outputs"] > len(artifact.outputs):  # before a list is made that is so long
            raise self._wrong(f"programs[{number}] has {len(artifact.outputs)} results in its file, and more here")
        results: list[Any] = [None] * entry["outputs"]
        if entry["errors"]:
            results += [([], "int32"), *(each for site in entry["errors"] for each in site["types"])]
        results += wanted[: entry["written"]]
        for what, given, mine in (("inputs", artifact.inputs, wanted), ("results", artifact.outputs, results)):
            if len(given) != len(mine):
                raise self._wrong(f"programs[{number}] has {len(given)} {what} in its file, and {len(mine)} here")
            for k, (type, known) in enumerate(zip(given, mine, strict=True)):
                if known is not None and not _is_of(type, *known):
                    raise self._wrong(f"programs[{number}]: {what}[{k}] is {type} in its file, and not here")
        if list(artifact.platforms) != entry["platforms"]:
            raise self._wrong(f"programs[{number}] is for {artifact.platforms} in its file, and not here")

    def _function(self, entry: dict[str, Any], signature: inspect.Signature) -> Function[..., Any]:
        programs = [self._programs[number] for number in entry["programs"]]
        stub = LoadedFunction(entry, signature, programs)
        specs = None
        if entry["input_signature"] is not None:
            specs = Decoder([spec_of(each) for each in entry["specs"]], self._records).value(entry["input_signature"])
        try:
            made: Function[..., Any] = self._make(
                stub, input_signature=specs, experimental_implements=entry["implements"]
            )
        except (TypeError, ValueError) as error:
            raise self._wrong(f"{entry['name']!r} is no function: {error}") from None
        return made

    def _program_as_concrete(self, number: int, owner: int) -> Any:
        """The concrete function that a program is; the function that it belongs to, where it cannot run here."""
        function, program = self._functions[owner], self._programs[number]
        if not program.is_for_here:
            return function
        stub: Any = function.python_function
        args, kwargs = stub.saved_calls[self._body["functions"][owner]["programs"].index(number)]
        try:
            return function.get_concrete_function(*args, **kwargs)
        except Exception as error:  # whatever comes of types that do not fit together
            raise self._wrong(f"programs[{number}] cannot be called as it says: {error}") from error

    # Objects.

    def _objects(self) -> Sequence[Any]:
        entries = self._body["objects"]
        made = [self._empty(k, entry) for k, entry in enumerate(entries)]
        for thing, entry in zip(made, entries, strict=True):
            if isinstance(thing, LoadedModule):
                for name, part in entry["parts"].items():
                    slots = [self._slot(each, made) for each in part["slots"]]
                    vars(thing)[name] = Decoder(slots, self._records).value(part["form"])
        return made

    def _empty(self, number: int, entry: dict[str, Any]) -> Any:
        if entry["random"] is None:
            return LoadedModule(entry["class"])
        match entry["parts"]:
            case {"state": {"form": ["slot", 0], "slots": [["variable", int(k)]]}}:
                state = self._variables[k]
                try:
                    jax.random.wrap_key_data(state.value, impl=entry["random"])
                except (TypeError, ValueError) as error:
                    raise self._wrong(f"objects[{number}] holds no key: {error}") from None
                return Generator.of_state(entry["random"], state)
        raise self._wrong(f"objects[{number}] is a random generator without a state")

    def _slot(self, part: Part, objects: Sequence[Any]) -> Any:
        """What stands in a slot of an attribute."""
        kind, number, *rest = part
        if kind == "variable":
            return self._variables[number]
        if kind == "function":
            return self._functions[number]
        if kind == "object":
            return objects[number]
        if kind == "program":
            owner = next(k for k, entry in enumerate(self._body["functions"]) if number in entry["programs"])
            return self._program_as_concrete(number, owner)
        return self._variables[number].value if rest == ["jax"] else self._arrays[number, *rest]


class _Signed:
    """Something to call, of this signature."""

    def __init__(self, signature: inspect.Signature) -> None:
        self.__signature__ = signature

    def __call__(self, *args: Any, **kwargs: Any) -> None: ...


def _arrays_in(objects: Sequence[dict[str, Any]]) -> set[tuple[int, str]]:
    """The numbers and kinds of the arrays that attributes hold."""
    slots = [slot for thing in objects for part in thing["parts"].values() for slot in part["slots"]]
    return {(slot[1], slot[2]) for slot in slots if slot[0] == "array"}


def _stored_type(dtype: str, shape: Sequence[int]) -> tuple[str, tuple[int, ...]]:
    """The type of the array that a Variable's value is stored as."""
    kind = implementation(dtype)
    if kind is None:
        return dtype, tuple(shape)
    data = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=kind)))
    return "uint32", (*shape, *data.shape)


def _is_of(type: LeafType, shape: Sequence[Any] | None, dtype: str) -> bool:
    """Whether an artifact's type is that of the manifest, in which a symbolic dimension may have no name."""
    if name_of(type.dtype) != dtype or shape is None or len(shape) != len(type.shape):
        return False
    return all(
        size == mine if isinstance(mine, int) else isinstance(size, str)
        for size, mine in zip(type.shape, shape, strict=True)
    )
