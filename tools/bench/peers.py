"""Environments and worker processes of the other compilers, made on demand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".venv-peers"
WORKER = Path(__file__).with_name("worker.py")

# Those that need no environment of their own run in this one.
OWN = ("jax", "eager")
PACKAGES = {
    "numba": ("numba", "scipy"),  # scipy: numba's products of matrices are its BLAS
    "tensorflow": ("tensorflow-cpu",),
    "catalyst": ("pennylane-catalyst",),
}
PEERS = ("eager", *PACKAGES)


def installed(peer: str) -> str | None:
    """Make the environment of a peer if it is not there; None, or why it cannot be made."""
    if peer in OWN:
        return None
    folder = ENVIRONMENTS / peer
    if (folder / ".installed").exists():
        return None
    packages = PACKAGES[peer]
    print(f"Installing {' '.join(packages)} into {folder}", file=sys.stderr)
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True)
    if made.returncode == 0:
        command = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *packages]
        made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        lines = made.stderr.strip().splitlines()
        return f"{' '.join(packages)} cannot be installed: {lines[-1] if lines else made.returncode}"
    (folder / ".installed").touch()
    return None


class Process:
    """A `worker` in its environment. Answers a request at a time."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        python = sys.executable if kind in OWN else str(ENVIRONMENTS / kind / "bin/python")
        command = [python, "-m", "autograph.tools.bench.worker"] if kind in OWN else [python, str(WORKER)]
        settings = {**os.environ, "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"), "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._log = open(os.devnull, "w") if not os.environ.get("BENCH_LOG") else None  # noqa: SIM115
        self._process = subprocess.Popen(
            [*command, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, env=settings
        )

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """The answer to a request; an ``error`` if the process has died of it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"op": op, **request}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer: dict[str, Any] = json.loads(line) if line else {"error": "its process died"}
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        if self._log is not None:
            self._log.close()
