"""The command line: what it prints, and that what it cannot do takes one line and exit code 2."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap

import jax
import pytest

from autograph.tools.arguments import parse, parse_value
from autograph.tools.cli import main

COMMANDS = ("to-code", "run", "inspect", "save", "retraces", "bench", "completion")

SAMPLE = """
    import autograph as ag

    def halve(x, floor=1.0):
        while x > floor:
            x = x / 2
        return x

    def total(xs, *, start=0):
        for x in xs:
            start = start + x
        return start

    def scale(x, by):
        return x * by if isinstance(by, int) else -x

    def fails(x):
        raise RuntimeError("from the function")

    def differs(x):
        if x > 0:
            return {1, 2}
        return [x, x]

    compiled = ag.function(halve)

    class Model:
        @staticmethod
        def double(x):
            return 2 * x

    NUMBER = 3
"""


@pytest.fixture(autouse=True)
def sample(user_folder):
    """sample.py in the working directory."""
    path = user_folder / "sample.py"
    path.write_text(textwrap.dedent(SAMPLE))
    return path


def refusal(capsys, *argv: str) -> str:
    """The one line on stderr with which the command refuses."""
    try:
        code = main(argv)
    except SystemExit as exit:
        code = exit.code
    out, err = capsys.readouterr()
    assert code == 2 and out == ""
    assert err.count("\n") == 1 and err.endswith("\n"), err
    return err.strip()


def printed(capsys, *argv: str) -> str:
    """What the command prints when all is well."""
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


class TestRun:
    def test_a_function_of_a_module(self, capsys):
        assert printed(capsys, "run", "sample:halve", "--arg", "f32[]=40") == "0.625\n"

    def test_a_function_of_a_file(self, capsys, sample):
        assert printed(capsys, "run", f"{sample}:halve", "--arg", "f32[]=40") == "0.625\n"

    def test_a_python_value_stays_one(self, capsys):
        assert printed(capsys, "run", "sample:scale", "--arg", "f32[]=2", "--arg", "3") == "6.0\n"
        assert printed(capsys, "run", "sample:scale", "--arg", "f32[]=2", "--arg", "i32[]=3") == "-2.0\n"

    def test_a_keyword(self, capsys):
        assert printed(capsys, "run", "sample:total", "--arg", "[1, 2]", "--arg", "start=10") == "13\n"

    def test_a_dotted_name(self, capsys):
        assert printed(capsys, "run", "sample:Model.double", "--arg", "[1., 2.]") == "[2. 4.]\n"

    def test_a_decorated_function(self, capsys):
        assert printed(capsys, "run", "sample:compiled", "--arg", "f32[]=3") == "0.75\n"

    def test_an_exception_of_the_function_comes_out(self, capsys):
        assert main(["run", "sample:fails", "--arg", "1"]) == 1
        assert capsys.readouterr().err.endswith("RuntimeError: from the function\n")

    def test_what_cannot_be_staged_is_said_without_a_traceback(self, capsys):
        assert main(["run", "sample:differs", "--arg", "f32[]=1"]) == 1
        assert "sample.py:" in capsys.readouterr().err


class TestArguments:
    @pytest.mark.parametrize("text", ["3", "-2.5", "True", "None", "'text'", "(1, 2)", "{'a': 1}", "1j"])
    def test_a_literal_is_a_python_value(self, text):
        value = parse_value(text)
        assert value == ast.literal_eval(text) and type(value) is type(ast.literal_eval(text))

    @pytest.mark.parametrize(
        ("text", "dtype", "values"),
        [
            ("[1, 2]", "int32", [1, 2]),
            ("[[1.], [2.]]", "float32", [[1.0], [2.0]]),
            ("[]", "float32", []),
            ("f32[2,3]", "float32", [[0, 1, 2], [3, 4, 5]]),
            ("i8[3]", "int8", [0, 1, 2]),
            ("bool[3]", "bool", [False, True, False]),
            ("bf16[]", "bfloat16", 0),
            ("uint16[ 1, ]", "uint16", [0]),
            ("f32[0,2]", "float32", []),
            ("f32[]=-2.5", "float32", -2.5),
            ("f32[2, 2]=[1, 2]", "float32", [[1, 2], [1, 2]]),
            ("c64[]=1j", "complex64", 1j),
        ],
    )
    def test_a_list_or_a_type_is_an_array(self, text, dtype, values):
        value = parse_value(text)
        assert isinstance(value, jax.Array) and value.dtype == dtype and value.tolist() == values

    def test_lists_inside_are_arrays_too(self):
        (first, second), third = parse_value("([1], 2)"), parse_value("{'a': [1., 2.]}")["a"]
        assert isinstance(first, jax.Array) and second == 2 and isinstance(third, jax.Array)

    def test_by_keyword(self):
        assert parse(["1", "n=2", "name='x=y'"]) == ([1], {"n": 2, "name": "x=y"})
        assert parse(["'a=b'"]) == (["a=b"], {})


class TestToCode:
    def test_prints_source_that_compiles(self, capsys):
        text = printed(capsys, "to-code", "sample:halve")
        compile(text, "converted", "exec")
        assert "def halve(x, floor=1.0):" in text

    def test_a_decorated_function(self, capsys):
        assert "def halve(" in printed(capsys, "to-code", "sample:compiled")


class TestInspect:
    @pytest.mark.parametrize(
        ("stage", "sign"),
        [
            ("jaxpr", "while"),
            ("stablehlo", "stablehlo.while"),
            ("hlo", "HloModule"),
            ("optimized_hlo", "HloModule"),
            ("dot", "digraph"),
        ],
    )
    def test_each_stage(self, capsys, stage, sign):
        text = printed(capsys, "inspect", "sample:halve", "--arg", "f32[]", "--stage", stage)
        assert sign in text and ("jit_halve" in text or stage in ("jaxpr", "dot"))

    def test_a_python_value_is_a_constant(self, capsys):
        text = printed(capsys, "inspect", "sample:total", "--arg", "i32[3]", "--arg", "start=7")
        assert text.startswith("{ lambda ; a:i32[3]. let") and "7" in text

    def test_for_a_machine_that_is_not_here(self, capsys):
        inspect = ["inspect", "sample:halve", "--arg", "f32[]", "--target"]
        assert "'gpu' is not a platform to lower for; use one of cpu" in refusal(capsys, *inspect, "gpu:h100")
        assert "'tpu:v5e' is not a target to compile for" in refusal(capsys, *inspect, "tpu:v5e")
        assert "'tpu:v5e:0x1' is not a target" in refusal(capsys, *inspect, "tpu:v5e:0x1", "--stage", "optimized_hlo")
        assert "'' is not a platform" in refusal(capsys, *inspect, "")


class TestRefusals:
    def test_no_such_module(self, capsys):
        assert refusal(capsys, "run", "nosuch:thing") == "autograph: no module named 'nosuch'"
        assert refusal(capsys, "run", "json.nosuch:thing") == "autograph: no module named 'json.nosuch'"

    def test_no_such_file(self, capsys):
        assert "no file named" in refusal(capsys, "to-code", "nosuch.py:thing")

    def test_no_such_function(self, capsys):
        assert refusal(capsys, "run", "sample:halv").endswith("sample has no 'halv'; did you mean 'halve'?")
        assert "it defines halve, total, scale" in refusal(capsys, "run", "sample:xyz")
        assert "sample has no 'Model.triple'" in refusal(capsys, "run", "sample:Model.triple")

    def test_not_a_function(self, capsys):
        assert refusal(capsys, "run", "sample:NUMBER").endswith("is not a function but a value of type int")

    @pytest.mark.parametrize("target", ["sample:__class__", "sample.py:__class__", "sample:halve.__class__"])
    def test_a_class_of_python(self, capsys, target):
        assert "is not a function but the class" in refusal(capsys, "run", target)

    @pytest.mark.parametrize("target", ["sample", "sample:", ":halve", "sam-ple:halve", "..sample:halve", ""])
    def test_not_a_target(self, capsys, target):
        assert "PKG.MOD:FN" in refusal(capsys, "run", target)

    def test_a_module_that_fails_to_import(self, capsys, sample):
        sample.with_name("broken.py").write_text("import sys\n1 / 0\n")
        expected = f"ZeroDivisionError: division by zero ({sample.with_name('broken.py')}:2)"
        assert refusal(capsys, "run", "broken:f") == f"autograph: importing broken failed: {expected}"
        assert refusal(capsys, "run", "broken.py:f") == f"autograph: running broken.py failed: {expected}"

    def test_a_module_that_imports_a_missing_one(self, capsys, sample):
        sample.with_name("needy.py").write_text("import nosuch\n")
        assert "importing needy failed: ModuleNotFoundError" in refusal(capsys, "run", "needy:f")

    def test_a_file_that_does_not_parse(self, capsys, sample):
        sample.with_name("wrong.py").write_text("def f(:\n")
        assert "running wrong.py failed: SyntaxError" in refusal(capsys, "run", "wrong.py:f")

    def test_a_script_that_exits(self, capsys, sample):
        sample.with_name("script.py").write_text("raise SystemExit(0)\n")
        assert "running script.py failed: SystemExit" in refusal(capsys, "run", "script.py:f")

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("hello", "'hello' is neither a Python literal"),
            ("f33[2]", "unknown array type 'f33'"),
            ("f32[a]", "neither a Python literal"),
            ("f64[2]", "JAX_ENABLE_X64=1"),
            ("i32[2]=[1,2,3]", "[1,2,3] does not fit i32[2]"),
            ("i8[]=1000", "does not fit i8[]"),
            ("i32[]=2.5", "2.5 does not fit i32[]"),
            ("i32[2]=[1.5,2]", "does not fit i32[2]"),
            ("bool[]=2", "2 does not fit bool[]"),
            ("f32[]=1j", "1j does not fit f32[]"),
            ("f32[99999999999]", "has 99999999999 elements"),
            ("f32[2000000,2000000]", "has 4000000000000 elements"),
            ("{1: 2, 'a': 3}", "keys that cannot be put in order"),
            ("{[1]: 2}", "neither a Python literal"),
            ("f32[2]=", "neither a Python literal"),
            ("[1, 'a']", "does not make one array"),
            ("f32[]='a'", "does not fit f32[]"),
            ("[1099511627776]", "does not make one array"),
            ("[[1], [2, 3]]", "does not make one array"),
            ("1 +", "neither a Python literal"),
        ],
    )
    def test_a_wrong_argument(self, capsys, text, says):
        assert says in refusal(capsys, "run", "sample:halve", "--arg", text)

    def test_arguments_that_do_not_fit_the_function(self, capsys):
        assert refusal(capsys, "run", "sample:halve").endswith("missing a required argument: 'x'")
        assert "too many positional" in refusal(capsys, "run", "sample:halve", *["--arg=1"] * 3)
        assert "'y'" in refusal(capsys, "inspect", "sample:halve", "--arg=1", "--arg=y=2")
        assert "given twice" in refusal(capsys, "run", "sample:halve", "--arg=x=1", "--arg=x=2")

    def test_a_function_without_source(self, capsys):
        assert "sqrt" in refusal(capsys, "to-code", "math:sqrt")

    @pytest.mark.parametrize("argv", [[], ["nosuch"], ["run"], ["run", "sample:halve", "--nosuch"]])
    def test_a_command_line_that_makes_no_sense(self, capsys, argv):
        assert refusal(capsys, *argv).startswith("autograph")


class TestHelp:
    @pytest.mark.parametrize("argv", [["--help"], *([name, "--help"] for name in COMMANDS)])
    def test_each_command_has_it(self, capsys, argv):
        with pytest.raises(SystemExit) as exit:
            main(argv)
        assert exit.value.code == 0
        assert capsys.readouterr().out.startswith("usage: autograph")


def test_as_a_process(sample):
    command = [sys.executable, "-m", "autograph.tools"]
    fine = subprocess.run([*command, "run", "sample:halve", "--arg", "f32[]=40"], capture_output=True, text=True)
    assert (fine.returncode, fine.stdout, fine.stderr) == (0, "0.625\n", "")
    wrong = subprocess.run([*command, "run", "nosuch:thing"], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout, wrong.stderr) == (2, "", "autograph: no module named 'nosuch'\n")


def test_a_reader_that_stops_reading(sample):  # as `head` does
    command = [sys.executable, "-m", "autograph.tools", "to-code", "sample:halve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
