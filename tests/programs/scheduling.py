"""Jobs, machines, elevators and waiting rooms."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np

from tests.programs import program


@program(([3, 1, 4, 1, 5, 9, 2, 6], 3), ([5, 5, 5, 5, 5, 5, 5, 5], 2))
def least_loaded_machine(jobs, machines):
    loads = [0] * 4
    assigned = []
    for job in sorted(jobs, reverse=True):
        best = 0
        for m in range(4):
            if m >= machines:
                break
            if loads[m] < loads[best]:
                best = m
        loads[best] += job
        assigned.append(best)
    return max(loads), assigned[-1]


@program(([(0, 3), (1, 5), (4, 7), (6, 8), (5, 9)],), ([(0, 10), (1, 2), (2, 3), (3, 4), (4, 5)],))
def interval_scheduling(meetings):
    chosen = 0
    end = -1
    rooms = 0
    for start, finish in sorted(meetings, key=lambda meeting: meeting[1]):
        if start >= end:
            chosen += 1
            end = finish
    for t in range(10):
        busy = sum(1 for start, finish in meetings if start <= t < finish)
        rooms = max(rooms, busy)
    return chosen, rooms


@program((np.array([4, 3, 5, 2]), 2), (np.array([1, 1, 1, 9]), 3))
def round_robin(bursts, quantum):
    remaining = list(bursts)
    queue = deque(range(len(bursts)))
    time = 0
    finish = [0] * len(bursts)
    switches = 0
    while queue:
        job = queue.popleft()
        run = min(quantum, remaining[job])
        time += run
        remaining[job] -= run
        if remaining[job] > 0:
            queue.append(job)
            switches += 1
        else:
            finish[job] = time
    waiting = sum(f - b for f, b in zip(finish, bursts)) / len(bursts)
    return finish, waiting, switches


@dataclass
class Elevator:
    floor: int = 0
    direction: int = 1
    travelled: int = 0

    def step(self, calls):
        above = (
            any(calls[f] for f in range(len(calls)) if f > -1 and self.direction > 0) and self.floor < len(calls) - 1
        )
        if not above and self.direction > 0:
            self.direction = -1
        elif self.floor == 0 and self.direction < 0:
            self.direction = 1
        self.floor += self.direction
        self.travelled += 1


@program((np.array([0, 1, 0, 0, 1]),), (np.array([0, 0, 0, 0, 0]),), (np.array([1, 1, 1, 1, 1]),))
def elevator(calls):
    lift = Elevator()
    waiting = [bool(c) for c in calls]
    served = 0
    for _ in range(12):
        if waiting[lift.floor]:
            waiting[lift.floor] = False
            served += 1
        left = 0
        for w in waiting:
            if w:
                left += 1
        if left == 0:
            break
        lift.step(waiting)
    return served, lift.floor, lift.travelled


@program((5, 1.0, 0.8), (77, 0.5, 0.9), bare="the queue")
def single_server(seed, service, arrival):
    """Customers that come at random, until twelve have been served."""
    clock, free_at = 0.0, 0.0
    waiting = []
    served = 0
    total_wait = 0.0
    longest_queue = 0
    while served < 12:
        seed = (seed * 1103 + 12345) % 65536
        clock += arrival * (0.5 + seed / 65536)
        waiting.append(clock)
        longest_queue = max(longest_queue, len(waiting))
        while waiting and free_at <= clock:
            came = waiting.pop(0)
            start = max(free_at, came)
            total_wait += start - came
            free_at = start + service
            served += 1
            if served == 12:
                break
    return total_wait / served, longest_queue, clock


@program(([(2.0, 1), (1.0, 2), (3.0, 1), (0.5, 3)], 5.0), ([(5.0, 1), (5.0, 1), (5.0, 1), (5.0, 1)], 1.0))
def event_queue(events, horizon):
    """Events that bring about others: kind 3 repeats, 2 happens once more, 1 ends."""
    heap = []
    for t, kind in events:
        heapq.heappush(heap, (t, kind))
    handled = [0, 0, 0, 0]
    last = 0.0
    while heap:
        t, kind = heapq.heappop(heap)
        if t > horizon:
            break
        last = t
        handled[kind] += 1
        if kind == 3:
            heapq.heappush(heap, (t + 1.0, 3))
        elif kind == 2:
            heapq.heappush(heap, (t + 2.5, 1))
    return handled, last


TASKS = {
    "dig": ([], 0),
    "pour": (["dig"], 1),
    "frame": (["pour"], 2),
    "wire": (["frame"], 3),
    "pipe": (["pour"], 4),
    "close": (["wire", "pipe"], 5),
}


@program(([3, 2, 5, 2, 9, 1],), ([1, 1, 1, 1, 1, 1],))
def critical_path(durations):
    early = {}
    for name, (before, place) in TASKS.items():
        start = 0
        for other in before:
            if early[other][1] > start:
                start = early[other][1]
        early[name] = (start, start + durations[place])
    end = max(finish for _, finish in early.values())
    late = {name: end for name in TASKS}
    critical = []
    for name in reversed(list(TASKS)):
        before, place = TASKS[name]
        latest_start = late[name] - durations[place]
        if latest_start == early[name][0]:
            critical.append(name)
        for other in before:
            late[other] = min(late[other], latest_start)
    return end, len(critical)


@program(
    (np.array([98, 183, 37, 122, 14, 124, 65, 67]), 53),
    (np.array([10, 20, 30, 40, 50, 60, 70, 80]), 45),
    bare="`nearest` may be None",
)
def disk_head(requests, head):
    """The nearest track first."""
    done = [False] * len(requests)
    moved = 0
    turns = 0
    direction = None
    for _ in range(len(requests)):
        nearest = None
        for k, track in enumerate(requests):
            if done[k]:
                continue
            if nearest is None or abs(track - head) < abs(requests[nearest] - head):
                nearest = k
        way = "up" if requests[nearest] >= head else "down"
        if direction is not None and way != direction:
            turns += 1
        direction = way
        moved += abs(requests[nearest] - head)
        head = requests[nearest]
        done[nearest] = True
    return moved, turns, direction
