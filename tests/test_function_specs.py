"""`TensorSpec`, `input_signature`, symbolic dimensions and `reduce_retracing`."""

from __future__ import annotations

import copy
import pickle
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Spec = ag.TensorSpec


# TensorSpec.


def test_a_spec_is_a_value():
    assert Spec([2, None], jnp.int32, "x") == Spec((2, None), "int32", name="x") != Spec((2, None), jnp.int32)
    assert hash(Spec([2])) == hash(Spec((2,)))
    assert repr(Spec([2, "n"], name="x")) == "TensorSpec(shape=(2, 'n'), dtype=float32, name='x')"
    assert str(Spec([2, None])) == "float32[2,None]" and str(Spec(None)) == "float32[...]"
    assert pickle.loads(pickle.dumps(Spec([1]))) == copy.deepcopy(Spec([1])) == Spec([1])
    with pytest.raises(AttributeError):
        Spec([1]).shape = (2,)


@pytest.mark.parametrize(
    "arguments,error",
    [((3,), TypeError), (("n",), TypeError), (([-1],), ValueError), (([1.5],), TypeError),
     (([True],), TypeError), ((["a b"],), ValueError), (([1], "nonsense"), TypeError),
     (([1], object()), TypeError)],
)  # fmt: skip
def test_a_spec_that_cannot_be_meant(arguments, error):
    with pytest.raises(error, match="size|shape|dtype"):
        Spec(*arguments)


def test_compatibility():
    fits = Spec([None, 3]).is_compatible_with
    assert fits(jnp.ones((5, 3))) and fits(Spec([2, 3])) and fits(Spec(None)) and fits(np.ones((1, 3), np.float32))
    assert not fits(jnp.ones((5, 4))) and not fits(jnp.ones(3)) and not fits(jnp.ones((5, 3), jnp.int32))
    assert Spec(["n", "n"]).is_compatible_with(jnp.ones((2, 2)))
    assert not Spec(["n", "n"]).is_compatible_with(jnp.ones((2, 3)))


def test_generalisation():
    assert Spec([2, 3]).most_general_compatible(Spec([2, 4])) == Spec([2, None])
    assert Spec([2]).most_general_compatible(Spec([2, 3])) == Spec(None)
    assert Spec(["n"]).most_general_compatible(Spec(["n"])) == Spec(["n"])
    with pytest.raises(ValueError, match="dtypes"):
        Spec([2]).most_general_compatible(Spec([2], jnp.int32))


def test_from_array():
    assert Spec.from_array(jnp.ones((2, 3)), "x") == Spec([2, 3], name="x")
    assert Spec.from_array(3) == Spec([], jnp.int32) and Spec.from_array(Spec([None])) == Spec([None])


# input_signature.


def total(x):
    return x.sum()


def test_one_graph_and_casts():
    f = ag.function(lambda x, n: x * n, [Spec([2]), Spec([], jnp.int32)])
    calls = [
        (jnp.ones(2), jnp.array(3)),
        ([1, 1], 3),
        (np.ones(2), np.int64(3)),
        ((1.0, True), np.array(3)),
        ([jnp.array(1.0), 1.0], True + 2),
        (jnp.asarray(np.ones(2, np.float32)), jnp.asarray(3)),
        (jax.lax.broadcast(1.0, (2,)), jnp.asarray(3)),
    ]
    for call in calls:
        result = f(*call)
        assert result.dtype == jnp.float32 and result.tolist() == [3, 3]
    f(n=3, x=[1, 1])
    assert f.experimental_get_tracing_count() == 1
    assert (
        f.get_concrete_function()
        is f.get_concrete_function([1.0, 2.0], 3)
        is f.get_concrete_function(*f.input_signature)
    )


