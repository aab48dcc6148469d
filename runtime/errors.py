"""The public exception and warning classes, and the format of source locations in messages.

Standard library only, so that the compiler, the runtime, the backends and the tools may all import it.
"""

from __future__ import annotations

import linecache
import sys
from typing import Any


class ConversionError(Exception):
    """A function could not be converted: its source is not available, has changed since import, or is not supported.

    The message names the file, the line, the construct and a remedy.

    >>> raise ag.ConversionError("no source")
    Traceback (most recent call last):
    ...
    autograph.runtime.errors.ConversionError: no source
    """


class NoArrayHoldsIt(OverflowError):
    """What JAX raises of an int that no array holds, of a value that may be one: an operator that is asked may do without."""


class NoArrayOfKinds(TypeError):
    """JAX asks what may be a number, or something else, for an array: an operator that is asked may do without."""


class StagingError(TypeError):
    """A statement on traced values cannot be staged.

    For example: branches that differ in structure, a loop-carried variable that changes shape, a possibly undefined
    variable that is read. The message names the user's file and line, the statement, the variable, the conflicting
    types, and a remedy.

    >>> issubclass(ag.StagingError, TypeError)
    True
    """

    _is_endless = False  # whether Python's stack has not been deep enough to trace it
    _is_of_argument = False  # whether a recursive function writes to a list or dict that a call in it has made
    _differing: frozenset[str] = frozenset()  # the variables, if it is about such, that have no one type
    _containers: tuple[Any, ...] = ()  # those that have none, of which a trace may have its own


class ArgumentsChanged(StagingError):
    """A program changes its arguments in place, and nothing writes that into the caller's.

    Attributes:
      program: that program.
      changes: what it changes.
      called: the function that was called in a trace.
      inlined: what to call instead, as a part of that trace.
    """

    def __init__(self, program: Any, changes: Any, called: Any = None, inlined: Any = None) -> None:
        super().__init__(changes.refusal)
        self.program, self.changes = program, changes
        self.called, self.inlined = called, inlined


class PartOfTrace(StagingError):
    """A function that is called in a trace is to be a part of it: objects that it returns, or containers that it reads through objects,
    are those of the trace.
    """


class TracersLeaked(StagingError):
    """The trace of a `Function` leaves tracers outside of it, and its caller may have the program write there instead.

    Attributes:
      places: what it assigns outside, each with the keys or numbers of the items that are assigned.
      signature: of the call that it is the trace of.
    """

    def __init__(self, refusal: str, places: Any, signature: Any) -> None:
        super().__init__(refusal)
        self.places, self.signature = places, signature


class StateNeeded(BaseException):
    """A recording touches Variables that the compiled function is not given, or creates some.

    Attributes: key (of the recording).

    No `Exception`: between the recording and the call that knows what to do, nobody is to catch it.
    """

    def __init__(self, key: Any = None) -> None:
        super().__init__()
        self.key = key


class TooLargeIntError(StagingError, OverflowError):
    """A Python int meets a traced value, and no integer dtype of JAX can represent it."""


class TargetError(ValueError):
    """A program cannot be compiled for a target: the target does not exist, or its compiler is not installed.

    >>> issubclass(ag.TargetError, ValueError)
    True
    """


class StagingWarning(UserWarning):
    """A staged program runs, but may not do what its author intended.

    >>> issubclass(ag.StagingWarning, UserWarning)
    True
    """


class InvalidArgumentError(TypeError):
    """A concrete function was called with an argument that its signature does not accept.

    >>> issubclass(ag.InvalidArgumentError, TypeError)
    True
    """


class LoadError(Exception):
    """A directory given to `load` is not a saved model, is damaged, or was written by an incompatible version.

    The message names the file and what is wrong with it. No code from the directory was run.

    >>> issubclass(ag.LoadError, Exception)
    True
    """


class SavedError(Exception):
    """An exception that a loaded program raises, and whose class is not available here.

    The exception raised is an instance of a subclass with the name of the original class. The subclass also derives
    from the builtin exception class that the original derived from, so ``except ValueError`` catches it as before.

    Attributes:
      args: the arguments of the original exception; its other attributes are kept too.

    >>> str(ag.SavedError("too large"))
    'too large'
    """

    saved_text: str | None = None

    def __str__(self) -> str:
        return super().__str__() if self.saved_text is None else self.saved_text


def cell_of(filename: str) -> str | None:
    """What IPython calls the cell that it compiled under this file name, as in ``Cell In[3]``; None if this is no cell's."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    name = getattr(getattr(get_shell(), "compile", None), "format_code_name", lambda _: None)
    found = name(filename)
    return None if found is None else " ".join(found)


def place_of(filename: str, lineno: int) -> str:
    """Return ``file:line``; of a cell of a notebook ``Cell In[3], line 2``.

    >>> place_of("train.py", 3)
    'train.py:3'
    """
    cell = cell_of(filename)
    return f"{filename}:{lineno}" if cell is None else f"{cell}, line {lineno}"


def describe_location(filename: str, lineno: int) -> str:
    """Return `place_of` followed by that line's text, where the text can be had.

    >>> describe_location("<nowhere>", 3)
    '<nowhere>:3'
    """
    text, place = linecache.getline(filename, lineno).strip(), place_of(filename, lineno)
    return f"{place}: {text}" if text else place
