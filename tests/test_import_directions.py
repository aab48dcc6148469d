"""Which room imports which: the rules of the architecture, checked on the source without importing it.

The compiler (autograph/) knows gast, not JAX; the runtime knows the backends' protocol, not the backends;
only `_api.py` sees all of them; tools use the public face, and nothing imports tools or tests. What is not JAX's
documented interface, jax_compat.py alone names: modules, private attributes, classes and operations by their names,
parameters of equations.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rooms import ROOT, modules

ASSEMBLY = "autograph._api"
ERRORS = "autograph.runtime.errors"
FACTS = "autograph.runtime.code.array_facts"
COMMON = {ERRORS, FACTS}  # standard library only, so that all may import them
PROTOCOL = "autograph.backends.base"
PROTOCOLS = {
    PROTOCOL,
    "autograph.backends.described",
    "autograph.backends.exceptions",
    "autograph.backends.large_ints",
    "autograph.backends.followed",
    "autograph.backends.recursive",
    "autograph.backends.selected",
    "autograph.backends.thread",
}  # what backends do, what they say of programs, and what they share with the runtime

# Beside itself and what is common. The face is `__init__.py` and `_api.py`, which puts all together.
MAY_IMPORT = {
    "face": {"compiler", "runtime", "backends"},
    "compiler": set(),
    "runtime": set(),  # and the backends' protocol
    "backends": set(),
    "tools": {"face"},
}
STAGING = ("lax", "jit", "export", "extend")
# The sub-packages of the runtime, lowest first: none imports a higher one.
LAYERS = tuple(
    f"autograph.runtime.{name}"
    for name in (
        *("code", "tracing", "layouts", "state", "containers", "heap", "effects"),
        *("staging.access", "staging.policy", "staging.statements", "staging.builtins", "staging.calls", "staging"),
        *("signatures", "data", "explorer", "function", "gradients", "saving", "summary"),
    )
)
COMPAT = "autograph.backends.xla.jax_compat"
INTERNAL = ("jax.interpreters", "jax.extend", "jax.core", "jax.experimental.hijax")
DOCUMENTED = ("jax.core.Tracer",)
# What the constants and choices of the backend are measured by.
MEASURES = {
    ("autograph.tools.bench.calibrate", "autograph.backends.xla.cost_model"),
    ("autograph.tools.bench.platform_choices", "autograph.backends.xla.cost_model"),
    ("autograph.tools.bench.platform_choices", "autograph.backends.xla.platforms"),
}
# The order of effects, which nothing public sets back before JAX 0.12.
TOKENS = (COMPAT, "jax._src.dispatch.runtime_tokens")
# What is to go: no line is added here.
NOT_YET = {("autograph.runtime.state.variables", "jax.core.eval_context")}
# The parameters of our own primitives.
OWN_PARAMETERS = {"callee", "choice", "lanes", "program", "rows", "sites", "sweep"}
# Private by their spelling only: the interface of named tuples.
NAMED_TUPLE = {"_fields", "_replace", "_asdict"}


def room(module: str) -> str:
    """The room that a module of ours belongs to; that, and the public face, are rooms of their own."""
    if module in ("autograph", ASSEMBLY):
        return "face"
    if module == "autograph.__main__":
        return "tools"  # `python -m autograph` is the command line
    for name in ("runtime", "backends", "tools"):
        if within(module, f"autograph.{name}"):
            return name
    return "compiler"


def within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def imports(module: str, path: Path, known: set[str]) -> Iterator[tuple[int, str]]:
    """Line and full name of all that a module imports, wherever in it the import stands."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from a import b` imports the module a.b if there is one, and else the module a.
                full = f"{base}.{alias.name}"
                ours = within(base, "autograph")
                yield node.lineno, full if full in known or not ours else base
        elif isinstance(node, ast.Attribute) and (dotted := ast.unparse(node)).startswith("jax."):
            # `import jax` and then `jax.lax` comes to the same as `from jax import lax`.
            yield node.lineno, dotted


def complaint(module: str, target: str) -> str | None:
    """Why `module` must not import `target`; None where it may."""
    here, top = room(module), target.partition(".")[0]
    if top == "jaxlib" or (within(target, "jax._src") and (module, target) != TOKENS):
        return "that part of JAX is private"
    if top in ("runtime", "backends", "tools"):
        return f"{top} is no package of its own: write autograph.{top}"
    if top == "tests":
        return "tests are not shipped"
    if module in COMMON and top not in sys.stdlib_module_names:
        return "all may import this module, so it is standard library only"
    if top == "jax":
        return _complaint_about_jax(module, here, target)
    if top != "autograph" or target in COMMON or (here == "runtime" and target in PROTOCOLS):
        return None
    if (reason := _complaint_about_layers(module, target)) is not None:
        return reason
    if (module, target) in MEASURES:
        return None
    there = room(target)
    return None if there == here or there in MAY_IMPORT[here] else f"{here} does not import {there}"


