"""Every program of the corpus, and one of each kind of loop, compiled for one chip and for four.

What is asserted of each is what makes a program fit for a TPU: nothing leaves the chips while it runs, a loop is one loop, and
no iteration copies an array that it carries. `docs/targets.md` has the figures (`python -m tests.targets.figures`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests.targets import hlo
from tests.targets.programs import LANES, ONE, Spec, corpus, kinds, mapped_corpus

_SCATTERED = "each lane writes at an index of its own, for which XLA wants the lanes in another place of the layout"
# By program and what is asserted of it: why it is not so.
EXCEPTIONS = {
    ("algorithms_discrete.insertion_sort-2x2", "copies"): _SCATTERED,
    ("item_assignment.histogram-2x2", "copies"): _SCATTERED,
    ("language.item_forms.item_of_a_dict_item-2x2", "copies"): _SCATTERED,
    ("item_assignment.set_a_slice-2x2", "loops"): "XLA writes the lanes' slices in a loop, as each begins elsewhere",
}


def over(targets):
    return pytest.mark.parametrize("target", targets, ids=named)


def named(target):
    return f"{target.name}-{target.chips.rpartition(':')[2]}"


def check(target, larger_than):
    """``larger_than``: how many elements an array has at most that a copy of is no more than what is done to a number."""
    lowered = target.lowered()
    text = lowered.compile(target.chips).as_text()
    assert hlo.leaves_the_chip(text) == []
    copies = hlo.copies_in_loops(text, larger_than)
    assert bool(copies) == ((named(target), "copies") in EXCEPTIONS), copies
    loops = len(hlo.loops(text)), hlo.staged_loops(lowered)
    assert (loops[0] > loops[1]) == ((named(target), "loops") in EXCEPTIONS), loops


@over(corpus())
def test_a_program_of_the_corpus_on_one_chip(target):
    check(target, larger_than=0)


@over(mapped_corpus())
def test_a_program_of_the_corpus_mapped_over_four_chips(target):
    check(target, larger_than=LANES // 4)  # a number of each lane


@over(kinds())
def test_each_kind_of_loop(target):
    check(target, larger_than=1024)  # a vector register


def test_the_checks_find_what_they_look_for():
    def carried(x, n):
        return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[2], jnp.sin(c[1])), (0, x, x))[1:]

    swapped = ag.function(carried, autograph=False).lower(Spec((4096,), jnp.float32), Spec((), jnp.int32))
    assert hlo.copies_in_loops(swapped.compile(ONE).as_text(), larger_than=1024)
    assert hlo.leaves_the_chip("  %s = (f32[], u32[]) send(%a, %b), is_host_transfer=true")
    assert hlo.leaves_the_chip('  %c = f32[] custom-call(%a), custom_call_target="xla_python_callback"')
