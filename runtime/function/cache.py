"""The cache of a function's programs by signature: bounded, and without references to the objects in signatures."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from autograph.runtime.function.outputs import is_stand_in
from autograph.runtime.function.results import is_number
from autograph.runtime.heap.object_graph import is_one_shot
from autograph.runtime.layouts.pytrees import is_unsorted
from autograph.runtime.signatures.signature import CallSignature
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.tracing.locations import warn

Key = tuple[CallSignature, Any]  # a signature, and what of it is fixed beforehand


class Entry:
    """A program in the cache.

    Attributes:
      program: the program.
      specs: what its inputs were known to fit beforehand, if anything.
      direct: the compiled function, while a call of the program comes to nothing but calling that; else None.
      changed: whether what the program reads of the objects among its arguments is not as it was; None if there are none.
      is_simple: whether all results so far were arrays.
      used: the number of the call that used it last.
      watches: what tells that an object that it was made for is gone.
      key: what it is found by.
    """

    __slots__ = (
        "__weakref__",
        "changed",
        "direct",
        "is_simple",
        "key",
        "program",
        "specs",
        "used",
        "watches",
        "written",
    )

    def __init__(self, specs: tuple[TensorSpec, ...] | None) -> None:
        self.program: Any = None
        self.specs = specs
        self.direct: Any = None
        self.changed: Callable[[], bool] | None = None
        self.is_simple = True
        self.used = 0
        self.watches: list[Any] = []
        self.key: Key

    @property
    def may_have_block(self) -> bool:
        """Whether a block of a `Dispatcher` may lead to it, which has no arguments to write into, sees no two that are one, nor which are
        NumPy's, and nothing outside."""
        program = self.program
        signature = self.key[0]
        tells = program.tells_apart or program.tells_numpys
        return program.changes is None and not (tells or signature.shared or signature.taken)

    def call(self, arrays: Sequence[Any]) -> Any:
        """The result of a call that changes none of its arguments; ``ArgumentsChanged`` if it does."""
        return self._called(self.program.without_changes, arrays)

    def call_with_changes(self, arrays: Sequence[Any]) -> Any:
        """As `call`; a `Changed` if arguments are changed that the program may (`Program.admit`)."""
        return self._called(self.program, arrays)

    def _called(self, program: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        result = program(*arrays)
        self.direct = direct = self.program.direct(self.is_simple)
        if self.program.direct(self.is_simple) is not direct:
            self.direct = None  # another thread has traced meanwhile
        return result

    def traced(self, result: Any) -> None:
        """Take note of a new trace's results: the call that it belongs to may have to do more than those
        before.
        """
        self.direct = None
        leaves = jax.tree_util.tree_leaves(
            result,
            is_leaf=lambda part: not is_number(part) and (is_stand_in(part) or is_one_shot(part) or is_unsorted(part)),
        )
        self.is_simple = self.is_simple and all(map(is_number, leaves))


class Cache:
    """Entries by key.

    Of more than ``limit`` the one unused for longest goes. What ``dropped`` refers to is called with its key.
    """

    def __init__(self, name: str, limit: int, dropped: Callable[[], Callable[[Key], None] | None]) -> None:
        self._name = name
        self._limit = limit
        self._dropped = dropped
        self._entries: dict[Key, Entry] = {}
        self._lock = threading.RLock()
        self._told = False

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key, call: int, make: Callable[[], Entry]) -> Entry:
        """The entry of this key, made now if it was not, and used by the call of this number."""
        entry = self._entries.get(key)
        if entry is None:
            with self._lock:
                entry = self._entries.get(key)
                if entry is None:
                    self._make_room()
                    entry = make()
                    self.add(key, entry)
        entry.used = call
        return entry

    def add(self, key: Key, entry: Entry) -> None:
        """Keep an entry until an object that it is made for goes."""
        self._entries[key] = entry
        entry.key = key
        mine = weakref.ref(self)

        def gone(_: Any) -> None:
            cache = mine()
            if cache is not None:
                cache.drop(key)

        for static in key[0].statics:
            if static is not None and isinstance(static.value, weakref.ref):
                owner = weakref.ref.__call__(static.value)  # of a method, the instance: methods come and go
                entry.watches.append(weakref.ref(owner, gone))

    def move(self, entry: Entry, key: Key) -> None:
        """Find an entry by this key from now on, unless another has it."""
        with self._lock:
            if self._entries.pop(entry.key, None) is entry and key not in self._entries:
                self.add(key, entry)

    def drop(self, key: Key) -> None:
        """Forget an entry."""
        with self._lock:
            if self._entries.pop(key, None) is None:
                return
        dropped = self._dropped()
        if dropped is not None:
            dropped(key)

    def _make_room(self) -> None:
        while len(self._entries) >= self._limit:
            oldest = min(self._entries, key=lambda key: self._entries[key].used)
            self.drop(oldest)
            if self._told:
                continue
            self._told = True
            warn(
                f"{self._name} has {self._limit} traces, as many as its cache_limit: each new one drops the least recently "
                "used. Pass Python numbers that vary as arrays, or raise cache_limit. explain_retraces() says what varied."
            )
