"""What is decided for each platform where a program is lowered: each gets its form, and results do not depend on it."""

from __future__ import annotations

import dataclasses

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.backends.xla import platforms
from autograph.backends.xla.optimize.passes import PASSES
from autograph.backends.xla.platforms import PLATFORMS
from tests.rooms import ROOT

Spec = jax.ShapeDtypeStruct


def halved(x):
    if x.sum() > 4:
        y = jnp.sqrt(abs(x) + 1) / 2
    else:
        y = x - 1
    return y


def bubbled(x):
    """Reads what it wrote under a condition."""
    for j in range(len(x) - 1):
        if x[j] > x[j + 1]:
            x[j], x[j + 1] = x[j + 1], x[j]
    return x


def collected(x):
    """Writes under a condition, and never reads that."""
    found, count = x * 0, 0
    for value in x:
        if jnp.sin(value) > 0:
            found[count] = jnp.sqrt(value * value + 1)
            count += 1
    return found


def halved_until_small(x):
    """A branch with a loop in it."""
    if x.sum() > 4:
        while abs(x).sum() > 1:
            x = x / 2
    return x


def nested(x):
    """Branches in a branch in a loop."""
    for k in range(len(x)):
        if x[k] > 0:
            if x[0] > 1:
                x = jnp.tanh(x)
            else:
                x = x * 0.9
    return x


def refused(x):
    if x[0] > 100:
        raise ValueError("too much")
    return halved(x)


ALL, NOT_TPU = {"cpu", "cuda", "rocm", "tpu"}, {"cpu", "cuda", "rocm"}
# By program: how many elements, and where a conditional is left.
FORMS = [
    (halved, 16, set()),
    (halved, 100, {"cpu"}),
    (halved, 8192, {"cpu"}),
    (halved, 8193, {"cpu", "tpu"}),
    (halved, 2**20 + 1, ALL),
    (bubbled, 8, NOT_TPU),
    (collected, 8, set()),
    (halved_until_small, 8, ALL),
    (nested, 8, set()),
    (nested, 100, {"cpu"}),
    (refused, 100, {"cpu"}),
]
each_form = pytest.mark.parametrize("program, size, where", FORMS, ids=[f"{f.__name__}-{n}" for f, n, _ in FORMS])


def lowered(program, size, *names):
    return ag.function(program).lower(Spec((size,), jnp.float32), platforms=names).as_text()


def conditionals(text):
    return text.count("stablehlo.case") + text.count("stablehlo.if")


@each_form
def test_each_platform_gets_its_form(program, size, where):
    assert {platform for platform in ALL if conditionals(lowered(program, size, platform))} == where


def test_a_program_for_several_platforms_holds_each_form_once():
    cpu, tpu = lowered(halved, 100, "cpu"), lowered(halved, 100, "tpu")
    every = lowered(halved, 100, "cpu", "cuda", "rocm", "tpu")
    assert [text.count("stablehlo.sqrt") for text in (cpu, tpu, every)] == [1, 1, 2]
    assert [text.count("stablehlo.select") for text in (cpu, tpu, every)] == [0, 1, 1]
    of_arrays = "(tensor<i32>) -> tensor<100xf32>"  # those of numbers say which platform it is
    assert [text.count(of_arrays) for text in (cpu, tpu, every)] == [1, 0, 2]
    assert "_platform_index" in every and "_platform_index" not in cpu


@pytest.mark.parametrize("size", [16, 8193])
def test_where_platforms_agree_a_program_for_several_holds_one_form(size):
    both = lowered(halved, size, "cpu", "tpu")
    assert both.count("stablehlo.sqrt") == 1
    assert conditionals(both) == conditionals(lowered(halved, size, "cpu"))


def test_the_forms_of_a_conditional_in_a_loop_are_in_one_loop():
    every = lowered(nested, 100, "cpu", "cuda", "tpu")
    assert every.count("stablehlo.while") == 1


