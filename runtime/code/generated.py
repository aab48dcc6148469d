"""Generate the source of functions that run on each call: a generated chain of comparisons takes a third of the time
of a loop.
"""

from __future__ import annotations

import keyword
import operator
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import jax

DISPATCHED_AT_MOST = 16  # combinations of types; each is compared before the next
_UNROLLED = 24  # leaves that are compared by an expression of their own each
_LARGEST = 1000  # leaves; the source grows with them
_INLINED = 2000  # characters of a check that stand in the function itself
_FILE = os.path.join(os.path.dirname(__file__), "<dispatch>")  # no such file; by it, frames are known as ours
_OURS = "ag__"  # what names in the source begin with that are not parameters of the user's
_MISSING: Any = object()
_FAILS = "(AttributeError, KeyError, IndexError, ReferenceError, TypeError, ValueError)"


class Check:
    """Whether something is as it was, as source.

    Attributes:
      changed: a function that tells; called where the source is not part of another function.
    """

    def __init__(self, lines: Sequence[str], environment: dict[str, Any]) -> None:
        """``lines`` run ``return True`` where something is not as it was, or fail. They use names of the ``environment``.

        >>> names = {"n": 1}
        >>> check = Check(["if names['n'] is not known: return True"], {"names": names, "known": 1})
        >>> check.changed(), names.update(n=2), check.changed()
        (False, None, True)
        """
        self._lines, self.environment, self._is_source = lines, environment, True
        body = "".join(f"        {line}\n" for line in lines)
        self.changed: Callable[[], bool] = defined(
            f"def changed():\n    try:\n{body}        return False\n    except {_FAILS}:\n        return True\n",
            dict(environment),
            "changed",
        )

    @classmethod
    def calling(cls, changed: Callable[[], bool]) -> Check:
        """A check that is a function already."""
        check = cls((), {})
        check.changed, check._is_source = changed, False
        return check

    def inlined(self, parameters: Collection[str]) -> list[str] | None:
        """The check as statements of a function with these parameters, which ``break`` if something has changed.

        None if it is too long for that, or a name of it is a parameter's.
        """
        if not self._is_source or sum(map(len, self._lines)) > _INLINED:
            return None
        local = {name for line in self._lines if (name := line.partition(" = ")[0]).isidentifier()}
        if not (self.environment.keys() | local).isdisjoint(parameters):
            return None
        lines = [
            f"    {line.removesuffix('return True')}break" if line.startswith("if ") else f"    {line}"
            for line in self._lines
        ]
        return ["try:", *lines, f"except {_FAILS}: break"] if lines else []


def itself(value: Any) -> Any:
    """A key for values that are distinguished by equality."""
    return value


def float_key(value: float) -> Any:
    """A key for floats: zeros are distinguished by sign, and nan is equal to itself; the rest need no text."""
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


def block_source(
    number: int,
    parameters: Any,
    values: tuple[Any, ...],
    kinds: Sequence[type],
    parts: Sequence[Any],
    fields: Callable[[Any], Fields | None],
    by_jax: bool,
) -> Block | None:
    """The block for canonical arguments like ``values``; None for structures that no source is known for.

    Lists, tuples, dicts, named tuples and dataclasses are taken apart by expressions, other pytrees by JAX.

    Args:
      number: tells its names from other blocks'.
      parameters: the `Arguments` of the function.
      values: the arguments, each dataclass that is no pytree as something that ``fields`` knows, and each object that is one leaf,
        whatever it is to JAX, as such a leaf.
      kinds: the classes of their leaves.
      parts: for each leaf the function that makes a key of it, None for an array.
      fields: what represents a dataclass, as `Fields`; None of anything else.
      by_jax: whether JAX tells all structures of these arguments apart, which it does not of dicts by the types of their keys.
    """
    names = _Parameters(parameters)
    if not names.are_free:
        return None
    sources, tests = names.sources(len(values))
    block = Block([f"if {' or '.join(tests)}: break"] if tests else [], {}, f"{_OURS}entry{number}")
    known = _Known(number, block.environment)
    taking = _TakingApart(f"{_OURS}part{number}_", len(parts) > _UNROLLED, known, fields)
    if all([taking.take(value, source) for value, source in zip(values, sources, strict=True)]):
        lines, leaves = taking.lines, taking.leaves
    elif by_jax and (flattened := _flattened(values, sources, kinds, known, fields)) is not None:
        lines, leaves = flattened
    else:
        return None
    leaves, test = (_all_at_once if len(kinds) > _UNROLLED else _one_by_one)(lines, leaves, kinds, known)
    if lines:
        lines = ["try:", *(f"    {line}" for line in lines), "except (KeyError, AttributeError): break"]
    block.lines += [*lines, *([f"if not ({test}): break"] if test else [])]
    keys = [
        _SIMPLE_KEYS.get(part, f"{known.name(part)}({{0}})").format(leaf)
        for leaf, part in zip(leaves, parts, strict=True)
        if part is not None
    ]
    entry = block.only
    if keys:
        key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
        entry = f"{_OURS}entry"
        block.lines += [f"{entry} = {known.name(block.entries)}.get({key})", f"if {entry} is None: break"]
    if id in parts:
        block.lines.append(f"if {entry}.changed is not None and {entry}.changed(): break")
    are_arrays = len(kinds) > _UNROLLED and not keys
    operands = (
        f"*{_OURS}leaves" if are_arrays else _listed(leaf for leaf, part in zip(leaves, parts, strict=True) if not part)
    )
    run, result = f"{_OURS}run", f"{_OURS}result"
    block.lines += [
        f"if {entry} is not {_OURS}last or {_OURS}number < {_OURS}enough:",
        f"    {_OURS}number += 1; {_OURS}last = {entry}; {entry}.used = {_OURS}number",
        f"{run} = {entry}.direct",
        f"if {run} is None: return {entry}.call(({operands}{',' if are_arrays else ''}))",
        f"{result} = {run}({operands})",
        f"return {result} if {entry}.direct is {run} else {entry}.program.finish({result})",
    ]
    return block


