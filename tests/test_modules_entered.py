"""Which modules of the runtime the first call of a plain loop enters: what a program does not use, it does not pass through."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.rooms import ROOT

RUNTIME = ROOT / "runtime"
MOST = 40
# What is about lists, dicts, sets, objects and None only.
ABOUT_CONTAINERS = (
    *("containers/keyed_lists", "containers/padded", "containers/padded_arrays", "containers/parts"),
    *("containers/traced_deques", "containers/traced_dicts", "containers/traced_lists", "containers/traced_sets"),
    *("containers/tensor_array", "heap/elements", "heap/identities", "heap/list_outputs", "heap/unknown"),
    *("layouts/list_room", "layouts/objects", "layouts/one_of", "layouts/optional", "layouts/perhaps"),
    *("signatures/changed_arguments", "staging/access/absences", "staging/access/aliased_writes"),
    *("staging/builtins/lists", "staging/builtins/keys", "staging/statements/body_containers"),
    *("staging/statements/constants", "staging/statements/growing_lists", "staging/statements/joined_parts"),
    *("staging/statements/list_carry", "staging/statements/list_growth", "staging/statements/nones"),
    "staging/statements/part_carry",
)
# What is about calls, sets and dicts that are made again, and places that messages name.
ABOUT_OTHERS = ("errors", "staging/calls/recursion", "staging/policy/recursive_code", "tracing/births")


@pytest.fixture(scope="module")
def entered() -> dict[str, set[str]]:
    """The modules that the first call of each function enters, in a process of their own: what other tests leave takes no part."""
    command = [sys.executable, "-m", "tests.modules_entered"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=300)
    return {name: set(modules) for name, modules in json.loads(run.stdout).items()}


def test_a_loop_of_numbers_enters_no_module_about_containers(entered):
    modules = entered["root_of"]
    assert "staging/statements/loop_carry" in modules
    assert modules & {*ABOUT_CONTAINERS, *ABOUT_OTHERS} == set()
    assert len(modules) <= MOST, sorted(modules)


def test_a_loop_that_appends_enters_them(entered):
    assert {"containers/traced_lists", "containers/padded", "staging/statements/list_growth"} <= entered["with_a_list"]


def test_a_loop_that_calls_a_function_asks_whether_it_calls_itself(entered):
    assert {"staging/calls/recursion", "staging/policy/recursive_code"} <= entered["with_a_call"]


def test_the_modules_are_there():
    assert [name for name in ABOUT_CONTAINERS + ABOUT_OTHERS if not (RUNTIME / name).with_suffix(".py").exists()] == []
