"""`ag.progress`: a bar for a loop, in Python and in staged loops, and results as without it."""

import builtins
import io

import jax
import jax.numpy as jnp
import pytest
import tqdm

import autograph as ag

XS = jnp.arange(1000.0)


@pytest.fixture
def bars(monkeypatch):
    """What each bar was told: [desc, total, the positions it was moved to]."""
    told = []

    class Recorded:
        def __init__(self, iterable=None, desc=None, total=None):
            self.iterable, self.n, self.is_closed = iterable, 0, False
            self.seen = []
            told.append([desc, total, self.seen])

        def __iter__(self):
            for item in self.iterable:
                yield item
                self.update(1)

        def update(self, count):
            self.n += count
            self.seen.append(self.n)

        def close(self):
            self.seen.append("closed")

    monkeypatch.setattr(tqdm, "tqdm", Recorded)
    return told


def summed(xs):
    total = 0.0
    for x in ag.progress(xs, desc="sum"):
        total += x
    return total


def test_in_plain_python_it_is_tqdm(bars):
    assert float(summed([1.0, 2.0])) == 3.0
    assert bars == [["sum", None, [1, 2]]]


def test_the_real_bar_is_written(capsys):
    assert float(ag.function(summed)(XS)) == float(XS.sum())
    jax.effects_barrier()
    assert "sum: 100%" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
def test_a_staged_loop_moves_it_at_most_a_hundred_times_each_run(bars, kind):
    run = kind(summed)
    for _ in range(2):
        assert float(jax.block_until_ready(run(XS))) == float(XS.sum())
        jax.effects_barrier()
    assert len(bars) == 2
    for desc, total, seen in bars:
        assert (desc, total) == ("sum", 1000)
        assert seen[-2:] == [1000, "closed"] and seen[:3] == [0, 10, 20] and len(seen) <= 102


def test_ranges(bars):
    def plain(x):
        for i in ag.progress(range(500)):
            x = x * 0.5 + i
        return x

    def few(x):
        for i in ag.progress(range(3)):
            x = x + [1.0, 2.0, 4.0][i]
        return x

    def staged(x):
        for i in ag.progress(ag.range(500)):
            x = x * 0.5 + i
        return x

    def traced(n):
        total = 0
        for i in ag.progress(range(n)):
            total += i
        return total

    for f, argument, count in ((plain, 1.0, 500), (few, 1.0, 3), (staged, 1.0, 500), (traced, 500, 500)):
        wanted = f(argument)
        bars.clear()
        assert float(ag.function(f)(jnp.array(argument))) == pytest.approx(float(wanted), rel=1e-5)
        jax.effects_barrier()
        assert [bar[1] for bar in bars] == [count] and bars[0][2][-2:] == [count, "closed"], f.__name__


def test_a_break_closes_the_bar_where_it_is(bars):
    def f(xs):
        total = 0.0
        for x in ag.progress(xs):
            total += x
            if total > 100:
                break
        return total

    assert float(ag.function(f)(XS)) == 105.0
    jax.effects_barrier()
    assert bars[0][1] == 1000 and bars[0][2][-2:] == [15, "closed"]


def test_nested_bars(bars):
    @ag.function
    def f(xs):
        total = 0.0
        for x in ag.progress(xs, desc="outer"):
            for i in ag.progress(ag.range(4), desc="inner"):
                total += x * i
        return total

    assert float(f(jnp.arange(3.0))) == 18.0
    jax.effects_barrier()
    assert [bar[0] for bar in bars] == ["outer", "inner", "inner", "inner"]
    assert all(bar[2][-1] == "closed" for bar in bars)


def test_in_order_with_prints(bars, capsys):
    @ag.function
    def f(xs):
        for x in ag.progress(xs):
            ag.print("item", x)
        return xs

    f(jnp.arange(2.0))
    jax.effects_barrier()
    assert capsys.readouterr().out == "item 0.0\nitem 1.0\n"


def test_total_for_what_has_no_length(bars):
    def f(x):
        for item in ag.progress((k for k in range(3)), total=3):
            x = x + item
        return x

    assert float(f(1.0)) == float(ag.convert(f)(1.0)) == float(ag.function(f)(jnp.array(1.0))) == 4.0
    jax.effects_barrier()
    assert [bar[1] for bar in bars] == [3, 3, 3]


def test_under_vmap_there_is_none(bars):
    assert jax.vmap(ag.convert(summed))(jnp.ones((2, 5))).tolist() == [5.0, 5.0]
    assert bars == []


