"""What cannot be converted or staged is refused, in the user's words: the line, the variable, both facts."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

X = jnp.array(2.0)
XS = jnp.arange(3.0)


def refusal(function, *arguments, error=ag.StagingError):
    """The message of the error that staging `function` raises."""
    with pytest.raises(error) as caught:
        jax.jit(ag.convert(function))(*arguments)
    return str(caught.value)


def line_of(function, text):
    """Where `text` stands in this file, as `test_refusals.py:12`."""
    code = function.__code__
    with open(__file__) as file:
        lines = file.read().splitlines()
    number = next(n for n in range(code.co_firstlineno, len(lines)) if text in lines[n - 1])
    return f"test_refusals.py:{number}"


def test_branches_of_different_structure():
    def f(x):
        if x > 0:
            pair = {"a": x}
        else:
            pair = [x, x, x]
        return pair

    message = refusal(f, X)
    assert "'pair'" in message and line_of(f, "if x > 0") in message
    assert "{'a': " in message and "[~float32[]" in message or "[float32[]" in message


def test_branches_of_different_shape():
    def f(x):
        if x > 0:
            y = jnp.ones(3)
        else:
            y = jnp.ones((2, 2))
        return y

    message = refusal(f, X)
    assert "'y'" in message and line_of(f, "if x > 0") in message
    assert "float32[3]" in message and "float32[2,2]" in message


def test_loop_variable_that_grows():
    def f(x, xs):
        while x < 100:
            x = x * 2
            xs = jnp.concatenate([xs, xs])
        return xs

    message = refusal(f, X, XS)
    assert "'xs'" in message and line_of(f, "while x < 100") in message
    assert "float32[3]" in message and "float32[6]" in message


def test_variable_read_that_one_branch_leaves_unbound():
    def f(x):
        if x > 0:
            y = x
        return y

    message = refusal(f, X)
    assert "'y'" in message and line_of(f, "if x > 0") in message


def test_variable_that_one_branch_leaves_unbound_and_no_one_reads():
    def f(x):
        if x > 0:
            scratch = x * 2
            x = scratch
        return x

    assert jax.jit(ag.convert(f))(X) == 4.0


def test_set_in_one_branch_and_text_in_the_other():
    def f(x):
        if x > 0:
            label = "positive"
        else:
            label = {0}
        return x * len(str(label))

    message = refusal(f, X)
    assert "'label'" in message and "positive" in message


def test_staging_error_is_a_type_error():
    assert issubclass(ag.StagingError, TypeError)
    assert not issubclass(ag.ConversionError, ag.StagingError)


def test_function_without_source():
    namespace = {}
    exec("def nowhere(x):\n    return x if x > 0 else -x", namespace)
    with pytest.raises(ag.ConversionError, match="nowhere"):
        ag.convert(namespace["nowhere"])(X)


def test_to_code_without_source():
    namespace = {}
    exec("def nowhere(x):\n    return x", namespace)
    with pytest.raises(ag.ConversionError, match="nowhere"):
        ag.to_code(namespace["nowhere"])


def test_file_changed_since_import(tmp_path, monkeypatch):
    import importlib

    file = tmp_path / "changing_module.py"
    file.write_text("def f(x):\n    if x > 0:\n        return x\n    return -x\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("changing_module")
    file.write_text("def f(x):\n    if x > 0:\n        return x * 1000\n    return -x * 7\n")
    with pytest.raises(ag.ConversionError, match="changing_module"):
        ag.convert(module.f)(X)
