"""Which modules of the runtime the first call of a plain loop enters: what a program does not use, it does not pass through."""

from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp

import autograph as ag
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


def root_of(x, guess):
    while abs(guess * guess - x) > 1e-3:
        guess = (guess + x / guess) / 2
    return guess


def with_a_list(x, guess):
    seen = []
    while abs(guess * guess - x) > 1e-3:
        guess = (guess + x / guess) / 2
        seen.append(guess)
    return guess, len(seen)


def with_a_call(x, guess):
    while abs(guess * guess - x) > 1e-3:
        guess = _closer(x, guess)
    return guess


def _closer(x, guess):
    return (guess + x / guess) / 2


def is_in_callback(frame: types.FrameType | None) -> bool:
    """Whether a callback of a weak reference is running."""
    while frame is not None:
        if frame.f_code.co_name in ("gone", "_forget"):
            return True
        frame = frame.f_back
    return False


def modules_entered(function: Callable[..., Any], *arguments: Any) -> set[str]:
    """The modules of the runtime that a call runs something of, in a thread that has traced nothing before.

    The callbacks of weak references to what other tests have left do not count: the collector is off, and those are left out that
    a cache runs where it lets go of an old entry.
    """
    files: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and not is_in_callback(frame):
            files.add(frame.f_code.co_filename)

    def run() -> None:
        sys.setprofile(note)
        try:
            function(*arguments)
        finally:
            sys.setprofile(None)

    thread = threading.Thread(target=run)
    collects = gc.isenabled()
    gc.disable()
    try:
        thread.start()
        thread.join()
    finally:
        if collects:
            gc.enable()
    paths = [path for file in files if (path := Path(file).resolve()).exists()]  # other code is generated
    return {path.relative_to(RUNTIME).with_suffix("").as_posix() for path in paths if path.is_relative_to(RUNTIME)}


def test_a_loop_of_numbers_enters_no_module_about_containers():
    entered = modules_entered(ag.function(root_of), jnp.float32(2), jnp.float32(1))
    assert "staging/statements/loop_carry" in entered
    assert entered & {*ABOUT_CONTAINERS, *ABOUT_OTHERS} == set()
    assert len(entered) <= MOST, sorted(entered)


def test_a_loop_that_appends_enters_them():
    entered = modules_entered(ag.function(with_a_list), jnp.float32(2), jnp.float32(1))
    assert {"containers/traced_lists", "containers/padded", "staging/statements/list_growth"} <= entered


def test_a_loop_that_calls_a_function_asks_whether_it_calls_itself():
    entered = modules_entered(ag.function(with_a_call), jnp.float32(2), jnp.float32(1))
    assert {"staging/calls/recursion", "staging/policy/recursive_code"} <= entered


def test_the_modules_are_there():
    assert [name for name in ABOUT_CONTAINERS + ABOUT_OTHERS if not (RUNTIME / name).with_suffix(".py").exists()] == []
