"""Private attributes (``self.__x``) of classes that a function defines, and of those in classes, have the names that Python gives them."""

from __future__ import annotations

import importlib.util
import inspect

import pytest

import autograph as ag
from tests.agreement import agrees_when_compiled


def of_a_class_in_a_function(x):
    class Total:
        def __init__(self):
            self.__sum = 0

        def add(self, v):
            if v > 1:
                self.__sum += v
            return self

        def read(self):
            return self.__sum

    total = Total()
    for k in range(3):
        total.add(x + k)
    return total.read(), hasattr(total, "_Total__sum")


class Outer:
    def __init__(self, x):
        self.__count = x

    def run(self):
        class Inner:
            def __init__(self):
                self.__count = 0

            def add(self, v):
                if v > 1:
                    self.__count += v

        inner = Inner()
        inner.add(self.__count)
        if self.__count > 2:
            self.__count += 1
        return inner._Inner__count, self.__count


def of_a_class_in_a_method(x):
    return Outer(x).run()


class _:  # without a name to put before them
    def __init__(self, x):
        self.__value = x

    def double(self):
        while self.__value < 10:
            self.__value *= 2
        return self.__value


def of_a_class_of_underscores(x):
    return _(x).double()


@pytest.mark.parametrize("program", [of_a_class_in_a_function, of_a_class_in_a_method, of_a_class_of_underscores])
def test_private_attributes(program):
    assert [ag.convert(program)(x) for x in (1, 3)] == [program(x) for x in (1, 3)]
    agrees_when_compiled(program, (1,), (3,))


def test_a_module_that_python_has_compiled_itself(tmp_path):
    # Not by way of pytest, whose assertion rewriting leaves a function another code than its text has.
    file = tmp_path / "totals.py"
    file.write_text(inspect.getsource(of_a_class_in_a_function))
    spec = importlib.util.spec_from_file_location("totals", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert ag.convert(module.of_a_class_in_a_function)(1) == of_a_class_in_a_function(1)
