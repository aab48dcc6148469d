"""As `test_plain_python.py`, for the constructs of `tests/corpus/language`."""

import os
import types

import pytest

from tests.outcomes import same

pytestmark = pytest.mark.skipif(
    os.environ.get("AUTOGRAPH_CORPUS", "all") == "core", reason="run with AUTOGRAPH_CORPUS=language or all"
)


def test_try_except_else_finally_order():
    def f(log, x):
        for i in range(3):
            try:
                log.append(("try", i))
                if i == x:
                    return 1 // (i - 1)
                if i == 2:
                    break
            except ZeroDivisionError:
                log.append("except")
                continue
            else:
                log.append("else")
            finally:
                log.append("finally")
        return "end"

    same(f, (0,), (1,), (2,), (7,))


def test_return_in_finally_wins():
    def f(log, x):
        try:
            if x:
                raise ValueError
            return "try"
        finally:
            if x != 2:
                log.append("finally")
                return "finally"  # noqa: B012

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        same(f, (0,), (1,), (2,))


def test_else_of_a_loop_in_a_function_that_returns_in_finally():
    def f(log, n, x):
        try:
            for k in range(n):
                log.append(k)
            else:
                x += 1
        finally:
            while n > 3:
                n -= 1
                if n == 5:
                    break
            else:
                x -= 10
            while n:
                n -= 1
            else:
                for k in range(2):
                    x *= 2
                else:
                    log.append("else")
            return x  # noqa: B012

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        same(f, (0, 1.0), (2, 1.0), (4, 1.0), (7, 1.0))


def test_loop_else():
    def f(log, items):
        for item in items:
            if item < 0:
                break
        else:
            log.append("no break")
        while items:
            if items.pop() == 0:
                return "zero"
        else:
            log.append("empty")
        return "end"

    same(f, lambda: ([1, 2],), lambda: ([1, -2],), lambda: ([0, 2],), lambda: ([],))


def test_generator_function_is_lazy():
    def f(log, n):
        def numbers():
            for i in range(n):
                log.append(("made", i))
                if i != 1:
                    sent = yield i
                    log.append(sent)

        generator = numbers()
        log.append("nothing yet")
        return [next(generator), generator.send("hello")]

    same(f, (4,), (1,))


def test_with_that_swallows():
    class Swallow:
        def __init__(self, log):
            self.log = log

        def __enter__(self):
            self.log.append("enter")

        def __exit__(self, kind, value, trace):
            self.log.append(kind)
            return kind is KeyError

    def f(log, x):
        with Swallow(log):
            if x == 0:
                return "returned"
            raise KeyError(x) if x == 1 else ValueError(x)
        return "swallowed"

    same(f, (0,), (1,), (2,))


def test_comprehension_scopes():
    def f(log, x):
        y = [x for x in range(x)]
        z = {x: [w for w in y if w < x] for x in y}
        if x:
            log.append(next((w for w in y if w > 1), None))
        return x, y, z

    same(f, (4,), (0,))


def test_match_statement():
    def f(log, command):
        match command:
            case ["go", direction] if direction != "up":
                return direction
            case {"key": value, **rest}:
                log.append(rest)
                return value
            case int() | float() as number:
                return number
        return "none"

    same(f, (["go", "left"],), (["go", "up"],), ({"key": 1, "b": 2},), (3,), ("x",))


def test_a_parenthesized_annotation_makes_no_local_variable():
    def f(log, x):
        (later): int
        log.append(later)  # noqa: F821

    def g(log, x):
        (y): int
        if x > 1:
            y = 3
        log.append(y)

    same(f, ([], 1))
    same(g, ([], 2), ([], 0))


def test_generators_that_are_marked_as_coroutines():
    def f(log, x):
        @types.coroutine
        def pause():
            yield x

        @types.coroutine
        def result():
            return (yield from final())

        async def final():
            await pause()
            return 2 * x

        running = result()
        log.append((type(running).__name__, running.send(None)))
        try:
            running.send(None)
        except StopIteration as done:
            return done.value

    same(f, lambda: ([], 3))
