"""The corpus itself: every program runs in plain Python, and its examples reach every line of it."""

import collections
import dis
import importlib
import sys
import types

import pytest

from tests.agreement import expected
from tests.corpus import all_programs

PROGRAMS = all_programs()
MODULES = sorted({program.function.__module__ for program in PROGRAMS})


def executable_lines(code: types.CodeType) -> set[int]:
    """The lines of a module's functions that hold an instruction, without the `def` lines and docstrings."""
    lines: set[int] = set()
    for nested in (c for c in code.co_consts if isinstance(c, types.CodeType)):
        if nested.co_flags & 0x2:  # CO_NEWLOCALS: a function, as a class body is not
            header = nested.co_firstlineno
            lines |= {line for _, line in dis.findlinestarts(nested) if line and line > header}
        lines |= executable_lines(nested)
    return lines


def lines_run_by(module: str) -> set[int]:
    """The lines of `module`'s file that plain Python runs when it runs the module's programs."""
    file = importlib.import_module(module).__file__
    seen: set[int] = set()

    def trace(frame, event, argument):
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    expected.cache_clear()
    sys.settrace(trace)
    try:
        for program in PROGRAMS:
            if program.function.__module__ == module:
                expected(program)
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("module", MODULES)
def test_examples_execute_every_line(module):
    file = importlib.import_module(module).__file__
    with open(file) as source:
        text = source.read()
    wanted = executable_lines(compile(text, file, "exec"))
    shown = text.splitlines()
    missed = sorted(wanted - lines_run_by(module))
    missed = [line for line in missed if "# pragma: no cover" not in "".join(shown[line - 2 : line])]
    assert not missed, "\n".join(f"{file}:{line}: {shown[line - 1].strip()}" for line in missed)


def test_names_are_unique():
    counts = collections.Counter(program.name for program in PROGRAMS)
    assert [name for name, count in counts.items() if count > 1] == []


def test_the_corpus_is_as_large_as_promised():
    groups = collections.Counter(program.group for program in PROGRAMS)
    assert groups["core"] >= 90
    assert groups["language"] >= 40


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_plain_python_is_repeatable(program):
    """An oracle that answers differently the second time (state left behind in a module) is none."""
    from tests.agreement import arguments, differences

    first = expected(program)
    again = tuple(program.function(*arguments(program, example)) for example in program.examples)
    for one, other in zip(first, again, strict=True):
        assert list(differences(one, other)) == []
