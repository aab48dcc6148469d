"""The command `autograph`: look at what the converter makes of a function, and run it.

Exit code 0; 1 where the function itself cannot be staged, or raises, which is shown with the frames of the user's
program; 2 where the command names no module, function, argument or target that it could work with, which takes one line
on stderr and no traceback.

A command is a function of the parsed options. What it returns is printed: as text, or with ``--json`` as JSON; then
stdout has nothing else, and what the program prints goes to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import inspect
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import jax

import autograph as ag
from autograph.tools import arguments, explore, targets, user_errors
from autograph.tools.as_json import as_json

SHELLS = ("bash", "zsh")
_INTERRUPTED = 130  # as shells say it of a process that ^C has ended
_NEXT: Any = None  # between the arguments of one call and of the next
_HAS_BENCHMARKS = importlib.util.find_spec("autograph.tools.bench") is not None
STAGES = ("jaxpr", "choices", "stablehlo", "hlo", "optimized_hlo", "dot")

_TARGET_HELP = "PKG.MOD:FN, or path/to/file.py:FN"
_ARG_HELP = (
    "one argument; repeat the option for more arguments. A Python literal (3, 2.5, True, \"'text'\"), a list for an array "
    "([1., 2.]), a dtype and shape for an array of 0, 1, 2, ... (f32[3,4]), or dtype, shape and fill value "
    "(f32[]=2.5). The prefix NAME= passes it by keyword."
)

_SPEC_HELP = f"{_ARG_HELP} f32[n,4] is an array of any size n."

_FOR_TARGET_HELP = (
    "compile for this target instead of the local machine: a TPU topology such as tpu:v5e:2x2 (pip install 'jax[tpu]')"
)


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


@dataclass(frozen=True)
class Answer:
    """What a command prints.

    Attributes:
      text: for people.
      facts: the same for programs, with names; `as_json` takes its values.
    """

    text: str
    facts: dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process, by default); the exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.error("the following arguments are required: COMMAND")
    options.json = getattr(options, "json", False)
    try:
        with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
            answer = options.command(options)
    except ag.StagingError as error:
        # It names the user's file and line itself.
        print(f"autograph: {error}", file=sys.stderr)
        return 1
    except explore.Refused as error:
        print(f"autograph: {error}", file=sys.stderr)
        return 1
    except (_UsageError, ag.ConversionError, ag.TargetError) as error:
        print(f"autograph: {error}", file=sys.stderr)
        return 2
    except (Exception, KeyboardInterrupt) as error:
        return _failed(error, getattr(options, "target", ""))
    if answer is not None:
        _print(json.dumps(as_json(answer.facts)) if options.json else answer.text)
    return 0


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # the reader needs no more of it, as `head` does; Python would write the rest at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(f"autograph: cannot write the output: {error.strerror}")


def _failed(error: BaseException, target: str) -> int:
    """Show an exception of the user's program; the exit code."""
    package = Path(target.rpartition(":")[0]).stem if ".py:" in target else target.partition(".")[0].partition(":")[0]
    text = user_errors.shown(error, package)
    if isinstance(error, KeyboardInterrupt):
        print(text or "autograph: interrupted\n", end="", file=sys.stderr)
        return _INTERRUPTED
    if text is not None:
        print(text, end="", file=sys.stderr)
        return 1
    if isinstance(error, RecursionError):  # of the call itself: there is no line of the program that it stands at
        print(f"autograph: {target}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if not isinstance(error, TypeError | ValueError):
        raise error  # a fault of this package: all of it is shown
    print(f"autograph: {' '.join(str(error).split())}", file=sys.stderr)  # an argument that does not fit the function
    return 2


class _UsageError(Exception):
    """What the command line asks for is not there."""


def _parser() -> argparse.ArgumentParser:
    # Before a command's name or after it, where a default would take back what stands before.
    with_json = _OneLineParser(add_help=False)
    with_json.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")

    description = "Plain Python control flow as one XLA program."
    parser = _OneLineParser(prog="autograph", description=description, parents=[with_json])
    parser.set_defaults(command=None)
    parser.add_argument("--version", action="store_const", dest="command", const=_version, help="print the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def command(name: str, function: Callable[[argparse.Namespace], Answer | None], summary: str) -> Any:
        made = commands.add_parser(name, help=summary, description=function.__doc__, parents=[with_json])
        made.set_defaults(command=function)
        return made

    to_code = command("to-code", _to_code, "print the converted source")
    run = command("run", _run, "compile, run, print the result")
    show = command("inspect", _inspect, "print the program at one stage of compilation")
    save = command("save", _save, "write the compiled program to a directory")
    pages = command("explore", _explore, "write an HTML page that shows the program")
    retraces = command("retraces", _retraces, "print which calls cause a retrace, and why")
    files = [parsed.add_argument("target", help=_TARGET_HELP) for parsed in (to_code, run, show, pages, save, retraces)]
    for parsed in (run, show, pages, save, retraces):
        text = _SPEC_HELP if parsed in (save, pages) else _ARG_HELP
        parsed.add_argument("--arg", action="append", default=[], dest="args", metavar="VALUE", help=text)

    show.add_argument("--stage", choices=STAGES, default="jaxpr", help="the stage (default: jaxpr)")
    show.add_argument("--target", dest="for_target", metavar="TARGET", help=_FOR_TARGET_HELP)
    page = pages.add_argument("-o", "--out", type=Path, required=True, metavar="PAGE.html", help="the file to write")
    out = save.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="the directory to write")
    save.add_argument("--platforms", nargs="+", metavar="NAME", help="the platforms to save for, such as: cpu cuda tpu")
    save.add_argument("--derivatives", type=int, metavar="N", help="the number of orders of derivatives to save")
    retraces.add_argument(
        "--next", action="append_const", const=_NEXT, dest="args", help="separates the arguments of two calls"
    )
    measured = command("bench", _bench, "compare programs with versions written by hand")
    if _HAS_BENCHMARKS:
        from autograph.tools.bench.__main__ import add_arguments

        add_arguments(measured)
    else:
        measured.add_argument("names", nargs=argparse.REMAINDER)

    completion = command("completion", _completion, "print a shell completion script")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(parser=parser, files=[*files, page], folders=[out])
    return parser


def _version(_: argparse.Namespace) -> Answer:
    """Print the versions of autograph, JAX and Python."""
    versions = {"autograph": ag.__version__, "jax": jax.__version__, "python": platform.python_version()}
    text = f"autograph {versions['autograph']} (JAX {versions['jax']}, Python {versions['python']})"
    return Answer(text, versions)


def _bench(options: argparse.Namespace) -> Answer | None:
    """Compare the run time of converted programs with hand-written ones, and with other compilers."""
    if not _HAS_BENCHMARKS:
        raise _UsageError(
            "bench: the benchmarks are in the repository, and not in the installed package; run it in a checkout"
        )
    from autograph.tools.bench.__main__ import run
    from autograph.tools.bench.workloads import WORKLOADS

    unknown = [name for name in options.names if name not in WORKLOADS]
    if unknown:
        raise _UsageError(f"no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    if options.rounds < 1:
        raise _UsageError(f"--rounds is a number of times, 1 or more; got {options.rounds}")
    try:
        options.out.mkdir(parents=True, exist_ok=True)  # before minutes of measuring
    except OSError as error:
        raise _UsageError(error) from error
    run(options)
    if not options.json:
        return None  # it has printed its table
    return Answer("", {"results": json.loads((options.out / "results.json").read_text(encoding="utf-8"))})


def _to_code(options: argparse.Namespace) -> Answer:
    """Print the converted source of a function."""
    source = ag.to_code(_load(options)).rstrip()
    return Answer(source, {"function": options.target, "source": source})


def _run(options: argparse.Namespace) -> Answer:
    """Compile a function for these arguments, call it, and print the result."""
    function = _load(options)
    positional, keywords = _arguments_for(function, options.args, options.target)
    result = _compiled(function)(*positional, **keywords)
    return Answer(str(result), {"function": options.target, "result": result})


def _inspect(options: argparse.Namespace) -> Answer:
    """Print the program of a function for these arguments, at one stage of compilation."""
    if options.for_target is not None and getattr(jax.config, "jax_platforms", None) is None:
        jax.config.update("jax_platforms", "cpu")  # nothing runs here, so there is no need to look for other devices
    function = _load(options)
    positional, keywords = _arguments_for(function, options.args, options.target)
    compiled = _compiled(function)
    text = _program(compiled, positional, keywords, options).rstrip()
    facts = {"function": options.target, "stage": options.stage, "target": options.for_target, "program": text}
    return Answer(text, facts)


def _program(compiled: ag.Function[..., Any], positional: list[Any], keywords: dict[str, Any], options: Any) -> str:
    def own_text(stage: str) -> str:
        graph = compiled.get_concrete_function(*positional, **keywords).graph
        return graph.to_dot() if stage == "dot" else graph.as_text(stage)

    if options.for_target is None:
        return own_text(options.stage)
    platform = options.for_target.partition(":")[0]
    lowered = compiled.lower(*positional, platforms=[platform], **keywords)
    try:
        program = lowered.compile(options.for_target)  # each stage is shown of what can be compiled
    except jax.errors.JaxRuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise ag.StagingError(f"{options.target} cannot be compiled for {options.for_target}: {reason}") from error
    if options.stage in ("jaxpr", "choices", "dot"):
        return own_text(options.stage)
    return program.as_text() if options.stage == "optimized_hlo" else lowered.as_text(dialect=options.stage)


def _explore(options: argparse.Namespace) -> Answer:
    """Write an HTML page that shows the source of a function, and how each line is compiled. If the function is refused, the page shows
    the error at its line, and the exit code is 1."""
    compiled, positional, keywords = _specified(options)
    try:
        facts = explore.write_page(compiled, positional, keywords, options.out)
    except OSError as error:
        raise _UsageError(error) from error
    text = f"{options.out}: {facts['operations']} operations, {facts['bytes']} bytes"
    return Answer(text, {"function": options.target, "path": str(options.out)} | facts)


def _specified(options: argparse.Namespace) -> tuple[ag.Function[..., Any], list[Any], dict[str, Any]]:
    """The function and its arguments, which may have symbolic dimensions. One with an input_signature needs no arguments."""
    function = _load(options)
    compiled = _compiled(function)
    if function is compiled and not options.args:
        return compiled, [], {}
    return compiled, *_arguments_for(function, options.args, options.target, arguments.parse_spec)


def _save(options: argparse.Namespace) -> Answer:
    """Compile a function for these arguments, and save the program and its Variables to a directory, which autograph.load loads
    without the source. A function with an input_signature needs no arguments."""
    compiled, positional, keywords = _specified(options)
    concrete = compiled.get_concrete_function(*positional, **keywords)
    if options.derivatives is not None and options.derivatives < 0:
        raise _UsageError(f"--derivatives is a number of orders, 0 or more; got {options.derivatives}")
    try:
        ag.save(compiled, options.out, platforms=options.platforms, derivatives=options.derivatives)
    except (OSError, ImportError) as error:
        raise _UsageError(error) from error
    sizes = {path.name: path.stat().st_size for path in sorted(options.out.iterdir())}
    variables = [variable.name for variable in concrete.variables]
    text = f"{options.out}: {len(sizes)} files, {sum(sizes.values())} bytes\n{concrete.pretty_printed_signature()}"
    facts = {"function": options.target, "path": str(options.out), "files": sizes, "variables": variables}
    return Answer(text, facts | {"signature": concrete.pretty_printed_signature()})


def _retraces(options: argparse.Namespace) -> Answer:
    """Call a function several times, and print which calls cause a retrace, and the reason. --next separates the arguments of two
    calls."""
    function = _load(options)
    compiled = _compiled(function)
    calls: list[list[str]] = [[]]
    for text in options.args:
        if text is _NEXT:
            calls.append([])
        else:
            calls[-1].append(text)
    parsed = [_arguments_for(function, texts, options.target) for texts in calls]
    facts = []
    for texts, (positional, keywords) in zip(calls, parsed, strict=True):
        before = compiled.experimental_get_tracing_count()
        compiled(*positional, **keywords)
        facts.append({"arguments": texts, "traces": compiled.experimental_get_tracing_count() - before})
    text = compiled.explain_retraces()
    return Answer(text, {"function": options.target, "calls": facts, "explanation": text.splitlines()})


def _completion(options: argparse.Namespace) -> Answer:
    """Print a completion script for commands, options and files. Source it from the startup file of the shell."""
    try:
        import shtab
    except ImportError as error:
        raise _UsageError("completion takes shtab: pip install 'autograph-xla[completion]'") from error
    for action in options.files:
        action.complete = shtab.FILE
    for action in options.folders:
        action.complete = shtab.DIRECTORY
    script = shtab.complete(options.parser, options.shell)
    return Answer(script, {"shell": options.shell, "script": script})


def _compiled(function: Callable[..., Any]) -> ag.Function[..., Any]:
    """As `ag.function` makes it; one that is decorated already keeps the options it has."""
    return function if isinstance(function, ag.Function) else ag.function(function)


def _load(options: argparse.Namespace) -> Callable[..., Any]:
    try:
        return targets.load(options.target)
    except ValueError as error:
        raise _UsageError(error) from error


def _arguments_for(
    function: Callable[..., Any], texts: list[str], target: str, value_of: Callable[[str], Any] | None = None
) -> tuple[list[Any], dict[str, Any]]:
    try:
        positional, keywords = arguments.parse(texts, value_of)
    except ValueError as error:
        raise _UsageError(error) from error
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have none
        return positional, keywords
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        raise _UsageError(f"{target}{signature}: {error}") from error
    return positional, keywords


if __name__ == "__main__":
    sys.exit(main())
