"""Converted code that meets no traced value does what the original does: results and effects."""

import functools
import inspect
import itertools

import numpy as np

import autograph as ag
from tests.outcomes import outcome, same


class Noisy:
    """Logs each question it is asked, so that asking twice shows."""

    def __init__(self, log, name, truth=True):
        self.log, self.name, self.truth = log, name, truth

    def __bool__(self):
        self.log.append(("bool", self.name))
        if self.truth is None:
            raise ValueError(f"{self.name} has no truth value")
        return self.truth

    def __lt__(self, other):
        self.log.append(("lt", self.name, other.name))
        return self.name < other.name

    def __iter__(self):
        self.log.append(("iter", self.name))
        return iter(self.name)


def test_truth_is_asked_once():
    def f(log, truth):
        thing = Noisy(log, "a", truth)
        if thing:
            return "yes"
        return "no"

    same(f, (True,), (False,), (None,))


def test_while_truth_is_asked_once_per_iteration():
    def f(log):
        things = [Noisy(log, "a"), Noisy(log, "b"), Noisy(log, "c", False)]
        while things.pop(0):
            log.append("body")
        return len(things)

    same(f)


def test_and_or_give_operands_and_stop_early():
    def f(log, a, b):
        def ask(value):
            log.append(value)
            return value

        first = ask(a) and ask(b)
        second = ask(a) or ask(b) or ask("last")
        third = not ask(a)
        return first, second, third, (a and b) or [a]

    same(f, (0, 1), (1, 0), ("", []), ([1], {}), (None, "x"))


def test_chained_comparison_evaluates_once_and_stops_early():
    def f(log):
        a, b, c = Noisy(log, "a"), Noisy(log, "b"), Noisy(log, "c")

        def ask(value):
            log.append(value.name)
            return value

        return ask(a) < ask(b) < ask(c), ask(c) < ask(b) < ask(a)

    same(f)


def test_conditional_expression_evaluates_one_side():
    def f(log, x):
        return log.append("left") if x else log.append("right")

    same(f, (1,), (0,))


def test_break_leaves_the_iterator_where_it_was():
    def f(log, numbers):
        for number in numbers:
            log.append(number)
            if number == 3:
                break
        return next(numbers)

    same(f, lambda: (itertools.count(),), lambda: (iter([1, 2, 3, 4]),), lambda: (iter([3]),))


def test_return_leaves_the_iterator_where_it_was():
    def f(log, numbers):
        for number in numbers:
            log.append(number)
            if number > 3:
                return number, next(numbers)
            if number % 2:
                continue
            log.append("even")

    same(f, lambda: (itertools.count(),), lambda: (iter([1, 2]),))


def test_iterable_is_asked_once():
    def f(log):
        letters = []
        for letter in Noisy(log, "abc"):
            letters.append(letter)
        return letters

    same(f)


def test_list_that_grows_while_it_is_iterated():
    def f(log):
        items = [1, 2, 3]
        for item in items:
            if item < 10:
                items.append(item * 4)
            log.append(item)
        return items

    same(f)


def test_dict_that_changes_while_it_is_iterated():
    def f(log, table):
        for key in table:
            log.append(key)
            table[key + 1] = 0

    same(f, lambda: ({1: 1},), lambda: ({},))


def test_range_with_python_ints_gives_python_ints():
    def f(log, n):
        for i in range(n):
            log.append((i, type(i)))
            if i == 2:
                break
        return i

    same(f, (5,), (2,), (0,), ("x",), (1.5,))


def test_print_order(capsys):
    def f(n):
        for i in range(n):
            print("loop", i)
            if i == 1:
                print("break")
                break
        print("end", i, sep="-", end="!\n")

    f(4)
    wanted = capsys.readouterr().out
    ag.convert(f)(4)
    assert capsys.readouterr().out == wanted


def test_numpy_arrays_stay_numpy():
    def f(log, x):
        log.append("top")
        if x:
            x = x + 1
        return type(x).__name__

    same(f, (np.float32(1),), (np.array(0),), (np.ones(3),))


def test_mutation_of_the_arguments():
    def f(log, table, items):
        for key in list(table):
            if table[key] > 1:
                items[0] += table.pop(key)
            else:
                table[key] = items
        log.extend(items)
        return table, items

    same(f, lambda: ({"a": 1, "b": 2, "c": 3}, [0, 0]))


