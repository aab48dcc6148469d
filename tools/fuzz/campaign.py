"""Run many programs in worker processes, shrink failures, and summarize the results."""

from __future__ import annotations

import ast
import collections
import functools
import gc
import math
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograph.tools.fuzz.programs import Program, make_program

_RESTART_AFTER = 400  # programs for one process: JAX and the converter keep something of each
COMPILED_EACH = 10  # of so many pairs of programs, the first is compiled
_LONGEST_RUN = 60  # seconds of CPU time for one program in one mode
_LONGEST = 1200.0  # seconds for one program in all modes, its shrinking not included, on a machine that may be busy

Counts = collections.Counter

_EXPRESSIONS = (ast.BoolOp, ast.IfExp, ast.NamedExpr, ast.Call, ast.Lambda)


@dataclass
class Report:
    """What came of one program.

    Attributes:
      seed: its number.
      failure: mode, kind and text of the first difference, and a smaller program and the input that show it.
      counts: by subject (``"run"``, ``"modes"``, ``"refused"``, ``"staged"``, ``"constructs"``).
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


def modes_of(seed: int) -> tuple[str, ...]:
    """In which ways the program of this number is run; `jit` and `function` trace alike, and take turns."""
    modes = ["eager", "function" if seed % 2 else "jit"]
    if seed % 4 in (0, 1) and seed // 4 % 2 == 0:
        modes.append("vmap")
    if seed % 16 in (4, 5):
        modes.append("eager_jax")
    return tuple(modes)


def is_compiled(seed: int) -> bool:
    """Whether XLA compiles what is traced of this program; of the others, `interpreter` evaluates it."""
    return seed // 2 % COMPILED_EACH == 0


def try_program(program: Program, seconds_to_shrink: float = 60.0) -> Report:
    """Run one program in its modes; shrink it if it fails."""
    # Not at the top: the process that only hands out the work needs no JAX.
    from autograph.tools.fuzz.oracle import suitable
    from autograph.tools.fuzz.runs import Subject, reason
    from autograph.tools.fuzz.shrink import shrink

    report = Report(program.seed)
    kept = suitable(program.source, program.inputs)
    if not kept:
        report.counts["run"]["unsuitable"] += 1
        return report
    by_xla = is_compiled(program.seed)
    report.counts["run"].update({"programs": 1, "compiled by XLA": int(by_xla)})
    report.counts["constructs"] = constructs(program.source)
    inputs = tuple(program.inputs[position] for position in kept)
    subject = Subject(program.source, inputs, by_xla)
    # In the other modes no one is there to raise an exception when the program has run, and there are no Variables.
    is_of_function = any(text in program.source for text in ("raise ", "assert ", "ag.Variable("))
    modes = ["function" if is_of_function and mode in ("jit", "vmap") else mode for mode in modes_of(program.seed)]
    for mode in dict.fromkeys(modes):
        verdict = _run_in_time(functools.partial(subject.run, mode))
        report.counts["modes"][mode] += 1
        report.counts["staged"].update(dict(verdict.staged))
        report.counts["staged"]["programs with staged statements"] += any(count for _, count in verdict.staged)
        if verdict.kind == "refused":
            report.counts["refused"][reason(verdict.text)] += 1
            report.counts["run"]["refused"] = 1
        if not verdict.failed:
            continue
        report.counts["run"]["differences"] += 1
        failing: tuple[Any, ...] = (inputs[verdict.input],)
        fails = functools.partial(_fails, mode, by_xla, like=verdict)
        if not fails(program.source, inputs=failing):
            failing = inputs  # it takes several calls, or lanes
        smaller = shrink(program.source, functools.partial(fails, inputs=failing), seconds_to_shrink)
        text = _run_once(mode, by_xla, smaller, failing).text or verdict.text
        report.failure = Failure(program.seed, mode, verdict.kind, text, smaller, failing)
        break
    return report


def try_program_gradients(program: Program) -> Report:
    """Compare one program's gradients with finite differences."""
    from autograph.tools.fuzz.gradients import try_gradients

    report = Report(program.seed)
    by_xla = is_compiled(program.seed)
    counts: dict[str, int] = {}

    def compare() -> Any:
        verdict, found = try_gradients(program, by_xla)
        counts.update(found)
        return verdict

    verdict = _run_in_time(compare)
    report.counts["gradients"].update(counts)
    if verdict.kind == "same" and not counts.get("compared"):
        report.counts["run"]["unsuitable"] += 1
        return report
    report.counts["run"].update({"programs": 1, "compiled by XLA": int(by_xla)})
    report.counts["constructs"] = constructs(program.source)
    if verdict.kind == "refused":
        report.counts["refused"][verdict.text] += 1
        report.counts["run"]["refused"] = 1
    elif verdict.kind != "same":
        report.counts["run"]["differences"] += 1
        source = program.source
        report.failure = Failure(program.seed, "gradient", verdict.kind, verdict.text, source, program.inputs)
    return report


