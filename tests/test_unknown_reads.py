"""Reads of what a write may have changed: refused with the line of the write, whatever the read asks for."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged
from tests.aliasing import Box

READS = []


def read(function):
    READS.append(function)
    return function


@read
def isinst_of_unknown(n):
    a = [0, 1]
    b = a
    for i in range(n):
        if i == 1:
            a = [i, i]
        a[0] += 1
    return 1 if isinstance(b[0], int) else 2


@read
def none_of_unknown(n):
    a = [0, 1]
    b = a
    for i in range(n):
        if i == 1:
            a = [i, i]
        a[0] += 1
    return 1 if b[0] is None else 2


@read
def len_of_unknown(n):
    a = []
    b = a
    for i in range(n):
        if i == 1:
            a = [i]
        a.append(i)
    return len(b)


@read
def truth_of_unknown(n):
    a = []
    b = a
    for i in range(n):
        if i == 1:
            a = [i]
        a.append(i)
    if b:
        return 1
    return 2


@read
def sum_of_unknown(n):
    a = [0.0, 1.0]
    b = a
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
    return sum(b)


@read
def array_of_unknown(n):
    a = [0.0, 1.0]
    b = a
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
    return jnp.array(b) * 2


@read
def stored_unknown(n):
    a = [0.0, 1.0]
    b = a
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
    box = Box(v=b[0])
    t = (b, 1)
    return t[0][1], box.v


@read
def unknown_in_branch(n):
    a = [0.0, 1.0]
    b = a
    if n > 0:
        for i in range(n):
            if i == 1:
                a = [2.0, 3.0]
            a[0] += 1
    return b[0]


@read
def unknown_then_branch_reads(n):
    a = [0.0, 1.0]
    b = a
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
    y = 0.0
    if n > 1:
        y = b[0]
    return y


@read
def unknown_overwritten(n):
    a = [0.0, 1.0]
    b = a
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
    b[0] = 7.0
    b[1] = 8.0
    return b, a


@read
def fstring_unknown(n):
    a = [0.0, 1.0]
    b = a
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
    return len(f"{b[0]}")


@read
def outer_loop_reads(n):
    a = [0.0, 1.0]
    b = a
    s = 0.0
    for k in range(3):
        s += b[0]
        for i in range(n):
            if i == 1:
                a = [2.0, 3.0]
            a[0] += 1
    return s


@read
def outer_staged_loop_reads(n):
    a = [0.0, 1.0]
    b = a
    s = 0.0
    for k in range(n):
        s += b[0]
        for i in range(n):
            if i == 1:
                a = [2.0, 3.0]
            a[0] += 1
    return s


@read
def closure_reads_in_body(n):
    a = [0.0, 1.0]
    get = (lambda b: lambda: b[0])(a)
    s = 0.0
    for i in range(n):
        if i == 1:
            a = [2.0, 3.0]
        a[0] += 1
        s += get()
    return s


@read
def nested_ifs(n):
    a = [0, 1]
    b = [5, 6]
    d = [7, 8]
    if n > 0:
        c = a if n > 1 else b
        c[0] = 9
    else:
        c = d
    c[1] = 4
    return a, b, c, d


@read
def choice_escapes_inner_read(n):
    a = [0, 1]
    b = [5, 6]
    d = [7, 8]
    if n > 0:
        if n > 1:
            c = a
        else:
            c = b
    else:
        c = d
    c[1] = 4
    return c, a


@read
def choice_across_iterations(n):
    a = [0, 1]
    b = [5, 6]
    c = a
    for i in range(n):
        c[0] += 1
        if i == 1:
            c = b
    return a, b, c


def dict_key_added(n):
    a = {"x": 1}
    b = {"x": 2}
    c = a if n > 1 else b
    c["y"] = 5
    return len(a), len(b), c["y"]


def attr_added(n):
    a = Box(v=1)
    b = Box(v=2)
    c = a if n > 1 else b
    c.z = 5
    return hasattr(a, "z"), c.z


def attr_added_read(n):
    a = Box(v=1)
    b = Box(v=2)
    c = a if n > 1 else b
    c.z = 5
    return a.z if n > 1 else 0


@pytest.mark.parametrize("program", [attr_added, attr_added_read])
@pytest.mark.parametrize("n", [0, 2])
def test_an_attribute_that_one_of_several_objects_has_got(program, n):
    assert jax.tree.map(int, staged.function(program)(jnp.asarray(n))) == jax.tree.map(int, program(n))


def refused(program, made):
    with pytest.raises(
        ag.StagingError, match=r"test_unknown_reads.py:\d+: .*\n  This writes .* a traced condition selected"
    ):
        made(jnp.asarray(2))
    assert jax.tree.leaves(program(2)) is not None


@pytest.mark.parametrize("program", READS, ids=lambda program: program.__name__)
def test_a_read_of_what_a_write_may_have_changed_is_refused(program):
    refused(program, ag.function(program))


def extend_param(n):
    def f(c):
        c.append(3)

    a = [0, 1]
    b = [5, 6]
    f(a if n > 1 else b)
    return a, b


@pytest.mark.parametrize("n", [0, 5])
def test_a_list_that_a_function_lengthens_is_read_exactly(n):
    assert ag.function(extend_param)(jnp.asarray(n)) == extend_param(n)


@pytest.mark.parametrize("program", [sum_of_unknown, stored_unknown, outer_staged_loop_reads, attr_added_read])
def test_it_is_refused_under_jit(program):
    refused(program, jax.jit(ag.convert(program)))


@pytest.mark.parametrize("n", [2, 0])
def test_a_key_added_to_one_of_two_dicts(n):
    assert ag.function(dict_key_added)(jnp.asarray(n)) == dict_key_added(n)
