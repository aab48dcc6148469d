"""Write a failing program as a test file that does not need the generator."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograph.tools.fuzz.campaign import Failure

_CALLS = {
    "eager": "ag.convert(f)(*arguments)",
    "eager_jax": "ag.convert(f)(*map(jnp.asarray, arguments))",
    "jit": "jax.jit(ag.convert(f))(*map(jnp.asarray, arguments))",
    "function": "ag.function(f)(*map(jnp.asarray, arguments))",
    "vmap": "jax.tree.map(lambda leaf: leaf[0], jax.vmap(ag.convert(f))(*[jnp.asarray(a)[None] for a in arguments]))",
}

_TEST = '''"""Found by `python -m autograph.tools.fuzz`, program {seed}: {what}"""

import copy
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


{source}


@pytest.mark.parametrize("arguments", [{inputs}])
def test_agrees_with_plain_python(arguments):
    try:
        wanted = f(*copy.deepcopy(arguments))
    except Exception as error:
        with pytest.raises(type(error)):
            {call}
        return
    found = {call}
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for left, right in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
        np.testing.assert_array_equal(left, right)
        assert np.asarray(left).dtype.kind == np.asarray(right).dtype.kind
'''


def as_test(failure: Failure) -> str:
    """The text of a test file that fails as the program did."""
    inputs = ", ".join(f"({', '.join(_literal(value) for value in one)},)" for one in failure.inputs)
    what = failure.text.splitlines()[0][:90] if failure.text else failure.kind
    return _TEST.format(
        seed=failure.seed,
        what=what.replace('"""', "'''").replace("\\", "/"),
        source=failure.source.strip(),
        inputs=inputs,
        call=_CALLS.get(failure.mode, _CALLS["jit"]),
    )


def _literal(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()}, np.{value.dtype})"
    if isinstance(value, np.bool_):
        return f"np.bool_({value})"
    return f"np.{value.dtype}({value})"
