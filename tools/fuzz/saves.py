"""Corrupt saved models at random: each must raise `LoadError`, or load and behave like the original.

Changed are bytes of all files (flipped, cut, inserted, exchanged between files) and parts of the manifest, which then
gets the checksum that it has, so that what is behind the checksum is tried too: there a value may be another one that
is as good (a default, a text), so what loads is asked only to end in results or exceptions. Each batch runs in a
process of its own, and a process that crashes, grows or hangs is a finding.
"""

from __future__ import annotations

import argparse
import copy
import enum
import hashlib
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag

_BATCH = 500
_GROWTH = 2**19  # KiB that a process may grow by


class Mode(enum.Enum):
    """A choice."""

    FAST = "fast"
    SLOW = "slow"


class Pair(NamedTuple):
    """Two values."""

    left: Any
    right: Any


@dataclass(frozen=True)
class Rate:
    """A number with a name."""

    value: float


def models() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Models to save, by name, each with arguments to call it with."""

    class Network(ag.Module):
        def __init__(self) -> None:
            self.layers = [ag.Variable(jnp.ones((3, 3)), name="w"), ag.Variable(jnp.zeros(3), name="b")]
            self.generator = ag.random.Generator.from_seed(1)
            self.options = {"rate": 0.5, "mean": np.arange(3.0), "shift": (jnp.ones(2), "text", None)}

        @ag.function
        def __call__(self, x: Any, scale: Any = 2.0) -> Any:
            if x.sum() > 100:
                raise ValueError(f"{x.sum():.1f} is too large")
            self.layers[1].assign_add(jnp.ones(3))
            return {"y": (x @ self.layers[0] + self.layers[1]) * scale, "label": "text", "none": None}

    @ag.function(input_signature=[ag.TensorSpec(["n"])])
    def halvings(x: Any) -> Any:
        count = 0
        while x.max() > 1:
            x = x / 2
            count += 1
        return x, count

    @ag.function
    def kinds(pair: Any, times: Any, *, mode: Any = Mode.FAST, rate: Any = Rate(0.5)) -> Any:
        parts, name = [], None
        for k in ag.range(times):
            ag.set_loop_options(maximum_length=8)
            parts.append(pair.left + k)
        if times > 2:
            name = "long"
        chosen = Mode.FAST if times > 1 else Mode.SLOW
        return parts, name, chosen, Pair({pair.right}, rate), [mode, slice(1, None), b"bytes", 1j, jnp.float32]

    x = jnp.ones((2, 3))
    network = Network()
    network(x)
    network(x, 3.0)
    pair = Pair(jnp.float32(1), 2)
    kinds(pair, jnp.int32(3))
    return {
        "network": (network, (x,)),
        "halvings": (halvings, (jnp.arange(5.0),)),
        "kinds": (kinds, (pair, jnp.int32(3))),
    }


class Case:
    """One changed directory.

    Attributes: what (was done to it); is_manifest (whether only the manifest was changed, and its checksum with it).
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._path, self._random = path, random.Random(seed)
        self._files = sorted(each.name for each in path.iterdir())
        self.is_manifest = self._random.random() < 0.5
        self.what = self._change_manifest() if self.is_manifest else self._change_bytes()

    def _change_bytes(self) -> str:
        pick = self._random
        name = pick.choice(self._files)
        file = self._path / name
        content = bytearray(file.read_bytes())
        place = pick.randrange(len(content))
        kind = pick.choice(["flip", "flips", "cut", "insert", "remove", "other file", "zeros", "empty", "link"])
        if kind == "flip":
            content[place] ^= 1 << pick.randrange(8)
        elif kind == "flips":
            for _ in range(pick.randrange(2, 50)):
                content[pick.randrange(len(content))] = pick.randrange(256)
        elif kind == "cut":
            del content[place:]
        elif kind == "insert":
            content[place:place] = pick.randbytes(pick.randrange(1, 20))
        elif kind == "remove":
            file.unlink()
            return f"{name} removed"
        elif kind == "other file":
            content = bytearray((self._path / pick.choice(self._files)).read_bytes())
        elif kind == "zeros":
            content[place : place + 64] = bytes(len(content[place : place + 64]))
        elif kind == "empty":
            content = bytearray()
        else:
            file.unlink()
            file.symlink_to("/dev/zero")
            return f"{name} made a link"
        file.write_bytes(content)
        return f"{name}: {kind} at {place}"

    def _change_manifest(self) -> str:
        file = self._path / "manifest.json"
        body = json.loads(file.read_text())
        head = {name: body.pop(name) for name in ("format", "version", "checksum")}
        done = [self._change_part(body) for _ in range(self._random.choice([1, 1, 1, 2, 4]))]
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        head["checksum"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        file.write_text(json.dumps({**head, **body}), encoding="utf-8", errors="surrogatepass")
        return f"manifest.json: {'; '.join(done)}"

    def _change_part(self, body: Any) -> str:
        pick = self._random
        parts = list(_parts(body))
        holder, key, where = pick.choice(parts)
        value = holder[key]
        kind = pick.choice(["value", "value", "near", "near", "drop", "copy", "swap"])
        if kind == "value":
            holder[key] = pick.choice(_VALUES)
        elif kind == "near":
            holder[key] = _near(value, pick)
        elif kind == "drop":
            del holder[key]
        elif kind == "copy":
            holder[key] = copy.deepcopy(pick.choice(parts)[0])
        else:
            other, place, _ = pick.choice(parts)
            holder[key] = copy.deepcopy(other[place])
        return f"{kind} at {where}, was {str(value)[:40]}"


_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**200, 1.5, "", "x", "../x", "/etc/passwd", "\0", "é" * 10, "\ud800"),
    *(
        [],
        {},
        [[]],
        ["slot", 0],
        ["slot", 99],
        ["none"],
        ["int", "-1"],
        ["float", "nan"],
        ["str", "__class__"],
        "float32",
        "key<a>",
    ),
    *(
        ["tuple", []],
        ["list", [["none"]]],
        ["dict", [[["str", "a"], ["none"]]]],
        ["object", 0],
        ["function", 0],
        ["variable", 0],
    ),
    *("int32", "SystemExit", "OSError", "KEYWORD_ONLY", "VAR_POSITIONAL", "VAR_KEYWORD", "0" * 64),
    *(
        ["text", [[0, "s", "999d"]]],
        ["rows", ["slot", 0], [["slot", 0]], ["slot", 0], 5],
        ["padded", ["slot", 0], ["int", "2"]],
    ),
    *(
        ["optional", ["bool", True], ["slot", 0]],
        ["made", 0, ["none"]],
        ["same", 0],
        ["oneof", [["slot", 0], ["slot", 1]], [["str", "a"], ["str", "b"]]],
        ["dtype", "float32"],
        ["opaque", "x"],
    ),
    *({"axes": [["a", 1]], "spec": [["a"]]}, {"axes": [["a", 1], ["b", 1]], "spec": [None, ["b", "a"]]}),
]


