"""Every public name says what it is, what it takes, what it returns and what it raises, and shows an example."""

from __future__ import annotations

import ast
import doctest
import enum
import inspect
import re
import textwrap
import types

import pytest

import autograph as ag
from tests.rooms import ROOT
from tests.test_doctests import NAMES

MODULES = {
    "autograph": ag,
    "autograph.checkpoints": ag.checkpoints,
    "autograph.optim": ag.optim,
    "autograph.random": ag.random,
    "autograph.summary": ag.summary,
}

# Words that public texts do not use, and what they use in their place.
AVOIDED = {
    r"\bthe run (decides|knows)": "known at run time",
    r"outliv": "leaked tracer",
    r"of all transforms": "under any transform",
    r"settled by value": "possibly undefined",
    r"name that only some paths bind": "possibly undefined variable",
    r"\bopen sizes?\b": "symbolic dimension",
    r"taken apart": "flattened, unpacked",
    r"\bstands? for\b": "represents, replaces",
    r"\bgives?\b": "returns, yields",
    r"\bgave\b": "returned",
    r"\bby hand\b": "explicit, hand-written",
    r"\bturns? out\b": "is, becomes",
    r"\bmake-believe\b": "placeholder",
    r"\banew\b": "again",
    r"'s sake\b": "for compatibility with",
    r"[Pp]rocessor time": "CPU time",
    r"optimis(e|ing|ation)": "optimize",
    r"\bin the place of\b": "instead of",
    r"\bin silence\b": "silently",
    r"\band the like\b": "and others",
    r"\bused up\b|\buses up\b": "consumed, exhausted",
    r"is not told\b": "does not receive",
}

# Generated from the texts of the errors, which tests/test_error_messages.py checks.
GENERATED = {"errors.md", "messages.md"}
PAGES = sorted(
    path
    for path in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "docs").glob("*.rst"),
        *(ROOT / "examples").iterdir(),
    ]
    if path.name not in GENERATED and path.suffix in {".md", ".rst", ".py", ".ipynb"}
)

# IPython passes its shell, of which there is none here.
WITHOUT_EXAMPLE = {"autograph.load_ipython_extension"}


def _public():
    """Each public function, class, method and property, by its dotted name."""
    found = {}
    for prefix, module in MODULES.items():
        names = [*module.__all__, "print", "range"] if module is ag else _names(module)
        for name in names:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) or value is ag.operators:
                continue
            found[f"{prefix}.{name}"] = value
            if inspect.isclass(value):
                for part, member in inspect.getmembers(value):
                    if not part.startswith("_") and (defined := _own(value, part)) is not None:
                        found[f"{prefix}.{name}.{part}"] = defined
    return found


def _names(module):
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [name for name in listed if callable(getattr(module, name))]
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__
    ]


def _own(owner, name):
    """A method or property that one of our classes defines; None for what comes from elsewhere, or is not documented."""
    if issubclass(owner, enum.Enum | BaseException):
        return None
    for base in owner.__mro__:
        if name in vars(base) and base.__module__.startswith("autograph"):
            value = vars(base)[name]
            value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            return value if isinstance(value, types.FunctionType | property) and value.__doc__ else None
    return None


PUBLIC = _public()
DOCUMENTED = (ROOT / "docs" / "reference.rst").read_text(encoding="utf-8")


def _is_listed(name):
    """Whether a name is in the reference: other members of public classes are for this package only."""
    owner, _, part = name.rpartition(".")
    if not inspect.isclass(PUBLIC.get(owner)):
        return True
    entry = re.search(rf"autoclass:: {re.escape(owner)}\n(( +:.*\n)*)", DOCUMENTED)
    options = entry[1] if entry else ""
    if re.search(rf":members:.*\b{part}\b", options):
        return True
    hidden = re.search(rf":exclude-members:.*\b{part}\b", options)
    return bool(re.search(r":members:$", options, re.MULTILINE)) and not hidden


CALLABLES = {name: value for name, value in PUBLIC.items() if not isinstance(value, property) and _is_listed(name)}


def test_the_collection_finds_names_of_each_kind():
    assert {"autograph.convert", "autograph.Dataset.map", "autograph.random.Generator.normal"} <= set(CALLABLES)
    assert {"autograph.summary.scalar", "autograph.checkpoints.state", "autograph.Function.lower"} <= set(CALLABLES)
    assert "autograph.Dataset.staged_iter" not in CALLABLES


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_the_first_line_is_one_sentence(name):
    first = inspect.getdoc(PUBLIC[name]).splitlines()[0]
    assert first.endswith(".") and len(first) <= 120, first


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_parameters_are_documented(name):
    value = CALLABLES[name]
    if inspect.isclass(value) and (issubclass(value, enum.Enum | BaseException) or "Created by" in value.__doc__):
        return
    made_elsewhere = {
        "Graph",
        "ConcreteFunction",
        "SummaryWriter",
        "Optional",
        "OneOf",
        "DictByPath",
    }  # no user calls these classes
    if inspect.isclass(value) and value.__name__ in made_elsewhere:
        return
    text = inspect.getdoc(value)
    names = [p for p in inspect.signature(value).parameters if p not in ("self", "cls")]
    if name.startswith("autograph.Function.") and names[:1] == ["function"]:
        names = names[1:]  # what `Function.lower` calls the instance
    section = text.partition("Args:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"^  \**(\w+):", section, re.MULTILINE)
    assert listed == names


@pytest.mark.parametrize("name", sorted(name for name, value in CALLABLES.items() if not inspect.isclass(value)))
def test_results_are_documented(name):
    value = CALLABLES[name]
    returned = inspect.signature(value).return_annotation
    assert returned is not inspect.Signature.empty
    assert ("Returns:\n  " in inspect.getdoc(value)) == (returned not in (None, "None"))


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_an_example_is_shown(name):
    assert name in WITHOUT_EXAMPLE or ">>> " in inspect.getdoc(CALLABLES[name])


@pytest.mark.parametrize("name", sorted(name for name in PUBLIC if ">>> " in inspect.getdoc(PUBLIC[name])))
def test_examples_run_where_a_reader_copies_them_to(name):
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(PUBLIC[name]), dict(NAMES), name, None, 0)
    printed = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(example, out=printed.append).failed == 0, "".join(printed)


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_exceptions_are_documented(name):
    """Those that the function itself raises; it may document others, which functions that it calls raise."""
    value = CALLABLES[name]
    source = value.__dict__.get("__init__") if inspect.isclass(value) else value
    if not isinstance(source, types.FunctionType):
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(source)))
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    section = inspect.getdoc(value).partition("Raises:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"^  (\w+):", section, re.MULTILINE)
    assert [error for error in map(_name, raised) if error[0].isupper() and error not in listed] == []


def _name(call):
    return ast.unparse(call.func).rpartition(".")[2]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_words_are_those_of_the_glossary(name):
    text = inspect.getdoc(PUBLIC[name])
    assert [word for word in AVOIDED if re.search(word, text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_words_of_pages_are_those_of_the_glossary(page):
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert [word for word in AVOIDED if re.search(word, text)] == []


def test_pages_of_each_kind_are_checked():
    assert {"README.md", "performance.md", "loop.md", "reference.rst", "serve.py", "errors.ipynb"} <= {
        p.name for p in PAGES
    }
