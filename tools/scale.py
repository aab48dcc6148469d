"""Compile text generation with a model of 70 billion parameters for machines that are not attached.

`python -m autograph.tools.scale` lowers one converted function, `generate`, for a topology of TPUs and prints, as the
rows of a table, what it takes of each chip and what the chips tell each other. Nothing of that size is allocated:
arguments are types. It needs libtpu (``pip install 'autograph-xla[tpu]'``).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import autograph as ag


class Sizes(NamedTuple):
    """Those of Llama 3 70B. A query head is one of ``groups`` that share a head of keys and values."""

    layers: int = 80
    width: int = 8192
    shared_heads: int = 8
    groups: int = 8
    head: int = 128
    hidden: int = 28672
    vocabulary: int = 128256
    batch: int = 256
    length: int = 8192


# Which axes of the mesh cut which axis of an array. `data` cuts the batch; `heads` and `groups` cut the weights. The
# cache is cut by all three: its batch by `data` and `groups`, so that no chip holds what another has.
BATCH, CACHE_BATCH = "data", ("data", "groups")
MESH = ("data", "heads", "groups")
ROOM = 4096  # tokens of a row at most
WEIGHTS = {
    "norm1": (None, None),
    "query": (None, None, "heads", "groups", None),
    "key": (None, None, "heads", None),
    "value": (None, None, "heads", None),
    "output": (None, "heads", "groups", None, None),
    "norm2": (None, None),
    "gate": (None, None, ("heads", "groups")),
    "up": (None, None, ("heads", "groups")),
    "down": (None, ("heads", "groups"), None),
}
CACHE = (None, CACHE_BATCH, None, "heads", None)


def normed(x, scale):
    """The root mean square of each row brought to `scale`."""
    x32 = x.astype(jnp.float32)
    return (x32 * jax.lax.rsqrt((x32 * x32).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * scale


def turned(x, position):
    """Rotary embedding of heads (batch, ..., head) at each row's position."""
    half = x.shape[-1] // 2
    angles = position[:, None] * 500000.0 ** (-jnp.arange(half) / half)
    angles = angles.reshape(len(x), *(1,) * (x.ndim - 2), half)
    a, b = x[..., :half].astype(jnp.float32), x[..., half:].astype(jnp.float32)
    return jnp.concatenate(
        [a * jnp.cos(angles) - b * jnp.sin(angles), a * jnp.sin(angles) + b * jnp.cos(angles)], -1
    ).astype(x.dtype)


def laid(x, *axes):
    """The same array, cut along these axes of the mesh."""
    return jax.lax.with_sharding_constraint(x, PartitionSpec(*axes))


def block(weights, layer, x, keys, values, position):
    """A transformer block at one position of each row: the row's new state, and the cache with what is added to it."""
    w = jax.tree.map(lambda stacked: stacked[layer], weights)
    rows, places = jnp.arange(len(x)), jnp.arange(keys.shape[2])
    h = normed(x, w["norm1"])
    query = laid(turned(jnp.einsum("bd,dkgh->bkgh", h, w["query"]), position), CACHE_BATCH, "heads", None, None)
    key = laid(turned(jnp.einsum("bd,dkh->bkh", h, w["key"]), position), CACHE_BATCH, "heads", None)
    value = laid(jnp.einsum("bd,dkh->bkh", h, w["value"]), CACHE_BATCH, "heads", None)
    keys = keys.at[layer, rows, position].set(key)
    values = values.at[layer, rows, position].set(value)

    scores = jnp.einsum("bkgh,bskh->bkgs", query, keys[layer]).astype(jnp.float32) / query.shape[-1] ** 0.5
    scores = jnp.where(places <= position[:, None, None, None], scores, -1e30)
    mixed = jnp.einsum("bkgs,bskh->bkgh", jax.nn.softmax(scores).astype(x.dtype), values[layer])
    mixed = laid(mixed, BATCH, "heads", "groups", None)
    x = laid(x + jnp.einsum("bkgh,kghd->bd", mixed, w["output"]), BATCH, None)

    h = normed(x, w["norm2"])
    h = jax.nn.silu(h @ w["gate"]) * (h @ w["up"])
    return laid(x + h @ w["down"], BATCH, None), keys, values


