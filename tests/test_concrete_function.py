"""`ConcreteFunction` and `Graph`."""

from __future__ import annotations

import html.parser
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag

Spec = ag.TensorSpec


def power(x, n=2, *, scale=1):
    if x.sum() > 0:
        return x**n * scale
    return x


def test_the_same_object_for_the_same_signature():
    f = ag.function(power)
    x = jnp.ones(3)
    cf = f.get_concrete_function(x)
    assert cf is f.get_concrete_function(jnp.zeros(3)) is f.get_concrete_function(x, 2, scale=1)
    assert cf is f.get_concrete_function(Spec([3])) is f.get_concrete_function(jax.ShapeDtypeStruct((3,), jnp.float32))
    assert cf is f.get_concrete_function(x=np.ones(3, np.float32))
    assert f.experimental_get_tracing_count() == 1
    assert f(x).tolist() == [1, 1, 1] and f.experimental_get_tracing_count() == 1
    others = [
        f.get_concrete_function(*a)
        for a in [(x, 3), (x, 2.0), (jnp.ones(4),), (jnp.ones(3, jnp.int32),), (Spec([None]),)]
    ]
    assert len({id(c) for c in [cf, *others]}) == 6


def test_the_call_made_it():
    f = ag.function(power)
    f(jnp.ones(3))
    f.get_concrete_function(jnp.ones(3))
    assert f.experimental_get_tracing_count() == 1 and len(f._concrete) == 1


def test_called_by_position_and_by_name():
    cf = ag.function(power).get_concrete_function(jnp.ones(3), 3, scale=2)
    x = jnp.array([1.0, 2.0, 3.0])
    want = [2, 16, 54]
    calls = [
        cf(x),
        cf(x, 3),
        cf(x=x),
        cf(x, n=3),
        cf(x, scale=2),
        cf(n=3, x=x, scale=2),
        cf([1.0, 2.0, 3.0]),
        cf(np.array([1, 2, 3])),
    ]
    assert [c.tolist() for c in calls] == [want] * len(calls)


@pytest.mark.parametrize(
    "args,kwargs,text",
    [
        ((jnp.ones(3, jnp.int32),), {}, "input #0 (zero-based), `x`, expected float32, got int32"),
        ((jnp.ones(4),), {}, "input #0 (zero-based), `x`, expected float32[3], got float32[4]"),
        ((jnp.ones((3, 1)),), {}, "input #0 (zero-based), `x`, expected float32[3], got float32[3,1]"),
        ((), {}, "input #0 (zero-based), `x`, is missing"),
        (("a",), {}, "input #0 (zero-based), `x`, "),
        ((jnp.ones(3), 5), {}, "traced for n=3"),
        ((jnp.ones(3),), {"n": 5}, "traced for n=3"),
        ((jnp.ones(3),), {"n": 3.0}, "traced for n=3"),
        ((jnp.ones(3),), {"other": 5}, "no argument `other`"),
        ((jnp.ones(3),), {"x": jnp.ones(3)}, "two values for the argument `x`"),
        ((jnp.ones(3), 3, 1, 1), {}, "takes 3 arguments; got 4"),
    ],
)
def test_what_does_not_fit_names_the_input(args, kwargs, text):
    cf = ag.function(power).get_concrete_function(jnp.ones(3), 3)
    with pytest.raises(ag.InvalidArgumentError, match=re.escape(text)) as caught:
        cf(*args, **kwargs)
    assert isinstance(caught.value, TypeError)


def test_array_arguments_alone_will_do():
    cf = ag.function(lambda n, x, m, y: x * n + y * m).get_concrete_function(2, jnp.ones(()), 3, jnp.ones(()))
    one = jnp.array(1.0)
    assert float(cf(one, one)) == float(cf(2, one, 3, one)) == float(cf(one, y=one)) == 5


