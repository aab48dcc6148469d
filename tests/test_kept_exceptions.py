"""Exceptions that variables, attributes and lists keep: one of several, and raised or read after the statement that has caught them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


class AppError(Exception):
    def __init__(self, code, detail="none"):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class NotFound(AppError):
    pass


class Result:
    def __init__(self, value=None, error=None):
        self.value, self.error = value, error

    def unwrap(self):
        if self.error is not None:
            raise self.error
        return self.value


def last_attempt(xs):
    error = None
    for i in range(3):
        try:
            if xs[i] < 0:
                raise ValueError(f"attempt {i}")
            if xs[i] == 0:
                raise KeyError("zero", i)
            return xs[i] * 2
        except (ValueError, KeyError) as e:
            error = e
    raise error


def texts_of_one(xs):
    first = None
    try:
        if xs[0] < 0:
            raise ValueError("negative")
        if xs[0] > 10:
            raise ValueError(f"{xs[0]} is large")
    except ValueError as e:
        first = e
    return "fine" if first is None else str(first), repr(first), first is None, isinstance(first, ValueError)


def the_worst(xs):
    found, worst = [], None
    for i, x in enumerate(xs):
        try:
            if x < 0:
                raise NotFound(404)
            if x > 10:
                raise AppError(x, "large")
        except AppError as e:
            found.append((i, e.code))
            if worst is None or e.code > worst.code:
                worst = e
    if worst is not None and worst.code > 500:
        raise worst
    return found, worst.code if worst else 0, str(worst) if worst else "", worst.detail if worst else ""


def divided(a, b):
    try:
        if b == 0:
            raise ZeroDivisionError("by zero")
        if a < 0:
            raise ValueError(a)
        return Result(value=a // b)
    except Exception as e:
        return Result(error=e)


def in_an_attribute(xs):
    found = divided(xs[0], xs[1])
    if found.error is None:
        return found.unwrap()
    return divided(xs[0] + 10, xs[1] + 1).unwrap() + 100


def in_a_dict(xs):
    log = {"n": 0, "last": None}
    for x in xs:
        try:
            if x <= 0:
                raise AssertionError("not positive")
            if x > 9:
                raise OverflowError(x)
            log["n"] += 1
        except (AssertionError, OverflowError) as e:
            log["last"] = e
    last = log["last"]
    return log["n"], None if last is None else (type(last).__name__, last.args)


def in_a_list(xs):
    errors = []
    for x in xs:
        try:
            if x < 0:
                raise ValueError(f"{x} is negative")
            if x > 10:
                raise KeyError("large")
        except (ValueError, KeyError) as e:
            errors.append(e)
    if len(errors) > 1:
        raise errors[-1]
    return [str(each) for each in errors]


def of_branches(xs):
    error = None
    if xs[0] < 0:
        error = ValueError("negative")
    elif xs[0] > 10:
        error = ValueError(f"{xs[0]} is large")
    if error is not None:
        raise error
    return xs[0]


def of_a_class_by_path(xs):
    kind = ValueError if xs[0] > 0 else KeyError
    try:
        raise kind(xs[0])
    except ValueError as e:
        if e.args[0] > 10:
            raise kind("large") from None
        return e.args[0]
    except KeyError as e:
        return str(e)


def with_a_cause(xs):
    error = None
    try:
        try:
            if xs[0] < 0:
                raise KeyError("k")
        except KeyError as e:
            raise ValueError("caused") from e
        if xs[0] > 10:
            raise ValueError("alone")
    except ValueError as e:
        error = e
    if error is None:
        return "none"
    return str(error), error.__cause__ is None, type(error.__cause__).__name__


def texts_of_new_ones(xs):
    one, other = ValueError(xs[0]), RuntimeError(f"n {xs[1]}", 2)
    return str(one), repr(one), f"{other}", repr(other), "%s" % one


def kind_of_text_by_class(xs):
    texts = []
    for i, x in enumerate(xs):
        try:
            if x < 0:
                raise ValueError(i)
            if x > 10:
                raise TypeError("large")
        except Exception as e:
            texts.append(str(e))
    return texts


PROGRAMS = [
    last_attempt,
    texts_of_one,
    the_worst,
    in_an_attribute,
    in_a_dict,
    in_a_list,
    of_branches,
    of_a_class_by_path,
    with_a_cause,
    texts_of_new_ones,
    kind_of_text_by_class,
]
INPUTS = [(3, 2, 1), (-1, -2, -3), (0, 0, 5), (-6, 0, 700), (12, -2, 0), (-20, 3, 30)]


def outcome(f, xs):
    try:
        return jax.tree.map(lambda leaf: leaf.tolist() if hasattr(leaf, "tolist") else leaf, f(xs))
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("f", PROGRAMS)
def test_an_exception_that_is_kept(f):
    function = ag.function(f)
    for xs in INPUTS:
        assert outcome(function, jnp.array(xs)) == outcome(f, [*xs]), xs


def test_under_a_bare_jit_and_vmap():
    def first_text(xs):
        error = None
        for x in xs:
            try:
                if x < 0:
                    raise ValueError(x, 3)
            except ValueError as e:
                error = e
        return 0 if error is None else error.args[0] * error.args[1]

    rows = jnp.array([(3, 2, 1), (-1, 5, -3), (-7, 2, 1)])
    wanted = [first_text([*row]) for row in np.asarray(rows).tolist()]
    assert [int(jax.jit(ag.convert(first_text))(row)) for row in rows] == wanted
    assert jax.vmap(ag.function(first_text))(rows).tolist() == wanted


def test_a_cause_with_traced_values_is_refused():
    def f(x):
        error = None
        try:
            try:
                if x < 0:
                    raise KeyError(x)
            except KeyError as e:
                raise ValueError("caused") from e
        except ValueError as e:
            error = e
        return "none" if error is None else str(error)

    with pytest.raises(ag.StagingError, match="leave 'error' with different types"):
        ag.function(f)(jnp.array(1))


def test_arguments_that_a_branch_assigns():
    def f(x):
        error = ValueError("a", 1)
        if x > 0:
            error.args = ("a", 2)
        return error.args

    for x in (1, -1):
        assert tuple(map(str, ag.function(f)(jnp.array(x)))) == tuple(map(str, f(x)))
