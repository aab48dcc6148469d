"""f-strings of traced values that are printed: made when the program runs."""

from __future__ import annotations

import jax
import jax.numpy as jnp

import autograph as ag


def report(n, scale):
    total = 0.0
    for i in range(n):
        total += i * scale
        print(f"step {i}: {total:.2f}", "so far", f"{i * 2:3d}|{'even' if n is None else 'count'!s:>6}")
        if i > 1:
            print(f"{i=} large")
    print(f"nothing traced {2 + 3}")
    return total


def test_a_loop_prints_what_python_prints(capsys):
    report(4, 0.5)
    wanted = capsys.readouterr().out
    for run in (ag.function(report), jax.jit(ag.convert(report)), ag.convert(report)):
        run(
            *(
                (4, 0.5)
                if run.__name__ == "report" and not hasattr(run, "lower")
                else (jnp.asarray(4), jnp.asarray(0.5))
            )
        )
        jax.effects_barrier()
        assert sorted(capsys.readouterr().out.splitlines()) == sorted(wanted.splitlines())


def test_ag_print_takes_texts(capsys):
    @ag.function
    def show(x):
        if x > 0:
            ag.print(f"x is {x}")
        else:
            ag.print(f"minus {-x}", sep="")
        return x

    show(jnp.asarray(3))
    show(jnp.asarray(-4))
    jax.effects_barrier()
    assert capsys.readouterr().out == "x is 3\nminus 4\n"
