"""`graph.as_text("choices")`: which form each loop and conditional was given, at the user's line, and why."""

import jax
import jax.numpy as jnp

import autograph as ag


def program(x, n):
    k = 0
    while k < n and (x < 9.0).any():
        x = jnp.where(x < 9.0, x + 1.0, x)
        k += 1
    if k > 3:
        k = jnp.sqrt(k * 1.0)
    else:
        k = k * 1.0
    if n > 5:
        x = jnp.exp(x)
    for row in x:
        k = k + jnp.sin(row) * k
    return x, k


def lines(size):
    function = ag.function(program)
    types = jax.ShapeDtypeStruct((size,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)
    text = function.get_concrete_function(*types).graph.as_text("choices")
    assert all(f"{__file__}:" in line for line in text.splitlines())
    return text.splitlines()


def test_each_statement_has_its_form_and_the_reason():
    first = program.__code__.co_firstlineno
    large, small = lines(40_000), lines(8)
    assert f":{first + 2}:" in large[0] and "8 iterations between tests" in large[0]
    assert "a test for each iteration: its arrays have fewer than 32,768 elements" in small[0]
    (sqrt,) = (line for line in large if f":{first + 5}:" in line)
    assert "both branches run" in sqrt
    (exp,) = (line for line in large if f":{first + 9}:" in line)
    assert "one branch runs: a branch gives 40,000 elements; both run for at most 16" in exp
    assert "both branches run" in next(line for line in small if f":{first + 9}:" in line)
    assert any(" scan " in line and "40000 iterations" in line for line in large)


def test_loops_without_chunks_say_why():
    def text(function, *arguments):
        return ag.function(function).get_concrete_function(*arguments).graph.as_text("choices")

    x = jnp.zeros(40_000)

    def by_neighbours(x):
        while (x < 9.0).any():
            x = jnp.where(x < 9.0, x + 1.0 + jnp.roll(x, 1) * 0.1, x)
        return x

    def past_its_end(x):
        while (x < 9.0).any():
            x = x + 1.0
        return x

    def by_a_sum(x):
        while x.sum() < 9.0:
            x = x + 1.0
        return x

    assert "is not done element by element" in text(by_neighbours, x)
    assert "an iteration past its end would change an array" in text(past_its_end, x)
    assert "its test is no `any` or `all` of one array" in text(by_a_sum, x)


def test_a_program_without_statements():
    concrete = ag.function(lambda x: x + 1).get_concrete_function(jnp.ones(3))
    assert concrete.graph.as_text("choices").startswith("no loop")
