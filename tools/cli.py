"""The command `autograph`: look at what the converter makes of a function, and run it.

Exit code 0; 1 where the function itself cannot be staged; 2 where the command names no module, function, argument
or target that it could work with, which takes one line on stderr and no traceback. An exception that the
function raises is the function's business and comes out as Python shows it.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax

import autograph as ag
from autograph.tools import arguments, targets
from autograph.tools.bench.__main__ import add_arguments as add_bench_arguments
from autograph.tools.bench.__main__ import run as run_bench
from autograph.tools.bench.workloads import WORKLOADS

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized_hlo")

_TARGET_HELP = "PKG.MOD:FN, or path/to/file.py:FN"
_ARG_HELP = (
    "one argument; repeat it for more. A Python literal (3, 2.5, True, \"'text'\"), a list for an array "
    "([1., 2.]), a type and shape for an array counting 0, 1, 2, ... (f32[3,4]), or these and a value for it "
    "(f32[]=2.5). NAME= in front passes it by keyword."
)

_FOR_TARGET_HELP = "compile for this in place of the machine that is here: a topology of TPUs, as in tpu:v5e:2x2 (pip install 'jax[tpu]')"


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage in front."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (those of the process, by default); the exit code."""
    options = _parser().parse_args(argv)
    try:
        options.command(options)
    except ag.StagingError as error:
        # It names the user's file and line itself.
        print(f"autograph: {error}", file=sys.stderr)
        return 1
    except (_UsageError, ag.ConversionError, ag.TargetError) as error:
        print(f"autograph: {error}", file=sys.stderr)
        return 2
    return 0


class _UsageError(Exception):
    """What the command line asks for is not there."""


def _parser() -> argparse.ArgumentParser:
    parser = _OneLineParser(prog="autograph", description="Plain Python control flow as one XLA program.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    to_code = commands.add_parser("to-code", help="print the converted source", description=_to_code.__doc__)
    to_code.add_argument("target", help=_TARGET_HELP)
    to_code.set_defaults(command=_to_code)

    run = commands.add_parser("run", help="compile, run, print the result", description=_run.__doc__)
    run.set_defaults(command=_run)

    show = commands.add_parser("inspect", help="print what is compiled", description=_inspect.__doc__)
    show.add_argument("--stage", choices=STAGES, default="jaxpr", help="which form of it (default: jaxpr)")
    show.add_argument("--target", dest="for_target", metavar="TARGET", help=_FOR_TARGET_HELP)
    show.set_defaults(command=_inspect)

    bench = commands.add_parser(
        "bench", help="measure programs beside versions written by hand", description=_bench.__doc__
    )
    add_bench_arguments(bench)
    bench.set_defaults(command=_bench)

    for command in (run, show):
        command.add_argument("target", help=_TARGET_HELP)
        command.add_argument("--arg", action="append", default=[], dest="args", metavar="VALUE", help=_ARG_HELP)
    return parser


def _bench(options: argparse.Namespace) -> None:
    """Measure converted programs beside hand-written ones, and beside other compilers."""
    unknown = [name for name in options.names if name not in WORKLOADS]
    if unknown:
        raise _UsageError(f"no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    run_bench(options)


def _to_code(options: argparse.Namespace) -> None:
    """Print the source that the converter makes of a function."""
    print(ag.to_code(_load(options)).rstrip())


def _run(options: argparse.Namespace) -> None:
    """Compile a function for these arguments, run it, and print what it returns."""
    function = _load(options)
    positional, keywords = _arguments_for(function, options)
    print(_compiled(function)(*positional, **keywords))


def _inspect(options: argparse.Namespace) -> None:
    """Print the program that a function becomes for these arguments, at one stage of its compilation."""
    if options.for_target is not None and getattr(jax.config, "jax_platforms", None) is None:
        jax.config.update("jax_platforms", "cpu")  # nothing runs here, so there is no need to look for other devices
    function = _load(options)
    positional, keywords = _arguments_for(function, options)
    compiled = _compiled(function)
    own_text = compiled.experimental_get_compiler_ir(*positional, **keywords)
    if options.for_target is None:
        print(own_text(options.stage).rstrip())
        return
    platform = options.for_target.partition(":")[0]
    lowered = compiled.lower(*positional, platforms=[platform], **keywords)
    try:
        program = lowered.compile(options.for_target)  # each stage is shown of what can be compiled
    except jax.errors.JaxRuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise ag.StagingError(f"{options.target} cannot be compiled for {options.for_target}: {reason}") from error
    texts = {"jaxpr": lambda: own_text("jaxpr"), "optimized_hlo": program.as_text}
    print(texts.get(options.stage, lambda: lowered.as_text(dialect=options.stage))().rstrip())


def _compiled(function: Callable[..., Any]) -> ag.Function:
    """As `ag.function` makes it; one that is decorated already keeps the options it has."""
    return function if isinstance(function, ag.Function) else ag.function(function)


def _load(options: argparse.Namespace) -> Callable[..., Any]:
    try:
        return targets.load(options.target)
    except ValueError as error:
        raise _UsageError(error) from error


def _arguments_for(function: Callable[..., Any], options: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    try:
        positional, keywords = arguments.parse(options.args)
    except ValueError as error:
        raise _UsageError(error) from error
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have none
        return positional, keywords
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        raise _UsageError(f"{options.target}{signature}: {error}") from error
    return positional, keywords


if __name__ == "__main__":
    sys.exit(main())
