"""The demonstrations at small sizes, against the same code in plain Python."""

from __future__ import annotations

import ast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.tools.demo import __main__ as command
from autograph.tools.demo import newton, source


@pytest.fixture(name="digits")
def digits_module():
    """The digits demonstration, where scikit-learn is installed."""
    pytest.importorskip("sklearn")
    from autograph.tools.demo import digits

    return digits


@pytest.fixture(name="mandelbrot")
def mandelbrot_module():
    """The Mandelbrot demonstration, where matplotlib is installed."""
    pytest.importorskip("matplotlib")
    from autograph.tools.demo import mandelbrot

    return mandelbrot


def small_run(digits, **options):
    """Arguments of a training run that takes op-by-op Python a second or two."""
    training, validation, _ = digits.load()
    few = digits.Split(training.images[:256], training.labels[:256])
    params = digits.initial_params(jax.random.key(0), (64, 16, 10))
    return (params, jax.random.key(1), few, validation), {"batch": 64, **options}


def assert_same_run(digits, args, options):
    """Train converted and in plain Python; the converted run's epochs and history."""
    params, epochs, history = digits.train(*args, **options)
    plain_params, plain_epochs, plain_history = digits.train.python_function(*args, **options)
    assert int(epochs) == plain_epochs
    np.testing.assert_allclose(history, plain_history, rtol=1e-3)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3), params, plain_params)
    return int(epochs), history


def test_digits_are_split_without_overlap(digits):
    """Every digit is in exactly one part."""
    parts = digits.load()
    assert [len(part.labels) for part in parts] == [1197, 300, 300]
    every = np.sort(np.concatenate([np.asarray(part.images).sum(axis=1) for part in parts]))
    from sklearn.datasets import load_digits

    np.testing.assert_allclose(every, np.sort(load_digits().data.sum(axis=1) / 16), rtol=1e-6)


def test_training_that_runs_all_epochs(digits):
    """No `break`: as in plain Python, and the loss falls."""
    args, options = small_run(digits, epochs=3)
    epochs, history = assert_same_run(digits, args, options)
    assert epochs == 3
    assert history[2] < history[0]


def test_training_that_stops_early(digits):
    """A rate of zero never betters the first loss, so patience runs out: as in plain Python."""
    args, options = small_run(digits, epochs=10, patience=2, rate=0.0)
    epochs, history = assert_same_run(digits, args, options)
    assert epochs == 3
    assert np.isnan(history[3:]).all()


def test_training_is_one_loop(digits):
    """The program of many epochs is as long as that of a few."""
    texts = []
    for epochs in (10, 100):
        args, options = small_run(digits, epochs=epochs)
        texts.append(digits.train.get_concrete_function(*args, **options).graph.as_text("jaxpr"))
    assert [text.count("while[") for text in texts] == [1, 1]
    assert abs(len(texts[1]) - len(texts[0])) < 100


def test_training_is_one_trace(digits):
    """A run with other numbers of the same types uses the program of the one before."""
    args, options = small_run(digits, epochs=3)
    digits.train(*args, **options)
    count = digits.train.experimental_get_tracing_count()
    digits.train(jax.tree.map(lambda p: 2 * p, args[0]), *args[1:], **options)
    assert digits.train.experimental_get_tracing_count() == count


def test_escape_times_of_known_points(mandelbrot):
    """0 and -1 stay for ever; 1, 0.5 and 3 leave after a known number of steps."""
    counts = mandelbrot.render(jnp.asarray([[0, -1, 1], [0.5, 3, 2j]], jnp.complex64), 30)
    assert counts.tolist() == [[30, 30, 3], [5, 1, 2]]


def test_escape_times_are_those_of_plain_python(mandelbrot):
    """A coarse picture, point by point. Few steps, so that rounding has no time to grow."""
    points = mandelbrot.grid(24, 16)
    expected = [[mandelbrot.escape_time(complex(c), 20) for c in row] for row in np.asarray(points)]
    assert mandelbrot.render(points, 20).tolist() == expected


