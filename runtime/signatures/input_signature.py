"""Check arguments against an ``input_signature``, and convert them where no information is lost."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.runtime.signatures.inputs import stand_in
from autograph.runtime.signatures.signature import Arguments, CallSignature
from autograph.runtime.signatures.tensor_spec import TensorSpec, type_name

Complain = Callable[[str, str], Exception]


class InputSignature:
    """The specs of a function's arguments, and how its calls are brought to fit them.

    Attributes:
      specs: for each array input its spec, in order.
      labels: what a user calls each.
      call: the signature of every call.
    """

    def __init__(self, signature: Any, arguments: Arguments) -> None:
        self._arguments = arguments
        if not isinstance(signature, list | tuple) or hasattr(signature, "_fields"):
            raise TypeError(f"input_signature must be a sequence of TensorSpec; got {signature!r}")
        self._tree = tuple(_checked(spec) for spec in signature)
        room = len(arguments.positional)
        if len(self._tree) > room and arguments.var_positional is None:
            raise TypeError(
                f"input_signature has {len(self._tree)} specs, and {arguments.name}() takes {room} arguments"
            )
        missing = [
            name
            for name in (*arguments.positional[len(self._tree) :], *arguments.keyword_only)
            if name not in arguments.defaults
        ]
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            raise TypeError(f"input_signature has no spec for the argument {names} of {arguments.name}()")
        self.call, specs = arguments.split(arguments.canonical(self._tree, {}))
        self.labels = self.call.array_labels()
        self.specs = [
            TensorSpec(spec.shape, spec.dtype, spec.name or label)
            for spec, label in zip(specs, self.labels, strict=True)
        ]

    def arrays(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The array inputs of a call. ``TypeError`` if it does not fit."""
        name = self._arguments.name
        if len(args) > len(self._tree):
            raise TypeError(f"{name}() takes {len(self._tree)} arguments by its input_signature; got {len(args)}")
        names = self._arguments.names(max(len(self._tree), len(self._arguments.positional)))[: len(self._tree)]
        extra = [key for key in kwargs if key not in names[len(args) :]]
        if extra:
            raise TypeError(f"{name}() takes no keyword argument `{extra[0]}` by its input_signature")
        values = list(args)
        for parameter in names[len(args) :]:
            if parameter in kwargs:
                values.append(kwargs[parameter])
            elif parameter in self._arguments.defaults:
                values.append(self._arguments.defaults[parameter])
            else:
                raise TypeError(f"{name}() is missing the argument `{parameter}`")
        found: list[Any] = []
        for spec, value, label in zip(self._tree, values, names, strict=True):
            _match(spec, value, label, self._complain, found)
        self.admit([value if isinstance(value, jax.Array) else jax.typeof(value) for value in found])
        return found

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, called with the array inputs of the call."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = self.call.arguments(self.arrays(args, kwargs))
            return function(*args, **kwargs)

        return call

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The array inputs of a call, or what represents them: the specs, where nothing is said, or sizes are left open."""
        if not args and not kwargs:
            return list(self.specs)
        arrays = self.arrays(*jax.tree.map(stand_in, (args, kwargs)))
        is_open = any(isinstance(leaf, TensorSpec) and not leaf.is_fixed for leaf in jax.tree.leaves((args, kwargs)))
        return list(self.specs) if is_open else arrays

    def admit(self, types: Sequence[Any]) -> None:
        """``TypeError`` if inputs of these types do not fit."""
        check(self.specs, self.labels, types, self._complain)

    def _complain(self, label: str, what: str) -> Exception:
        return TypeError(f"{self._arguments.name}(): the argument `{label}` does not fit the input_signature: {what}")


def check(specs: Sequence[TensorSpec], labels: Sequence[str], types: Sequence[Any], complain: Complain) -> None:
    """Raise what ``complain`` makes of the first type that does not fit its spec, named sizes being equal
    throughout.
    """
    sizes: dict[str, Any] = {}
    for spec, label, type in zip(specs, labels, types, strict=True):
        if not fits(spec, type):
            raise complain(label, difference(spec, type))
        for size, found in zip(spec.shape or (), type.shape, strict=False):
            if isinstance(size, str) and isinstance(found, int) and sizes.setdefault(size, found) != found:
                raise complain(label, f"expected {spec} where {size} is {sizes[size]}, got {type_name(type)}")


def fits(spec: TensorSpec, type: Any) -> bool:
    """Whether a type has the spec's dtype and none of its fixed sizes another."""
    if type.dtype != spec.dtype:
        return False
    if spec.shape is None:
        return True
    return len(spec.shape) == len(type.shape) and all(
        not isinstance(size, int) or not isinstance(found, int) or size == found
        for size, found in zip(spec.shape, type.shape, strict=True)
    )


