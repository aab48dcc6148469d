"""Dicts whose keys only run time knows: each program is compared with plain Python, the order of the keys included."""

from __future__ import annotations

import functools
from collections import ChainMap, Counter, defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import dicts
from tests.agreement import differences


def plain(value):
    if hasattr(value, "shape"):
        return np.asarray(value).tolist()
    if isinstance(value, Counter):
        return Counter({key: plain(part) for key, part in value.items()})
    if isinstance(value, defaultdict):
        return defaultdict(value.default_factory, {key: plain(part) for key, part in value.items()})
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return type(value)(map(plain, value)) if isinstance(value, tuple | list) else value


# JAX sorts the keys of the dicts that an element or another dict holds.
SORTED = (dicts.nested,)


compiled = functools.cache(ag.function)  # one for all arguments of a program


@pytest.mark.parametrize("program, args", dicts.PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_program_agrees_with_python(program, args):
    expected, found = program(*args), plain(compiled(program)(*map(jnp.array, args)))
    assert found == expected
    if program not in SORTED:
        assert repr(found) == repr(expected)


def test_a_bare_jit_returns_a_dict():
    found = jax.jit(ag.convert(dicts.count))(jnp.array(dicts.A))
    assert found == dicts.count(dicts.A)
    assert list(found) == [3, 1, 2]
    assert plain(dict(found)) == {3: 3, 1: 2, 2: 1}
    assert found[3] == 3
    assert len(found) == 3


def test_a_bare_jit_needs_a_bound():
    def bounded(n):
        found = {}
        while n > 0:
            ag.set_loop_options(maximum_length=10)
            found[n % 10] = 1
            n //= 10
        return len(found)

    assert jax.jit(ag.convert(bounded))(1122) == 2
    with pytest.raises(ag.StagingError, match="maximum_length"):
        jax.jit(ag.convert(dicts.whiled))(1122)


def test_each_row_of_a_batch_has_its_own():
    rows = [[1, 1, 1], [1, 2, 1], [1, 2, 3]]
    for made in (ag.convert(dicts.most), ag.function(dicts.most)):
        found = jax.vmap(made)(jnp.array(rows))
        assert [tuple(map(int, each)) for each in zip(*found, strict=True)] == list(map(dicts.most, rows))


def test_gradients():
    def weights(xs, w):
        found = {}
        for v in xs:
            found[v] = found.get(v, 0.0) + w * w
        return sum(found.values()) + found[3]

    assert jax.grad(ag.function(weights), 1)(jnp.array(dicts.A), 2.0) == 36.0


@pytest.mark.parametrize("read", [lambda d, k: d[k], lambda d, k: d.pop(k), lambda d, k: d.__delitem__(k)])
def test_a_missing_key_raises(read):
    def program(xs):
        found = {v: 1 for v in xs}
        read(found, xs[0] + 50)
        return len(found)

    with pytest.raises(KeyError, match="53"):
        ag.function(program)(jnp.array(dicts.A))


def test_a_key_that_no_iteration_has_set_raises():
    with pytest.raises(KeyError, match="5"):
        ag.function(dicts.later2)(jnp.array([15, 7, 5, 9]))


def test_a_dict_from_outside_is_left_alone_under_a_transform():
    known = {1: 2}

    def program(x):
        known[x] = 1
        return len(known)

    with pytest.raises(ag.StagingError, match="not made in converted code"):
        jax.jit(ag.convert(program))(jnp.array(3))
    assert known == {1: 2}


def test_a_view_of_a_dict_that_is_written_is_refused():
    def program(xs):
        found = {}
        keys = found.keys()
        for v in xs:
            found[v] = 1
        return len(keys)

    with pytest.raises(ag.StagingError, match="view of a dict"):
        ag.function(program)(jnp.array(dicts.A))


@pytest.mark.parametrize("use", [lambda c: c <= c, lambda c: c > Counter([1])])
def test_counters_are_compared_by_order(use):
    def program(xs):
        return use(Counter(xs))

    assert bool(ag.function(program)(jnp.array(dicts.A))) is use(Counter(dicts.A))


def test_a_traced_key_is_refused_after_a_branch_that_raises():
    def program(x):
        if x > 0:
            raise ValueError("no key")
        ChainMap({1: 0})[x]

    with pytest.raises(ag.StagingError, match=r"\[x\]\n  A traced value is used as a key"):
        ag.function(program)(jnp.array(-3))


def test_dicts_that_answer_differently_are_not_selected():
    def program(xs, n):
        counts, others = defaultdict(int), {}
        for v in xs:
            counts[v] += 1
            others[v] = 2
        if n > 0:
            counts = others
        return counts.get(7, 0)

    expected = r"(?s)if n > 0:.*\{int32\[\]: ~int32\[\], …\}.*defaultdict\(int, \{int32\[\]: int32\[\], …\}\)"
    with pytest.raises(ag.StagingError, match=expected):
        ag.function(program)(jnp.array(dicts.A), jnp.array(1))


def test_an_unpacking_checks_the_number_of_keys():
    def program(xs):
        found = dict.fromkeys(xs, 1)
        first, second = found
        return first + second

    with pytest.raises(ValueError, match="too many values to unpack"):
        ag.function(program)(jnp.array(dicts.A))
    assert ag.function(program)(jnp.array([3, 4, 3])) == program([3, 4, 3]) == 7


def test_it_is_not_saved(tmp_path):
    made = ag.function(dicts.count).get_concrete_function(jnp.array(dicts.A))
    with pytest.raises(Exception, match="a dict whose keys only a run knows"):
        ag.save(made, tmp_path / "model")


def test_known_keys_stay_in_pythons_dict():
    found = []

    def program(x):
        squares = {}
        for k in range(100):
            squares[k] = k * k
        found.append(type(squares))
        return x + squares[10]

    assert ag.function(program)(jnp.array(0)) == 100
    assert found == [dict]


def test_a_value_that_a_list_holds_too_is_not_written():
    def written(xs):
        groups = {}
        for v in xs:
            groups.setdefault(v % 3, []).append(v)
        lists = list(groups.values())
        lists[0].append(100)
        return groups, lists

    def written_in_a_loop(xs):
        groups, rows = {}, []
        for v in xs:
            groups.setdefault(v % 3, []).append(v)
            rows.extend(groups.values())
        return groups, rows

    for program in (written, written_in_a_loop):
        with pytest.raises(ag.StagingError, match="two lists"):
            ag.function(program)(jnp.array([1, 2, 3, 4]))


def test_pairs_with_one_key_set_it_once_in_an_empty_dict():
    def f(y):
        given = {}
        given.update([(v, k) for k, v in enumerate(y) if v > 0])
        return len(given), sum(given), given[2], [*given]

    values = [1, 2, 2, 3, 2, 5]
    assert list(differences(f(values), ag.function(f)(jnp.array(values)), widens=True)) == []
