"""Graphs and profiles for TensorBoard: `ag.summary.trace_on` and `trace_export`, as TensorBoard's own reader finds them."""

from __future__ import annotations

import threading

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import boarded, hlo_in_profiles

pytest.importorskip("tensorboardX")
pytest.importorskip("tensorboard")
from tests.summary_files import graphs  # noqa: E402


@pytest.fixture
def graph(tmp_path):
    """The graph of what a function calls, by the names of its nodes."""

    def traced(run):
        with ag.summary.create_file_writer(tmp_path).as_default():
            ag.summary.trace_on()
            run()
            ag.summary.trace_export("graph", step=0)
            ag.summary.flush()
        return checked(graphs(tmp_path)["graph"])

    yield traced
    ag.summary.trace_off()


def checked(graph):
    """The nodes by their names, each of which occurs once, after the nodes that it takes values of."""
    nodes = {}
    for node in graph.node:
        assert node.name not in nodes and "//" not in node.name
        for value in node.input:
            name, _, number = value.partition(":")
            assert name in nodes and int(number or 0) < len(shapes(nodes[name])), value
        nodes[node.name] = node
    return nodes


def shapes(node):
    return [tuple(dim.size for dim in shape.dim) for shape in node.attr["_output_shapes"].list.shape]


def line(node):
    return node.attr["line"].s.decode()


def scopes(nodes):
    return {name[:k] for name in nodes for k, character in enumerate(name) if character == "/"}


