"""What a program can see of its own scopes, frames and objects is not changed by conversion."""

import copy
import functools
import itertools
import operator
import pickle
import random
import types
import weakref

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.outcomes import same


def test_private_names_of_a_class_inside():
    def f(log, x):
        class Account:
            def __init__(self):
                self.__balance = x

            def add(self, amount):
                if amount:
                    self.__balance += amount

            class __Inner:
                def __init__(self):
                    self.__depth = 2

            def depth(self):
                return vars(self.__Inner())

        account = Account()
        account.add(2)
        log.append(vars(account))
        return account.depth()

    same(f, (1,))


def test_functions_in_the_blocks_of_a_class_body():
    def f(log, x):
        class Options:
            if x:

                def pick(self, values):
                    for value in values:
                        if value > 1:
                            return value
                    return None

            for last in range(5):
                if last == 2:
                    break

        names = sorted(name for name in vars(Options) if not name.startswith("__"))
        return names, Options.last, Options().pick([0, 1, 2, 3])

    same(f, (1,))


def test_unreachable_yield_makes_a_generator():
    def f(log, x):
        def empty():
            return
            yield

        def forever():
            while True:
                return x
            yield

        def in_a_branch():
            if x:
                return 1
                yield
            return 2

        return [type(made()) for made in (empty, forever, in_a_branch)]

    same(f, (1,), (0,))


def test_asynchronous_generator_that_returns():
    def f(log, n):
        async def numbers():
            for i in range(n):
                if i == 2:
                    return
                yield i

        async def collect():
            return [i async for i in numbers()]

        try:
            collect().send(None)
        except StopIteration as stop:
            return stop.value

    same(f, (1,), (4,))


def test_coroutine_made_of_a_generator():
    @types.coroutine
    def pause(x):
        if x > 1:
            x = x * 2
        return (yield x)

    def f(log, x):
        @types.coroutine
        def again():
            log.append(x)
            return (yield x)

        async def main():
            return await pause(x) + await again()

        running = main()
        log.append(running.send(None))
        log.append(running.send(10))
        try:
            running.send(20)
        except StopIteration as stop:
            return stop.value

    same(f, (1,), (2,))


def test_locals_vars_and_dir():
    def f(log, x):
        y = 2
        if x:
            z = 3
            log.append(sorted(locals()))
        for i in range(2):
            log.append(dir())
        return sorted(vars())

    same(f, (1,), (0,))


def test_eval_and_exec_see_the_variables():
    def f(log, x):
        total = 0
        for i in range(3):
            if i != 1:
                total += eval("x + i")
                exec("log.append((i, total))")
        for statement in ("d[1] = x", "d.update(a=x)"):
            d = locals().setdefault("d", {})
            exec(statement, {"d": d, "x": x})
        return total, d

    same(f, (1,), (5,))


def test_super_after_its_first_argument_is_deleted():
    class Base:
        pass

    class Odd(Base):
        def method(log, self):
            del log
            super().__init__()

    with pytest.raises((RuntimeError, UnboundLocalError)) as plain:
        Odd.method([], 1)
    with pytest.raises(plain.type):  # which one depends on Python's version
        ag.convert(Odd.method)([], 1)


def test_order_of_several_targets():
    def f(log):
        def at(name):
            log.append((name, list(data)))
            return ["a", "b", "c"].index(name)

        data = [1, 2, 3]
        data[at("a")] = data[at("b")] = 7
        data[at("c")], data[at("a")] = 8, 9
        return data

    same(f)


def test_value_before_the_target():
    def f(log, x):
        missing[log] = 1 / x  # noqa: F821

    same(f, (0,), (1,))


def test_while_test_that_binds_what_the_body_reads():
    def root(log, n, a):
        x = a
        while a > (d := x // a ** (n - 1)):
            a = ((n - 1) * a + d) // n
        return a

    same(root, (2, 100), (3, 1000))
    assert float(jax.jit(ag.convert(root), static_argnums=0)((), 2, jnp.float32(100.0))) == 10.0


def test_match_binds_before_its_guard():
    def f(log, x):
        match x:
            case 0 as y if log:
                return "guarded"
            case [1, z] if z > 5:
                return z
            case _ as w if w == 3:
                return w
            case (4 as a) as b:
                return a, b
        return sorted(set(locals()) - {"log"})

    same(f, (0,), ([1, 2],), ([1, 9],), ([2, 2],), (3,), (4,), (5,))


def test_exception_is_freed_when_it_is_handled():
    def f(log, x):
        class Resource(Exception):
            pass

        def fail():
            raise Resource

        try:
            fail()
        except Resource as error:
            seen = weakref.ref(error)
        log.append(seen() is None)
        return x

    same(f, (1,))


def test_dead_proxy_is_refused_by_its_reader():
    def f(log, x):
        class Owner:
            pass

        owner = Owner()
        proxy = weakref.proxy(owner)
        del owner
        try:
            getattr(proxy, "name")
        except ReferenceError:
            log.append("dead")
        return operator.is_(proxy, None)

    same(f, (1,))


def test_called_objects_are_asked_for_nothing_else():
    def f(log, x):
        class Counting:
            def __getattribute__(self, name):
                log.append(name)
                return object.__getattribute__(self, name)

            def __hash__(self):
                log.append("hash")
                return 1

            def __call__(self, y):
                return y + 1

        return Counting()(x)

    same(f, (1,))


def test_property_that_gives_a_new_list_each_time():
    def f(log, x):
        class Box:
            @property
            def items(self):
                log.append("items")
                return [1, 2]

        box = Box()
        box.items[0] = x
        return box.items

    same(f, (5,))


def test_library_functions_get_the_very_arguments():
    def f(log, values):
        random.Random(0).shuffle(values)
        twin = copy.copy((len, values))
        log.append(twin[1] is values)
        log.append(copy.deepcopy(helper) is helper)
        log.append(pickle.loads(pickle.dumps(helper)) is helper)
        return values

    same(f, lambda: (list(range(6)),))


def helper(a, b):
    if a > b:
        return a
    return b


def test_library_code_that_calls_gets_converted_functions():
    def f(xs):
        rows = [xs[0], xs[1], xs[2]]
        largest = functools.reduce(helper, rows)
        running = list(itertools.accumulate(rows, helper))
        return largest, running, list(itertools.starmap(helper, zip(rows, rows[1:])))

    largest, running, pairs = jax.jit(ag.convert(f))(jnp.array([1.0, 3.0, 2.0]))
    assert float(largest) == 3.0
    assert [float(v) for v in running] == [1.0, 3.0, 3.0]
    assert [float(v) for v in pairs] == [3.0, 3.0]


def test_print_keeps_its_own_errors():
    def f(log, x):
        print(x, color="red")

    same(f, (1,))


def test_results_that_are_no_pytrees():
    def f(log, x):
        mixed = {1: x, "a": x}
        if x:
            mixed[None] = 2
        knot = [x]
        knot.append(knot)
        log.append(mixed)
        return (mixed, knot[1][1][0]) if x == 1 else mixed

    same(f, (0,), (1,), (2,))
    assert (knot := ag.convert(knotted)([]))[0] is knot


def knotted(knot):
    for _ in range(1):
        knot.append(knot)
    return knot


def test_what_a_trace_has_left_behind_does_not_touch_plain_python():
    kept = jnp.ones(3)
    ag.operators.marks.add(kept, jnp.array(True), "a test")  # as of a variable that only some paths bind

    def f(log, x):
        if x:
            d = {1: x, "a": x}
            knot = [x]
            knot.append(knot)
        return d, knot[1][0]

    same(f, (1,))
