"""Chains of ``elif`` and ``match`` of any length are converted and staged; what is nested too deep is refused, and said to be."""

import importlib
import sys

import jax.numpy as jnp
import pytest

import autograph as ag


def module(folder, source):
    """The module of this source."""
    (folder / "chains_of_arms.py").write_text(source)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return importlib.import_module("chains_of_arms")


def chain(count, statement="y ="):
    arms = "".join(f"    elif x < {k}:\n        {statement} x * {k}\n" for k in range(1, count))
    end = "    return y\n" if statement == "y =" else ""
    return f"def f(x):\n    if x < 0:\n        {statement} x - 1\n{arms}    else:\n        {statement} -x\n{end}"


@pytest.mark.parametrize("statement", ["y =", "return"])
def test_elifs(user_folder, statement):
    f = module(user_folder, chain(120, statement)).f
    staged = ag.function(f)
    for x in (-1.0, 0.5, 57.0, 118.5, 500.0):
        assert float(staged(jnp.float32(x))) == f(x)
        assert ag.convert(f)(x) == f(x)
    assert staged.experimental_get_tracing_count() == 1


def test_conversion_of_a_thousand_elifs(user_folder):
    f = module(user_folder, chain(1000)).f
    for x in (-1.0, 0.5, 999.0, 2000.0):
        assert ag.convert(f)(x) == f(x)


def test_elifs_that_bind_names_jump_and_lie_in_each_other(user_folder):
    inner = "".join(f"            elif v == {k}:\n                total = total + {k}\n" for k in range(1, 20))
    arms = "".join(f"        elif (w := v * 2) == {k}:\n            total = total + w\n" for k in range(1, 20))
    source = (
        "def f(xs):\n    total = 0.0\n    w = 0.0\n    for v in xs:\n        if v > 100:\n            break\n"
        f"        elif v < 0:\n            continue\n{arms}        else:\n"
        f"            if v == 30:\n                total = total - 1\n{inner}    return total, w\n"
    )
    f = module(user_folder, source).f
    compiled = ag.function(f)
    for values in ([1.0, 2.0, -3.0, 19.0, 30.0, 4.0], [5.0, 500.0, 7.0], [15.0, 16.0]):
        found, wanted = compiled(jnp.array(values)), f(values)
        assert [float(v) for v in found] == list(wanted), values


def test_match_of_values(user_folder):
    cases = "".join(f"        case {k} | {-k}:\n            y = {k} * x\n" for k in range(1, 60))
    source = (
        f"def f(x):\n    match x:\n        case 0 if x > 5:\n            y = -1\n{cases}"
        "        case _:\n            y = 7\n    return y\n"
    )
    f = module(user_folder, source).f
    staged = ag.function(f)
    for x in (0, 1, -1, 31, 59, -59, 100):
        assert int(staged(jnp.int32(x))) == f(x)


def test_without_an_else_a_variable_may_be_unbound(user_folder):
    source = "def f(x):\n    if x == 0:\n        y = 0\n" + "".join(
        f"    elif x == {k}:\n        y = {k}\n" for k in range(1, 30)
    )
    f = module(user_folder, source + "    return y\n").f
    assert int(ag.function(f)(jnp.int32(17))) == 17
    with pytest.raises(UnboundLocalError, match="'y'"):
        ag.function(f)(jnp.int32(70))


def test_variables_in_locals_are_the_users(user_folder):
    source = chain(20).replace("return y", "return sorted(locals())")
    f = module(user_folder, source).f
    assert ag.convert(f)(3.0) == f(3.0) == ["x", "y"]


def test_classes_get_no_attributes(user_folder):
    arms = "".join(f"        elif x == {k}:\n            y = {k}\n" for k in range(1, 20))
    source = f"def f(x):\n    class A:\n        if x == 0:\n            y = 0\n{arms}    return A.y, 'arm' in vars(A)\n"
    f = module(user_folder, source).f
    assert ag.convert(f)(7) == f(7) == (7, False)


def test_early_returns_in_a_row(user_folder):
    source = (
        "def f(x):\n" + "".join(f"    if x < {k}:\n        return x * {k}\n" for k in range(70)) + "    return -x\n"
    )
    f = module(user_folder, source).f
    compiled = ag.function(f)
    for x in (-1.0, 33.5, 80.0):
        assert float(compiled(jnp.float32(x))) == f(x)


def nested_calls(count):
    functions = [
        f"def f{k}(x):\n    if x > {k}:\n        return {f'f{k + 1}(x)' if k < count - 1 else 'x'}\n    return -x\n"
        for k in range(count)
    ]
    return "".join(functions)


# XLA writes a program of so many nested conditionals into JAX's persistent cache, and cannot read it back: JAX warns, and
# compiles again.
@pytest.mark.filterwarnings("ignore:Error reading persistent compilation cache entry")
def test_calls_nested_too_deep_are_refused_with_a_remedy_that_works(user_folder):
    f = module(user_folder, nested_calls(80)).f0
    with pytest.raises(
        ag.StagingError, match=r"nested here as deep as Python's stack of \d+ frames.*\n.*setrecursionlimit"
    ) as caught:
        ag.function(f)(jnp.float32(1.0))
    assert "calls itself" not in str(caught.value)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        assert float(ag.function(f)(jnp.float32(1000.0))) == 1000.0
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("frames", range(0, 20, 3))
def test_wherever_the_stack_ends_the_nesting_is_named(user_folder, frames):
    """It may end in the conversion of a function as well as in a branch of it."""
    deeper = "".join(f"def call{k}(f, x):\n    return call{k + 1}(f, x)\n" for k in range(frames))
    user = module(user_folder, f"{nested_calls(80)}{deeper}def call{frames}(f, x):\n    return f(x)\n")
    with pytest.raises(ag.StagingError, match="nested here as deep"):
        user.call0(ag.function(user.f0), jnp.float32(1.0))
