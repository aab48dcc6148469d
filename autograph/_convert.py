"""`Converter`: functions in, rewritten functions out, each code object rewritten once.

Sole owner of the conversion cache.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import gc
import inspect
import linecache
import sys
import threading
import types
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import gast

from autograph._analysis.children import walk
from autograph._analysis.python_only import python_only
from autograph._analysis.scopes import bound_anywhere, names_in
from autograph._analysis.shared_arrays import shared_writes
from autograph._analysis.truths import Truths
from autograph._elifs import flatten_elifs
from autograph._listing import Listing, lines_with_origins
from autograph._load import compile_function, rebuild_function
from autograph._names_of_arrays import NamesOfArrays
from autograph._passes import PASSES
from autograph._passes.nodes import Context, Namer
from autograph._passes.operators import OPERATORS
from autograph._source import FunctionNode, FunctionSource, SourceFiles, nested_codes, with_written
from autograph._syntax import check_syntax
from autograph._trees import to_ast, to_gast
from autograph._verbosity import is_logged, log
from autograph.runtime.errors import ConversionError, place_of

T = TypeVar("T")
_OPERATORS = "ag__"
_UNRESOLVED = object()
_CLOSURES_KEPT = 1024
_LEADING = frozenset({gast.Attribute, gast.ClassDef})
_Rewritten = weakref.WeakKeyDictionary[types.FunctionType, types.FunctionType]


@dataclass(frozen=True)
class ConvertedCode:
    """One rewritten definition: what to run, and what is known of it."""

    code: types.CodeType
    output: Output


@dataclass(frozen=True)
class Output:
    """What is known of rewritten code.

    Attributes:
      python_only: what in it, if anything, shows whether a number is Python's or traced.
      writes_unseen: whether Python may call methods that write, by itself, where this code runs.
      calls: whether it has calls or reads that may lead to code of the user's.
    """

    python_only: str | None
    writes_unseen: bool
    calls: bool


@dataclass(frozen=True)
class Classes:
    """What is known of the users' classes around a function.

    Attributes:
      special_methods: the names of their methods that the function's operators and attributes may lead to, and that should be
        called converted.
      writes_unseen: whether methods of theirs write to something, and are called by nothing in the program.
    """

    special_methods: frozenset[str] = frozenset()
    writes_unseen: bool = False


class _Made(NamedTuple):
    """Code that conversion has made, what is known of it, and what the user wrote; None of a block's, which nobody wrote."""

    code: weakref.ref[types.CodeType]
    output: Output
    written: weakref.ref[types.CodeType] | None


