"""What the table says of NumPy's functions is so: which arrays they write to, and what they return views of."""

from __future__ import annotations

import inspect
import operator

import numpy as np
import pytest

from autograph.runtime.code.array_facts import FUNCTIONS, METHODS, OPERATORS, Returns, facts_of
from autograph.runtime.containers.writing_functions import WRITING

ROWS = np.arange(12.0).reshape(3, 4)
# What makes a call of a function: itself, or with these others after the array.
GIVEN = {
    "atleast_1d atleast_2d atleast_3d ravel transpose squeeze flip flipud fliplr rot90 diagonal diag matrix_transpose unstack": (),
    "asarray asanyarray ascontiguousarray require real real_if_close broadcast_arrays trim_zeros": (),
    "reshape": ((4, 3),),
    "permute_dims": ((1, 0),),
    "swapaxes moveaxis": (0, 1),
    "rollaxis expand_dims": (1,),
    "broadcast_to": ((2, 3, 4),),
    "split array_split vsplit": (3,),
    "hsplit": (2,),
    "view": (),
}
CALLS = {name: args for names, args in GIVEN.items() for name in names.split()}


def test_the_methods_of_arrays_are_all_there():
    real = {name for name in dir(np.ndarray) if name[0] != "_" and callable(getattr(np.ndarray, name))}
    assert real - METHODS.keys() == set()
    # Those that only some versions of NumPy have.
    assert METHODS.keys() - real - {"__setitem__", "itemset", "to_device"} == set()


def test_the_functions_are_there():
    def found(name):
        value = {"numpy": np, "operator": operator}[name.partition(".")[0]]
        for part in name.split(".")[1:]:
            value = getattr(value, part, None) or getattr(np.lib.stride_tricks, part, None)
        return value

    some = {"unstack", "matrix_transpose", "permute_dims", "concat", "fix"}  # in some versions of NumPy
    assert {name for name in FUNCTIONS if found(name) is None} <= {f"numpy.{name}" for name in some}
    assert all(facts_of(f"operator.{name}").first for name in OPERATORS)


@pytest.mark.parametrize("name", sorted(name for name in CALLS if hasattr(np, name)))
def test_a_function_that_returns_a_view_is_said_to(name):
    column = ROWS[:, :1] if name == "squeeze" else ROWS[0] if name == "trim_zeros" else ROWS
    result = getattr(np, name)(column, *CALLS[name])
    parts = result if isinstance(result, list | tuple) else [result]
    assert all(np.shares_memory(part, ROWS) for part in parts)
    assert facts_of(f"numpy.{name}").returns is not Returns.NEW


# Those that write files, or return nothing; and others in some versions of NumPy.
WITHOUT_RESULT = {"dump", "tofile", "setfield", "partition", "put", "resize", "__setitem__", "itemset", "to_device"}


@pytest.mark.parametrize("name", sorted(METHODS.keys() - WITHOUT_RESULT))
def test_a_method_returns_a_view_if_it_is_said_to(name):
    array = np.arange(12.0).reshape(3, 4)
    if name == "item":
        args = (0,)
    elif name == "choose":
        array, args = np.array([0, 1]), ([[1, 2], [3, 4]],)
    else:
        known = {"dot": (np.ones(4),), "compress": ([True],), "fill": (0,), "getfield": (np.float64,), "take": ([0],)}
        known |= {"searchsorted": (1.0,), "astype": (float,), "argpartition": (1,), "repeat": (2,)}
        args = known.get(name, CALLS.get(name, (1, 2) if name == "clip" else ()))
    array = array[0].copy() if name == "searchsorted" else array
    result = getattr(array, name)(*args, **({"inplace": True} if name == "byteswap" else {}))
    is_view = isinstance(result, np.ndarray) and np.shares_memory(result, array)
    assert is_view == (METHODS[name].returns is not Returns.NEW)


@pytest.mark.parametrize("name", sorted(name for name, facts in FUNCTIONS.items() if name.startswith("numpy.")))
def test_the_positions_are_those_of_the_parameters(name):
    facts, function = FUNCTIONS[name], getattr(np, name.removeprefix("numpy."), None)
    if function is None or isinstance(function, type):
        return
    parameters = [*inspect.signature(function).parameters]
    if facts.out is not None:
        assert parameters[facts.out] == "out"
    if facts.first:
        assert parameters[0] == facts.first
    if facts.option is not None:
        assert parameters[facts.option[1]] == facts.option[0]


def test_functions_with_out_are_all_there():
    found = {}
    for name, function in vars(np).items():
        if callable(function) and name[0] != "_" and not isinstance(function, np.ufunc | type):
            try:
                parameters = inspect.signature(function).parameters
            except ValueError:  # of some builtins of NumPy 2.3 and before
                continue
            if "out" in parameters and parameters["out"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                found[name] = [*parameters].index("out")
    found = {name: position for name, position in found.items() if "busday" not in name}
    assert {name: facts_of(f"numpy.{name}").out for name in found} == found


def test_what_is_written():
    facts = facts_of("numpy.nan_to_num")
    assert [*facts.written(["x"], {})] == []
    assert [*facts.written(["x", False], {})] == [*facts.written(["x"], {"copy": False})] == ["x"]
    assert [*facts_of("numpy.copyto").written([], {"src": "y", "dst": "x"})] == ["x"]
    assert [*facts_of("numpy.ndarray.cumsum").written(["x", 0, None, "y"], {})] == ["y"]
    assert [*facts_of("numpy.ndarray.cumsum").written(["x"], {"out": None})] == []
    assert [*facts_of("numpy.ndarray.fill").written(["x", 1], {})] == ["x"]
    assert [*facts_of("numpy.of_no_such_name").written(["x", 1], {})] == []


def test_each_function_that_writes_in_place_has_one_that_does_so_of_traced_arrays():
    assert {function.__name__ for function in WRITING} == {
        name.removeprefix("numpy.")
        for name, facts in FUNCTIONS.items()
        if facts.first and not facts.option and name.count(".") == 1 and name.startswith("numpy.")
    }
