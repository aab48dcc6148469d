"""f-strings of traced values that are printed: made when the program runs."""

from __future__ import annotations

import io
import pprint

import jax
import jax.numpy as jnp
import pytest

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


def table(n):
    for i in range(n):
        for j in range(3):
            print(i * j, end=" ")
        print()
    print(*[], sep="-")
    print("done", n)
    print("", end="!\n")


def first_without_text(n):
    for i in range(n):
        print()
        if i > 0:
            print(i)
        else:
            print(end="zero\n")


def of_texts_only(n):
    print("start")
    print()
    print("end")
    return n


def into_a_text(n):
    text = io.StringIO()
    print("start", file=text)
    print(file=text)
    return n + len(text.getvalue())


@pytest.mark.parametrize("f", [table, first_without_text, of_texts_only, into_a_text], ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [ag.function, lambda f: jax.jit(ag.convert(f)), ag.convert])
def test_a_print_without_text_is_in_the_order_of_the_others(f, transform, capsys):
    f(3)
    wanted = capsys.readouterr().out
    run = transform(f)
    for k in range(2):
        run(jnp.asarray(3))
        jax.effects_barrier()
        assert capsys.readouterr().out == ("" if k and f is of_texts_only and transform is not ag.convert else wanted)


def pretty(n):
    pprint.pprint({"b": n, "a": [v for v in (n, n + 1)]})
    for i in range(n):
        pprint.pp({"b": i, "a": (i, 2.5)}, width=5)
    print(pprint.pformat([n, {"k": n * 2}]))


def pretty_of_several_kinds(n):
    found = []
    for i in range(4):
        if i < n:
            found.append(i)
    pprint.pprint({"found": found, "name": "many" if n > 2 else "few", "none": None if n > 2 else 0})


@pytest.mark.parametrize("f", [pretty, pretty_of_several_kinds])
def test_pprint_of_traced_values(f, capsys):
    f(3)
    wanted = capsys.readouterr().out
    run = ag.function(f)
    for _ in range(2):
        run(jnp.asarray(3))
        jax.effects_barrier()
        assert capsys.readouterr().out == wanted
