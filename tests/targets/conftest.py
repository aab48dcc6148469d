"""All tests of this folder compile for TPUs: `make test-tpu` runs them, where libtpu is installed."""

from __future__ import annotations

import importlib.util

import pytest


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """These files convert the corpus to name their tests: they are read only where tests for TPUs may be selected."""
    return True if "not tpu" in config.getoption("markexpr") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/targets/" in item.path.as_posix():
            item.add_marker(pytest.mark.tpu)
            if importlib.util.find_spec("libtpu") is None:
                item.add_marker(pytest.mark.skip(reason="libtpu, which compiles for TPUs, is not installed"))
