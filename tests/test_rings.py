"""Queues and windows in loops: what moves each element of an array to the front moves an index, and no element."""

from __future__ import annotations

import collections
import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import jax_compat
from autograph.backends.xla.rings import rings_in
from tests.test_updates_in_place import SIZE, copies_in_loops
from tests.test_writes_in_branches import depths_of_writes

RNG = np.random.default_rng(0)
GRAPH = RNG.integers(0, 80, (80, 4), np.int32)
GRAPH[:, 0] = (np.arange(80) + 1) % 80
NUMBERS = RNG.integers(0, 40, 60, np.int32)


def breadth_first(graph, start):
    distance = np.full(len(graph), -1)
    distance[start] = 0
    queue = collections.deque([start])
    while queue:
        node = queue.popleft()
        for other in graph[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    return distance


def by_a_list(graph, start):
    distance = np.full(len(graph), -1)
    distance[start] = 0
    queue, order = [start], []
    while len(queue) > 0:
        node = queue.pop(0)
        order.append(node)
        for k in range(4):
            if distance[graph[node, k]] < 0:
                distance[graph[node, k]] = distance[node] + 1
                queue.append(graph[node, k])
    return distance, order


def tuples_in_a_queue(graph, start):
    seen = np.zeros(len(graph), bool)
    queue = collections.deque([(start, 0, 0.5)])
    total, far = 0.0, 0
    while queue:
        node, depth, weight = queue.popleft()
        if seen[node]:
            continue
        seen[node] = True
        total += weight * depth
        far = max(far, depth)
        for other in graph[node]:
            if not seen[other]:
                queue.append((other, depth + 1, weight * 0.5))
    return total, far


def to_both_ends(graph, start):
    cost = np.full(len(graph), 10**6)
    cost[start] = 0
    queue = collections.deque([start])
    while queue:
        node = queue.popleft()
        for k in range(4):
            other, more = graph[node, k], k % 2
            if cost[node] + more < cost[other]:
                cost[other] = cost[node] + more
                if more == 0:
                    queue.appendleft(other)
                else:
                    queue.append(other)
    return cost


def two_queues(graph, start):
    a, b, t, n = collections.deque([start]), collections.deque([start + 1]), 0, 0
    while a or b:
        n += 1
        if n > 200:
            break
        if a:
            t = (t * 31 + a.popleft()) % 100_003
            if n % 3:
                b.append((t * 7 + n) % 50)
        if b:
            t = (t * 17 + b.popleft()) % 100_003
            if n % 4:
                a.append((t * 5 + n) % 50)
            if n % 7 == 0:
                a.append(1)
    return t, n


def the_front_is_read_and_written(graph, start):
    queue, t, n = [start], 0, 0
    while queue and n < 100:
        n += 1
        queue[0] = queue[0] + 1
        t += queue[0] * n
        front = queue.pop(0)
        if n < 50:
            queue.append(graph[front % 80, 1])
            queue.insert(0, graph[front % 80, 2])
        if len(queue) > 3:
            queue[len(queue) // 2] = t % 7
            t += queue[-2]
    return t, queue


def last_of_a_circle(numbers, k):
    circle = collections.deque()
    for number in range(len(numbers)):
        circle.append(number)
    last = -1
    while circle:
        for _ in range(k - 1):
            circle.append(circle.popleft())
        last = circle.popleft()
    return last


def turns(numbers, quantum):
    jobs = collections.deque((k, numbers[k] + 1) for k in range(len(numbers)))
    clock, order = 0, []
    while jobs:
        k, left = jobs.popleft()
        if left > quantum:
            clock += quantum
            jobs.append((k, left - quantum))
        else:
            clock += left
            order.append((k, clock))
    return order


def window(numbers, k):
    held, total, most = collections.deque(), 0, 0
    for number in numbers:
        held.append(number)
        if len(held) > k:
            total += held.popleft()
        most = max(most, held[0])
    return total, most, len(held)


def greatest_of_windows(numbers, k):
    places, greatest = collections.deque(), []
    for i in range(len(numbers)):
        while places and places[0] <= i - k:
            places.popleft()
        while places and numbers[places[-1]] <= numbers[i]:
            places.pop()
        places.append(i)
        if i >= k - 1:
            greatest.append(numbers[places[0]])
    return greatest


def bounded(numbers, k):
    held, t, i = collections.deque(maxlen=4), 0, 0
    while i < len(numbers):
        if numbers[i] % 3:
            held.append(numbers[i])
        elif len(held) > 2:
            held.appendleft(numbers[i] + k)
        if len(held) == 4:
            t = (t * 7 + held[0] - held[3]) % 10_007
        i += 1
    return t, list(held)


def a_loop_in_a_scan(numbers, k):
    queue, t = collections.deque([1, 2, 3]), 0
    for number in numbers:
        queue.append(number + t % 5)
        while len(queue) > k:
            t += queue.popleft()
        for _ in range(3):
            queue.append(queue.popleft())
    return t, list(queue)


def read_as_a_whole(numbers, k):
    queue, t = [], 0
    for number in numbers:
        queue.append(number)
        if len(queue) > k:
            queue.pop(0)
        t += sum(queue) - max(queue)
    return t, queue


PROGRAMS = [
    *((program, (GRAPH, 3)) for program in (breadth_first, by_a_list, tuples_in_a_queue, to_both_ends)),
    *((program, (GRAPH, 3)) for program in (two_queues, the_front_is_read_and_written)),
    *((program, (NUMBERS, 5)) for program in (last_of_a_circle, turns, window, greatest_of_windows)),
    *((program, (NUMBERS, 5)) for program in (bounded, a_loop_in_a_scan, read_as_a_whole)),
]


def rotated_in_loops(jaxpr):
    """By loop, how many arrays are rings where it is lowered."""
    found = []
    for equation in jax_compat.all_equations(jaxpr):
        program = equation.params.get("program")
        if program is not None and program.in_rings is not None:
            found.append(len(program.in_rings[0].places))
        elif jax_compat.kind(equation) is jax_compat.Kind.SCAN:
            scan = jax_compat.scan_of(equation)
            rings = rings_in(scan.body, scan.consts, scan.carried)
            found += [] if rings is None else [len(rings.places)]
    return found


def distances(graph, start):
    distance = np.full(len(graph), -1)
    distance[start] = 0
    queue = collections.deque([start])
    while queue:
        ag.set_loop_options(maximum_length=330)
        node = queue.popleft()
        for k in range(4):
            if distance[graph[node, k]] < 0:
                distance[graph[node, k]] = distance[node] + 1
                queue.append(graph[node, k])
    return distance


def test_a_cpu_appends_in_the_branch():
    """A write after it would be one in each iteration."""
    lowered = jax.jit(ag.convert(distances)).trace(*map(jnp.asarray, (GRAPH, 3))).lower(lowering_platforms=("cpu",))
    text = lowered.as_text().partition("} do {")[2]
    in_iterations = text.splitlines()[1]
    depths = depths_of_writes(text)
    assert len(depths) == 8 and min(depths) > len(in_iterations) - len(in_iterations.lstrip())


@pytest.mark.parametrize("program, arguments", PROGRAMS, ids=lambda value: getattr(value, "__name__", ""))
def test_as_python(program, arguments):
    want = program(*copy.deepcopy(arguments))
    found = ag.function(program)(*map(jnp.asarray, arguments))
    for mine, its in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-5)


def jaxpr_of(program, *arguments):
    return jax.make_jaxpr(ag.convert(program))(*map(jnp.asarray, arguments)).jaxpr


def bounded_search(graph, start):
    seen = np.zeros(len(graph), bool)
    queue, steps = collections.deque([start]), 0
    while queue:
        ag.set_loop_options(maximum_length=330)
        node = queue.popleft()
        if not seen[node]:
            seen[node] = True
            steps += 1
            for other in graph[node]:
                queue.append(other)
    return seen, steps


@pytest.mark.parametrize(
    "program, arguments, rings",
    [
        (bounded_search, (GRAPH, 3), [1]),
        (window, (NUMBERS, 5), [1]),
        (bounded, (NUMBERS, 5), [1]),
        (greatest_of_windows, (NUMBERS, 5), [1]),
        (read_as_a_whole, (NUMBERS, 5), []),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_which_arrays_are_rings(program, arguments, rings):
    assert rotated_in_loops(jaxpr_of(program, *arguments))[:1] == rings


def test_a_batch_and_a_derivative_are_of_the_loop_as_it_was():
    starts = np.array([3, 11], np.int32)
    seen, steps = jax.vmap(ag.convert(bounded_search), (None, 0))(jnp.asarray(GRAPH), starts)
    want = [bounded_search(GRAPH, start) for start in starts]
    np.testing.assert_array_equal(seen, [each for each, _ in want])
    np.testing.assert_array_equal(steps, [each for _, each in want])
    x = np.linspace(0.5, 2.0, 9)
    steps = [(delayed(x + d, 3) - delayed(x - d, 3)) / 2e-6 for d in 1e-6 * np.eye(9)]
    np.testing.assert_allclose(jax.grad(ag.convert(delayed))(jnp.asarray(x), 3), steps, rtol=1e-3)


def delayed(x, k):
    line, total = collections.deque([1.0, 2.0]), 0.0
    for v in x:
        line.append(v * line[0])
        if len(line) > k:
            total += line.popleft() * v
    return total


def turning(by, within):
    """The body of a loop that rotates an array, and reads and writes rows of it."""

    def body(index, array, found):
        for step in by:
            array = jnp.concatenate([array[step:], array[:step]])
        found = found + jax.lax.dynamic_slice_p.bind(array, index, slice_sizes=(1,))[0] * 3 + array[-1]
        mode = dict(mode="drop", wrap_negative_indices=False)
        array = array.at[(index * within).astype(jnp.int32) + found % 5 - 2].set(found, **mode)
        return jax.lax.dynamic_update_slice_p.bind(array, found[None], index), found

    return body


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.uint8, jnp.int16, jnp.int32])
@pytest.mark.parametrize("by", [(1,), (3,), (1, 4), (199,)], ids=str)
def test_every_index_of_every_type(dtype, by):
    """Also where an index, or the length, is near the end of its type, or out of range on either side."""
    if jnp.iinfo(dtype).max < 200 and jax.__version_info__ < (0, 11):
        pytest.skip(
            "XLA of this version clips an index in its own type, which the length is beyond, and writes out of bounds"
        )
    first = jnp.arange(200, dtype=jnp.int32), jnp.int32(1)
    body = jax.make_jaxpr(turning(by, 2))(dtype(0), *first)
    rings = rings_in(body, 1, 2)
    assert rings is not None and rings.places == (0,)
    info = jnp.iinfo(dtype)
    for index in {0, 5, 60, 127, max(info.min, -7), info.min, min(info.max, 205), info.max}:
        plain, ring = list(first), rings.start([dtype(index), *first])[1:]
        for _ in range(7):
            plain = jax_compat.replay(body, dtype(index), *plain)
            ring = jax_compat.replay(rings.body, dtype(index), *ring)
        for mine, its in zip(rings.finish(ring), plain, strict=True):
            np.testing.assert_array_equal(mine, its)


def test_an_array_of_a_symbolic_size():
    def turn(x, n):
        k = 0
        while k < n:
            x = jnp.concatenate([x[1:], x[:1]])
            x[0] = x[0] + k
            k += 1
        return x

    (size,) = jax.export.symbolic_shape("n")
    types = jax.ShapeDtypeStruct((size,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)
    exported = jax.export.export(jax.jit(ag.convert(turn)))(*types)
    x = jnp.array([3.0, 2.0, 1.0, 5.0])
    np.testing.assert_array_equal(exported.call(x, 3), ag.function(turn)(x, 3))


def test_what_makes_no_ring():
    def whole(array):
        return jnp.concatenate([array[1:], array[:1]]) + array.sum()

    def reversed_parts(array):
        return jnp.concatenate([array[:1], array[1:]])

    def columns(array):
        return jnp.concatenate([array[:, 1:], array[:, :1]], 1)

    def not_carried(array):
        return array.at[0].set(jnp.concatenate([array[1:], array[:1]])[3])

    for body, shape in ((whole, (9,)), (reversed_parts, (9,)), (columns, (9, 9)), (not_carried, (9,))):
        assert rings_in(jax.make_jaxpr(body)(jnp.zeros(shape)), 0, 1) is None


@pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="XLA of this version removes barriers before it fuses")
def test_a_queue_is_not_copied_in_an_iteration():
    if jax.default_backend() != "cpu":
        pytest.skip("other backends print other programs")
    graph = RNG.integers(0, 80, (80, 3), np.int32)

    def search(x):
        queue = collections.deque([0])
        seen = np.zeros(80, bool)
        while queue:
            ag.set_loop_options(maximum_length=SIZE)
            node = queue.popleft()
            if not seen[node]:
                seen[node] = True
                for k in range(3):
                    queue.append(graph[node, k])
        return seen, x

    assert not copies_in_loops(ag.convert(search), jnp.ones(SIZE))
