"""`scalar`, `histogram` and `text`: write summaries at run time, in program order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from autograph.runtime.effects.callbacks import perform
from autograph.runtime.layouts.one_of import OneOf
from autograph.runtime.summary.defaults import WRITER, checked_step, resolved, target
from autograph.runtime.summary.event_files import EventFile, histogram_value, scalar_value, text_value
from autograph.runtime.summary.writers import SummaryWriter, at_once_or_later, file_of
from autograph.runtime.typing import ArrayLike, TensorLike, TextLike


def scalar(name: str, data: ArrayLike, step: ArrayLike | None = None, description: str | None = None) -> None:
    """Write a number to the default writer. Without a default writer, do nothing.

    Args:
      name: the tag in TensorBoard.
      data: a real number, or an array of shape ``()``.
      step: an integer, an integer scalar array or a Variable; by default that of `set_step`.
      description: Markdown that TensorBoard shows beside it.

    Raises:
      TypeError: ``data`` is not a real number, or ``step`` is not an integer.
      ValueError: there is a writer, and no step.
      RuntimeError: the writer is closed.

    >>> ag.summary.scalar("loss", 0.5, step=3)  # there is no writer
    """
    _check_numbers("scalar", data)
    if np.shape(_plain(data)) != ():
        raise TypeError(f"data of summary.scalar must be one number; got an array of shape {np.shape(_plain(data))}")
    _write(lambda tag, value: scalar_value(tag, value, description), name, data, step)


def histogram(
    name: str,
    data: TensorLike,
    step: ArrayLike | None = None,
    buckets: int | None = None,
    description: str | None = None,
) -> None:
    """Write the distribution of the elements of an array to the default writer. Without a default writer, do nothing.

    Args:
      name: the tag in TensorBoard.
      data: an array of real numbers, of any shape.
      step: as in `scalar`.
      buckets: the number of intervals; 30 by default.
      description: as in `scalar`.

    Raises:
      TypeError: ``data`` does not contain real numbers, or ``step`` is not an integer.
      ValueError: there is a writer, and no step; or, at run time, an element is not finite.
      RuntimeError: the writer is closed.

    >>> ag.summary.histogram("weights", [1.0, 2.0], step=3)  # there is no writer
    """
    count = 30 if buckets is None else buckets
    if type(count) is not int or count < 1:
        raise ValueError(f"buckets of summary.histogram must be a positive int; got {buckets!r}")
    _check_numbers("histogram", data)
    _write(lambda tag, values: histogram_value(tag, values, count, description), name, data, step)


def text(name: str, data: TextLike, step: ArrayLike | None = None, description: str | None = None) -> None:
    """Write text to the default writer. Without a default writer, do nothing.

    Args:
      name: the tag in TensorBoard.
      data: Markdown, or nested lists of strings, which TensorBoard shows as a table.
      step: as in `scalar`.
      description: as in `scalar`.

    Raises:
      TypeError: ``data`` does not contain strings, or ``step`` is not an integer.
      ValueError: there is a writer, and no step.
      RuntimeError: the writer is closed.

    >>> ag.summary.text("configuration", "learning rate **0.1**", step=0)  # there is no writer
    """

    for leaf in jax.tree_util.tree_leaves(data):
        if not isinstance(leaf, str | bytes | OneOf):
            raise TypeError(f"data of summary.text must be a str or a list of them; got {leaf!r}")
    _write(lambda tag, texts: text_value(tag, texts, description), name, data, step)


def flush(writer: SummaryWriter | None = None) -> None:
    """Write buffered summaries to the disk.

    Args:
      writer: a `SummaryWriter`; by default the default writer.

    >>> ag.summary.flush()  # there is no writer
    """
    if writer is not None:
        writer.flush()
    elif (found := target(0)) is not None:
        at_once_or_later(EventFile.flush, found.defaults[WRITER])


def _write(make: Callable[[str, Any], Any], name: Any, data: Any, step: Any) -> None:
    step = checked_step(step)
    found = target(step)
    if found is None:
        return

    def act(content: Any) -> None:
        where, name, data = content
        known = resolved(where)
        if known is not None:
            number, step = known
            file_of(number).add(make(str(name), data), step)

    # A NumPy array is the caller's, who may write it before the program runs.
    data = jax.tree_util.tree_map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, data)
    perform(act, (found.content, name, data), "writes a summary")


def _plain(value: Any) -> Any:
    read = getattr(value, "__autograph_value__", None)
    return value if read is None else read()


def _check_numbers(what: str, data: Any) -> None:
    """Refuse what is no real number while tracing, where the user's line is known."""
    for leaf in jax.tree_util.tree_leaves(jax.tree_util.tree_map(_plain, data)):
        dtype = getattr(leaf, "dtype", None)
        kind = (
            np.asarray(leaf).dtype.kind
            if dtype is None
            else "f"
            if jax.numpy.issubdtype(dtype, np.floating)
            else dtype.kind
        )
        if kind not in "biuf":
            raise TypeError(f"data of summary.{what} must be of real numbers; got {leaf!r}")
