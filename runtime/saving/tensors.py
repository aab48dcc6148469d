"""Read and write arrays in the safetensors format: a JSON header, then the bytes of each array.

Written here and not by the package of that name, which reads into new memory where JAX can use a mapped file as it
lies (if arrays begin at multiples of 64 bytes), and knows not all of JAX's dtypes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
import numpy as np

_NAMES = MappingProxyType(
    {
        "bool": "BOOL",
        **{
            f"{kind}int{bits}": f"{letter}{bits}"
            for kind, letter in (("", "I"), ("u", "U"))
            for bits in (8, 16, 32, 64)
        },
        **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
        "bfloat16": "BF16",
        "float8_e5m2": "F8_E5M2",
        "float8_e4m3fn": "F8_E4M3",
        "complex64": "C64",
    }
)
_ALIGNED = 64


class Damaged(ValueError):
    """The bytes are no such file."""


def described(dtype: str, shape: tuple[int, ...]) -> tuple[str, list[int], int]:
    """How an array stands in the header, its dtype and shape, and how many bytes it has.

    One of a dtype that the format has no name for is bytes there.
    """
    size = math.prod(shape) * jnp.dtype(dtype).itemsize
    return (_NAMES[dtype], list(shape), size) if dtype in _NAMES else ("U8", [size], size)


def write(arrays: Mapping[str, np.ndarray], put: Callable[[Any], object]) -> None:
    """Hand the file's bytes, piece by piece, to ``put``."""
    # Those that end at a multiple of 64 bytes first: each of them begins at one.
    order = sorted(arrays, key=lambda name: (arrays[name].nbytes % _ALIGNED > 0, -arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "autograph"}}
    end = 0
    for name in order:
        array = arrays[name]
        dtype, shape, size = described(array.dtype.name, array.shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNED)
    put(len(text).to_bytes(8, "little") + text)
    for name in order:
        put(np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data)


def read(data: np.ndarray, wanted: Mapping[str, tuple[str, tuple[int, ...]]]) -> dict[str, np.ndarray]:
    """The arrays of these names, dtypes and shapes, as views of ``data``.

    Raises:
      Damaged: the file has others, or is none.
    """
    if data.size < 8:
        raise Damaged(f"it has {data.size} bytes, fewer than a header")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > data.size - 8:
        raise Damaged(f"its header would have {length} bytes, and the file has {data.size}")
    header = _header(data[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    if header.keys() != wanted.keys():
        raise Damaged(f"it holds other arrays than the manifest says: {sorted(header.keys() ^ wanted.keys())[0]!r}")
    body, end = data[8 + length :], 0
    found = {}
    for name, entry in sorted(header.items(), key=lambda item: _offsets(item[1])):
        dtype, shape = wanted[name]
        kind, stored, size = described(dtype, shape)
        if (entry.get("dtype"), entry.get("shape")) != (kind, stored):
            raise Damaged(f"{name!r} is {entry.get('dtype')}{entry.get('shape')}, not {dtype}{list(shape)}")
        if _offsets(entry) != (end, end + size):
            raise Damaged(f"{name!r} is at the wrong offset")
        found[name] = body[end : end + size].view(jnp.dtype(dtype)).reshape(shape)
        end += size
    if end != body.size:
        raise Damaged(f"it has {body.size - end} bytes that belong to no array")
    return found


def _header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("its header is not JSON") from None
    if not isinstance(header, dict) or not all(isinstance(entry, dict) for entry in header.values()):
        raise Damaged("its header is not a table of arrays")
    return header


def _offsets(entry: Mapping[str, Any]) -> tuple[int, int]:
    match entry.get("data_offsets"):
        case [int(first), int(last)]:
            return first, last
    raise Damaged("its header has no offsets for an array")
