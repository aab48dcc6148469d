"""Resolve `PKG.MOD:FN` or `path/to/file.py:FN` to a function."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def load(target: str) -> Callable[..., Any]:
    """The function that `target` names; `ValueError`, in one line, where there is none.

    Modules are found as `python -m` finds them, from the working directory first; a file is run as
    `python file.py` would run it, except that it is not `__main__`. `FN` may be dotted: `Model.loss`.
    """
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise ValueError(f"{target!r} names no function: write PKG.MOD:FN or path/to/file.py:FN")
    if place.endswith(".py"):
        module = _run_file(Path(place))
    else:
        module = _import_name(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{place} has no {name!r}{_hint(module, name)}")
        found = getattr(found, part)
    if isinstance(found, type) and found.__module__ == "builtins":
        raise ValueError(f"{target} is not a function but the class {found.__name__}")
    if not callable(found):
        raise ValueError(f"{target} is not a function but a value of type {type(found).__name__}")
    return found


def _import_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"{name!r} is not a module name: write PKG.MOD:FN or path/to/file.py:FN")
    _search_first(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Either the module that was asked for is missing, or one that it imports.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ValueError(f"no module named {error.name!r}") from error
        raise ValueError(f"importing {name} failed: {_summary(error)}") from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"importing {name} failed: {_summary(error)}") from error


def _run_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"no file named {path}")
    # A file that is called as a module already in use (random.py) must not take its place.
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_file"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    _search_first(path.parent)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(f"running {path.name} failed: {_summary(error)}") from error
    return module


def _search_first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _summary(error: BaseException) -> str:
    """The error in one line, with the line of code it came from."""
    text = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    # The last frame is the one that raised; with only ours there, the file never began to run.
    if isinstance(error, SyntaxError) or frames[-1].filename == __file__:
        return text
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno})"


def _hint(module: ModuleType, name: str) -> str:
    close = difflib.get_close_matches(name, dir(module), n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    own = [key for key, value in vars(module).items() if callable(value) and _defined_in(value, module)]
    return f"; it defines {', '.join(own[:8])}" if own else ""


def _defined_in(value: Any, module: ModuleType) -> bool:
    return inspect.getmodule(inspect.unwrap(value)) is module