def gradient(program, x):
    return jax.grad(lambda x: (program(x) * jnp.arange(x.size)).sum())(x)


def test_derivatives_have_the_form_of_the_platform():
    def slope(x):
        return gradient(ag.convert(halved), x)

    assert not conditionals(lowered(slope, 100, "tpu"))
    assert conditionals(lowered(slope, 100, "cpu"))
    assert "_platform_index" in lowered(slope, 100, "cpu", "tpu")


def test_in_a_batch_the_form_goes_by_the_size_of_all_lanes():
    def rows(x, w):
        """The test is one for all lanes."""
        return jax.vmap(ag.convert(lambda x, w: halved_if(w, x)), (0, None))(x, w)

    def halved_if(w, x):
        if w > 0:
            x = jnp.sqrt(abs(x) + 1) / 2
        return x

    function, w = ag.function(rows), Spec((), jnp.float32)
    few, many = (Spec((lanes, 100), jnp.float32) for lanes in (3, 300))
    assert not conditionals(function.lower(few, w, platforms=["tpu"]).as_text())
    assert conditionals(function.lower(few, w, platforms=["cpu"]).as_text())
    assert conditionals(function.lower(many, w, platforms=["tpu"]).as_text())


INPUTS = [[5.0, 2, 9, 1, 7, 3], [0.1, 0.25, 0.3, -0.01, 0.2, 0.15], [-9.0, -8, 0.5, 7, 8, 9]]
each_program = pytest.mark.parametrize(
    "program", [halved, bubbled, collected, halved_until_small, nested, refused], ids=lambda f: f.__name__
)


def plainly(program, values):
    """By Python, in NumPy's arrays, which can be written to."""
    return np.asarray(program(np.array(values, np.float32)))


def plain_gradient(program, values, step=1e-2):
    """By differences, as `gradient` takes it."""
    weights, found = np.arange(len(values)), []
    for direction in np.eye(len(values)) * step:
        ahead, behind = (plainly(program, values + sign * direction).astype(float) for sign in (1, -1))
        found.append(((ahead - behind) * weights).sum() / (2 * step))
    return found


@pytest.fixture(params=["cpu", "cuda", "tpu"])
def form(request, monkeypatch):
    """What is run here has the form of that platform, where that of a CPU begins to differ at five elements."""
    choices = PLATFORMS[request.param]
    if choices.selects == platforms.EVERYWHERE:
        choices = dataclasses.replace(choices, selects=platforms.Limits(24, 4))
    monkeypatch.setattr(platforms, "PLATFORMS", dict.fromkeys(PLATFORMS, choices))
    return request.param


@each_program
def test_no_form_changes_a_result(form, program):
    converted, rows = ag.convert(program), jnp.array(INPUTS)
    plain = [plainly(program, values) for values in INPUTS]
    compiled = ag.function(program)
    for x, result in zip(rows, plain):
        np.testing.assert_allclose(compiled(x), result, rtol=1e-6)
    np.testing.assert_allclose(ag.function(lambda rows: jax.vmap(converted)(rows))(rows), plain, rtol=1e-6)


@each_program
def test_no_form_changes_a_gradient(form, program):
    converted, rows = ag.convert(program), jnp.array(INPUTS)
    plain = [plain_gradient(program, np.array(values)) for values in INPUTS]
    slope = ag.function(lambda x: gradient(converted, x))
    for x, result in zip(rows, plain):
        np.testing.assert_allclose(slope(x), result, rtol=0.02, atol=0.02)
    slopes = ag.function(lambda rows: jax.vmap(lambda x: gradient(converted, x))(rows))(rows)
    np.testing.assert_allclose(slopes, plain, rtol=0.02, atol=0.02)


def test_the_forms_that_are_run_here_do_differ(form):
    text = jax.jit(ag.convert(halved)).lower(jnp.array(INPUTS[0])).as_text()
    assert conditionals(text) == (form == "cpu")


