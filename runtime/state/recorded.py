"""`Recording`: the program of a function for given argument types, and the Variables that it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograph.runtime.state.held import Constant
from autograph.runtime.state.variables import Frame, staging, touched_by


class StateNeeded(BaseException):
    """A recording touches Variables that the compiled function is not given, or creates some.

    Attributes: key (of the recording).

    No `Exception`: between the recording and the call that knows what to do, nobody is to catch it.
    """

    def __init__(self, key: Any = None) -> None:
        super().__init__()
        self.key = key


# A closure's array of so many bytes is an input of the program: baked in, XLA would read it while compiling, and hold
# a copy. Below, a call with one more input costs more.
_LARGE_CONSTANT = 2**20


class Recording:
    """What was recorded for one set of array types. Attributes: tree (of the results), touched and created
    Variables, changes (of the arguments), held (for the position of each large constant, what holds it).
    """

    def __init__(self, program: Any, tree: Any, count: int, frame: Frame) -> None:
        self.program = program
        self.tree = tree
        self.count = count
        self.created = frame.created
        self.changes = frame.changes
        self.has_effects = staging().has_effects(program)
        self.may_raise = staging().may_raise(program)
        self.is_bound = staging().is_bound(program)
        large = {} if self.is_bound else staging().large_constants(program, _LARGE_CONSTANT)
        self.held = {position: Constant(array) for position, array in large.items()}
        self._variables = touched_by(program)
        self.touched = [*self._variables, *((held, False) for held in self.held.values())]

    def given(self, values: Mapping[int, Any]) -> tuple[Any, list[Any], list[Any]]:
        """The program with values, by identity, for all it touches: itself, the Variables' stand-ins and their values."""
        program = self.program
        if self.held:
            constants = {position: values[id(held)] for position, held in self.held.items()}
            program = staging().with_constants(program, constants)
        variables = [variable for variable, _ in self._variables]
        return program, [v._standing() for v in variables], [values[id(v)] for v in variables]
