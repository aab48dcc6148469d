"""Convert the nodes of a program to a ``GraphDef`` for TensorBoard."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

import jax

from autograph.backends.described import Node
from autograph.backends.selected import STAGING
from autograph.runtime.effects.raising import Guarded
from autograph.runtime.errors import place_of
from autograph.runtime.function.collecting import Collected
from autograph.runtime.state.held import Held

_DTYPES = MappingProxyType(
    {  # those that tensorboardX knows
        "bfloat16": "DT_BFLOAT16",
        "bool": "DT_BOOL",
        "complex64": "DT_COMPLEX64",
        "complex128": "DT_COMPLEX128",
        "float16": "DT_HALF",
        "float32": "DT_FLOAT",
        "float64": "DT_DOUBLE",
        "int8": "DT_INT8",
        "int16": "DT_INT16",
        "int32": "DT_INT32",
        "int64": "DT_INT64",
        "uint8": "DT_UINT8",
        "uint16": "DT_UINT16",
    }
)
_PATH = re.compile(r"[^\w]+")


def graph_of(programs: Sequence[Collected]) -> bytes:
    """The programs as one serialized ``GraphDef``; of several, each in a scope of its name."""
    from tensorboardX.proto.graph_pb2 import GraphDef
    from tensorboardX.proto.versions_pb2 import VersionDef

    nodes = []
    scopes = _scopes(programs) if len(programs) > 1 else [""] * len(programs)
    for scope, program in zip(scopes, programs, strict=True):
        nodes += [_node(scope, node) for node in _nodes(program)]
    data: bytes = GraphDef(node=nodes, versions=VersionDef(producer=22)).SerializeToString()
    return data


def _scopes(programs: Sequence[Collected]) -> list[str]:
    """The functions' names, of those that have one name with numbers."""
    counts: dict[str, int] = {}
    found = []
    for program in programs:
        name = _PATH.sub("_", program.name).strip("_") or "function"
        count = counts[name] = counts.get(name, 0) + 1
        found.append(f"{name}/" if count == 1 else f"{name}_{count}/")
    return found


def _nodes(program: Collected) -> list[Node]:
    variables, written = program.state or ([], 0)
    inputs = [(variable.name, "Input" if isinstance(variable, Held) else "Variable") for variable in variables]
    inputs += [(_PATH.sub(".", name).strip("."), "Input") for name in program.inputs]
    outputs = list(_results(program.traced.out_info, program.state is not None))
    outputs += [f"{variable.name}/assign" for variable in variables[:written]]
    return STAGING.drawn(program.traced.jaxpr, inputs, outputs)


def _results(out_info: Any, has_state: bool) -> Iterator[str]:
    """Names of the results: by the path to each, and of the exception that the program may raise."""
    if has_state:
        out_info, _ = out_info
    error = 0
    if isinstance(out_info, Guarded):
        error = len(jax.tree_util.tree_leaves((out_info.code, out_info.payloads)))
        out_info = out_info.result
    for path, _ in jax.tree_util.tree_leaves_with_path(out_info):
        yield ".".join(filter(None, ["result", _PATH.sub(".", jax.tree_util.keystr(path)).strip(".")]))
    for k in range(error):
        yield "exception" if k == 0 else f"exception/value_{k}"


def _node(scope: str, node: Node) -> Any:
    """The node, in a scope, as a ``NodeDef``."""
    from tensorboardX.proto.attr_value_pb2 import AttrValue
    from tensorboardX.proto.node_def_pb2 import NodeDef
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto

    shapes = [
        TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if size is None else size) for size in shape])
        for _, shape in node.types
    ]
    attributes = {"_output_shapes": AttrValue(list=AttrValue.ListValue(shape=shapes))}
    if node.types:
        dtype = node.types[0][0]
        known = _DTYPES.get(dtype)
        attributes["dtype"] = AttrValue(s=dtype.encode()) if known is None else AttrValue(type=known)
    texts = dict(node.parameters)
    if node.position is not None:
        texts["line"] = place_of(node.position.file, node.position.line).rpartition(os.sep)[2]
    attributes |= {name: AttrValue(s=text.encode()) for name, text in texts.items()}
    inputs = [scope + name for name in node.inputs]
    return NodeDef(name=scope + node.name, op=node.operation, input=inputs, attr=attributes)