def test_nonlocal_and_shared_cells():
    def f(log):
        count = 0

        def bump():
            nonlocal count
            if count < 2:
                count += 1
            return count

        results = [bump(), bump(), bump()]
        count = -5
        return results, bump(), count

    same(f)


def test_outer_variable_written_from_converted_code():
    total = 0

    def add(amount):
        nonlocal total
        while amount > 0:
            total += 1
            amount -= 1
        return total

    converted = ag.convert(add)
    assert converted(2) == 2
    assert total == 2
    total = 10
    assert converted(1) == 11 == total


limit = 3


def below_limit(x):
    if x < limit:
        return True
    return False


def test_global_reassigned_after_conversion(monkeypatch):
    converted = ag.convert(below_limit)
    assert converted(4) is False
    monkeypatch.setitem(globals(), "limit", 5)
    assert converted(4) is True


def test_late_binding_of_closures():
    def f(log):
        functions = []
        for k in range(3):
            functions.append(lambda: k)
        return [function() for function in functions]

    same(f)


def test_mutable_default_is_shared_with_the_original():
    def f(item, seen=[]):  # noqa: B006
        if item not in seen:
            seen.append(item)
        return list(seen)

    f(1)
    assert ag.convert(f)(2) == [1, 2]
    assert f(3) == [1, 2, 3]


def test_every_kind_of_parameter():
    def f(log, a, /, b=2, *rest, c, d=4, **more):
        if a > b:
            log.append("a")
        return a, b, rest, c, d, more

    converted = ag.convert(f)
    for arguments, keywords in [
        ((1,), {"c": 3}),
        ((5, 1, 7, 8), {"c": 0, "e": 1}),
        ((1,), {}),
        ((), {"a": 1, "c": 2}),
    ]:
        call = functools.partial
        assert outcome(call(converted, **keywords), *arguments)[1:] == outcome(call(f, **keywords), *arguments)[1:]
        assert (
            outcome(call(converted, **keywords), *arguments)[0][:2] == outcome(call(f, **keywords), *arguments)[0][:2]
        )


def test_what_inspection_shows():
    def scaled(x: float, *, by: float = 2.0) -> float:
        """Docstring."""
        if x > 0:
            return x * by
        return x

    converted = ag.convert(scaled)
    for attribute in (
        "__name__",
        "__qualname__",
        "__module__",
        "__doc__",
        "__annotations__",
        "__kwdefaults__",
    ):
        assert getattr(converted, attribute) == getattr(scaled, attribute), attribute
    assert inspect.signature(converted) == inspect.signature(scaled)
    assert inspect.getsource(converted) == inspect.getsource(scaled)


def test_recursion():
    def f(log, n):
        if n <= 0:
            return []
        log.append(n)
        return [n, *f(log, n - 2)]

    same(f, (5,), (0,))


def test_identity_is_kept():
    def f(log, thing):
        kept = thing
        if thing is not None:
            kept = thing
        while False:
            kept = None
        return kept

    thing = object()
    assert ag.convert(f)([], thing) is thing


def test_lambda_partial_method_and_callable_object():
    class Box:
        def __init__(self, value):
            self.value = value

        def above(self, x):
            return self.value if self.value > x else x

        def __call__(self, x):
            while x < self.value:
                x += 2
            return x

        @staticmethod
        def sign(x):
            return 1 if x > 0 else -1

        @classmethod
        def name(cls, x):
            return cls.__name__ if x else ""

    def below(limit, x):
        return True if limit < x else False

    box = Box(5)
    assert ag.convert(lambda x: "positive" if x > 0 else "negative")(1) == "positive"
    assert ag.convert(functools.partial(below, 7))(2) is False
    assert ag.convert(functools.partial(Box.above, box))(9) == 9
    assert ag.convert(box.above)(1) == 5
    assert ag.convert(box)(0) == 6
    assert ag.convert(Box.sign)(-3) == -1
    assert ag.convert(Box.name)(1) == "Box"


def test_converted_twice_is_converted_once():
    def f(log, x):
        if x:
            log.append(x)
        return x

    same(ag.convert(f), (1,), (0,))


def test_ag_range_is_range():
    def f(log, *bounds):
        for i in ag.range(*bounds):
            if i == 5:
                continue
            log.append((i, type(i)))

    same(f, (3,), (0,), (2, 9, 3), (9, 2, -3), (1, 2, 0), ("x",))
