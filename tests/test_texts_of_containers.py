"""Lists, tuples and dicts with traced values in them, printed, in texts and in errors: as Python shows them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


def displays(x):
    print({"a": x}, [x, 2], (x, "b"))
    print("values:", [[x, 1.5], {"k": (x,)}])
    return str([x]), f"{(x, 'b')}"


def of_traced_length(x):
    kept, rows = [], []
    for k in range(3):
        if x > k:
            kept.append(k)
            rows.append([k * x, k])
    print(kept, [kept], {"rows": rows})
    print(f"{kept} and {len(kept)}: {rows!r}")
    return f"{kept}", str(rows) + "!"


def of_constants(x):
    words = []
    for k in range(3):
        if x > k:
            words.append("ab")
    print(words)
    return len(words)


@pytest.mark.parametrize("program", [displays, of_traced_length, of_constants])
@pytest.mark.parametrize("x", [2.5, 1.0, -3.5])
def test_as_python_shows_them(program, x, capsys):
    wanted = program(x), capsys.readouterr().out
    found = ag.function(program)(jnp.float32(x))
    jax.effects_barrier()
    assert (found, capsys.readouterr().out) == wanted


def test_in_a_branch_and_in_an_error(capsys):
    def f(x):
        kept = [v for v in [x, 1.0] if v > 1]
        if x > 1:
            print([x, kept])
        if x > 3:
            raise ValueError(f"too many: {kept}")
        return x

    compiled = ag.function(f)
    compiled(jnp.float32(0.5))
    compiled(jnp.float32(2.0))
    with pytest.raises(ValueError, match=r"too many: \[4\.0\]"):
        compiled(jnp.float32(4.0))
    assert capsys.readouterr().out.splitlines()[0] == "[2.0, [2.0]]"


def that_hold_themselves():
    loop, table = [], {}
    loop.append(loop)
    table["t"] = table
    return f"{loop} {table}", str(loop), ascii(loop), "%s" % (loop,)  # noqa: UP031


def of_keys_without_an_order():
    mixed = {1: 2, "a": 3}
    return f"{mixed}", "{d[a]}".format(d=mixed), "%(a)s" % mixed  # noqa: UP031, UP032


@pytest.mark.parametrize("program", [that_hold_themselves, of_keys_without_an_order])
def test_containers_that_jax_cannot_flatten(program):
    assert ag.convert(program)() == ag.function(program)() == program()
    assert jax.jit(ag.convert(lambda x: x + len(program()[0])))(1) == 1 + len(program()[0])
