"""tqdm's progress bars in staged code, at run time."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax

from autograph.backends.base import Backend
from autograph.backends.selected import STAGING
from autograph.runtime.effects.as_python import as_number
from autograph.runtime.effects.callbacks import do_at_run_time
from autograph.runtime.effects.traced_texts import DeferredText
from autograph.runtime.staging.statements.progress import Bar, Progress, is_in_program, total_of

_TELLING = frozenset(
    [
        "clear",
        "close",
        "display",
        "refresh",
        "reset",
        "set_description",
        "set_description_str",
        "set_postfix",
        "set_postfix_str",
        "update",
    ]
)


def is_writing(owner: Any, name: str) -> bool:
    """Whether this attribute of a class is the function of tqdm's that writes a text beside its bars."""
    bars = sys.modules.get("tqdm.std")
    return name == "write" and bars is not None and isinstance(owner, type) and issubclass(owner, bars.tqdm)


class TqdmBars:
    """Finds what makes tqdm's bars, and what moves them, among what is called.

    Args:
      backend: knows which lengths are traced.
      make_range: what ``range`` is in converted code.
    """

    def __init__(self, backend: Backend, make_range: Callable[..., Any]) -> None:
        self._backend = backend
        self._make_range = make_range

    def instead_of(self, called: Any) -> Callable[..., Any] | None:
        """What to call in place of a class, function or method of tqdm's; None where that is to be called itself."""
        bars = sys.modules.get("tqdm.std")
        if bars is None or not is_in_program():
            return None
        if isinstance(called, type):
            return functools.partial(self._made, called) if issubclass(called, bars.tqdm) else None
        name = called.__name__
        if isinstance(called, types.FunctionType):
            names = called.__globals__
            kind = names.get("tqdm_notebook" if name == "tnrange" else "tqdm")
            if name not in ("trange", "tnrange") or not str(names.get("__name__")).startswith("tqdm"):
                return None
            return lambda *args, **options: self._made(kind, self._make_range(*args), **options)
        owner = called.__self__
        if is_writing(owner, name) or (name in _TELLING and isinstance(owner, bars.tqdm)):
            return functools.partial(_tell, called)
        return None

    def _made(self, kind: Any, iterable: Any = None, /, *args: Any, **options: Any) -> Any:
        names = [name for name in inspect.signature(sys.modules["tqdm.std"].tqdm.__init__).parameters][2:]
        options.update(zip(names, args, strict=False))
        iterable = options.pop("iterable", iterable)
        return TqdmProgress(kind, iterable, options, self._backend)


class TqdmProgress(Progress):
    """A bar of tqdm's in a program: iterated over by loops, and told by tqdm's methods."""

    def __init__(self, kind: Any, iterable: Any, options: Mapping[str, Any], backend: Backend) -> None:
        super().__init__(iterable, options.get("desc"), options.get("total"))
        if STAGING.is_mapped(STAGING.place()):
            return
        self.bar = Bar(lambda total: kind(None, **{**options, "total": total}))
        self.bar.begin(None if iterable is None and self.total is None else total_of(self, backend))

    def __getattr__(self, name: str) -> Any:
        if name in _TELLING:
            return functools.partial(self._tell, name)
        raise AttributeError(
            f"{name!r} of a progress bar is not available while a function is traced, because the bar exists only at run time. "
            f"Available methods: {', '.join(sorted(_TELLING))}."
        )

    def __iter__(self) -> Iterator[Any]:
        for item in self.iterable:
            yield item
            self._tell("update")
        self._tell("close")

    def __enter__(self) -> TqdmProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._tell("close")

    def _tell(self, name: str, *args: Any, **kwargs: Any) -> None:
        if self.bar is not None:
            _tell(functools.partial(self.bar.tell, name), *args, **kwargs)


def _tell(act: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Call a method of a bar's when the program runs, with the numbers that arrays have then."""
    if STAGING.is_mapped(STAGING.place()):
        return

    def tell(content: Any) -> None:
        args, kwargs = jax.tree_util.tree_map(_shown, content, is_leaf=lambda part: isinstance(part, DeferredText))
        act(*args, **kwargs)

    do_at_run_time(tell, (args, kwargs), "moves a bar")


def _shown(part: Any) -> Any:
    return str(part) if isinstance(part, DeferredText) else as_number(part)
