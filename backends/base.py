"""The `Backend` protocol: the operations that the operators need from a backend.

An operator runs each block of a statement once, under `Backend.trace`, and gets a `Traced` program whose results
are *leaves*: Python objects where the block returned plain ones, `Output` where it returned traced arrays. The operator
matches the leaves of the blocks variable by variable; the backend determines their types and emits one staged
statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from autograph.backends.described import Exported, Node
from autograph.backends.exceptions import RaiseSite, Received
from autograph.backends.recursive import Recursions


@dataclass(frozen=True)
class LeafType:
    """Shape, dtype and weakness of one array leaf; prints as ``float32[3]`` (``~`` marks a weak type).

    ``sharding``, the backend's own, says how such arrays lie where that is part of their type: on a mesh with axes of the type Explicit.
    ``varying`` names the axes of a mesh along which they differ from device to device, where that is: inside `jax.shard_map`.
    """

    shape: tuple[Any, ...]
    dtype: Any
    weak_type: bool = False
    sharding: Any = field(default=None, repr=False)
    varying: frozenset[Any] = field(default=frozenset(), repr=False)

    def strong(self) -> LeafType:
        """The same type, not weak."""
        return replace(self, weak_type=False) if self.weak_type else self

    def __str__(self) -> str:
        shape = ",".join(str(size) for size in self.shape)
        return f"{'~' if self.weak_type else ''}{self.dtype}[{shape}]"


@dataclass(frozen=True)
class Output:
    """A leaf that the traced program computes: its place among the results, and its type."""

    index: int
    type: LeafType


class Missing:
    """The leaf of a variable that a path leaves unbound: any value of the other path's type will do."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unbound"


MISSING = Missing()


@dataclass(frozen=True)
class Traced:
    """One block as a program. ``program`` is the backend's own; ``leaves`` are what the block returned, in order."""

    program: Any
    leaves: tuple[Any, ...]


@dataclass(frozen=True)
class LoopSpec:
    """A staged loop with fixed types.

    Attributes:
      body: program of (carry…, index, slices…) → leaves.
      test: program of (carry…) → truth, or None for a loop that runs to its bound.
      carry: for each carried leaf its start value and its type.
      inputs: how many of them iterations see: the programs' first operands. The rest only come out.
      results: for each carried leaf, the leaf of ``body`` that is its next value; None where it never changes.
      length: trip count or bound, int or traced; None for no bound.
      arrays: what each iteration takes one slice of.
      checkpoints: how many states a reverse pass may keep; None lets the backend choose.
      limit, step: a bound of a traced length, if one is known; how many iterations are taken at once.
      stride: the step of the range that the loop runs over; None if it runs over something else.
    """

    body: Traced
    test: Traced | None
    carry: Sequence[tuple[Any, LeafType]]
    inputs: int
    results: Sequence[Any]
    length: Any
    arrays: Sequence[Any]
    checkpoints: int | None = None
    limit: int | None = None
    step: int = 1
    stride: Any = None


class NotRollable(BaseException):
    """A loop that runs in Python cannot be made one staged loop with the same results; the text says why.

    A `BaseException`, as no ``except Exception`` of the program is for it.
    """


@dataclass(frozen=True)
class RolledLoop:
    """A loop that Python could run, over a range or by a test of Python numbers, as one staged loop.

    Attributes:
      spec: the loop, in which the leaves that hold Python numbers are not carried.
      numbers: for those that change, by position, the number that each holds in the end.
    """

    spec: LoopSpec
    numbers: dict[int, Any]


