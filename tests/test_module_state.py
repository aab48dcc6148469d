"""What the package's modules hold that can change, and what they ask of the interpreter: listed, each with its reason.

What belongs to a trace is in the trace's context, and what belongs to a function in the function. A name of a module is bound to
what nobody can change, or is one of those below.
"""

from __future__ import annotations
import __future__

import ast
import dataclasses
import enum
import functools
import importlib
import logging
import operator
import re
import threading
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest
from jax.extend.core import Primitive

from autograph.runtime.layouts.kinds import Layout
from autograph.runtime.lazy import lazy
from tests.rooms import modules

# The state of a thread: what it traces, runs and records.
THREAD = {"autograph.backends.thread:LOCAL"}
# What else may change, for the whole process, and why it is no trace's and no function's.
PROCESS = {
    # What has been read from files.
    "autograph._api:_SOURCES": "parsed files, each again where its text has changed",
    # What users set for the process.
    "autograph._verbosity:_VERBOSITY": "set_verbosity",
    "autograph._verbosity:_HANDLER": "set_verbosity",
    "autograph.runtime.function.dispatch:CALLS": "run_functions_eagerly, and who is told of calls: summary.trace_on",
    "autograph.runtime.code.library_table:TABLE": "register_library",
    "autograph.runtime.state.random:_DEFAULT": "set_seed",
    "autograph.runtime.summary.tracing:_CURRENT": "summary.trace_on",
    "autograph.runtime.summary.defaults:experimental": "a name space of tf.summary's",
    "autograph.runtime.summary.defaults:_MADE": "the Variable that holds the default writer",
    "autograph.runtime.summary.defaults:_STEPS": "the Variables that programs know by number as default steps",
    # What compiled programs know by number: XLA hands numbers back, in any thread.
    "autograph.runtime.data.streams:_OPEN": "iterators that programs have opened",
    "autograph.runtime.effects.failed_calls:FAILURES": "exceptions that have ended programs: XLA hands back their text",
    "autograph.runtime.summary.writers:_FILES": "files that programs write to",
    "autograph.runtime.summary.writers:_NUMBERS": "their numbers",
    "autograph.runtime.summary.event_files:_NUMBERS": "in the names of files: two of a process differ",
    # What is known of objects that others made, for as long as they live.
    "autograph.runtime.state.variables:_ORDER": "which Variable is older",
    "autograph.runtime.staging.policy.user_classes:CLASSES": "which classes have been defined, by module",
    "autograph.runtime.signatures.callers_arrays:_LEFT": "which arrays programs have left in the place of NumPy's",
    "autograph.runtime.layouts.objects:_KINDS": "what is known of users' classes",
    "autograph.runtime.state.linked_state:_LINKED": "what stands for variables of libraries that functions have met",
    # What is to go into contexts and arguments: no line is added here.
    "autograph._api:operators": "what `from autograph import operators` in converted source means",
    "autograph.runtime.tracing.language:LANGUAGE": "what values ask of the operators, which are built on them",
    "autograph.runtime.state.commits:COMMITS": "one lock for the values of several Variables, and what programs do to them",
    "autograph.runtime.function.pickling:_FUNCTION_OF": "the Function that an anchor, which pickle can name, is of",
    # The rest is no state.
    "autograph.backends.xla.raising:RAISES": "an effect, of which JAX asks only which it is",
    "autograph.backends.xla.recursive_calls:CALLS": "an effect",
    "autograph.runtime.containers.extents:UNBOUNDED": "a bound that nobody changes",
    "autograph.runtime.heap.object_graph:_EMPTY": "a cell that nobody fills",
    "autograph.runtime.state.commits:_NAME": "an iterator that does not end",
    "autograph.runtime.function.program_state:_AT_ONCE": "an iterator that does not end",
}
# Who reads the interpreter's frames, its counts of references or its collector, and what for.
INTERPRETER = {
    ("autograph.runtime.tracing.locations", "sys._getframe"): "the user's line that is running, for messages",
    ("autograph.runtime.function.notebooks", "sys._getframe"): "the number of the cell that is running",
    ("autograph._convert", "gc"): "no collection while a tree is built, which makes no garbage",
}
# Functions that keep what they have returned, which depends on their arguments alone: on code, classes and files.
CACHES = {
    "autograph.runtime.effects.characters:_runs",
    "autograph.runtime.effects.characters:_step_to",
    "autograph._api:_xla_operators",
    "autograph.backends.xla.jax_compat:_ref_classes",
    "autograph.backends.xla.jax_compat:running_trace",
    "autograph.backends.xla.leaf_types:_known_type",
    "autograph.backends.xla.leaf_types:as_struct",
    "autograph.backends.xla.optimize.strength:_text",
    "autograph.backends.xla.statements:_known_literal",
    "autograph.runtime.code.code_names:names_in",
    "autograph.runtime.code.code_names:names_of",
    "autograph.runtime.code.pure_python:_namespace",
    "autograph.runtime.containers.padded_functions:_by_function",
    "autograph.runtime.data.dataset:_shared_element",
    "autograph.runtime.effects.written_state:_uses",
    "autograph.runtime.explorer.page:_file",
    "autograph.runtime.tracing.locations:is_installed",
    "autograph.runtime.heap.holders:_imported_by",
    "autograph.runtime.staging.policy.arithmetic_code:_is_plain",
    "autograph.runtime.staging.policy.recursive_code:_calls_first_argument",
    "autograph.runtime.staging.policy.recursive_code:_names",
    "autograph.runtime.staging.policy.user_classes:_is_changed",
    "autograph.runtime.staging.policy.user_classes:_writes",
    "autograph.runtime.state.linked_state:_link",
}
# Dicts that are written as the JSON that they describe.
SCHEMAS = "autograph.runtime.saving.manifest"
_UNCHANGING = (
    *(int, float, complex, str, bytes, type(None), range, type, np.generic, np.dtype, Primitive, re.Pattern),
    *(
        types.FunctionType,
        types.BuiltinFunctionType,
        types.ModuleType,
        types.GenericAlias,
        types.UnionType,
        types.CodeType,
    ),
    *(types.MethodDescriptorType, types.WrapperDescriptorType, operator.attrgetter, __future__._Feature),
    *(jax.core.ShapedArray, jax.sharding.Mesh, logging.Logger, enum.Enum, Layout, lazy),
    *(type(threading.Lock()), type(threading.RLock()), type(functools.cache(int))),
)
PACKAGE = {
    name: path
    for name, path in modules().items()
    if not name.startswith("autograph.tools") and name != "autograph.__main__"
}


