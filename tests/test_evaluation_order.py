"""What runs before what, and which write survives: programs that a fuzzer found wrong."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged


class Box:
    def __init__(self, a):
        self.a = a


def old_value_is_read_first():
    box, items = Box(1), [1, 2]

    def bump():
        box.a += 10
        items[0] += 10
        return 1

    box.a += bump()
    items[0] += bump()
    return box.a, items


def nonlocal_before_a_return(x, c):
    def add(d):
        nonlocal x
        if c:
            x = 1.0
        else:
            return d
        return -d

    add(x)
    return x


def captured_before_a_return(n, x):
    def add(d):
        nonlocal x
        x, d = (1.5, 0.0)  # noqa: F841

    if x:
        return n
    else:
        x += 3
    add(0)
    return x


def closure_write_in_an_inner_if(n, c):
    i = 0

    def add():
        nonlocal i
        i -= 1

    if n > 0:  # noqa: SIM102
        if c > 0:
            add()
    return i


def closure_write_in_an_inner_loop(n, _):
    i = 0

    def add():
        nonlocal i
        i += 1

    for _ in range(n):
        for _ in range(n):
            add()
    return i


def dict_dead_after_the_outer_if(n, x):
    table = {"p": x}
    if n > 0:
        if x > 1:
            table["p"] -= x
        table["p"] += 0.5
    return x


def value_before_an_index_that_writes(n, x):
    y = x
    items = [0.0, 0.0, 0.0]
    table = {"a": [0.0, 0.0, 0.0]}
    mask = np.zeros(3)

    def place(k):
        nonlocal y
        y += 1
        return k % 3

    items[place(n)] = y * 2
    items[place(n + 1)] = y
    table["a"][place(n)] = y if n > 0 else -y
    mask[mask < place(1)] = y and y
    mask[place(2)] += y
    return items[0], items[1], items[2], table["a"][0], table["a"][1], table["a"][2], mask[0], mask[2], y


@pytest.mark.parametrize(
    "function, arguments",
    [
        (nonlocal_before_a_return, [(-2.75, True), (-2.75, False)]),
        (captured_before_a_return, [(2.0, 1.0), (2.0, 0.0)]),
        (value_before_an_index_that_writes, [(1, 2.0), (0, 3.0)]),
        (closure_write_in_an_inner_if, [(1, 1), (1, 0), (0, 1)]),
        (closure_write_in_an_inner_loop, [(3, 0), (0, 0)]),
        (dict_dead_after_the_outer_if, [(1, 2.0), (1, 0.0), (0, 2.0)]),
    ],
)
def test_like_plain_python(function, arguments):
    compiled = ag.function(function)
    for example in arguments:
        expected = function(*example)
        np.testing.assert_allclose(staged.jitted(function)(*example), expected)
        np.testing.assert_allclose(compiled(*map(jnp.asarray, example)), expected)


def test_old_value_is_read_first():
    assert ag.convert(old_value_is_read_first)() == old_value_is_read_first()


def test_assert_false_under_a_traced_condition():
    @ag.function
    def f(x):
        if x == 3:
            assert False, "three"  # noqa: B011
        return x

    assert float(f(jnp.float32(1.0))) == 1.0
    with pytest.raises(AssertionError, match="three"):
        f(jnp.float32(3.0))


def test_first_of_two_raises():
    @ag.function
    def f(n):
        if n > 0:
            raise KeyError("first")
        raise ValueError("second")

    with pytest.raises(KeyError, match="first"):
        f(jnp.array(1))
    with pytest.raises(ValueError, match="second"):
        f(jnp.array(0))


class Source:
    def __init__(self, left):
        self.left = left

    def next(self, step):
        step -= 3
        self.left, step = step, self.left
        return step


def loop_test_writes_in_a_method(n):
    source, rounds = Source(n), 0
    while source.next(3):
        rounds += 1
    return rounds, source.left


def loop_test_writes_a_nonlocal_of_its_callee(n):
    count, total = 0, 0

    def below(limit):
        nonlocal count
        count += 1
        return count < limit

    while below(n):
        total += count
    return count, total


def index_is_evaluated_before_the_value(n):
    box, items = Box(n), jnp.array([1, 2, 3, 4])

    def bump():
        box.a += 1
        return box.a

    items[box.a % 3] += bump()
    items[[box.a % 3, 3]] -= bump()
    return items


def raise_ends_a_block_that_would_return(n):
    for i in range(2):
        if n == i:
            raise ValueError("found")
            return i
    return n


@pytest.mark.parametrize("n", [-2, 0, 1, 4])
@pytest.mark.parametrize(
    "program",
    [
        loop_test_writes_in_a_method,
        loop_test_writes_a_nonlocal_of_its_callee,
        raise_ends_a_block_that_would_return,
    ],
)
def test_run_time_agrees(program, n):
    try:
        wanted = program(n)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            staged.function(program)(jnp.array(n))
        return
    assert jax.tree.map(int, staged.function(program)(jnp.array(n))) == wanted


@pytest.mark.parametrize("n", [1, 2])
def test_an_index_is_evaluated_before_the_value(n):
    wanted = np.array([1, 2, 3, 4])
    wanted[n % 3] += n + 1
    wanted[[(n + 1) % 3, 3]] -= n + 2
    np.testing.assert_array_equal(jax.jit(ag.convert(index_is_evaluated_before_the_value))(n), wanted)
    np.testing.assert_array_equal(ag.convert(index_is_evaluated_before_the_value)(n), wanted)


class Meter:
    def __init__(self):
        self.n, self.items, self.keys = 0.0, [0.0, 1.0], {"n": 0.0}

    @property
    def tick(self):
        self.n += 1
        self.items[0] += 1
        self.keys["n"] += 1
        return self.n

    def __add__(self, other):
        self.n += other
        return self.n

    def __getitem__(self, key):
        self.n -= key
        return self.n


def property_on_the_right(meter, xs):
    for x in xs:
        meter.n += meter.tick * x
    return meter.n


def property_on_the_right_of_an_item(meter, xs):
    for x in xs:
        if x > 1:
            meter.items[0] += meter.tick
            meter.keys["n"] -= meter.tick * x
    return meter.items[0] + meter.keys["n"]


def operators_on_the_right(meter, xs):
    for x in xs:
        meter.n += meter + x
        meter.n -= meter[x]
    return meter.n


@pytest.mark.parametrize("program", [property_on_the_right, property_on_the_right_of_an_item, operators_on_the_right])
def test_the_old_value_is_read_before_what_a_class_does_on_the_right(program):
    def run(xs):
        return program(Meter(), xs)

    xs = np.array([1.0, 5.0, 2.0], np.float32)
    for call in (ag.function(run), jax.jit(ag.convert(run))):
        for given in (xs, xs[::-1] - 3):
            assert float(call(jnp.asarray(given))) == float(run(given))


# In a `try`, where a call may raise.


class Account:
    def __init__(self):
        self.held = 1
        self.log = [5, 6]

    def double(self, _=0):
        self.held *= 2
        self.log[0] += 10
        return self.held


account_of_module = Account()
doubled = 1


def double_global():
    global doubled
    doubled *= 2
    return doubled


def attribute_before_a_method():
    account = Account()
    return account.held - account.double()


def named_arguments():
    account = Account()
    return dict(b=account.held, a=account.double(), c=account.held)


def items_before_a_method():
    account = Account()
    return account.log[0] + account.double() + account.log[0]


def nonlocal_before_a_call():
    held = 1

    def double():
        nonlocal held
        held *= 2
        return held

    return (held - double(), held, double(), [held, double(), held])


def global_before_a_call():
    global doubled
    doubled = 1
    found = doubled - double_global(), doubled
    doubled = 1
    return found


def nonlocal_added_to():
    held = 1

    def double(_=0):
        nonlocal held
        held *= 2
        return held

    held -= double()
    first = held
    held += 3 + double(double())
    return first, held


def global_added_to():
    global doubled
    doubled = 1
    doubled -= double_global()
    doubled += 1 - double_global()
    found = doubled
    doubled = 1
    return found


def attribute_added_to():
    account = Account()
    account.held -= account.double()
    account.held += 1 + account.double(account.double())
    account.log[0] -= 1 + account.double(account.double())
    account.log[account.double() % 2] += 1 - account.double(account.double())
    return account.held, account.log


def local_added_to():
    held, account = 1, Account()
    held -= account.double()
    held += 3 + account.double(account.double())
    return held


@pytest.mark.parametrize(
    "program",
    [
        attribute_before_a_method, named_arguments, items_before_a_method, nonlocal_before_a_call, global_before_a_call,
        nonlocal_added_to, global_added_to, attribute_added_to, local_added_to,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize(
    "wrap", [ag.function, ag.convert, lambda f: jax.jit(ag.convert(f))], ids=["function", "convert", "jit"]
)
def test_what_stands_before_a_call_is_read_before_it_in_a_try(program, wrap):
    def tried(x):
        found = None
        try:
            found = program()
            if x > 5:
                raise ValueError("large")
        except ValueError:
            pass
        return found

    assert jax.tree.map(int, wrap(tried)(jnp.float32(1.0))) == program()


class Link:
    def __init__(self, value, following=None):
        self.value, self.following = value, following


def links_reversed(x):
    """The target `head.following` comes before `head`, and is found by the old one."""
    first = Link(x, Link(x + 1, Link(x + 2)))
    head, last = first, None
    for _ in range(3):
        head.following, last, head = last, head, head.following
    return last.value, last.following.value, first.following is None


def index_rebound_after_its_item(x):
    items, k = [x, x + 1, x + 2], 0
    items[k], k = 9.0, 2
    k, items[k] = 1, 8.0
    (items[k], (k, items[k])), rest = (7.0, (0, 6.0)), k
    return items, k, rest


def cycle_by_swaps(x):
    order, place = [2, 0, 1, 3], 0
    for _ in range(2):
        order[place], place = place, order[place]
    if x > 0:
        order[place], place = 5, 3
    return order, place


@pytest.mark.parametrize("program", [links_reversed, index_rebound_after_its_item, cycle_by_swaps])
def test_targets_are_stored_in_order(program):
    for x in (1.0, -1.0):
        wanted = program(x)
        for run in (ag.convert(program), staged.function(program), staged.jitted(program)):
            found = run(jnp.float32(x))
            assert list(map(float, jax.tree.leaves(found))) == list(map(float, jax.tree.leaves(wanted)))