@pytest.mark.parametrize("program", [halved, bubbled, nested], ids=lambda f: f.__name__)
def test_a_program_exported_for_several_platforms_runs(program):
    exported = jax.export.export(jax.jit(ag.convert(program)), platforms=["cpu", "cuda", "tpu"])(jnp.array(INPUTS[0]))
    for values in INPUTS:
        np.testing.assert_allclose(exported.call(jnp.array(values)), plainly(program, values), rtol=1e-6)


class Counted(ag.Module):
    """A Variable that branches write."""

    def __init__(self) -> None:
        self.total = ag.Variable(jnp.zeros(100), name="total")

    @ag.function
    def add(self, x):
        for k in ag.range(3):
            if x[k] > 0:
                self.total.assign_add(x)
            else:
                self.total.assign(self.total * 0.5)
        return self.total.value


def test_a_model_saved_for_several_platforms_keeps_its_state(tmp_path):
    x = jnp.linspace(-1, 1, 100).at[1].set(2.0)
    first, second = Counted(), Counted()
    wanted = [np.asarray(first.add(x)) for _ in range(2)]
    second.add.get_concrete_function(x)
    ag.save(second, tmp_path / "model", platforms=("cpu", "cuda", "tpu"))
    loaded = ag.load(tmp_path / "model")
    for each in wanted:
        np.testing.assert_array_equal(loaded.add(x), each)


def test_errors_are_raised_whatever_a_program_is_lowered_for():
    x = jnp.full(100, 200.0)
    text = lowered(refused, 100, "cpu", "tpu")
    assert "_platform_index" in text
    with pytest.raises(ValueError, match="too much"):
        ag.function(refused)(x)


def test_every_platform_that_programs_are_lowered_for_has_its_choices():
    assert set(PLATFORMS) == ALL
    assert all(each.why_selects and each.why_keeps and each.why_holds and each.why_chunk for each in PLATFORMS.values())
    assert platforms.choices_on("abacus") is PLATFORMS["cpu"]


def test_a_sum_over_what_is_large_runs_only_where_it_is_asked_for():
    """Its result is one number, and it goes over all that it is of."""

    def summed(x, flags):
        total = 0.0
        for k in ag.range(3):
            x[0] = total
            if flags[k]:
                total = total + x.sum()
        return total

    for size, left in ((16, 0), (100_000, 1)):
        types = Spec((size,), jnp.float32), Spec((3,), jnp.bool_)
        assert conditionals(ag.function(summed).lower(*types, platforms=["cpu"]).as_text()) == left


def test_the_document_has_the_table():
    lines = (ROOT / "docs/targets.md").read_text(encoding="utf-8").splitlines()
    columns = ("cpu", "cuda", "tpu")
    for start, of in (
        ("| a conditional becomes a select", lambda choices: f"{choices.selects.operations:,}"),
        ("| and elements per value", lambda choices: f"{choices.selects.elements:,}"),
        ("| a conditional whose writes were moved", lambda c: "no" if c.keeps_conditionals_of_writes else "yes"),
        ("| iterations between tests", lambda choices: str(choices.chunk)),
        (
            "| conditional writes in a loop",
            lambda c: "in the branch" if c.writes_in_branches else "after the conditional",
        ),
        ("| element reads of an array", lambda choices: "yes" if choices.holds_reads else "no"),
        ("| unroll factor of a `scan` with", lambda choices: "8 or 4" if choices.unrolls else "1"),
    ):
        (row,) = (line for line in lines if line.startswith(start))
        assert [cell.strip() for cell in row.split("|")[2:-1]] == [of(PLATFORMS[platform]) for platform in columns]
    assert PLATFORMS["cuda"] == PLATFORMS["rocm"]


def test_the_document_says_of_each_pass_what_it_does_elsewhere():
    text = (ROOT / "docs/targets.md").read_text(encoding="utf-8")
    assert [each.run.__name__ for each in PASSES if f"| `{each.run.__name__}`: " not in text] == []
