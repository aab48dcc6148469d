"""The digits network again, trained data-parallel in two processes: `python -m autograph.tools.demo.distributed`.

`train` says nothing of processes or devices. In a job of several each process holds its rows of every batch, the
parameters are in all, and XLA adds the gradients up. The job's losses and weights are compared with those of one device.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import autograph as ag
from autograph.tools.demo.digits import Split, accuracy_of, adam, initial_params, load, loss_of

PROCESSES = 2
BATCH = 32
LIMIT = 300  # seconds: a process that waits for one that has ended waits for ever
# Sums over a batch are taken in another order, so the last bits differ; Adam carries that on from step to step.
LOSS_TOLERANCE, WEIGHT_TOLERANCE = 1e-5, 1e-4
REQUIRED_ACCURACY = 0.95


@ag.function
def train(params, key, training, validation, epochs=40, patience=5, rate=2e-3):
    """Train until the validation loss has not fallen for `patience` epochs; `training` has a batch along its first axis.

    Returns the best parameters, the number of epochs run and the validation loss after each.
    """
    mean, square = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    best, best_loss, stale, step = params, jnp.array(jnp.inf), 0, 0
    history = jnp.full(epochs, jnp.nan)

    for epoch in range(epochs):
        for number in jax.random.permutation(jax.random.fold_in(key, epoch), len(training.images)):
            step += 1
            grads = jax.grad(loss_of)(params, training.images[number], training.labels[number])
            params, mean, square = adam(params, mean, square, grads, step, rate)

        loss = loss_of(params, *validation)
        history = history.at[epoch].set(loss)
        if loss < best_loss:
            best, best_loss, stale = params, loss, 0
        else:
            stale += 1
            if stale == patience:
                break

    return best, epoch + 1, history


def run(epochs: int, output: Path) -> None:
    """Train on the devices that there are, those of all processes, and write down what came out."""
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    everywhere = NamedSharding(mesh, PartitionSpec())
    training, validation, held_out = load()
    count = len(training.labels) // BATCH * BATCH
    own = BATCH // jax.process_count()

    def batches(array: Any) -> jax.Array:
        """Of each batch this process gives its own rows alone."""
        whole = np.asarray(array[:count]).reshape(-1, BATCH, *array.shape[1:])
        rows = whole[:, jax.process_index() * own : (jax.process_index() + 1) * own]
        return jax.make_array_from_process_local_data(NamedSharding(mesh, PartitionSpec(None, "data")), rows)

    cut = Split(batches(training.images), batches(training.labels))
    params, validation = jax.device_put((initial_params(jax.random.key(0)), validation), everywhere)
    start = time.perf_counter()
    best, ran, history = jax.block_until_ready(train(params, jax.random.key(1), cut, validation, epochs))
    seconds = time.perf_counter() - start
    best = jax.tree.map(lambda part: jnp.asarray(np.asarray(part)), best)
    found: dict[str, Any] = {f"weights{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(best))}
    found |= {"epochs": int(ran), "history": np.asarray(history), "seconds": seconds}
    np.savez(output, accuracy=accuracy_of(best, *held_out), **found)


def in_processes(count: int, epochs: int, folder: Path) -> list[dict[str, Any]]:
    """What each process of a job of so many found. `RuntimeError` if one fails, or waits for another for ever."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    outputs = [folder / f"{count}-{number}.npz" for number in range(count)]
    command = [sys.executable, "-m", "autograph.tools.demo.distributed", "--epochs", str(epochs)]
    job = [
        subprocess.Popen(
            [*command, "--worker", str(number), "--of", str(count), "--port", str(port), "--output", str(output)],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for number, output in enumerate(outputs)
    ]  # fmt: skip
    end = time.monotonic() + LIMIT
    try:
        for process in job:
            _, said = process.communicate(timeout=max(end - time.monotonic(), 1))
            if process.returncode:
                raise RuntimeError(f"a process of {count} ended with {process.returncode}:\n{said}")
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{count} processes did not end in {LIMIT} s") from None
    finally:
        for process in job:
            process.kill()
            process.wait()
    return [dict(np.load(output)) for output in outputs]


def compare(epochs: int) -> bool:
    """Train on one device and in two processes, and print both; are losses and weights the same?"""
    with tempfile.TemporaryDirectory() as folder:
        (one,) = in_processes(1, epochs, Path(folder))
        several = in_processes(PROCESSES, epochs, Path(folder))
    names = [name for name in one if name.startswith("weights")]
    same = all(np.array_equal(several[0][name], other[name]) for other in several[1:] for name in names)
    ran = int(one["epochs"])
    losses = np.abs(several[0]["history"][:ran] - one["history"][:ran]).max()
    weights = max(np.abs(several[0][name] - one[name]).max() for name in names)
    for title, found in (("one device", one), (f"{PROCESSES} processes", several[0])):
        epochs_run = int(found["epochs"])
        print(
            f"  {title + ':':<13} {epochs_run} epochs in {float(found['seconds']):.1f} s with compiling; loss "
            f"{found['history'][epochs_run - 1]:.6f}, accuracy on held-out digits {float(found['accuracy']):.3f}"
        )
    print(f"  greatest difference of a loss {losses:.1e} (up to {LOSS_TOLERANCE:.0e} is allowed)")
    print(f"  greatest difference of a weight {weights:.1e} (up to {WEIGHT_TOLERANCE:.0e})")
    print(f"  the weights of the {PROCESSES} processes are {'the same to the last bit' if same else 'NOT THE SAME'}")
    is_close = losses <= LOSS_TOLERANCE and weights <= WEIGHT_TOLERANCE and ran == int(several[0]["epochs"])
    return bool(same and is_close)


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 if what two processes find is what one device finds."""
    parser = argparse.ArgumentParser(
        "python -m autograph.tools.demo.distributed", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--epochs", type=int, default=40, help="how many at most")
    for name in ("--worker", "--of", "--port"):
        parser.add_argument(name, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker is None:
        print("The digits network on one device, and data-parallel in two processes", flush=True)
        return 0 if compare(options.epochs) else 1
    if options.of > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"localhost:{options.port}", num_processes=options.of, process_id=options.worker)
    run(options.epochs, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
