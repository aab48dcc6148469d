"""Collect the graphs of the functions that run, and a profile, for TensorBoard."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from dataclasses import dataclass

import jax

from autograph.runtime.errors import StagingError
from autograph.runtime.function.collecting import Collected, Collection
from autograph.runtime.summary.defaults import checked_step, now
from autograph.runtime.summary.event_files import EventFile, graph_value, protos
from autograph.runtime.summary.graph_files import graph_of
from autograph.runtime.summary.writers import file_of
from autograph.runtime.tracing.locations import user_location, warn
from autograph.runtime.tracing.recording import LOCAL, is_recording
from autograph.runtime.typing import ArrayLike


@dataclass(frozen=True)
class _Trace:
    """What is being recorded.

    Attributes:
      collection: of the programs whose graphs are; None where none are.
      profile: where the profile is until it is exported; None where there is none.
      outdir: where it is to go, if that is known.
    """

    collection: Collection | None
    profile: tempfile.TemporaryDirectory[str] | None
    outdir: str | None


_LOCK = threading.RLock()
_CURRENT: list[_Trace] = []  # one at most


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | os.PathLike[str] | None = None) -> None:
    """Start to collect the graphs of the functions that run, in all threads, until `trace_export` or `trace_off`.

    Functions that were traced before are included when they are called. Called functions appear inside their callers.

    Args:
      graph: whether graphs are collected.
      profiler: whether `jax.profiler` records a profile of the process.
      profiler_outdir: the directory for the profile, if `trace_export` names none.

    Raises:
      ImportError: tensorboardX is not installed.
      ValueError: both ``graph`` and ``profiler`` are False.
      StagingError: a function is being traced, or a program calls Python.
      RuntimeError: `jax.profiler` records a profile already.

    >>> import autograph as ag, jax.numpy as jnp, tempfile
    >>> @ag.function
    ... def double(x):
    ...     return 2 * x
    >>> with ag.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     ag.summary.trace_on()
    ...     _ = double(jnp.ones(3))
    ...     ag.summary.trace_export("double", step=0)
    """
    _refuse_inside("trace_on()")
    if not graph and not profiler:
        raise ValueError("trace_on() records a graph, a profile or both; got graph=False, profiler=False")
    protos()
    with _LOCK:
        if _CURRENT:
            warn("A trace for summaries is already active: trace_export() or trace_off() ends it.")
            return
        profile = tempfile.TemporaryDirectory(prefix="autograph-profile-") if profiler else None
        if profile is not None:
            try:
                jax.profiler.start_trace(profile.name)
            except BaseException:
                profile.cleanup()
                raise
        collection = Collection() if graph else None
        if collection is not None:
            collection.start()
        _CURRENT.append(_Trace(collection, profile, None if profiler_outdir is None else os.fspath(profiler_outdir)))


def trace_export(
    name: str,
    step: ArrayLike | None = None,
    logdir: str | os.PathLike[str] | None = None,
    profiler_outdir: str | os.PathLike[str] | None = None,
) -> None:
    """Stop the recording that `trace_on` started, and write the graphs of the functions that have run, and the profile.

    In the graph, loops, branches, called functions and the scopes of `jax.named_scope` are name scopes; Variables
    have their names; each node names the user's line.

    Args:
      name: the tag of the graph in TensorBoard.
      step: as in `scalar`.
      logdir: the directory for the graph; by default that of the default writer. Without one, no graph is written.
      profiler_outdir: the directory for the profile; by default ``logdir``.

    Raises:
      ValueError: `trace_on` was not called, there is no step, or there is no directory for the profile.
      StagingError: a function is being traced, or a program calls Python.
      RuntimeError: the default writer is closed.

    >>> import autograph as ag, jax.numpy as jnp, tempfile
    >>> with ag.summary.create_file_writer(tempfile.mkdtemp()).as_default():
    ...     ag.summary.trace_on()
    ...     _ = ag.function(lambda x: x + 1)(jnp.ones(3))
    ...     ag.summary.trace_export("plus one", step=0)
    """
    _refuse_inside("trace_export()")
    with _LOCK:
        if not _CURRENT:
            raise ValueError("no trace for summaries is active: trace_on() starts one")
        current = _CURRENT[0]
        number, at = now(checked_step(step))
        writer = file_of(number) if number else None
        if logdir is None and writer is not None and writer.is_closed:
            raise RuntimeError(f"the graph {name!r} is written by a closed writer")
        own = None if writer is None else writer.logdir
        folder = next((each for each in (profiler_outdir, current.outdir, logdir, own) if each is not None), None)
        if current.profile is not None and folder is None:
            raise ValueError(
                "there is no directory for the profile: pass `logdir=` or `profiler_outdir=`, or enter a writer"
            )
        if current.profile is not None:
            jax.effects_barrier()
        programs = _end(keep=None if folder is None else os.fspath(folder))
    if current.collection is None:
        return
    if not programs:
        warn(f"No autograph.function was called since trace_on(), so there is no graph {name!r}.")
        return
    value = graph_value(str(name), graph_of(programs))
    if logdir is not None:
        file = EventFile(os.fspath(logdir), 1, 0, "")
        file.add(value, at)
        file.close()
    elif writer is not None:
        writer.add(value, at)


def trace_off() -> None:
    """Stop the recording that `trace_on` started, and discard it. Without a recording, do nothing.

    Raises:
      StagingError: a function is being traced, or a program calls Python.

    >>> ag.summary.trace_off()  # there is no trace
    """
    _refuse_inside("trace_off()")
    with _LOCK:
        if _CURRENT:
            _end(keep=None)


def _end(keep: str | None) -> list[Collected]:
    """Stop recording, and keep the profile in this folder. Returns the programs that have run."""
    current = _CURRENT.pop()
    programs = [] if current.collection is None else current.collection.stop()
    if current.profile is not None:
        with current.profile as folder:
            jax.profiler.stop_trace()
            if keep is not None:
                shutil.copytree(folder, keep, dirs_exist_ok=True)
    return programs


def _refuse_inside(what: str) -> None:
    if is_recording() or LOCAL.in_callback:
        raise StagingError(
            f"{user_location()}\n  {what} of autograph.summary is called in a function that is being traced, or that a program calls.\n"
            "  Call it around the function."
        )
