"""Lists, dicts and dataclasses among the arguments of an `ag.function` that the call changes in place, as in Python."""

from __future__ import annotations

import collections
import copy
import dataclasses
import heapq

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

X = jnp.array(3)


def plain(value):
    return jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), value)


def as_tree(value):
    return (type(value).__name__, vars(value)) if dataclasses.is_dataclass(value) else value


def same(function, *args, **kwargs):
    """What the compiled function returns and leaves in its arguments is what Python does, in a first call and a later one."""
    wanted_args, compiled = copy.deepcopy(args), ag.function(function)
    wanted = function(*wanted_args, **kwargs)
    for _ in range(2):
        given = copy.deepcopy(args)
        result = compiled(*given, **kwargs)
        assert plain(list(map(as_tree, given))) == plain(list(map(as_tree, wanted_args)))
        assert plain(as_tree(result)) == plain(as_tree(wanted))
        for mine, pythons in zip(given, wanted_args, strict=True):
            if isinstance(mine, jax.Array):
                continue
            assert (result is mine) == (wanted is pythons)


def bubble_sort(a):
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


@pytest.mark.parametrize("sort", [bubble_sort, insertion_sort])
def test_sorts_in_place(sort):
    same(sort, list(jnp.array([4.0, 2.0, 3.0, 1.0])))
    same(sort, [3, 1, 2])


def update(d, x):
    d["n"] += x
    if x > 2:
        d["large"] = x
        del d["gone"]


def nested(state, x):
    state["xs"].append(x)
    state["rows"][0][1] = x
    state["rows"][0], state["rows"][1] = state["rows"][1], state["rows"][0]
    return state["xs"]


def methods_of_lists(a, x):
    a.sort()
    a.reverse()
    a.extend([1, x])
    a.insert(0, 5)
    del a[2]
    return a.pop()


def by_path(a, x):
    if x > 5:
        return a
    for i in range(x):
        a[i] = a[i] + i
    return a


def pushed(heap, x):
    heapq.heappush(heap, x)
    return heapq.heappop(heap)


def test_lists_and_dicts():
    for x in (1, 3):
        same(update, {"n": jnp.array(1), "gone": jnp.array(2)}, jnp.array(x))
    same(nested, {"xs": [], "rows": [[1, 2], [3, jnp.array(4)]]}, X)
    same(methods_of_lists, [jnp.array(1), jnp.array(9)], X)
    for x in (2, 7):
        same(by_path, list(jnp.arange(4)), jnp.array(x))
    same(pushed, [jnp.array(1), jnp.array(4)], X)
    same(update, collections.OrderedDict(gone=jnp.array(2), n=jnp.array(1)), X)


def test_sets():
    def visit(seen, groups, x):
        seen.discard(1)
        groups["b"].add((2, "c"))
        groups["a"] ^= {1, 2}
        return x + len(seen)

    def emptied(names):
        while names:
            names.pop()

    def unchanged(seen, x):
        seen.add(1)
        seen.remove(1)
        return x if 2 in seen else -x

    same(visit, {1, 5}, {"a": {1}, "b": set()}, X)
    same(emptied, {"a", "b"})
    same(unchanged, {2, 3}, X)
    function = ag.function(visit)
    given = {1, 5}
    for count in (4, 4):  # another set is another signature
        assert int(function(given, {"a": {1}, "b": set()}, X)) == count
    assert given == {5}


def test_a_set_in_two_places_is_one():
    def write(a, b):
        a.add(1)
        return 0 if 1 in b else 1

    given = {2}
    assert int(ag.function(write)(given, given)) == 0
    assert given == {1, 2}
    with pytest.raises(ag.StagingError, match="'a' is changed in place here, and is an argument of write"):
        ag.function(write).get_concrete_function({2}, {3})


def test_keys_keep_their_places():
    def add(d, x):
        d["a"] = x
        d["new"] = x

    given = {"z": 1, "a": 2, "b": 3}
    ag.function(add)(given, X)
    assert list(given) == ["z", "a", "b", "new"]


@dataclasses.dataclass
class Account:
    balance: object
    log: list


def test_dataclasses():
    def deposit(account, x):
        while x > 0:
            account.balance = account.balance + x
            x = x - 1
        account.log.append(x)
        return account

    account = Account(jnp.array(1), [])
    log = account.log
    assert ag.function(deposit)(account, X) is account
    assert int(account.balance) == 7
    assert account.log is log
    assert plain(log) == [0]


def test_objects_of_the_caller_stay_the_same():
    def move(a, rows, x):
        a.append(rows[1])
        rows[0][0] = x
        return rows[0], a

    a, rows, kept = [], [[1], [2]], np.ones(2)
    first, second = rows
    result, returned = ag.function(move)(a, rows, X)
    assert (a[0], result, returned) == (second, first, a)
    assert a[0] is second
    assert result is first
    assert returned is a

    def untouched(d, x):
        d["n"] = x

    given = {"n": 0, "kept": kept}
    ag.function(untouched)(given, X)
    assert given["kept"] is kept


def test_a_new_list_that_is_left_in_two_places():
    outside = [1]

    def fill(a, x):
        row, counted = [x], []
        for i in range(x):
            counted.append(i)
        a.extend([row, row, counted, counted, outside])

    a = []
    ag.function(fill)(a, X)
    assert a[0] is a[1]
    assert a[2] is a[3]
    assert a[4] is outside
    assert plain(a[2]) == [0, 1, 2]


