"""`save`: write functions and their Variables to a directory."""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.effects.raising import Guarded
from autograph.runtime.errors import ArgumentsChanged, StagingError
from autograph.runtime.function.concrete import ConcreteFunction
from autograph.runtime.function.function import Function
from autograph.runtime.saving import manifest, tensors
from autograph.runtime.saving.attributes import Attribute, Part, array_kind, check_names, saved_attributes
from autograph.runtime.saving.directory import MANIFEST, replacing
from autograph.runtime.saving.dtypes import name_of
from autograph.runtime.saving.loaded_module import NAMES as LOADED_NAMES
from autograph.runtime.saving.loaded_module import LoadedModule
from autograph.runtime.saving.raised import entry_of
from autograph.runtime.saving.shardings import entry_of as sharding_entry
from autograph.runtime.saving.structures import Node, NoForm, Slot, encode
from autograph.runtime.signatures.inputs import WeakSpec
from autograph.runtime.signatures.signature import Arguments
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.state.commits import values_of
from autograph.runtime.state.held import Constant, Held
from autograph.runtime.state.module import Module
from autograph.runtime.state.processes import on_host
from autograph.runtime.state.random import Generator
from autograph.runtime.state.variables import Variable
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import is_recording
from autograph.runtime.typing import PyTree

Compiled: TypeAlias = Function[..., PyTree] | ConcreteFunction
Saveable: TypeAlias = Module | Compiled


def save(
    obj: Saveable | Mapping[str, Saveable],
    path: str | os.PathLike[str],
    signatures: Compiled | Mapping[str, Compiled] | Sequence[PyTree] | None = None,
    platforms: Sequence[str] | None = None,
    *,
    derivatives: int | None = None,
) -> None:
    """Save functions and the Variables that they use to a directory, which `load` reads without their source.

    Every traced program of a function is saved: those of calls, those from `get_concrete_function`, and that of an
    ``input_signature``. Attributes of a `Module` that are data (numbers, strings, arrays, and containers of them) are
    saved too. An attribute that cannot be saved, such as a plain function, becomes a placeholder that names it.

    Args:
      obj: a `Module`, a `Function`, a `ConcreteFunction`, or a dict from names to these and to data.
      path: the directory. A model that was saved there before is replaced atomically.
      signatures: a dict from names to concrete functions, or to functions that have exactly one, which become
        ``signatures`` of the loaded object; one alone is named ``"default"``. For a `Function`, also a list of
        arguments, with `TensorSpec` in place of arrays, that selects the one program to save.
      platforms: the platforms that the programs run on, such as ``("cpu", "cuda", "tpu")``; by default the current
        one.
      derivatives: the number of orders of derivatives that are saved with the programs; by default 1, where there is
        one.

    Raises:
      StagingError: a program cannot be saved, for example because it calls Python. The message names the
        line.
      TargetError: programs cannot be lowered for a platform.
      ValueError: there is nothing to save.
      TypeError: ``obj`` has another type, or an item of a dict cannot be saved.
      FileExistsError: ``path`` exists and is not a saved model.

    >>> import autograph as ag, jax.numpy as jnp, tempfile, os
    >>> @ag.function(input_signature=[ag.TensorSpec([None])])
    ... def scaled(x):
    ...     if x.sum() > 1:
    ...         x = x / x.sum()
    ...     return {"x": x}
    >>> path = os.path.join(tempfile.mkdtemp(), "scaled")
    >>> ag.save(scaled, path)
    >>> ag.load(path)(jnp.array([1.0, 3.0]))["x"].tolist()
    [0.25, 0.75]
    """
    if is_recording():
        raise StagingError(f"{user_location()}\n  save is called in a function that is being traced. Call it outside.")
    if derivatives is not None and (type(derivatives) is not int or derivatives < 0):
        raise TypeError(f"derivatives is a number of orders, 0 or more; got {derivatives!r}")
    saving = _Saving(platforms, derivatives)
    saving.take(obj, signatures)
    values = saving.snapshot()
    with replacing(Path(os.path.abspath(os.fspath(path)))) as writing:
        for name, data in saving.files.items():
            writing.write(name, lambda put, data=data: put(data))  # type: ignore[misc]
        if values:
            writing.write(manifest.VARIABLES, lambda put: tensors.write(values, put))
        body = saving.body(writing.files)
        writing.write(MANIFEST, lambda put: put(manifest.text(body)))


