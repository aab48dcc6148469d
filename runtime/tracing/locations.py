"""Source locations in the user's code, and tracebacks without internal frames."""

from __future__ import annotations

import collections
import dis
import functools
import itertools
import os
import sys
import types
import warnings
from collections.abc import Callable

import jax

from autograph.runtime.code.code_names import codes_in
from autograph.runtime.errors import StagingWarning, cell_of, describe_location
from autograph.runtime.tracing.statements import Remark, take_down

_RUNTIME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ROOT = os.path.dirname(_RUNTIME)
# In a checkout the compiler's folder lies beside this one; installed, it is the folder around it.
_COMPILER = (
    os.path.join(_ROOT, "autograph", "")
    if os.path.isdir(os.path.join(_ROOT, "autograph"))
    else os.path.join(_ROOT, "_")
)
_OURS = (os.path.join(_RUNTIME, ""), os.path.join(_ROOT, "backends", ""), _COMPILER)
_OPERATORS = (
    *(os.path.join(_RUNTIME, folder, "") for folder in ("staging", "heap", "containers")),
    os.path.join(_RUNTIME, "effects", "staged_raises.py"),
    # What stands for one of several values, or for what may be None, has Python's operators.
    *(os.path.join(_RUNTIME, "layouts", f"{name}.py") for name in ("one_of", "optional", "perhaps")),
)
_JAX = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(jax.__file__))), package) + os.sep
    for package in ("jax", "jaxlib")
)

_CALLS = os.path.join(_RUNTIME, "staging", "policy", "opaque.py")
_STANDARD = (os.path.dirname(os.__file__) + os.sep, "<frozen")
_INSTALLED = tuple(os.path.join("", folder, "") for folder in ("site-packages", "dist-packages"))


def is_internal(filename: str) -> bool:
    """Whether a frame of this file is ours."""
    return filename.startswith(_OURS)


def is_of_jax(filename: str) -> bool:
    """Whether a frame of this file is JAX's."""
    return filename.startswith(_JAX)


def is_call(filename: str) -> bool:
    """Whether a frame of this file calls what the user's code calls, which raises its own errors there."""
    return filename == _CALLS


def is_operator(filename: str) -> bool:
    """Whether this file is one of the operators that converted code calls instead of Python's, or of what has them."""
    return filename.startswith(_OPERATORS)


def is_of_package(filename: str) -> bool:
    """Whether a frame of this file is an installed package's."""
    return any(folder in filename for folder in _INSTALLED)


def is_of_library(filename: str) -> bool:
    """Whether a frame of this file is an installed package's, or the standard library's."""
    return filename.startswith(_STANDARD) or is_of_package(filename) or filename.endswith(".pyx")


@functools.lru_cache(maxsize=4096)
def is_installed(module: str) -> bool:
    """Whether a module is an installed package's: what it holds is its own affair, and what its objects read is not known."""
    filename = getattr(sys.modules.get(module), "__file__", None)
    return isinstance(filename, str) and is_of_library(filename)


def user_location() -> str:
    """``file:line: text`` of the innermost line of the user's that is running; not of the standard library's that it calls."""
    frame = _frame_past(lambda name: name.startswith(_STANDARD) and not is_of_package(name)) or _user_frame()
    return "<unknown>" if frame is None else describe_location(frame.f_code.co_filename, frame.f_lineno)


def calling_line() -> tuple[str, int]:
    """`user_line`, but where a library runs, the line that called it."""
    frame = _calling_frame()
    return user_line() if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def calling_expression() -> tuple[str, int, int]:
    """The line of `calling_line`, and the column of the expression there that is evaluated."""
    frame = _calling_frame()
    if frame is None:
        return *user_line(), 0
    _, _, column, _ = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return frame.f_code.co_filename, frame.f_lineno, column or 0


def _calling_frame() -> types.FrameType | None:
    return _frame_past(is_of_library)


def _frame_past(is_passed: Callable[[str], bool]) -> types.FrameType | None:
    """The innermost frame that is neither ours nor JAX's, nor of a file that is passed over; None if there is none."""
    frame = _user_frame()
    while frame is not None:
        name = frame.f_code.co_filename
        if not (is_internal(name) or is_of_jax(name) or is_passed(name)):
            return frame
        frame = frame.f_back
    return None


