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

# Renamed, and on other lines.
MOVED = "# a comment\n\n\nUNUSED = 1\n" + PROGRAM.replace("total", "summed").replace("value", "item")

DRIVER = """
import collections, importlib.util, json, sys
import jax
import jax.numpy as jnp

cache, programs = sys.argv[1], json.loads(sys.argv[2])
jax.config.update("jax_compilation_cache_dir", cache)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rpartition("/")[2]]))

import autograph as ag

found = []
for number, (path, how) in enumerate(programs):
    spec = importlib.util.spec_from_file_location(f"program{number}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = ag.function(module.f) if how == "function" else jax.jit(ag.convert(module.f))
    arguments = jnp.float32(3.0), jnp.arange(5.0)
    events.clear()
    results = compiled(*arguments)
    compiled(*arguments)
    found.append([events["cache_misses"], events["cache_hits"], float(results[0]), results[1].tolist()])
print(json.dumps(found))
"""


def run(tmp_path, *programs):
    """One process, which calls programs: of each, how often it compiles, how often it loads what was compiled, the results."""
    written = []
    for number, (source, how) in enumerate(programs):
        path = tmp_path / f"program{number}.py"
        path.write_text(source)
        written.append((str(path), how))
    command = [sys.executable, "-c", DRIVER, str(tmp_path / "cache"), json.dumps(written)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return [(misses, hits, results) for misses, hits, *results in json.loads(done.stdout)]


def test_the_next_process_compiles_nothing_but_another_program(tmp_path):
    first = run(tmp_path, (PROGRAM, "function"), (PROGRAM, "convert"))
    assert first[0][0] >= 1
    another = PROGRAM.replace("1.2", "1.3")
    ways = [(PROGRAM, "function"), (MOVED, "function"), (MOVED, "convert"), (another, "function")]
    *same, other = run(tmp_path, *ways)
    for misses, hits, results in same:
        assert misses == 0 and hits >= 1 and results == first[0][2]
    assert other[0] >= 1
