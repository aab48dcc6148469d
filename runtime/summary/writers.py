"""`SummaryWriter`: writes summaries to an event file."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
from contextlib import AbstractContextManager
from typing import Any

import jax

from autograph.runtime.effects.callbacks import perform
from autograph.runtime.summary.defaults import entered
from autograph.runtime.summary.event_files import EventFile
from autograph.runtime.tracing.recording import LOCAL, is_recording
from autograph.runtime.typing import ArrayLike

_NUMBERS = itertools.count(1)
_FILES: dict[int, EventFile] = {}
_LOCK = threading.Lock()


def create_file_writer(
    logdir: str | os.PathLike[str], max_queue: int = 10, flush_millis: int = 120_000, filename_suffix: str | None = None
) -> SummaryWriter:
    """Return a writer of summaries to a new event file in a directory, which TensorBoard shows as a run.

    Args:
      logdir: the directory. It is created if it does not exist.
      max_queue: the number of summaries that are buffered before they are written to the disk.
      flush_millis: the time in milliseconds after which buffered summaries are written.
      filename_suffix: the end of the file's name.

    Returns:
      A `SummaryWriter`.

    Raises:
      ImportError: tensorboardX is not installed.
      OSError: the file cannot be created.

    >>> import autograph as ag, tempfile
    >>> writer = ag.summary.create_file_writer(tempfile.mkdtemp())
    >>> with writer.as_default(step=1):
    ...     ag.summary.scalar("loss", 0.5)
    >>> writer.close()
    """
    file = EventFile(os.fspath(logdir), max_queue, flush_millis, filename_suffix or "")
    number = next(_NUMBERS)
    with _LOCK:
        _FILES[number] = file
    return SummaryWriter(number, os.fspath(logdir))


class SummaryWriter:
    """Writes summaries to an event file while it is the default writer. `create_file_writer` creates one.

    Attributes:
      logdir: the directory of its file.

    >>> import autograph as ag, tempfile
    >>> with ag.summary.create_file_writer(tempfile.mkdtemp()).as_default() as writer:
    ...     ag.summary.text("note", "started", step=0)
    >>> writer.close()
    """

    __slots__ = ("_number", "logdir")

    def __init__(self, number: int, logdir: str) -> None:
        self._number = number
        self.logdir = logdir

    def as_default(self, step: ArrayLike | None = None) -> AbstractContextManager[SummaryWriter]:
        """Return a context in which this is the default writer of this thread.

        In a compiled function the context is entered and left at run time.

        Args:
          step: the default step in the context, as in `set_step`.

        Returns:
          A context manager.

        Raises:
          RuntimeError: the writer is closed.
        """
        if not is_recording() and file_of(self._number).is_closed:
            raise RuntimeError(f"the summary writer of {self.logdir} is closed")
        return entered(self, self._number, step)

    def flush(self) -> None:
        """Write the summaries of all programs that have run to the disk; in a compiled function, at run time."""
        at_once_or_later(EventFile.flush, self._number)

    def close(self) -> None:
        """Write all summaries to the disk and close the file; in a compiled function, at run time."""
        at_once_or_later(EventFile.close, self._number)

    def __repr__(self) -> str:
        return f"<ag.summary.SummaryWriter {self.logdir!r}>"


def file_of(number: int) -> EventFile:
    """The file of the writer of this number."""
    return _FILES[number]


def at_once_or_later(act: Any, number: Any) -> None:
    """Do this with the file of a writer: now, after what running programs still write, or when the program runs."""
    if not is_recording() and not LOCAL.in_callback:
        jax.effects_barrier()

    def do(number: Any) -> None:
        if int(number):
            act(file_of(int(number)))

    perform(do, number, "writes to a file")


@atexit.register
def _close_all() -> None:
    for file in list(_FILES.values()):
        file.close()
