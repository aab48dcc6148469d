"""The command line: saving, retraces, completion, JSON, and what it shows of the user's exceptions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.tools.cli import main
from tests.test_cli import printed, refusal

SAMPLE = """
    import autograph as ag, jax, jax.numpy as jnp

    def halve(x, floor=1.0):
        while x > floor:
            x = x / 2
        return x

    def product(x, y):
        return x @ y

    @ag.function(input_signature=[ag.TensorSpec([None], jnp.float32)])
    def total(xs):
        return xs.sum()

    def talks(x):
        print("tracing")
        ag.print("running", x)
        return {"x": x, "far": x / 0, 3: (1j, None)}["x"]

    def stops(x):
        raise KeyboardInterrupt

    def recurs(x):
        return recurs(x)

    def looks_up(key):
        return {}[key]

    def fails(x):
        return looks_up("missing")

    def chains(x):
        try:
            looks_up("missing")
        except KeyError as error:
            raise RuntimeError("outer") from error

    def raises(x):
        if x > 0:
            raise ValueError(f"{x:.1f} is too much")
        return x

    def calls_python(x):
        return ag.py_function(lambda v: v, [x], jax.ShapeDtypeStruct((), jnp.float32))

    def parts(x):
        return {"a": x / 0, "b": (True, 2, 1j, None, "text"), "c": {1: x[0]}, "d": float("nan")}

    class Scale(ag.Module):
        def __init__(self):
            self.by = ag.Variable(3.0, name="by")

        @ag.function
        def __call__(self, x):
            return self.by * x

    scale = Scale()
