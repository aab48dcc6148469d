"""Serve a model that `autograph.save` wrote, over HTTP: ``python examples/serve.py DIR --port 8000``.

Requests that wait at the same time are batched into one call: their rows are concatenated along the first dimension,
which must be symbolic in the signature of the program, and each request receives its rows of the results. While the
program runs, the next batch is collected. The source of the model is not needed.

    POST /  {"x": [[1, 2], [3, 4]]}      the arguments by name, each with one or more rows
         -> {"y": [0.5, 0.7]}            what the program returns, with lists for arrays
    GET  /  the names, dtypes and shapes of the arguments, and how many rows and batches have been run

A response with another status than 200 is ``{"error": …, "type": …}``: 400 for invalid arguments, 422 if the program
raises (only for the request that causes the exception), 503 if too many requests wait. Non-finite numbers are written
as NaN and Infinity.

The program must treat rows independently: the result for one row must not depend on the others.

Requirements: starlette and uvicorn, ``pip install 'autograph-xla[examples]'``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import autograph as ag

MOST_ROWS = 64  # of a batch
MOST_WAITING = 1024  # requests
MOST_BYTES = 2**24  # of a request


class Unfit(ValueError):
    """A request's arguments are not the program's."""


class Busy(Exception):
    """Too many requests wait."""


class Rows:
    """A program whose arguments and results are arrays with a symbolic number of rows.

    Raises `ValueError` if ``program`` is none.
    """

    def __init__(self, program: ag.ConcreteFunction) -> None:
        self._program = program
        self.specs: dict[str, ag.TensorSpec] = {spec.name: spec for spec in program.inputs}
        for name, spec in self.specs.items():
            if not spec.shape or isinstance(spec.shape[0], int):
                raise ValueError(f"the first dimension of `{name}` is to be open, and it is {spec}")
        sizes = {spec.shape[0] for spec in self.specs.values()}
        results = [each for each in jax.tree.leaves(program.structured_outputs) if isinstance(each, ag.TensorSpec)]
        if not sizes or not all(each.shape and each.shape[0] in sizes for each in results):
            raise ValueError(
                f"all results are to have as many rows as the arguments:\n{program.pretty_printed_signature()}"
            )

    def arguments(self, values: Any) -> dict[str, np.ndarray]:
        """The arrays of a request: those of the program, all with the same number of rows."""
        if not isinstance(values, dict) or values.keys() != self.specs.keys():
            found = sorted(values) if isinstance(values, dict) else values
            raise Unfit(f"the arguments are {sorted(self.specs)}, as an object; got {found!r:.100}")
        arrays = {name: _array(name, values[name], spec) for name, spec in self.specs.items()}
        counts = {name: len(array) for name, array in arrays.items()}
        if len({*counts.values()}) > 1 or 0 in counts.values():
            raise Unfit(f"the arguments are to have as many rows, one at least; got {counts}")
        return arrays

    def run(self, parts: Sequence[Mapping[str, np.ndarray]]) -> list[Any]:
        """The results for each of several arguments."""
        ends = np.cumsum([_count(part) for part in parts])
        rows = int(ends[-1])
        # Machine code is made for each size: of powers of two there are few. A row again changes nothing for the others.
        room = 1 << (rows - 1).bit_length()
        take = np.minimum(np.arange(room), rows - 1)
        joined = {name: np.concatenate([part[name] for part in parts])[take] for name in self.specs}
        args, kwargs = jax.tree.map(
            lambda spec: joined[spec.name] if isinstance(spec, ag.TensorSpec) else spec,
            self._program.structured_input_signature,
            is_leaf=lambda each: isinstance(each, ag.TensorSpec),
        )
        results = jax.device_get(self._program(*args, **kwargs))

        def cut(leaf: Any, start: int, end: int) -> Any:
            return leaf[start:end] if isinstance(leaf, np.ndarray) else leaf

        starts = [0, *ends[:-1]]
        return [
            jax.tree.map(lambda leaf, start=start, end=end: cut(leaf, start, end), results)
            for start, end in zip(starts, ends, strict=True)
        ]


def _array(name: str, value: Any, spec: ag.TensorSpec) -> np.ndarray:
    try:
        given = np.asarray(value)
        with np.errstate(over="ignore", invalid="ignore"):  # too large for float32 is infinite; integers are compared
            array = given.astype(spec.dtype)
    except (ValueError, TypeError, OverflowError):
        raise Unfit(f"`{name}` is {spec}; got no such array: {value!r:.100}") from None
    is_float = spec.dtype.kind not in "biu"
    if given.dtype.kind not in "biuf" or (not is_float and not np.array_equal(array, given)):
        raise Unfit(f"`{name}` is {spec}; got {value!r:.100}")
    if array.ndim != len(spec.shape) or any(
        isinstance(size, int) and size != found for size, found in zip(spec.shape, array.shape, strict=True)
    ):
        raise Unfit(f"`{name}` is {spec}; got the shape {array.shape}")
    return array


def _count(arrays: Mapping[str, np.ndarray]) -> int:
    return len(next(iter(arrays.values())))


@dataclass(frozen=True)
class Waiting:
    """A request that has not been answered."""

    arrays: dict[str, np.ndarray]
    answer: asyncio.Future[Any]

    @property
    def row(self) -> list[tuple[int, ...]]:
        """The shapes of one row of each argument: rows of one batch have the same."""
        return [array.shape[1:] for array in self.arrays.values()]


class Batcher:
    """Makes one call of those that wait. ``rows`` and ``batches`` count what has been run."""

    def __init__(self, program: Rows, most_rows: int = MOST_ROWS, most_waiting: int = MOST_WAITING) -> None:
        self._program, self._most_rows, self._most_waiting = program, most_rows, most_waiting
        self._waiting: deque[Waiting] = deque()
        self._arrived = asyncio.Event()
        self.rows = self.batches = 0

    async def call(self, arrays: dict[str, np.ndarray]) -> Any:
        """The program's results for these; raises what it raises, and `Busy`."""
        if _count(arrays) > self._most_rows:
            raise Unfit(f"a request has {self._most_rows} rows at most; got {_count(arrays)}")
        if len(self._waiting) >= self._most_waiting:
            raise Busy(f"{len(self._waiting)} requests wait")
        waiting = Waiting(arrays, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._arrived.set()
        return await waiting.answer

    async def run(self) -> None:
        """Answer requests until cancelled."""
        while True:
            await self._arrived.wait()
            batch = self._next()
            if not self._waiting:
                self._arrived.clear()
            await self._answer(batch)

    def _next(self) -> list[Waiting]:
        """Those that have waited longest and make one batch with the first."""
        batch: list[Waiting] = []
        others: deque[Waiting] = deque()
        rows = 0
        for each in self._waiting:
            more = _count(each.arrays)
            if each.answer.cancelled():
                continue
            if rows + more > self._most_rows or (batch and each.row != batch[0].row):
                others.append(each)
                continue
            batch.append(each)
            rows += more
        self._waiting = others
        return batch

    async def _answer(self, batch: list[Waiting]) -> None:
        if not batch:
            return
        self.batches += 1
        self.rows += sum(_count(each.arrays) for each in batch)
        try:
            # In another thread: requests are read meanwhile.
            results = await asyncio.to_thread(self._program.run, [each.arrays for each in batch])
        except Exception as error:
            if len(batch) > 1:  # one of them failed: run each separately
                for each in batch:
                    await self._answer([each])
            elif not batch[0].answer.done():
                batch[0].answer.set_exception(error)
            return
        for each, result in zip(batch, results, strict=True):
            if not each.answer.done():
                each.answer.set_result(result)


def application(program: ag.ConcreteFunction, most_rows: int = MOST_ROWS) -> Starlette:
    """The ASGI application that serves a program."""
    rows = Rows(program)
    batcher = Batcher(rows, most_rows)

    @contextlib.asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(batcher.run())
        yield
        task.cancel()

    async def predict(request: Request) -> Response:
        try:
            arrays = rows.arguments(_parsed(await _body(request)))
            return _json(await batcher.call(arrays))
        except Unfit as error:
            return _error(400, error)
        except Busy as error:
            return _error(503, error)
        except Exception as error:
            return _error(422, error)

    async def about(_: Request) -> Response:
        arguments = {name: {"dtype": str(spec.dtype), "shape": spec.shape} for name, spec in rows.specs.items()}
        return _json({"arguments": arguments, "rows": batcher.rows, "batches": batcher.batches})

    return Starlette(
        routes=[Route("/", predict, methods=["POST"]), Route("/", about, methods=["GET"])], lifespan=running
    )


async def _body(request: Request) -> bytes:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BYTES:
            raise Unfit(f"a request has {MOST_BYTES} bytes at most")
    return bytes(content)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unfit(f"the request is no JSON: {error}") from None


def _json(value: Any, status: int = 200) -> Response:
    text = json.dumps(value, default=lambda array: array.tolist())
    return Response(text, status, media_type="application/json")


def _error(status: int, error: Exception) -> Response:
    return _json({"error": str(error), "type": type(error).__name__}, status)


def main() -> int:
    """Serve what the command line names, until interrupted; the exit code."""
    parser = argparse.ArgumentParser(description="Serve a saved model over HTTP.")
    parser.add_argument("model", metavar="DIR", help="where autograph.save wrote it")
    parser.add_argument("--signature", default="default", help="which of its signatures (default: default)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 for one that is free")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help=f"of a batch, at most (default: {MOST_ROWS})")
    options = parser.parse_args()
    try:
        signatures = ag.load(options.model).signatures
        if options.signature not in signatures:
            raise ValueError(f"there is no signature {options.signature!r}; there are {sorted(signatures)}")
        served = application(signatures[options.signature], options.rows)
    except (ag.LoadError, ValueError) as error:
        print(f"serve: {error}", file=sys.stderr)
        return 2
    config = uvicorn.Config(served, options.host, options.port, log_level="warning")
    socket = config.bind_socket()
    socket.listen(config.backlog)  # whoever reads the next line may connect
    print(f"http://{options.host}:{socket.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run([socket])
    return 0


if __name__ == "__main__":
    sys.exit(main())
