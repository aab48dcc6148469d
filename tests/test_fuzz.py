"""The tool that runs generated programs: they hold every construct, and what does not agree is found and made small."""

from __future__ import annotations

import ast
import collections
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from autograph.tools.fuzz import __main__ as fuzz_command
from autograph.tools.fuzz import breakages
from autograph.tools.fuzz.breakages import BREAKAGES
from autograph.tools.fuzz.campaign import Failure, Report, constructs, modes_of, try_program, try_program_gradients
from autograph.tools.fuzz.oracle import GIVEN, load, suitable
from autograph.tools.fuzz.programs import Program, make_program
from autograph.tools.fuzz.runs import differences, run_mode
from autograph.tools.fuzz.saved import as_test
from autograph.tools.fuzz.shrink import shrink

ONE_INPUT = ((np.int32(3), np.float32(2.0)),)
LOOP = "def f(n, x):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n"


def test_a_program_is_a_function_of_its_number():
    assert make_program(7).source == make_program(7).source != make_program(8).source


def test_programs_hold_every_construct():
    counts = collections.Counter()
    for seed in range(300):
        counts += constructs(make_program(seed).source)
    wanted = {
        "If", "IfExp", "For", "While", "Break", "Continue", "Return in a loop", "BoolOp", "chained Compare",
        "NamedExpr", "AugAssign", "Subscript written", "Attribute written", "Nonlocal", "Lambda", "Raise",
        "Assert", "loop else", "nested loop", "depth 4", "Try", "Match", "With", "Delete", "Global",
        "Yield", "YieldFrom",
    }  # fmt: skip
    assert {name for name in wanted if counts[name] < 3} == set()


