"""One process of a benchmark: ``python worker.py KIND`` runs workloads in one environment, as it is told on stdin.

A request is a line of JSON, and so is its answer: ``load`` prepares all of the kind's versions of a workload, runs
each once and writes the results to a folder; ``time`` runs one version and returns the seconds. The environment of a
peer has neither JAX nor this package installed, so the workloads are found by the place of this file.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Call = Callable[[], Any]
LIMIT = 180  # seconds for what is loaded, its compilation included


def main() -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not stand among the answers
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("op"))(**request)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """Attributes: kind; calls, the prepared versions of the workloads by name and version."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.calls: dict[tuple[str, str], Call] = {}
        if kind not in ("jax", "eager"):
            without_the_package()
        from autograph.tools.bench.workloads import WORKLOADS

        self.workloads = WORKLOADS

    def versions(self) -> dict[str, Any]:
        """Name and version of the library."""
        return _KINDS[self.kind]().versions()

    def load(self, workload: str, quick: bool, folder: str) -> dict[str, Any]:
        """Prepare and run each version once."""
        import numpy as np

        found: dict[str, Any] = {}
        kind, spec = _KINDS[self.kind](), self.workloads[workload]
        reason = spec.variants.get(self.kind)
        if isinstance(reason, str):
            return {self.kind: {"error": reason}}
        for name, make in kind.prepared(spec, spec.arguments(quick)).items():
            try:
                with _limited(LIMIT):
                    start = time.perf_counter()
                    call = make()
                    results = kind.results(call())
                    seconds = time.perf_counter() - start
                path = Path(folder, f"{workload}-{self.kind}-{len(found)}.npy")
                flat = [np.ravel(np.asarray(part, np.float64)) for part in results]
                np.save(path, np.concatenate(flat))
                self.calls[workload, name] = call
                found[name] = {"first": seconds, "result": str(path)}
            except Exception as error:
                text = f"{type(error).__name__}: {error}".strip().splitlines()
                found[name] = {"error": " ".join(text)[:300]}
        return found

    def time(self, workload: str, version: str, calls: int) -> dict[str, float]:
        """Seconds for so many calls, by the clock and of the processor that the program runs on, if that is a CPU."""
        call = self.calls[workload, version]
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(calls):
            result = call()
        kind = _KINDS[self.kind]()
        kind.wait(result)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return {"wall": wall, "cpu": wall if kind.is_on_accelerator() else cpu}


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def without_the_package() -> None:
    """Let the workloads be imported by their names where `autograph` is not installed."""
    tools = Path(__file__).resolve().parents[1]
    for name, folder in [("autograph", None), ("autograph.tools", tools), ("autograph.tools.bench", tools / "bench")]:
        module = types.ModuleType(name)
        module.__path__ = [] if folder is None else [str(folder)]
        sys.modules[name] = module


class _Jax:
    """Converted, and by hand."""

    def versions(self) -> dict[str, str]:
        import jax

        return {"jax": jax.__version__}

    def prepared(self, spec: Any, arguments: Any) -> dict[str, Callable[[], Call]]:
        import jax
        import jax.numpy as jnp

        import autograph as ag

        values = jax.tree.map(jnp.asarray, arguments)

        def compiled(make: Callable[[Any], Any], program: Any) -> Callable[[], Call]:
            def run() -> Call:
                function = make(program)
                return lambda: function(*values)

            return run

        made = {"autograph": compiled(ag.function, spec.program(jnp))}
        return made | {f"lax, {name}": compiled(jax.jit, each) for name, each in spec.by_hand().items()}

    def results(self, result: Any) -> list[Any]:
        import jax

        return list(jax.tree.leaves(jax.block_until_ready(result)))

    def wait(self, result: Any) -> None:
        import jax

        jax.block_until_ready(result)

    def is_on_accelerator(self) -> bool:
        import jax

        return bool(jax.default_backend() != "cpu")


class _Eager(_Jax):
    """JAX without compilation: the converted function, which outside a trace is plain Python on arrays."""

    def prepared(self, spec: Any, arguments: Any) -> dict[str, Callable[[], Call]]:
        import jax
        import jax.numpy as jnp

        import autograph as ag

        values = jax.tree.map(jnp.asarray, arguments)
        function = ag.convert(spec.program(jnp))
        return {"jax, not compiled": lambda: lambda: function(*values)}


class _Numba:
    def versions(self) -> dict[str, str]:
        import numba

        return {"numba": numba.__version__}

    def prepared(self, spec: Any, arguments: Any) -> dict[str, Callable[[], Call]]:
        import warnings

        import numba
        import numpy as np

        warnings.filterwarnings("ignore")
        values = [numba.typed.List(part) if isinstance(part, list) else part for part in arguments]

        def make() -> Call:
            variant = spec.variants.get("numba")
            program = spec.program(np) if variant is None else variant(np)
            function = program if hasattr(program, "py_func") else numba.njit(program)
            return lambda: function(*values)

        return {"numba": make}

    def results(self, result: Any) -> list[Any]:
        return list(result) if isinstance(result, tuple) else [result]

    def wait(self, result: Any) -> None:
        del result

    def is_on_accelerator(self) -> bool:
        return False


class _TensorFlow(_Numba):
    def versions(self) -> dict[str, str]:
        import tensorflow

        return {"tensorflow": tensorflow.__version__}

    def prepared(self, spec: Any, arguments: Any) -> dict[str, Callable[[], Call]]:
        import tensorflow as tf

        shown = types.SimpleNamespace(tanh=tf.tanh, maximum=tf.maximum, zeros_like=tf.zeros_like)
        variant = spec.variants.get("tensorflow")
        program = spec.program(shown) if variant is None else variant(tf)
        values = tf.nest.map_structure(tf.constant, list(arguments))

        def compiled(xla: bool) -> Callable[[], Call]:
            def make() -> Call:
                function = tf.function(program, jit_compile=xla)
                return lambda: function(*values)

            return make

        return {"tf.function": compiled(False), "tf.function, XLA": compiled(True)}

    def results(self, result: Any) -> list[Any]:
        import tensorflow as tf

        return [part.numpy() if hasattr(part, "numpy") else part for part in tf.nest.flatten(result)]

    def wait(self, result: Any) -> None:
        self.results(result)


class _Catalyst(_Numba):
    def versions(self) -> dict[str, str]:
        import catalyst

        return {"catalyst": catalyst.__version__}

    def prepared(self, spec: Any, arguments: Any) -> dict[str, Callable[[], Call]]:
        import catalyst
        import jax
        import jax.numpy as jnp

        values = jax.tree.map(jnp.asarray, arguments)

        def make() -> Call:
            function = catalyst.qjit(spec.program(jnp), autograph=True)
            return lambda: function(*values)

        return {"catalyst": make}

    def results(self, result: Any) -> list[Any]:
        import jax

        return list(jax.tree.leaves(result))

    def wait(self, result: Any) -> None:
        import jax

        jax.block_until_ready(result)


_KINDS: dict[str, Callable[[], Any]] = {
    "jax": _Jax,
    "eager": _Eager,
    "numba": _Numba,
    "tensorflow": _TensorFlow,
    "catalyst": _Catalyst,
}


if __name__ == "__main__":
    main()