class Backend(Recursions, Protocol):
    """What an operator needs. `backends.python` answers that nothing is traced; `backends.xla.control_flow` stages."""

    def is_traced(self, value: Any) -> bool:
        """Whether ``value`` has no concrete value now, so that a statement on it must be staged."""

    def is_eager(self) -> bool:
        """Whether no transform is active, so that every value is concrete."""

    def around_another(self, called: Any, replace: Callable[[Any], Any], begun: Callable[[Any], object]) -> Any:
        """What a transform of JAX's has made, such as ``jax.jit(f)``, made of what ``replace`` returns for its functions.

        None if it is no such object, or cannot be made again. ``begun`` gets the new object before its rules are replaced.
        """

    def rules_of(self, called: Any) -> tuple[Any, ...]:
        """The rules that an object of `jax.custom_jvp` or `jax.custom_vjp` has now; empty of anything else."""

    def compilation_options(self, jitted: Any) -> dict[str, Any] | None:
        """What `jax.jit` was called with; None of what it has not made."""

    def keeps_traces(self, transformed: Any) -> bool:
        """Whether this is of a transform that traces its function once for many calls, such as ``jax.jit(f)``."""

    def is_tracing(self) -> bool:
        """Whether array operations are being recorded rather than run."""

    def is_array(self, value: Any) -> bool:
        """Whether ``value`` is an array of this backend, traced or not."""

    def indexed_by_at(self, value: Any) -> Any:
        """The array that ``value`` is the ``at`` of; None if it is that of none."""

    def predicate(self, value: Any) -> Any:
        """The truth of a traced value as a scalar bool. ``ValueError`` if it has more than one element."""

    def trace(
        self, block: Callable[..., Sequence[Any]], operand_types: Sequence[LeafType], unchanged: Sequence[Any] = ()
    ) -> Traced:
        """Run ``block`` once on stand-ins of these types. Leaves that are ``unchanged``, to which it may add, stay the same."""

    def blocks_around(self) -> Sequence[Any]:
        """The traces of the blocks around here, innermost first, up to one that is not of a block: JAX's own, or a Function's."""

    def is_small(self, array: Any) -> bool:
        """Whether an operation on this array costs less than choosing whether to run it."""

    def untraced(self, leaves: Sequence[Any]) -> Traced:
        """A block that computes nothing, and has these leaves."""

    def with_results(
        self, traced: Traced, more: Sequence[tuple[Output, Callable[[Any], Any]]]
    ) -> tuple[Traced, list[Output]]:
        """The same program with more results, which are not among its leaves: each a function of one that it has."""

    def strengthened(self, traced: Traced, operands: Sequence[int]) -> Traced | None:
        """The same program for operands that are not weak where they were; None if it would have come out otherwise."""

    def type_of(self, leaf: Any) -> LeafType | None:
        """The type of a leaf that can be an array (Python numbers included), else None."""

    def line_of(self, traced: Traced, leaf: Any) -> str | None:
        """The user's line, ``file:line``, that computes a leaf of a program; None where that is not known."""

    def join(self, left: LeafType, right: LeafType) -> LeafType | None:
        """The type that holds values of both, by JAX's promotion; None where shapes differ or dtypes do not mix."""

    def has_ended(self, value: Any) -> bool:
        """Whether ``value`` was traced in a trace that is over, so that nothing can be computed from it."""

    def cond(
        self, predicate: Any, branches: Sequence[tuple[Traced, Sequence[Any]]], types: Sequence[LeafType]
    ) -> list[Any]:
        """One of two programs' leaves, each cast to its type."""

    def loop(self, spec: LoopSpec) -> list[Any]:
        """Run a staged loop; return the last value of each carried leaf."""

    def known_result(self, spec: LoopSpec, position: int) -> int | None:
        """What an integer of a loop's carry is in the end, if that is known already."""

    def alike(self, spec: LoopSpec) -> Sequence[Mapping[int, bool]]:
        """Groups of positions in a loop's carry that hold equal truth values after it, or opposite ones where they differ here."""

    def at_most(self, spec: LoopSpec, position: int, starts: Mapping[int, int], trips: int | None) -> int | None:
        """The most that an integer of a loop's carry is after up to ``trips`` iterations (None: any number), if its program tells.

        Args:
          starts: what integers of the carry are at most before it, and not less than 0.
        """

    def rolled(self, spec: LoopSpec) -> RolledLoop | None:
        """The loop with what it computes from Python numbers alone computed here; None if it does nothing else.

        A test, which must be computed from Python numbers alone, is run here, too: its loop has a length.

        Raises:
          NotRollable: that would not have Python's result.
        """

    def iterations(self, spec: LoopSpec) -> int | None:
        """How often a loop runs whose test is of Python numbers alone; None if that is all it computes with.

        Raises:
          NotRollable: it cannot be said without running the loop.
        """

    def operations(self, traced: Traced) -> int:
        """How many operations a program is to compile: those of the programs in it once, and a branch or loop as several."""

    def operations_recorded(self) -> int:
        """How many operations have been recorded here, at the outermost level, of the program that is being recorded."""

    def copy_constants(self) -> None:
        """Let what is computed from now on keep the elements that arrays of NumPy's have then: they may be written to later."""

    def has_copied_constants(self) -> bool:
        """Whether that has been done to an array: a value may hold elements of one, as they were."""

    def zeros(self, type: LeafType) -> Any:
        """A value of this type."""

    def select(self, which: Any, values: Sequence[Any], type: LeafType) -> Any:
        """``values[which]``, a traced number or truth, of values of this shape; zeros where one is `MISSING`."""

    def window(self, array: Any, starts: Sequence[Any], sizes: Sequence[int]) -> Any:
        """The part of an array of these sizes that begins at ``starts``, moved inside the array where it is not."""

    def put_window(self, array: Any, window: Any, starts: Sequence[Any]) -> Any:
        """The array with a part of it replaced, at the place that `window` reads with the same ``starts``."""

    def is_static(self, traced: Traced, static_operands: set[int]) -> bool:
        """Whether the program's first result is computed from nothing but literals and these operands."""

    def operands_used(self, traced: Traced) -> tuple[set[int], dict[int, int]]:
        """The operands that the program computes with, and the operand that each result is, if it is one."""

    def test_is_static(self, spec: LoopSpec, static_leaves: set[int]) -> bool:
        """Whether the loop's test, run in Python, would stay a plain bool.

        It would if it is computed from nothing but Python numbers: ``static_leaves`` are the carried leaves that
        start as such.
        """


