"""What a program means does not depend on who looks at it: debuggers, profilers, and whoever keeps a reference."""

import ast
import inspect
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.aliasing import HAZARDS, PROGRAMS, chosen, looped, rebound, staged
from tests.rooms import modules

N = 2
_KEPT = []
# Where frames, reference counts or the collector are asked for, and why what a program means does not depend on it.
ASKED = {
    "autograph._convert": "holds off the collector while trees are made, for speed",
    "autograph.backends.xla.compared_sizes": "tells who compared symbolic sizes, for which `jax.export` has no answer",
    "autograph.runtime.function.converted": "what functions that are not converted have passed on, to refuse writes to it",
    "autograph.runtime.heap.object_graph": "what a generator that waits holds, to find tracers in it",
    "autograph.runtime.function.notebooks": "the number of the cell that is running, for messages",
    "autograph.runtime.tracing.locations": "the user's line and function, for messages",
}


def outcome(program):
    """What the program gives, or the text of its error."""
    try:
        return jax.tree.map(np.asarray, ag.function(program)(jnp.asarray(N)))
    except ag.StagingError as error:
        return str(error).partition("\n---")[0]


def traced_by_a_debugger(program):
    def step(frame, event, arg):
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        return outcome(program)
    finally:
        sys.settrace(before)


def read_by_a_debugger(program):
    """A debugger that shows all variables of the user's functions, and keeps what they hold, as a notebook does."""

    def step(frame, event, arg):
        if frame.f_code.co_filename == inspect.getsourcefile(program):
            _KEPT.append(dict(frame.f_locals))
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        return outcome(program)
    finally:
        sys.settrace(before)
        _KEPT.clear()


def profiled(program):
    before = sys.getprofile()
    sys.setprofile(lambda *event: None)
    try:
        return outcome(program)
    finally:
        sys.setprofile(before)


KINDS = {kind.__name__ for kind in (chosen, looped, rebound, staged)}
WATCHED = [each for each in [*(program for program, _ in HAZARDS), *PROGRAMS] if each.__module__ in KINDS][::17]


@pytest.mark.parametrize("watch", [traced_by_a_debugger, read_by_a_debugger, profiled])
@pytest.mark.parametrize("program", WATCHED, ids=lambda program: program.__name__)
def test_who_looks_at_a_program_does_not_change_it(program, watch):
    alone, watched = outcome(program), watch(program)
    assert jax.tree.structure(alone) == jax.tree.structure(watched)
    for one, other in zip(jax.tree.leaves(alone), jax.tree.leaves(watched), strict=True):
        assert np.array_equal(one, other) if not isinstance(one, str) else one == other


def asks(path: Path) -> list[str]:
    """What a module asks of the interpreter about who runs and who refers to what."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in (
            "getrefcount",
            "_getframe",
            "f_back",
            "f_locals",
            "_current_frames",
        ):
            found.append(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None)]
            found += [name for name in names if name in ("gc", "getrefcount", "_getframe")]
    return found


def test_nothing_is_decided_by_frames_reference_counts_or_the_collector():
    found = {name for name, path in modules().items() if asks(path)}
    assert {name for name in found if not name.startswith(("autograph.tools", "tests"))} == set(ASKED)
