"""The lattice of layouts by itself: what values are taken apart into, and what two of them have in common."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import autograph as ag
from autograph.backends.base import MISSING, LeafType, Output
from autograph.backends.xla import leaf_types
from autograph.runtime.layouts.describe import anonymous, describe, describe_variable, typed, unbound, unflatten
from autograph.runtime.layouts.join import Joiner
from autograph.runtime.layouts.kinds import (
    ABSENT,
    NEVER,
    NOTHING,
    Alternatives,
    Array,
    Maybe,
    Nothing,
    Object,
    Static,
    leaves_of,
)
from autograph.runtime.layouts.mismatches import shown, sides
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.sides import injected
from autograph.runtime.staging.builtins.reductions import Total

Pair = collections.namedtuple("Pair", "x y")


class Point:
    def __init__(self, x: Any, y: Any) -> None:
        self.x = x
        self.y = y


@dataclasses.dataclass(slots=True)
class Node:
    value: Any
    next: Any = None


FLOAT, INT, WEAK_INT = (leaf_types.type_of(value) for value in (jnp.zeros(()), jnp.zeros((), int), 0))


def traced(type):
    """A leaf that a program computes."""
    return Output(0, type)


def layout_of(value):
    return typed(*describe(value))


def join(a, b, **options):
    joiner = Joiner(leaf_types, **options)
    return joiner.join("v", a, b), joiner.mismatches


def joined(one, other, **options):
    found, mismatches = join(layout_of(one), layout_of(other), **options)
    assert not mismatches
    return found.layout


VALUES = [
    3,
    None,
    "text",
    (1, [2.0, {"b": 1, "a": None}], Pair(1, (2,))),
    {2: 1, "a": 2},
    {"z": 1, "a": [{"k": ()}]},
    collections.OrderedDict(b=1, a=2),
    [Pair(None, 1), ()],
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_put_together_again(value):
    layout, leaves = describe(value)
    assert layout.count == len(leaves) == len(list(leaves_of(typed(layout, leaves))))
    again = unflatten(layout, leaves)
    assert again == value and repr(again) == repr(value)


def test_an_object_is_put_together_again_as_another():
    node = Node(1, Node((2, "a")))
    layout, leaves = describe([node])
    assert leaves == [1, 2, "a"]
    (again,) = unflatten(layout, leaves)
    assert again is not node and again == node


def test_an_object_in_itself_is_a_leaf_there():
    node = Node(1)
    node.next = (node, 2)
    _, leaves = describe(node)
    assert leaves == [1, node, 2]


def test_an_optional_and_a_variable_end_with_their_tags():
    layout, leaves = describe(Optional("a condition", (1, 2)))
    assert leaves == [1, 2, "a condition"] and isinstance(layout, Maybe)
    assert unflatten(layout, leaves).value == (1, 2)
    layout, leaves = describe_variable((1, 2), "a condition")
    assert leaves == [1, 2, "a condition"] and unflatten(layout.inner, leaves[:-1]) == (1, 2)
    assert unbound()[1] == [False]


def test_containers_may_be_leaves():
    inner = [1]
    value = (inner, 2, {"k": 1})
    layout, leaves = describe(value, keeps_containers=True)
    assert leaves[0] is inner and leaves == [inner, 2, {"k": 1}]
    assert unflatten(layout, leaves) == value


def test_equal_python_values_stay_what_they_are():
    assert joined((1, "a"), (1, "a")) == layout_of((1, "a"))
    assert joined(0.0, -0.0) == Array(leaf_types.type_of(0.0))


def test_numbers_and_arrays_are_promoted():
    assert joined(1, 2) == Array(WEAK_INT)
    assert joined(1, traced(FLOAT)) == Array(FLOAT)
    assert joined([1, traced(INT)], [True, traced(FLOAT)]).parts == (Array(INT), Array(FLOAT))


def test_none_and_a_value_are_a_value_that_may_be_absent_anywhere():
    maybe = Maybe(Array(FLOAT), Array(leaf_types.type_of(True)))
    assert joined(None, traced(FLOAT)) == joined(traced(FLOAT), None) == maybe
    assert joined(None, None) is ABSENT
    assert joined({"k": (None, 1)}, {"k": (traced(FLOAT), 1)}).parts[0].parts == (maybe, Static(1))
    assert joined(Optional(traced(leaf_types.type_of(True)), 1), None).inner == Array(WEAK_INT)
    assert joined(None, "text").inner == Static("text")


def test_what_each_side_puts_in_the_place_of_a_leaf():
    left, left_leaves = describe({"b": None, "a": 1})
    right, right_leaves = describe({"b": (traced(FLOAT), "t"), "a": 2})
    found, _ = join(typed(left, left_leaves), typed(right, right_leaves))
    assert injected(found.left, left_leaves) == [MISSING, "t", False, 1]
    assert injected(found.right, right_leaves) == [Output(0, FLOAT), "t", True, 2]


def test_a_path_that_goes_nowhere_adds_nothing_and_an_unbound_one_widens():
    value = layout_of((1, "a", None))
    assert join(NEVER, value)[0].layout == value
    assert join(NOTHING, value)[0].layout.parts == (Array(WEAK_INT), Static("a"), ABSENT)
    assert join(NEVER, NOTHING)[0].layout is join(NOTHING, NEVER)[0].layout is NOTHING


def test_one_object_stays_itself_and_two_are_joined_by_attribute():
    one, other = Point(1, "a"), Point(2, "a")
    assert joined(one, one) == Static(one)
    both = joined(one, other)
    assert isinstance(both, Object) and both.parts == (Array(WEAK_INT), Static("a"))
    assert joined(None, one, is_known=lambda part: part is one).inner == Static(one)
    assert isinstance(joined(None, one).inner, Object)


def test_an_array_that_is_filled_takes_what_the_other_has():
    empty = ag.TensorArray(jnp.float32, size=3)
    full = empty.write(0, 1.0)
    assert (
        joined(empty, full) == joined(full, empty) == layout_of(full).with_parts([Array(LeafType((3,), FLOAT.dtype))])
    )


def test_a_sum_of_nothing_takes_the_type_of_the_other():
    nothing, some = Total(), Total(traced(FLOAT))
    assert joined(nothing, some) == joined(some, nothing) == layout_of(some)
    assert joined(nothing, nothing) == layout_of(nothing)


def mismatches(one, other):
    return join(layout_of(one), layout_of(other))[1]


def test_every_difference_is_listed():
    wide = traced(LeafType((3,), FLOAT.dtype))
    found = mismatches({"a": wide, "b": (1, range(2)), "c": 1}, {"a": traced(FLOAT), "b": (1, "t"), "c": 2})
    assert [(each.name, shown(each.left), shown(each.right)) for each in found] == [
        ("v['a']", "float32[3]", "float32[]"),
        ("v['b'][1]", "range(0, 2)", "'t'"),
    ]
    assert sides(found, "if true", "if false").splitlines() == [
        "    v['a']",
        "    if true:  float32[3]",
        "    if false: float32[]",
        "    v['b'][1]",
        "    if true:  range(0, 2)",
        "    if false: 't'",
    ]


@pytest.mark.parametrize(
    "one, other, texts",
    [
        ((1, 2), (1, 2, 3), ("(1, 2)", "(1, 2, 3)")),
        ({"a": 1}, ("x",), ("{'a': 1}", "('x',)")),
        (1, [1], ("1", "[1]")),
        (Point(1, None), [1], ("Point(x=1, y=None)", "[1]")),
        (Pair(1, "a"), [1, "b"], ("Pair(x=1, y='a')", "[1, 'b']")),
    ],
)
def test_another_structure_is_shown_as_a_whole(one, other, texts):
    (found,) = mismatches(one, other)
    assert (found.name, shown(found.left), shown(found.right)) == ("v", *texts)


def test_objects_of_different_classes_join_to_one_of_both():
    both = joined(Point(1, None), Node(2))
    assert (
        isinstance(both, Alternatives)
        and both.count == 3
        and shown(both) == "Point(x=1, y=None) or Node(value=2, next=None)"
    )
    chosen = unflatten(both, [3, 4, 1])
    assert type(chosen) is Node and chosen.value == 4
    again = joined(Point(5, None), chosen)
    assert [each.kind for each in again.objects] == [Point, Node]


def test_parts_of_registered_classes_and_objects_are_named_as_python_writes_them():
    (found,) = mismatches((Pair(1, Point(range(2), 0)),), (Pair(1, Point(1, 0)),))
    assert found.name == "v[0].y.x"


def test_two_lists_of_which_one_has_a_traced_length_are_chosen_after():
    both = joined(_traced_list([1, 2]), [1, 2, 3], chooses=True)
    assert both.count == 5
    assert unflatten(both, [1, 2, 4, 5, 6], lambda one, other: (list(one), other)) == ([1, 2], [4, 5, 6])
    assert len(mismatches([1], [1, 2])) == len(mismatches(_traced_list([1]), [1, 2])) == 1


def test_a_known_length_that_is_one_on_both_sides_stays_known():
    both = joined(_held_in_arrays([1, 2, 3]), _held_in_arrays([4, 5, 6]))
    assert both.count == 1
    assert unflatten(both, [np.arange(3)]).size() == 3


def test_the_lengths_of_lists_that_arrays_hold_join_to_a_number():
    found, mismatches = join(layout_of(_held_in_arrays([1, 2, 3])), layout_of(_held_in_arrays([4, 5], room=3)))
    assert not mismatches
    assert found.layout.count == 2
    start, end = injected(found.left, [np.arange(3)]), injected(found.right, [np.arange(3)])
    assert (start[0], end[0]) == (3, 2)


def _held_in_arrays(values, room=0):
    from autograph.runtime.containers.padded import Padded

    held = Padded.of(values)
    made = _traced_list(())
    made.set_contents(held.with_room(max(room, held.capacity)))
    return made


def _traced_list(values):
    from autograph.runtime.containers.traced_lists import TracedList

    return TracedList(values)


# Laws, of generated values of one shape: where two have a join at all.

LEAVES = st.one_of(
    st.sampled_from([0, 1, 1.5, True, "text"]),
    st.sampled_from(
        [LeafType((), np.dtype(name), weak) for name in ("int32", "float32") for weak in (False, True)]
    ).map(traced),
    st.none(),
)


def _wider(values):
    return st.one_of(
        st.tuples(values, values),
        st.lists(values, min_size=1, max_size=2),
        st.dictionaries(st.sampled_from("ab"), values, max_size=2),
        st.builds(Node, values, values),
        st.builds(
            lambda value: Optional(traced(leaf_types.type_of(True)), value), values.filter(lambda v: v is not None)
        ),
    )


VALUE = st.recursive(LEAVES, _wider, max_leaves=5).map(layout_of).map(anonymous)
ANY = st.one_of(VALUE, VALUE, VALUE, st.sampled_from([NOTHING, NEVER]))


def same(a, b):
    """Equal, the order of keys and attributes apart; of numbers that are promoted, weakness may differ by order."""
    return a == b or shown(a) == shown(b)


@settings(max_examples=300, deadline=None)
@given(ANY, ANY)
def test_a_join_is_commutative(a, b):
    (one, problems), (other, others) = join(a, b), join(b, a)
    assert bool(problems) == bool(others)
    if not problems:
        # The keys of a dict, and values of several kinds, stand in the order of the first of the two.
        sources = sorted(map(repr, one.left)) == sorted(map(repr, other.right))
        assert sources or isinstance(a, Nothing) or same(one.layout, other.layout) or _reordered(one, other)
        assert shown(one.layout).replace("'b'", "'a'") == shown(other.layout).replace("'b'", "'a'") or _reordered(
            one, other
        )


def _reordered(one, other):
    return sorted(map(repr, leaves_of(one.layout))) == sorted(map(repr, leaves_of(other.layout)))


@settings(max_examples=300, deadline=None)
@given(ANY)
def test_a_join_with_itself_changes_nothing(a):
    found, problems = join(a, a)
    assert not problems
    assert same(found.layout, a)


@settings(max_examples=300, deadline=None)
@given(ANY, ANY)
def test_a_join_holds_both_of_its_sides(a, b):
    found, problems = join(a, b)
    if problems:
        return
    for side in (a, b):
        again, more = join(found.layout, side)
        assert not more and again.layout == found.layout


@settings(max_examples=300, deadline=None)
@given(ANY, ANY, ANY)
@example(anonymous(layout_of({"a": None, "b": None})), anonymous(layout_of({"b": 0, "a": 0})), NOTHING)
def test_a_join_is_associative(a, b, c):
    left, problems = join(a, b)
    right, others = join(b, c)
    if problems or others:
        return
    one, problems = join(left.layout, c)
    other, others = join(a, right.layout)
    assert bool(problems) == bool(others)
    if not problems:
        one, other = (dataclasses.replace(each, layout=_with_unknown_tags(each.layout)) for each in (one, other))
        assert one.layout == other.layout or _reordered(one, other)


def _with_unknown_tags(layout):
    """The layout without what is known of its tags: a path without a value makes arrays of them, and a later join adds known ones."""
    if not layout.parts:
        return layout
    parts = list(map(_with_unknown_tags, layout.parts))
    if isinstance(layout, Maybe):
        parts[-1] = Array(leaf_types.type_of(True))
    return Object(layout.kind, layout.names, parts) if isinstance(layout, Object) else layout.with_parts(parts)


@settings(max_examples=300, deadline=None)
@given(ANY, ANY)
def test_each_side_has_a_leaf_for_each_place_of_the_join(a, b):
    found, problems = join(a, b)
    if problems:
        return
    assert len(found.left) == len(found.right) == found.layout.count == len(list(leaves_of(found.layout)))
    for sources, side in ((found.left, a), (found.right, b)):
        own = [source for source in sources if isinstance(source, int)]
        assert len(set(own)) == len(own) and set(own) <= set(range(side.count))


@settings(max_examples=300, deadline=None)
@given(ANY, st.lists(ANY, max_size=6))
def test_joining_more_and_more_comes_to_an_end(start, others):
    changes, layout = 0, start
    for other in others * 3:
        found, problems = join(layout, other)
        if not problems:
            changes += found.layout != layout
            layout = found.layout
    assert changes <= 4 * max(1, layout.count)
    for other in others:
        found, problems = join(layout, other)
        assert problems or found.layout == layout


def test_the_values_of_both_sides_come_through():
    tree = jax.tree_util.tree_map
    one, other = {"a": 1, "b": (None, 2.5)}, {"a": 3, "b": (4, 5.5)}
    (left, ours), (right, theirs) = describe(one), describe(other)
    found, _ = join(typed(left, ours), typed(right, theirs))
    for sources, leaves, wanted in ((found.left, ours, one), (found.right, theirs, other)):
        again = unflatten(found.layout, [0 if leaf is MISSING else leaf for leaf in injected(sources, leaves)])
        assert (
            tree(lambda part: part.resolve() if isinstance(part, Optional) else part, again, is_leaf=_is_optional)
            == wanted
        )


def _is_optional(part):
    return isinstance(part, Optional)
