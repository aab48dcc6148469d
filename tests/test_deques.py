"""``collections.deque`` as a queue, a window, or a list with two ends."""

import collections

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled, differences
from tests.deque_programs import PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_like_plain_python(program):
    agrees_when_compiled(*program)


def test_deques_keep_their_kind():
    def f(n):
        window, rest = collections.deque(maxlen=3), collections.deque([0.0])
        while n > 0:
            window.append(n)
            rest.appendleft(n * 0.5)
            n = n - 1
        return window, rest, isinstance(window, collections.deque), isinstance(window, list), window.maxlen

    compiled = ag.function(f)
    for n in (0, 2, 80):
        window, rest, is_deque, is_list, maxlen = compiled(jnp.array(n))
        wanted = f(n)
        assert type(window) is collections.deque and window.maxlen == maxlen == 3 and is_deque and not is_list
        assert list(map(float, window)) == list(wanted[0]) and list(map(float, rest)) == list(wanted[1])


def test_deques_that_keep_different_numbers_of_items_are_not_selected():
    def program(xs, n):
        window, longer = collections.deque(maxlen=2), collections.deque(maxlen=3)
        for x in xs:
            window.append(x)
            longer.append(x)
        if n > 0:
            window = longer
        return len(window)

    expected = r"(?s)if n > 0:.*'window'.*deque\(\[int32\[\], …\], maxlen=3\).*deque\(\[int32\[\], …\], maxlen=2\)"
    with pytest.raises(ag.StagingError, match=expected):
        ag.function(program)(jnp.arange(4), jnp.array(1))


def test_window_of_a_deque_needs_no_room_beyond_its_maxlen():
    def f(n):
        window, best = collections.deque(maxlen=4), 0
        while n > 0:
            window.append(n % 7)
            best = max(best, sum(window))
            n = n - 1
        return best

    assert int(jax.jit(ag.convert(f))(jnp.array(100))) == f(100)
    assert jax.vmap(ag.convert(f))(jnp.array([3, 50])).tolist() == [f(3), f(50)]


def test_popping_an_empty_deque_raises_at_run_time():
    def f(n):
        queue = collections.deque([n])
        while n > 0:
            queue.popleft()
            n = n - 1
        return len(queue)

    assert int(ag.function(f)(jnp.array(1))) == 0
    with pytest.raises(IndexError, match="pop from an empty deque"):
        ag.function(f)(jnp.array(2))


def test_methods_of_deques_of_known_length():
    def f(x):
        d = collections.deque([x, x + 1, x + 2], 4)
        d.extendleft([x + 3, x + 4])
        d.rotate(2)
        d.insert(1, d.pop())
        d.remove(x + 4)
        e = d.copy()
        e.reverse()
        e += [x]
        return d, e, d == e, d == collections.deque(d), d.count(x), list(d), x in d, len(d)

    wanted = f(1.0)
    found = ag.function(f)(jnp.float32(1.0))
    assert [list(map(float, each)) for each in found[:2]] == [list(each) for each in wanted[:2]]
    assert list(map(float, found[5])) == wanted[5]
    assert [found[0].maxlen, found[1].maxlen, int(found[4]), bool(found[6]), found[7]] == [
        4,
        4,
        *wanted[4:5],
        *wanted[6:],
    ]


def test_what_is_made_of_a_deque_is_a_list():
    def f(n):
        queue = collections.deque()
        while n > 0:
            queue.append(n % 5)
            n = n - 1
        return list(queue), sorted(queue), max(queue), 3 in queue

    found = ag.function(f)(jnp.array(9))
    assert list(differences(f(9), found, widens=True)) == []