@pytest.mark.parametrize(
    "call,text",
    [
        ((jnp.ones(3), 1), r"`x` .*expected float32\[2\], got float32\[3\]"),
        ((jnp.ones(2, jnp.int32), 1), r"`x` .*expected float32, got int32"),
        ((jnp.ones(2), jnp.ones(())), r"`n` .*expected int32, got float32"),
        ((jnp.ones(2), 1.5), r"`n` .*expected int32, got float32 \(1.5\)"),
        ((jnp.ones(2), 1 << 40), r"`n` .*out of its range"),
        ((np.ones((2, 2)), 1), r"`x` .*expected float32\[2\], got float32\[2,2\]"),
        (([1.0, 2.0, 3.0], 1), r"`x` .*expected float32\[2\], got float32\[3\]"),
        (("ab", 1), r"`x` .*got str 'ab'"),
        ((None, 1), r"`x` "),
        (([[1.0], [1.0, 2.0]], 1), r"`x` .*no array"),
        ((jnp.ones(2),), r"missing the argument `n`"),
        ((jnp.ones(2), 1, 2), r"takes 2 arguments by its input_signature; got 3"),
        ((jnp.ones(2), object()), r"`n` "),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, text):
    def f(x, n, flag=True):
        return x * n

    g = ag.function(f, [Spec([2]), Spec([], jnp.int32)])
    for _ in range(2):
        with pytest.raises(TypeError, match=text):
            g(*call)
    g(jnp.ones(2), jnp.array(1))
    with pytest.raises(TypeError, match=text):
        g(*call)
    assert g.experimental_get_tracing_count() == 1


def test_extra_keywords_are_refused():
    def f(x, flag=True):
        return x

    g = ag.function(f, [Spec([2])])
    for options in ({"flag": False}, {"other": 1}):
        with pytest.raises(TypeError, match=next(iter(options))):
            g(jnp.ones(2), **options)
    assert g(x=jnp.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("signature", [Spec([2]), 3, "x", [3], [None], [[Spec([2]), 1]], {"x": Spec([2])}, iter([])])
def test_a_signature_that_is_no_sequence_of_specs(signature):
    with pytest.raises(TypeError, match="input_signature"):
        ag.function(total, signature)


def test_a_signature_of_the_wrong_length():
    with pytest.raises(TypeError, match="2 specs"):
        ag.function(total, [Spec([2]), Spec([2])])
    with pytest.raises(TypeError, match="`y`"):
        ag.function(lambda x, y: x, [Spec([2])])
    with pytest.raises(TypeError, match="`y`"):
        ag.function(lambda x, *, y: x, [Spec([2])])


def test_nested_signatures():
    def f(pair, options):
        return pair[0] * options["scale"] + pair[1]

    g = ag.function(f, [[Spec([None]), Spec([])], {"scale": Spec([])}])
    for pair in ([jnp.ones(2), 1.0], (np.ones(3), jnp.array(1.0))):
        assert g(pair, {"scale": 2}).tolist() == [3] * len(pair[0])
    assert g.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match=r"`pair`.*expected 2 values, got 1 values"):
        g([jnp.ones(2)], {"scale": 2})
    with pytest.raises(TypeError, match=r"`options`.*keys \['scale'\], got the keys \['size'\]"):
        g([jnp.ones(2), 1.0], {"size": 2})
    with pytest.raises(TypeError, match=r"`pair\[1\]`.*expected float32\[\], got float32\[2\]"):
        g([jnp.ones(2), jnp.ones(2)], {"scale": 2})


def test_in_a_method():
    class Model:
        def __init__(self, k):
            self.k = k

        @ag.function(input_signature=[Spec([None])])
        def scaled(self, x):
            return x * self.k

    a, b = Model(2), Model(3)
    for size in (1, 2, 3):
        assert a.scaled(jnp.ones(size)).tolist() == [2] * size and b.scaled([1] * size).tolist() == [3] * size
    assert a.scaled.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="scaled"):

        class Wrong:
            @ag.function(input_signature=[Spec([None])])
            def scaled(self, x, y):
                return x


def test_a_captured_value_that_changes():
    k = 2
    f = ag.function(lambda x: x * k, [Spec([None])])
    assert f([1.0]).tolist() == [2]
    k = 3
    assert f([1.0]).tolist() == [3] and f(jnp.ones(2)).tolist() == [3, 3]


def test_without_compilation():
    f = ag.function(lambda x: x.sum() * len(x), [Spec([None])], jit_compile=False)
    assert [float(f(jnp.ones(n))) for n in (2, 3)] == [4, 9]
    with pytest.raises(TypeError, match="`x`"):
        f(jnp.ones((2, 2)))


# Symbolic dimensions.


