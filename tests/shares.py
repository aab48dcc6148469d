"""Which tests a run holds that is one of several: on several Pythons, and with several options of XLA.

What most tests check depends on no version of Python or JAX. `pytest --share=K/N` runs the K-th of N shares of their files,
and all files on which Python's version bears: N runs, each on a Python of its own, run each test at least once, and those on
every Python. One of them, with ``--of-one-python``, runs also the tests of which one run is enough, whichever Python it is on.
Without ``--share`` a run holds all tests.

`pytest --machine-code=yes` runs the files that are about the numbers of whole programs, which machine code computes, and
`--machine-code=no` all others: two runs, of which the second may have XLA generate machine code in its quickest way.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

TESTS = Path(__file__).parent

# About syntax and what it is compiled to, frames, tracebacks, sources of functions, threads, pickles and annotations.
OF_EACH_PYTHON = frozenset(
    [
        *["test_comprehensions", "test_context_managers", "test_corpus", "test_evaluation_order", "test_block_code"],
        *["test_generators", "test_handlers", "test_iterators", "test_itertools", "test_match", "test_passes"],
        *["test_plain_exceptions", "test_plain_python", "test_plain_python_frames", "test_plain_python_language"],
        *["test_plain_python_objects", "test_plain_python_unconverted", "test_python_backend", "test_python_tests"],
        *["test_special_methods", "test_to_code", "test_walrus", "test_where_functions_come_from"],
        *["test_bound_functions", "test_call_graph", "test_function_captures"],
        *["test_function_methods", "test_leaked_writes", "test_library_table", "test_outside_reads", "test_signature"],
        *["test_tracer_leaks", "test_unseen_special_methods", "test_unseen_writes", "test_variables_threads"],
        *["test_cli", "test_conformance", "test_doctests", "test_large_ints", "test_notebooks"],
        *["test_packaging", "test_pickling", "test_printed_texts", "test_public_names", "test_user_lines"],
        *["test_errors_of_paths", "test_error_messages", "test_texts_of_values", "test_jax_compat"],
    ]
)

# About this repository: its tools for measuring, demonstrating and trying generated programs, the texts of its sources, the
# programs of its documents and these runs.
OF_ONE_PYTHON = frozenset(
    [
        *["test_bench", "test_bench_first_call", "test_bench_platform_choices", "test_bench_ports"],
        *["test_bench_saving", "test_demo", "test_fuzz", "test_fuzz_rules"],
        *["test_readme", "test_from_lax", "test_from_numba", "test_from_tensorflow"],
        *["test_compiled_programs", "test_import_directions", "test_module_sizes", "test_shares", "test_site"],
    ]
)

# Programs as users write them, and long computations with floats. Which operations XLA is given, and what it makes of them
# before it generates machine code, is the same for all tests with each of XLA's options.
OF_MACHINE_CODE = frozenset(
    [
        *["test_algorithms", "test_demo", "test_examples", "test_programs", "test_random"],
    ]
)


def in_share(files: Iterable[Path], share: str, of_one_python: bool = False) -> frozenset[Path]:
    """Those of the files that a share, ``"K/N"``, holds, with or without those of which one run is enough.

    Raises:
      ValueError: The share is not of the form K/N with 1 <= K <= N.
    """
    number, _, count = share.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ValueError(f"--share={share}: it is of the form K/N with 1 <= K <= N, as in --share=1/2")
    alone = {file for file in files if file.stem in OF_ONE_PYTHON}
    every = {file for file in files if file.stem in OF_EACH_PYTHON}
    others = sorted(set(files) - alone - every)
    return (
        frozenset(every) | frozenset(others[int(number) - 1 :: int(count)]) | frozenset(alone if of_one_python else ())
    )


def all_files() -> frozenset[Path]:
    """All files with tests, which the shares are of whichever are collected."""
    return frozenset(TESTS.rglob("test_*.py"))