class Converter:
    """Rewrites functions for one set of operators.

    Args:
      operators: what the name ``ag__`` means in rewritten code.
      is_plain: tells of an object whether calling it needs no help from the operators, whatever its arguments.
      loop_directive: the function whose call, first in a loop's body, sets the options of the loop.
      classes_around: tells of the users' classes around a function what its conversion has to know.
      is_logging: whether an attribute of a module or object is a function that logs or warns.
      is_library: whether a function is no user's.
      imports: the lines with which the text of rewritten code begins. They bind ``ag__``.

    Attributes: version (how often functions have been forgotten, to be rewritten otherwise), names_of_arrays (what they say of these).
    """

    def __init__(
        self,
        operators: object,
        is_plain: Callable[[object], bool],
        sources: SourceFiles,
        loop_directive: object,
        classes_around: Callable[[types.FunctionType], Classes],
        is_logging: Callable[[object, str], bool],
        is_library: Callable[[object], bool],
        imports: str,
    ) -> None:
        self._imports = imports
        self._cell = types.CellType(operators)
        self._is_plain = is_plain
        self._loop_directive = loop_directive
        self._classes_around = classes_around
        self._is_logging = is_logging
        self._is_library = is_library
        self._sources = sources
        self._codes: dict[tuple[int, bool], tuple[weakref.ref[types.CodeType], ConvertedCode]] = {}
        self._outputs: dict[int, _Made] = {}
        self._functions, self._stopping = _Rewritten(), _Rewritten()
        self._closures: OrderedDict[int, None] = OrderedDict()
        self._lock = threading.RLock()
        self._asking: defaultdict[str, set[int]] = defaultdict(set)
        self.names_of_arrays = NamesOfArrays()
        self.version = 0

    def convert(self, function: types.FunctionType, stops: bool = False) -> types.FunctionType:
        """Return the rewritten function: the same object for the same function.

        Args:
          stops: in the form for calls inside a ``try``, in which nothing happens after an exception of the program.

        Raises:
          ConversionError: no source, changed source, or unsupported syntax.
        """
        known = self.known(function, stops)
        if known is not None:
            return known
        if self.is_converted(function):
            return function
        converted = rebuild_function(function, self._code(function, stops).code, {_OPERATORS: self._cell})
        self._remember(function, converted, stops)
        return converted

    def known(self, function: types.FunctionType, stops: bool = False) -> types.FunctionType | None:
        """What the function has been rewritten to, if it has."""
        known = (self._stopping if stops else self._functions).get(function)
        return known if known is not None and known.__defaults__ is function.__defaults__ else None

    def ask_operators(self, filename: str, line: int) -> bool:
        """Rewrite the function with this line so that all its operators are asked; False if they are already."""
        with self._lock:
            if any(self._asks(code) for code in self._around(filename, line)):
                return False
            self._asking[filename].add(line)
            for functions in (self._functions, self._stopping):
                for function in list(functions):
                    if self._asks(function.__code__):
                        del functions[function]
            for key, (reference, _) in list(self._codes.items()):
                if (code := reference()) is not None and self._asks(code):
                    del self._codes[key]
            self.version += 1
        return True

    def is_rewritten(self, filename: str, line: int) -> bool:
        """Whether a function with this line has been rewritten."""
        with self._lock:
            return bool(self._around(filename, line))

    def _around(self, filename: str, line: int) -> list[types.CodeType]:
        """The code of the functions that have been rewritten and hold this line."""
        found = [reference() for reference, _ in self._codes.values()]
        return [code for code in found if code is not None and code.co_filename == filename and line in _lines(code)]

    def _asks(self, code: types.CodeType) -> bool:
        lines = self._asking.get(code.co_filename)
        return lines is not None and not lines.isdisjoint(_lines(code))

    def text(self, function: types.FunctionType, stops: bool = False) -> str:
        """Return the rewritten source of ``function``, which is written out anew at each call: conversion has no use for it."""

        def written(source: FunctionSource) -> str:
            text = ast.unparse(self._rewritten(function, source, stops)[0])
            return f"{self._imports}\n\n{text}" if f"{_OPERATORS}." in text else text

        return self._of_source(function, written)

    def listings(
        self, function: types.FunctionType, lines: Iterable[tuple[str, int]], is_converted: bool = True
    ) -> list[Listing]:
        """What is listed of a function, which may not be converted itself, and of others, which are, that hold some of these
        lines (file and number)."""
        wanted = set(lines)
        files = {file for file, _ in wanted}
        found = [listed] if (listed := self._listing(function, is_converted)) is not None else []
        for other in {each.__code__: each for each in [*self._stopping, *self._functions]}.values():
            code = other.__code__
            spanned = [line for each in (code, *nested_codes(code)) for _, _, line in each.co_lines() if line]
            is_known = any(each.holds(code.co_filename, code.co_firstlineno) for each in found)
            if is_known or code.co_filename not in files or not spanned:
                continue
            if any((code.co_filename, line) in wanted for line in range(min(spanned), max(spanned) + 1)):
                listed = self._listing(other, stops=other not in self._functions)
                found += [] if listed is None else [listed]
        return found

    def _listing(self, function: types.FunctionType, is_converted: bool = True, stops: bool = False) -> Listing | None:
        """None where there is no source; without what it is rewritten to where it is refused."""
        try:
            source = self._sources.find(function)
        except ConversionError:
            return None
        converted: tuple[tuple[str, int | None], ...] = ()
        with contextlib.suppress(ConversionError):
            converted = self._rewritten_lines(function, source, stops) if is_converted else ()
        first = min([source.node.lineno, *(each.lineno for each in getattr(source.node, "decorator_list", ()))])
        lines = linecache.getlines(source.filename, function.__globals__)[first - 1 : source.node.end_lineno]
        return Listing(
            function.__qualname__, source.filename, first, tuple(line.rstrip("\n") for line in lines), converted
        )

    def _rewritten_lines(
        self, function: types.FunctionType, source: FunctionSource, stops: bool
    ) -> tuple[tuple[str, int | None], ...]:
        found = _with_enough_stack(lambda: lines_with_origins(self._rewritten(function, source, stops)[0]))
        return () if isinstance(found, Exception) else found

    def python_only(self, function: types.FunctionType) -> str | None:
        """What in ``function``, if anything, shows whether a number is Python's or traced."""
        known = self._outputs.get(id(function.__code__))
        return (known.output if known is not None else self._code(function).output).python_only

    def writes_unseen(self, function: types.FunctionType) -> bool:
        """Whether Python may call methods that write, by itself, where this rewritten function runs."""
        known = self._outputs.get(id(function.__code__))
        return known is not None and known.output.writes_unseen

    def calls(self, function: types.FunctionType) -> bool:
        """Whether this rewritten function may call code of the user's by a name in it; so may one that is not known."""
        known = self._outputs.get(id(function.__code__))
        return known is None or known.output.calls

    def is_converted(self, function: types.FunctionType) -> bool:
        """Whether ``function`` is rewritten already, as a whole or as part of one that is.

        A decorator may have changed the rewritten code since, so the operators it uses tell as well.
        """
        return self.is_converted_code(function.__code__) or _OPERATORS in function.__code__.co_freevars

    def is_converted_code(self, code: types.CodeType) -> bool:
        """Whether this is code that a conversion has made."""
        return id(code) in self._outputs

    def written(self, code: types.CodeType) -> types.CodeType:
        """The code of the user's that this has been made from; itself, if it has not been made."""
        known = self._outputs.get(id(code))
        found = None if known is None or known.written is None else known.written()
        return code if found is None else found

    def _remember(self, function: types.FunctionType, converted: types.FunctionType, stops: bool) -> None:
        """Keep the pair while ``function`` lives.

        A closure can be reached from its own cells, so only a bounded number are.
        """
        with self._lock:
            (self._stopping if stops else self._functions)[function] = converted
            if function.__closure__:
                self._closures[id(function)] = None
                if len(self._closures) > _CLOSURES_KEPT:
                    self._forget_oldest_closures()

    def _forget_oldest_closures(self) -> None:
        while len(self._closures) > _CLOSURES_KEPT // 2:
            self._closures.popitem(last=False)
        for functions in (self._functions, self._stopping):
            for function in list(functions):
                if function.__closure__ and id(function) not in self._closures:
                    del functions[function]

    def _code(self, function: types.FunctionType, stops: bool = False) -> ConvertedCode:
        code = function.__code__
        key = id(code), stops
        entry = self._codes.get(key)
        if entry is not None:
            return entry[1]
        with self._lock:
            entry = self._codes.get(key)
            if entry is None:
                converted = self._of_source(function, lambda source: self._converted(function, source, stops))
                if is_logged(1):
                    log(1, f"converted {function.__qualname__} ({place_of(code.co_filename, code.co_firstlineno)})")
                if is_logged(3):
                    log(3, self.text(function, stops))
                entry = (weakref.ref(code, lambda _: self._codes.pop(key, None)), converted)
                self._codes[key] = entry
                for made, written in with_written(converted.code, code):
                    self._register(made, converted.output, written)
        return entry[1]

    def _register(self, code: types.CodeType, output: Output, written: types.CodeType | None) -> None:
        key = id(code)
        reference = weakref.ref(code, lambda _: self._outputs.pop(key, None))
        self._outputs[key] = _Made(reference, output, None if written is None else weakref.ref(written))

    def _of_source(self, function: types.FunctionType, make: Callable[[FunctionSource], T]) -> T:
        """What is made of the source of ``function``, a `ConversionError` where that fails."""
        with _no_collection():
            source = self._sources.find(function)
            made = _with_enough_stack(lambda: make(source))
        if isinstance(made, SyntaxError | RecursionError):
            raise ConversionError(
                f"{source.filename}:{source.node.lineno}: {function.__qualname__!r} could not be rewritten ({made}). "
                "Mark it with autograph.do_not_convert, and report it."
            ) from made
        return made

    def _rewritten(
        self, function: types.FunctionType, source: FunctionSource, stops: bool
    ) -> tuple[FunctionNode, Output]:
        """The tree of the rewritten function, and what is known of its code."""
        # gast's translation copies, so the file's own tree stays as it was parsed.
        flat, made = flatten_elifs(source.node)
        node = to_gast(flat)
        parts = walk(node)
        check_syntax(parts, source.filename)
        if not isinstance(node, gast.Lambda) and node.decorator_list:
            node.decorator_list = []
            parts = walk(node)
        own_names = bound_anywhere(parts)
        is_plain_call = functools.partial(self._is_plain_call, own_names, function)
        imports = _imports_anywhere(parts)
        is_directive = functools.partial(self._is_loop_directive, own_names, imports, function)
        classes = self._classes_around(function)
        reason = python_only([node])
        resolve = functools.partial(_represented, own_names, imports, function)
        shared = shared_writes(node, parts, resolve, self._is_library)
        self.names_of_arrays.add(source.filename, function.__code__.co_firstlineno, shared)
        is_logging = functools.partial(self._logs, own_names, imports, function)
        own = own_names.__contains__
        special = classes.special_methods | (OPERATORS if self._asks(function.__code__) else frozenset())
        gives_truth = functools.partial(self._gives_truth, own_names, imports, function)
        truths = self._sources.truths(function), gives_truth
        node, calls = _rewrite(
            *(
                node,
                parts,
                source,
                is_plain_call,
                own,
                is_directive,
                is_logging,
                special,
                made,
                stops,
                *truths,
                bool(function.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE),
                shared.names,
            )
        )
        return to_ast(node), Output(reason, classes.writes_unseen, calls)

    def _converted(self, function: types.FunctionType, source: FunctionSource, stops: bool) -> ConvertedCode:
        tree, output = self._rewritten(function, source, stops)
        code = compile_function(
            tree,
            function.__code__,
            free_names=[*function.__code__.co_freevars, _OPERATORS],
            class_name=source.class_name,
            compiler_flags=source.compiler_flags,
        )
        return ConvertedCode(code, output)

    def _is_plain_call(self, own_names: frozenset[str], function: types.FunctionType, node: gast.AST) -> bool:
        """Whether the called expression is a module's function (or a builtin) that needs no help, as things stand."""
        if isinstance(node, gast.Call | gast.Lambda):
            return isinstance(node, gast.Lambda)
        called = _resolve(node, own_names, function)
        return called is not _UNRESOLVED and self._is_plain(called)

    def _gives_truth(
        self, own_names: frozenset[str], imports: dict[str, object], function: types.FunctionType, node: gast.AST
    ) -> bool:
        """Whether the called expression is a user's function, of any file, that may return a truth value, as things stand."""
        called = self._users_function(own_names, imports, function, node)
        try:
            return called is not None and called.__name__ in self._sources.truths(called).functions
        except ConversionError:
            return False

    def _users_function(
        self, own_names: frozenset[str], imports: dict[str, object], function: types.FunctionType, node: gast.AST
    ) -> types.FunctionType | None:
        """The user's function that the called expression is, as things stand."""
        called = _resolve(node, own_names, function, imports)
        called = getattr(called, "__wrapped__", called)
        return called if type(called) is types.FunctionType and not self._is_library(called) else None

    def _is_loop_directive(
        self, own_names: frozenset[str], imports: dict[str, object], function: types.FunctionType, node: gast.AST
    ) -> bool:
        return _resolve(node, own_names, function, imports) is self._loop_directive

    def _logs(
        self, own_names: frozenset[str], imports: dict[str, object], function: types.FunctionType, node: gast.AST
    ) -> bool:
        return self._is_logging(_resolve(node.value, own_names, function, imports), node.attr)