def by_range(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * i
    return s


def by_while(x):
    s, i = 0.0, 0
    while i < x.shape[0]:
        s += x[i] * i
        i += 1
    return s


def by_staged_range(x):
    s = 0.0
    for i in ag.range(x.shape[0]):
        s += x[i] * i
    return s


def by_items(x):
    s = 0.0
    for i, v in enumerate(x):
        s += v * i
    return s


def by_zip(x):
    s = 0.0
    for i, v in zip(jnp.arange(len(x)), x):
        s += v * i
    return s


def with_break(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 100:
            break
        s += x[i] * i
    return s


def backwards(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s += x[i] * i
    return s


def with_assignment(x):
    weighted = jnp.zeros(len(x))
    for i in range(len(x)):
        weighted[i] = x[i] * i
    return weighted.sum()


def with_comprehended_size(x):
    return (x * jnp.arange(x.shape[0])).sum() * max(len(x), 1) / min(len(x), 100)


LOOPS = [
    by_range,
    by_while,
    by_staged_range,
    by_items,
    by_zip,
    with_break,
    backwards,
    with_assignment,
    with_comprehended_size,
]


@pytest.mark.parametrize("f", LOOPS)
def test_control_flow_over_a_symbolic_size_is_traced_once(f):
    g = ag.function(f, [Spec([None])])
    for size in (1, 2, 5, 3):
        x = np.arange(size, dtype=np.float32) + 1
        assert float(g(x)) == pytest.approx(sum(v * i for i, v in enumerate(x.tolist())))
    assert g.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("f", LOOPS)
def test_an_empty_array_is_right_too(f):
    if f is with_comprehended_size:
        pytest.skip("divides by the size")
    g = ag.function(f, [Spec([None])])
    assert float(g(jnp.ones(3))) == 3 and float(g(jnp.zeros(0))) == 0


def test_a_symbolic_size_is_a_result():
    @ag.function(input_signature=[Spec([None]), Spec([2, "m"])])
    def sizes(x, y):
        return {
            "n": x.shape[0],
            "both": (len(x) + 2 * y.shape[1], [y.shape]),
            "set": types.SimpleNamespace(m=y.shape[1]),
        }

    for n, m in [(3, 1), (5, 4)]:
        arguments = jnp.ones(n), jnp.ones((2, m))
        found, expected = sizes(*arguments), sizes.python_function(*arguments)
        found["set"], expected["set"] = found["set"].m, expected["set"].m
        assert jax.tree.map(int, found) == expected
    assert sizes.experimental_get_tracing_count() == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.full(x.shape, 3),
        lambda x: jnp.zeros((len(x), 2)),
        lambda x: jnp.ones((2, x.shape[0])),
        lambda x: jnp.full(len(x), x.sum()),
        lambda x: jnp.arange(len(x)) * x,
        lambda x: jnp.repeat(jnp.arange(3.0), len(x)),
    ],
)
def test_arrays_of_a_symbolic_size_have_that_size(f):
    g = ag.function(f, [Spec(["n"])])
    spec = g.get_concrete_function().structured_outputs
    assert isinstance(spec, Spec) and [size for size in spec.shape if not isinstance(size, int)], (
        "a symbolic dimension, and no room"
    )
    for n in (1, 3, 100):
        found, expected = g(jnp.ones(n)), f(jnp.ones(n))
        assert found.shape == expected.shape and found.tolist() == expected.tolist()
    assert g.experimental_get_tracing_count() == 1


def test_named_sizes_are_equal():
    f = ag.function(lambda a, b: a @ b, [Spec(["n", "k"]), Spec(["k", None])])
    assert f(jnp.ones((2, 3)), jnp.ones((3, 4))).shape == (2, 4)
    assert f(jnp.ones((5, 1)), jnp.ones((1, 2))).shape == (5, 2)
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match=r"`b`.*where k is 3"):
        f(jnp.ones((2, 3)), jnp.ones((4, 4)))


def test_unknown_rank_is_one_concrete_function():
    f = ag.function(total, [Spec(None)])
    for shape in [(), (3,), (5,), (2, 3), (4, 5), (1, 1, 1)]:
        assert float(f(jnp.ones(shape))) == np.prod(shape)
    assert f.experimental_get_tracing_count() == 4  # a trace for each rank
    assert f.get_concrete_function() is f.get_concrete_function(jnp.ones(7))
    assert f.pretty_printed_concrete_signatures().count("shape=<unknown>") == 1


def branches_on_size(x):
    if len(x) > 3:
        return x.sum()
    return -x.sum()


def compares_size(x):
    if x.shape[0] == 3:
        return x.sum()
    return -x.sum()


def asks_of_parity(x):
    return x.sum() if x.shape[0] % 2 == 0 else -x.sum()


def looks_size_up(x):
    return x.sum() if x.shape[0] in (2, 3) else -x.sum()


@pytest.mark.parametrize(
    "f,positive",
    [(branches_on_size, {4, 5}), (compares_size, {3}), (asks_of_parity, {2, 4})],
)
def test_what_is_asked_of_a_symbolic_size_is_traced_once(f, positive):
    g = ag.function(f, [Spec([None])])
    results = [float(g(jnp.ones(size))) for size in (2, 3, 4, 5, 3)]
    assert results == [size if size in positive else -size for size in (2, 3, 4, 5, 3)]
    assert g.experimental_get_tracing_count() == 1


