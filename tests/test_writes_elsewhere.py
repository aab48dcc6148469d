"""Writes to objects inside staged statements, whoever makes them: carried with Python's result, or refused."""

import collections
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag


class Counter:
    def __init__(self, count=0):
        self.count = count

    def bump(self, by=1):
        self.count += by

    @property
    def doubled(self):
        return self.count * 2

    @doubled.setter
    def doubled(self, value):
        self.count = value / 2


def staged_like_python(function, *arguments):
    """The staged result must be plain Python's."""
    expected = function(*arguments)
    staged = jax.jit(ag.convert(function))(*arguments)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), expected, staged)
    return expected


def test_attribute_written_by_a_method_in_a_loop():
    def f(n):
        c = Counter()
        i = 0
        while i < n:
            c.bump()
            i += 1
        return c.count

    for n in (0, 1, 7):
        staged_like_python(f, n)


class Tally:
    total = 0

    def add(self, by):
        self.total += by
        return self


def test_attribute_that_the_class_gives_a_default():
    def f(n):
        tally, other = Tally(), Tally()
        for i in range(n):
            tally.add(i).add(1)
            if i > 2:
                other.add(tally.total)
        return tally.total, other.total, Tally.total

    for n in (0, 3, 7):
        staged_like_python(f, n)


def test_attribute_of_the_class_itself():
    class Shared(Tally):
        pass

    def f(n):
        while Shared.total < n:
            Shared.total += 2
        found, Shared.total = Shared.total, 0  # what a trace leaves in a class that outlives it is refused
        return found

    assert int(jax.jit(ag.convert(f))(5)) == 6


def test_attribute_written_in_one_branch():
    def f(x):
        c = Counter(10)
        if x > 0:
            c.bump(5)
        return c.count

    staged_like_python(f, 1.0)
    staged_like_python(f, -1.0)


def test_mutation_in_the_branch_not_taken():
    def f(x):
        c = Counter(1)
        if x > 0:
            c.count = 100
        else:
            c.count = c.count + 1
        return c.count * 2

    staged_like_python(f, 1.0)
    staged_like_python(f, -1.0)


def test_attribute_that_changes_type_in_a_loop():
    def f(xs):
        c = Counter(0)
        for x in xs:
            c.count += x * 0.5
        return c.count

    staged_like_python(f, jnp.arange(4.0))


def test_property_setter():
    def f(x):
        c = Counter(4.0)
        if x > 0:
            c.doubled = x
        return c.count

    staged_like_python(f, 3.0)
    staged_like_python(f, -3.0)


def test_object_made_inside_the_block_is_its_own_affair():
    def f(xs):
        total = 0.0
        for x in xs:
            c = Counter(x)
            c.bump(1.0)
            if x > 1:
                inner = Counter(c)
                inner.count.bump(2.0)
            total += c.count
        return total

    staged_like_python(f, jnp.array([1.0, 2.0, 3.0]))


def test_nonlocal_written_by_a_callee():
    def f(xs):
        n = 0

        def bump(x):
            nonlocal n
            if x > 1:
                n += 1

        for x in xs:
            bump(x)
        return n

    staged_like_python(f, jnp.array([1.0, 2.0, 3.0]))


def counting_from(start):
    count = start

    def up(by):
        nonlocal count
        count = count * 2 + by
        return count

    return up


def test_nonlocal_of_a_function_that_a_block_calls():
    def f(n):
        total = n * 0
        if n > 1:
            total = counting_from(n + 1)(3)
        for k in range(n):
            up = counting_from(total + k)
            total = (total + up(k) * up(1)) % 97
        return total

    for n in (0, 2, 5):
        staged_like_python(f, n)


@pytest.mark.parametrize("n", [-1, 3])
def test_nonlocal_of_a_function_that_a_block_leaves(n):
    def f(n):
        if n > 0:
            up = counting_from(n)
            up(1)
        else:
            up = counting_from(7)
        kept = counting_from(2)
        if n > 2:
            kept(5)
        counters = [up]
        if n > 1:
            counters.append(counting_from(9))
        else:
            counters.append(kept)
        return counters[0](0) * 100 + counters[1](1)

    staged_like_python(f, n)


GLOBAL = 0


def bump_global(by):
    global GLOBAL
    GLOBAL = GLOBAL + by


def test_global_written_by_a_callee():
    def f(n):
        global GLOBAL
        GLOBAL = 0
        i = 0
        while i < n:
            bump_global(2)
            i += 1
        found, GLOBAL = GLOBAL, 0  # what a trace leaves in a global is refused
        return found

    for n in (0, 5):
        staged_like_python(f, n)


