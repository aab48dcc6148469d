"""What values that have no join ask of the trace: to be made again with sets and dicts of which a condition can choose."""

from __future__ import annotations

from autograph.runtime.layouts.dict_kinds import dict_kind, is_dict_kind
from autograph.runtime.layouts.kinds import Layout, Row, Static, Tree
from autograph.runtime.tracing.recording import births


def let_differ(*layouts: Layout) -> None:
    """Make the trace again, with sets and dicts of which a condition can choose, if it has made one of these."""
    known = births()
    if known is None:
        return
    known.differ(*(layout.value for layout in layouts if isinstance(layout, Static)))
    dicts = [layout for layout in layouts if isinstance(layout, Tree) and is_dict_kind(layout.kind)]
    if len(dicts) == 1 and all(isinstance(layout, Tree) or _is_row_of_dict(layout) for layout in layouts):
        kind, keys = dicts[0].kind, list(dicts[0].keys)
        known.dict_differs(keys, lambda made: dict_kind(made) == kind and list(made) == keys)


def _is_row_of_dict(layout: Layout) -> bool:
    """Whether values of this layout are dicts with traced keys, in a list of traced length."""
    return isinstance(layout, Row) and getattr(layout.kind, "stands_for", None) is dict
