"""Print an exception of the user's program with the frames of that program only."""

from __future__ import annotations

import os
import traceback

import jax

_TOOLS = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_TOOLS)
_COMMAND = tuple(os.path.join(_TOOLS, name) for name in ("cli.py", "explore.py", "targets.py"))
# Installed, the compiler lies around this folder; in a checkout beside it.
_COMPILER = os.path.join(_ROOT, "autograph") if os.path.isdir(os.path.join(_ROOT, "autograph")) else _ROOT
_OURS = tuple(
    os.path.join(folder, name, "")
    for folder, name in ((_ROOT, "runtime"), (_ROOT, "backends"), (_COMPILER, "_analysis"), (_COMPILER, "_passes"))
)
_STANDARD = (os.path.join(os.path.dirname(os.__file__), ""), "<frozen ")
_INSTALLED = tuple(os.path.join("", folder, "") for folder in ("site-packages", "dist-packages"))
_JAX = os.path.join(os.path.dirname(os.path.abspath(jax.__file__)), "")


def shown(error: BaseException, package: str) -> str | None:
    """The error as Python prints it, without the frames of this package, of JAX and of other libraries.

    Args:
      error: what was raised, and what it was raised from.
      package: the name of the user's outermost module or package, whose frames are shown where it is installed, too.

    Returns:
      The text; None where no frame of the user's program is in it.
    """
    summary = traceback.TracebackException.from_exception(error)
    own = _keep_own(summary, package)
    return "".join(summary.format()) if own else None


def _keep_own(summary: traceback.TracebackException, package: str) -> bool:
    """Take what is not the user's out of a summary and its causes; whether frames are left in the summary itself."""
    frames = list(summary.stack)
    # What lies before the command's own frame started the process.
    start = max((k + 1 for k, frame in enumerate(frames) if frame.filename in _COMMAND), default=0)
    summary.stack = traceback.StackSummary.from_list(
        [frame for frame in frames[start:] if _is_own(frame.filename, package)]
    )
    notes = getattr(summary, "__notes__", None)
    if notes:
        summary.__notes__ = [note for note in notes if "JAX_TRACEBACK_FILTERING" not in note]
    for part in (summary.__cause__, summary.__context__, *(getattr(summary, "exceptions", None) or ())):
        if part is not None:
            _keep_own(part, package)
    return bool(summary.stack)


def _is_own(filename: str, package: str) -> bool:
    if filename.startswith((*_OURS, _JAX)) or os.path.dirname(filename) == _COMPILER:
        return False
    for folder in _INSTALLED:
        _, found, inside = filename.rpartition(folder)
        if found:
            return inside.startswith((package + os.sep, package + ".py"))
    return not filename.startswith(_STANDARD)