def _complaint_about_jax(module: str, here: str, target: str) -> str | None:
    if here == "compiler":
        return "the compiler does not know JAX"
    is_internal = any(within(target, name) for name in INTERNAL) and target != "jax.core"
    is_internal = is_internal and not any(within(target, name) for name in DOCUMENTED)
    if here != "tools" and module != COMPAT and is_internal and (module, target) not in NOT_YET:
        return "jax_compat.py alone names what is inside of JAX"
    if here == "runtime" and any(within(target, f"jax.{part}") for part in STAGING):
        return "staging is the backends' work"
    return None


def _complaint_about_layers(module: str, target: str) -> str | None:
    here, there = layer(module), layer(target)
    if here is None or there is None or LAYERS.index(there) <= LAYERS.index(here):
        return None
    return f"{here} is below it"


def layer(module: str) -> str | None:
    """The sub-package of the runtime that a module belongs to; None where it belongs to none."""
    return max((each for each in LAYERS if within(module, each)), key=len, default=None)


def violations(root: Path = ROOT) -> list[str]:
    """One line for each import that goes the wrong way."""
    found = modules(root)
    return [
        f"{path.relative_to(root)}:{line}: imports {target}: {reason}"
        for module, path in found.items()
        for line, target in imports(module, path, set(found))
        if (reason := complaint(module, target)) is not None
    ]


def uses_of_internals(root: Path = ROOT) -> list[str]:
    """One line for each use of what JAX does not document, beside imports, in the backends."""
    found = {module: path for module, path in modules(root).items() if room(module) == "backends" and module != COMPAT}
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in found.values()}
    ours = {name for tree in trees.values() for name in _private_names(tree)} | NAMED_TUPLE
    return [
        f"{path.relative_to(root)}:{node.lineno}: {reason}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if (reason := _internal_use(node, ours)) is not None
    ]