class _Saving:
    """What is to be written.

    Attributes: files (the programs, by the names of their files).
    """

    def __init__(self, platforms: Sequence[str] | None, derivatives: int | None) -> None:
        self._platforms, self._derivatives = platforms, derivatives
        self.files: dict[str, bytes] = {}
        self._variables: dict[int, tuple[Variable, str]] = {}
        self._functions: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._programs: dict[int, tuple[ConcreteFunction, dict[str, Any]]] = {}
        self._objects: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._signatures: dict[str, int] = {}
        self._owned: set[int] = set()  # the Variables that attributes lead to
        self._only: dict[int, list[ConcreteFunction]] = {}  # of a function of which not all programs are saved

    def take(self, obj: Any, signatures: Any) -> None:
        """Take what is saved, and its signatures."""
        named = self._named(obj, signatures)
        if isinstance(obj, Module):
            self._part(obj, "")
        elif isinstance(obj, Function | ConcreteFunction):
            self._object(obj, "Function", {"__call__": obj}, "")
        elif isinstance(obj, Mapping):
            for name in obj:
                if not isinstance(name, str):
                    raise TypeError(f"the keys of a saved dict must be names; got {name!r}")
            check_names(obj, LOADED_NAMES - {"signatures"}, "a dict")  # that one is read as loaded["signatures"]
            self._object(obj, "dict", dict(obj), "", strict=True)
        elif callable(obj):
            raise TypeError(
                f"{getattr(obj, '__name__', obj)!r} is a plain {type(obj).__name__}: save a Function, ag.function(...)"
            )
        else:
            raise TypeError(f"a Module, a Function, a ConcreteFunction or a dict of them is saved; got {obj!r}")
        for name, concrete in named.items():
            self._signatures[name] = self._program(concrete)
        if not self._programs and not self._variables:  # arrays are in the latter
            untraced = ", ".join(f"`{entry['name']}`" for _, entry in self._functions.values())
            raise ValueError(
                f"there is nothing to save: {untraced} has not been traced for any arguments. Call it once, give it an "
                "input_signature, or call get_concrete_function(...)."
                if untraced
                else f"there is nothing to save: {obj!r} holds no Function and no Variable"
            )

    def _named(self, obj: Any, signatures: Any) -> dict[str, ConcreteFunction]:
        if isinstance(obj, Function) and isinstance(signatures, list | tuple):
            signatures = obj.get_concrete_function(*signatures)
            self._only[id(obj)] = [signatures]
        if signatures is None:
            if isinstance(obj, Function):
                found = _programs_of(obj)
                return {"default": found[0]} if len(found) == 1 else {}
            named = obj if isinstance(obj, Mapping) else {"default": obj}
            return {name: each for name, each in named.items() if isinstance(each, ConcreteFunction)}
        given = signatures if isinstance(signatures, Mapping) else {"default": signatures}
        return {name: _only_program(name, each) for name, each in given.items()}

    # What there is.

    def _part(self, value: Any, name: str) -> Part | None:
        """The part of an object that a value is, by its path; None for one that is data."""
        if isinstance(value, Variable):
            self._owned.add(id(value))
            return ["variable", self._variable(value, name)]
        if isinstance(value, Function):
            return ["function", self._function(value)]
        if isinstance(value, ConcreteFunction):
            return ["program", self._program(value)]
        if isinstance(value, Module):
            attributes = saved_attributes(value)
            kind = value.__kind__ if isinstance(value, LoadedModule) else type(value).__name__
            check_names(attributes, LOADED_NAMES, kind)
            return ["object", self._object(value, kind, attributes, name)]
        array = array_kind(value)
        if array is None:
            return None
        if array != "jax" and not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        return ["array", self._variable(Constant(value), name), array]

    def _object(self, value: Any, kind: str, attributes: Mapping[str, Any], name: str, strict: bool = False) -> int:
        known = self._objects.get(id(value))
        if known is None:
            entry: dict[str, Any] = {"class": kind, "random": None, "parts": {}}
            known = self._objects[id(value)] = value, entry
            if isinstance(value, Generator):
                entry["random"] = value.kind
            for key, attribute in attributes.items():
                encoder = Attribute(f"{name}.{key}" if name else key, self._part, strict)
                try:
                    entry["parts"][key] = encoder.encode(attribute)
                except NoForm as error:
                    raise TypeError(f"{key!r} cannot be saved: it is {error}.\n  {_remedy(attribute)}") from None
        return list(self._objects).index(id(value))

    def _variable(self, variable: Variable, name: str) -> int:
        # Each program that has been recorded holds a large array that it closes over by itself.
        key = id(variable.value if isinstance(variable, Constant) else variable)
        if key not in self._variables:
            taken = {each for _, each in self._variables.values()}
            number = len(self._variables)
            self._variables[key] = variable, name if name not in taken else f"{name}.{number}"
        return list(self._variables).index(key)

    def _function(self, function: Function[..., Any]) -> int:
        if id(function) not in self._functions:
            entry = _function_entry(function._arguments, function.__name__, function.__doc__)
            self._functions[id(function)] = function, entry
            options, inputs = function._options, function._made_inputs
            entry["implements"] = options.implements
            if inputs is not None:
                numbers = iter(range(len(inputs.specs)))
                slots = jax.tree_util.tree_map(lambda _: Slot(next(numbers)), inputs._tree)
                entry["input_signature"], entry["specs"] = encode(slots), list(map(_spec_entry, inputs.specs))
            entry["programs"] = [
                self._program(each, False) for each in self._only.get(id(function)) or _programs_of(function)
            ]
        return list(self._functions).index(id(function))

    def _program(self, concrete: ConcreteFunction, alone: bool = True) -> int:
        if id(concrete) not in self._programs:
            name = f"program-{len(self._programs)}.stablehlo"
            self._programs[id(concrete)] = concrete, {}
            self._programs[id(concrete)] = concrete, self._program_entry(concrete, name)
        number = list(self._programs).index(id(concrete))
        if alone and not any(number in entry["programs"] for _, entry in self._functions.values()):
            entry = _function_entry(concrete._signature.parameters, concrete.name, None)
            entry["implements"], entry["programs"] = concrete.implements, [number]
            self._functions[id(concrete)] = concrete, entry
        return number

    def _program_entry(self, concrete: ConcreteFunction, file: str) -> dict[str, Any]:
        name, specs = concrete.name, concrete.inputs
        for spec in specs:
            if spec.shape is None:
                raise StagingError(f"{name} cannot be saved for a `{spec.name}` of any rank: give the spec a shape")
        arguments = _arguments(concrete)
        traced, state = concrete.trace_with_state()
        variables, written = ([], 0) if state is None else state
        structure: Any = jax.tree_util.tree_structure(traced.out_info)
        results: Any = jax.tree_util.tree_unflatten(structure, list(map(Slot, range(structure.num_leaves))))
        if state is not None:
            results, _ = results
        sites: Sequence[Any] = ()
        if isinstance(results, Guarded):
            sites, results = results.sites, results.result
        try:
            node = encode(results)
        except NoForm as error:
            raise StagingError(
                f"{name} returns {error}, which cannot be saved.\n  Return arrays and constants in tuples, lists, dicts, named "
                "tuples or dataclasses."
            ) from None
        outputs = len(jax.tree_util.tree_leaves(results))
        errors = [entry_of(site) for site in sites]
        made = STAGING.exported(traced.jaxpr, name, self._platforms, self._derivatives)
        self.files[file] = made.data
        return {
            "name": name,
            "file": file,
            "arguments": arguments,
            "specs": [_spec_entry(spec, original) for spec, original in zip(specs, concrete._specs, strict=True)],
            "results": node,
            "weak": [k for k, aval in enumerate(traced.jaxpr.out_avals[:outputs]) if aval.weak_type],
            "outputs": outputs,
            "state": [self._variable(v, f"captured.{v.name}") for v in variables],
            "written": written,
            "errors": errors,
            "derivatives": made.derivatives,
            "why_not": made.why_not,
            "platforms": list(made.platforms),
        }

    # What is written.

    def snapshot(self) -> dict[str, np.ndarray]:
        """The values of all Variables as they are at one time, by the names of their tensors."""
        variables = [variable for variable, _ in self._variables.values()]
        with _all_held(variables):
            self._values = values_of(variables)
            for variable, value in zip(variables, self._values, strict=True):
                if value is None:
                    raise variable._unset()
                variable._lent = True  # a call that may use its memory copies it first
        names = [name for _, name in self._variables.values()]
        return {name: _on_host(value, name) for name, value in zip(names, self._values, strict=True)}

    def body(self, files: Mapping[str, Any]) -> dict[str, Any]:
        """The content of the manifest."""
        entries = zip(self._variables.values(), self._values, strict=True)
        return {
            "made_with": {"autograph": importlib.metadata.version("autograph-xla"), "jax": jax.__version__},
            "files": dict(files),
            "variables": [_variable_entry(variable, name, value) for (variable, name), value in entries],
            "functions": [entry for _, entry in self._functions.values()],
            "programs": [entry for _, entry in self._programs.values()],
            "objects": [entry for _, entry in self._objects.values()],
            "signatures": self._signatures,
            "captured": [
                number
                for number, (variable, _) in enumerate(self._variables.values())
                if id(variable) not in self._owned and not isinstance(variable, Held)
            ],
        }


