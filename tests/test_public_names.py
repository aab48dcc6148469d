"""The public face: which names `autograph` has, and that each says what it is."""

from __future__ import annotations

import ast
import builtins
import importlib.metadata
import inspect
import re
import types

import pytest

import autograph as ag
from tests.rooms import ROOT

# Adding a name to the public face means adding it here, to the docs, and to the changelog.
PUBLIC = {
    "Assert",
    "ConcreteFunction",
    "ConversionError",
    "Dataset",
    "DictByPath",
    "Feature",
    "Function",
    "GradientTape",
    "Graph",
    "InvalidArgumentError",
    "LoadError",
    "Module",
    "OneOf",
    "Optional",
    "SavedError",
    "StagingError",
    "StagingWarning",
    "TargetError",
    "TensorArray",
    "TensorSpec",
    "Variable",
    "convert",
    "custom_gradient",
    "do_not_convert",
    "function",
    "functions_run_eagerly",
    "grad",
    "load",
    "load_ipython_extension",
    "numpy_function",
    "operators",
    "print",
    "progress",
    "py_function",
    "range",
    "recompute_grad",
    "recursion_limit",
    "register_library",
    "run_functions_eagerly",
    "save",
    "set_loop_options",
    "set_verbosity",
    "stop_gradient",
    "to_code",
    "to_graph",
    "trace",
    "value_and_grad",
}


def test_the_public_names_are_these():
    found = {
        name
        for name, value in vars(ag).items()
        # Subpackages become attributes when they are imported.
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert found == PUBLIC


def test_a_star_import_brings_these_and_hides_no_builtin():
    assert set(ag.__all__) == (PUBLIC | {"checkpoints", "optim", "random", "summary"}) - {"print", "range"}
    assert not set(ag.__all__) & set(dir(builtins))
    assert len(ag.__all__) == len(set(ag.__all__))


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_each_has_a_docstring(name):
    text = inspect.getdoc(getattr(ag, name)) or ""
    first = text.partition("\n\n")[0]
    assert first.rstrip().endswith((".", ":")), f"the docstring of ag.{name} does not start with a sentence"


def test_the_face_only_re_exports():
    """A docstring, `from a import b as b`, the version and the list of names: nothing is defined in `autograph/__init__.py`."""
    docstring, *statements = ast.parse((ROOT / "autograph/__init__.py").read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    for statement in statements:
        match statement:
            case ast.ImportFrom(names=names):
                assert all(alias.asname == alias.name for alias in names), f"line {statement.lineno}"
            case ast.Assign(targets=[ast.Name(id="__version__" | "__all__")]):
                pass
            case _:
                raise AssertionError(f"line {statement.lineno} of autograph/__init__.py is no re-export")


def test_the_version_is_that_of_the_distribution():
    assert importlib.metadata.version("autograph-xla") == ag.__version__


# What has no type: JAX's own classes for these are private, and a shell of IPython, which need not be installed.
WITHOUT_A_TYPE = {"Graph.jaxpr", "Graph.memory_analysis", "load_ipython_extension"}
MADE_BY_US = {"ConcreteFunction", "Function", "Graph"}  # users do not call these classes


def signatures():
    """Each public function and method, by its name."""
    modules = {name: getattr(ag, name) for name in ("checkpoints", "optim", "random", "summary")}
    for name in ag.__all__:
        value = getattr(ag, name)
        if isinstance(value, types.ModuleType):
            modules[name] = value
        elif inspect.isclass(value):
            for key, member in vars(value).items():
                if not key.startswith("_") or (key in ("__init__", "__call__") and name not in MADE_BY_US):
                    yield f"{name}.{key}", member
        elif inspect.isfunction(value):
            yield name, value
    for name, module in modules.items():
        for key, value in vars(module).items():
            if key.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if inspect.isfunction(value):
                yield f"{name}.{key}", value
            elif inspect.isclass(value):
                for method, member in vars(value).items():
                    if not method.startswith("_") or method in ("__init__", "__call__"):
                        yield f"{name}.{key}.{method}", member


def test_the_public_interface_is_typed():
    untyped = set()
    for name, member in signatures():
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if any(re.search(r"\bAny\b", str(each)) for each in getattr(function, "__annotations__", {}).values()):
            untyped.add(name)
    assert untyped == WITHOUT_A_TYPE
