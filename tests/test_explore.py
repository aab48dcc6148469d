"""What a page of a program is made from, and the command that writes one; `test_explore_browser.py` looks at pages."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from autograph._listing import lines_with_origins
from autograph.backends.described import Role
from autograph.runtime.explorer.lines import COND, LOWERED, SELECT, boxes_of, facts_by_line, statements_of
from autograph.runtime.tracing.statements import Remark, StagedBranch, StagedLoop
from autograph.tools.cli import main
from tests import explored

COUNTS = jnp.array([3, 1, 4, 1], dtype=jnp.int32)


class Looked:
    """What is known of a function's program, by the text of the lines."""

    def __init__(self, function, *args):
        graph = (function if isinstance(function, ag.Function) else ag.function(function)).get_concrete_function(*args)
        self.graph = graph.graph
        self.program = self.graph._inspection.description()
        self.records = list(self.graph._view.records())
        self.facts = facts_by_line(self.program, self.records)
        self.listings = self.graph._view.listings(self.facts)
        self.source = {
            (listing.file, listing.first + k): line.strip()
            for listing in self.listings
            for k, line in enumerate(listing.source)
        }

    def at(self, text):
        """What is known of the line that begins so."""
        (found,) = [line for line, source in self.source.items() if source.startswith(text)]
        return self.facts[found]

    def loop(self, text):
        ((record, _),) = self.at(text).loops
        return record

    def why(self, text, name):
        (found,) = [each for each in self.loop(text).carried if each.name == name]
        return " ".join(found.reasons)

    def forms(self, text):
        return [form for _, form in self.at(text).branches]

    def boxes(self):
        return boxes_of(self.program, self.facts, statements_of(self.listings))


def kinds(boxes):
    """The kinds of boxes, nested."""
    return [(box.kind, *(inner for _, group in box.groups for inner in kinds(group))) for box in boxes]


def test_a_loop_says_what_it_carries_and_why():
    looked = Looked(explored.smallest, COUNTS)
    loop = looked.loop("for value")
    assert {each.name for each in loop.carried} == {"best", "changes", "seen", "ValueError"}
    assert "It is None before the loop." in looked.why("for value", "best")
    assert "the next iteration reads it" in looked.why("for value", "best")
    assert looked.why("for value", "changes") == "The body binds it, and the next iteration reads it."
    assert "Variable" in looked.why("for value", "seen")
    assert "explored.py" in looked.why("for value", "ValueError")
    assert loop.trips == "4 iterations"


def test_what_widens_says_so_and_what_only_comes_out():
    def widening(n):
        total, last = 0, 0.0
        for i in ag.range(n):
            total = total + 0.5
            last = i * 2.0
        return total, last

    looked = Looked(widening, jnp.array(3))
    assert "int32[] before the loop; float32[]" in looked.why("for i", "total")
    assert "read after the loop" in looked.why("for i", "last")
    assert "next iteration" not in looked.why("for i", "last")


def test_what_a_callee_writes_and_what_is_only_read():
    class Counter:
        def __init__(self):
            self.count = 0

        def add(self):
            self.count = self.count + 1

    def counting(x, limit):
        counter = Counter()
        while x < limit:
            x = x * 2
            counter.add()
        return x, counter.count

    looked = Looked(counting, jnp.array(1.0), jnp.array(9.0))
    assert "or what it calls" in looked.why("while x", "Counter.count")
    assert "limit" not in {each.name for each in looked.loop("while x").carried}


def test_branches_say_whether_they_are_conditionals_or_selects():
    looked = Looked(explored.newton, jnp.arange(1.0, 5))
    assert looked.forms("if jnp.any") == [COND]
    assert set(looked.forms("if count")) <= {SELECT, LOWERED} and looked.forms("if count")

    def by_products(x):
        if x > 0:
            y = x * 3.0
        else:
            y = 1 / x
        return y

    assert Looked(by_products, jnp.array(2.0)).forms("if x") == [LOWERED]
    equation = jax.make_jaxpr(ag.convert(by_products))(2.0).jaxpr.eqns[-1]
    assert equation.primitive.name == "cond"
    text = ag.function(by_products).get_concrete_function(jnp.array(2.0)).graph.as_text("stablehlo")
    assert "stablehlo.select" in text and "stablehlo.case" not in text


