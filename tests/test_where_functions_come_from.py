"""Functions are found wherever they were written: a line of lambdas, a notebook's cell, a doctest, `exec`."""

import doctest
import functools
import linecache
import types

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

SOURCE = "def clip(v, low=0.0):\n    if v > low:\n        return v\n    return low\n"


def jitted(function, *arguments):
    return float(jax.jit(ag.convert(function))(*arguments))


def test_a_constant_lambda_inside_one_on_its_line():
    """Python 3.12 keeps no columns for the instructions of a constant."""
    kept = []

    def keep(f):
        kept.append(f)
        return f

    outer = lambda: [keep(lambda: 3.0), keep(lambda x: -1), keep(lambda x: None), keep(lambda: 4.0)]  # noqa: E731
    outer()
    assert [ag.convert(f)(*[0] * f.__code__.co_argcount) for f in kept] == [3.0, -1, None, 4.0]
    assert [ag.to_code(f).strip() for f in kept] == ["lambda: 3.0", "lambda x: -1", "lambda x: None", "lambda: 4.0"]


def test_two_lambdas_on_one_line():
    # fmt: off
    low, high = (lambda v: v if v > 1 else 1.0), (lambda v: v if v < 2 else 2.0)
    # fmt: on
    assert (jitted(low, 0.5), jitted(high, 0.5), jitted(low, 5.0), jitted(high, 5.0)) == (1.0, 0.5, 5.0, 2.0)


def made_by_exec(source, filename, registered=True):
    if registered:  # as a notebook does for each of its cells
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = {}
    exec(compile(source, filename, "exec"), scope)
    return scope["clip"]


@pytest.mark.parametrize("filename", ["<ipython-input-7-0a1b2c>", "/tmp/ipykernel_12/3456.py", "<made>"])
def test_cells_and_exec_with_registered_source(filename):
    clip = made_by_exec(SOURCE, filename)
    assert (jitted(clip, -1.0), jitted(clip, 2.0)) == (0.0, 2.0)


def test_a_cell_that_is_run_again_with_other_text():
    first = made_by_exec(SOURCE, "<cell-a>")
    assert jitted(first, -1.0) == 0.0
    second = made_by_exec(SOURCE.replace("return low", "return low - 5"), "<cell-a>")
    assert jitted(second, -1.0) == -5.0


def test_exec_without_source_is_refused():
    clip = made_by_exec(SOURCE, "<nowhere>", registered=False)
    with pytest.raises(ag.ConversionError, match=r"<nowhere>:1.*not available"):
        ag.convert(clip)


@pytest.mark.parametrize("other", ["import sys\n", "if True:\n"])
def test_exec_under_a_name_that_has_the_text_of_something_else(other):
    """Python 3.13 keeps the text of ``python -c`` as that of ``<string>``, which is the name of what ``exec`` compiles, too."""
    kept = linecache.cache.get("<string>")
    linecache.cache["<string>"] = (len(other), None, other.splitlines(keepends=True), "<string>")
    try:
        with pytest.raises(ag.ConversionError, match=r"<string>:1.*not available"):
            ag.convert(made_by_exec(SOURCE, "<string>", registered=False))
    finally:
        del linecache.cache["<string>"]
        if kept:
            linecache.cache["<string>"] = kept


def test_function_defined_in_a_doctest():
    text = """
    >>> import jax, autograph as ag
    >>> @jax.jit
    ... @ag.convert
    ... def sign(x):
    ...     if x > 0:
    ...         return 1
    ...     return -1
    >>> int(sign(-3.0)), int(sign(3.0))
    (-1, 1)
    """
    test = doctest.DocTestParser().get_doctest(text, {}, "example", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_wrapped_and_decorated_functions():
    def twice(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return function(*args, **kwargs) * 2

        return call

    @twice
    @twice
    def halve(v, *, by=2.0):
        if v > 1:
            v = v / by
        return v

    assert jitted(halve, 8.0) == 16.0
    assert ag.convert(halve).__name__ == "halve"
    assert jitted(functools.partial(halve, by=4.0), 8.0) == 8.0


def test_cached_functions_of_python_values():
    calls = []

    @functools.lru_cache
    def scale(n):
        calls.append(n)
        return n * 2 if n > 1 else n

    def f(x):
        return x * scale(3) + scale(3) if x > 0 else x

    assert jitted(f, 1.0) == 12.0
    assert calls == [3]


def test_defaults_are_those_of_the_definition():
    made = []
    for k in range(3):

        def add(v, k=k, *, seen=made):
            seen.append(k)
            return v + k if v > 0 else v

        made_now = jitted(add, 1.0)
        assert made_now == 1.0 + k
    assert made == [0, 1, 2]


def test_function_of_changed_globals():
    clip = made_by_exec(SOURCE, "<globals>")
    moved = types.FunctionType(clip.__code__, {"__name__": "elsewhere"}, "moved", (1.5,))
    assert jitted(moved, 1.0) == 1.5
    assert jnp.ndim(jitted(moved, 2.0)) == 0
