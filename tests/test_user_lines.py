"""Tracebacks, debuggers and coverage see the user's own lines, and no frames of ours between them."""

import sys
import traceback

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def inner(a, b):
    if a.sum() > 0:
        return jnp.dot(a, b)
    return a.sum()


def outer(x, y):
    for i in range(3):
        while x.sum() > 1:
            x = x / 2
            x = x + inner(x, y)
    return x


@pytest.mark.parametrize("wrap", [ag.convert, lambda f: jax.jit(ag.convert(f)), ag.function])
def test_frames_between_the_caller_and_the_error(wrap):
    with pytest.raises(TypeError) as caught:
        wrap(outer)(jnp.ones(3), jnp.ones(4))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    assert [frame.line for frame in frames[1:]] == [
        "x = x + inner(x, y)",
        "return jnp.dot(a, b)",
    ]
    assert all(frame.colno is not None for frame in frames), "the columns that carets are drawn under"


def test_frames_in_calls_after_the_first():
    @ag.function
    def f(x, n):
        return helpers[0](x) / n

    def halved(x):
        return x / 2

    def differs(x):
        while x > 1:
            x = jnp.ones(7)
        return x

    helpers = [halved]
    f(jnp.float32(3), 1)
    f(jnp.float32(3), 1)
    with pytest.raises(ZeroDivisionError) as caught:
        f(1.0, 0)
    assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}
    helpers[0] = differs
    with pytest.raises(ag.StagingError) as caught:
        f(jnp.float32(3), 1)
    assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_lines_that_a_debugger_steps_through():
    def f(x):
        if x > 1:
            y = x + 1
        else:
            y = x - 1
        while y > 2:
            y = y - 2
        return y

    def lines(function):
        seen = set()

        def tracer(frame, event, _):
            if frame.f_code.co_filename == __file__ and event == "line":
                seen.add(frame.f_lineno)
            return tracer

        sys.settrace(tracer)
        try:
            function(4)
        finally:
            sys.settrace(None)
        return {line for line in seen if line >= f.__code__.co_firstlineno}

    plain = lines(f)
    assert plain <= lines(ag.convert(f))


def test_source_positions_in_the_program():
    jaxpr = jax.make_jaxpr(ag.convert(lambda x: jnp.sin(x) if x > 0 else jnp.cos(x) * 3))(1.0)
    from jax.extend import source_info_util

    places = [source_info_util.summarize(equation.source_info) for equation in jaxpr.eqns]
    assert all("test_user_lines.py" in place for place in places), places
