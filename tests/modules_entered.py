"""Prints which modules of the runtime the first call of each function here enters, as JSON."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp

import autograph as ag
from tests.rooms import ROOT

RUNTIME = ROOT / "runtime"


def root_of(x, guess):
    while abs(guess * guess - x) > 1e-3:
        guess = (guess + x / guess) / 2
    return guess


def with_a_list(x, guess):
    seen = []
    while abs(guess * guess - x) > 1e-3:
        guess = (guess + x / guess) / 2
        seen.append(guess)
    return guess, len(seen)


def with_a_call(x, guess):
    while abs(guess * guess - x) > 1e-3:
        guess = _closer(x, guess)
    return guess


def _closer(x, guess):
    return (guess + x / guess) / 2


def modules_entered(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The modules of the runtime that a call runs something of, in a thread that has traced nothing before."""
    files: set[str] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    def run() -> None:
        sys.setprofile(note)
        try:
            function(*arguments)
        finally:
            sys.setprofile(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    paths = [path for file in files if (path := Path(file).resolve()).exists()]  # other code is generated
    return sorted(
        path.relative_to(RUNTIME).with_suffix("").as_posix() for path in paths if path.is_relative_to(RUNTIME)
    )


def main() -> None:
    """Prints the modules that the first call of each function enters."""
    functions = (root_of, with_a_list, with_a_call)
    print(json.dumps({f.__name__: modules_entered(ag.function(f), jnp.float32(2), jnp.float32(1)) for f in functions}))


if __name__ == "__main__":
    main()
