"""The tables of docs/targets.md: `python -m tests.targets.figures`, where libtpu is installed."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

import autograph as ag
from autograph.tools.bench.workloads import WORKLOADS
from tests.targets import hlo
from tests.targets.programs import ONE, Spec, Target, corpus, kinds, mapped_corpus


class Figures:
    """What compiling a program gives: seconds to lower and compile it, temporaries in bytes, operations, collectives."""

    def __init__(self, target: Target) -> None:
        lowered = target.lowered()  # traced, and the compiler started, beforehand
        start = time.process_time()
        compiled = lowered.compile(target.chips)
        self.seconds = time.process_time() - start
        self.temporaries = compiled.memory_analysis().temp_size_in_bytes
        self.flops = max(0.0, compiled.cost_analysis().get("flops", 0.0))
        self.text = compiled.as_text()

    def __str__(self) -> str:
        chosen = hlo.collectives(self.text)
        between = ", ".join(f"{count} {kind}" for kind, count in chosen.items()) or "none"
        return f"{len(hlo.loops(self.text))} | {self.flops:,.0f} | {_bytes(self.temporaries)} | {between} | {self.seconds:.2f} s"


def _bytes(count: float) -> str:
    return f"{count / 1024:,.1f} KiB" if count < 2**20 else f"{count / 2**20:,.1f} MiB"


def of_the_corpus() -> Iterator[str]:
    """By module of the corpus."""
    ones, fours = (_by_module(targets) for targets in (corpus(), mapped_corpus()))
    yield "| corpus | programs, one chip | largest temporaries | total flops | programs, four chips | largest temporaries | total flops |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for module in ones:
        yield f"| {module} | {_summary(ones[module])} | {_summary(fours.get(module, []))} |"
    every = [_summary([figures for found in each.values() for figures in found]) for each in (ones, fours)]
    yield f"| all | {' | '.join(every)} |"
    times = [[f.seconds for found in each.values() for f in found] for each in (ones, fours)]
    yield ""
    yield "CPU time per compilation, median and maximum: " + "; ".join(
        f"{statistics.median(each):.2f} s and {max(each):.2f} s for {chips}"
        for each, chips in zip(times, ("one chip", "four"), strict=True)
    )


def _by_module(targets: Iterable[Target]) -> dict[str, list[Figures]]:
    found = defaultdict(list)
    for target in targets:
        found[target.name.rpartition(".")[0]].append(Figures(target))
    return found


def _summary(found: Sequence[Figures]) -> str:
    if not found:
        return "– | – | –"
    return f"{len(found)} | {_bytes(max(f.temporaries for f in found))} | {sum(f.flops for f in found):,.0f}"


def of_the_kinds() -> Iterator[str]:
    yield "| program | chips | loops | flops of one iteration | temporaries | collectives | compile time |"
    yield "| --- | --- | ---: | ---: | ---: | --- | ---: |"
    for target in kinds():
        yield f"| {target.name} | {target.chips.rpartition(':')[2]} | {Figures(target)} |"


def of_the_workloads() -> Iterator[str]:
    """Beside versions written by hand."""
    yield "| workload | autograph | `lax` | best `lax` | temporaries | temporaries, `lax` |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for name, workload in WORKLOADS.items():
        arguments = tuple(jax.tree.map(_type, workload.arguments(True)))
        by_hand = workload.by_hand()
        functions = {"ours": workload.program(jnp), **by_hand}
        found: dict[str, Any] = {}
        for version, function in functions.items():
            made = ag.function(function, autograph=version == "ours")
            try:
                found[version] = Figures(Target(version, made, arguments, ONE))
            except Exception as error:
                print(f"{name} {version}: {type(error).__name__} {str(error).splitlines()[0]}")
        cells = [f"{found[v].seconds:.2f} s" if v in found else "" for v in ("ours", "straightforward", "best")]
        temporaries = [_bytes(found[v].temporaries) if v in found else "" for v in ("ours", "straightforward")]
        yield f"| {name} | {' | '.join([*cells, *temporaries])} |"


def _type(leaf: Any) -> Any:
    array = jnp.asarray(leaf)
    return Spec(array.shape, array.dtype)


if __name__ == "__main__":
    jax.config.update("jax_platforms", "cpu")
    Figures(corpus()[0])  # the compiler starts
    for table in (of_the_workloads, of_the_kinds, of_the_corpus):
        print("\n".join(table()), end="\n\n", flush=True)