def _one_by_one(lines: list[str], leaves: list[str], kinds: Sequence[type], known: _Known) -> tuple[list[str], str]:
    """Names for leaves, to be bound by the lines, and a test of their types."""
    names = []
    for k, leaf in enumerate(leaves):
        names.append(leaf if leaf.isidentifier() else f"{_OURS}leaf{k}")
        if not leaf.isidentifier():
            lines.append(f"{_OURS}leaf{k} = {leaf}")
    tests = [f"{_OURS}type({name}) is {known.name(kind)}" for name, kind in zip(names, kinds, strict=True)]
    return names, " and ".join(tests)


def _all_at_once(lines: list[str], leaves: list[str], kinds: Sequence[type], known: _Known) -> tuple[list[str], str]:
    """As `_one_by_one`, with all leaves in a tuple."""
    whole = f"{_OURS}leaves"
    if leaves != [f"*{whole}"]:
        lines.append(f"{whole} = ({_listed(leaves)})")
    types = f"{_OURS}map({_OURS}type, {whole})"
    if len(set(kinds)) == 1:  # as most long ones are; identity is compared first
        test = f"{known.name(operator.countOf)}({types}, {known.name(kinds[0])}) == {len(kinds)}"
    else:
        test = f"{_OURS}tuple({types}) == {known.name(tuple(kinds))}"
    return [f"{whole}[{k}]" for k in range(len(kinds))], test


def _listed(sources: Iterable[str]) -> str:
    return "".join(f"{source}, " for source in sources)


class _Known:
    """Names for the objects that a block compares with."""

    def __init__(self, number: int, environment: dict[str, Any]) -> None:
        self._prefix = f"{_OURS}known{number}_"
        self._names: dict[int, str] = {}
        self.environment = environment

    def name(self, value: Any) -> str:
        name = self._names.setdefault(id(value), f"{self._prefix}{len(self._names)}")
        self.environment[name] = value  # which also keeps the id its own
        return name


class _Parameters:
    """The parameters of a dispatching function: those of the user's."""

    def __init__(self, parameters: Any) -> None:
        self.positional, self.positional_only = list(parameters.positional), parameters.positional_only
        self.keyword_only = list(parameters.keyword_only)
        self.more = parameters.var_positional and f"{_OURS}more"
        self.keywords = parameters.var_keyword and f"{_OURS}keywords"
        self.instance = [f"{_OURS}instance"] if parameters.is_bound else []

    @property
    def names(self) -> list[str]:
        """All that are distinguished by name."""
        return [*self.positional, *self.keyword_only]

    @property
    def are_free(self) -> bool:
        """Whether no parameter's name has another meaning in the source."""
        return not any(
            name.startswith(_OURS) or not name.isidentifier() or keyword.iskeyword(name) for name in self.names
        )

    def sources(self, count: int) -> tuple[list[str], list[str]]:
        """Expressions for so many canonical values, and tests that more, or others, were given."""
        tail = [*self.keyword_only, *([self.keywords] if self.keywords else [])]
        if count < len(self.positional) + len(tail):  # of a signature that leaves out the last
            return self.positional[:count], [f"{name} is not {_OURS}missing" for name in self.positional[count:]]
        extra = count - len(self.positional) - len(tail)
        sources = [*self.positional, *(f"{self.more}[{k}]" for k in range(extra)), *tail]
        return sources, [f"{_OURS}len({self.more}) != {extra}"] if self.more else []

    def head(self, defaults: Mapping[str, str]) -> str:
        """The list of parameters, with what represents the default of each."""
        shown = {name: f"{name}={defaults[name]}" if name in defaults else name for name in self.names}
        positional = [shown[name] for name in self.positional]
        if self.positional_only:
            positional.insert(self.positional_only, "/")
        rest = [f"*{self.more}"] if self.more else ["*"] if self.keyword_only else []
        rest += [shown[name] for name in self.keyword_only]
        return ", ".join([*self.instance, *positional, *rest, *([f"**{self.keywords}"] if self.keywords else [])])

    def again(self) -> tuple[str, str]:
        """Expressions for the positional arguments and the keywords of a call."""
        positional = _listed([*self.positional, *([f"*{self.more}"] if self.more else [])])
        named = "".join(f"{name!r}: {name}, " for name in self.keyword_only)
        return f"({positional})", f"{{{named}{f'**{self.keywords}' if self.keywords else ''}}}"


