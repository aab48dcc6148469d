"""A file that grows past what one reading holds is split, or is listed here with the reason why not."""

from __future__ import annotations

from tests.rooms import ROOT, modules

LIMIT = 500

# File: why it is better in one piece.
LONG: dict[str, str] = {
    "autograph/_api.py": "what users call; type checkers take the parameters of `function` three times",
    "backends/xla/jax_compat.py": "one file holds all that a release of JAX may break",
    "runtime/dataset.py": "one class, each of whose methods comes with its arguments and an example",
    "runtime/pipeline.py": "the steps of datasets, a few lines each, and questions to all of them, which name each",
    "tests/generator_programs.py": "programs to run, one after the other",
    "tests/handled_programs.py": "programs to run, one after the other",
    "tests/test_jax_compat.py": "a test for each of its functions",
}


def test_no_file_is_long_without_a_reason():
    files = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {path for path, length in lengths.items() if length > LIMIT} == set(LONG)
