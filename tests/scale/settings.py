"""Starts the workers of each setting, each with devices of its own."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.rooms import ROOT

# Setting: the devices of each of its processes.
SETTINGS = {"plain": (1,), "one": (1,), "mesh": (8,), "processes": (4, 4)}
LIMIT = 240  # seconds for one setting: what hangs has failed
# What is tested is what devices exchange, not the machine code, of which most programs run once.
_COMPILES_QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


def run(setting: str, folder: Path, *names: str) -> list[dict[str, Any]]:
    """What each process of a setting found, by the programs' names."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    files = [folder / f"{setting}-{process}.txt" for process in range(len(SETTINGS[setting]))]
    workers = []
    for process, devices in enumerate(SETTINGS[setting]):
        environment = os.environ | {
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": " ".join(
                [
                    os.environ.get("XLA_FLAGS", ""),
                    _COMPILES_QUICKLY,
                    f"--xla_force_host_platform_device_count={devices}",
                ]
            ),
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-m", "tests.scale.worker", setting, str(process), str(port), str(folder), *names]
        with files[process].open("wb") as output:
            workers.append(subprocess.Popen(command, env=environment, cwd=ROOT, stdout=output, stderr=output))
    end = time.monotonic() + LIMIT
    try:
        for worker in workers:
            worker.wait(max(end - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        pass  # the programs that are missing from its file name the one that hangs
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return [_found(folder / f"{setting}-{process}.pickle") for process in range(len(workers))]


def _found(file: Path) -> dict[str, Any]:
    return pickle.loads(file.read_bytes()) if file.exists() else {}