def test_a_call_that_raises_changes_nothing():
    @ag.function
    def withdraw(account, x):
        account["balance"] -= x
        account["log"].append(x)
        if account["balance"] < 0:
            raise ValueError("overdrawn")
        return account

    account = {"balance": jnp.array(4), "log": []}
    with pytest.raises(ValueError, match="overdrawn"):
        withdraw(account, jnp.array(5))
    assert plain(account) == {"balance": 4, "log": []}
    assert withdraw(account, X) is account
    assert plain(account) == {"balance": 1, "log": [3]}


def test_methods_keywords_and_several_shapes():
    class Counter:
        @ag.function
        def count(self, into, *, by=1, **more):
            into["n"] = into["n"] + by
            return more

    into = {"n": jnp.array(0)}
    Counter().count(into, by=X)
    Counter().count(into=into, other=X)
    assert plain(into) == {"n": 4}

    @ag.function
    def first_if_long(a, x):
        if x.shape[0] > 2:
            a[0] = x
        return x

    a = [0]
    for _ in range(3):
        first_if_long(a, jnp.ones(2))
    assert a == [0]
    first_if_long(a, jnp.ones(3))
    assert plain(a) == [[1, 1, 1]]
    b = [0]
    for _ in range(2):
        first_if_long(b, jnp.ones(2))
    assert b == [0]


def test_with_an_input_signature():
    @ag.function(input_signature=[[ag.TensorSpec((), jnp.int32)], ag.TensorSpec((), jnp.int32)])
    def add(a, x):
        a[0] = a[0] + x
        return a

    a = [1]
    assert add(a, X) is a
    assert add(a=a, x=2) is a
    assert plain(a) == [6]
    with pytest.raises(ag.StagingError, match="given a tuple"):
        add((1,), X)


def test_with_variables_and_donated_arguments():
    total = ag.Variable(1)

    @ag.function(donate_argnums=0)
    def add(d, x):
        total.assign_add(x)
        d["n"] = d["n"] + total
        return d

    given = {"n": jnp.array(0), "kept": jnp.array(5)}
    add(given, X)
    add(given, X)
    assert int(total.value) == 7
    assert plain(given) == {"n": 11, "kept": 5}


def test_an_argument_that_is_captured_too_is_refused():
    seen = [jnp.array(1)]

    @ag.function
    def write(a, b):
        a[0] = b[0] + seen[0]
        return a

    other = [jnp.array(1)]
    for _ in range(2):
        with pytest.raises(ag.StagingError, match="'a' is changed in place here, and is the same object as 'seen'"):
            write(seen, other)
        assert plain(write([0], other)) == [2]
    assert plain((seen, other)) == ([1], [1])

    class Box:
        def __init__(self):
            self.items = [jnp.array(1)]

        @ag.function
        def set(self, a):
            a[0] = self.items[0] + 1

    box = Box()
    with pytest.raises(ag.StagingError, match="the same object as 'self.items'"):
        box.set(box.items)


@ag.function
def set_first(a, x):
    a[0] = x
    return a


def test_inside_another_function_the_write_is_an_ordinary_one():
    @ag.function
    def outer(given, x):
        made = [x, 2 * x]
        for i in range(x):
            set_first(made, i)
        if x > 2:
            set_first(given, made[0])
        return made

    for _ in range(2):
        given = [0]
        assert plain(outer(given, X)) == [2, 6]
        assert plain(given) == [2]
        assert set_first(given, X) is given  # and after it has been called by itself
    assert jax.grad(lambda x: ag.function(lambda y: set_first([y], 2 * y)[0] * y)(x))(3.0) == 12


@pytest.mark.parametrize(
    "use",
    [
        lambda f: jax.grad(lambda x: f([x], x)[0])(2.0),
        lambda f: jax.vmap(f)([jnp.ones(3)], jnp.ones(3)),
        lambda f: jax.jit(f)([X], X),
        lambda f: f.get_concrete_function([X], X),
        lambda f: f.lower([X], X),
        lambda f: f.trace([X], X),
        lambda f: f.eval_shape([X], X),
    ],
)
def test_where_no_caller_sees_the_change_it_is_refused(use):
    for is_called in (False, True):
        function = ag.function(set_first.python_function)
        if is_called:
            function([X], X)
            function([2.0], 2.0)
        with pytest.raises(ag.StagingError, match="'a' is changed in place here, and is an argument of set_first"):
            use(function)


def test_it_is_not_saved(tmp_path):
    function = ag.function(set_first.python_function)
    function([X], X)
    with pytest.raises(ag.StagingError, match="'a' is changed in place here"):
        ag.save(function, tmp_path / "saved")


def test_a_class_that_jax_unpacks_in_its_own_way_is_refused():
    @jax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def tree_flatten(self):
            return (self.a, self.b), None

        @classmethod
        def tree_unflatten(cls, _, parts):
            return cls(*parts)

    @ag.function
    def write(pair, x):
        pair.a = x

    with pytest.raises(ag.StagingError, match="'pair' is changed in place here, and is an argument of write"):
        write(Pair(X, X), X)