KINDS_OF_STATE = {
    "deque": (r"= deque\(", r"\.popleft\(\)", r"\.rotate\(", "maxlen="),
    "heapq": (r"heapq\.heappush\(", r"heapq\.heappop\(", r"heapq\.heapreplace\(", r", at\d+ = heapq"),
    "bisect": (r"bisect\.insort\(", r"bisect\.bisect_left\("),
    "Counter": (r"= Counter\(", r"\.subtract\("),
    "defaultdict": (r"defaultdict\(int",),
    "set": (r"\.add\(\w+ % 4\)", r"\.discard\("),
    "dicts at traced keys": (r"d\d+\[\w+ % 3\] \+=", r"\w+ % 3 in d\d+", r"d\d+\.get\(\w+", r"d\d+\[\w+ % 3\] = "),
    "lists in a dict at traced keys": (r"d\d+\[\w+ % 3\]\.append\(",),
    "choices between containers": (r"c\d+ = a\d+ if .* else b\d+", r"c\d+\[0\] \+=", r"a\d+\[1\] =", r"c\d+\.items\.append",
    r"e\d+ = c\d+"),
    "identity": (r"if c\d+ is a\d+", r"if c\d+ is not b\d+", r"if e\d+ is c\d+", r"is far|far\d+ is"),
    "objects four attributes deep": (r"\.following\.following\.following\.value \+=",
    r"insort\(r\d+\.following\.following\.following\.items"),
    "None and containers": (r"o\d+ is None", r"o\d+ = \[", r"o\d+ = \{", r"o\d+ = Cell\(", r"o\d+ = None"),
    "possibly undefined containers": (r"    u\d+ = \[", r"u\d+\.append\(", r"u\d+\[0\] \+="),
    "strings by path": (r'if s\d+ == "busy"', r's\d+ = "busy"', r"s\d+\.upper\(\)", r"len\(s\d+\)"),
    "enums by path": (r"if s\d+ == Mode\.BUSY", r"s\d+\.value", r"case Mode\.BUSY"),
    "None by path": (r"s\d+ = None",),
    "rows": (r"t\d+\.append\(\[", r"t\d+\.append\(\{", r"t\d+\.append\(Cell\(", r"t\d+\.append\(\(", r"t\d+\[-1\]\[0\] \+="),
    "generator expressions": (r"sum\(e for e in x\d+ if", r"max\(\(e - .* for e in", r"any\(e > ", r"sum\(e\.value for e in t\d+\)"),
    "user generators": (r"def made\d+\(", r"yield ", r"yield from"),
    "slices of lists that grow": (r"x\d+\[-\(\w+ % 3 \+ 1\):\]", r"x\d+\[1:\]", r"x\d+\[::-1\]", r"y\d+\[-2:\]", r"x\d+\[:\w+\]"),
    "negative indices of lists that grow": (r"x\d+\[-2\]", r"x\d+\[-\(\w+ % len\(x\d+\)\) - 1\]"),
    "exceptions of numbers": (r"7 // int\(", r"math\.isqrt\(", r"math\.sqrt\(", r"quotient\(9", r"divmod\(9"),
    "truth values of helpers": (r"\+= is_over\(.*\) \+ is_over\(", r"-= is_over\(.*\) - is_over\(", r"-is_over\("),
    "sets of traced elements": (r"= set\(\)", r"s\d+\.add\(", r"s\d+ = s\d+ & u\d+", r"in sorted\(s\d+", r"len\(s\d+\)"),
    "dicts with traced keys": (r"= \{\}", r"del d\d+\[", r", \[\]\)\.append", r"dict\.fromkeys\(", r"key=d\d+\.get\)", r"\.popitem\(\)"),
    "classes of dicts with traced keys": (r"\.most_common\(", r"= Counter\(\)", r"= defaultdict\(int\)", r"= defaultdict\(list\)"),
    "traced keys elsewhere": (r"= Ledger\(", r"o\d+\.note\(", r"tallied\(d\d+", r"def work\d+\(", r"= 'odd' if"),
    "long ranges": (r"for i\d+ in range\([678]\d\)", r"while i\d+ < [678]\d:", r"x\d+\.append\(\(", r"x\d+\.append\(None",
    r"\[None\] \* 80", r"len\(np\.ones\(c\d+ ", r"t\d+\[\w+ % 3\]\[\w+ % 3\]", r"r\d+ = t\d+\["),
    "names bound in comprehensions": (r"sum\(\[h\d+ := ", r"any\(\(h\d+ := ", r"\[lambda q"),
    "texts that grow": (r"t\d+ \+= '(a|bc)'", r"t\d+\.upper\(\)", r"m\d+\['n'\] \+= 'a'", r"f\"\{t\d+\}"),
    "tuples that grow": (r"p\d+ \+= \(", r"p\d+ = \(\*p\d+", r"\*r\d+ = p\d+", r"if p\d+ < q\d+"),
    "sorted rows": (r"r\d+\.sort\(", r"sorted\(r\d+, key=lambda", r"max\(r\d+\)\[0\]"),
    "copies": (r"copy\.deepcopy\(o\d+\)", r"copy\.copy\(o\d+\)", r"x\d+ = o\d+\.items\[:\]", r"= dict\(d\d+\)"),
    "dicts ordered by use": (r"\.move_to_end\(", r"popitem\(last=False\)", r"reversed\(d\d+\)"),
    "slices written": (r"x\d+\[::2\] = \[", r"del x\d+\[::2\]", r"x\d+\[:\w+ % 3\] = \["),
    "texts of exceptions": (r"str\(e\d+\)", r"e\d+\.args\[0\]", r"type\(e\d+\)\.__name__"),
    "values of several kinds": (r"weighed\(parted\(", r"if isinstance\(g\d+, list\)"),
    "dicts whose keys have no order": (r"d\d+\[Mood\.GLAD\] \+=", r"c\d+\[m\d+\] \+=", r"if d\d+ == e\d+"),
    "linked objects": (r"h\d+ = Link\(.*, h\d+\)", r"h\d+\.following = h\d+\.following\.following", r"while e\d+ is not None"),
    "steps that write": (r"sum\(step\d+\(k\) for k in range\(", r"any\(step\d+\(k\)", r"nonlocal i\d+, b\d+", r"l\d+\[k % 3\] \+= 1"),
    "operators of classes": (r"a\d+ = a\d+ \+ Money\(", r"if a\d+ < b\d+",
    r"if a\d+ in l\d+", r"= sum\(l\d+\)", r"max\(l\d+\)", r"b\d+ = -a\d+"),
    "containers of classes": (r"b\d+ \+= ", r"in b\d+\(", r"b\d+\.top = ", r"Bag\(\*", r"if b\d+ == c\d+", r"\*x\d+ = c\d+"),
    "base classes": (r"= Savings\(", r"\.deposit\(", r"isinstance\(c\d+, Savings", r"hasattr\(c\d+", r"\.move\("),
    "dataclasses": (r"dataclasses\.replace\(t\d+", r"case Mark\(", r"if m\d+ > t\d+\.best", r"if t\d+ == u\d+", r"\.take\("),
    "closures with state": (r"= counter\(", r"c\d+\(\)", r"o\d+\[k\d+\]\(", r"o\d+\['sub'\] = lambda", r"mixed\(.*\*x\d+", r"composed\("),
    "searches of lists": (r"else:\n +\w+ \+= [12]$", r"w\d+ = zip\(", r"w\d+ = enumerate\(", r"with noted_in\(",
    r"first_over\(x", r"ways\(4"),
    "generators over lists": (r"running\(x\d+\)", r"pairs_of\(x\d+\)", r"itertools\.accumulate", r"itertools\.takewhile", r"zip\(running"),
    "patterns": (r"= Disc\(.*\) if .* else Side\(", r"described\(s\d+\)", r"case \(Disc\(r\d+\), 1\)", r"scored\(\{", r"case \{'n': k\d+"),
    "parts of matrices": (r"g\d+\[.* % 2, 1:\] = ", r"g\d+\[:, \w+ % 3\] \+=", r"g\d+\[g\d+ > ", r"for h\d+, \*e\d+ in r\d+"),
    "jumps through finally": (r"drained\(x\d+", r"far_apart\(", r"bumps\(x\d+\)", r"in enumerate\(zip\(", r"sorted\(zip\(",
    r"if 0 < \(n\d+ := "),
    "rows by several names": (
    r"rows\d+\[.* % 3\], rows\d+\[", r"two\d+ = one\d+ if .* else w\d+", r"if one\d+ is two\d+", r"d\d+\['b' if .* else 'a'\]",
    r"rows\d+ = \[x\d+, y\d+, x\d+\]", r"one\d+ = either\(", r"one\d+ = g\d+\[0\]", r"w\d+ = Pair\("),
    "selected variables": (r"one\d+ = two\d+ if .* else w\d+\[1\]", r"w\d+\[.* % 3\]\.assign_add", r"one\d+ = max\(", r"least_of\(w\d+\)",
    r"o\d+\.held = one\d+", r"s\d+\.append\(one\d+\)", r"m\d+ = one\d+ if", r"if one\d+ is w\d+\[0\]", r"k\d+\.assign_add\("),
    "arrays by several names": (r"cleared\(one\d+\)", r"stamped\(m\d+\[0\]", r"r\d+ = m\d+\[1\]", r"o\d+\.held\[0\] = ",
    r"s\d+\[0\]\[1\] \+= 2"),
    "exceptions of classes": (r"e\d+\.notes\.append\(", r"raise Short\(\w+, x\d+\)", r"raise Fault\(\w+, x\d+\)", r"from e\d+",
    r"\.move\(b\d+", r"with g\d+:", r"with g\d+, contextlib", r"tried\(", r"nested\(x", r"sum\(until\(x", r"deep\(2", r"guarded\(3",
    r"e\d+ = error", r"l\d+\.append\(error\)", r"raise d\d+", r"Failed\.made \+ 0"),
    "exceptions of lists and dicts": (r"except IndexError", r"except KeyError", r"except StopIteration", r"suppress\(LookupError\)",
    r"\.remove\("),
}  # fmt: skip


