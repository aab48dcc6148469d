"""`examples/serve.py`: a saved model behind a server, with clients of this machine, few and for a short time."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import importlib.util
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests.rooms import ROOT

pytest.importorskip("uvicorn", reason="examples/serve.py takes uvicorn: pip install 'autograph-xla[examples]'")
pytest.importorskip("starlette", reason="examples/serve.py takes starlette: pip install 'autograph-xla[examples]'")

Spec = ag.TensorSpec
SECONDS = 60  # that a client waits at most


class Roots(ag.Module):
    """Square roots by Newton's method: a loop whose length each batch decides, an exception, and a count of calls."""

    def __init__(self):
        self.calls = ag.Variable(0, trainable=False)

    @ag.function(input_signature=[Spec(["n"], name="x"), Spec(["n", 2], jnp.int32, name="shift")])
    def root(self, x, shift):
        if x.min() < 0:
            raise ValueError(f"{x.min():.0f} has no root")
        self.calls.assign_add(1)
        y = x + 1
        while (abs(y * y - x) > 1e-5 * (x + 1)).any():
            y = (y + x / y) / 2
        return {"y": y + shift.sum(1), "call": jnp.full(x.shape, self.calls.value), "unit": "m"}


@pytest.fixture(name="serve", scope="module")
def serve_module():
    spec = importlib.util.spec_from_file_location("serve", ROOT / "examples" / "serve.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["serve"] = module  # where dataclasses look for annotations
    spec.loader.exec_module(module)
    return module


@pytest.fixture(name="port", scope="module")
def port_of_server(tmp_path_factory):
    """The port of a process that serves `Roots`, ended afterwards."""
    path = tmp_path_factory.mktemp("served") / "roots"
    model = Roots()
    ag.save(model, path, signatures=model.root)
    command = [sys.executable, str(ROOT / "examples" / "serve.py"), str(path), "--port", "0", "--rows", "16"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=path)
    killer = threading.Timer(4 * SECONDS, process.kill)
    killer.start()
    try:
        line = process.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        yield int(line.rpartition(":")[2])
    finally:
        killer.cancel()
        process.terminate()
        process.wait(SECONDS)
        process.stdout.close()


def ask(port, body, method="POST"):
    """Status and content of the answer to one request."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as connection:
        connection.request(method, "/", body if isinstance(body, bytes) else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def arguments(x):
    return {"x": x, "shift": [[1, k] for k in range(len(x))]}


def test_32_clients_at_once(port):
    _, before = ask(port, {}, "GET")
    together = threading.Barrier(32)

    def client(k):
        rows = [[float(10 * k + j) for j in range(1 + (k + turn) % 3)] for turn in range(5)]
        together.wait(SECONDS)
        return rows, [ask(port, arguments(x)) for x in rows]

    with ThreadPoolExecutor(32) as pool:
        answers = [(x, answer) for rows, got in pool.map(client, range(32)) for x, answer in zip(rows, got)]
    for x, (status, content) in answers:
        assert status == 200 and content["unit"] == "m"
        np.testing.assert_allclose(content["y"], np.sqrt(x) + 1 + np.arange(len(x)), atol=2e-3)
    calls = [(call, len(x)) for x, (_, content) in answers for call in {*content["call"]}]
    rows = {call: sum(n for one, n in calls if one == call) for call, _ in calls}
    assert len(rows) < len(answers) == len(calls)  # some calls served several, and each request was in one
    assert max(rows.values()) <= 16
    _, after = ask(port, {}, "GET")
    assert after["rows"] - before["rows"] == sum(rows.values())
    assert after["batches"] - before["batches"] == len(rows)
    assert after["arguments"]["shift"] == {"dtype": "int32", "shape": ["n", 2]}


def test_one_of_32_is_wrong(port):
    together = threading.Barrier(32)

    def client(k):
        together.wait(SECONDS)
        return ask(port, arguments([float(-k) if k in (7, 20) else float(k)]))

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(client, range(32)))
    for k, (status, content) in enumerate(answers):
        if k in (7, 20):
            assert (status, content) == (422, {"error": f"-{k} has no root", "type": "ValueError"})
        else:
            assert status == 200 and content["y"][0] == pytest.approx(1 + k**0.5, abs=2e-3)


@pytest.mark.parametrize(
    "body, text",
    [
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (3, "the arguments are ['shift', 'x'], as an object; got 3"),
        ({"x": [1.0]}, "got ['x']"),
        ({"x": [1.0], "shift": [[1, 2]], "z": 1}, "got ['shift', 'x', 'z']"),
        ({"x": 1.0, "shift": [[1, 2]]}, "got the shape ()"),
        ({"x": ["1"], "shift": [[1, 2]]}, "`x` is"),
        ({"x": [None], "shift": [[1, 2]]}, "`x` is"),
        ({"x": [[1.0], [1.0, 2.0]], "shift": [[1, 2]]}, "`x` is"),
        ({"x": [1.0], "shift": [[1, 2.5]]}, "`shift` is"),
        ({"x": [1.0], "shift": [[1, 2**40]]}, "`shift` is"),
        ({"x": [1.0], "shift": [[1, 2, 3]]}, "got the shape (1, 3)"),
        ({"x": [1.0, 2.0], "shift": [[1, 2]]}, "as many rows"),
        ({"x": [], "shift": []}, "`shift` is"),
        (arguments([1.0] * 17), "16 rows at most; got 17"),
        (b" " * (2**24 + 1), "bytes at most"),
    ],
)
def test_what_is_no_request_is_said(port, body, text):
    status, content = ask(port, body)
    assert status == 400 and content["type"] == "Unfit" and text in content["error"]
    assert ask(port, arguments([4.0]))[0] == 200


def test_rows_of_other_shapes_are_other_batches(serve):
    seen = []

    class Counted(serve.Rows):
        def run(self, parts):
            seen.append([part["x"].shape for part in parts])
            return super().run(parts)

    double = ag.function(lambda x: 2 * x, [Spec(["n", "m"], name="x")])
    served = Counted(double.get_concrete_function())

    async def answers():
        batcher = serve.Batcher(served, most_rows=4, most_waiting=7)
        shapes = [(1, 2), (2, 3), (1, 2), (3, 2), (2, 2), (4, 3), (1, 1)]
        calls = [asyncio.create_task(batcher.call({"x": np.ones(shape, np.float32)})) for shape in shapes]
        await asyncio.sleep(0)
        with pytest.raises(serve.Busy, match="7 requests wait"):
            await batcher.call({"x": np.ones((1, 2), np.float32)})
        calls[6].cancel()
        await asyncio.sleep(0)
        running = asyncio.create_task(batcher.run())
        got = await asyncio.wait_for(asyncio.gather(*calls[:6]), SECONDS)
        running.cancel()
        return shapes, got

    shapes, got = asyncio.run(answers())
    assert [each.shape for each in got] == shapes[:6] and all((each == 2).all() for each in got)
    assert seen == [[(1, 2), (1, 2), (2, 2)], [(2, 3)], [(3, 2)], [(4, 3)]]


def test_a_program_without_rows_is_not_served(serve, tmp_path, capsys, monkeypatch):
    for make, specs, text in [
        (lambda x: x, [Spec([3], name="x")], "the first dimension of `x` is to be open"),
        (lambda x: x.sum(), [Spec([None], name="x")], "as many rows as the arguments"),
        (lambda x: jnp.concatenate([x, x]), [Spec(["n"], name="x")], "as many rows as the arguments"),
        (lambda: 3, [], "as many rows as the arguments"),
    ]:
        ag.save(ag.function(make, specs), tmp_path / "model")
        monkeypatch.setattr(sys, "argv", ["serve.py", str(tmp_path / "model")])
        assert serve.main() == 2
        assert text in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["serve.py", str(tmp_path)])
    assert serve.main() == 2 and str(tmp_path) in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["serve.py", str(tmp_path / "model"), "--signature", "other"])
    assert serve.main() == 2 and "there are ['default']" in capsys.readouterr().err
