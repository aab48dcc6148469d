"""What goes on in a thread, of which runtime and backend have their parts here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any


def _nowhere(_: Any) -> None:
    return None


class _Thread(threading.local):
    """What goes on in this thread: the only object of which each thread has its own.

    Attributes:
      frame: the innermost recording, a `variables.Frame`, or None.
      followed: the arrays of the caller's whose writes a trace is to report, a `caller_arrays.Followed`, or None.
      places: whether the NumPy arrays that the program makes are places in it, which all names see the writes to; see `ArraysHeld`.
      in_library: how many functions of a library's, around what runs here, are given such places.
      callers: the numbers of the arrays that the call which runs here is to write into; None where no call has said.
      called: the `Function` that converted code calls now, which its trace can make a part of itself; None if there is none.
      context: what operators know of the program that is traced, a `staging.context.Context`; None before any has asked.
      raising: what surrounds what runs, as far as exceptions go, a `raising.Current`; likewise.
      effects: how many effects were recorded: writes to Variables, prints, calls of Python.
      raised: how many of them were exceptions.
      raised_at_once: how many of those are raised where they are recorded, or not at all.
      tapes: the `GradientTape`s that record here, outermost first.
      receivers: the exceptions that ``try`` statements catch where code is recorded, outermost first; see the backend.
      in_callback: whether a compiled program is calling Python here.
      linked: the classes whose objects are references in the program that is traced; see `layouts.references`.
      has_perhaps: whether the program that is traced has dicts or objects that may lack something; see `Perhaps`.
      repeated: what the trace knows if it is made again, a `recording.Repeated`; None outside of traces.
      outside: what an object from outside the function traced now is called there; None for any other.
      roots: what leads to the objects from outside that function, by name.
      written: by id, the containers outside the function traced now that its program writes when it runs.
      asked: the identities of the containers of Python's whose contents the trace has asked for.
      called_later: where the functions are defined that the program traced now calls when it runs, see `code_names.place_of`.
      called_now: where those are that its trace calls; None outside of traces.
      facts: what the branches being traced know: for each ``present`` of an `Optional`, by identity, whether it is true there;
        for the number of a `OneOf`, which candidates it may be.
      blocks: the traces of the blocks of statements that are being traced, outermost first.
      paths: the branches that are being traced, outermost first: each its predicate, whether it runs where that holds, and the
        trace of its block; see `recording.on_path`.
      counts: by id, the lengths and masks of arrays of traced length; see `PaddedArray`.
      summary_default: the writer and the step of summaries, as an array.
      summary_step: the Variable that this thread made the default step last.
      summary_writers: the numbers and steps of the writers entered where no default can be kept, innermost last.
    """

    frame: Any = None
    followed: Any = None
    places: bool = False
    in_library = 0
    callers: Any = None
    called: Any = None
    context: Any = None
    raising: Any = None
    effects = 0
    raised = 0
    raised_at_once = 0
    in_callback = False
    has_perhaps = False
    repeated: Any = None
    linked: frozenset[type] = frozenset()
    tapes: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.receivers: list[Any] = []
        self.written: dict[int, Any] = {}
        self.asked: set[int] = set()
        self.called_later: set[Any] = set()
        self.called_now: set[Any] | None = None
        self.facts: list[tuple[Any, Any]] = []
        self.blocks: list[Any] = []
        self.paths: list[tuple[Any, bool, Any]] = []
        self.counts: dict[int, Any] = {}
        self.summary_default: Any = None
        self.summary_step: Any = None
        self.summary_writers: list[tuple[int, Any]] = []
        self.outside: Callable[[Any], str | None] = _nowhere
        self.roots: Callable[[], Iterable[tuple[str, Any]]] = tuple


LOCAL = _Thread()