@pytest.fixture(scope="module")
def many_programs():
    return [make_program(seed).source for seed in range(6000)]


@pytest.mark.parametrize("kind", KINDS_OF_STATE)
def test_programs_hold_every_kind_of_state(kind, many_programs):
    counts = {
        pattern: sum(re.search(pattern, source, re.MULTILINE) is not None for source in many_programs)
        for pattern in KINDS_OF_STATE[kind]
    }
    assert min(counts.values()) >= 3, counts


ARRAY = re.compile(r"[avw]|[vw]s\d+")


def test_no_loop_writes_to_the_array_that_it_runs_over(many_programs):
    loops = [node for source in many_programs for node in ast.walk(ast.parse(source)) if isinstance(node, ast.For)]
    for loop in loops:
        names = {each.id for each in getattr(loop.iter, "args", [loop.iter]) if isinstance(each, ast.Name)}
        iterated = set(filter(ARRAY.fullmatch, names))
        parts = [part for statement in loop.body for part in ast.walk(statement)]
        written = [part.value for part in parts if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)]
        assert iterated.isdisjoint(map(ast.unparse, written)), ast.unparse(loop)


def test_what_containers_hold_is_of_floats_where_gradients_are_compared():
    sources = [make_program(seed, smooth=True).source for seed in range(300)]
    assert sum(re.search(r"\.append\(\(i\d+ \* 0\.5\)|\.append\(r\d+\)", source) is not None for source in sources) > 20