def bound(tree: ast.Module) -> Iterator[str]:
    """The names that a module's own statements bind, those of functions and classes included."""
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name
        elif not isinstance(statement, ast.ClassDef | ast.Import | ast.ImportFrom):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def is_unchanging(value: Any) -> bool:
    if isinstance(value, tuple | frozenset):
        return all(map(is_unchanging, value))
    if isinstance(value, types.MappingProxyType):
        return all(map(is_unchanging, value.values()))
    if isinstance(value, types.MethodType):
        return is_unchanging(value.__self__)
    if isinstance(value, _UNCHANGING) or type(value) is object or type(value).__module__ == "typing":
        return True
    if dataclasses.is_dataclass(value) and type(value).__dataclass_params__.frozen:
        return all(is_unchanging(getattr(value, field.name)) for field in dataclasses.fields(value))
    if callable(value) and type(value).__module__.partition(".")[0] in ("jax", "jaxlib", "numpy"):
        return True
    # A name for something: of a class of ours whose objects have no attributes.
    has_attributes = any(getattr(kind, "__slots__", ("__dict__",)) for kind in type(value).__mro__[:-1])
    return type(value).__module__.startswith("autograph.") and not has_attributes


@functools.cache
def changing() -> dict[str, Any]:
    """What the package's modules hold that can change, by module and name."""
    found = {}
    for name, path in PACKAGE.items():
        module = importlib.import_module(name)
        for key in set(bound(ast.parse(path.read_text(encoding="utf-8")))):
            value = getattr(module, key, None)
            if not key.startswith("__") and not is_unchanging(value):
                found[f"{name}:{key}"] = value
    return found


def test_modules_hold_nothing_that_changes_but_what_is_listed():
    found = {place for place, value in changing().items() if not isinstance(value, threading.local)}
    found = {place for place in found if place.partition(":")[0] != SCHEMAS}
    assert found == set(PROCESS)


def test_functions_that_keep_what_they_have_returned():
    found = {
        f"{name}:{key}"
        for name in PACKAGE
        for key, value in vars(importlib.import_module(name)).items()
        if hasattr(value, "cache_info") and value.__module__ == name
    }
    assert found == CACHES


def test_classes_whose_objects_each_thread_has_for_itself():
    found = set()
    for name, path in PACKAGE.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            made = node.bases if isinstance(node, ast.ClassDef) else [node.func] if isinstance(node, ast.Call) else []
            if any(ast.unparse(each).rpartition(".")[2] in ("local", "ContextVar") for each in made):
                found.add(name)
    assert found == {place.partition(":")[0] for place in THREAD}


def test_what_is_asked_of_the_interpreter():
    found = set()
    for name, path in PACKAGE.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("_getframe", "getrefcount", "_current_frames"):
                found.add((name, ast.unparse(node)))
            elif isinstance(node, ast.Import) and any(alias.name == "gc" for alias in node.names):
                found.add((name, "gc"))
    assert found == set(INTERPRETER)


@pytest.mark.parametrize("value", [[], {}, {1}, ([],), types.MappingProxyType({"a": []}), threading.local()])
def test_what_can_change(value):
    assert not is_unchanging(value)