"""


@pytest.fixture(autouse=True)
def sample(user_folder):
    """sample.py in the working directory."""
    path = user_folder / "sample.py"
    path.write_text(textwrap.dedent(SAMPLE))
    return path


def facts(capsys, *argv: str) -> dict:
    """What the command prints as JSON."""
    out = printed(capsys, *argv, "--json")
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


class TestSave:
    def test_a_plain_function(self, capsys):
        text = printed(capsys, "save", "sample:halve", "--arg", "f32[]", "--arg", "floor=2.0", "-o", "saved")
        assert text.startswith("saved: 2 files, ") and "float32 Tensor, shape=()" in text
        assert float(ag.load("saved")(jnp.float32(40), floor=2.0)) == 1.25

    def test_of_any_size(self, capsys):
        printed(capsys, "save", "sample:product", "--arg", "f32[n,3]", "--arg", "y=f32[3, m]", "-o", "saved")
        loaded = ag.load("saved")
        assert loaded(jnp.ones((2, 3)), y=jnp.ones((3, 5))).shape == (2, 5)
        assert loaded(jnp.ones((7, 3)), y=jnp.ones((3, 1))).shape == (7, 1)

    def test_the_signature_that_it_has(self, capsys):
        printed(capsys, "save", "sample:total", "-o", "saved")
        assert ag.load("saved")(jnp.arange(5.0)) == 10

    def test_variables_go_along(self, capsys):
        found = facts(
            capsys, "save", "sample:scale.__call__", "--arg", "f32[n]", "-o", "deep/saved", "--derivatives", "0"
        )
        assert found["variables"] == ["by"] and found["path"] == "deep/saved"
        assert set(found["files"]) == {path.name for path in Path("deep/saved").iterdir()}
        assert found["files"]["manifest.json"] == Path("deep/saved/manifest.json").stat().st_size
        assert ag.load("deep/saved")(jnp.ones(2)).tolist() == [3, 3]

    def test_for_several_platforms(self, capsys):
        printed(capsys, "save", "sample:total", "-o", "saved", "--platforms", "cpu", "tpu")
        manifest = json.loads(Path("saved/manifest.json").read_text())
        assert [program["platforms"] for program in manifest["programs"]] == [["cpu", "tpu"]]

    @pytest.mark.parametrize(
        ("argv", "says"),
        [
            (["sample:halve", "-o", "saved"], "missing a required argument: 'x'"),
            (["sample:halve", "--arg", "f32[2-3]", "-o", "saved"], "neither a Python literal"),
            (["sample:halve", "--arg", "f32[2n]", "-o", "saved"], "'2n' is not a size"),
            (["sample:halve", "--arg", "f33[n]", "-o", "saved"], "unknown array type"),
            (["sample:halve", "--arg", "f32[]"], "-o/--out"),
            (["sample:total", "-o", "saved", "--platforms", "abacus"], "'abacus' is not a platform"),
            (["sample:total", "-o", "saved", "--derivatives", "-1"], "0 or more"),
            (["sample:total", "-o", "saved", "--derivatives", "many"], "invalid int"),
            (["sample:total", "--arg", "f32[2,2]", "-o", "saved"], "does not fit the input_signature"),
            (["sample:total", "-o", "."], "is not a saved model"),
            (["sample:total", "-o", "sample.py/saved"], "sample.py"),
        ],
    )
    def test_wrong_input_is_one_line(self, capsys, argv, says):
        assert says in refusal(capsys, "save", *argv)
        assert not Path("saved").exists()

    def test_what_cannot_leave(self, capsys):
        assert main(["save", "sample:calls_python", "--arg", "f32[]", "-o", "saved"]) == 1
        assert "sample.py:" in capsys.readouterr().err and not Path("saved").exists()


class TestRetraces:
    CALLS = ("--arg", "f32[]=3", "--next", "--arg", "f32[]=4", "--next", "--arg", "i32[]=4", "--arg", "floor=2.0")

    def test_why(self, capsys):
        text = printed(capsys, "retraces", "sample:halve", *self.CALLS)
        assert text.startswith("halve was traced 2 times.") and "float32[] → int32[]" in text

    def test_as_json(self, capsys):
        found = facts(capsys, "retraces", "sample:halve", *self.CALLS)
        assert [call["traces"] for call in found["calls"]] == [1, 0, 1]
        assert found["calls"][2]["arguments"] == ["i32[]=4", "floor=2.0"]
        assert found["explanation"][0] == "halve was traced 2 times."

    def test_a_call_without_what_it_needs(self, capsys):
        assert "missing a required argument" in refusal(capsys, "retraces", "sample:halve", "--arg", "1", "--next")


class TestJson:
    def test_run(self, capsys):
        found = facts(capsys, "run", "sample:parts", "--arg", "f32[2]")["result"]
        assert found["a"] == {"dtype": "float32", "shape": [2], "values": ["nan", "inf"]}
        assert [part["values"] for part in found["b"][:3]] == [True, 2, "1j"] and found["b"][3:] == [None, "text"]
        assert found["c"] == [[1, {"dtype": "float32", "shape": [], "values": 0.0}]] and found["d"]["values"] == "nan"

    def test_what_the_program_prints_is_not_in_it(self, capsys):
        assert main(["run", "sample:talks", "--arg", "f32[]=2", "--json"]) == 0
        out, err = capsys.readouterr()
        assert json.loads(out)["result"]["values"] == 2.0
        assert err == "tracing\nrunning 2.0\n"

    def test_inspect_and_to_code(self, capsys):
        found = facts(capsys, "inspect", "sample:halve", "--arg", "f32[]", "--stage", "stablehlo")
        assert found["stage"] == "stablehlo" and "stablehlo.while" in found["program"] and found["target"] is None
        assert "while_stmt" in facts(capsys, "to-code", "sample:halve")["source"]

    def test_before_the_command(self, capsys):
        assert json.loads(printed(capsys, "--json", "run", "sample:halve", "--arg", "3.0"))["result"]["values"] == 0.75

    def test_the_version(self, capsys):
        assert facts(capsys, "--version")["autograph"] == ag.__version__

    def test_completion(self, capsys):
        pytest.importorskip("shtab")
        found = facts(capsys, "completion", "bash")
        assert found["shell"] == "bash" and "_shtab_autograph" in found["script"]

    def test_bench(self, capsys):
        pytest.importorskip("matplotlib")
        assert main(["bench", "collatz", "--quick", "--rounds", "1", "--json"]) == 0
        assert list(json.loads(capsys.readouterr().out)["results"]) == ["collatz"]

    def test_bench_without(self, capsys):
        pytest.importorskip("matplotlib")
        assert main(["bench", "collatz", "--quick", "--rounds", "1"]) == 0
        assert "| collatz |" in capsys.readouterr().out


class TestExceptionsOfTheUser:
    def shown(self, capsys, name: str) -> str:
        assert main(["run", f"sample:{name}", "--arg", "f32[]=1"]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        return err

    def files(self, text: str) -> set[str]:
        return {line.split('"')[1] for line in text.splitlines() if line.startswith("  File ")}

    def test_no_frame_of_others(self, capsys, sample):
        text = self.shown(capsys, "fails")
        assert self.files(text) == {str(sample)} and text.count("  File ") == 2
        assert text.startswith("Traceback") and text.endswith("KeyError: 'missing'\n")

    def test_causes(self, capsys, sample):
        text = self.shown(capsys, "chains")
        assert self.files(text) == {str(sample)} and "direct cause" in text and text.endswith("RuntimeError: outer\n")

    def test_at_run_time(self, capsys, sample):
        text = self.shown(capsys, "raises")
        assert self.files(text) == {str(sample)} and text.endswith("ValueError: 1.0 is too much\n")

    @pytest.mark.parametrize(
        ("command", "more"),
        [("run", []), ("inspect", []), ("retraces", []), ("explore", ["-o", "page.html"]), ("save", ["-o", "saved"])],
    )
    def test_while_tracing(self, capsys, sample, command, more):
        assert main([command, "sample:fails", "--arg", "f32[]", *more]) == 1
        assert self.files(capsys.readouterr().err) == {str(sample)}

    def test_one_that_ends_processes(self, capsys, sample):
        assert main(["run", "sample:stops", "--arg", "f32[]"]) == 130
        text = capsys.readouterr().err
        assert self.files(text) == {str(sample)} and text.endswith("KeyboardInterrupt\n")

    def test_one_of_the_call_itself(self, capsys):
        assert main(["run", "sample:recurs", "--arg", "f32[]"]) == 1
        text = capsys.readouterr().err
        assert "RecursionError: maximum recursion depth exceeded" in text and "autograph." not in text

    def test_an_error_of_jax_names_the_line(self, capsys, sample):
        assert main(["run", "sample:product", "--arg", "f32[3]", "--arg", "f32[4]"]) == 1
        text = capsys.readouterr().err
        assert self.files(text) == {str(sample)} and "JAX_TRACEBACK_FILTERING" not in text

    def test_an_argument_that_does_not_fit_is_one_line(self, capsys):
        assert "does not fit the input_signature" in refusal(capsys, "run", "sample:total", "--arg", "f32[2,2]")


@pytest.fixture(scope="module", params=["bash", "zsh"])
def completion(request, tmp_path_factory) -> tuple[str, Path]:
    """A shell, and the script that it reads."""
    pytest.importorskip("shtab")
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not here")
    script = tmp_path_factory.mktemp("completion") / "script"
    command = [sys.executable, "-m", "autograph", "completion", request.param]
    script.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return request.param, script


def completed(shell: str, script: Path, *words: str) -> list[str]:
    """What a shell completes the last word to."""
    if shell == "bash":
        steps = [
            f"source {script}",
            f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}",
            f"_shtab_autograph autograph {words[-1]} {words[-2]}",
            "printf '%s\\n' \"${COMPREPLY[@]}\"",
        ]
        command = ["bash", "--norc", "-c", "\n".join(steps)]
    else:
        # A shell of its own is typed into, and says what stands on its line.
        steps = [
            "zmodload zsh/zpty",
            "zpty -b inner 'PS1= zsh -f -i'",
            f"zpty -w inner 'autoload -U compinit; compinit -u -D; source {script}; compdef _shtab_autograph autograph'",
            "zpty -w inner 'show() { print -r -- \"<$BUFFER>\"; zle kill-buffer }; zle -N show; bindkey ^X show'",
            # It says so when it begins to read a line.
            "zpty -w inner 'zle-line-init() { print \"rea\"dy }; zle -N zle-line-init'",
            "zpty -r -m inner before '*ready*'",
            f"zpty -w -n inner $'{' '.join(words)}\\t\\x18'",
            "zpty -r -m inner text '*>*'",
            "print -r -- $text",
        ]
        command = ["zsh", "-f", "-c", "\n".join(steps)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr
    if shell == "bash":
        return done.stdout.split()
    return [done.stdout.rpartition("<")[2].partition(">")[0].split()[-1]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ret",), "retraces"),
        (("inspect", "sample:halve", "--stage", "opt"), "optimized_hlo"),
        (("save", "--deriv"), "--derivatives"),
        (("run", "samp"), "sample.py"),
    ],
)
def test_completion(completion, words, expected):
    assert completed(*completion, "autograph", *words) == [expected]


def test_the_version(capsys):
    assert printed(capsys, "--version").startswith(f"autograph {ag.__version__} (JAX ")


@pytest.mark.parametrize(
    ("argv", "says"), [(["--rounds", "0"], "1 or more"), (["--out", "sample.py/results"], "sample.py/results")]
)
def test_benchmarks_that_cannot_be(capsys, argv, says):
    assert says in refusal(capsys, "bench", "newton", *argv)


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "autograph", "run", "sample:fails", "--arg", "1"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("  File ") == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "model.py").write_text("def f(x):\n    return x\n")
    command = [sys.executable, "-m", "autograph", "to-code", "model.py:f"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "autograph: cannot write the output: No space left on device\n"
