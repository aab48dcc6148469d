"""`DepthBound`: how deep a staged function may call itself, and what is raised where it goes deeper."""

from __future__ import annotations

import sys
import types

from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.list_room import Room
from autograph.runtime.staging.calls.calls_under_way import Marker
from autograph.runtime.staging.policy.recursion_limit import limit_of
from autograph.runtime.tracing.recording import LOCAL

_SMALL_STACK = 1 << 20  # bytes: there is room for all calls at once


class DepthBound:
    """How deep a function may call itself.

    Attributes:
      can_raise: whether an exception has a way to the caller.
      in_tail_position: how many calls in tail position may follow one another; None for any number.
    """

    def __init__(self, function: types.FunctionType, marker: Marker, can_raise: bool) -> None:
        self._given = limit_of(function)
        self._marker = marker
        self._limit = sys.getrecursionlimit() if self._given is None else self._given
        self._room: tuple[Room, int] | None = None
        self._depth: int | None = None
        self.can_raise = can_raise
        self.in_tail_position = self._limit if can_raise else None

    def remark(self) -> str:
        """What is said of the function, after it was asked for its depth, if it was."""
        stack = "They are in tail position, and take no room."
        if self._depth is not None:
            stack = f"What a call needs after one in it lies on a stack, with room for {self._depth:,} calls under way."
        return (
            f"{self._marker.name} calls itself under a traced condition: its calls are one staged loop, of which an iteration "
            f"runs what lies between two calls. {stack}"
        )

    def depth(self, size: int) -> int:
        """How many calls may be under way at once, each of which takes so many bytes.

        Raises:
          StagingError: no limit is given, and nothing can be raised where it is passed.
        """
        if self._given is None and not self.can_raise:
            raise StagingError(
                f"{self._marker.where}\n  {self._marker.name!r} calls itself under a traced condition, not as "
                "a tail call, and a bare jax.jit around converted code cannot raise "
                "RecursionError.\n"
                f"  Limit its depth: decorate it with autograph.recursion_limit({self._limit}), or call it through "
                "autograph.function."
            )
        self._depth = self._depth_for(size)
        return self._depth

    def _depth_for(self, size: int) -> int:
        rooms = None if LOCAL.frame is None else LOCAL.frame.rooms
        if self._given is not None or rooms is None or size * self._limit <= _SMALL_STACK:
            return self._limit
        room = rooms.of(self._marker.where, self._marker.name, 1)
        if room >= self._limit:
            return self._limit
        self._room = Room(self._marker.where, self._marker.name, rooms, is_of_calls=True), room
        return room

    def error(self) -> Exception:
        """What is raised where it goes deeper."""
        if self._room is None:
            return RecursionError("maximum recursion depth exceeded")
        room, calls = self._room
        return room.outgrown(calls)