def chosen(x, head, token, end, done):
    """The likeliest token of each row, `end` for those that have ended, and which have ended now."""
    likeliest = (x @ head).argmax(-1).astype(jnp.int32)
    token = laid(jnp.where(done, end, likeliest), BATCH)
    return token, done | (token == end)


def generate(weights, embedding, head, keys, values, token, position, end, limit):
    """Greedy text: a token for each row until all rows have ended, and no more than `limit`.

    `keys` and `values` are the cache (layer, row, place, head, feature), `position` how much of it each row has.
    Returns the tokens, how many steps it took, and the cache.
    """
    written = jnp.zeros((len(token), ROOM), jnp.int32)
    done = jnp.zeros(len(token), bool)
    step = 0
    while not done.all() and step < limit:
        x = laid(embedding[token], BATCH, None)
        for layer in ag.range(len(keys)):
            x, keys, values = block(weights, layer, x, keys, values, position)
        token, done = chosen(x, head, token, end, done)
        written = written.at[:, step].set(token)
        position = position + ~done
        step += 1
    return written, step, keys, values


def by_hand(weights, embedding, head, keys, values, token, position, end, limit):
    """`generate` as an expert writes it."""

    def goes_on(carry):
        _, _, _, _, _, done, step = carry
        return ~done.all() & (step < limit)

    def body(carry):
        keys, values, token, position, written, done, step = carry
        start = laid(embedding[token], BATCH, None), keys, values

        def layer(number, x, keys, values):
            return block(weights, number, x, keys, values, position)

        x, keys, values = jax.lax.fori_loop(0, len(keys), lambda k, state: layer(k, *state), start)
        token, done = chosen(x, head, token, end, done)
        written = written.at[:, step].set(token)
        return keys, values, token, position + ~done, written, done, step + 1

    written = jnp.zeros((len(token), ROOM), jnp.int32)
    start = keys, values, token, position, written, jnp.zeros(len(token), bool), jnp.int32(0)
    keys, values, _, _, written, _, step = jax.lax.while_loop(goes_on, body, start)
    return written, step, keys, values


def arguments(sizes: Sizes, mesh: Mesh) -> tuple[Any, ...]:
    """The types of what `generate` takes, each with where it lies."""

    def typed(shape: tuple[int, ...], axes: tuple[Any, ...], dtype: Any = jnp.bfloat16) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, PartitionSpec(*axes)))

    s, k, g, h = sizes, sizes.shared_heads, sizes.groups, sizes.head
    shapes: dict[str, tuple[int, ...]] = {
        "norm1": (s.width,), "query": (s.width, k, g, h), "key": (s.width, k, h), "value": (s.width, k, h),
        "output": (k, g, h, s.width), "norm2": (s.width,), "gate": (s.width, s.hidden), "up": (s.width, s.hidden),
        "down": (s.hidden, s.width),
    }  # fmt: skip
    weights = {name: typed((s.layers, *shape), WEIGHTS[name]) for name, shape in shapes.items()}
    cache = typed((s.layers, s.batch, s.length, k, h), CACHE)
    number = typed((), (), jnp.int32)
    row = typed((s.batch,), (BATCH,), jnp.int32)
    embedding = typed((s.vocabulary, s.width), (("heads", "groups"), None))
    head = typed((s.width, s.vocabulary), (None, ("heads", "groups")))
    return weights, embedding, head, cache, cache, row, row, number, number


COLLECTIVE = re.compile(
    r"= .*?\b(all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute)(?:-start)?\(.*?channel_id=(\d+)"
)
LOOP, CALL = re.compile(r"(?:body|condition)=%([\w.-]+)"), re.compile(r"(?:calls|to_apply)=%([\w.-]+)")
PLACES = ("once", "per step", "per layer")