def _programs_of(function: Function[..., Any]) -> list[ConcreteFunction]:
    if function.input_signature is not None:
        return [function.get_concrete_function()]
    if function._changes is not None:
        raise ArgumentsChanged(None, function._changes)
    return function.concrete_functions()


def _only_program(name: str, function: Any) -> ConcreteFunction:
    if isinstance(function, ConcreteFunction):
        return function
    if not isinstance(function, Function):
        raise TypeError(f"a signature is a concrete function, f.get_concrete_function(...); {name!r} is {function!r}")
    found = _programs_of(function)
    if len(found) != 1:
        raise ValueError(
            f"the signature {name!r} is to be one program, and {function.__name__} has {len(found)}: "
            "say which with get_concrete_function(...)"
        )
    return found[0]


def _remedy(value: Any) -> str:
    if callable(value):
        return "Save a Function of it, ag.function(...)."
    return "Save numbers, texts, arrays, Variables, Functions and Modules, in containers of Python's or dataclasses."


def _function_entry(arguments: Arguments, name: str, doc: str | None) -> dict[str, Any]:
    parameters = [
        {
            "name": parameter.name,
            "kind": parameter.kind.name,
            "default": None if parameter.default is parameter.empty else _default(parameter),
        }
        for parameter in arguments.signature.parameters.values()
    ]
    return {
        "name": name,
        "doc": doc if isinstance(doc, str) else None,
        "parameters": parameters,
        "input_signature": None,
        "specs": [],
        "implements": None,
        "programs": [],
    }