def test_list_in_a_dict_on_an_object():
    class Box:
        def __init__(self):
            self.items = [jnp.float32(1.0), jnp.float32(2.0)]
            self.table = {"k": jnp.zeros(3)}

    def f(x):
        box = Box()
        for i in ag.range(3):
            box.items[1] += x
            box.table["k"][i] = x
        if x > 1:
            box.items[0] = x
        return box.items[0], box.items[1], box.table["k"]

    expected = (3.0, 11.0, np.full(3, 3.0))
    jax.tree.map(np.testing.assert_allclose, jax.jit(ag.convert(f))(3.0), expected)


def test_append_in_both_branches():
    def f(x):
        out = []
        if x > 0:
            out.append(x)
        else:
            out.append(-x)
        out.append(1.0)
        return out

    staged_like_python(f, 2.0)
    staged_like_python(f, -2.0)


def test_append_in_one_branch_to_a_list_from_outside_the_trace_is_refused():
    def f(x, out):
        if x > 0:
            out.append(x)
        return out

    with pytest.raises(
        ag.StagingError, match=r"out.append\(x\)\n  The length of a list argument depends on a traced value"
    ):
        jax.jit(lambda x: ag.convert(f)(x, [1.0]))(1.0)


def test_set_and_deque():
    def f(x):
        seen = {1}
        queue = collections.deque([1.0, 2.0], maxlen=2)
        if x > 0:
            seen.add(2)
        else:
            seen.add(2)
        if x > 0:
            queue.append(x)
        else:
            queue.append(0.0)
        return len(seen), list(queue)

    staged_like_python(f, 2.0)

    def g(x):
        seen = {1}
        if x > 0:
            seen.add(2)
        return len(seen)

    for run in (ag.function(g), jax.jit(ag.convert(g))):
        assert [int(run(x)) for x in (1.0, -1.0)] == [2, 1]


def test_state_is_as_before_after_an_error_while_tracing():
    counter = Counter(3)
    items = [1, 2]

    def f(x):
        if x > 0:
            counter.count = x
            items[0] = x
            raise_it()
        return x

    def raise_it():
        return undefined_name  # noqa: F821

    with pytest.raises(ag.StagingError, match="'undefined_name' is not defined"):
        jax.jit(ag.convert(f))(1.0)
    assert counter.count == 3
    assert items == [1, 2]


def test_list_outside_the_function_is_written_once_with_a_warning():
    items = []

    def f(xs):
        for x in xs:
            items.append(x + 1)
        return xs

    with pytest.warns(ag.StagingWarning, match="TensorArray"):
        jax.jit(ag.convert(f))(jnp.array([1, 2, 3]))
    assert len(items) == 1


def test_attribute_set_in_one_branch_only():
    class Empty:
        pass

    def f(x):
        e = Empty()
        if x > 0:
            e.value = x
        return getattr(e, "value", 7.0)

    assert [float(jax.jit(ag.convert(f))(x)) for x in (1.0, -1.0)] == [1.0, 7.0]


def test_dataclass_and_slots():
    @dataclasses.dataclass
    class Point:
        x: float
        y: float

    class Slotted:
        __slots__ = ("v",)

        def __init__(self, v):
            self.v = v

    def f(x):
        p = Point(1.0, 2.0)
        s = Slotted(0.0)
        for i in ag.range(4):
            p.x += i
            if x > 0:
                s.v = s.v + p.x
        del p.y
        return p.x, s.v

    staged_like_python(f, 1.0)


def test_next_in_a_staged_block_is_refused():
    numbers = iter([1.0, 2.0])

    def f(x):
        first = next(numbers)
        if x > 0:
            x = x + next(numbers)
        return x + first

    with pytest.raises(ag.StagingError, match="`next`"):
        jax.jit(ag.convert(f))(1.0)


def test_a_dict_made_and_written_in_a_branch_gives_its_other_values():
    def f(x):
        if x > 0:
            d = {"p": 1.0, "q": x + 1}
            d["p"] += 1
            return d["q"]
        return x

    for x in (2.0, -2.0):
        staged_like_python(f, x)


def test_an_object_made_and_written_in_a_branch_gives_its_other_values():
    def f(x):
        if x > 0:
            c = Counter(x * 3)
            kept = c.count
            c.count = 0.0
            return kept
        return x

    for x in (2.0, -2.0):
        staged_like_python(f, x)


def test_a_dict_that_a_loop_in_a_branch_has_made_anew_is_written_after():
    def f(n, x):
        table = {"p": 1.0, "q": 1}
        if x:
            for _ in range(n):
                table = {**table, "q": 1}
        else:
            return 5
        table["p"] += 0
        return table["q"]

    for n, x in ((2, 1.0), (0, 1.0), (2, 0.0)):
        staged_like_python(f, n, x)
