"""The process-wide switch that runs every `Function` as plain Python."""

from __future__ import annotations

from autograph.runtime.function.dispatch import CALLS


def run_functions_eagerly(flag: bool) -> None:
    """Set whether every `Function` runs as plain Python, so that ``pdb``, ``print`` and breakpoints work.

    Args:
      flag: True for plain Python, False for compiled programs.

    >>> import autograph as ag
    >>> ag.run_functions_eagerly(True)
    >>> ag.function(lambda x: type(x).__name__)(1)
    'int'
    >>> ag.run_functions_eagerly(False)
    """
    CALLS.set_eager(bool(flag))


def functions_run_eagerly() -> bool:
    """Return whether `run_functions_eagerly` is on.

    Returns:
      A bool.

    >>> ag.functions_run_eagerly()
    False
    """
    return CALLS.run_eagerly
