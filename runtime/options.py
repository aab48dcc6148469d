"""What a `Function` is told: its options, and the tools that it works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.runtime.program import Compiler
from autograph.runtime.tensor_spec import TensorSpec


@dataclass(frozen=True)
class Tools:
    """What a `Function` needs of the backend.

    Attributes:
      compiler: compiles.
      open_sizes: makes a compiler for inputs some sizes of which are open, from a compiler, specs and a check
        of types.
      symbolic_types: stand-ins for inputs of some specs, open sizes symbolic.
      inspect: opens a traced program to view.
    """

    compiler: Compiler
    open_sizes: Callable[..., Compiler]
    symbolic_types: Callable[[Sequence[TensorSpec]], list[Any]]
    inspect: Callable[[Any], Any]


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
    compile: dict[str, Any] | None = None
    implements: str | None = None
