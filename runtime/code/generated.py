"""Generate the source of functions that run on each call: a generated chain of comparisons takes a third of the time
of a loop.
"""

from __future__ import annotations

import keyword
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import jax

DISPATCHED_AT_MOST = 16  # combinations of types; each is compared before the next
_UNROLLED = 24  # leaves that are compared by an expression of their own each
_LARGEST = 1000  # leaves; the source grows with them
_FILE = os.path.join(os.path.dirname(__file__), "<dispatch>")  # no such file; by it, frames are known as ours
_MISSING: Any = object()


def check_function(lines: Sequence[str], environment: dict[str, Any]) -> Callable[[], bool]:
    """A function that runs statements which return True where something is not as it was, or fail.

    >>> names = {"n": 1}
    >>> changed = check_function(["if names['n'] is not known: return True"], {"names": names, "known": 1})
    >>> changed(), names.update(n=2), changed()
    (False, None, True)
    """
    body = "".join(f"        {line}\n" for line in lines)
    return _defined(
        f"def changed():\n    try:\n{body}        return False\n"
        "    except (AttributeError, KeyError, IndexError, ReferenceError, TypeError, ValueError):\n        return True\n",
        "changed",
        environment,
    )


def itself(value: Any) -> Any:
    """A key for values that are told apart by equality."""
    return value


def float_key(value: float) -> Any:
    """A key for floats: zeros are told apart by sign, and nan is equal to itself; the rest need no text."""
    return value if value and value == value else value.hex()


_SIMPLE_KEYS: Mapping[Any, str] = MappingProxyType(
    {itself: "{0}", float_key: "({0} if {0} and {0} == {0} else {0}.hex())"}
)


@dataclass
class Block:
    """A part of a dispatching function, for arguments of one structure and one combination of types.

    Attributes:
      lines: its statements; ``break`` leaves them where the arguments are others.
      environment: what they use.
      only: what the environment calls the only program, where there are no Python values among the arguments.
      entries: else where programs are looked up; part of the environment.
    """

    lines: list[str]
    environment: dict[str, Any]
    only: str
    entries: dict[Any, Any] = field(default_factory=dict)


def block_source(number: int, parameters: Any, values: tuple[Any, ...], parts: Sequence[Any]) -> Block | None:
    """The block for canonical arguments like ``values``; None for structures other than lists, tuples and dicts.

    Args:
      number: tells its names from other blocks'.
      parameters: the `Arguments` of the function.
      values: the arguments.
      parts: for each leaf the function that makes a key of it, None for an array.
    """
    names = _Parameters(parameters)
    if not names.are_named and parameters.keyword_only:
        return None
    sources, tests = names.sources(len(values))
    taken = _taken_apart(list(zip(values, sources, strict=True)), f"part{number}_", len(parts) > _UNROLLED)
    if taken is None:
        return None
    lines, leaves = taken
    block = Block([f"if {' or '.join(tests)}: break"] if tests else [], {}, f"entry{number}")
    known = _Known(number, block.environment)
    kinds = [type(leaf) for leaf in jax.tree_util.tree_leaves(values)]
    leaves, test = (_all_at_once if len(kinds) > _UNROLLED else _one_by_one)(lines, leaves, kinds, known)
    if any("['" in line or '["' in line for line in lines):
        lines = ["try:", *(f"    {line}" for line in lines), "except KeyError: break"]
    block.lines += [*lines, *([f"if not ({test}): break"] if test else [])]
    keys = [
        _SIMPLE_KEYS.get(part, f"{known.name(part)}({{0}})").format(leaf)
        for leaf, part in zip(leaves, parts, strict=True)
        if part is not None
    ]
    if keys:
        key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
        block.lines += [f"entry = {known.name(block.entries)}.get({key})", "if entry is None: break"]
    else:
        block.lines.append(f"entry = {block.only}")
    if id in parts:
        block.lines.append("if entry.changed is not None and entry.changed(): break")
    are_arrays = len(kinds) > _UNROLLED and not keys
    operands = "*leaves" if are_arrays else _listed(leaf for leaf, part in zip(leaves, parts, strict=True) if not part)
    block.lines += [
        "entry.used = tick()",
        "run = entry.direct",
        f"if run is None: return entry.call(({operands}{',' if are_arrays else ''}))",
        f"result = run({operands})",
        "return result if entry.direct is run else entry.program.finish(result)",
    ]
    return block


