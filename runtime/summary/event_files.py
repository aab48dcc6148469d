"""TensorBoard's event files, written with the protocol buffers of tensorboardX."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

_NUMBERS = itertools.count()


class EventFile:
    """One event file, in a folder that is made if it is not there.

    Args:
      logdir: the folder.
      max_queue: how many events may wait until they are written to the disk.
      flush_millis: how long they may.
      suffix: the end of the file's name.

    Attributes: logdir, is_closed.
    """

    def __init__(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        protos()
        from tensorboardX.event_file_writer import EventsWriter

        os.makedirs(logdir, exist_ok=True)
        self.logdir = logdir
        # Two files of one second, of one process or of several, have names of their own.
        own = f".{os.getpid()}.{next(_NUMBERS)}{suffix}"
        self._file = EventsWriter(os.path.join(logdir, "events"), own)
        self._file.flush()
        self._max_queue, self._flush_seconds = max_queue, flush_millis / 1000
        self._lock = threading.Lock()
        self._waiting = 0
        self._flushed = time.monotonic()
        self.is_closed = False

    def add(self, value: Any, step: int) -> None:
        """Write one `Summary.Value`.

        Raises:
          RuntimeError: the file is closed.
        """
        event_pb2, summary_pb2 = protos()[:2]
        event = event_pb2.Event(wall_time=time.time(), step=step, summary=summary_pb2.Summary(value=[value]))
        with self._lock:
            if self.is_closed:
                raise RuntimeError(f"the summary {value.tag!r} is written by a closed writer")
            self._file.write_event(event)
            self._waiting += 1
            if self._waiting >= self._max_queue or time.monotonic() - self._flushed >= self._flush_seconds:
                self._flush()

    def flush(self) -> None:
        with self._lock:
            if not self.is_closed:
                self._flush()

    def _flush(self) -> None:
        self._file.flush()
        self._waiting, self._flushed = 0, time.monotonic()

    def close(self) -> None:
        with self._lock:
            if not self.is_closed:
                self._file.close()
                self.is_closed = True


def protos() -> tuple[Any, Any, Any]:
    """The modules of tensorboardX's that define events, summaries and tensors.

    Raises:
      ImportError: it is not installed.
    """
    try:
        from tensorboardX.proto import event_pb2, summary_pb2, tensor_pb2
    except ImportError:
        raise ImportError(
            "autograph.summary writes its files with tensorboardX, which is not installed.\n"
            "  pip install 'autograph-xla[tensorboard]'"
        ) from None
    return event_pb2, summary_pb2, tensor_pb2


def scalar_value(tag: str, number: float, description: str | None) -> Any:
    """A number, as TensorBoard's scalars have it."""
    return _value(tag, "scalars", _numbers(np.float32(number)), description)


def histogram_value(tag: str, data: Any, buckets: int, description: str | None) -> Any:
    """How many elements of ``data`` lie in each of so many intervals of one width.

    Raises:
      ValueError: an element is not finite.
    """
    values = np.asarray(data).astype(np.float64).ravel()
    if not np.isfinite(values).all():
        raise ValueError(f"the histogram {tag!r} has elements that are not finite")
    table = np.zeros((buckets, 3))
    if values.size:
        low, high = values.min(), values.max()
        if low == high:
            low, high = low - 0.5, high + 0.5
        counts, edges = np.histogram(values, buckets, (low, high))
        table = np.stack([edges[:-1], edges[1:], counts], axis=1)
    return _value(tag, "histograms", _numbers(table), description)


def text_value(tag: str, texts: Any, description: str | None) -> Any:
    """A text in Markdown, or an array of such, as a table."""
    array = np.asarray(texts, dtype=object)
    tensor = protos()[2].TensorProto(
        dtype="DT_STRING",
        string_val=[text if isinstance(text, bytes) else text.encode() for text in array.ravel()],
        tensor_shape=_shape(array.shape),
    )
    return _value(tag, "text", tensor, description)


def graph_value(tag: str, graph: bytes) -> Any:
    """A serialized ``GraphDef``, under a tag of its own in TensorBoard's graphs."""
    # `RunMetadata(function_graphs=[FunctionGraphs(pre_optimization_graph=graph)])`, whose classes tensorboardX leaves
    # out: fields 4 and 2, each a message within the other.
    metadata = _field(4, _field(2, graph))
    tensor = protos()[2].TensorProto(dtype="DT_STRING", string_val=[metadata], tensor_shape=_shape(()))
    return _value(tag, "graph_run_metadata_graph", tensor, None, b"1")


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    length, size = bytearray(), len(content)
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    length.append(size)
    return bytes([number << 3 | 2]) + bytes(length) + content


def _numbers(values: Any) -> Any:
    dtype, field = ("DT_FLOAT", "float_val") if values.dtype == np.float32 else ("DT_DOUBLE", "double_val")
    content = {field: values.ravel().tolist()}
    return protos()[2].TensorProto(dtype=dtype, tensor_shape=_shape(values.shape), **content)


def _shape(shape: Sequence[int]) -> Any:
    from tensorboardX.proto.tensor_shape_pb2 import TensorShapeProto

    return TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])


def _value(tag: str, plugin: str, tensor: Any, description: str | None, content: bytes = b"") -> Any:
    summary_pb2 = protos()[1]
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin, content=content),
        summary_description=description or "",
    )
    return summary_pb2.Summary.Value(tag=tag, metadata=metadata, tensor=tensor)