def test_each_of_the_keywords_that_a_function_takes_is_an_argument():
    @ag.function
    def total(*xs, scale=1, **named):
        return sum(xs) * scale + sum(value * len(name) for name, value in named.items())

    arrays = jnp.array(1), jnp.array(2)
    concrete = total.get_concrete_function(*arrays, scale=jnp.array(3), a=jnp.array(4), bb={"c": jnp.array(5)}["c"])
    assert concrete(*arrays, scale=jnp.array(2), a=jnp.array(1), bb=jnp.array(7)) == 6 + 1 + 14
    assert "a: int32 Tensor" in concrete.pretty_printed_signature()
    static = total.get_concrete_function(jnp.array(1), a=2)
    assert static(jnp.array(5)) == static(jnp.array(5), a=2) == 7
    with pytest.raises(ag.InvalidArgumentError, match="no argument `c`; it has xs"):
        concrete(*arrays, scale=jnp.array(2), a=jnp.array(1), bb=jnp.array(7), c=1)
    with pytest.raises(ag.InvalidArgumentError, match="is missing"):
        concrete(*arrays, scale=jnp.array(2), a=jnp.array(1))


def test_nested_inputs():
    f = ag.function(lambda tree, k: tree["a"][0] * k + tree["b"])
    cf = f.get_concrete_function({"a": [Spec([2]), 5], "b": Spec([2])}, 3)
    x = jnp.ones(2)
    assert cf({"a": [x, 5], "b": x}).tolist() == [4, 4]
    with pytest.raises(
        ag.InvalidArgumentError, match=re.escape("input #1 (zero-based), `tree['b']`, expected float32[2]")
    ):
        cf({"a": [x, 5], "b": jnp.ones(3)})
    with pytest.raises(ag.InvalidArgumentError, match="structured like"):
        cf({"a": [x], "b": x})
    with pytest.raises(ag.InvalidArgumentError, match="made for 5"):
        cf({"a": [x, 6], "b": x})
    assert cf.structured_input_signature == (
        ({"a": [Spec([2], name="tree['a'][0]"), 5], "b": Spec([2], name="tree['b']")}, 3),
        {},
    )


def test_symbolic_sizes():
    f = ag.function(lambda x, y: x + y)
    cf = f.get_concrete_function(Spec(["n"]), Spec(["n"]))
    for size in (1, 2, 3):
        assert cf(jnp.ones(size), jnp.ones(size)).tolist() == [2] * size
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(ag.InvalidArgumentError, match=r"`y`.*where n is 2"):
        cf(jnp.ones(2), jnp.ones(3))
    assert cf.structured_outputs == Spec(["n"])
    assert "n" in str(cf.graph.jaxpr) and "stablehlo" in cf.graph.as_text("stablehlo")
    with pytest.raises(ValueError, match="symbolic dimensions"):
        cf.graph.as_text("optimized_hlo")


def test_structured_signatures():
    cf = ag.function(power).get_concrete_function(jnp.ones(3), scale=4)
    assert cf.structured_input_signature == ((Spec([3], name="x"), 2), {"scale": 4})
    assert cf.structured_outputs == Spec([3])
    g = ag.function(lambda x: {"a": x, "b": (x.sum(), "text", None, 3)})
    assert g.get_concrete_function(jnp.ones(3)).structured_outputs == {
        "a": Spec([3]),
        "b": (Spec([]), "text", None, Spec([], jnp.int32)),
    }
    assert cf.name == "power" and cf.variables == [] and cf.trainable_variables == []
    assert repr(cf) == "<ConcreteFunction power(x, n=2, scale=4)>"


