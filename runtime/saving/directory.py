"""Write directories atomically, and read them without following paths that lead outside."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autograph.runtime.errors import LoadError

MANIFEST = "manifest.json"
_EXCHANGE, _HERE = 2, -100  # of renameat2


class Writing:
    """A directory that is being written, beside the one whose place it takes.

    Attributes: files (of each file written so far, its size and its SHA-256 sum).
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, dict[str, Any]] = {}

    def write(self, name: str, write: Callable[[Callable[[Any], object]], object]) -> None:
        """Write a file: ``write`` hands its bytes to the function that it is called with."""
        total, seen = 0, hashlib.sha256()

        with open(self._folder / name, "wb") as file:

            def put(data: Any) -> None:
                nonlocal total
                total += len(data)
                seen.update(data)
                file.write(data)

            write(put)
            file.flush()
            os.fsync(file.fileno())
        self.files[name] = {"bytes": total, "sha256": seen.hexdigest()}


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Writing]:
    """Write a directory that stands at ``path`` when the block has ended, in one step; not if it raises.

    Raises:
      FileExistsError: something else stands there.
    """
    if path.is_symlink():
        path = path.resolve()
    _refuse_others(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    beside = path.with_name(f".{path.name}.saving-{os.getpid()}-{secrets.token_hex(4)}")
    beside.mkdir()
    try:
        yield Writing(beside)
        _sync(beside)
        _put(beside, path)
        _sync(path.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _refuse_others(path: Path) -> None:
    if path.is_dir() and ((path / MANIFEST).is_file() or not any(path.iterdir())):
        return
    if path.exists():
        raise FileExistsError(f"{path} already exists and is not a saved model: save to another path, or remove it")


def _put(beside: Path, path: Path) -> None:
    """Move a directory to a path; what stands there now goes where it was, to be removed."""
    if not path.exists():
        os.rename(beside, path)
        return
    if _exchanged(beside, path):
        return
    # Two steps, between which `found` finds the old one.
    before = path.with_name(f".{path.name}.before-{os.getpid()}-{secrets.token_hex(4)}")
    os.rename(path, before)
    os.rename(beside, path)
    shutil.rmtree(before, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether the system has exchanged two directories, which not all can."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove what saves to this path have left that were ended before they could."""
    for left in path.parent.glob(f".{path.name}.saving-*-*"):
        number = left.name.rpartition("-")[0].rpartition("-")[2]
        if number.isdigit() and not _runs(int(number)):
            shutil.rmtree(left, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def found(path: Path) -> Path:
    """Where the directory of this path is: at it, or beside it if a save was ended between two steps."""
    if not os.path.lexists(path):
        left = sorted(path.parent.glob(f".{path.name}.before-*-*"))
        if left:
            return left[-1]
    return path


class Reading:
    """A directory that is open. Nothing but the files in it is opened, and no link is followed.

    Args: path.

    Raises:
      LoadError: it is no directory that can be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise LoadError(f"{path}: no such directory") from None
        except NotADirectoryError:
            raise LoadError(f"{path}: not a directory; a saved model is a directory") from None
        except (OSError, ValueError) as error:
            raise LoadError(f"{path}: it cannot be opened: {error}") from None

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def is_replaced(self) -> bool:
        """Whether another directory stands at the path now, which a save has put there."""
        try:
            return not os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        except FileNotFoundError:
            return True

    def error(self, name: str, what: str) -> LoadError:
        """The exception that says what is wrong with a file."""
        return LoadError(f"{self.path / name}: {what}")

    @contextlib.contextmanager
    def opened(self, name: str) -> Iterator[Any]:
        """A file of it, open."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            raise self.error(name, "the file is missing") from None
        except OSError as error:
            what = "it is a link, and links are not followed" if error.errno == errno.ELOOP else f"{error.strerror}"
            raise self.error(name, what) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise self.error(name, "it is no file")
        with os.fdopen(descriptor, "rb") as file:
            yield file

    def content(self, name: str, most: int) -> bytes:
        """The content of a file that has at most so many bytes."""
        with self.opened(name) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise self.error(name, f"it has {size} bytes, more than the {most} that there may be")
            content: bytes = file.read(size)  # room for what is asked for is made at once
            return content

    def checked(self, name: str, entry: dict[str, Any]) -> bytes:
        """The content of a file, which is what the manifest says of it."""
        with self.opened(name) as file:
            self._check_size(name, file, entry)
            content: bytes = file.read(entry["bytes"])
        self._check_sum(name, content, entry)
        return content

    def mapped(self, name: str, entry: dict[str, Any]) -> np.ndarray:
        """The content of a file, mapped, which is what the manifest says of it."""
        with self.opened(name) as file:
            self._check_size(name, file, entry)
            data = np.memmap(file, np.uint8, "r") if entry["bytes"] else np.zeros(0, np.uint8)
        self._check_sum(name, data, entry)
        return data

    def _check_size(self, name: str, file: Any, entry: dict[str, Any]) -> None:
        size = os.fstat(file.fileno()).st_size
        if size != entry["bytes"]:
            raise self.error(name, f"it has {size} bytes, and the manifest says {entry['bytes']}")

    def _check_sum(self, name: str, content: Any, entry: dict[str, Any]) -> None:
        if hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise self.error(name, "its SHA-256 sum is not the one in the manifest: it has been changed")
