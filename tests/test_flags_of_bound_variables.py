"""What only some paths bind or set, read where a test or a flag says that they were taken, under a `jax.jit` that cannot raise."""

import jax
import jax.numpy as jnp
import pytest

import autograph as ag


class Widget:
    def __init__(self, size):
        if size > 2:
            raise ValueError("too large")
        self.size = size


class Bare:
    pass


def same_test(c, x):
    if c:
        y = x * 2
    x = x + 1
    if c:
        return y + x
    return x


def opposite_test(c, x):
    if c:
        y = x * 2
    if not c:
        return x
    return y


def same_test_of_an_attribute(c, x):
    w = Bare()
    if c:
        w.v = x
    x = x + 1
    if c:
        x += w.v
    return x


def same_test_in_a_loop(c, x):
    if c:
        w = Bare()
        w.v = x
    for _ in ag.range(3):
        if c:
            x += w.v
    return x


def flag(c, x):
    if c and x > 2:
        y = x
        is_found = True
    else:
        is_found = False
    x = x + 1
    return y if is_found else x


def flag_of_a_key(c, x):
    w = {}
    if x > 2:
        is_large = True
    else:
        w["d"] = x
        is_large = False
    if is_large:
        return -1
    return w["d"]


def flag_of_a_try(c, x):
    is_done = False
    try:
        if x > 2:
            raise ValueError
        y = x
        is_done = True
    except ValueError:
        pass
    if is_done:
        return y
    return -1


def none_or_unbound(c, x):
    z = None
    if c:
        y = z = x
    if z is not None:
        return y + z
    return x


def constructor(c, x):
    try:
        w = Widget(x)
    except ValueError:
        return -1
    return w.size


def constructor_and_use(c, x):
    try:
        w = Widget(x)
        y = w.size + 1
    except ValueError:
        return -1
    else:
        return y + w.size


def constructor_again(c, x):
    try:
        w = Widget(x)
    except ValueError:
        w = Widget(0)
    return w.size


def constructor_or_none(c, x):
    try:
        w = Widget(x)
    except ValueError:
        w = None
    if w is None:
        return -1
    return w.size


def attribute_in_a_try(c, x):
    w = Bare()
    try:
        if x > 2:
            raise ValueError
        w.d = x
    except ValueError:
        return -1
    return w.d


def item_in_a_try(c, x):
    w = {"k": 1}
    try:
        w["k"] = 2
        if x > 2:
            raise ValueError
        w["d"] = x
    except ValueError:
        return -w["k"]
    return w["d"] + w["k"]


def lists_in_a_try(c, x):
    items = [x]
    try:
        items.append(1)
        if x > 2:
            items.append(7)
            raise ValueError
        items.append(2)
    except ValueError:
        return sum(items)
    return items[-1] + len(items)


def first_above(c, x):
    is_found = False
    for k in ag.range(6):
        if 3 * k > x:
            is_found = True
            found = k
            break
    if is_found:
        return found
    return -1


def last_above(c, x):
    is_missing = True
    k = 0
    while k < 6 and c:
        if 3 * k > x:
            is_missing = False
            found = k
        k += 1
    return -1 if is_missing else found


def pair_above(c, x):
    is_found = False
    for i in ag.range(5):
        for j in ag.range(5):
            if i * j > 3 * x:
                is_found = True
                pair = 10 * i + j
                break
        if is_found:
            break
    if is_found:
        return pair
    return -1


def key_above(c, x):
    d = {}
    is_found = False
    for k in ag.range(4):
        if 3 * k > x:
            is_found = True
            d["k"] = k
    return d["k"] if is_found else -1


PROGRAMS = [
    *(same_test, opposite_test, same_test_of_an_attribute, same_test_in_a_loop, flag, flag_of_a_key, flag_of_a_try),
    *(none_or_unbound, constructor, constructor_and_use, constructor_again, constructor_or_none),
    *(attribute_in_a_try, item_in_a_try, lists_in_a_try, first_above, last_above, pair_above, key_above),
]
INPUTS = [(True, 1), (True, 5), (True, 9), (False, 1), (False, 5), (False, 20)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program):
    for run in (jax.jit(ag.convert(program)), ag.function(program)):
        for c, x in INPUTS:
            assert int(run(jnp.array(c), jnp.array(x))) == program(c, x)


@pytest.mark.parametrize("program", [same_test, flag, flag_of_a_try, constructor, attribute_in_a_try])
def test_batches_and_gradients(program):
    converted = ag.convert(program)
    found = jax.vmap(converted)(*(jnp.array(each) for each in zip(*INPUTS, strict=True)))
    assert found.tolist() == [program(c, x) for c, x in INPUTS]
    for c, x in INPUTS:
        slope = (program(c, x + 0.25) - program(c, x - 0.25)) * 2
        assert float(jax.grad(lambda x, c=c: 1.0 * converted(jnp.array(c), x))(float(x))) == slope


def test_a_flag_that_only_some_iterations_set_beside_it_says_nothing():
    def program(x):
        is_found = False
        for k in ag.range(6):
            if 3 * k > x:
                found = k
            if 2 * k > x:
                is_found = True
        return found if is_found else -1

    with pytest.raises(ag.StagingError, match="'found' may be undefined here"):
        jax.jit(ag.convert(program))(jnp.array(1))
    for x in (1, 5, 14, 30):
        assert int(ag.function(program)(jnp.array(x))) == program(x)


def test_another_test_says_nothing():
    def program(c, x):
        if c:
            y = x
        if x > 3:
            return y
        return x

    with pytest.raises(ag.StagingError, match="'y' may be undefined here"):
        jax.jit(ag.convert(program))(jnp.array(True), jnp.array(1))
    with pytest.raises(UnboundLocalError):
        ag.function(program)(jnp.array(False), jnp.array(5))


def test_a_flag_that_is_set_again_says_nothing():
    def program(c, x):
        is_found = False
        if c:
            y = x
            is_found = True
        if x > 3:
            is_found = True
        return y if is_found else x

    with pytest.raises(ag.StagingError, match="'y' may be undefined here"):
        jax.jit(ag.convert(program))(jnp.array(True), jnp.array(1))
    assert int(ag.function(program)(jnp.array(True), jnp.array(5))) == 5
    with pytest.raises(UnboundLocalError):
        ag.function(program)(jnp.array(False), jnp.array(5))