def _lines(code: types.CodeType) -> range:
    """The lines of a function, those of what it defines included."""
    found = [line for each in (code, *nested_codes(code)) for _, _, line in each.co_lines() if line]
    return range(min(found), max(found) + 1) if found else range(0)


def _with_enough_stack(convert: Callable[[], T]) -> T | SyntaxError | RecursionError:
    """What ``convert()`` returns, or the error that the function itself is the cause of.

    Where the rest of this thread's stack is too short, a thread of its own converts. A `RecursionError` of this thread
    (no room to start another) says nothing about the function, so it is raised.
    """
    try:
        return convert()
    except SyntaxError as error:
        return error
    except RecursionError:
        pass
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(convert)
    failure = done.exception()
    return failure if isinstance(failure, SyntaxError | RecursionError) else done.result()


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Hold off the cycle collector: trees are many objects and no garbage, and each full collection scans all of
    JAX.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _rewrite(
    node: gast.AST,
    parts: Sequence[gast.AST],
    source: FunctionSource,
    is_plain_call: Callable[[gast.AST], bool],
    is_own_name: Callable[[str], bool],
    is_loop_directive: Callable[[gast.AST], bool],
    is_logging: Callable[[gast.AST], bool],
    special: frozenset[str],
    made: Sequence[str],
    stops: bool,
    truths: Truths,
    gives_truth: Callable[[gast.AST], bool],
    is_coroutine: bool,
    shared_names: frozenset[str],
) -> tuple[gast.AST, bool]:
    """What the passes make of a function, and whether it has calls or reads that may lead to code of the user's.

    Args:
      parts: all nodes of the function, as it is.
    """
    names = Namer(names_in(parts) | {_OPERATORS})
    names.made += made
    context = Context(
        _OPERATORS,
        names,
        is_plain_call,
        is_own_name,
        is_loop_directive,
        is_logging,
        special,
        stops,
        is_coroutine,
        source.partial_writes,
        source.has_tuple_items,
        truths,
        gives_truth,
        shared_names,
    )
    kinds = set(map(type, parts))
    calls = not _LEADING.isdisjoint(kinds) or any(getattr(part, "decorator_list", None) for part in parts)
    for make_pass in PASSES:
        if make_pass.applies_to is None or kinds & make_pass.applies_to:
            node = make_pass(context)(node)
            kinds |= make_pass.introduces
    return node, calls or context.has_calls


