"""Which code is library code, which runs as it is."""

from __future__ import annotations

import sys
import types
from typing import Any

# Packages that are written for JAX as it is. Functions handed to them are converted, they themselves are not.
_LIBRARIES = frozenset(
    [
        "jax",
        "jaxlib",
        "numpy",
        "scipy",
        "autograph",
        "equinox",
        "flax",
        "haiku",
        "optax",
        "chex",
        "jaxtyping",
        "diffrax",
        "optimistix",
        "lineax",
        "orbax",
        "tensorflow",
        "torch",
        "keras",
        "sklearn",
        "pandas",
        "matplotlib",
        "tqdm",
        "pytest",
        "hypothesis",
        "IPython",
        "gast",
        "ml_dtypes",
        "opt_einsum",
    ]
) | frozenset(sys.stdlib_module_names)


def is_library(called: Any) -> bool:
    """Whether this function, class or object belongs to a package that is not converted."""
    # `functools.wraps` gives a wrapper the module of what it wraps; where its code is from, its globals say.
    is_function = isinstance(called, types.FunctionType)
    module = called.__globals__.get("__name__") if is_function else getattr(called, "__module__", None)
    if not isinstance(module, str):
        return isinstance(called, types.BuiltinFunctionType | types.BuiltinMethodType)
    # The demo and the command line live in our package, and are users of it.
    return module.partition(".")[0] in _LIBRARIES and not module.startswith("autograph.tools.")
