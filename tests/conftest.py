"""Settings and fixtures of the whole test run.

With ``AUTOGRAPH_TEST_CACHE`` set (`make test` sets it) what XLA compiled is kept in that folder, for later runs, those of
other Pythons too, and for the other processes of this one (`tests/compiled_programs.py`).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compiled_programs import CompiledPrograms
from tests.shares import OF_MACHINE_CODE, all_files, in_share

# Before JAX starts. Results are compared exactly, so they come from one platform unless another is asked for.
os.environ.setdefault("JAX_PLATFORMS", "cpu")

_COMPILED = (
    CompiledPrograms(Path(os.environ["AUTOGRAPH_TEST_CACHE"])) if os.environ.get("AUTOGRAPH_TEST_CACHE") else None
)


def pytest_configure(config: pytest.Config) -> None:
    gc.set_threshold(
        10_000, 20, 20
    )  # tests make much that stays: a twentieth of their time was spent to look for garbage
    if _COMPILED is not None and not getattr(config.option, "numprocesses", None):  # else its workers run the tests
        _COMPILED.start()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--share", metavar="K/N", help="run one of N shares of the tests, as `tests/shares.py` says")
    parser.addoption(
        "--of-one-python", action="store_true", help="with --share: run also the tests of which one run is enough"
    )
    parser.addoption(
        "--machine-code",
        choices=["yes", "no"],
        help="run the tests that are about it, or all others: `tests/shares.py`",
    )


_LEFT_OUT = pytest.StashKey[frozenset[Path]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    files = held = all_files()
    share, machine_code = session.config.getoption("--share"), session.config.getoption("--machine-code")
    try:
        held = files if share is None else in_share(files, share, session.config.getoption("--of-one-python"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if machine_code is not None:
        held = frozenset(file for file in held if (file.stem in OF_MACHINE_CODE) == (machine_code == "yes"))
    session.config.stash[_LEFT_OUT] = files - held


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Nothing of other shares is imported."""
    return True if collection_path in config.stash[_LEFT_OUT] else None


def pytest_sessionfinish() -> None:
    gc.unfreeze()  # plugins look for who refers to what
    if _COMPILED is not None:
        _COMPILED.end()


@pytest.fixture(scope="module", autouse=True)
def _kept_objects() -> Iterator[None]:
    """What JAX keeps of a module's tests (jaxprs, executables) is not walked by each later collection of garbage."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; what is imported from it is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


# They see what converted code does with plain values, for which else the code would run as it is written.
_OF_CONVERTED_CODE = frozenset(
    [
        "test_plain_python",
        "test_plain_python_frames",
        "test_plain_python_language",
        "test_plain_exceptions",
        "test_corpus",
        "test_corpus_transforms",
        "test_python_backend",
    ]
    + [
        "test_evaluation_order",
        "test_python_tests",
        "test_comprehensions",
        "test_match",
        "test_walrus",
        "test_handlers",
    ]
    + ["test_context_managers", "test_passes", "test_block_code", "test_language_table", "test_special_methods"]
)


@pytest.fixture(autouse=True)
def converted_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls with plain values run converted code, in the files that are about that."""
    if request.path.stem in _OF_CONVERTED_CODE:
        from autograph.runtime.function.plain_calls import PlainCalls

        monkeypatch.setattr(PlainCalls, "code_for", lambda *_: None)
