"""What modules hold that can change: nothing is added to it without a reason.

What belongs to one trace lives in that trace's context, what belongs to a set of options is an argument.
"""

import ast
import collections
import dataclasses
import enum
import importlib
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.rooms import modules

_TABLES = (
    *(dict, list, set, bytearray, collections.deque),
    *(weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet),
)
# What one thread does, found from anywhere in it.
OF_THE_THREAD = {
    "autograph.backends.xla.receivers._ACTIVE",
    "autograph.runtime.effects.raising.CURRENT",
    "autograph.runtime.tracing.recording.LOCAL",
}
# Instances without state, that are compared by identity, and tables that nothing writes to.
CONSTANT = {
    "autograph.backends.base.MISSING",
    "autograph.backends.xla.optimize.terms._LAWS",
    "autograph.backends.xla.raising.RAISES",
    "autograph.backends.xla.recursive_calls.CALLS",
    "autograph.runtime.containers.padded.ARRAY",
    "autograph.runtime.containers.padded.ELSEWHERE",
    "autograph.runtime.containers.padded_functions._ELEMENTWISE",
    "autograph.runtime.containers.padded_functions._REDUCTIONS",
    "autograph.runtime.data.streams._OPEN",
    "autograph.runtime.layouts.join._NO_BUFFER",
    "autograph.runtime.layouts.kinds.ABSENT",
    "autograph.runtime.layouts.kinds.LEAF",
    "autograph.runtime.layouts.kinds.NEVER",
    "autograph.runtime.layouts.kinds.NOTHING",
    "autograph.runtime.layouts.statement_variables.NO_SNAPSHOT",
    "autograph.runtime.layouts.statement_variables.UNBOUND",
    "autograph.runtime.saving.manifest._BODY",
    "autograph.runtime.saving.manifest._FILE",
    "autograph.runtime.saving.manifest._PARAMETER",
    "autograph.runtime.saving.manifest._SLOT",
    "autograph.runtime.saving.manifest._SPEC",
    "autograph.runtime.saving.manifest._VARIABLE",
    "autograph.runtime.staging.statements.loop_state._NOT_BEGUN",
}
# What functions have returned, whose results depend on their arguments alone: on code, classes and files.
OF_PURE_FUNCTIONS = {
    "autograph._api._SOURCES",
    "autograph._api._xla_operators",
    "autograph.backends.xla.jax_compat._ref_classes",
    "autograph.backends.xla.jax_compat.running_trace",
    "autograph.backends.xla.optimize.strength._text",
    "autograph.runtime.code.code_names.names_in",
    "autograph.runtime.code.code_names.names_of",
    "autograph.runtime.code.pure_python._namespace",
    "autograph.runtime.containers.padded_functions._by_function",
    "autograph.runtime.data.dataset._shared_element",
    "autograph.runtime.explorer.page._file",
    "autograph.runtime.function.reads._is_installed",
    "autograph.runtime.heap.holders._imported_by",
    "autograph.runtime.layouts.objects._KINDS",
    "autograph.runtime.staging.policy.plain_code._is_plain",
    "autograph.runtime.staging.policy.recursive_code._calls_first_argument",
    "autograph.runtime.staging.policy.recursive_code._names",
    "autograph.runtime.staging.policy.user_classes._is_changed",
    "autograph.runtime.staging.policy.user_classes._writes",
    "autograph.runtime.staging.policy.wrappers.CACHE",
}
# What the user sets for the process: how much is said, what runs eagerly, which libraries are converted, default streams and writers.
OF_THE_PROCESS = {
    "autograph._verbosity._HANDLER",
    "autograph._verbosity._VERBOSITY",
    "autograph.runtime.code.library_table.TABLE",
    "autograph.runtime.function.eagerness.EAGERNESS",
    "autograph.runtime.state.random._DEFAULT",
    "autograph.runtime.summary.defaults._MADE",
    "autograph.runtime.summary.defaults._STEPS",
    "autograph.runtime.summary.tracing._CURRENT",
    "autograph.runtime.summary.writers._FILES",
}
# What is to go into contexts and arguments: no line is added here.
NOT_YET = {
    "autograph._api._CONTEXT",
    "autograph._api._PYTHON",
    "autograph._api.operators",
    "autograph.runtime.effects.failed_calls.FAILURES",
    "autograph.runtime.function.collecting.COLLECTION",
    "autograph.runtime.function.pickling._FUNCTION_OF",
    "autograph.runtime.function.program_state._DONATION",
    "autograph.runtime.function.shortcuts.SHORTCUTS",
    "autograph.runtime.layouts.one_of.CHOICES",
    "autograph.runtime.layouts.optional.CHECKS",
    "autograph.runtime.state.commits.COMMITS",
    "autograph.runtime.state.linked_state._IN_USE",
    "autograph.runtime.state.linked_state._LINKED",
    "autograph.runtime.state.linked_state._link",
    "autograph.runtime.state.variables._BY_STAND_IN",
    "autograph.runtime.tracing.recording.HELD",
    "autograph.runtime.tracing.recording.JOINT",
}


def names_bound(path: Path) -> Iterator[str]:
    """The names that a module binds to values, and its functions with a cache."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield node.name


def can_change(value: Any) -> bool:
    kind = type(value)
    if isinstance(value, _TABLES) or hasattr(value, "cache_info"):
        return True
    if not kind.__module__.startswith("autograph") or isinstance(value, type | enum.Enum):
        return False
    return not (dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen)


def test_what_modules_hold_that_can_change_is_listed_with_a_reason():
    found = set()
    for name, path in modules().items():
        if name.startswith("autograph.tools"):
            continue
        held = vars(importlib.import_module(name))
        bound = (each for each in names_bound(path) if each != "__all__")
        found |= {f"{name}.{each}" for each in bound if each in held and can_change(held[each])}
    listed = [OF_THE_THREAD, CONSTANT, OF_PURE_FUNCTIONS, OF_THE_PROCESS, NOT_YET]
    assert sum(map(len, listed)) == len(set().union(*listed))
    assert found == set().union(*listed)