def test_pretty_printing():
    cf = ag.function(power).get_concrete_function(jnp.ones((3, 2)), 3)
    assert cf.pretty_printed_signature() == (
        "power(x, n=3, scale=1)\n  Args:\n    x: float32 Tensor, shape=(3, 2)\n"
        "  Returns:\n    float32 Tensor, shape=(3, 2)"
    )

    def f(pair, flag):
        return {"sum": pair[0] + pair[1]["b"]}, None

    nested = ag.function(f).get_concrete_function((jnp.ones(2), {"b": jnp.ones(())}), True)
    assert nested.pretty_printed_signature() == "\n".join(
        [
            "f(pair, flag=True)",
            "  Args:",
            "    pair: (<1>, {'b': <2>})",
            "      <1>: float32 Tensor, shape=(2,)",
            "      <2>: float32 Tensor, shape=()",
            "  Returns:",
            "    ({'sum': <1>}, None)",
            "      <1>: float32 Tensor, shape=(2,)",
        ]
    )
    assert (
        ag.function(lambda: None).get_concrete_function().pretty_printed_signature()
        == "<lambda>()\n  Returns:\n    None"
    )


def test_failing_traces_leave_none():
    f = ag.function(lambda x: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        f.get_concrete_function(jnp.ones(2))
    assert f.pretty_printed_concrete_signatures() == ""


def test_methods_have_their_own():
    class Model:
        @ag.function
        def f(self, x):
            return x

    a, b = Model(), Model()
    assert a.f.get_concrete_function(jnp.ones(2)) is a.f.get_concrete_function(jnp.ones(2))
    assert a.f.get_concrete_function(jnp.ones(2)) is not b.f.get_concrete_function(jnp.ones(2))
    assert a.f.get_concrete_function(jnp.ones(2))(x=jnp.ones(2)).tolist() == [1, 1]


# Graph.


def loop(x):
    n = 0
    while x > 1:
        x = x / 2
        n += 1
    return n, x


@pytest.fixture(scope="module")
def graph():
    return ag.function(loop).get_concrete_function(jnp.array(40.0)).graph


def test_the_texts_of_every_stage(graph):
    assert isinstance(graph, ag.Graph)
    signs = {
        "jaxpr": "while",
        "stablehlo": "stablehlo.while",
        "hlo": "HloModule",
        "optimized_hlo": "HloModule",
        "optimized_hlo_dot": "digraph",
    }
    for stage, sign in signs.items():
        assert sign in graph.as_text(stage)
    assert graph.as_text() == graph.as_text("jaxpr")
    with pytest.raises(ValueError, match="jaxpr, choices, stablehlo"):
        graph.as_text("nonsense")
    ir = ag.function(loop).experimental_get_compiler_ir(jnp.array(40.0))
    assert "HloModule" in ir() and "while" in ir(stage="jaxpr") and "digraph" in ir("optimized_hlo_dot")


def test_operations_have_the_users_lines(graph):
    names = [o.name for o in graph.operations]
    assert "div" in names
    lines = {o.name: o.location for o in graph.operations}
    first = loop.__code__.co_firstlineno
    assert re.search(rf"test_concrete_function\.py:{first + 3}\b", lines["div"])
    assert not any(
        "/runtime/" in o.location or "/backends/" in o.location for o in graph.operations if "test_" in o.location
    )


def test_drawings(graph):
    for text in (graph.to_dot(), graph.as_text("optimized_hlo_dot")):
        assert text.startswith("digraph") and text.count("{") == text.count("}") and "->" in text
    assert "cluster" in graph.to_dot() and "div" in graph.to_dot()


def test_html(graph):
    seen = []

    class Reader(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs):
            seen.append(tag)

    Reader().feed(graph.to_html())
    assert {"table", "pre", "tr"} <= set(seen)
    assert html.escape(graph.to_html()) in graph._repr_html_()


def test_costs(graph):
    matrix = ag.function(lambda a, b: a @ b).get_concrete_function(jnp.ones((8, 8)), jnp.ones((8, 8))).graph
    assert matrix.cost_analysis()["flops"] >= 2 * 8**3 - 100
    assert matrix.memory_analysis().argument_size_in_bytes == 2 * 8 * 8 * 4
    assert isinstance(graph.cost_analysis(), dict)


def test_lower():
    f = ag.function(power)
    lowered = f.lower(jnp.ones(3), 3)
    assert lowered.compile()(jnp.ones(3)).tolist() == [1, 1, 1]
    assert "stablehlo" in f.lower(Spec([3])).as_text()