def _imports_anywhere(parts: Iterable[gast.AST]) -> dict[str, object]:
    """What ``import`` statements among a definition's nodes bind, as far as it is loaded already."""
    found: dict[str, object] = {}
    for part in parts:
        if type(part) is gast.Import:
            for alias in part.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or name] = sys.modules.get(name, _UNRESOLVED)
        elif type(part) is gast.ImportFrom and not part.level:
            module = sys.modules.get(part.module)
            for alias in part.names:
                found[alias.asname or alias.name] = getattr(module, alias.name, _UNRESOLVED)
    return found


def _captured_value(function: types.FunctionType, name: str) -> object:
    """What the closure variable ``name`` holds now."""
    try:
        return dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))[name].cell_contents
    except (KeyError, ValueError):
        return _UNRESOLVED


def _represented(
    own_names: frozenset[str], imports: dict[str, object], function: types.FunctionType, node: gast.AST
) -> object:
    """The object that a called expression represents, as things stand; None if that cannot be told."""
    found = _resolve(node, own_names, function, imports)
    return None if found is _UNRESOLVED else found


def _resolve(
    node: gast.AST,
    own_names: frozenset[str],
    function: types.FunctionType,
    imports: dict[str, object] | None = None,
) -> object:
    """The object a name or a chain of module attributes represents now, if that can be told without running code.

    Closure variables and names that the definition itself imports count if ``imports`` are given: they represent one
    object by custom, not by rule.
    """
    if isinstance(node, gast.Attribute):
        owner = _resolve(node.value, own_names, function, imports)
        if isinstance(owner, types.ModuleType):
            return vars(owner).get(node.attr, _UNRESOLVED)
        return _UNRESOLVED
    if not isinstance(node, gast.Name):
        return _UNRESOLVED
    if node.id in own_names:
        return (imports or {}).get(node.id, _UNRESOLVED)
    if node.id in function.__code__.co_freevars:
        return _UNRESOLVED if imports is None else _captured_value(function, node.id)
    if node.id in function.__globals__:
        return function.__globals__[node.id]
    return getattr(builtins, node.id, _UNRESOLVED)