def collectives(text: str) -> dict[str, Counter[str]]:
    """How many of each kind there are in an optimized program, by the loop that they are in.

    One that XLA has split among several fusions has one channel, and counts once.
    """
    bodies: dict[str, list[str]] = {}
    entry = ""
    for line in text.splitlines():
        if opened := re.match(r"(ENTRY )?%([\w.-]+) .*\{$", line):
            name = opened[2]
            bodies[name] = []
            entry = name if opened[1] else entry
        elif line.startswith(" "):
            bodies[name].append(line)
    channels: dict[tuple[int, str], set[str]] = {}
    pending = [(entry, 0)]
    while pending:
        name, depth = pending.pop()
        for line in bodies[name]:
            if found := COLLECTIVE.search(line):
                channels.setdefault((depth, found[1]), set()).add(found[2])
            pending += [(inner, depth + 1) for inner in LOOP.findall(line)]
            pending += [(inner, depth) for inner in CALL.findall(line)]
    return {
        place: Counter({kind: len(which) for (at, kind), which in channels.items() if at == depth})
        for depth, place in enumerate(PLACES)
    }


def main(arguments_given: list[str] | None = None) -> int:
    """The command; 0 if it compiled, 1 if not, 2 if there is no such topology here."""
    parser = argparse.ArgumentParser("python -m autograph.tools.scale", description=__doc__.partition("\n")[0])
    parser.add_argument("--topology", default="v5e:16x16", help="of TPUs, as libtpu names it")
    parser.add_argument("--mesh", type=int, nargs=3, default=(4, 8, 8), metavar=("DATA", "HEADS", "GROUPS"))
    parser.add_argument("--layers", type=int, default=Sizes().layers)
    parser.add_argument("--batch", type=int, default=Sizes().batch)
    parser.add_argument("--length", type=int, default=Sizes().length, help="of the cache")
    parser.add_argument("--hlo", type=Path, help="folder for the optimized programs")
    options = parser.parse_args(arguments_given)
    for name, value in {
        "TPU_SKIP_MDS_QUERY": "1", "TPU_ACCELERATOR_TYPE": "v5litepod-4", "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
    }.items():  # fmt: skip
        os.environ.setdefault(name, value)
    try:
        devices: Any = topologies.get_topology_desc(topology_name=options.topology, platform="tpu").devices
    except Exception as error:
        print(f"scale: no topology {options.topology!r} here: {str(error).partition(chr(10))[0]}", file=sys.stderr)
        return 2
    mesh = Mesh(np.asarray(devices).reshape(options.mesh), MESH, axis_types=(AxisType.Auto,) * 3)
    sizes = Sizes(layers=options.layers, batch=options.batch, length=options.length)
    taken = arguments(sizes, mesh)
    count = sum(part.size for part in jax.tree.leaves(taken[:3]))
    print(f"{count / 1e9:.1f} billion parameters on {len(devices)} x {devices[0].device_kind}; {sizes}")
    for name, function in {"converted": ag.convert(generate), "by hand": by_hand}.items():
        try:
            report(name, function, taken, mesh, options.hlo)
        except (jax.errors.JaxRuntimeError, ValueError) as error:  # too large for the chips, or not to be cut so
            print(f"scale: {name} does not compile: {str(error).partition(chr(10))[0]}", file=sys.stderr)
            return 1
    return 0


def report(name: str, function: Any, taken: tuple[Any, ...], mesh: Mesh, folder: Path | None) -> None:
    """Compile and print what it takes."""
    start = time.perf_counter()
    with jax.set_mesh(mesh):
        lowered = jax.jit(function, donate_argnums=(3, 4)).trace(*taken).lower(lowering_platforms=("tpu",))
    staged = time.perf_counter() - start
    compiled = lowered.compile()
    took = time.perf_counter() - start - staged
    memory, text = compiled.memory_analysis(), compiled.as_text()
    if folder is not None:
        (folder / f"{name}.hlo").write_text(text, encoding="utf-8")
    print(f"{name}: traced and lowered in {staged:.1f} s, compiled in {took:.1f} s")
    for part in ("argument", "output", "alias", "temp"):
        print(f"  {part:<9} {getattr(memory, part + '_size_in_bytes') / 2**20:9.1f} MiB a chip")
    for place, kinds in collectives(text).items():
        print(f"  {place:<9} {', '.join(f'{n} {kind}' for kind, n in sorted(kinds.items())) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
