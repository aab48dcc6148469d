"""Tests of which only the truth matters, and tests that bind names: as Python asks them, in its order."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import differences


def monotone_stack(xs):
    stack, dropped = [], 0
    for i in range(xs.shape[0]):
        while stack and xs[stack[-1]] < xs[i]:
            stack.pop()
            dropped += 1
        stack.append(i)
    return dropped


def without_repeats(xs):
    out = []
    for v in xs:
        if out and out[-1] == v:
            continue
        out.append(v)
    return len(out)


def not_of_and(xs):
    out = []
    for v in xs:
        if not (out and out[-1] == v):
            out.append(v)
    return len(out)


def or_of_not(xs):
    out = []
    for v in xs:
        if not out or out[-1] != v:
            out.append(v)
    return len(out)


def conditional_expression(xs):
    out, repeats = [], 0.0
    for v in xs:
        repeats = repeats + (1.0 if out and out[-1] == v else 0.0)
        if v > 1:
            out.append(v)
    return repeats


def or_of_a_list(xs):
    kept = []
    for v in xs:
        if v > 2:
            kept.append(v)
    if kept or xs[0] < -5:
        return 1.0
    return 0.0


def nested_in_a_chain(xs):
    kept = []
    for v in xs:
        if v > 0 and (not kept or (kept and kept[-1] < v)):
            kept.append(v)
    return len(kept)


def in_a_guard(xs):
    kept = []
    for v in xs:
        match len(xs):
            case 5 if kept and kept[-1] == v:
                pass
            case _:
                kept.append(v)
    return len(kept)


def walrus_in_a_while_with_break(xs):
    x, k, n = xs[0], 0, 0
    while k < 4 and (n := n + 1) < x:
        k += 1
        if n > 2:
            break
    return n + k


def walrus_in_a_chain(xs):
    if 0 < (y := xs[0]) < 5:
        return y
    return -y


def walrus_late_in_a_chain(xs):
    x, y = xs[0], 1.0
    if 0 < x < (y := x * 2) < 5:
        return y
    return x + y


def walrus_in_a_lambda(xs):
    choose = lambda a: (b := a + 1) if a > 0 else (b := -a)  # noqa: E731, F841
    return choose(xs[0])


def walrus_used_in_a_lambda(xs):
    choose = lambda a: (b := a + 1) * b if a > 0 else a  # noqa: E731
    return choose(xs[0])


def walrus_after_and_in_a_lambda(xs):
    return list(map(lambda a: a > 0 and (b := a + 1) and b * 2, [xs[0]]))[0] * 1.0


def walrus_of_a_chain_in_a_lambda(xs):
    is_small = lambda v: 0 < (w := v * 2) < w + 1 < 5  # noqa: E731
    return 1.0 if is_small(xs[0]) else 2.0


def walrus_of_a_chain_in_a_comprehension(xs):
    return [y for v in [1.0, 2.0] if 0 < (y := v * 2) < 5][0] + xs[0]


def walrus_in_an_annotated_assignment(xs):
    y = 1.0
    z: object = xs[0] > 2 and (y := xs[0]) > 3
    return y, z


def list_comprehension_of_itself(xs):
    out = []
    if xs[0] > 0:
        out = [q for q in out]  # noqa: C416
    return len(out)


PROGRAMS = [
    monotone_stack,
    without_repeats,
    not_of_and,
    or_of_not,
    conditional_expression,
    or_of_a_list,
    nested_in_a_chain,
    in_a_guard,
    walrus_in_a_while_with_break,
    walrus_in_a_chain,
    walrus_late_in_a_chain,
    walrus_in_a_lambda,
    walrus_used_in_a_lambda,
    walrus_after_and_in_a_lambda,
    walrus_of_a_chain_in_a_lambda,
    walrus_of_a_chain_in_a_comprehension,
    walrus_in_an_annotated_assignment,
    list_comprehension_of_itself,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_agrees_with_python(program):
    staged = ag.function(program)
    for values in ([1.0, 1.0, 2.0, 2.0, 1.0], [4.0, 3.0, 5.0, 5.0, 7.0], [-6.0, -7.0, -7.0, 0.0, 1.5]):
        xs = jnp.array(values)
        assert not list(differences(program(xs), staged(xs), widens=True)), values


def test_empty_list_in_an_assertion():
    @ag.function
    def f(xs):
        kept = []
        for v in xs:
            if v > 0:
                kept.append(v)
        if not (kept and kept[0] > 0):
            raise ValueError("empty")
        return kept[0]

    assert float(f(jnp.array([-1.0, 2.0]))) == 2.0
    with pytest.raises(ValueError, match="empty"):
        f(jnp.array([-1.0, -2.0]))


def test_value_of_and_stays_pythons():
    def f(x, y):
        return x and y, x or y

    compiled = ag.function(f)
    for x in (0.0, 2.0):
        assert [float(v) for v in compiled(jnp.float32(x), jnp.float32(3.0))] == list(f(x, 3.0))


def test_a_known_operand_decides_after_a_traced_one():
    def f(x):
        pair, total = [x, 2 * x], 0
        for i in range(4):
            if x < 0 or i >= 2:
                total += i
                continue
            if x > 5 and i == 7:
                raise ValueError(i)
            total += pair[i]
        return total

    compiled = jax.jit(ag.convert(f))  # which cannot raise the IndexError of what is not reached
    for x in (3, 7, -1):
        assert int(compiled(jnp.int32(x))) == f(x)


def test_walrus_where_no_function_can_stand_is_refused():
    @ag.function
    def f(x):
        return (lambda a: (a > 0 and (b := a + 1) > 2, b := 0, b))(x)[0]

    with pytest.raises(ag.StagingError, match=r"binds a name \(`:=`\).*\n.*separate statement"):
        f(jnp.float32(1.0))


def test_complex_numbers_in_a_branch_of_a_loop():
    def f(x):
        d = 1.0 + 0j
        while x > 0:
            if x > 2:
                d *= 1j
            x = x - 1
        return d

    compiled = ag.function(f)
    for x in (0.5, 4.0):
        assert complex(compiled(jnp.float32(x))) == f(x)


def test_nonlocal_of_a_variable_made_after_an_early_return():
    def f(xs):
        if xs[0] > 3:
            return xs[0]
        best = xs[0] * 1

        def update(v):
            nonlocal best
            if v > best:
                best = v

        for v in xs:
            update(v)
        return best

    compiled = ag.function(f)
    for values in ([1.0, 2.0, 1.5], [5.0, 2.0, 7.0]):
        assert float(compiled(jnp.array(values))) == float(f(jnp.array(values)))
