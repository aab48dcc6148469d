"""Summaries for TensorBoard, as in ``tf.summary``: values, graphs and profiles.

>>> import autograph as ag, jax.numpy as jnp, tempfile
>>> writer = ag.summary.create_file_writer(tempfile.mkdtemp())
>>> @ag.function
... def descend(x):
...     for step in ag.range(100):
...         x = x - 0.1 * x
...         if step % 10 == 0:
...             ag.summary.scalar("x", x, step=step)
...     return x
>>> with writer.as_default():
...     _ = descend(jnp.array(1.0))
>>> writer.close()
"""

from autograph.runtime.summary.defaults import experimental as experimental
from autograph.runtime.summary.defaults import get_step as get_step
from autograph.runtime.summary.defaults import set_step as set_step
from autograph.runtime.summary.tracing import trace_export as trace_export
from autograph.runtime.summary.tracing import trace_off as trace_off
from autograph.runtime.summary.tracing import trace_on as trace_on
from autograph.runtime.summary.writers import SummaryWriter as SummaryWriter
from autograph.runtime.summary.writers import create_file_writer as create_file_writer
from autograph.runtime.summary.writing import flush as flush
from autograph.runtime.summary.writing import histogram as histogram
from autograph.runtime.summary.writing import scalar as scalar
from autograph.runtime.summary.writing import text as text

__all__ = [
    "SummaryWriter",
    "create_file_writer",
    "experimental",
    "flush",
    "get_step",
    "histogram",
    "scalar",
    "set_step",
    "text",
    "trace_export",
    "trace_off",
    "trace_on",
]
