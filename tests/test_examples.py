"""The programs of examples/, run on small sizes: they train and sample what they say, and their figures are right.

`examples/serve.py` is run by test_serving.py, the notebooks by test_notebooks.py. What needs a library that is not here is skipped.
"""

from __future__ import annotations

import math
import os
import runpy
import statistics

import jax.numpy as jnp
import pytest

import autograph as ag
from tests.rooms import ROOT

os.environ.setdefault("KERAS_BACKEND", "jax")  # before Keras is imported, which reads it then


def figures(program, *libraries, **sizes):
    """What the program's `main` returns."""
    for library in libraries:
        pytest.importorskip(library)
    return runpy.run_path(str(ROOT / "examples" / program))["main"](**sizes)


def test_a_policy_for_an_environment_under_vmap():
    found = figures("cartpole.py")
    assert found["first"] < 100 and found["last"] > 150 and found["after"] > 180


def test_q_learning_in_one_program(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))  # for the environment of cartpole.py
    found = figures("dqn.py", "optax")
    assert found["untrained"] < 30 and found["first ten"] < 40 and found["trained"] > 40
    assert found["updates"] == 7500 and found["episodes"] > 50


def test_a_network_that_solves_an_equation_by_a_line_search():
    found = figures("heat_equation.py", "flax", "optax")
    assert found["error"] < 0.05 < 0.3 < found["error before"]
    assert found["loss after L-BFGS"] < 0.3 * found["loss after Adam"] and found["steps of L-BFGS"] > 20


def test_a_transformer_and_its_beam_search(capsys):
    found = figures("number_words.py", "optax", epochs=25, blocks=1)
    assert found["first loss"] > 3 > 0.5 > found["last loss"] and found["right"] > 0.85
    assert 4 < found["steps of the search"] <= 5 and found["updates"] == 25 * 16
    assert "   342  three hundred forty two\n" in capsys.readouterr().out


def test_an_equinox_model_that_is_stopped_and_resumed_by_orbax():
    found = figures("spirals.py", "equinox", "optax", "orbax.checkpoint")
    assert found["loss"] == found["loss without stopping"] < 0.05 < found["loss when stopped"]
    assert found["accuracy"] > 0.99 and found["updates"] > 60


@pytest.mark.filterwarnings("ignore")  # Keras's own
def test_two_keras_models_in_a_step_of_ones_own():
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "jax":
        pytest.skip("Keras was imported with another backend before")
    found = figures("digits_in_keras.py", "sklearn", epochs=4)
    assert found["last loss"] < 0.3 < 1 < found["first loss"]
    assert found["student"] > 0.8 and found["teacher"] > 0.8


def test_the_drag_that_an_event_of_diffrax_gives():
    found = figures("falling_body.py", "diffrax", "optimistix", steps=60)
    assert found["without drag"] == pytest.approx(2 * 10 / 9.81, rel=1e-4)
    assert found["drag"] == pytest.approx(0.05, abs=0.003) and found["error"] < 1e-3


def test_samples_of_blackjax_and_numpyro():
    found = figures("split_normal.py", "blackjax", "numpyro")
    for library in ("blackjax", "numpyro"):
        assert found[f"mean by {library}"] == pytest.approx(found["mean"], abs=0.1)
        assert found[f"positive by {library}"] == pytest.approx(found["positive"], abs=0.03)
    assert found["accepted"] > 0.9


def test_an_epidemic_with_a_policy(tmp_path):
    found = figures("epidemic.py", runs=20)
    never, loose, tight = (each["ill"].mean() for each in found.values())
    assert never > 9000 > loose > tight > 1000
    for name, each in found.items():
        assert (each["curve"].max(axis=1) == each["peak"]).all()
        assert (each["closed"].max() == 0) == (name == "never closed")
        ended = each["lasts"] < 400
        assert ((each["curve"] > 0).sum(axis=1)[ended] == each["lasts"][ended]).all()


def test_prices_of_options_against_known_ones():
    rows = {row["spot"]: row for row in figures("options.py")}
    assert rows[100.0]["American"] == pytest.approx(6.090, abs=0.01)  # of a tree of 10,000 steps
    for spot, row in rows.items():
        assert row["European"] == pytest.approx(black_scholes(spot), abs=0.03)
        assert row["American"] > row["European"] and row["implied"] == pytest.approx(0.2, abs=1e-3)
        assert -1 < row["delta"] < 0 < row["vega"]


def black_scholes(spot, strike=100.0, volatility=0.2, rate=0.05):
    first = (math.log(spot / strike) + rate + volatility**2 / 2) / volatility
    second = first - volatility
    normal = statistics.NormalDist().cdf
    return strike * math.exp(-rate) * normal(-second) - spot * normal(-first)


def test_a_search_that_plays_a_game():
    game = runpy.run_path(str(ROOT / "examples" / "four_in_a_row.py"))
    assert [game["main"](depth=3, seed=seed)[0] for seed in range(2)] == [1, 1]
    board = game["drop"](game["drop"](jnp.zeros(20, jnp.int32), 1, -1), 2, -1)
    board = game["drop"](board, 3, -1)  # three in a row, open at both ends: lost, whoever moves
    value = ag.function(game["best"])
    for player, depth in ((1, 2), (-1, 1)):
        assert int(value(board, jnp.array(player), jnp.array(depth), jnp.array(-1), jnp.array(1))) == -player
