"""JAX's compilation cache on disk serves converted functions in the next process, whatever their names and lines."""

import json
import subprocess
import sys

PROGRAM = """
def f(x, values):
    total = 0.0
    while x > 1:
        x = x / 2
        if x > 1.2:
            total += x
    for value in values:
        if value > 2:
            break
        total += value
    values[0] = total
    return total, values
"""

DRIVER = """
import collections, importlib.util, json, sys
import jax
import jax.numpy as jnp

cache, path, name, how = sys.argv[1:]
jax.config.update("jax_compilation_cache_dir", cache)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rpartition("/")[2]]))

import autograph as ag

spec = importlib.util.spec_from_file_location("program", path)
module = sys.modules["program"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
function = getattr(module, name)
compiled = ag.function(function) if how == "function" else jax.jit(ag.convert(function))
arguments = jnp.float32(3.0), jnp.arange(5.0)
events.clear()
results = compiled(*arguments)
compiled(*arguments)
print(json.dumps([events["cache_misses"], events["cache_hits"], float(results[0]), results[1].tolist()]))
"""


def run(tmp_path, source, name="f", how="function"):
    path = tmp_path / "program.py"
    path.write_text(source)
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "cache"), str(path), name, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    misses, hits, *results = json.loads(done.stdout)
    return misses, hits, results


def test_second_process_compiles_nothing(tmp_path):
    misses, hits, first = run(tmp_path, PROGRAM)
    assert misses >= 1
    misses, hits, second = run(tmp_path, PROGRAM)
    assert misses == 0 and hits >= 1 and second == first


def test_moved_and_renamed_variables_compile_nothing(tmp_path):
    _, _, first = run(tmp_path, PROGRAM)
    moved = "# a comment\n\n\nUNUSED = 1\n" + PROGRAM.replace("total", "summed").replace("value", "item")
    misses, hits, second = run(tmp_path, moved)
    assert misses == 0 and hits >= 1 and second == first


def test_under_jit(tmp_path):
    _, _, first = run(tmp_path, PROGRAM, how="convert")
    misses, _, second = run(tmp_path, "\n\n" + PROGRAM.replace("total", "summed"), how="convert")
    assert misses == 0 and second == first


def test_another_program_is_compiled(tmp_path):
    """The test itself, on a program that does differ."""
    run(tmp_path, PROGRAM)
    misses, _, _ = run(tmp_path, PROGRAM.replace("1.2", "1.3"))
    assert misses >= 1
