"""Runs every program in one setting: `python -m tests.scale.worker SETTING PROCESS PORT FOLDER [NAME ...]`.

What each gave, what it printed, and which exception left it go into one file of FOLDER.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

import jax


def main(setting: str, process: int, port: int, folder: Path, names: list[str]) -> None:
    if setting == "processes":
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{port}", num_processes=2, process_id=process, initialization_timeout=60)

    import autograph as ag
    import tests.scale.programs  # noqa: F401  registers them
    from tests.scale.world import PROGRAMS, World, on_host

    ag.run_functions_eagerly(setting == "plain")
    world = World()
    found: dict[str, Any] = {}
    for name in names or PROGRAMS:
        printed = io.StringIO()
        result, failure = None, None
        with contextlib.redirect_stdout(printed):
            try:
                result = on_host(PROGRAMS[name](world))
            except Exception:
                failure = traceback.format_exc()
            jax.effects_barrier()
        found[name] = {"result": result, "failure": failure, "printed": printed.getvalue()}
        if failure and names:
            print(failure)
        # After each, so that what hangs or dies is known by its absence.
        (folder / f"{setting}-{process}.pickle").write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