def test_mandelbrot_writes_a_picture(mandelbrot, tmp_path, capsys):
    """The file is where it says, of the size asked for, dark inside and bright at the edge."""
    from matplotlib import image

    assert mandelbrot.main(tmp_path, width=45, height=36, limit=40)
    path = tmp_path / "mandelbrot.png"
    assert str(path) in capsys.readouterr().out
    pixels = image.imread(path)
    assert pixels.shape[:2] == (36, 45)
    assert pixels[18, 30, :3].max() < 0.05
    assert pixels[..., :3].max() > 0.5


@pytest.mark.parametrize("name", newton.BRANCHES)
def test_newton_finds_the_closed_form(name):
    """Both slabs, to single precision, in a few iterations of a hundred."""
    guess, bracket = newton.BRANCHES[name]
    slope, iterations, miss = newton.solve(jnp.asarray(guess))
    assert float(slope) == pytest.approx(newton.exact_slope(bracket), abs=newton.REQUIRED_PRECISION)
    assert abs(float(miss)) < newton.REQUIRED_PRECISION
    assert int(iterations) < 10


def test_newton_is_that_of_plain_python():
    """The same slope after the same number of iterations, op by op."""
    guess = jnp.asarray(3.0)
    slope, iterations, _ = newton.solve(guess, steps=10)
    plain_slope, plain_iterations, _ = newton.solve.python_function(guess, steps=10)
    assert int(iterations) == plain_iterations
    assert float(slope) == pytest.approx(float(plain_slope), abs=1e-5)


def test_newton_that_never_gets_there_runs_all_iterations():
    """No step is smaller than a negative tolerance."""
    _, iterations, _ = newton.solve(jnp.asarray(0.5), steps=10, tol=-1.0)
    assert int(iterations) == 100


def test_source_is_legible_in_110_columns():
    """Both sources are whole, in lines that fit, and the second is Python."""
    function = newton.solve.python_function
    text = source.before_and_after(function)
    assert max(map(len, text.splitlines())) <= source.WIDTH
    assert "if abs(dx) < tol:" in text
    statements = ast.parse(ag.to_code(function)).body
    assert [node.name for node in statements if isinstance(node, ast.FunctionDef)] == ["solve"]


def test_columns_give_way_to_rows_when_narrow():
    """Side by side where there is room, else one above the other."""
    assert source.beside("a\nbb\n", "c", width=6) == "a  | c\nbb |"
    assert source.beside("a\nbb\n", "c", width=5) == "a\nbb\n-----\nc"


def test_command_runs_one_demo(tmp_path, capsys):
    """`--only newton` runs that one, and makes the output folder."""
    assert command.main(["--only", "newton", "--output", str(tmp_path / "new folder")]) == 0
    printed = capsys.readouterr().out
    assert "residual" in printed
    assert "Mandelbrot" not in printed
    assert (tmp_path / "new folder").is_dir()


def test_command_reports_a_failed_check(tmp_path, monkeypatch, capsys):
    """A demonstration whose check fails makes the command fail."""
    monkeypatch.setattr(newton, "REQUIRED_PRECISION", 0.0)
    assert command.main(["--only", "newton", "--output", str(tmp_path)]) == 1
    assert "CHECK FAILED" in capsys.readouterr().out


def test_command_refuses_what_it_cannot_do(tmp_path, capsys):
    """An unknown demonstration, or an output that is no folder: exit code 2 and a line that says so."""
    with pytest.raises(SystemExit, match="2"):
        command.main(["--only", "nothing"])
    (tmp_path / "file").touch()
    assert command.main(["--only", "newton", "--output", str(tmp_path / "file")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.slow
def test_two_processes_train_as_one_device(digits, capsys):
    """Losses and weights to the stated tolerance, and the processes' weights to the last bit."""
    del digits
    from autograph.tools.demo import distributed

    assert distributed.main(["--epochs", "3"]) == 0
    assert "the same to the last bit" in capsys.readouterr().out