def test_what_cannot_be_meant(bars):
    with pytest.raises(TypeError, match="desc of progress must be a str or None; got 3"):
        ag.progress([1], desc=3)
    with pytest.raises(TypeError, match="total of progress must be an int or None; got 2.5"):
        ag.progress([1], total=2.5)


def test_without_tqdm_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "tqdm":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"autograph-xla\[progress\]"):
        ag.progress([1])


# tqdm's own names, in converted code.


class Told(tqdm.tqdm):
    """What its bars were told."""

    told = []

    def __init__(self, *args, **options):
        Told.told.append(("new", options.get("desc"), options.get("total")))
        super().__init__(*args, **{**options, "disable": True})

    def update(self, n=1):
        Told.told.append(n)

    def set_postfix(self, **values):
        Told.told.append(values)

    def close(self):
        Told.told.append("closed")

    def __del__(self):  # which closes it again
        pass


@pytest.fixture
def told():
    Told.told = []

    def take():
        jax.effects_barrier()
        found, Told.told = Told.told, []
        assert "closed" in found
        return found[: found.index("closed") + 1]

    yield take
    Told.told = []


def shows_its_loss(n):
    total = 0.0
    bar = Told(range(n), desc="fit")
    for i in bar:
        total += i
        bar.set_postfix(loss=total)
    return total


@pytest.mark.parametrize("kind", [ag.function, lambda f: jax.jit(ag.convert(f))], ids=["function", "jit"])
def test_a_bar_of_tqdms_around_a_traced_range(told, kind):
    run = kind(shows_its_loss)
    for n in (3, 2):
        assert float(run(jnp.array(n))) == sum(range(n))
        found = told()
        assert found[0] == ("new", "fit", n) and sum(step for step in found if isinstance(step, int)) == n
        assert [step["loss"] for step in found if isinstance(step, dict)] == [0.0, 1.0, 3.0][:n]
    assert shows_its_loss(3) == ag.convert(shows_its_loss)(3) == 3.0


def test_trange_stops_where_the_program_does(capsys):
    def f(x):
        for i in tqdm.trange(5, desc="steps"):
            if x > 3:
                break
            x = x + i
        return x

    assert int(ag.function(f)(jnp.array(1))) == f(1) == 4
    jax.effects_barrier()
    assert "steps:  80%" in capsys.readouterr().err


def test_a_thousand_items_are_one_loop_and_a_hundred_moves(told):
    @ag.function
    def f(xs):
        total = 0.0
        for i, (x, y) in enumerate(zip(Told(xs), xs)):
            total += i * x * y
        return total

    xs = jnp.ones(1000)
    assert float(f(xs)) == 499500.0
    found = told()
    assert found[0][2] == 1000 and 90 < len(found) < 110
    assert sum(step for step in found if isinstance(step, int)) == 1000


def test_what_python_iterates_over_moves_it_too(told):
    def f(xs):
        doubled = [x * 2 for x in Told(xs)]
        for name in Told(["a", "bc"]):
            xs = xs + len(name)
        return doubled[-1] + xs.sum()

    xs = jnp.arange(3.0)
    assert float(ag.function(f)(xs)) == float(f(xs)) == 16.0
    assert told()[1:] == [1, 1, 1, "closed"]


def test_a_bar_that_is_moved_by_hand(told, capsys):
    @ag.function
    def f(x):
        with Told(total=10) as bar:
            while x < 10:
                bar.update(2)
                x = x + 2
                if x > 6:
                    tqdm.tqdm.write(f"at {x}")
        return x

    assert int(f(jnp.array(4))) == 10
    assert told() == [("new", None, 10), 2, 2, 2, "closed"]
    assert capsys.readouterr().out == "at 8\nat 10\n"


def test_a_bar_from_outside_moves_at_every_run():
    bar = tqdm.tqdm(total=10, file=io.StringIO())

    @ag.function
    def f(n):
        for i in ag.range(n):
            if i % 2 == 0:
                bar.update(1)

    f(jnp.array(4))
    f(jnp.array(4))
    jax.effects_barrier()
    assert bar.n == 4


def test_of_tqdms_there_is_none_under_vmap(told):
    assert jax.vmap(ag.convert(shows_its_loss))(jnp.array([2, 3])).tolist() == [1.0, 3.0]
    assert Told.told == []


def test_what_a_bar_cannot_tell_while_tracing():
    @ag.function
    def f(n):
        bar = Told(range(n))
        return bar.n

    with pytest.raises(
        AttributeError, match="'n' of a progress bar is not available while a function is traced.*set_postfix"
    ):
        f(jnp.array(3))
