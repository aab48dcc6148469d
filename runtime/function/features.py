"""`Feature`: the optional conversions."""

from __future__ import annotations

import enum


class Feature(enum.Enum):
    """Optional conversions, as in ``tf.autograph.experimental.Feature``.

    ``LISTS``: what the function writes to a list, dict or set that lives outside of it (``l.append(x)``) happens when the
    program runs, in its order, each time, and with the values: after the call the list holds them. Without, it happens
    once, while tracing, with a warning. ``ALL`` is every feature; the others are on anyway, or mean nothing here.

    >>> Feature.LISTS.name
    'LISTS'
    """

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"
