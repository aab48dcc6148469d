"""The examples in docstrings, run as written.

They run here and not by `pytest --doctest-modules`, which would import runtime/x.py as `runtime.x`, a second
copy of `autograph.runtime.x` with classes of its own.
"""

from __future__ import annotations

import doctest
import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.rooms import modules

# What the reference says that the examples of public names import.
NAMES = {"ag": ag, "jax": jax, "jnp": jnp, "np": np}
WITH_EXAMPLES = [name for name, path in modules().items() if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples(name):
    failed, tried = doctest.testmod(
        importlib.import_module(name),
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE,
        extraglobs=NAMES,
    )
    assert tried > 0, "no example was found: a `>>>` outside of docstrings?"
    assert failed == 0
