"""`Forwarding`: a callable object whose calls go on to a Python function without a frame, or a dict, of their own."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class _Forwards:
        """What is used of `functools.partial`, which is generic in its result."""

        func: Callable[..., Any]
        args: tuple[Any, ...]

        def __new__(cls, *args: Any) -> Any: ...

        def __setstate__(self, state: Any) -> None: ...

else:
    _Forwards = functools.partial


class Forwarding(_Forwards):
    """Called as the function that it forwards to, which may be exchanged.

    Of the classes that may be derived from, `functools.partial` alone passes a call on from C, with the keywords as they
    stand. A method ``__call__``, or a property of that name, costs what looking it up does, and its call a tuple and a
    dict: 0.3 µs. It is a partial function of nothing, so that code which looks into those meets a function that does the same.

    It is created with a function (whatever follows that is for ``__init__``), and forwards to that at first.
    """

    def forward_to(self, function: Callable[..., Any]) -> None:
        """Go on to this function from now on."""
        _Forwards.__setstate__(self, (function, (), {}, self.__dict__))


class BoundForwarding(Forwarding):
    """A `Forwarding` with an instance, which it is created with, as its first argument.

    Looking it up makes it anew, so that must not take long: nothing is set on it, and its attributes are those of the
    `Forwarding`. It is equal to another for the same two, as bound methods are.

    Attributes:
      func: the `Forwarding`.
      instance: what it is bound to.
    """

    __slots__ = ()

    if not TYPE_CHECKING:
        __init__ = object.__init__

    @property
    def instance(self) -> Any:
        return self.args[0]

    def __getattribute__(self, name: str) -> Any:
        shared = _own(self, "func").__dict__
        if name == "__dict__":
            return shared
        return shared[name] if name in shared else _own(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.func, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.func, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundForwarding) and self.func is other.func and self.instance is other.instance

    def __hash__(self) -> int:
        return hash(self.func)


class WeakBound(weakref.ref[Any]):
    """A weak reference to what a `BoundForwarding` is bound to, which gives an equal one while that and the function live."""

    __slots__ = ("_function", "_kind")

    def __new__(cls, bound: BoundForwarding) -> WeakBound:
        return super().__new__(cls, bound.instance)

    def __init__(self, bound: BoundForwarding) -> None:
        self._function = weakref.ref(bound.func)
        self._kind: Any = type(bound)

    def __call__(self) -> Any:
        instance, function = super().__call__(), self._function()
        return None if instance is None or function is None else self._kind(function, instance)


_own = object.__getattribute__
