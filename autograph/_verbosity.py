"""Logging of conversions: `set_verbosity` and `trace`."""

from __future__ import annotations

import logging
import os
import sys

_LOGGER = logging.getLogger("autograph")
_VARIABLE = "AUTOGRAPH_VERBOSITY"


class _ToStandardError(logging.Handler):
    """Writes to standard error as it is when a message comes, for programs that have set up no logging."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr)


class _Verbosity:
    """Attributes: level (None: as the environment says), to_stdout."""

    def __init__(self) -> None:
        self.level: int | None = None
        self.to_stdout = False

    def current(self) -> int:
        if self.level is not None:
            return self.level
        text = os.environ.get(_VARIABLE, "") or "0"
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"the environment variable {_VARIABLE} must be an int; got {text!r}") from None


_VERBOSITY = _Verbosity()
_HANDLER = _ToStandardError()


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Set the verbosity of conversion messages, which the logger ``autograph`` of the standard library emits.

    The environment variable ``AUTOGRAPH_VERBOSITY`` sets the initial level. If the program has not configured
    logging, messages go to standard error.

    Args:
      level: 0 for nothing, 1 for the functions that are converted, 3 for the converted source as well.
      alsologtostdout: whether messages are printed to standard output too.

    Raises:
      TypeError: ``level`` is not an int.

    >>> import autograph as ag
    >>> ag.set_verbosity(0)
    """
    if isinstance(level, bool) or not isinstance(level, int):
        raise TypeError(f"level must be an int: 0, 1, 2 or 3; got {level!r}")
    _VERBOSITY.level, _VERBOSITY.to_stdout = level, bool(alsologtostdout)


def is_logged(level: int) -> bool:
    """Whether the verbosity is ``level`` or more."""
    return _VERBOSITY.current() >= level


def log(level: int, message: str) -> None:
    """Log a message, if the verbosity is ``level`` or more."""
    if not is_logged(level):
        return
    if _LOGGER.getEffectiveLevel() > logging.INFO:
        _LOGGER.setLevel(logging.INFO)
    if not _LOGGER.hasHandlers():
        _LOGGER.addHandler(_HANDLER)
    elif logging.getLogger().handlers and _HANDLER in _LOGGER.handlers:
        _LOGGER.removeHandler(_HANDLER)
    _LOGGER.info(message)
    if _VERBOSITY.to_stdout:
        print(message)


def trace(*args: object) -> None:
    """Print the arguments at trace time. A traced value prints as a tracer; a compiled call prints nothing.

    Args:
      *args: the values, as for Python's ``print``.

    >>> import autograph as ag, jax.numpy as jnp
    >>> @ag.function
    ... def double(x):
    ...     ag.trace("tracing", x.shape)
    ...     return 2 * x
    >>> _ = double(jnp.ones(3)), double(jnp.zeros(3))
    tracing (3,)
    """
    print(*args)