def _near(value: Any, pick: random.Random) -> Any:
    """Something like this value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + pick.choice([-1, 1, 2, 1000])
    if isinstance(value, str):
        place = pick.randrange(len(value) + 1)
        return value[:place] + pick.choice(["", "a", "\0", "1", "."]) + value[place + pick.randrange(2) :]
    if isinstance(value, list):
        return [*value, *value[-1:]] if pick.random() < 0.5 else value[:-1]
    if isinstance(value, dict):
        return {**value, "more": 1}
    return 0


def _parts(value: Any, where: str = "") -> Any:
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key, f"{where}.{key}"
        if isinstance(value[key], dict | list):
            yield from _parts(value[key], f"{where}.{key}")


def _results(model: Any, arguments: tuple[Any, ...]) -> Any:
    return [str(leaf) for leaf in jax.tree_util.tree_leaves(model(*arguments))]


def run(first: int, count: int) -> Counter[str]:
    """Try so many cases; the number of each outcome. Raises for the first finding."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        made = models()
        expected: dict[str, Any] = {}
        for name, (model, arguments) in made.items():
            ag.save(model, Path(folder) / name, derivatives=0)
            expected[name] = _results(ag.load(Path(folder) / name), arguments)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seed in range(first, first + count):
            name = sorted(made)[seed % len(made)]
            path = Path(folder) / "case"
            shutil.copytree(Path(folder) / name, path)
            case = Case(path, seed)
            try:
                outcomes[_outcome(path, case, made[name][1], expected[name])] += 1
            except BaseException as error:
                raise AssertionError(f"seed {seed}, {name}: {case.what}: {type(error).__name__}: {error}") from error
            shutil.rmtree(path)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < _GROWTH, f"seeds {first} to {first + count}: memory has grown by {grown} KiB"
    return outcomes


def _outcome(path: Path, case: Case, arguments: tuple[Any, ...], expected: Any) -> str:
    try:
        model = ag.load(path)
    except ag.LoadError as error:
        assert str(error).startswith(str(path)), f"the message names no file: {error}"
        return "refused"
    if not case.is_manifest:
        found = _results(model, arguments)
        assert found == expected, f"it gives {found}, and the original {expected}"
        return "the same"
    call: Callable[[], Any] = lambda: _results(model, arguments)  # noqa: E731
    try:
        call()
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit):  # as its manifest may now say
        return "another model, which raises"
    return "another model"


def main(argv: list[str] | None = None) -> int:
    """Run the campaign: one process after another, each with a batch of cases."""
    parser = argparse.ArgumentParser(prog="fuzz-load", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many cases (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--batch", type=int, default=_BATCH, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.batch == 0:
        print(json.dumps(run(options.seed, options.count)))
        return 0
    total: Counter[str] = Counter()
    for first in range(options.seed, options.seed + options.count, options.batch):
        count = min(options.batch, options.seed + options.count - first)
        command = [sys.executable, "-m", "autograph.tools.fuzz.saves", "--batch", "0"]
        command += ["--seed", str(first), "--count", str(count)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=3600)
        if ended.returncode:
            print(ended.stderr[-3000:], file=sys.stderr)
            print(
                f"FOUND, among the seeds {first} to {first + count - 1}: exit code {ended.returncode}", file=sys.stderr
            )
            return 1
        total.update(json.loads(ended.stdout.splitlines()[-1]))
    print(", ".join(f"{name}: {number}" for name, number in sorted(total.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
