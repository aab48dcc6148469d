"""Which room imports which: the rules of the architecture, checked on the source without importing it.

The compiler (autograph/) knows gast, not JAX; the runtime knows the backends' protocol, not the backends;
only `_api.py` sees all of them; tools use the public face, and nothing imports tools or tests.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rooms import ROOT, modules

JOINT = "autograph._api"
ERRORS = "autograph.runtime.errors"
PROTOCOL = "autograph.backends.base"

# Beside itself and errors.py. The face is `__init__.py` and the joint, `_api.py`.
MAY_IMPORT = {
    "face": {"compiler", "runtime", "backends"},
    "compiler": set(),
    "runtime": set(),  # and the backends' protocol
    "backends": set(),
    "tools": {"face"},
}
STAGING = ("lax", "jit", "export", "extend")
# The sub-packages of the runtime, lowest first: none imports a higher one. What a sub-package may import of the modules beside it.
LAYERS = ("autograph.runtime.layouts", "autograph.runtime.operators")
BESIDE = {"autograph.runtime.layouts": ("autograph.runtime.library_table", "autograph.runtime.optional")}


def room(module: str) -> str:
    """The room that a module of ours belongs to; the joint and the public face are rooms of their own."""
    if module in ("autograph", JOINT):
        return "face"
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
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "jax":
            # `import jax` and then `jax.lax` comes to the same as `from jax import lax`.
            yield node.lineno, f"jax.{node.attr}"


def complaint(module: str, target: str) -> str | None:
    """Why `module` must not import `target`; None where it may."""
    here, top = room(module), target.partition(".")[0]
    if within(target, "jax._src") or top == "jaxlib":
        return "that part of JAX is private"
    if top in ("runtime", "backends", "tools"):
        return f"{top} is no package of its own: write autograph.{top}"
    if top == "tests":
        return "tests are not shipped"
    if module == ERRORS and top not in sys.stdlib_module_names:
        return "errors.py is standard library only, so that all may import it"
    if top == "jax":
        return _complaint_about_jax(here, target)
    if top != "autograph" or target == ERRORS or (here == "runtime" and target == PROTOCOL):
        return None
    if (reason := _complaint_about_layers(module, target)) is not None:
        return reason
    there = room(target)
    return None if there == here or there in MAY_IMPORT[here] else f"{here} does not import {there}"


def _complaint_about_jax(here: str, target: str) -> str | None:
    if here == "compiler":
        return "the compiler does not know JAX"
    if here == "runtime" and any(within(target, f"jax.{part}") for part in STAGING):
        return "staging is the backends' work"
    return None


def _complaint_about_layers(module: str, target: str) -> str | None:
    layer = next((each for each in LAYERS if within(module, each)), None)
    if layer is None or within(target, layer):
        return None
    above = LAYERS[LAYERS.index(layer) + 1 :]
    if any(within(target, each) for each in above):
        return f"{layer} is below it"
    is_beside = within(target, "autograph.runtime") and not any(within(target, each) for each in LAYERS)
    if is_beside and layer in BESIDE and not any(within(target, each) for each in BESIDE[layer]):
        return f"{layer} knows {', '.join(BESIDE[layer])} only"
    return None


def violations(root: Path = ROOT) -> list[str]:
    """One line for each import that goes the wrong way."""
    found = modules(root)
    return [
        f"{path.relative_to(root)}:{line}: imports {target}: {reason}"
        for module, path in found.items()
        for line, target in imports(module, path, set(found))
        if (reason := complaint(module, target)) is not None
    ]


def test_every_import_goes_the_right_way():
    assert violations() == []


def test_every_room_is_looked_at():
    found = {room(module) for module in modules()}
    assert found == {"face", "compiler", "runtime", "backends", "tools"}
    assert JOINT in modules() and ERRORS in modules() and PROTOCOL in modules()


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("autograph/_convert.py", "import jax.numpy as jnp"),
        ("autograph/_passes/loops.py", "from autograph.runtime import operators"),
        ("autograph/_passes/loops.py", "from ...autograph.backends import base"),
        ("autograph/_passes/loops.py", "from .. import backends"),
        ("autograph/_source.py", "def f():\n    from ._api import convert"),
        ("autograph/_api.py", "from autograph.tools import cli"),
        ("runtime/function.py", "from autograph import _convert"),
        ("runtime/function.py", "from autograph.backends.xla import compiler"),
        ("runtime/function.py", "from autograph.backends.xla.compiler import compile"),
        ("runtime/function.py", "import autograph"),
        ("runtime/operators/calls.py", "from jax._src import core"),
        ("runtime/operators/calls.py", "from jax import _src"),
        ("runtime/operators/calls.py", "import jax\njax.lax.cond"),
        ("runtime/function.py", "from jax import jit"),
        ("runtime/layouts/join.py", "from autograph.runtime.operators import if_stmt"),
        ("runtime/layouts/join.py", "from autograph.runtime.variables import Variable"),
        ("runtime/errors.py", "import numpy"),
        ("runtime/errors.py", "from .variables import Variable"),
        ("backends/xla/leaf_types.py", "from autograph.runtime.variables import Variable"),
        ("backends/xla/leaf_types.py", "import jax._src.core"),
        ("backends/xla/leaf_types.py", "from tests import helpers"),
        ("backends/xla/leaf_types.py", "import runtime.errors"),
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
        ("autograph/_passes/loops.py", "from .._analysis import liveness\nfrom . import breaks"),
        ("runtime/errors.py", "from __future__ import annotations\nimport traceback"),
        ("runtime/function.py", "import jax.numpy as jnp\nfrom autograph.backends.base import Backend"),
        ("runtime/function.py", "from autograph.runtime import errors\nfrom .operators import if_stmt"),
        ("runtime/layouts/join.py", "from autograph.runtime.errors import StagingError\nimport jax"),
        (
            "runtime/layouts/join.py",
            "from autograph.runtime.layouts import kinds\nfrom autograph.runtime.optional import Optional",
        ),
        ("runtime/operators/if_stmt.py", "from autograph.runtime.layouts import kinds"),
        ("backends/xla/leaf_types.py", "from jax import lax\nfrom .base import Backend"),
        ("tools/cli.py", "import autograph as ag\nfrom autograph.tools import targets"),
    ],
)
def test_a_right_import_is_not(tmp_path, file, statement):
    assert _violations_of(tmp_path, file, statement) == []


def _violations_of(root: Path, file: str, statement: str) -> list[str]:
    """What the check says of a small package in which `file` says `statement`."""
    others = ["autograph/_api.py", "autograph/_convert.py", "autograph/_analysis/liveness.py"]
    others += ["autograph/_passes/breaks.py", "runtime/errors.py", "runtime/variables.py", "tools/cli.py"]
    others += [
        "runtime/layouts/kinds.py",
        "runtime/library_table.py",
        "runtime/optional.py",
        "runtime/operators/if_stmt.py",
        "backends/base.py",
        "backends/xla/compiler.py",
        "tools/targets.py",
    ]
    for other in others:
        path = root / other
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for folder in {path.parent for path in root.rglob("*.py")}:
        (folder / "__init__.py").touch()
    (root / file).write_text(statement + "\n")
    return violations(root)