class _TooLong(BaseException):
    """The alarm of `_run_in_time`; no `except Exception` of the program or of ours stops it."""


def _run_in_time(run: Callable[[], Any]) -> Any:
    """What ``run`` returns; if it does not end in Python, a verdict of kind ``hang``. XLA's loops cannot be stopped."""
    from autograph.tools.fuzz.runs import Verdict

    def ring(*_: Any) -> None:
        raise _TooLong

    # A loop whose counter shrinking took away may be traced for ever, in a branch that Python never takes.
    before = signal.signal(signal.SIGPROF, ring)
    # Again each second: an exception out of a callback of the garbage collector comes to nothing.
    signal.setitimer(signal.ITIMER_PROF, _LONGEST_RUN, 1.0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run()
    except _TooLong:
        return Verdict("hang", f"no end within {_LONGEST_RUN} s of CPU time")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _run_once(mode: str, by_xla: bool, source: str, inputs: tuple[Any, ...]) -> Any:
    from autograph.tools.fuzz.runs import run_mode

    return _run_in_time(lambda: run_mode(mode, source, inputs, by_xla))


def _fails(mode: str, by_xla: bool, source: str, inputs: tuple[Any, ...], like: Any) -> bool:
    """Whether a program fails as another did: in kind, and a crash by the same exception."""
    from autograph.tools.fuzz.oracle import suitable

    if len(suitable(source, inputs)) < len(inputs):
        return False
    found = _run_once(mode, by_xla, source, inputs)
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
        if isinstance(node, (ast.stmt, ast.Yield, ast.YieldFrom, *_EXPRESSIONS)) or " " in name:
            counts[name] += 1
        for child in ast.iter_child_nodes(node):
            visit(child, depth, loops)

    visit(ast.parse(source), 0, 0)
    counts[f"depth {deepest}"] += 1
    return counts


# Many programs.


def run_campaign(
    seeds: Sequence[int],
    jobs: int,
    seconds_to_shrink: float = 60.0,
    gradients: bool = False,
    breakage: str | None = None,
    seconds: float | None = None,
) -> Generator[Report, None, None]:
    """The report of each program, as they come. One that never ends is a failure of kind ``hang``.

    With ``gradients`` their gradients are compared; a ``breakage`` is one of `breakages.BREAKAGES`. After ``seconds``
    no further program is begun.
    """
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    pending = collections.deque(seeds)
    workers = [_Worker(pending, seconds_to_shrink, (seconds_to_shrink, gradients, breakage)) for _ in range(jobs)]
    try:
        while any(worker.busy for worker in workers):
            if time.monotonic() > deadline:
                pending.clear()
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

    def __init__(self, pending: collections.deque[int], seconds_to_shrink: float, options: tuple[Any, ...]) -> None:
        self.pending = pending
        self.options = options
        self.seconds_to_shrink = seconds_to_shrink
        self.busy = True
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, *self.options), daemon=True)
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
        failure = Failure(self.seed, "", kind, "", program.source, program.inputs)
        report = Report(self.seed, failure)
        report.counts["run"].update(programs=1, differences=1)
        self.stop()
        self._start()
        return report

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Any, seconds_to_shrink: float, gradients: bool, breakage: str | None) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a ^C is for the process that hands out the work
    if breakage is not None:
        from autograph.tools.fuzz.breakages import BREAKAGES

        BREAKAGES[breakage]()
    try_program(make_program(0), 0.0)
    # What JAX holds by now stays; to look through it again and again costs a tenth of the time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    while True:
        seed = pipe.recv()
        if gradients:
            report = try_program_gradients(make_program(seed, smooth=True))
        else:
            report = try_program(make_program(seed), seconds_to_shrink)
        report.counts = dict(report.counts)  # without the lambda, which cannot be sent
        pipe.send(report)
