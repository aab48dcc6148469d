"""What stands in event files, as TensorBoard's own reader finds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.util.tensor_util import make_ndarray


def summaries(logdir: Any) -> list[tuple[str, int, Any]]:
    """Tag, step and content of each summary in a folder, in the order of writing."""
    return [
        (value.tag, event.step, make_ndarray(value.tensor).tolist())
        for file in sorted(Path(logdir).glob("*tfevents*"))
        for event in EventFileLoader(str(file)).Load()
        for value in event.summary.value
    ]


def graphs(logdir: Any) -> dict[str, Any]:
    """The graph of each tag in a folder, as a ``GraphDef``."""
    found = {}
    for file in sorted(Path(logdir).glob("*tfevents*")):
        for event in EventFileLoader(str(file)).Load():
            for value in event.summary.value:
                if value.metadata.plugin_data.plugin_name == "graph_run_metadata_graph":
                    (functions,) = RunMetadata.FromString(value.tensor.string_val[0]).function_graphs
                    found[value.tag] = functions.pre_optimization_graph
    return found
