"""Runs many programs in worker processes, shrinks what fails, and adds up what came of it."""

from __future__ import annotations

import ast
import collections
import functools
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograph.tools.fuzz.programs import Program, make_program

_RESTART_AFTER = 400  # programs for one process: JAX and the converter keep something of each
_LONGEST_RUN = 15  # seconds for one program in one mode
_LONGEST = 60.0  # seconds for one program, its shrinking included

Counts = collections.Counter


@dataclass
class Report:
    """What came of one program.

    Attributes:
      seed: its number.
      failure: mode, kind and text of the first difference, and a smaller program and the input that show it.
      counts: by subject (``"run"``, ``"refused"``, ``"staged"``, ``"constructs"``).
    """

    seed: int
    failure: Failure | None = None
    counts: dict[str, Counts[str]] = field(default_factory=lambda: collections.defaultdict(collections.Counter))


@dataclass(frozen=True)
class Failure:
    seed: int
    mode: str
    kind: str
    text: str
    source: str
    inputs: tuple[Any, ...]
    original: str


def modes_of(seed: int) -> tuple[str, ...]:
    """In which ways the program of this number is run; `jit` and `function` trace alike, and take turns."""
    modes = ["eager", "function" if seed % 2 else "jit"]
    if seed % 3 == 0:
        modes.append("vmap")
    if seed % 4 == 0:
        modes.append("eager_jax")
    return tuple(modes)


def try_program(program: Program, seconds_to_shrink: float = 60.0) -> Report:
    """Run one program in its modes; shrink it if it fails."""
    # Not at the top: the process that only hands out the work needs no JAX.
    from autograph.tools.fuzz.oracle import suitable
    from autograph.tools.fuzz.runs import reason
    from autograph.tools.fuzz.shrink import shrink

    report = Report(program.seed)
    kept = suitable(program.source, program.inputs)
    if not kept:
        report.counts["run"]["unsuitable"] += 1
        return report
    report.counts["run"]["programs"] += 1
    report.counts["constructs"] = constructs(program.source)
    inputs = tuple(program.inputs[position] for position in kept)
    raises = "raise " in program.source or "assert " in program.source
    for mode in modes_of(program.seed):
        if raises and mode in ("jit", "vmap"):
            mode = "function"  # the others have no one to raise the exception when the program has run
        verdict = _run_in_time(mode, program.source, inputs)
        report.counts["run"][mode] += 1
        report.counts["staged"].update(dict(verdict.staged))
        if verdict.kind == "refused":
            report.counts["refused"][reason(verdict.text)] += 1
        if not verdict.failed:
            continue
        report.counts["run"]["differences"] += 1
        failing: tuple[Any, ...] = (inputs[verdict.input],)
        if not _fails(mode, program.source, failing, verdict):
            failing = inputs  # it takes several calls, or lanes
        smaller = shrink(
            program.source,
            functools.partial(_fails, mode, inputs=failing, like=verdict),
            seconds_to_shrink,
        )
        text = _run_in_time(mode, smaller, failing).text or verdict.text
        report.failure = Failure(program.seed, mode, verdict.kind, text, smaller, failing, program.source)
        break
    return report


class _TooLong(BaseException):
    """The alarm of `_run_in_time`; no `except Exception` of the program or of ours stops it."""


