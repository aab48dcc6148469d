"""What XLA compiled, kept in one folder by JAX's persistent cache: for later runs, and for the other processes of this one.

JAX writes an entry as a file that others may see half written. A process of pytest writes entries whole, so all of them
share one folder. What tests start (programs, servers) writes them as JAX does: it gets a folder of its own, which begins
with the same entries, and whose new ones are moved to the others when the process of pytest ends.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_PART = ".part"  # a file that is still being written


class CompiledPrograms:
    """The entries of a run.

    Attributes:
      shared: the folder that all processes of pytest read and write.
      of_children: the folder of what this process of pytest starts.
    """

    def __init__(self, folder: Path) -> None:
        self.shared = folder / "all"
        self.of_children = folder / f"process-{os.getpid()}"

    def start(self) -> None:
        """Let JAX use the folders, in this process and in those that it starts."""
        self.shared.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.of_children, ignore_errors=True)
        self.of_children.mkdir()
        for entry in os.listdir(self.shared):
            if not entry.endswith(_PART):
                os.link(self.shared / entry, self.of_children / entry)
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(self.of_children)
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
        import jax  # now, as it reads these settings when it is imported

        jax.config.update("jax_compilation_cache_dir", str(self.shared))
        for kind in _kinds_of_paths():
            kind.write_bytes = whole_in(self.shared, kind.write_bytes)

    def end(self) -> None:
        """Move what children compiled to the shared folder."""
        if not self.of_children.exists():  # this process only starts those that run tests
            return
        for entry in os.listdir(self.of_children):
            if not (self.shared / entry).exists():
                (self.of_children / entry).replace(self.shared / entry)
        shutil.rmtree(self.of_children, ignore_errors=True)


def whole_in(folder: Path, write: Callable[[Any, bytes], int]) -> Callable[[Any, bytes], int]:
    """`Path.write_bytes`, by which a file of this folder has all of its bytes from its first moment on."""

    def write_bytes(self: Any, data: bytes) -> int:
        if os.fspath(self.parent) != os.fspath(folder):
            return write(self, data)
        part = Path(f"{os.fspath(self)}.{os.getpid()}-{threading.get_ident()}{_PART}")
        try:
            with part.open("wb") as file:
                file.write(data)
            os.replace(part, os.fspath(self))
        except BaseException:
            with contextlib.suppress(OSError):
                part.unlink()
            raise
        return len(data)

    return write_bytes


def _kinds_of_paths() -> list[Any]:
    """The classes by which JAX may write: that of `etils`, where it is installed."""
    kinds: list[Any] = [pathlib.Path]
    with contextlib.suppress(ImportError):
        from etils import epath

        kinds.append(epath.Path)
    return kinds