def test_programs_with_dataclasses_and_operators_in_place_are_suitable():
    source = (
        "import dataclasses\n\n\n@dataclasses.dataclass\nclass Total:\n    value: int = 0\n\n"
        "    def __iadd__(self, other):\n        self.value += other\n        return self\n\n\n"
        "def f(n, x):\n    total = Total()\n    total += n\n    return total.value\n"
    )
    assert suitable(source, ONE_INPUT) == [0]


def test_inputs_that_grow_or_never_end_are_left_out():
    grows = "def f(n, x):\n    while n:\n        n = n * 3\n    return n\n"
    endless = "def f(n, x):\n    while True:\n        n = 1\n"
    assert suitable(grows, ONE_INPUT) == suitable(endless, ONE_INPUT) == []
    assert suitable(LOOP, ONE_INPUT) == [0]


@pytest.mark.parametrize("mode", ["eager", "eager_jax", "jit", "function", "vmap"])
def test_a_wrong_compiler_is_found_in_every_mode(mode, monkeypatch):
    """Its results are one too large."""
    convert, function = ag.convert, ag.function

    def wrong(f):
        return lambda *arguments: jnp.asarray(f(*arguments)) + 1

    assert run_mode(mode, LOOP, ONE_INPUT).kind == "same"
    monkeypatch.setattr(ag, "convert", lambda f: wrong(convert(f)))
    monkeypatch.setattr(ag, "function", lambda f, **options: function(wrong(f), **options))
    assert run_mode(mode, LOOP, ONE_INPUT).kind == "value"


def test_a_broken_operator_is_found_and_shrunk(monkeypatch):
    """A `for_stmt` that never asks whether to go on: what follows a `break` runs."""
    whole = ag.operators.for_stmt

    def without_break(iterable, body, names, test=None, result=None):
        whole(iterable, body, names, None, result)

    monkeypatch.setattr(ag.operators, "for_stmt", without_break)
    source = (
        "def f(n, x):\n    total = 0\n    x = x + 1\n    for i in range(n):\n        if i == 1:\n"
        "            break\n        total += 1\n    if x > 3:\n        x = x - 1\n    return total\n"
    )
    failure = try_program(Program(0, source, ONE_INPUT)).failure
    assert failure is not None and failure.kind == "value"
    assert len(failure.source) < len(source) and "break" in failure.source and "x > 3" not in failure.source


# The number of the first program from 20,000 on, among those that hold what it is about, to show each breakage.
SHOWN_BY = {
    "variable-not-carried": 20003,
    "branch-writes-stay": 20038,
    "prints-dropped": 20008,
    # Of the join of layouts.
    "none-is-a-value": 20027,
    "left-constant-wins": 20002,
    "left-bounds-win": 20023,
    "left-type-wins": 20168,
    "left-object-wins": 20162,
    "constants-keep-their-numbers": 20542,
}
FOUND_SOON = ("item-writes-lost",)


@pytest.fixture
def mended(monkeypatch):
    """Takes back what a breakage has done."""
    monkeypatch.setitem(ag.operators.overloads, print, ag.operators.overloads[print])
    owners = (breakages._JOIN, breakages._JOIN.Joiner, breakages._SIDES, breakages._PADDED)
    owners += (ag.operators, breakages._CONDITIONALS, breakages._BACKEND, breakages._JOURNAL)
    kept = [(owner, dict(vars(owner))) for owner in owners]
    yield
    for owner, attributes in kept:
        for name, value in list(vars(owner).items()):
            if name.startswith("__") or value is attributes.get(name):
                continue
            if name in attributes:
                setattr(owner, name, attributes[name])
            else:  # it stood in front of what is inherited
                delattr(owner, name)


@pytest.mark.parametrize("name", SHOWN_BY)
def test_a_breakage_is_found(name, mended):
    program = make_program(SHOWN_BY[name])
    assert try_program(program, 0).failure is None
    BREAKAGES[name]()
    assert try_program(program, 0).failure is not None