def test_boxes_are_nested_as_the_statements_are():
    looked = Looked(explored.newton, jnp.arange(1.0, 5))
    assert kinds(looked.boxes()) == [("loop", ("cond", ("select",)))]
    (loop,) = looked.boxes()
    assert loop.keyword == "while"

    def chosen_in_the_test(x, limit):
        while (x if x > limit else x / 2) > 1.0:
            x = x - 1.0
        return x

    (loop,) = Looked(chosen_in_the_test, jnp.array(9.0), jnp.array(3.0)).boxes()
    assert kinds([loop]) == [("loop", ("select",))]
    assert loop.groups[0][1][0].detail == "in an expression of this line", "the choice in the test"

    def selects(x):
        for v in x:
            if v > 2:
                x = x + 1
            else:
                if v > 1:
                    x = x - 1
        return x

    assert kinds(Looked(selects, jnp.arange(4.0)).boxes()) == [("loop", ("select", ("select",)))]


def test_equal_boxes_in_a_row_are_one():
    def repeated(x):
        for _ in [1, 2, 3]:
            while x.sum() < 100:
                x = x * 2
            x = x / 50
        return x

    (box,) = Looked(repeated, jnp.ones(3)).boxes()
    assert (box.kind, box.count) == ("loop", 3)


def test_helpers_and_functions_that_are_called_are_shown():
    @ag.function
    def halve(x):
        while x > 1:
            x = x / 2
        return x

    def helper(x):
        for i in ag.range(5):
            x = x + i
        return x

    def caller(x):
        return halve(helper(x))

    looked = Looked(caller, jnp.array(2.0))
    assert [each.name.rpartition(".")[2] for each in looked.listings][0] == "caller"
    assert {each.name.rpartition(".")[2] for each in looked.listings} == {"caller", "helper", "halve"}
    assert looked.loop("while x").carried and looked.loop("for i").trips == "5 iterations"


def test_a_function_that_calls_itself_says_how():
    looked = Looked(explored.collatz, jnp.int32(6))
    (remark,) = looked.at("def collatz").remarks
    assert "collatz calls itself" in remark and "one staged loop" in remark and "1,000 calls under way" in remark
    (loop,) = looked.boxes()
    assert (loop.kind, loop.line, loop.detail) == ("loop", None, "the calls of collatz")
    assert looked.forms("if n == 1") and looked.forms("if n % 2")


def test_a_handler_and_what_may_raise_in_it():
    looked = Looked(explored.root_or_zero, jnp.float32(2))
    assert [listing.name for listing in looked.listings] == ["root_or_zero", "root"]
    assert all(listing.converted for listing in looked.listings)
    assert looked.forms("try") == [SELECT]
    assert {box.detail for box in looked.boxes() if looked.source[box.line] == "try:"} == {""}


def test_one_line_traced_for_two_types_says_which_is_which():
    def doubled(x):
        while x < 10:
            x = x * 2
        return x

    def both(a, b):
        return doubled(a), doubled(b)

    looked = Looked(both, jnp.array(1.0), jnp.array(1))
    types = {
        str(each.types[0].strong()): loops for record, loops in looked.at("while x").loops for each in record.carried
    }
    assert set(types) == {"float32[]", "int32[]"}
    assert [loop.types for loop in types["int32[]"]] == [("int32[]",)]


def test_lines_of_loops_are_kept_where_state_is_carried_through_them():
    looked = Looked(explored.smallest, COUNTS)
    unknown = [each for each in looked.graph.operations if not each.location]
    assert len(unknown) < len(looked.graph.operations) / 4
    assert all(each.location for each in looked.graph.operations if each.name in ("while", "scan", "cond"))


def test_costs_count_iterations_and_products():
    def products(a, b):
        for _ in range(10):
            a = a @ b
        return a

    looked = Looked(products, jnp.ones((4, 4)), jnp.ones((4, 4)))
    facts = looked.at("a = a @ b")
    assert facts.flops == 10 * 2 * 4**3 and facts.bytes == 10 * 3 * 64 and not facts.per_iteration

    def open_ended(a):
        while a.sum() < 100:
            a = a * 2
        return a

    facts = Looked(open_ended, jnp.ones(8)).at("a = a * 2")
    assert facts.per_iteration and facts.flops == 8 and facts.results == 32


def test_remarks_of_loops_that_python_ran():
    def listed(x):
        for k in [1, 2, 3]:
            x = x + k
        return x

    looked = Looked(listed, jnp.array(1.0))
    assert any("holds its body 3 times" in remark for remark in looked.at("for k").remarks)


