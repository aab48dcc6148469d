"""Variables that only some paths bind to an object, one from before or a new one: read where they are bound, and raising where not."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Disc:
    __match_args__ = ("radius",)

    def __init__(self, radius):
        self.radius = radius


def of_one_object(n):
    disc = Disc(1)
    for k in ag.range(n):
        if k >= 0:
            found = disc
    disc.radius = 7
    return found.radius


def of_two_loops(n):
    disc = Disc(1)
    for k in ag.range(n):
        if n > k:
            found = disc
    disc = Disc(2)
    for k in ag.range(n):
        if n > 3 + k:
            found = disc
    return n + found.radius


def of_loops_in_a_loop(n):
    total = n
    for k in range(2):
        disc = Disc(k + 1)
        for _ in ag.range(n):
            for _ in ag.range(n - 1):
                found = disc
                total += found.radius
    return total + found.radius


def of_a_loop_and_a_branch(n):
    first, second = Disc(1), Disc(5)
    if n > 1:
        found = first
    for k in ag.range(n):
        if k > 2:
            found = second
    found.radius += 1
    return first.radius, second.radius


def of_a_pair(n):
    disc, other = Disc(1), Disc(2)
    for k in ag.range(n):
        pair = (disc, k)
    for k in ag.range(n):
        if k > 2:
            pair = (other, k)
    return pair[0].radius + pair[1]


def of_a_class_without_attributes(n):
    class Nothing:
        pass

    for _ in ag.range(n):
        found = Nothing()
    return n if found is not None else 0


@pytest.mark.parametrize(
    "program",
    [of_one_object, of_two_loops, of_loops_in_a_loop, of_a_loop_and_a_branch, of_a_pair, of_a_class_without_attributes],
)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_objects_from_before_that_only_iterations_bind(program, n):
    try:
        wanted = program(n)
    except UnboundLocalError as error:
        with pytest.raises(UnboundLocalError) as caught:
            ag.function(program)(jnp.asarray(n))
        assert str(caught.value) == str(error)
    else:
        assert jax.tree.map(int, ag.function(program)(jnp.asarray(n))) == wanted


def test_patterns_of_classes_in_nested_loops():
    def program(n):
        for _ in range(2):
            disc = Disc(1)
            total = n % 3
            for k in range(72):
                for _ in range(k % 3):
                    match disc:
                        case Disc(radius):
                            total += radius
        return total

    assert int(jax.jit(ag.convert(program))(jnp.asarray(5))) == program(5)