@pytest.mark.parametrize(
    "name",
    [
        name if name in FOUND_SOON else pytest.param(name, marks=pytest.mark.long)
        for name in BREAKAGES
        if name not in SHOWN_BY
    ],
)
def test_each_breakage_is_found_by_the_command(name, tmp_path):
    command = [sys.executable, "-m", "autograph.tools.fuzz", "--jobs", "1", "--shrink", "0", "--seed", "20000"]
    done = subprocess.run([*command, "--count", "150", "--break", name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 differences" in done.stdout


def test_an_interrupt_says_what_was_run(monkeypatch, capsys):
    def interrupted(seeds, *_):
        for seed in (seeds[1], seeds[0]):
            yield Report(seed)
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz_command, "run_campaign", interrupted)
    assert fuzz_command.main(["--count", "9", "--seed", "40"]) == 0
    assert "Ended after 2 of 9 seeds; the first that was not run is 42." in capsys.readouterr().out


def test_no_program_is_begun_when_the_time_is_up(capsys):
    assert fuzz_command.main(["--jobs", "1", "--seed", "41", "--seconds", "0"]) == 0
    assert capsys.readouterr().out.endswith("Ended after 1 of 100 seeds; the first that was not run is 42.\n")


def test_a_wrong_gradient_is_found(monkeypatch):
    wrong = jax.grad
    monkeypatch.setattr(jax, "grad", lambda f, *rest: lambda *a: tuple(2 * part for part in wrong(f, *rest)(*a)))
    source = "def f(n, x):\n    for i in range(n):\n        x = x * x\n    return x\n"
    failure = try_program_gradients(Program(0, source, ONE_INPUT)).failure
    assert failure is not None and failure.kind == "gradient"


def test_the_gradient_of_a_python_float_is_compared():
    source = "def f(n, x):\n    return float(x * x)\n"
    report = try_program_gradients(Program(0, source, ONE_INPUT))
    assert report.failure is None and report.counts["gradients"]["compared"] == 1


def test_near_a_kink_gradients_are_not_compared():
    source = "def f(n, x):\n    return abs(x - x) + (x if x > x else 2 * x if int(x * 2.0**30) % 2 else x)\n"
    report = try_program_gradients(Program(0, source, ONE_INPUT))
    assert report.counts["gradients"]["skipped"] == 1 and report.failure is None


def test_a_refusal_is_no_difference():
    source = "def f(n, x):\n    if n:\n        y = {1: x}\n    else:\n        y = [x, x]\n    return y\n"
    verdict = run_mode("jit", source, ONE_INPUT)
    assert verdict.kind == "refused" and "StagingError" in verdict.text


def test_a_list_that_outgrows_its_room_is_no_difference():
    source = (
        "def f(n, x):\n    found = []\n    more = []\n    for i in range(n):\n        for k in ag.range(5):\n"
        "            found += more\n            more.append(k)\n    return sum(found)\n"
    )
    verdict = run_mode("function", source, ONE_INPUT)
    assert verdict.kind == "same" and load(source, "lists").f(3, 2.0) > 64


def test_shrinking_keeps_what_matters():
    shrunk = shrink(LOOP, lambda source: "range(" in source, seconds=5)
    assert len(ast.parse(shrunk).body[0].body) == 1


def test_shrinking_goes_on_beside_classes_and_calls_of_builtins():
    source = (
        "class Cell:\n    def __init__(self, value):\n        self.value = value\n\n\n"
        "def f(n, x, w):\n    y = sum(w)\n    x += 1\n    return Cell(y).value\n"
    )
    shrunk = shrink(source, lambda source: "Cell(y)" in source and "sum(w)" in source, seconds=5)
    assert "x += 1" not in shrunk


def test_differences_are_of_structure_kind_and_value():
    assert not list(differences((1, np.float32(2)), (jnp.array(1), jnp.array(2.0))))
    for left, right in [(1, 1.0), (1, 2), ((1,), [1]), (np.ones(2), np.ones(3)), (True, 1)]:
        assert list(differences(left, right))


def test_a_saved_failure_runs_by_itself(tmp_path):
    text = as_test(Failure(5, "jit", "value", "wrong", LOOP, ONE_INPUT))
    namespace = {}
    file = tmp_path / "test_saved.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), namespace)
    namespace["test_agrees_with_plain_python"](ONE_INPUT[0])


def test_a_saved_program_imports_what_programs_are_given():
    text = as_test(Failure(5, "jit", "value", "wrong", LOOP, ONE_INPUT))
    namespace = {}
    exec(compile(text, "a saved program", "exec"), namespace)
    assert {name: namespace[name] for name in GIVEN} == GIVEN


def test_every_mode_takes_its_turn():
    modes = collections.Counter(mode for seed in range(12) for mode in modes_of(seed))
    assert set(modes) == {"eager", "eager_jax", "jit", "function", "vmap"}
    assert modes["eager"] == 12