def test_records_are_made_once_however_often_a_program_is_recorded_and_hold_no_tracer():
    function = ag.function(explored.smallest)
    function(COUNTS)
    records = list(function.get_concrete_function(COUNTS).graph._view.records())
    assert len(records) == len(set(records)) and {type(each) for each in records} >= {StagedLoop, StagedBranch}
    assert not any(isinstance(leaf, jax.core.Tracer) for record in records for leaf in jax.tree.leaves(vars(record)))
    assert all(isinstance(each, StagedLoop | StagedBranch | Remark) for each in records)


def test_differentiated_loops_are_loops():
    def powers(w):
        s = w
        while s < 100:
            s = s * w
        return s

    looked = Looked(lambda w: jax.grad(powers)(w), jnp.array(3.0))
    assert {box.kind for box in looked.boxes()} == {"loop"}
    assert any("backward" in box.detail for box in looked.boxes())
    assert looked.loop("while s").carried


def test_mapped_loops_say_what_they_carry():
    def until(n):
        k = 0
        while k < n:
            k = k + 2
        return k

    looked = Looked(lambda v: jax.vmap(until)(v), jnp.arange(3))
    assert [each.name for each in looked.loop("while k").carried] == ["k"]


def test_lists_that_grow_and_arrays_of_tensors_are_neither_unbound_nor_none():
    def grown(xs):
        out = []
        ta = ag.TensorArray(jnp.float32, size=4)
        for i in ag.range(4):
            if xs[i] > 1:
                out.append(xs[i])
            ta = ta.write(i, xs[i])
            new = xs[i]
        return out, ta.stack(), new

    looked = Looked(grown, jnp.arange(4.0))
    for name in ("out", "ta"):
        assert "before the loop" not in looked.why("for i", name)
    assert "It is unbound before the loop." in looked.why("for i", "new")
    assert len(looked.at("if xs").branches) == 1
    assert kinds(looked.boxes()) == [("loop", ("select",))]


def test_a_conditional_that_comes_to_nothing_is_none():
    def idle(x):
        if x > 0:
            pass
        return x

    assert Looked(idle, jnp.array(1.0)).at("if x").branches == []


def test_names_that_the_converter_made_are_said_to_be():
    def jumping(n):
        k = 0
        while True:
            k += 1
            if k > n:
                return k

    looked = Looked(jumping, jnp.array(3))
    names = {each.name for each in looked.loop("while True").carried}
    page = looked.graph.to_html()
    assert names > {"k"} and page.count("The converter made it") == len(names - {"k"})


def test_roles_of_operations():
    program = Looked(explored.newton, jnp.arange(1.0, 5)).program
    assert Role.LOOP in {operation.role for operation in program.operations}