def _private_names(tree: ast.AST) -> Iterator[str]:
    """The private names that a module defines, of functions, classes, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _internal_use(node: ast.AST, ours: set[str]) -> str | None:
    """Why a piece of code of a backend belongs into jax_compat.py; None where it does not."""
    match node:
        case ast.Attribute(attr=name) if name.startswith("_") and not name.startswith("__") and name not in ours:
            return f"{name} is a private attribute of somebody else's"
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str(name)), *_]) if (
            name.startswith("_") and not name.startswith("__") and name not in ours
        ):
            return f"{name} is a private attribute of somebody else's"
        case ast.Attribute(value=ast.Attribute(attr="primitive"), attr="name"):
            return "operations are told apart by jax_compat.kind and jax_compat.name_of"
        case ast.Compare(left=left, comparators=others) if any(map(_is_class_name, [left, *others])):
            return "classes are told apart by what they are, not by their names"
        case ast.Subscript(value=ast.Attribute(attr="params"), slice=ast.Constant(value=str(name))) if (
            name not in OWN_PARAMETERS
        ):
            return f"the parameter {name!r} of an equation is JAX's"
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(attr="params"), attr="get"), args=[ast.Constant(value=name), *_]
        ) if name not in OWN_PARAMETERS:
            return f"the parameter {name!r} of an equation is JAX's"
    return None


def _is_class_name(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr="__name__"):
            return True
    return False


def test_every_import_goes_the_right_way():
    assert violations() == []


def test_one_file_uses_what_is_inside_of_jax():
    assert uses_of_internals() == []


def test_what_is_still_allowed_is_still_used():
    found = modules()
    used = {(module, target) for module, path in found.items() for _, target in imports(module, path, set(found))}
    assert used >= NOT_YET, "take it from the list"


@pytest.mark.parametrize(
    "statement",
    [
        "value._trace",
        "getattr(value, '_trace', None)",
        "equation.primitive.name == 'while'",
        "type(place).__name__ == 'EvalTrace'",
        "'Ref' in type(aval).__name__",
        "equation.params['branches']",
        "equation.params.get('call_jaxpr')",
    ],
)
def test_a_use_of_internals_is_found(tmp_path, statement):
    _violations_of(tmp_path, "backends/xla/leaf_types.py", statement)
    assert uses_of_internals(tmp_path)


@pytest.mark.parametrize("statement", ["equation.params['choice']", "self._own = 1\nother._own", "x._replace(a=1)"])
def test_other_uses_are_not(tmp_path, statement):
    _violations_of(tmp_path, "backends/xla/leaf_types.py", statement)
    assert uses_of_internals(tmp_path) == []


def test_every_room_is_looked_at():
    found = {room(module) for module in modules()}
    assert found == {"face", "compiler", "runtime", "backends", "tools"}
    assert ASSEMBLY in modules() and ERRORS in modules() and PROTOCOL in modules()


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("autograph/_convert.py", "import jax.numpy as jnp"),
        ("autograph/_passes/loops.py", "from autograph.runtime import staging"),
        ("autograph/_passes/loops.py", "from ...autograph.backends import base"),
        ("autograph/_passes/loops.py", "from .. import backends"),
        ("autograph/_source.py", "def f():\n    from ._api import convert"),
        ("autograph/_api.py", "from autograph.tools import cli"),
        ("runtime/function/function.py", "from autograph import _convert"),
        ("runtime/function/function.py", "from autograph.backends.xla import compiler"),
        ("runtime/function/function.py", "from autograph.backends.xla.compiler import compile"),
        ("runtime/function/function.py", "import autograph"),
        ("runtime/staging/calls/calls.py", "from jax._src import core"),
        ("runtime/staging/calls/calls.py", "from jax import _src"),
        ("runtime/staging/calls/calls.py", "import jax\njax.lax.cond"),
        ("runtime/function/function.py", "from jax import jit"),
        ("runtime/layouts/join.py", "from autograph.runtime.staging import operators"),
        ("runtime/layouts/join.py", "from autograph.runtime.state.variables import Variable"),
        ("runtime/heap/journal.py", "from autograph.runtime.staging.statements import conditionals"),
        ("runtime/staging/access/items.py", "from autograph.runtime.staging.statements import conditionals"),
        ("runtime/staging/statements/conditionals.py", "from autograph.runtime.staging.operators import Operators"),
        ("runtime/errors.py", "import numpy"),
        ("runtime/code/array_facts.py", "import numpy"),
        ("runtime/errors.py", "from .variables import Variable"),
        ("backends/xla/leaf_types.py", "from autograph.runtime.state.variables import Variable"),
        ("backends/xla/leaf_types.py", "import jax._src.core"),
        ("backends/xla/leaf_types.py", "import jax._src.dispatch"),
        ("backends/xla/jax_compat.py", "import jax._src.core"),
        ("backends/xla/leaf_types.py", "from tests import helpers"),
        ("backends/xla/leaf_types.py", "import runtime.errors"),
        ("backends/xla/leaf_types.py", "from jax.interpreters import ad"),
        ("backends/xla/leaf_types.py", "import jax\njax.extend.core.Literal"),
        ("backends/xla/leaf_types.py", "import jax\njax.core.eval_jaxpr"),
        ("backends/xla/leaf_types.py", "from jax.core import eval_jaxpr"),
        ("runtime/function/function.py", "import jax\njax.core.eval_context"),
        ("tools/cli.py", "from autograph import _convert"),
    ],
)
def test_a_wrong_import_is_found(tmp_path, file, statement):
    assert _violations_of(tmp_path, file, statement), f"{file} may not say {statement!r}"


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("autograph/__init__.py", "from ._api import function as function"),
        ("autograph/_api.py", "from autograph.backends.xla import control_flow\nimport jax"),
        ("autograph/_convert.py", "import gast\nfrom autograph.runtime.errors import ConversionError"),
        ("autograph/_passes/loops.py", "from autograph.runtime.code.array_facts import METHODS"),
        ("autograph/_passes/loops.py", "from .._analysis import liveness\nfrom . import breaks"),
        ("runtime/errors.py", "from __future__ import annotations\nimport traceback"),
        ("runtime/function/function.py", "import jax.numpy as jnp\nfrom autograph.backends.base import Backend"),
        ("runtime/function/function.py", "from autograph.runtime import errors\nfrom ..staging import operators"),
        ("runtime/layouts/join.py", "from autograph.runtime.errors import StagingError\nimport jax"),
        (
            "runtime/layouts/join.py",
            "from autograph.runtime.layouts import kinds\nfrom autograph.runtime.layouts.optional import Optional",
        ),
        ("runtime/staging/statements/conditionals.py", "from autograph.runtime.layouts import kinds"),
        ("backends/xla/leaf_types.py", "from jax import lax\nfrom .base import Backend"),
        ("backends/xla/jax_compat.py", "from jax.interpreters import ad\nfrom jax.extend.core import Literal"),
        ("backends/xla/leaf_types.py", "import jax\nisinstance(x, jax.core.Tracer)"),
        ("tools/cli.py", "import autograph as ag\nfrom autograph.tools import targets"),
    ],
)
def test_a_right_import_is_not(tmp_path, file, statement):
    assert _violations_of(tmp_path, file, statement) == []


def _violations_of(root: Path, file: str, statement: str) -> list[str]:
    """What the check says of a small package in which `file` says `statement`."""
    others = ["autograph/_api.py", "autograph/_convert.py", "autograph/_analysis/liveness.py"]
    others += ["autograph/_passes/breaks.py", "runtime/errors.py", "runtime/state/variables.py", "tools/cli.py"]
    others += [
        "runtime/layouts/kinds.py",
        "runtime/code/array_facts.py",
        "runtime/code/library_table.py",
        "runtime/layouts/optional.py",
        "runtime/staging/operators.py",
        "runtime/staging/statements/conditionals.py",
        "backends/base.py",
        "backends/xla/compiler.py",
        "tools/targets.py",
    ]
    for other in [*others, file]:
        path = root / other
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for folder in {path.parent for path in root.rglob("*.py")}:
        (folder / "__init__.py").touch()
    (root / file).write_text(statement + "\n")
    return violations(root)
