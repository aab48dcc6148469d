"""Which functions may call themselves is found once for all functions of a program; classes are found when they are new."""

from __future__ import annotations

import gc
import weakref

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.runtime.staging.policy import recursive_code
from autograph.runtime.staging.policy.recursive_code import CallGraph
from autograph.runtime.staging.policy.user_classes import DefinedClasses
from autograph.tools.bench.first_call import loaded


def chain(length: int) -> str:
    lines = ["def f0(x):", "    return x * 2"]
    for k in range(1, length):
        lines += [f"def f{k}(x):", "    if x > 1:", f"        x = f{k - 1}(x)", "    return x"]
    return "\n".join(lines)


@pytest.fixture
def looked_at(monkeypatch):
    """The functions whose names have been looked through."""
    found: list[str] = []
    names_of = recursive_code._called
    monkeypatch.setattr(
        recursive_code,
        "_called",
        lambda function, owner: [found.append(function.__name__), names_of(function, owner)][1],
    )
    return found


def test_functions_that_call_each_other_are_looked_through_once(tmp_path, looked_at):
    made = loaded(chain(40), tmp_path)
    assert jax.jit(ag.convert(made.f39))(3.0) == 6.0
    assert len(looked_at) <= 2 * 40


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def both(n):
    return helper(n), even(n)


def helper(n):
    return n + 1


def countdown(n):
    return 0 if n == 0 else countdown(n - 1)


class Layer:
    def call(self, x):
        if x > 0:
            x = helper(x)
        return x

    def again(self, x):
        return x if x < 0 else self.again(x - 1)


def test_what_leads_to_a_cycle_and_what_is_on_it():
    graph = CallGraph()
    assert not graph.may_call_itself(both, None)
    assert not graph.may_call_itself(helper, None)
    assert graph.may_call_itself(even, None) and graph.may_call_itself(odd, None)
    assert graph.may_call_itself(countdown, None)
    assert graph.may_call_itself(Layer.again, Layer())
    assert not graph.may_call_itself(Layer.call, Layer())


def test_a_name_that_means_another_function_by_now(monkeypatch):
    graph = CallGraph()
    assert not graph.may_call_itself(both, None) and not graph.may_call_itself(helper, None)
    monkeypatch.setitem(globals(), "helper", both)
    assert graph.may_call_itself(both, None)


def test_a_closure_variable_that_holds_another_function_by_now():
    def first(n):
        return second(n)

    def second(n):
        return n

    graph = CallGraph()
    assert not graph.may_call_itself(first, None)
    second = first  # noqa: F811
    assert graph.may_call_itself(first, None)


def test_a_closure_variable_that_holds_one_of_several_functions():
    def first(n):
        return second(n)

    second = ag.OneOf([helper, countdown], jnp.uint32(0))
    assert not CallGraph().may_call_itself(first, None)
    second = ag.OneOf([helper, first], jnp.uint32(0))
    assert CallGraph().may_call_itself(first, None)


def test_a_method_with_the_name_of_an_operator_does_not_call_itself():
    assert "ag__.call(" in ag.to_code(Layer.call)
    converted = ag.operators.converter.convert(Layer.call)
    assert not CallGraph().may_call_itself(converted, Layer())


def test_classes_are_found_when_they_are_new_and_are_not_held():
    classes = DefinedClasses()
    assert not any(kind.__name__ == "New" for kind in classes.of([__name__]))

    class New:
        pass

    assert New in classes.of([__name__]) and New in classes.of([__name__])
    assert New not in classes.of(["another"])
    gone = weakref.ref(New)
    del New
    gc.collect()
    assert gone() is None
    assert not any(kind.__name__ == "New" for kind in classes.of([__name__]))

    class Newer:
        pass

    assert Newer in classes.of([__name__])
