"""Run one CPython test module twice, in processes of their own, and compare."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_NAMES = """
    grammar scope patma named_expressions unpack unpack_ex augassign with listcomps dictcomps setcomps genexps closures
    keywordonlyarg positional_only_arg exceptions raise generators super decorators class property iter enumerate range
    builtin fstring

    exception_group except_star generator_stop coroutines asyncgen contextlib descr lambda compare bool int_literal pow
    slice sort string_literals tuple list dict print baseexception call extcall funcattrs functools operator
    itertools yield_from type_params type_aliases pep646_syntax global
"""
MODULES = tuple(f"test_{name}" for name in _NAMES.split())
_GOOD = ("passed", "skipped", "failed as expected")


@dataclass(frozen=True)
class Comparison:
    """The outcome of each test of a module, by the test's name, without and with conversion."""

    module: str
    plain: Mapping[str, tuple[str, str]]
    converted: Mapping[str, tuple[str, str]]
    examples: Mapping[str, int]
    seconds: tuple[float, float]

    @property
    def differences(self) -> list[str]:
        """Names of the tests that pass as they are and not converted, or the other way round."""
        return [
            test
            for test in sorted({*self.plain, *self.converted})
            if _outcome(self.plain, test) != _outcome(self.converted, test)
        ]

    def passes(self, outcomes: Mapping[str, tuple[str, str]]) -> int:
        return sum(outcome in _GOOD for outcome, _ in outcomes.values())

    def summary(self) -> str:
        if not self.plain:
            return f"{self.module}: not in this Python"
        plain, converted = self.passes(self.plain), self.passes(self.converted)
        lines = [f"{self.module}: {len(self.plain)} tests, {plain} pass as they are, {converted} converted"]
        for test in self.differences:
            outcome, text = self.converted.get(test, ("missing", ""))
            lines.append(f"  {test}: {_outcome(self.plain, test)} as it is, {outcome} converted")
            lines += [f"    {line}" for line in text.splitlines()]
        return "\n".join(lines)


def _outcome(outcomes: Mapping[str, tuple[str, str]], test: str) -> str:
    return outcomes.get(test, ("missing", ""))[0]


def compare(modules: Sequence[str], seconds: float, jobs: int) -> Iterator[Comparison]:
    """Run the modules that this Python has, each twice, and give their comparisons in order."""
    present = [name for name in modules if importlib.util.find_spec(f"test.{name}") is not None]
    with ThreadPoolExecutor(jobs) as pool:
        runs = [[pool.submit(_run, name, mode, seconds) for mode in ("plain", "converted")] for name in present]
        for name, (plain, converted) in zip(present, runs, strict=True):
            outcomes, _, time_plain = plain.result()
            converted_outcomes, examples, time_converted = converted.result()
            yield Comparison(name, outcomes, converted_outcomes, examples, (time_plain, time_converted))


def _run(name: str, mode: str, seconds: float) -> tuple[dict[str, tuple[str, str]], dict[str, int], float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.jsonl")
        start = time.monotonic()
        command = [sys.executable, "-m", "autograph.tools.conformance.worker", name, mode, str(path)]
        environment = {**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu")}
        note = ""
        with open(Path(folder, "output"), "w+b") as output:
            try:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=seconds,
                    cwd=folder,
                    env=environment,
                )
                note = "" if done.returncode == 0 else f"exit code {done.returncode}"
            except subprocess.TimeoutExpired:
                note = f"over {seconds:g} s"
            output.seek(0)
            printed = output.read().decode(errors="replace")[-1500:]
        elapsed = time.monotonic() - start
        outcomes: dict[str, tuple[str, str]] = {}
        examples: dict[str, int] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            entry = json.loads(line)
            if entry["outcome"] == "examples":
                examples = json.loads(entry["text"])
            else:
                outcomes[entry["test"]] = (entry["outcome"], entry["text"])
        if note:
            outcomes[f"test.{name} (the whole run)"] = ("failed", f"{note}\n{printed}")
        return outcomes, examples, elapsed