def _one_by_one(lines: list[str], leaves: list[str], kinds: list[type], known: _Known) -> tuple[list[str], str]:
    """Names for leaves, to be bound by the lines, and a test of their types."""
    names = []
    for k, leaf in enumerate(leaves):
        names.append(leaf if leaf.isidentifier() else f"leaf{k}")
        if not leaf.isidentifier():
            lines.append(f"leaf{k} = {leaf}")
    tests = [f"type({name}) is {known.name(kind)}" for name, kind in zip(names, kinds, strict=True)]
    return names, " and ".join(tests)


def _all_at_once(lines: list[str], leaves: list[str], kinds: list[type], known: _Known) -> tuple[list[str], str]:
    """As `_one_by_one`, with all leaves in a tuple."""
    lines.append(f"leaves = ({_listed(leaves)})")
    return [f"leaves[{k}]" for k in range(len(kinds))], f"tuple(map(type, leaves)) == {known.name(tuple(kinds))}"


def _listed(sources: Iterable[str]) -> str:
    return "".join(f"{source}, " for source in sources)


_NAMES = frozenset(
    ["missing", "again", "otherwise", "reported", "StateNeeded", "changed", "tick", "entry", "run", "result", "leaves"]
    + ["error", "cause", "more", "keywords", "args", "kwargs", "type", "len", "tuple", "map", "make", "call"]
)


def _is_taken(name: str) -> bool:
    """Whether a parameter of this name would be in the way of a name that the source uses."""
    has_prefix = name.startswith(("known", "part", "leaf", "entry", "default_"))
    return has_prefix or name in _NAMES or not name.isidentifier() or keyword.iskeyword(name)


class _Known:
    """Names for the objects that a block compares with."""

    def __init__(self, number: int, environment: dict[str, Any]) -> None:
        self._prefix = f"known{number}_"
        self._names: dict[int, str] = {}
        self.environment = environment

    def name(self, value: Any) -> str:
        name = self._names.setdefault(id(value), f"{self._prefix}{len(self._names)}")
        self.environment[name] = value  # which also keeps the id its own
        return name


class _Parameters:
    """The parameters of a dispatching function: those of the user's, by their names where they may be names here."""

    def __init__(self, parameters: Any) -> None:
        given = [*parameters.positional, *parameters.keyword_only]
        self.are_named = not any(map(_is_taken, given))
        unnamed = [f"given{k}" for k in range(len(parameters.positional))]
        self.positional = list(parameters.positional) if self.are_named else unnamed
        self.keyword_only = list(parameters.keyword_only)
        self.taken = parameters.var_positional is not None, parameters.var_keyword is not None
        self.positional_only = parameters.positional_only if self.are_named else len(given)

    def sources(self, count: int) -> tuple[list[str], list[str]]:
        """Expressions for so many canonical values, and tests that more, or others, were given."""
        takes_more, takes_keywords = self.taken
        tail = len(self.keyword_only) + takes_keywords
        if count < len(self.positional) + tail:  # of a signature that leaves out the last
            return self.positional[:count], [f"{name} is not missing" for name in self.positional[count:]]
        extra = count - len(self.positional) - tail
        sources = [*self.positional, *(f"more[{k}]" for k in range(extra))]
        sources += [*self.keyword_only, *(["keywords"] if takes_keywords else [])]
        tests = [f"len(more) != {extra}"] if takes_more else []
        return sources, tests

    @property
    def head(self) -> str:
        """The list of parameters."""
        shown = [f"{name}=missing" for name in self.positional]
        if self.positional_only:
            shown.insert(self.positional_only, "/")
        return ", ".join([*shown, "*more", *(f"{name}=missing" for name in self.keyword_only), "**keywords"])