class Reader(html.parser.HTMLParser):
    """Tags, keys and text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.keys, self.text = [], set(), []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.keys |= {value for name, value in attrs if name == "data-k"}
        assert not [name for name, _ in attrs if name.startswith("on")], "no handlers in tags"
        assert not [value for name, value in attrs if name in ("src", "href") and value != "data:,"]

    def handle_data(self, data):
        self.text.append(data)


def test_a_page_loads_nothing_and_escapes_all():
    page = ag.function(explored.nasty).get_concrete_function(jnp.array(1.0)).graph.to_html()
    reader = Reader(page)
    assert reader.tags.count("script") == 1 and "img" not in reader.tags and "i" not in reader.tags
    assert "http" not in re.sub(r"http-equiv", "", page.partition("<body>")[0])
    assert "<img src=x onerror=" in "".join(reader.text)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (ag.function(lambda x: x + 1, jit_compile=False), [1.0]),
        (ag.function(lambda x: x + 1, autograph=False), [1.0]),
        (ag.function(lambda x: x.sum(), input_signature=[ag.TensorSpec([None])]), []),
        (ag.function(lambda: 3), []),
        (ag.function(lambda x: jax.vmap(lambda v: v if v > 0 else -v)(x)), [[1.0, -1.0]]),
    ],
    ids=["op by op", "unconverted", "symbolic dimensions", "constant", "mapped"],
)
def test_pages_of_all_kinds_of_functions(function, args):
    page = function.get_concrete_function(*map(jnp.asarray, args)).graph.to_html()
    assert "panel-jaxpr" in page and Reader(page).tags.count("main") == 1


def test_a_function_without_source_has_a_page():
    space = {}
    exec("def made(x):\n    return x * 2", space)
    page = ag.function(space["made"], autograph=False).get_concrete_function(jnp.array(1.0)).graph.to_html()
    assert "There is no source to show" in page or "mul" in page


def test_retraces_are_on_the_page():
    function = ag.function(lambda x, n: x * n)
    function(jnp.ones(2), 1)
    function(jnp.ones(2), 2)
    page = function.get_concrete_function(jnp.ones(2), 2).graph.to_html()
    assert "argument 2 `n`" in page and "jnp.asarray(n)" in page


def test_rewritten_lines_know_where_they_come_from():
    def some(x):
        # a comment
        while x > 1:
            x = (x /
                 2)  # fmt: skip
        return x

    (listing,) = Looked(some, jnp.array(3.0)).listings
    first = some.__code__.co_firstlineno
    origins = {text.strip(): line for text, line in listing.converted}
    assert origins["x = x / 2"] == first + 3 and origins["return x"] == first + 5
    assert origins["return x > 1"] == first + 2
    tree = __import__("ast").parse("try:\n  a\nexcept E:\n\n  b")
    assert [line for _, line in lines_with_origins(tree)] == [1, 2, 3, 5]


def test_a_thousand_statements():
    lines = ["def big(x):", "    s = x"]
    for k in range(250):
        lines += [f"    if s > {k}:", f"        s = s * {1 + k / 1000}", "    else:", f"        s = s - {k}.0"]
    space = {}
    source = "\n".join([*lines, "    return s"])
    import linecache

    linecache.cache["<big>"] = (len(source), None, source.splitlines(keepends=True), "<big>")
    exec(compile(source, "<big>", "exec"), space)
    graph = ag.function(space["big"]).get_concrete_function(jnp.array(2.0)).graph
    graph.as_text("optimized_hlo")
    start = time.perf_counter()
    page = graph.to_html()
    assert time.perf_counter() - start < 60  # some three seconds, on a machine with nothing else to do
    assert len(page) < 3_000_000 and len(Reader(page).keys) > 500


# The command.


@pytest.fixture
def explore(tmp_path, capsys):
    """Run the command; the exit code, what it says on stderr, and the page."""

    def run(target, *args):
        page = tmp_path / "page.html"
        code = main(["explore", f"tests.explored:{target}", *args, "-o", str(page)])
        said = capsys.readouterr()
        return code, said.err if code else said.out, page.read_text() if page.exists() else None

    return run


def test_the_command_writes_a_page(explore):
    code, said, page = explore("newton", "--arg", "f32[4]")
    assert code == 0 and page.startswith("<!doctype html>") and "operations" in said and "newton" in page


def test_symbolic_sizes_on_the_command_line(explore):
    code, _, page = explore("smallest", "--arg", "i32[n]")
    assert code == 0 and "symbolic dimensions" in page


def test_facts_for_programs(tmp_path, capsys):
    main(["explore", "tests.explored:smallest", "--arg", "i32[4]", "-o", str(tmp_path / "p.html"), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["operations"] > 5 and facts["path"].endswith("p.html") and "values" in facts["signature"]


def test_a_refusal_has_a_page(explore):
    code, said, page = explore("differs", "--arg", "f32[]")
    assert code == 1 and len(said.strip().splitlines()) == 1 and "explored.py" in said and "'y'" in said
    reader = Reader(page)
    assert "refused" in page and "img" not in reader.tags and "if x &gt; 0:" in page


@pytest.mark.parametrize(
    "args",
    [
        ["--arg", "f32[4]", "--arg", "1", "--arg", "2"],
        ["--arg", "f32["],
        [],
    ],
)
def test_wrong_input_is_one_line(explore, args):
    code, said, page = explore("newton", *args)
    assert code == 2 and len(said.strip().splitlines()) == 1 and page is None


def test_a_page_that_cannot_be_written_is_one_line(tmp_path, capsys):
    for place in (tmp_path, tmp_path / "none" / "p.html"):
        assert main(["explore", "tests.explored:newton", "--arg", "f32[4]", "-o", str(place)]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_no_page_without_a_place():
    found = subprocess.run(
        [sys.executable, "-m", "autograph.tools", "explore", "tests.explored:newton"], capture_output=True, text=True
    )
    assert found.returncode == 2 and "-o/--out" in found.stderr
