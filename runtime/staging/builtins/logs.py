"""`logging` and `warnings` in staged code, at run time."""

from __future__ import annotations

import functools
import logging
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax

from autograph.runtime.effects.callbacks import do_at_run_time
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.tracing.locations import frame_at, level_from_here, user_position_now

_LEVELS = types.MappingProxyType(
    {
        "debug": logging.DEBUG,
        "info": logging.INFO,
        "warning": logging.WARNING,
        "warn": logging.WARNING,
        "error": logging.ERROR,
        "exception": logging.ERROR,
        "critical": logging.CRITICAL,
        "fatal": logging.CRITICAL,
    }
)
_NAMES = frozenset([*_LEVELS, "log"])


def is_logging(owner: Any, name: str) -> bool:
    """Whether this attribute of a module or object is a function that logs or warns."""
    if owner is warnings:
        return name == "warn"
    return name in _NAMES and (owner is logging or isinstance(owner, logging.Logger | logging.LoggerAdapter))


class Logs(InTrace):
    """Finds functions that log or warn among what is called.

    Args:
      trace: of which the journal knows whether a staged statement is being traced.
      is_traced: whether a value is.
    """

    def __init__(self, trace: Callable[[], Trace], is_traced: Callable[[Any], bool]) -> None:
        super().__init__(trace)
        self._is_traced = is_traced

    def overloads(self) -> Mapping[Any, Callable[..., Any]]:
        """What is called in place of functions that are written in C."""

        def warn(message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **options: Any) -> None:
            if self._happens_later(message):
                _warn(message, category, source, stacklevel)
            else:
                warnings.warn(message, category, level_from_here(stacklevel), source, **options)

        return {warnings.warn: warn}

    def deferred(self, called: Any) -> Callable[..., Any] | None:
        """What to call in place of a function or method of the library's, if that logs."""
        name = called.__name__
        if name not in _NAMES:
            return None
        if called is getattr(logging, name):
            owner: Any = logging.getLogger()
        elif isinstance(called, types.MethodType) and is_logging(called.__self__, name):
            owner = called.__self__
        else:
            return None
        return self._as_recorded(called, functools.partial(_log, owner, name))

    def _as_recorded(self, called: Callable[..., Any], defer: Callable[..., None]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._happens_later((args, kwargs)):
                return defer(*args, **kwargs)
            return called(*args, **{**kwargs, "stacklevel": level_from_here(kwargs.get("stacklevel", 1))})

        return call

    def _happens_later(self, content: Any) -> bool:
        return self.journal.is_open or any(map(self._is_traced, jax.tree_util.tree_leaves(content)))


def _log(logger: Any, name: str, *args: Any, **kwargs: Any) -> None:
    level = args[0] if name == "log" else _LEVELS[name]
    message, *values = args[1:] if name == "log" else args
    while isinstance(logger, logging.LoggerAdapter):
        message, processed = logger.process(message, kwargs)
        kwargs, logger = dict(processed), logger.logger
    filename, line, function = user_position_now()
    error = _exception(kwargs.get("exc_info", name == "exception"))

    def emit(content: Any) -> None:
        text, given, extra = content
        if logger.isEnabledFor(level):
            logger.handle(
                logger.makeRecord(logger.name, level, filename, line, text, tuple(given), error, function, extra)
            )

    do_at_run_time(emit, (message, values, kwargs.get("extra")), "logs")


def _exception(given: Any) -> Any:
    """What ``exc_info`` means to a logger, while tracing."""
    if isinstance(given, BaseException):
        return type(given), given, given.__traceback__
    return given if isinstance(given, tuple) else sys.exc_info() if given else None


def _warn(message: Any, category: Any, source: Any, level: int) -> None:
    if isinstance(message, Warning):
        category = type(message)
    frame = frame_at(level)
    filename, line = ("<sys>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    namespace: dict[str, Any] = {} if frame is None else frame.f_globals
    registry = namespace.setdefault("__warningregistry__", {})

    def emit(text: Any) -> None:
        shown = text if isinstance(text, Warning) else str(text)
        kind = UserWarning if category is None else category
        module = namespace.get("__name__")
        warnings.warn_explicit(shown, kind, filename, line, module, registry, source=source)

    do_at_run_time(emit, message, "warns")
