"""Run the tests of one CPython test module in this process: `python -m autograph.tools.conformance.worker`.

Each test method, and each example of a doctest, is converted before it runs. What happened to a test is one line
of JSON in the results file, written when it begins and when it ends, so that a crash names its test.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import types
import unittest
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

_TEXT_KEPT = 1500


class Results(unittest.TestResult):
    """Writes what becomes of each test. A test's outcome is the worst of its subtests'."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self.outcome = ("passed", "")

    def write(self, **line: str) -> None:
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.outcome = ("passed", "")
        self.write(test=test.id(), outcome="crashed", text="the process ended, or was ended, in this test")

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        outcome, text = self.outcome
        self.write(test=test.id(), outcome=outcome, text=text)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.outcome = ("failed", _text(err))

    def addError(self, test: Any, err: Any) -> None:
        self.outcome = ("failed", _text(err))
        if not isinstance(test, unittest.TestCase):  # the set-up of a class or module
            self.write(test=str(test), outcome="failed", text=_text(err))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self.outcome = ("failed", f"{subtest}\n{_text(err)}")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.outcome = ("skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:
        self.outcome = ("failed as expected", "")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.outcome = ("failed", "passed where it was expected to fail")


def run_module(name: str, convert: bool, stream: TextIO) -> None:
    """Run the tests of ``test.name``, converted or not, and write what became of each."""
    module = importlib.import_module(f"test.{name}")
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    if convert:
        from autograph.tools.conformance import examples

        examples.install()
        for case in _cases(suite):
            _convert_method(case)
    results = Results(stream)
    suite.run(results)
    if convert:
        results.write(test="", outcome="examples", text=json.dumps(examples.counts))


def _convert_method(case: unittest.TestCase) -> None:
    """Make the case run its test method converted. A method that is refused fails with the refusal."""
    import autograph as ag

    name = case._testMethodName
    method = getattr(case, name, None)
    if not isinstance(method, types.MethodType) or method.__func__.__module__ in ("doctest", "unittest.case"):
        return  # a doctest, whose examples are converted one by one, or a module that failed to load

    try:
        setattr(case, name, ag.convert(method))
    except ag.ConversionError as error:
        refusal = error

        def refused() -> None:
            raise refusal

        setattr(case, name, refused)


def _cases(suite: Any) -> Iterator[unittest.TestCase]:
    for part in suite:
        if isinstance(part, unittest.TestCase):
            yield part
        else:
            yield from _cases(part)


def _text(error: Any) -> str:
    return "".join(traceback.format_exception(*error))[-_TEXT_KEPT:]


def main(arguments: list[str]) -> None:
    name, mode, path = arguments
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if mode == "converted":
        import autograph  # noqa: F401 -- now, so that no test's patch of a module is in its way
    warnings.simplefilter("default")
    with open(path, "w", encoding="utf-8") as stream:
        run_module(name, mode == "converted", stream)
    sys.stdout.flush()
    os._exit(0)  # some tests leave threads and hooks behind that an orderly exit would meet


if __name__ == "__main__":
    main(sys.argv[1:])
