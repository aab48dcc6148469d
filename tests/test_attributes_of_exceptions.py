"""What exceptions of Python's classes have beside their arguments: of a program that raises them, too."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import autograph as ag


class Busy(BlockingIOError):
    pass


class Undecodable(UnicodeDecodeError):
    pass


class Unencodable(UnicodeEncodeError):
    def __init__(self, *args):
        super().__init__(*args)
        self.extra = 1


def made_by_a_function(x, make):
    e = make()
    if x > 0:
        raise e
    return x


def caught_and_raised_again(x, make):
    e = None
    try:
        if x > 0:
            raise make()
    except (OSError, UnicodeError) as problem:
        e = problem
    if e is not None:
        raise e
    return x


def changed_before_it_is_raised(x, make):
    e = make()
    if isinstance(e, OSError):
        e.filename, e.errno = "other.txt", 7
    else:
        e.start, e.reason = 2, "other"
    if x > 0:
        raise e
    return x


def written(e):
    e.characters_written = 9
    return e


@pytest.mark.parametrize("program", [made_by_a_function, caught_and_raised_again, changed_before_it_is_raised])
@pytest.mark.parametrize(
    "make",
    [
        lambda: Busy(11, "busy", "file.txt"),
        lambda: written(Busy(11, "busy")),
        lambda: BlockingIOError(11, "busy", 5),
        lambda: FileNotFoundError(2, "none", "one.txt", None, "other.txt"),
        lambda: Undecodable("utf8", b"abc", 0, 1, "why"),
        lambda: Unencodable("ascii", "abc", 0, 1, "why"),
    ],
)
def test_what_exceptions_have_beside_their_arguments(program, make):
    names = (
        "errno",
        "strerror",
        "filename",
        "filename2",
        "characters_written",
        "encoding",
        "object",
        "start",
        "reason",
    )

    def held(function, x):
        with pytest.raises((OSError, UnicodeError)) as caught:
            function(x, make)
        error = caught.value
        return type(error), error.args, str(error), vars(error), [getattr(error, name, None) for name in names]

    compiled = ag.function(program)
    assert held(compiled, jnp.float32(1.0)) == held(program, 1.0)
    assert float(compiled(jnp.float32(-1.0), make)) == -1
