"""`Span`: a slice with traced bounds, as an index of an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Span:
    """``start:stop:step``, one of which is traced. ``size`` is how many elements it takes, None if it is known only at run time."""

    start: Any
    stop: Any
    step: Any
    size: int | None

    @property
    def width(self) -> int:
        """From the first element to the last, both included."""
        assert self.size is not None
        return (self.size - 1) * (self.step or 1) + 1 if self.size else 0

    def __str__(self) -> str:
        bounds = ["" if part is None else "…" if not isinstance(part, int) else str(part) for part in self._bounds]
        return ":".join(bounds if self.step is not None else bounds[:2])

    @property
    def _bounds(self) -> tuple[Any, Any, Any]:
        return self.start, self.stop, self.step


def has_span(key: Any) -> bool:
    """Whether an index has a slice with a traced bound in it."""
    return isinstance(key, Span) or (isinstance(key, tuple) and any(isinstance(part, Span) for part in key))
