"""`Feature`: the optional conversions."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Feature(enum.Enum):
    """Optional conversions, as in ``tf.autograph.experimental.Feature``.

    With ``LISTS``, a write to a list, dict or set from outside the function (``l.append(x)``) happens at run time, in
    program order, on each execution, with the run-time values. Without it, the write happens once, at trace time,
    with a warning. ``ALL`` means every feature. The other members exist for compatibility with TensorFlow, and have
    no effect.

    >>> ag.Feature.LISTS.name
    'LISTS'
    """

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def are_writes_at_run_time(features: Iterable[Feature]) -> bool:
    """Whether writes to containers from outside a function are operations of the program."""
    return bool({Feature.ALL, Feature.LISTS} & set(features))