def difference(spec: TensorSpec, type: Any) -> str:
    """What was expected and what came: the dtypes alone if the shapes agree."""
    if type.dtype != spec.dtype and fits(
        TensorSpec(spec.shape, spec.dtype), jax.ShapeDtypeStruct(type.shape, spec.dtype)
    ):
        return f"expected {spec.dtype}, got {type.dtype}"
    return f"expected {spec}, got {type_name(type)}"


def as_input(value: Any, spec: TensorSpec, complain: Callable[[str], Exception]) -> Any:
    """``value`` as an array of the spec's dtype: JAX arrays as they are, Python and NumPy ones cast if that
    loses no more than digits.
    """
    if isinstance(value, jax.Array | jax.ShapeDtypeStruct):
        return value
    if isinstance(value, list | tuple) and any(
        isinstance(leaf, jax.Array) for leaf in jax.tree_util.tree_leaves(value)
    ):
        return jnp.asarray(value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise complain(f"expected {spec}, got {value!r}, which is no array") from None
    if array.dtype.kind not in "biufcV" and not jnp.issubdtype(array.dtype, np.number):
        raise complain(f"expected {spec}, got {_described(value)}")
    if array.dtype == spec.dtype:
        return array
    if array.size and _rank(array.dtype) > _rank(spec.dtype):
        raise complain(
            f"expected {spec.dtype}, got {_described(value)}"
            if array.ndim == 0
            else difference(spec, _canonical(array))
        )
    with np.errstate(over="ignore", invalid="ignore"):
        cast = array.astype(spec.dtype)
    if _rank(spec.dtype) == 1 and not np.array_equal(cast, array):
        raise complain(f"expected {spec.dtype}, got {_described(value)}, which is out of its range")
    return cast


def _canonical(array: np.ndarray) -> Any:
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return type_name(value)
    kind = {float: "float32", int: "int32"}.get(type(value))
    text = repr(value)
    text = text if len(text) < 40 else text[:37] + "..."
    return f"{kind} ({text})" if kind else f"{type(value).__name__} {text}"


def _rank(dtype: Any) -> int:
    """Where a dtype stands in bool, integer, floating, complex: a cast upwards, or within, keeps the value's
    nature.
    """
    for rank, kind in enumerate((np.bool_, np.integer, jnp.floating, np.complexfloating)):
        if jnp.issubdtype(dtype, kind):
            return rank
    return 4


def _checked(spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return spec
    if isinstance(spec, jax.ShapeDtypeStruct):
        return TensorSpec.from_array(spec)
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        return type(spec)(*map(_checked, spec))
    if isinstance(spec, list | tuple):
        return type(spec)(map(_checked, spec))
    if isinstance(spec, dict):
        return {key: _checked(value) for key, value in spec.items()}
    raise TypeError(f"input_signature is a sequence of TensorSpec, nested in lists, tuples or dicts; in it is {spec!r}")


def _match(spec: Any, value: Any, label: str, complain: Complain, found: list[Any]) -> None:
    """Collect the arrays of ``value`` in the order of the specs that they meet."""
    if isinstance(spec, TensorSpec):
        found.append(as_input(value, spec, lambda what: complain(label, what)))
    elif isinstance(spec, dict):
        if not isinstance(value, dict) or value.keys() != spec.keys():
            raise complain(label, f"expected a dict with the keys {list(spec)}, got {_structure(value)}")
        for key in sorted(spec):
            _match(spec[key], value[key], f"{label}[{key!r}]", complain, found)
    else:
        if not isinstance(value, list | tuple) or len(value) != len(spec):
            raise complain(label, f"expected {len(spec)} values, got {_structure(value)}")
        for position, (part, item) in enumerate(zip(spec, value, strict=True)):
            _match(part, item, f"{label}[{position}]", complain, found)


def _structure(value: Any) -> str:
    if isinstance(value, dict):
        return f"the keys {list(value)}"
    return f"{len(value)} values" if isinstance(value, list | tuple) else type(value).__name__


def is_signature_of_one(call: CallSignature) -> bool:
    """Whether every parameter is one array, so that the arguments are the inputs."""
    return bool(call.treedef.num_leaves == call.statics.count(None)) and call.treedef == jax.tree_util.tree_structure(
        (0,) * call.treedef.num_leaves
    )