def _run_in_time(mode: str, source: str, inputs: tuple[Any, ...]) -> Any:
    """As `run_mode`; a run that does not end in Python is of kind ``hang``. XLA's loops cannot be stopped."""
    from autograph.tools.fuzz.runs import Verdict, run_mode

    def ring(*_: Any) -> None:
        raise _TooLong

    # A loop whose counter shrinking took away may be traced for ever, in a branch that Python never takes.
    before = signal.signal(signal.SIGALRM, ring)
    # Again each second: an exception out of a callback of the garbage collector comes to nothing.
    signal.setitimer(signal.ITIMER_REAL, _LONGEST_RUN, 1.0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run_mode(mode, source, inputs)
    except _TooLong:
        return Verdict("hang", f"no end within {_LONGEST_RUN} s")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _fails(mode: str, source: str, inputs: tuple[Any, ...], like: Any) -> bool:
    """Whether a program fails as another did: in kind, and a crash by the same exception."""
    from autograph.tools.fuzz.oracle import suitable

    if len(suitable(source, inputs)) < len(inputs):
        return False
    found = _run_in_time(mode, source, inputs)
    return found.kind == like.kind and (like.kind != "crash" or _exception(found.text) == _exception(like.text))


def _exception(text: str) -> str:
    """The exception in a verdict's text, up to what is particular to the program."""
    found = re.search(r"\w+(?:Error|Exception)\b.*", text)
    return "" if found is None else re.sub(r"'[^']*'|\d+", "…", found[0])[:60]


def constructs(source: str) -> Counts[str]:
    """How often each kind of statement and expression stands in a program, by its name in the syntax tree."""
    counts: Counts[str] = collections.Counter()
    deepest = 0

    def visit(node: ast.AST, depth: int, loops: int) -> None:
        nonlocal deepest
        name = type(node).__name__
        if isinstance(node, ast.If | ast.For | ast.While):
            depth += 1
            loops += not isinstance(node, ast.If)
            deepest = max(deepest, depth)
            if loops > 1 and not isinstance(node, ast.If):
                counts["nested loop"] += 1
            if node.orelse and not isinstance(node, ast.If):
                counts["loop else"] += 1
        if isinstance(node, ast.Return) and loops:
            name = "Return in a loop"
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            name = "chained Compare"
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name += " written"
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            depth = loops = 0
        if isinstance(node, ast.stmt | ast.BoolOp | ast.IfExp | ast.NamedExpr | ast.Call | ast.Lambda) or " " in name:
            counts[name] += 1
        for child in ast.iter_child_nodes(node):
            visit(child, depth, loops)

    visit(ast.parse(source), 0, 0)
    counts[f"depth {deepest}"] += 1
    return counts


# Many programs.


def run_campaign(seeds: Sequence[int], jobs: int, seconds_to_shrink: float = 60.0) -> Iterator[Report]:
    """The report of each program, as they come. One that never ends is a failure of kind ``hang``."""
    pending = collections.deque(seeds)
    workers = [_Worker(pending, seconds_to_shrink) for _ in range(jobs)]
    try:
        while any(worker.busy for worker in workers):
            ready = multiprocessing.connection.wait([w.pipe for w in workers if w.busy], timeout=1.0)
            for worker in workers:
                if worker.busy and worker.pipe in ready:
                    report = worker.receive()
                    if report is not None:
                        yield report
                elif worker.busy and time.monotonic() - worker.since > _LONGEST + seconds_to_shrink:
                    yield worker.give_up("hang")
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process and what it is working on."""

    def __init__(self, pending: collections.deque[int], seconds_to_shrink: float) -> None:
        self.pending = pending
        self.seconds_to_shrink = seconds_to_shrink
        self.busy = True
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, self.seconds_to_shrink), daemon=True)
        self.process.start()
        theirs.close()
        self.done = 0
        self._next()

    def _next(self) -> None:
        if self.done >= _RESTART_AFTER:
            self.stop()
            self._start()
            return
        self.seed = self.pending.popleft() if self.pending else None
        self.since = time.monotonic()
        self.busy = self.seed is not None
        if self.busy:
            self.pipe.send(self.seed)

    def receive(self) -> Report | None:
        try:
            report: Report = self.pipe.recv()
        except EOFError:
            return self.give_up("the process died")
        self.done += 1
        self._next()
        return report

    def give_up(self, kind: str) -> Report:
        assert self.seed is not None
        program = make_program(self.seed)
        failure = Failure(self.seed, "", kind, "", program.source, program.inputs, program.source)
        report = Report(self.seed, failure)
        report.counts["run"].update(programs=1, differences=1)
        self.stop()
        self._start()
        return report

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Any, seconds_to_shrink: float) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    while True:
        seed = pipe.recv()
        report = try_program(make_program(seed), seconds_to_shrink)
        report.counts = dict(report.counts)  # without the lambda, which cannot be sent
        pipe.send(report)