def dispatch_function(
    parameters: Any,
    has_defaults: bool,
    blocks: Sequence[Block],
    check: Check | None,
    environment: Mapping[str, Any],
    number: int,
    counted: int,
) -> tuple[Callable[..., Any], Callable[..., int]]:
    """A function that is called as the user's is, and leaves what no block is for to ``otherwise(args, kwargs)``.

    Args:
      parameters: the `Arguments` of the user's function.
      has_defaults: whether what is left out is the default.
      blocks: the blocks, in the order in which they are tried.
      check: none of them is tried while something of this has changed.
      environment: ``otherwise``, ``reported`` and ``Redone``, what a call ends with that is to be made by ``otherwise``.
      number: how many calls there were before.
      counted: of the calls that follow each other and run one program, so many are counted: a new number for each
        is an object for each.

    Returns: the function, and one that returns the number of the next call; or with 0, of the last, and counts anew from there.
    """
    names = _Parameters(parameters)
    known = {
        **{f"{_OURS}{name}": value for name, value in environment.items()},
        **{f"{_OURS}{kind.__name__}": kind for kind in (type, len, tuple, list, dict, set, map)},
        **{f"{_OURS}missing": _MISSING, f"{_OURS}given": _given},
        **{f"{_OURS}number": number, f"{_OURS}enough": number + counted, f"{_OURS}last": None},
    }
    for block in blocks:
        known |= block.environment
    lines: list[str] = []
    if check is not None:
        inlined = check.inlined(names.names)
        known |= {f"{_OURS}changed": check.changed} if inlined is None else check.environment
        lines += [f"if {_OURS}changed(): break"] if inlined is None else inlined
    for block in blocks:
        lines += ["while True:", *(f"    {line}" for line in block.lines)]
    body = "\n".join(" " * 12 + line for line in lines)
    if has_defaults:
        defaults = {name: f"{_OURS}default_{name}" for name in parameters.defaults}
        known |= {defaults[name]: value for name, value in parameters.defaults.items()}
    else:
        defaults = dict.fromkeys(names.names, f"{_OURS}missing")
    args, kwargs = names.again()
    again = f"{args}, {kwargs}" if has_defaults else f"*{_OURS}given({args}, {names.positional}, {kwargs})"
    source = f"""
def call({names.head(defaults)}):
    global {_OURS}number, {_OURS}last
    try:
        while True:
{body}
            break
    except {_OURS}Redone:  # a first call for other shapes touches Variables, or changes its arguments
        pass
    except BaseException as {_OURS}error:
        {_OURS}cause = {_OURS}reported({_OURS}error)
        if {_OURS}cause is None:
            raise
        raise {_OURS}cause from None
    try:
        return {_OURS}otherwise({again})
    except BaseException as {_OURS}error:
        {_OURS}cause = {_OURS}reported({_OURS}error)
        if {_OURS}cause is None:
            raise
        raise {_OURS}cause from None
def tick(step=1):
    global {_OURS}number, {_OURS}enough
    {_OURS}number += step
    {_OURS}enough = {_OURS}number + {counted}
    return {_OURS}number
"""
    call, tick = defined(source, known, "call", "tick")
    call.__name__ = call.__qualname__ = parameters.name or "function"
    return call, tick