class Artifact(Protocol):
    """A program that came from elsewhere.

    Attributes:
      inputs, outputs: the types of its operands and results; a symbolic dimension is a str.
      platforms: what it runs on.
      devices: on how many devices it runs.
      derivatives: how many orders of derivatives it has.
    """

    @property
    def inputs(self) -> Sequence[LeafType]: ...

    @property
    def outputs(self) -> Sequence[LeafType]: ...

    @property
    def platforms(self) -> tuple[str, ...]: ...

    @property
    def devices(self) -> int: ...

    @property
    def derivatives(self) -> int: ...

    def call(self, *operands: Any) -> list[Any]:
        """Run it, or record that it runs."""


class Staging(Protocol):
    """How Variables stand in programs that are being recorded. `backends.xla.staging` is its implementation.

    A *place* is where array operations go now: run, recorded, mapped or differentiated, one within another. A
    *stand-in* is what a Variable's value is read from and written to while a program is recorded.
    """

    def stand_in(self, type: LeafType, owner: Any) -> Any:
        """A new stand-in for the value, of this type, of ``owner``, which it does not keep alive."""

    def owner(self, stand_in: Any) -> Any:
        """What a stand-in represents; None if that is no more."""

    def read(self, stand_in: Any) -> Any:
        """Record a read."""

    def write(self, stand_in: Any, value: Any) -> None:
        """Record a write."""

    def place(self) -> Any:
        """Where array operations go now."""

    def is_plain(self, place: Any) -> bool:
        """Whether operations run at once, on values."""

    def is_outside(self) -> bool:
        """Whether operations run at once, on values, here."""

    def running(self) -> tuple[Callable[[None], Any], Any]:
        """A function and a value: operations run at once, on values, while the function of None returns that very value."""

    def is_recording(self, place: Any) -> bool:
        """Whether operations are, at some level, recorded to run later."""

    def is_mapped(self, place: Any, within: Any = None) -> bool:
        """Whether this place is under a ``vmap``; of those begun inside ``within``, if that is given."""

    def is_divided(self) -> bool:
        """Whether each device of a mesh runs by itself what is recorded, as in `jax.shard_map`."""

    def is_within(self, place: Any, outer: Any) -> bool:
        """Whether ``place`` is ``outer`` or was begun inside it."""

    def is_directly_in(self, place: Any, outer: Any) -> bool:
        """Whether ``place`` was begun in ``outer``, with nothing between; None represents where operations run."""

    def row_type(self, type: LeafType) -> LeafType:
        """The type of what an array of this type has along its first axis."""

    def viewed(self, value: Any) -> Any:
        """The value of which this one is what NumPy calls a view: its elements in another order or shape, or some of them; else None."""

    def with_whole_rows(self, array: Any) -> Any:
        """The array with all of its rows on each device, where its type says that they are spread over several."""

    def power_modulo(self, base: Any, exp: Any, mod: Any) -> tuple[Any, Any]:
        """``pow(base, exp, mod)`` of integers, and whether the base has an inverse where the exponent is negative.

        ``mod`` is not zero, and Python integers fit the program's, except for the exponent.
        """

    def no_rows(self, type: LeafType) -> Any:
        """An array of no values of this type, which lies as those do where that is part of the type."""

    def more_room(self, count: Any, buffer: Any) -> Any:
        """Zeros for ``count`` more rows of an array, which lie as its rows do."""

    def in_room(self, values: Any, capacity: int) -> Any:
        """An array with room for so many rows, at least as many as now: the further ones are copies of the first, or ones."""

    def in_rows_of(self, buffer: Any, type: LeafType) -> Any:
        """An array whose rows lie as values of this type do, where that is part of the type and they are cut."""

    def type_of(self, value: Any) -> LeafType:
        """The type of an array or a number."""

    def is_differentiated(self, value: Any, place: Any) -> bool:
        """Whether ``value`` has a derivative here."""

    def without_derivative(self, value: Any) -> Any:
        """``value`` as a constant to whatever differentiates here."""

    def concrete(self, value: Any) -> Any:
        """The value of an array that is being differentiated; raises if it has none now."""

    def record(self, block: Callable[..., Sequence[Any]], arrays: Sequence[Any]) -> Any:
        """Run ``block`` once on stand-ins of these arrays; return the program of what it computes."""

    def opened(self, function: Callable[..., Any], operands: Sequence[Any]) -> tuple[list[Any], Callable[..., Any]]:
        """What ``function`` closes over, and a function of that and of the operands' arrays, for its results."""

    def stand_ins(self, program: Any) -> list[tuple[Any, bool]]:
        """The stand-ins that a recorded program touches, and whether it writes each."""

    def run(
        self, program: Any, arrays: Sequence[Any], stand_ins: Sequence[Any], values: Sequence[Any]
    ) -> tuple[list[Any], list[Any], Any]:
        """Run a recorded program, ``values`` being those of its stand-ins before it.

        Return its results, the values after it, and what `raise_if` takes for the exception that it may raise; None
        if there can be none.
        """

    def raise_if(self, code: Any, payloads: Sequence[Sequence[Any]], sites: Sequence[RaiseSite]) -> None:
        """Raise, at run time if need be, the exception whose number ``code`` is, from 1; none where it is 0.

        ``payloads`` are the values that the exception of each site would carry.
        """

    def receiving(self, catches: Callable[[RaiseSite], bool]) -> AbstractContextManager[Received]:
        """Receive the exceptions of these sites, of which operations that are recorded directly here raise the first."""

    def is_clear(self) -> Any:
        """Whether no exception has been received here; traced, if it is known only at run time."""

    def is_of(self, value: Any, place: Any) -> bool:
        """Whether a traced value may be used at a place: it is of the trace there, or of one around it."""

    def run_part(
        self,
        program: Any,
        arrays: Sequence[Any],
        stand_ins: Sequence[Any],
        values: Sequence[Any],
        outputs: range,
    ) -> list[Any]:
        """Some of a program's results, without the effects that they do not need."""

    def has_effects(self, program: Any) -> bool:
        """Whether a recorded program calls Python or prints when it runs."""

    def calls_python(self, program: Any) -> bool:
        """Whether a recorded program calls Python in any way when it runs, without effects and for debugging included."""

    def sites(self, program: Any) -> Sequence[RaiseSite]:
        """What a recorded program may raise."""

    def may_raise(self, program: Any) -> bool:
        """Whether a recorded program may raise an exception."""

    def is_bound(self, program: Any) -> bool:
        """Whether a recorded program holds values of a trace around it."""

    def large_constants(self, program: Any) -> dict[int, Any]:
        """By position, the arrays that a recorded program holds and that are inputs rather: those of at least a mebibyte, or
        spread over several processes.
        """

    def with_constants(self, program: Any, constants: Mapping[int, Any]) -> Any:
        """A recorded program with other values for those constants."""

    def undecided_sizes(self) -> Collection[tuple[str, int]]:
        """The lines (file and number) whose ``==`` of symbolic sizes could have turned out either way, in the trace that is made."""

    def forget_compared_sizes(self) -> None:
        """The trace that is made begins again."""

    def settings(self) -> Any:
        """The settings under which programs are recorded now, as a key."""

    def wait(self, results: Any) -> None:
        """Wait until these results, and what was to be printed, are there."""

    def call_python(self, function: Callable[..., Any], types: Any, arrays: Sequence[Any]) -> Any:
        """Record a call of ``function`` with NumPy arrays, in order with all others.

        ``types`` are those of its results. After an error it is called only if it has an attribute ``runs_always``.
        """

    def show(self, function: Callable[..., Any], arrays: Sequence[Any]) -> None:
        """Record a call of ``function``, which looks at arrays and returns nothing, in order with all others."""

    def tape(self) -> Tape:
        """A new tape."""

    def traced(self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function of arrays, or of types of arrays, in pytrees, as `jax.stages.Traced`."""

    def lowered(
        self, program: Any, operands: Sequence[Any], platforms: Sequence[str] | None, options: Mapping[str, Any]
    ) -> Any:
        """A compiler's program for operands of these types, under ``options``, for these platforms (None: the one that is here)."""

    def drawn(self, program: Any, inputs: Sequence[tuple[str, str]], outputs: Sequence[str]) -> list[Node]:
        """A closed jaxpr as nodes; ``inputs``: name and operation of those of its operands, ``outputs``: names of its results."""

    def exported(self, program: Any, name: str, platforms: Sequence[str] | None, derivatives: int | None) -> Exported:
        """A program (a closed jaxpr without state) as StableHLO that may leave the process.

        Args:
          program: it.
          name: what messages call it.
          platforms: what it is to run on; None for the platform that is here.
          derivatives: how many orders of derivatives go with it; None for one, or none where there is none.

        Raises:
          StagingError: it calls Python when it runs, or has no derivative of that order.
        """

    def artifact(self, data: bytes) -> Artifact:
        """The program that `exported` made ``data`` of.

        Raises:
          ValueError: it is none.
        """

    def weak(self, value: Any) -> Any:
        """The same array, of weak type."""

    def number(self, value: Any, kind: type) -> Any:
        """A scalar as a number of Python's of this class: of weak type, and of the dtype that such numbers have."""

    def retyped(self, value: Any, type: LeafType) -> Any:
        """The array with the dtype of a type, weak where that is weak."""

    def accept(self, kind: type, read: Callable[[Any], Any], type_of: Callable[[Any], LeafType]) -> None:
        """Let JAX's functions take objects of this class for the arrays that ``read`` returns."""


class Tape(Protocol):
    """A record of the operations that run, from which derivatives are taken. Values are distinguished by identity."""

    def start(self) -> None:
        """Record from here on, in addition to what is recorded already."""

    def stop(self) -> None:
        """Record no more."""

    def pause(self, is_paused: bool) -> None:
        """Whether to let operations pass unrecorded, while it has started."""

    def forget(self) -> None:
        """Drop what is recorded."""

    def known_as(self, array: Any) -> Any:
        """What represents an array in the record: of NumPy's a copy, None if no operation took it."""

    def first_value(self, stand_in: Any) -> Any:
        """What was first read from a stand-in, None if it was not read before it was written."""

    def reaches(self, targets: Sequence[Any], source: Any) -> bool:
        """Whether any target was computed from the source (a value, or a stand-in)."""

    def gradient(
        self, targets: Sequence[Any], sources: Sequence[Any], values: Sequence[Any], weights: Sequence[Any]
    ) -> list[Any]:
        """The derivatives of the targets' weighted sum by the sources, at these values.

        Weights may be None, for ones.
        """

    def jacobian(self, target: Any, sources: Sequence[Any], values: Sequence[Any], is_batch: bool) -> list[Any]:
        """The derivatives of each element of the target by the sources; ``is_batch``: of its sum over the first axis."""


class Data(Protocol):
    """What a dataset on the device needs. `backends.xla.data` is its implementation."""

    def rows(self, array: Any, positions: Any) -> Any:
        """The rows of an array at these positions, of any shape, which are in range."""

    def block(self, array: Any, start: Any, size: int) -> Any:
        """So many rows from ``start`` on, all in range."""

    def shuffled(self, positions: Any, size: int, words: tuple[Any, ...]) -> Any:
        """Where positions below ``size`` lead in the random order that these numbers choose: no two to the same."""

    def over_rows(self, function: Callable[[Any], Any], rows: Any) -> Any:
        """``function`` of each row, all at once; None if it has effects, which have an order."""

    def shapes(self, function: Callable[..., Any], *operands: Any) -> Any:
        """The types of what ``function`` returns for operands of these types."""
