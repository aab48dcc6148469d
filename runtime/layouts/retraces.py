"""What values that have no join ask of the trace: to be made again with sets, dicts and arrays of which a condition can choose."""

from __future__ import annotations

from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.dict_kinds import dict_kind, is_dict_kind
from autograph.runtime.layouts.kinds import Layout, Object, Row, Static, Tree, is_object, is_view
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import births, hold_arrays

_VIEW_CHOSEN = (
    "A traced condition selects a part of an array or another array, which the program must know when it makes these: but it has "
    "printed, called Python or assigned a Variable before this, so it cannot be traced again here.\n  Call the function through "
    "autograph.function, or copy the part: m[0].copy()."
)


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


def let_refer(*layouts: Layout) -> None:
    """Make the trace again if one of these is an array beside a view: with arrays as places, of which none is copied by a choice."""
    refusal = StagingError(f"{user_location()}\n  {_VIEW_CHOSEN}")
    if not all(is_view(layout) or is_object(layout) for layout in layouts):
        hold_arrays(refusal)
    kinds = {layout.kind for layout in layouts if isinstance(layout, Object)}
    if kinds and (known := births()) is not None:
        known.link(kinds, refusal)


def _is_row_of_dict(layout: Layout) -> bool:
    """Whether values of this layout are dicts with traced keys, in a list of traced length."""
    return isinstance(layout, Row) and getattr(layout.kind, "stands_for", None) is dict
