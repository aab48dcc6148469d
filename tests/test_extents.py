"""How long a list may be: the bounds that say how much room a staged loop gives it."""

from __future__ import annotations

import random

import pytest

from autograph.runtime.containers.extents import Extent, exactly


def steps(seed):
    """A random body: a function of a length that runs it, and its `Extent`; each path is chosen by a coin."""
    rng = random.Random(seed)
    paths = [
        [rng.choice([1, 1, 1, 2, -1, "clear"]) for _ in range(rng.randrange(4))] for _ in range(rng.randrange(1, 4))
    ]

    def run(length, coin):
        peak = length
        for step in paths[coin.randrange(len(paths))]:
            length = 0 if step == "clear" else max(0, length + step)
            peak = max(peak, length)
        return length, peak

    extents = []
    for path in paths:
        extent = Extent()
        for step in path:
            extent = extent.emptied() if step == "clear" else extent.plus(step)
        extents.append(extent)
    whole = extents[0]
    for other in extents[1:]:
        whole = whole.join(other)
    pops = any(step == -1 for path in paths for step in path)
    return run, whole, pops


@pytest.mark.parametrize("seed", range(200))
def test_room_is_enough_for_every_path(seed):
    run, extent, pops = steps(seed)
    before, iterations = seed % 5 + 4 * pops * 5, seed % 7  # long enough never to be empty when it is shortened
    room = extent.room(before, iterations)
    after = exactly(before).after(extent, iterations, iterations)
    for trial in range(20):
        coin, length = random.Random(trial), before
        for _ in range(iterations):
            length, peak = run(length, coin)
            assert peak <= max(room, before)
        assert length <= after.now.most
        if extent.net is not None:
            assert length == before + extent.net * iterations


@pytest.mark.parametrize("seed", range(50))
def test_join_is_commutative_associative_and_idempotent(seed):
    a, b, c = (steps(seed * 3 + k)[1] for k in range(3))
    parts = ("now", "peak", "net")

    def same(x, y):
        return all(vars(getattr(x, p)) == vars(getattr(y, p)) if p != "net" else x.net == y.net for p in parts)

    assert same(a.join(b), b.join(a)) and same(a.join(a), a)
    assert same(a.join(b).join(c), a.join(b.join(c)))


def test_growth_without_a_bound_has_no_room():
    assert Extent().plus(1).room(3, None) is None
    assert Extent().plus(1).plus(-1).room(3, None) == 4
    assert Extent().emptied().plus(2).room(3, None) == 3