def test_what_python_cannot_ask_of_a_symbolic_size_is_traced_for_each():
    g = ag.function(looks_size_up, [Spec([None])])
    with pytest.warns(ag.StagingWarning, match="whether _d0 equals 2 depends on the size") as caught:
        assert [float(g(jnp.ones(size))) for size in (2, 3, 4, 5, 3)] == [2, 3, -4, -5, 3]
    assert len(caught) == 1


def test_comparisons_whose_answer_is_known_are_none_to_warn_of():
    def f(x, y):
        if x.shape == y.shape and x.shape[0] != x.shape[0] + 1 and x.shape[0] >= 1 and x.ndim == 1:
            return x + y
        return x

    g = ag.function(f, [Spec(["n"]), Spec(["n"])])
    assert g([1.0, 2.0], [1.0, 1.0]).tolist() == [2, 3]
    assert g.experimental_get_tracing_count() == 1


def test_if_on_a_size_less_one():
    f = ag.function(lambda x: x.sum() if len(x) - 1 else -x.sum(), [Spec([None])])
    assert [float(f(jnp.ones(n))) for n in (1, 2)] == [-1, 2]


def test_a_function_that_prints_is_traced_for_each_size_and_says_why(capsys):
    @ag.function(input_signature=[ag.TensorSpec([None], jnp.int32)])
    def g(x):
        print("Tracing with", x)
        return x

    with pytest.warns(ag.StagingWarning, match="for each: it prints or calls Python at run time"):
        assert g(jnp.array([1, 2])).tolist() == [1, 2]
    assert g(jnp.array([1, 2, 3])).tolist() == [1, 2, 3]
    jax.effects_barrier()
    assert capsys.readouterr().out == "Tracing with [1 2]\nTracing with [1 2 3]\n"


def test_symbolic_sizes_under_other_transforms():
    f = ag.function(by_range, [Spec([None])])
    x = jnp.arange(3.0)
    assert float(f(x)) == 5
    assert jax.grad(f)(x).tolist() == [0, 1, 2]
    assert jax.vmap(f)(jnp.stack([x, x])).tolist() == [5, 5]
    assert float(jax.jit(f)(x)) == 5
    assert float(ag.function(lambda x: f(x) + 1)(x)) == 6


# reduce_retracing.


def test_the_second_shape_opens_the_size():
    f = ag.function(by_range, reduce_retracing=True)
    for size in range(1, 6):
        assert float(f(jnp.ones(size))) == sum(range(size))
    assert f.experimental_get_tracing_count() == 2
    text = f.pretty_printed_concrete_signatures()
    assert "x: float32 Tensor, shape=(1,)" in text and "x: float32 Tensor, shape=(None,)" in text


def test_only_what_differs_is_opened():
    f = ag.function(lambda x, n: x * n + x.shape[1], experimental_relax_shapes=True)
    for rows in (1, 2, 3):
        assert f(jnp.ones((rows, 4)), 2).tolist() == [[6] * 4] * rows
    assert f.experimental_get_tracing_count() == 2
    f(jnp.ones((3, 5)), 2), f(jnp.ones((4, 6)), 2)
    assert f.experimental_get_tracing_count() == 3
    f(jnp.ones((3, 5), jnp.int32), 2)
    assert f.experimental_get_tracing_count() == 4


def test_a_function_that_cannot_be_opened_still_works():
    f = ag.function(branches_on_size, autograph=False, reduce_retracing=True)
    with pytest.warns(ag.StagingWarning, match="could not be traced once"):
        assert [float(f(jnp.ones(n))) for n in (1, 2, 4, 5)] == [-1, -2, 4, 5]


def test_without_it_each_shape_is_a_trace():
    f = ag.function(total)
    for size in (1, 2, 3):
        f(jnp.ones(size))
    assert f.experimental_get_tracing_count() == 3


def test_variables_with_symbolic_sizes():
    Variable = getattr(ag, "Variable", None)
    if Variable is None:
        pytest.skip("there are no Variables")
    v = Variable(jnp.zeros(()))

    @ag.function(input_signature=[Spec([None])])
    def add(x):
        for i in range(len(x)):
            v.assign_add(x[i])
        return v + 0.0

    assert [float(add(jnp.ones(n))) for n in (2, 3, 1)] == [2, 5, 6]
    assert add.experimental_get_tracing_count() == 1 and float(v.value) == 6
    w = Variable(jnp.ones(()))
    g = ag.function(lambda x: (x * w).sum(), reduce_retracing=True)
    assert [float(g(jnp.ones(n))) for n in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert g.experimental_get_tracing_count() == 2