def refusal_of_call(parameters: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError | None:
    """What Python says of a call that a function with these parameters (`Arguments`) does not take; None if it takes it."""
    names = _Parameters(parameters)
    if not names.are_free:
        return None
    source = f"def call({names.head(dict.fromkeys(parameters.defaults, 'None'))}): pass\n"
    call = defined(source, {}, "call")
    call.__name__ = call.__qualname__ = parameters.name or "function"
    try:
        call(*names.instance, *args, **kwargs)
    except TypeError as error:
        return error.with_traceback(None)
    return None


def _given(
    positional: tuple[Any, ...], names: Sequence[str], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call from what parameters hold that may be left out."""
    left_out = next((k for k, value in enumerate(positional) if value is _MISSING), len(positional))
    later = zip(names[left_out:], positional[left_out:], strict=False)
    rest = {name: value for name, value in (*later, *named.items()) if value is not _MISSING}
    return positional[:left_out], rest


@dataclass(frozen=True)
class Fields:
    """A dataclass that is no pytree: its class, the values of its fields by name, and whether they are all that its ``__dict__`` holds.

    If not, they are in slots.
    """

    kind: type
    values: Mapping[str, Any]
    are_in_dict: bool


class _TakingApart:
    """Lines that take values of one structure apart, ``break`` where it is another, and expressions for their leaves.

    No function that refers to itself: it would keep what is known to be compared, programs among it, until the garbage collector runs.
    """

    def __init__(self, prefix: str, starred: bool, known: _Known, fields: Callable[[Any], Fields | None]) -> None:
        """``starred``: a container of leaves alone may be one expression."""
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self._names = (f"{prefix}{k}_" for k in range(_LARGEST))
        self._starred, self._known, self._fields = starred, known, fields
        self._count = 0

    def take(self, value: Any, source: str) -> bool:
        """Add those of a value that the source is an expression for; whether there are any."""
        if value is None:
            self.lines.append(f"if {source} is not None: break")
            return True
        kind, held = type(value), self._fields(value)
        is_named = _is_named_tuple(kind)
        if kind not in (dict, list, tuple) and not is_named and held is None:
            return jax.tree_util.all_leaves([value]) and self._add(source, 1)
        name = next(self._names, None)
        if name is None:
            return False
        self.lines.append(f"{name} = {source}")
        if held is not None:
            return self._take_fields(held, name)
        if is_named:
            self._compare(name, kind)
        else:
            self.lines.append(
                f"if {_OURS}type({name}) is not {_OURS}{kind.__name__} or {_OURS}len({name}) != {len(value)}: break"
            )
        if kind is dict:
            key_types = set(map(type, value))
            if key_types == {int}:  # equal to others: True, 1.0
                self.lines.append(
                    f"if {_OURS}set({_OURS}map({_OURS}type, {name})) != {self._known.name(key_types)}: break"
                )
            return key_types in ({str}, {int}, set()) and all(
                [self.take(value[key], f"{name}[{key!r}]") for key in sorted(value)]
            )
        if self._starred and value and jax.tree_util.all_leaves(value):
            return self._add(f"*{name}", len(value))
        return all([self.take(item, f"{name}[{k}]") for k, item in enumerate(value)])

    def _take_fields(self, held: Fields, name: str) -> bool:
        self._compare(name, held.kind)
        if not held.are_in_dict:
            return all([self.take(part, f"{name}.{field}") for field, part in held.values.items()])
        self.lines += [f"{name} = {name}.__dict__", f"if {_OURS}len({name}) != {len(held.values)}: break"]
        return all([self.take(part, f"{name}[{field!r}]") for field, part in held.values.items()])

    def _compare(self, name: str, kind: type) -> None:
        self.lines.append(f"if {_OURS}type({name}) is not {self._known.name(kind)}: break")

    def _add(self, source: str, count: int) -> bool:
        self.leaves.append(source)
        self._count += count
        return self._count <= _LARGEST


def _is_named_tuple(kind: type) -> bool:
    """Whether JAX takes this for a named tuple, and its items are those of the tuple."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields") and kind.__getitem__ is tuple.__getitem__


def _flattened(
    values: tuple[Any, ...],
    sources: Sequence[str],
    kinds: Sequence[type],
    known: _Known,
    fields: Callable[[Any], Fields | None],
) -> tuple[list[str], list[str]] | None:
    """As `_TakingApart`, for any pytrees, by JAX; None if there are others among them, or too many leaves."""
    leaves, treedef = jax.tree_util.tree_flatten(values, is_leaf=lambda part: fields(part) is not None)
    if len(leaves) > _LARGEST or list(map(type, leaves)) != list(kinds):
        return None
    whole, tree = f"{_OURS}leaves", f"{_OURS}tree"
    lines = [
        "try:",
        f"    {whole}, {tree} = {known.name(jax.tree_util.tree_flatten)}(({_listed(sources)}))",
        f"    if {tree} != {known.name(treedef)}: break",
        "except Exception: break",  # of what the user's class does: the cache will meet it again
    ]
    return lines, [f"*{whole}"] if len(leaves) > _UNROLLED else [f"{whole}[{k}]" for k in range(len(leaves))]


def defined(source: str, environment: dict[str, Any], *names: str) -> Any:
    """The functions of these names that the source defines, or the one, with this environment.

    It is their globals: what a function has as closure variables is copied at each call, whether it is used or not.
    """
    exec(compile(source, _FILE, "exec"), environment)
    made = [environment.pop(name) for name in names]  # else the functions and their globals would hold each other
    return made[0] if len(made) == 1 else made
