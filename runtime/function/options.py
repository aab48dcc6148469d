"""The options of a `Function`, with checks, and the tools that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.runtime.code.features import Feature
from autograph.runtime.function.program import Compiler
from autograph.runtime.signatures.chosen_arguments import ArgumentOptions
from autograph.runtime.signatures.tensor_spec import TensorSpec


@dataclass(frozen=True)
class Tools:
    """What a `Function` needs of the backend.

    Attributes:
      compiler: compiles.
      symbolic_sizes: creates a compiler for inputs with symbolic dimensions, from a compiler, specs and a check
        of types.
      symbolic_types: the types of inputs of some specs, with symbolic dimensions.
      inspect: opens a traced program to view.
      listings: the source and the rewritten form of a function, and of others that hold some lines (file and number).
    """

    compiler: Compiler
    symbolic_sizes: Callable[..., Compiler]
    symbolic_types: Callable[[Sequence[TensorSpec]], list[Any]]
    inspect: Callable[[Any], Any]
    listings: Callable[[Any, Iterable[tuple[str, int]]], list[Any]]


@dataclass(frozen=True)
class Options:
    """The options of a `Function`.

    Attributes:
      convert: rewrites the Python function.
      input_signature: specs that every call must fit, or None.
      jit_compile: whether the whole is compiled.
      reduce_retracing: whether sizes that are seen to differ are opened.
      cache_limit: how many programs are kept; the one unused for longest goes first.
      in_shardings, out_shardings: for the arguments and the results, as in `jax.jit`.
      donate_variables: whether the memory of a Variable's old value may be used for its new one.
      arguments: which are static, and which are given away.
      compile: handed to `jax.jit`.
      implements: the name of what the function implements, kept where it is saved.
    """

    convert: Callable[[Callable[..., Any]], Callable[..., Any]]
    input_signature: Any = None
    jit_compile: bool = True
    reduce_retracing: bool = False
    cache_limit: int = 256
    in_shardings: Any = None
    out_shardings: Any = None
    donate_variables: bool = False
    arguments: ArgumentOptions = ArgumentOptions()
    compile: dict[str, Any] | None = None
    implements: str | None = None


def check_options(given: Mapping[str, Any]) -> None:
    """``TypeError`` or ``ValueError``, in the caller's words, for an option that cannot be meant."""
    for name in ("autograph", "reduce_retracing", "donate_variables", "check_bounds"):
        if not isinstance(given[name], bool):
            raise TypeError(f"{name} must be True or False; got {given[name]!r}")
    for name in ("jit_compile", "experimental_relax_shapes", "experimental_compile"):
        if not isinstance(given[name], bool | None):
            raise TypeError(f"{name} must be True, False or None; got {given[name]!r}")
    features = given["experimental_autograph_options"]
    if not all(
        isinstance(feature, Feature)
        for feature in (features if isinstance(features, tuple | list) else [features])
        if feature
    ):
        raise TypeError(f"experimental_autograph_options must be a Feature or a tuple of them; got {features!r}")
    if not isinstance(given["compiler_options"], dict | None):
        raise TypeError(f"compiler_options must be a dict of XLA's options; got {given['compiler_options']!r}")
    if not isinstance(given["experimental_implements"], str | None):
        raise TypeError(f"experimental_implements must be a name; got {given['experimental_implements']!r}")
    if given["input_signature"] is not None and (given["static_argnums"] != () or given["static_argnames"] != ()):
        raise TypeError(
            "pass either input_signature, for one program, or static arguments, each value of which is a program of its own"
        )
    limit = given["cache_limit"]
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"cache_limit must be an int; got {limit!r}")
    if limit < 1:
        raise ValueError(f"cache_limit must be 1 or more; got {limit}")