def is_called_by_jax() -> bool:
    """Whether JAX itself calls what of ours is running, and not a function of the user's that JAX calls."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and is_of_jax(frame.f_code.co_filename)


def users_under_jax() -> list[types.FrameType]:
    """The frames of the user's functions around ours, up to the one that JAX calls, which is last; none if JAX calls none."""
    found = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not is_of_jax(frame.f_code.co_filename):
        if not is_internal(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return [] if frame is None else found


def location_of_assignment(name: str) -> str:
    """`user_location`, or that of the line further down in this function that first assigns a variable from outside."""
    frame = _user_frame()
    if frame is None:
        return "<unknown>"
    lines = [
        instruction.positions.lineno
        for code in codes_in(frame.f_code)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("STORE_GLOBAL", "STORE_DEREF")
        and instruction.argval == name
        and instruction.positions
    ]
    found = min((line for line in lines if line is not None), default=frame.f_lineno)
    return describe_location(frame.f_code.co_filename, found)


def user_line() -> tuple[str, int]:
    """File and line of the innermost line of the user's that is running."""
    frame = _user_frame()
    return ("<unknown>", 1) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def lines_around() -> list[tuple[str, int]]:
    """Files and lines of the user's calls around `user_line`, outwards."""
    frame, found = _user_frame(), []
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_internal(filename) and not filename.startswith(_JAX):
            found.append((filename, frame.f_lineno))
        frame = frame.f_back
    return found[1:]


def user_position_now() -> tuple[str, int, str]:
    """File, line and function of the innermost code of the user's that is running."""
    frame = _user_frame()
    return ("<unknown>", 1, "<unknown>") if frame is None else _position(frame.f_code, frame.f_lineno)


def position_of(code: types.CodeType) -> tuple[str, int, str]:
    """File, first line and name of a function."""
    return _position(code, code.co_firstlineno)


def _position(code: types.CodeType, line: int) -> tuple[str, int, str]:
    return code.co_filename, line, code.co_name


def user_code(traceback: types.TracebackType | None) -> types.CodeType | None:
    """The user's code that the exception of this traceback was raised in."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code.co_filename) and not code.co_filename.startswith(_JAX):
            found = code
        traceback = traceback.tb_next
    return found


def user_position(
    traceback: types.TracebackType | None, prefer: Callable[[types.CodeType], bool] | None = None
) -> tuple[str, int, str] | None:
    """File, line and function of the user's where the exception of this traceback was raised, if in user code.

    Args:
      prefer: tells the code that is asked for, if there is such, from other code that is neither ours nor JAX's.
    """
    found = preferred = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_internal(code.co_filename) and not code.co_filename.startswith(_JAX):
            found = _position(code, traceback.tb_lineno)
            if prefer is not None and prefer(code):
                preferred = found
        traceback = traceback.tb_next
    return preferred or found


def raised_in(traceback: types.TracebackType | None) -> str:
    """The file whose code raised the exception of this traceback; empty if that is not known."""
    code = _raising_code(traceback)
    return "" if code is None else code.co_filename


def code_that_raised(traceback: types.TracebackType | None) -> str:
    """The name of the function that raised the exception of this traceback; empty if that is not known."""
    code = _raising_code(traceback)
    return "" if code is None else code.co_name


def _raising_code(traceback: types.TracebackType | None) -> types.CodeType | None:
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return None if traceback is None else traceback.tb_frame.f_code


def most_called() -> str | None:
    """The name of the user's function that is under way more than ten times, if one is."""
    counts: collections.Counter[types.CodeType] = collections.Counter()
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal(frame.f_code.co_filename) and not is_of_library(frame.f_code.co_filename):
            counts[frame.f_code] += 1
        frame = frame.f_back
    return next((code.co_name for code, count in counts.most_common() if count > 10), None)


def level_from_here(level: int) -> int:
    """The ``stacklevel`` for whoever calls this that is this one of the user's, who does not see what lies between their frames."""
    return _frame_at(level, sys._getframe(1))[1]


def frame_at(level: int) -> types.FrameType | None:
    """The frame that is at this ``stacklevel`` for the user; None if there are not so many."""
    return _frame_at(level, sys._getframe(1))[0]


def _frame_at(level: int, frame: types.FrameType | None) -> tuple[types.FrameType | None, int]:
    inner: types.CodeType | None = None
    found = 1
    while frame is not None:
        code = frame.f_code
        if not is_internal(code.co_filename) and not code.co_filename.startswith(_JAX):
            if inner is None or not _is_block_of(code, inner):
                level -= 1
            if level < 1:
                break
            inner = code
        frame, found = frame.f_back, found + 1
    return frame, found


def record_remark(text: str) -> None:
    """Take down what is said of the user's line that is running, for whoever looks at the program."""
    take_down(Remark(user_position_now(), text))


def warn(message: str, deferred: list[Callable[[], None]] | None = None) -> None:
    """Issue a `StagingWarning` for the user's line that is running, shown once for each line; or have it issued with what is ``deferred``,
    once the trace has ended: one that is made again may do otherwise."""
    frame = _user_frame()
    filename, line = ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    text = f"{describe_location(filename, line)}\n  {message}"
    if frame is not None:
        take_down(Remark(_position(frame.f_code, line), message))
    registry = {} if frame is None else frame.f_globals.setdefault("__warningregistry__", {})
    where = cell_of(filename) or filename, line
    issue = functools.partial(warnings.warn_explicit, text, StagingWarning, *where, registry=registry)
    issue() if deferred is None else deferred.append(issue)


def _user_frame() -> types.FrameType | None:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not is_internal(filename) and not filename.startswith(_JAX):
            return frame
        frame = frame.f_back
    return None


def clean_traceback(error: BaseException) -> None:
    """Drop our own frames, and JAX's, from the traceback of an error that passes through; of a function and its blocks, which are
    functions to Python, the innermost stays.

    The caller catches the error and re-raises it with a bare ``raise``, which adds no frame of its own.
    ``jax_traceback_filtering="off"`` keeps all.
    """
    if getattr(jax.config, "jax_traceback_filtering", None) == "off":
        return
    kept: list[types.TracebackType] = []
    entry = error.__traceback__
    while entry is not None:
        filename = entry.tb_frame.f_code.co_filename
        if not is_internal(filename) and not filename.startswith(_JAX):
            if kept and _is_block_of(kept[-1].tb_frame.f_code, entry.tb_frame.f_code):
                kept.pop()
            kept.append(entry)
        entry = entry.tb_next
    following: types.TracebackType | None = None
    for part in reversed(kept):
        following = types.TracebackType(following, part.tb_frame, part.tb_lasti, part.tb_lineno)
    error.__traceback__ = following


def is_block(code: types.CodeType) -> bool:
    """Whether a conversion has made this code of a block of the function whose name it has."""
    return code.co_qualname.rpartition(".")[2] != code.co_name


def _is_block_of(function: types.CodeType, code: types.CodeType) -> bool:
    is_named_so = code.co_name == function.co_name and code.co_qualname.startswith(f"{function.co_qualname}.<locals>.")
    return is_named_so and is_block(code)
