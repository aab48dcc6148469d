"""Queueing: heaps of events in the order of their class."""

from __future__ import annotations

import heapq

from tests.programs import program


@program(([0.2, 0.8, 0.5, 0.1, 0.9],), ([0.0] * 5,), ([0.6, 0.4],))
def visitors(us):
    class Event:
        __slots__ = ("time", "kind")

        def __init__(self, time, kind):
            self.time = time
            self.kind = kind

        def __lt__(self, other):
            return self.time < other.time

    queue = []
    for i, u in enumerate(us):
        heapq.heappush(queue, Event(round(u * 10), i % 2))
    inside = 0
    peak = 0
    clock = 0
    while queue:
        e = heapq.heappop(queue)
        clock = e.time
        if e.kind == 0:
            inside += 1
        elif inside > 0:
            inside -= 1
        peak = max(peak, inside)
    return peak, inside, clock
