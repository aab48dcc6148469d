"""Get the syntax tree of a function: exactly the definition that its code object was compiled from, or an error.

A file is parsed and compiled once and both are kept. A function's definition is found by the line its code begins
at and its name, a lambda's also by the columns its instructions carry. The code found is compared with the
function's own, so a file that was edited after import is noticed instead of silently giving other behaviour.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import inspect
import linecache
import sys
import threading
import types
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass

from autograph._analysis.children import children, walk
from autograph._analysis.partial_writes import PartialWrites
from autograph._analysis.truths import FileTruths, Truths
from autograph._analysis.tuple_items import has_tuple_items
from autograph.runtime.errors import ConversionError, place_of

_FUTURE_FLAGS = 0
for _feature in __import__("__future__").all_feature_names:
    _FUTURE_FLAGS |= getattr(__import__("__future__"), _feature).compiler_flag

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class FunctionSource:
    """One definition: its node (of the file's own tree, not to be changed), where it stands, its class, and what its file says."""

    node: FunctionNode
    filename: str
    class_name: str | None
    compiler_flags: int
    partial_writes: PartialWrites
    has_tuple_items: bool


@dataclass(frozen=True)
class _Definition:
    node: FunctionNode
    class_name: str | None
    file: _File


class _File:
    """The definitions of one source file by (first line, name), and the code objects they compile to.

    Private attributes (``self.__x``) have the names in the tree that Python mangles them to.
    """

    def __init__(self, filename: str, lines: list[str]) -> None:
        self.lines = lines
        self.tree = ast.parse("".join(lines), filename)
        self.definitions: dict[tuple[int, str], list[_Definition]] = {}
        self._filename = filename
        self._has_private_attributes = False
        self._index()
        self._codes: dict[int, dict[tuple[int, str], list[types.CodeType]]] = {}

    def _index(self) -> None:
        pending: list[tuple[ast.AST, str | None]] = [(self.tree, None)]
        while pending:
            node, class_name = pending.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                key = (_first_line(node), getattr(node, "name", "<lambda>"))
                self.definitions.setdefault(key, []).append(_Definition(node, class_name, self))
            elif isinstance(node, ast.Attribute):
                name = _mangled(node.attr, class_name)
                self._has_private_attributes |= name != node.attr
                node.attr = name
            if isinstance(node, ast.ClassDef):
                outside = [*node.decorator_list, *node.bases, *node.keywords]
                found = [*((child, class_name) for child in outside), *((child, node.name) for child in node.body)]
            else:
                found = [(child, class_name) for child in children(node)]
            pending += found[::-1]

    @functools.cached_property
    def truths(self) -> FileTruths:
        """Which names of the file may represent truth values."""
        return FileTruths.of(self.tree)

    @functools.cached_property
    def partial_writes(self) -> PartialWrites:
        """What some paths of the file's functions may leave unset."""
        return PartialWrites.of(self.tree)

    @functools.cached_property
    def has_tuple_items(self) -> bool:
        """Whether the file's functions make tuples that containers hold."""
        return has_tuple_items(walk(self.tree))

    @functools.cached_property
    def _written(self) -> ast.Module:
        """The tree with private attributes as they are written, which Python 3.13 keeps in the code of a class."""
        return ast.parse("".join(self.lines), self._filename) if self._has_private_attributes else self.tree

    def codes(self, flags: int) -> dict[tuple[int, str], list[types.CodeType]]:
        """Code objects of the whole file by (first line, name), compiled with these ``__future__`` flags."""
        key = flags
        if key not in self._codes:
            try:
                compiled = self._compiled(self._written, flags)
            except RecursionError:  # a tree may be deeper than a text that Python itself has compiled
                compiled = self._compiled("".join(self.lines), flags)
            table: dict[tuple[int, str], list[types.CodeType]] = {}
            for code in nested_codes(compiled):
                table.setdefault((code.co_firstlineno, code.co_name), []).append(code)
            self._codes[key] = table
        return self._codes[key]

    def holds_alone(self, code: types.CodeType, flags: int) -> bool:
        """Whether this is the code of a definition in a statement that is compiled by itself, as IPython does with those of a
        cell: then Python does not know which names the others import, and calls their attributes by other instructions.
        """
        found = [
            each for each in self._written.body if _first_of(each) <= code.co_firstlineno <= (each.end_lineno or 0)
        ]
        return any(code in nested_codes(self._compiled(ast.Module([each], []), flags)) for each in found)

    def _compiled(self, source: ast.Module | str, flags: int) -> types.CodeType:
        flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: types.CodeType = compile(source, self._filename, "exec", flags, dont_inherit=True)
        return code


class SourceFiles:
    """Finds functions in files; each file is parsed once, until its text changes."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._lock = threading.Lock()

    def find(self, function: types.FunctionType) -> FunctionSource:
        """Return the definition of ``function``.

        Raises:
          ConversionError: the source is not to be had, or is not what the function was compiled from.
        """
        code = function.__code__
        flags = code.co_flags & _FUTURE_FLAGS
        definition = self._lookup(function, code, flags)
        if definition is None and linecache.cache.get(code.co_filename):
            linecache.checkcache(code.co_filename)
            definition = self._lookup(function, code, flags)
        if definition is None:
            if _is_shared(code.co_filename):
                raise _not_available(code)
            raise ConversionError(
                f"{place_of(code.co_filename, code.co_firstlineno)}: the source of {code.co_qualname!r} has changed since it "
                "was imported, so the converted function would behave differently. Import the module again "
                "(restart Python, or importlib.reload)."
            )
        file = definition.file
        facts = file.partial_writes, file.has_tuple_items
        return FunctionSource(definition.node, code.co_filename, definition.class_name, flags, *facts)

    def truths(self, function: types.FunctionType) -> Truths:
        """What may be a truth value where ``function`` runs, as far as its file tells."""
        return self._file(function, function.__code__).truths.around(function.__code__.co_firstlineno)

    def _lookup(self, function: types.FunctionType, code: types.CodeType, flags: int) -> _Definition | None:
        file = self._file(function, code)
        candidates = file.definitions.get((code.co_firstlineno, code.co_name), [])
        if code.co_name == "<lambda>":
            candidates = _narrow_by_columns(candidates, code)
        if not candidates:
            return None
        compiled = file.codes(flags).get((code.co_firstlineno, code.co_name), [])
        # `types.coroutine` sets a flag that no source text has.
        as_compiled = code.replace(co_flags=code.co_flags & ~inspect.CO_ITERABLE_COROUTINE)
        is_known = (
            as_compiled in compiled
            or file.holds_alone(as_compiled, flags)
            or (_is_instrumented(function) and any(_same_outline(code, other) for other in compiled))
        )
        return candidates[0] if is_known else None

    def _file(self, function: types.FunctionType, code: types.CodeType) -> _File:
        lines = linecache.getlines(code.co_filename, function.__globals__)
        if not lines:
            raise _not_available(code)
        with self._lock:
            file = self._files.get(code.co_filename)
            if file is None or (file.lines is not lines and file.lines != lines):
                try:
                    file = _File(code.co_filename, lines)
                except SyntaxError as error:
                    if _is_shared(code.co_filename):
                        raise _not_available(code) from error
                    raise ConversionError(
                        f"{place_of(code.co_filename, error.lineno or 1)}: the file that defines {code.co_qualname!r} no longer "
                        f"parses ({error.msg}). Fix it and import it again."
                    ) from error
                self._files[code.co_filename] = file
            return file


def _is_shared(filename: str) -> bool:
    """Whether code of several texts may bear this name: Python 3.13 keeps the text of ``-c`` as that of ``<string>``, as which
    ``exec`` compiles, too.
    """
    return filename.startswith("<") and filename.endswith(">")


def _not_available(code: types.CodeType) -> ConversionError:
    return ConversionError(
        f"{place_of(code.co_filename, code.co_firstlineno)}: the source of {code.co_qualname!r} is not available: it was typed "
        "into a plain REPL, made by exec, or shipped without its file. Put the function in a file, or mark it with "
        "autograph.do_not_convert."
    )


def nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code objects inside ``code``, outermost first."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from nested_codes(constant)


def with_written(
    made: types.CodeType, written: types.CodeType
) -> Iterator[tuple[types.CodeType, types.CodeType | None]]:
    """The code that conversion has made, and that inside it, each with what it was written as, which comes in the same order."""
    left: defaultdict[tuple[int, str], deque[types.CodeType]] = defaultdict(deque)
    for each in (written, *nested_codes(written)):
        left[each.co_firstlineno, each.co_name].append(each)
    for each in (made, *nested_codes(made)):
        found = left[each.co_firstlineno, each.co_name]
        yield each, (found.popleft() if len(found) > 1 else found[0] if found else None)


def _mangled(attribute: str, class_name: str | None) -> str:
    """The name that Python compiles an attribute to in the body of this class.

    >>> _mangled("__total", "Box"), _mangled("__init__", "Box"), _mangled("__total", None)
    ('_Box__total', '__init__', '__total')
    """
    if class_name is None or not attribute.startswith("__") or attribute.endswith("__"):
        return attribute
    stripped = class_name.lstrip("_")
    return f"_{stripped}{attribute}" if stripped else attribute


def _first_of(statement: ast.stmt) -> int:
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])


def _first_line(node: FunctionNode) -> int:
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _narrow_by_columns(candidates: list[_Definition], code: types.CodeType) -> list[_Definition]:
    """The lambdas whose body spans just the positions that the instructions of ``code`` carry."""
    starts: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    for line, end_line, column, end_column in code.co_positions():
        if line is not None and end_line is not None and column is not None and end_column:
            starts.append((line, column))
            ends.append((end_line, end_column))
    if len(candidates) < 2:
        return candidates
    if not starts:  # Python 3.12 keeps none for a constant
        return sorted(candidates, key=lambda definition: not _is_constant_of(definition.node, code))
    start, end = min(starts), max(ends)

    def distance(definition: _Definition) -> tuple[int, ...]:
        body = definition.node.body
        assert isinstance(body, ast.expr) and body.end_lineno is not None and body.end_col_offset is not None
        return (
            abs(body.lineno - start[0]) + abs(body.end_lineno - end[0]),
            abs(body.col_offset - start[1]) + abs(body.end_col_offset - end[1]),
        )

    return sorted(candidates, key=distance)


def _is_constant_of(node: FunctionNode, code: types.CodeType) -> bool:
    """Whether this lambda, whose body asks for nothing, is what ``code`` was compiled from, or equal to it."""
    alone = compile(ast.Expression(node), code.co_filename, "eval") if isinstance(node, ast.Lambda) else None
    found = next(nested_codes(alone), None) if alone is not None else None
    return found is not None and all(
        getattr(found, name) == getattr(code, name) and repr(getattr(found, name)) == repr(getattr(code, name))
        for name in ("co_code", "co_consts", "co_varnames", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount")
    )


def _is_instrumented(function: types.FunctionType) -> bool:
    """Whether an import hook (pytest's assertion rewriting, say) compiled the module from a changed tree."""
    module = sys.modules.get(function.__module__ or "")
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader is not None and type(loader) is not importlib.machinery.SourceFileLoader


def _same_outline(code: types.CodeType, other: types.CodeType) -> bool:
    """Whether two code objects agree in all that an assertion-rewriting hook leaves alone."""

    def names(code: types.CodeType) -> list[str]:
        return [name for name in code.co_varnames + code.co_cellvars if not name.startswith("@")]

    return (
        code.co_qualname == other.co_qualname
        and code.co_argcount == other.co_argcount
        and sorted(names(code)) == sorted(names(other))
        and code.co_freevars == other.co_freevars
    )
