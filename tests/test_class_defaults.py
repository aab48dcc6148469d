"""Attributes that an object has by its class until it is given its own: ``class Ball: bounces = 0``."""

from __future__ import annotations

import copy
import dataclasses
import enum

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Mode(enum.Enum):
    IDLE = 0
    BUSY = 1


class Ball:
    bounces = 3
    mode = Mode.IDLE
    name = "ball"
    hit_by = None
    place = (0.0, 1.0)

    def speed(self):
        return self.bounces * 2.0


class Heavy(Ball):
    bounces = 1


def of_one_of_two(x):
    p, q = Ball(), Ball()
    q.bounces, q.mode, q.name, q.hit_by, q.place = 5, Mode.BUSY, "q", x, (x, 2.0)
    r = p if x > 1 else q
    read = r.bounces, getattr(r, "bounces", 7), hasattr(r, "bounces"), r.speed(), r.mode, r.name, r.place
    return read, r.hit_by is None, r.mode is Mode.BUSY


def at_a_traced_index(x):
    balls = [Ball(), Ball()]
    balls[0].bounces = 9
    return balls[int(x) % 2].bounces, max(balls, key=lambda ball: ball.bounces * x).bounces


def in_one_branch(x):
    p = Ball()
    if x > 1:
        p = Ball()
    else:
        p.bounces = 5
        p.place = (x, x)
    return p.bounces, p.place, Ball.bounces


def of_two_classes(x):
    p = Ball() if x > 1 else Heavy()
    if x < -5:
        p.bounces = 7
    return p.speed(), p.bounces, Heavy.bounces


def written_after_the_choice(x):
    p, q = Ball(), Ball()
    q.bounces = 5
    r = p if x > 1 else q
    r.bounces += 1
    return p.bounces, q.bounces, r.bounces, Ball.bounces


def deleted(x):
    p = Ball()
    p.bounces = 9
    if x > 1:
        del p.bounces
    return p.bounces


PROGRAMS = [of_one_of_two, at_a_traced_index, in_one_branch, of_two_classes, written_after_the_choice, deleted]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_path_without_the_attribute_has_that_of_the_class(program):
    compiled = ag.function(program)
    for x in (2.0, 0.0, -7.0, 1.0):
        assert compiled(jnp.float32(x)) == program(x), x


@dataclasses.dataclass
class Weight:
    w: float
    b: float = 0.0


def made_again(x, n):
    p = Weight(x)
    for _ in range(n):
        old = Weight(p.w, p.b)
        p.b -= 1.0
        if x > 1:
            p = old
    return p.b, p


def copied(x, n):
    p = Weight(x)
    for _ in range(n):
        old = copy.copy(p)
        p.b -= 1.0
        if x > 1:
            p = dataclasses.replace(old, w=old.w + 1)
    return p.b, p.w


def counted(x, n):
    ball = Ball()
    for k in range(n):
        if k > x:
            ball.bounces += k
            ball.place = ball.place[1], ball.place[0] + k
    return ball.bounces, ball.place, Ball.bounces, Ball.place


def the_best(x, n):
    best = None
    for k in range(n):
        ball = Ball()
        if k > 1:
            ball.bounces = k * 2
        if best is None or ball.bounces > best.bounces + x:
            best = ball
    return -1 if best is None else best.bounces


@pytest.mark.parametrize("program", [made_again, copied, counted, the_best])
def test_in_loops(program):
    compiled = ag.function(program)
    for x, n in ((0.0, 2), (2.0, 3), (0.0, 0), (1.0, 5)):
        assert compiled(jnp.float32(x), jnp.int32(n)) == program(x, n), (x, n)


def test_under_jit_vmap_and_grad():
    def f(x):
        p, q = Weight(x), Weight(x, x * x)
        r = p if x > 1 else q
        return r.w + r.b

    xs = jnp.array([2.0, 0.5])
    assert jax.jit(ag.convert(f))(xs[0]) == f(2.0)
    assert jax.vmap(ag.convert(f))(xs).tolist() == [f(2.0), f(0.5)]
    assert [jax.grad(ag.function(f))(x) for x in xs] == [1.0, 2.0]


class Shelf:
    books = []  # noqa: RUF012  one list for all shelves


def test_a_list_of_the_class_is_not_made_again():
    def of_two_from_before(x):
        p, q = Shelf(), Shelf()
        q.books = [x]
        r = p if x > 1 else q
        return len(r.books)

    def made_in_a_branch(x):
        p = Shelf()
        if x > 1:
            p = Shelf()
            p.books = [x]
        return len(p.books)

    assert [ag.function(of_two_from_before)(jnp.float32(x)) for x in (1, 2)] == [1, 0]
    with pytest.raises(ag.StagingError, match="'p'"):
        ag.function(made_in_a_branch)(jnp.float32(1))


def test_a_method_that_one_path_replaces():
    def f(x):
        ball = Ball()
        if x > 1:
            ball.speed = lambda: x
        return ball.speed()

    assert [float(ag.function(f)(jnp.float32(x))) for x in (1, 7)] == [6.0, 7.0]