def dispatch_function(
    parameters: Any,
    has_defaults: bool,
    blocks: Sequence[Block],
    changed: Callable[[], bool] | None,
    environment: dict[str, Any],
) -> Callable[..., Any]:
    """A function that is called as the user's is, and leaves what no block is for to ``otherwise(args, kwargs)``.

    Args:
      parameters: the `Arguments` of the user's function.
      has_defaults: whether what is left out is the default.
      blocks: the blocks, in the order in which they are tried.
      changed: whether none of them is to be tried now.
      environment: ``otherwise``, ``tick``, ``reported`` and ``StateNeeded``.
    """
    names = _Parameters(parameters)
    environment = {"missing": _MISSING, "again": _again, **environment}
    for block in blocks:
        environment |= block.environment
    lines: list[str] = []
    if has_defaults:
        given = [*parameters.positional, *parameters.keyword_only]
        for name, variable in zip(given, [*names.positional, *names.keyword_only], strict=True):
            if name in parameters.defaults:
                environment[f"default_{name}"] = parameters.defaults[name]
                lines.append(f"if {variable} is missing: {variable} = default_{name}")
    for block in blocks:
        lines += ["while True:", *(f"    {line}" for line in block.lines)]
    takes_more, takes_keywords = names.taken
    stops = [*(["more"] if not takes_more else []), *(["keywords"] if not takes_keywords else [])]
    stops += ["changed()"] if changed is not None else []
    environment["changed"] = changed
    margin = " " * (16 if stops else 12)
    body = "\n".join(margin + line for line in lines)
    test = f"            if not ({' or '.join(stops)}):\n" if stops else ""
    positional = "".join(f"{name}, " for name in names.positional)
    named = "".join(
        f"{name!r}: {name}, " for name in [*(names.positional if names.are_named else ()), *names.keyword_only]
    )
    otherwise = f"args, kwargs = again(({positional}), more, {{{named}}}, keywords)"
    source = f"""
def make({", ".join(environment)}):
    def call({names.head}):
        try:
{test}{body}
            pass
        except StateNeeded:  # a first call for other shapes touches Variables
            pass
        except BaseException as error:
            cause = reported(error)
            if cause is None:
                raise
            raise cause from None
        try:
            {otherwise}
            return otherwise(args, kwargs)
        except BaseException as error:
            cause = reported(error)
            if cause is None:
                raise
            raise cause from None
    return call
"""
    made: Callable[..., Any] = _defined(source, "make", {})(**environment)
    return made


def _again(
    positional: tuple[Any, ...], more: tuple[Any, ...], named: dict[str, Any], keywords: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call from what the parameters of a dispatching function hold."""
    given = len(positional)
    for k, value in enumerate(positional):
        if value is _MISSING:
            given = k
            break
    done = set(list(named)[:given]) if len(named) >= len(positional) else set()
    rest = {name: value for name, value in named.items() if value is not _MISSING and name not in done}
    return [*positional[:given], *more], {**rest, **keywords}


def _taken_apart(values: Sequence[tuple[Any, str]], prefix: str, starred: bool) -> tuple[list[str], list[str]] | None:
    """Lines that take values of this structure apart, ``break`` where it is another, and expressions for their leaves.

    ``starred``: a container of leaves alone may be one expression.
    """
    lines: list[str] = []
    leaves: list[str] = []
    names = (f"{prefix}{k}" for k in range(_LARGEST))
    count = 0

    def visit(value: Any, source: str) -> bool:
        nonlocal count
        if value is None:
            lines.append(f"if {source} is not None: break")
            return True
        kind = type(value)
        if kind not in (dict, list, tuple):
            leaves.append(source)
            count += 1
            return jax.tree_util.all_leaves([value]) and count <= _LARGEST
        name = next(names, None)
        if name is None:
            return False
        lines.append(f"{name} = {source}")
        lines.append(f"if type({name}) is not {kind.__name__} or len({name}) != {len(value)}: break")
        if kind is dict:
            keys = list(value)
            return all(type(key) is str for key in keys) and all(
                [visit(value[key], f"{name}[{key!r}]") for key in sorted(keys)]
            )
        if starred and value and jax.tree_util.all_leaves(value):
            leaves.append(f"*{name}")
            count += len(value)
            return count <= _LARGEST
        return all([visit(item, f"{name}[{k}]") for k, item in enumerate(value)])

    return (lines, leaves) if all([visit(value, source) for value, source in values]) else None


def _defined(source: str, name: str, environment: dict[str, Any]) -> Any:
    exec(compile(source, _FILE, "exec"), environment)
    return environment.pop(name)  # else the function and its globals would hold each other