def here(function, text):
    """The line of a function that holds a text, as a node says it."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    (found,) = [first + k for k, each in enumerate(lines) if text in each]
    return found


def test_loops_and_branches_are_scopes_in_each_other(graph):
    def run(x, n):
        for i in ag.range(n):
            while jnp.sum(x) > 10:
                x = x / 2
            if i % 2 == 0:
                x = jnp.sort(x) + jnp.linalg.norm(jnp.outer(x, x))
            else:
                x = x - 1
        return x

    nodes = graph(lambda: ag.function(run)(jnp.arange(4.0), jnp.array(3)))
    outer = f"for_line_{here(run, 'for i')}"
    inner = f"{outer}/body/while_line_{here(run, 'while')}"
    branch = f"{outer}/body/if_line_{here(run, 'if i')}"
    assert {outer, f"{outer}/body", f"{inner}/test", f"{inner}/body", branch, f"{branch}/if_true"} <= scopes(nodes)
    assert nodes[f"{inner}/body/div"].op == "div"
    assert line(nodes[f"{inner}/body/div"]) == f"test_summary_traces.py:{here(run, 'x / 2')}"
    assert any(name.startswith(f"{branch}/if_true/norm/") for name in nodes)
    assert nodes["result"].input[0].startswith(f"{outer}/while")


def test_a_branch_that_became_a_select_is_a_scope(graph):
    def run(x, y):
        if x > 0:
            y = y * 2
        elif x < -5:
            y = y + 1
        return y

    nodes = graph(lambda: ag.function(run)(jnp.array(1.0), jnp.array(2.0)))
    first, second = (f"line_{here(run, text)}" for text in ("if x > 0", "elif"))
    names = "\n".join(nodes)
    assert f"if_{first}/if_true/mul" in names and f"elif_{second}/if_true/add" in names
    assert f"if_{first}/" in scopes_of(nodes["result"].input[0])


def scopes_of(value):
    return value.rpartition("/")[0] + "/"


def test_variables_have_their_names_and_are_drawn_with_what_is_assigned(graph):
    weights, steps = ag.Variable(jnp.ones(3), name="layer/weights"), ag.Variable(0, name="steps")

    @ag.function
    def train(x):
        weights.assign_sub(0.1 * x)
        steps.assign_add(1)
        return jnp.sum(weights * x)

    nodes = graph(lambda: train(jnp.ones(3)))
    assert nodes["layer/weights"].op == nodes["steps"].op == "Variable" and nodes["x"].op == "Input"
    assert shapes(nodes["layer/weights"]) == [(3,)]
    assert list(nodes["layer/weights/assign"].input) == ["sub"] and list(nodes["steps/assign"].input) == ["add"]
    assert set(nodes["sub"].input) == {"layer/weights", "mul"}


def test_a_variable_in_a_loop_in_a_branch_is_followed(graph):
    total = ag.Variable(0.0, name="total")

    @ag.function
    def run(x, n):
        if x > 0:
            for _ in ag.range(n):
                total.assign_add(jnp.sin(x))
        return total + 1

    nodes = graph(lambda: run(jnp.array(1.0), jnp.array(3)))
    (carry,) = [node for node in nodes.values() if node.op == "Carry" and list(node.input) == ["total"]]
    assert carry.name.endswith("carry") or "carry_" in carry.name
    assert nodes["total/assign"].input[0].partition(":")[0].endswith("/cond")


def test_scopes_of_the_user_and_functions_that_are_called(graph):
    @ag.function
    def helper(x):
        return jnp.cos(x)

    @ag.function
    def run(x):
        with jax.named_scope("encoder"):
            with jax.named_scope("dense"):
                x = jnp.tanh(x)
        with ag.GradientTape() as tape:
            tape.watch(x)
            y = jnp.sum(jnp.exp(x))
        return helper(x), tape.gradient(y, x), jax.grad(loss)(x)

    def loss(x):
        with jax.named_scope("loss"):
            return jnp.sum(jnp.sin(x))

    nodes = graph(lambda: run(jnp.ones(2)))
    assert nodes["encoder/dense/tanh"].op == "tanh" and nodes["helper/cos"].op == "cos"
    assert {"loss/cos", "gradients/loss/mul", "gradients/mul"} <= set(nodes)
    assert list(nodes["result.0"].input) == ["helper/cos"]


def test_a_loop_in_a_scope_of_the_user_is_in_it_once(graph):
    def run(x, n):
        with jax.named_scope("outer"):
            for _ in ag.range(n):
                with jax.named_scope("inner"):
                    x = jnp.sin(x)
        return x

    nodes = graph(lambda: ag.function(run)(jnp.ones(2), jnp.array(3)))
    (sine,) = [name for name, node in nodes.items() if node.op == "sin"]
    assert sine == f"outer/for_line_{here(run, 'for _')}/body/inner/sin"


def test_several_functions_each_have_a_scope(graph):
    @ag.function
    def train(x):
        return x + 1

    @ag.function
    def evaluate(x):
        return x * 2

    def run():
        train(jnp.ones(2)), evaluate(jnp.ones(2)), train(jnp.ones(3)), train(jnp.ones(2))

    nodes = graph(run)
    assert {"train/add", "evaluate/mul", "train_2/add"} <= set(nodes)
    assert list(nodes["train_2/add"].input) == ["train_2/x"] and shapes(nodes["train_2/x"]) == [(3,)]


def test_functions_that_have_run_before_are_collected_and_others_are_not(graph):
    @ag.function
    def before(x):
        return x + 1

    @ag.function
    def idle(x):
        return x * 2

    for _ in range(3):
        before(jnp.ones(2)), idle(jnp.ones(2))  # by now a call goes the shortest way
    traces = before.experimental_get_tracing_count()
    nodes = graph(lambda: before(jnp.ones(2)))
    assert "add" in nodes and not any("mul" in name for name in nodes)
    assert before.experimental_get_tracing_count() == traces
    assert before(jnp.ones(2)).tolist() == [2.0, 2.0]


def test_other_threads_are_seen_and_calls_after_the_export_are_not(graph, tmp_path):
    f, g = ag.function(lambda x: jnp.sin(x)), ag.function(lambda x: jnp.cos(x))

    def run():
        thread = threading.Thread(target=f, args=(jnp.ones(2),))
        thread.start()
        thread.join()

    assert "sin" in graph(run)
    g(jnp.ones(2))
    assert "cos" not in checked(graphs(tmp_path)["graph"])


class Model(ag.Module):
    def __init__(self):
        self.scale = ag.Variable(2.0, name="scale")

    @ag.function(input_signature=[ag.TensorSpec([None], name="batch")])
    def symbolic_size(self, x):
        return x * self.scale

    @ag.function(jit_compile=False)
    def op_by_op(self, x):
        if jnp.sum(x) > 0:
            raise ValueError("positive")
        return {"out": x * self.scale, "both": (x, 1)}


@jax.custom_vjp
def doubled(x):
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))


@ag.function
def many_kinds(x, pair, n):
    """Scans, switches, derivatives of loops, callbacks, constants, random numbers."""
    table = jnp.asarray([1.0, 4.0, 9.0])
    _, rows = jax.lax.scan(lambda c, r: (c + r, c * r), 0.0, x)
    chosen = jax.lax.switch(n, [jnp.sin, jnp.cos, jnp.tan], x)

    def loss(y):
        for _ in ag.range(n):
            y = y * jnp.sum(table)
        return jnp.sum(doubled(y))

    slope = jax.grad(loss)(x)
    mapped = jax.vmap(loss)(jnp.stack([x, x]))
    ag.print("n is", n)
    noise = ag.random.normal((3,))
    checked = jax.checkpoint(lambda z: jnp.exp(z))(pair["a"])
    total = []
    for row in x:
        if row > 0:
            total.append(row)
    return rows + chosen, slope, mapped, noise, checked, len(total), pair["b"]


def test_programs_of_every_kind(graph, capfd):
    x, model = jnp.array([-1.0, -2.0, 3.0]), Model()

    def run():
        many_kinds(x, {"a": jnp.ones(2), "b": 7}, jnp.array(1))
        model.symbolic_size(jnp.ones(3)), model.symbolic_size(jnp.ones(4))
        model.op_by_op(-jnp.ones(2))
        model.op_by_op.get_concrete_function(jnp.ones(5))(-jnp.ones(5))
        with pytest.raises(ValueError, match="positive"):
            model.op_by_op(jnp.ones(2))

    nodes = graph(run)
    assert {"many_kinds", "symbolic_size", "op_by_op", "op_by_op_2"} <= {name.partition("/")[0] for name in nodes}
    assert {"scan", "cond", "exp", "while"} <= {node.op for node in nodes.values()}
    assert nodes["op_by_op/scale"].op == "Variable" and "op_by_op/exception" in nodes
    assert nodes["op_by_op/result.out"].op == "Result" and shapes(nodes["op_by_op_2/x"]) == [(5,)]
    assert nodes["many_kinds/pair.a"].op == "Input"
    assert shapes(nodes["symbolic_size/x"]) in ([(-1,)], [(3,)])


def test_loops_of_datasets_and_functions_that_give_their_arguments_away(graph):
    data = ag.Dataset.from_tensor_slices((jnp.arange(6.0), jnp.arange(6))).batch(2)

    @ag.function(donate_argnums=0)
    def run(start):
        for x, y in data:
            start = start + jnp.sum(x * y)
        return start

    nodes = graph(lambda: run(jnp.zeros(())))
    assert any(scope.startswith("for_line_") for scope in scopes(nodes))
    assert all(node.op != "Variable" for node in nodes.values())


def test_names_that_no_graph_may_have(graph):
    odd = ag.Variable(1.0, name="/my weights: {0}//x ^é")
    same = ag.Variable(1.0, name="x")

    @ag.function
    def run(x):
        with jax.named_scope("a b/(c)"):
            return x + odd + same

    nodes = graph(lambda: run(jnp.array(1.0)))
    assert all(set(name) <= set(SAFE) for name in nodes)
    assert {"x", "x_1"} <= set(nodes) and "my_weights_0/x" in nodes


SAFE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/"


def test_a_folder_in_the_place_of_a_writer(tmp_path):
    ag.summary.trace_on()
    ag.function(lambda x: x + 1)(jnp.ones(2))
    with pytest.raises(ValueError, match="No step is set"):
        ag.summary.trace_export("graph", logdir=tmp_path)
    ag.summary.trace_export("graph", 3, tmp_path)
    assert "add" in checked(graphs(tmp_path)["graph"])


def test_without_a_writer_nothing_is_written():
    ag.summary.trace_on()
    ag.function(lambda x: x + 1)(jnp.ones(2))
    ag.summary.trace_export("graph", step=0)
    with pytest.raises(ValueError, match="trace_on"):
        ag.summary.trace_export("graph", step=0)


def test_what_is_not_meant_is_said(tmp_path):
    with pytest.raises(ValueError, match="neither|both"):
        ag.summary.trace_on(graph=False)
    with pytest.raises(ValueError, match="no trace"):
        ag.summary.trace_export("graph", step=0)
    ag.summary.trace_off()
    ag.summary.trace_on()
    with pytest.warns(ag.StagingWarning, match="is already active"):
        ag.summary.trace_on()
    with pytest.raises(TypeError, match="step"):
        ag.summary.trace_export("graph", step="first")
    with pytest.warns(ag.StagingWarning, match="No autograph.function was called"):
        ag.summary.trace_export("graph", 0, tmp_path)
    assert not list(tmp_path.iterdir())
    writer = ag.summary.create_file_writer(tmp_path)
    ag.summary.trace_on()
    with pytest.raises(RuntimeError, match="closed"), writer.as_default():
        ag.function(lambda x: x + 1)(jnp.ones(2))
        writer.close()
        ag.summary.trace_export("graph", step=0)
    ag.summary.trace_off()


@pytest.mark.parametrize("call", [ag.summary.trace_on, ag.summary.trace_off, lambda: ag.summary.trace_export("x", 0)])
def test_inside_a_function_it_is_refused_with_the_line(call):
    @ag.function
    def run(x):
        call()
        return x

    with pytest.raises(ag.StagingError, match=r"test_summary_traces\.py:\d+[\s\S]*around the function"):
        run(jnp.ones(2))


def test_the_profile_names_the_lines_of_the_user(tmp_path):
    boarded.train_and_export(tmp_path)
    (profile,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    names = {
        event.name
        for plane in jax.profiler.ProfileData.from_file(str(profile)).planes
        for each in plane.lines
        for event in each.events
    }
    assert any(name.startswith("$boarded.py:") and name.endswith(" fit_line") for name in names)
    assert b"fit_line.<locals>.loop_body" in profile.read_bytes(), (
        "the compiled program's operations have their functions"
    )
    assert "line/weights" in checked(graphs(tmp_path)["train"])
    # The operations of the compiled program, those that ran and were timed among them, have the user's lines.
    lines = hlo_in_profiles.lines_of_operations(profile.read_bytes(), "jit_fit_line")
    assert {file for file, _ in lines.values()} == {boarded.__file__}
    assert names & lines.keys(), "none of the operations in the program was timed"
    timed = {line for name, (_, line) in lines.items() if name in names}
    for text in ("for step in ag.range", "error = rows @ weights", "loss = jnp.mean", "weights.assign_sub("):
        assert boarded.line(text) in timed, text
    assert boarded.line("rate = rate / 2") in {line for _, line in lines.values()}


def test_a_profile_alone(tmp_path):
    ag.summary.trace_on(graph=False, profiler=True, profiler_outdir=tmp_path)
    with pytest.warns(ag.StagingWarning, match="is already active"):
        ag.summary.trace_on(profiler=True)
    ag.function(lambda x: x + 1)(jnp.ones(2))
    ag.summary.trace_export("profile", step=0)
    assert list(tmp_path.glob("plugins/profile/*/*.xplane.pb")) and not list(tmp_path.glob("*tfevents*"))
    ag.summary.trace_on(profiler=True)
    with pytest.raises(ValueError, match="no directory for the profile"):
        ag.summary.trace_export("profile", step=0)
    ag.summary.trace_off()
    jax.profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="rofile"):
        ag.summary.trace_on(profiler=True)
    jax.profiler.stop_trace()
    ag.summary.trace_off()