def _default(parameter: inspect.Parameter) -> Node:
    try:
        return encode(parameter.default)
    except NoForm:
        return ["opaque", parameter.name]


def _arguments(concrete: ConcreteFunction) -> Node:
    """The arguments that a program is for, with slots for its inputs."""
    parameters = concrete._signature.parameters
    values = concrete._signature.values([Slot(k) for k in range(len(concrete._specs))])
    nodes = []
    for name, value in zip(parameters.names(len(values)), values, strict=True):
        try:
            nodes.append(encode(value))
        except NoForm as error:
            if name not in parameters.defaults or parameters.defaults[name] is not value:
                raise StagingError(
                    f"{concrete.name} has been traced for `{name}={value!r}`, {error}, which cannot be saved.\n"
                    "  Make it the default of the parameter, or close over it."
                ) from None
            nodes.append(["opaque", name])
    return ["tuple", nodes]


def _spec_entry(spec: TensorSpec, original: TensorSpec | None = None) -> dict[str, Any]:
    return {
        "shape": None if spec.shape is None else list(spec.shape),
        "dtype": name_of(spec.dtype),
        "name": spec.name,
        "weak": isinstance(original, WeakSpec),
    }


def _variable_entry(variable: Variable, name: str, value: Any) -> dict[str, Any]:
    return {
        "tensor": name,
        "name": variable._name,
        "trainable": variable.trainable,
        "dtype": name_of(value.dtype),
        "shape": list(value.shape),
        "hidden": isinstance(variable, Held),
        "sharding": sharding_entry(value),
    }


@contextlib.contextmanager
def _all_held(variables: Iterable[Variable]) -> Iterator[None]:
    """Hold the locks of all, in the order that all go by: nothing is written meanwhile, and no memory given away."""
    with contextlib.ExitStack() as stack:
        for variable in sorted(variables, key=lambda variable: variable._order):
            variable._check_free()
            stack.enter_context(variable._lock)
        yield


def _on_host(value: Any, name: str) -> np.ndarray:
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return on_host(value, f"{name!r}, which is to be saved,")
