"""Exceptions that variables, attributes and lists keep: one of several, and raised or read after the statement that has caught them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


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


# Exceptions that are made before they are raised, and others refer to: their handlers are given them.


def made_before(xs):
    error = AppError(xs[0], "early")
    found = 0
    try:
        if xs[0] > 0:
            raise error
    except AppError as e:
        e.detail = f"late {xs[1]}"
        found = 1 if e is error else 2
    return found, error.detail, error.code, str(error)


def written_before_and_after(xs):
    error = ValueError("a")
    error.count = 0
    for x in xs:
        try:
            error.count += 1
            if x > 0:
                error.count += 10
                raise error
            error.count += 100
        except ValueError as e:
            e.count += 1000
    return error.count


def made_in_the_body(xs):
    saved = None
    try:
        for k, x in enumerate(xs):
            if x < 0:
                error = AppError(k)
                saved = error
                if x < -1:
                    error.code += 10
                    raise error
    except AppError as e:
        e.code += 100
        return saved.code, e is saved, e is error
    return 0 if saved is None else saved.code, False, False


def raised_again(xs):
    log = []
    try:
        try:
            if xs[0] > 0:
                raise AppError(xs[0])
        except AppError as e:
            e.detail = "seen"
            e.code = e.code * 2
            saved = e
            raise
        finally:
            log.append("finally")
    except AppError as e:
        return e.code, e.detail, e is saved, str(e), log
    return 0, "", False, "", log


def arguments_assigned(xs):
    try:
        if xs[0] > 0:
            raise ValueError(xs[0])
    except ValueError as e:
        if xs[1] > 0:
            e.args = (xs[0] * 10,)
        return e.args[0], str(e)
    return 0, ""


def one_of_a_list(xs):
    errors = [ValueError("a"), ValueError("b"), KeyError("c")]
    try:
        if xs[0] > 0:
            raise errors[1]
        if xs[1] > 0:
            raise errors[2]
    except Exception as e:
        return errors.index(e), e in errors, e == errors[1]
    return -1, False, False


def until_the_loop_raises(xs):
    error = ValueError("z")
    error.total = 0
    try:
        i = 0
        while i < xs[0]:
            i += 1
            error.total += i
            if i == 2:
                raise error
    except ValueError as e:
        e.total += 1000
    return error.total


def noted(xs):
    error = ValueError("a")
    try:
        if xs[0] > 0:
            error.add_note("late")
            raise error
    except ValueError as e:
        return e.__notes__
    return []


def returned(xs):
    try:
        if xs[0] > 0:
            raise AppError(xs[0], "large")
    except AppError as e:
        return [str(each) for each in [e]], e.args, vars(e)
    return [], (), {}


class Parser:
    def __init__(self, limit):
        self.limit = limit
        self.failure = AppError(0, "limit")
        self.failed = 0

    def check(self, x):
        if x > self.limit:
            self.failure.code = x
            self.failed += 1
            raise self.failure
        return x


def of_an_attribute(xs):
    parser, total = Parser(2), 0
    for x in xs:
        try:
            total += parser.check(x)
        except AppError as e:
            total += 100 * (e is parser.failure) + e.code
    return total, parser.failed, parser.failure.code


def from_one_that_is_kept(xs):
    last = None
    for k in range(3):
        try:
            if xs[k] < 0:
                raise ValueError(f"try {k}")
            if xs[k] > 10:
                raise KeyError(k)
            return xs[k]
        except (ValueError, KeyError) as e:
            last = e
    raise RuntimeError(f"exhausted {xs[0]}") from last


def caught_from_one_that_may_be_none(xs):
    last = None
    for x in xs:
        try:
            if x < -2:
                raise ValueError("low")
            if x > 5:
                raise KeyError("high")
        except (ValueError, KeyError) as e:
            last = e
    try:
        if xs[0] != 3:
            raise AppError(xs[0]) from last
    except AppError as e:
        return e.code, str(e), repr(e.__cause__)
    return 0, "", ""


PROGRAMS = [
    from_one_that_is_kept,
    caught_from_one_that_may_be_none,
    made_before,
    written_before_and_after,
    made_in_the_body,
    raised_again,
    arguments_assigned,
    one_of_a_list,
    until_the_loop_raises,
    noted,
    returned,
    of_an_attribute,
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


def test_an_exception_is_a_result():
    found = ag.function(lambda x: AppError(x, "late"))(jnp.array(3))
    assert type(found) is AppError and found.args == ("3: late",) and (int(found.code), found.detail) == (3, "late")
    found = ag.function(lambda x: [ValueError(x, "a")])(jnp.array(3))[0]
    assert (type(found), int(found.args[0]), found.args[1]) == (ValueError, 3, "a")


def test_writes_of_handlers_under_transforms():
    def f(x):
        error = ValueError("a")
        error.value = x
        try:
            if x > 1:
                raise error
        except ValueError as e:
            e.value = e.value * x
        return error.value

    assert [float(jax.grad(ag.function(f))(x)) for x in (0.5, 3.0)] == [1.0, 6.0]
    assert jax.vmap(ag.function(f))(jnp.array([0.5, 3.0])).tolist() == [0.5, 9.0]


def test_arguments_that_a_branch_assigns():
    def f(x):
        error = ValueError("a", 1)
        if x > 0:
            error.args = ("a", 2)
        return error.args

    for x in (1, -1):
        assert tuple(map(str, staged.function(f)(jnp.array(x)))) == tuple(map(str, f(x)))
