"""Functions written for one purpose as source, since they run at every call: a chain of comparisons costs a
third of a loop over them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import jax

_LARGEST = 1000  # leaves; the source grows with them
_FILE = os.path.join(os.path.dirname(__file__), "<dispatch>")  # no such file; by it, frames are known as ours


def unpacker(values: tuple[Any, ...]) -> Callable[[Sequence[Any]], Sequence[Any] | None] | None:
    """A function from arguments of the structure of ``values`` to their leaves, and from any others to None.

    In the order of `jax.tree_util.tree_leaves`, in a third of its time. None for containers other than lists,
    tuples and dicts by strings.

    >>> leaves_of = unpacker(({"b": 1, "a": [2, 3]}, 4))
    >>> leaves_of(({"a": [5, 6], "b": 7}, 8)), leaves_of(({"a": [5], "b": 7}, 8))
    ((5, 6, 7, 8), None)
    """
    taken = _taken_apart([(value, f"values[{k}]") for k, value in enumerate(values)], "return None", _LARGEST)
    if taken is None:
        return None
    lines, leaves = taken
    body = "\n        ".join([*lines, f"return ({''.join(leaf + ', ' for leaf in leaves)})"])
    return _defined(
        f"def unpack(values):\n    try:\n        {body}\n    except KeyError:\n        return None",
        "unpack",
        {},
    )


def _taken_apart(
    values: Sequence[tuple[Any, str]], otherwise: str, largest: int, starred: bool = True
) -> tuple[list[str], list[str]] | None:
    """Lines that take values of this structure apart, and expressions for their leaves. ``otherwise`` is what to do
    with values of another. ``starred``: a container of leaves alone may be one expression.
    """
    lines: list[str] = []
    leaves: list[str] = []
    names = (f"part{k}" for k in range(largest))

    def visit(value: Any, source: str) -> bool:
        if value is None:
            lines.append(f"if {source} is not None: {otherwise}")
            return True
        kind = type(value)
        if kind not in (dict, list, tuple):
            leaves.append(source)
            return jax.tree_util.all_leaves([value]) and len(leaves) <= largest
        name = next(names, None)
        if name is None:
            return False
        lines.append(f"{name} = {source}")
        lines.append(f"if type({name}) is not {kind.__name__} or len({name}) != {len(value)}: {otherwise}")
        if kind is dict:
            keys = list(value)
            return all(type(key) is str for key in keys) and all(
                [visit(value[key], f"{name}[{key!r}]") for key in sorted(keys)]
            )
        if starred and value and jax.tree_util.all_leaves(value):
            leaves.append(f"*{name}")
            return len(value) <= largest
        return all([visit(item, f"{name}[{k}]") for k, item in enumerate(value)])

    return (lines, leaves) if all([visit(value, source) for value, source in values]) else None


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


MISSED: Any = object()
Block = tuple[str, dict[str, Any]]


def itself(value: Any) -> Any:
    """A key for values that are told apart by equality."""
    return value


def float_key(value: float) -> Any:
    """A key for floats: zeros are told apart by sign, and nan is equal to itself; the rest need no text."""
    return value if value and value == value else value.hex()


def flat_block(number: int, values: tuple[Any, ...], route: Any) -> Block:
    """What `dispatcher` does with arguments of the types of ``values``, none of them containers.

    ``route`` is a `routes.Route`; ``number`` tells its names from other blocks'.
    """
    names = [f"a{k}" for k in range(len(values))]
    environment: dict[str, Any] = {f"route{number}": route, f"entries{number}": route.entries}
    tests = [f"len(args) == {len(values)}"]
    for k, value in enumerate(values):
        environment[f"type{number}_{k}"] = type(value)
    types = " and ".join(f"type({name}) is type{number}_{k}" for k, name in enumerate(names)) or "True"
    found = f"route{number}.entry"
    if route.statics is not None:
        keys = []
        for k, part in zip(route.statics, route.parts, strict=True):
            environment[f"part{number}_{k}"] = part
            simple = {itself: "a{0}", float_key: "a{0} if a{0} and a{0} == a{0} else a{0}.hex()"}
            keys.append(simple.get(part, f"part{number}_{{0}}(a{{0}})").format(k))
        found = f"entries{number}.get({keys[0] if len(keys) == 1 else '(' + ', '.join(keys) + ')' if keys else None})"
    return (
        f"    if {' and '.join(tests)}:\n"
        + (f"        {', '.join(names)}, = args\n" if names else "")
        + f"        if {types}:\n            entry = {found}\n"
        + _call(", ".join(names[k] for k in route.positions), "            ", id in route.parts),
        environment,
    )


def nested_block(number: int, values: tuple[Any, ...], route: Any) -> Block | None:
    """What `dispatcher` does with arguments of the structure of ``values``; None if `unpacker` does not know it."""
    leaves_of = unpacker(values)
    if leaves_of is None:
        return None
    leaves = leaves_of(values)
    assert leaves is not None
    environment: dict[str, Any] = {
        f"leaves_of{number}": leaves_of,
        f"types{number}": tuple(map(type, leaves)),
        f"route{number}": route,
    }
    find = f"entry, leaves = route{number}.find(leaves)" if route.key is not None else f"entry = route{number}.entry"
    return (
        f"    leaves = leaves_of{number}(args) if len(args) == {len(values)} else None\n"
        f"    if leaves is not None and tuple(map(type, leaves)) == types{number}:\n"
        f"        {find}\n" + _call("*leaves", "        ", id in route.parts),
        environment,
    )


def _call(arguments: str, indent: str, has_objects: bool) -> str:
    lines = [
        "if entry is None or (run := entry.direct) is None:",
        "    return MISSED",
        *(["if entry.changed is not None and entry.changed():", "    return MISSED"] if has_objects else []),
        "entry.used = tick()",
        f"result = run({arguments})",
        "return result if entry.direct is run else entry.program.finish(result)",
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def dispatcher(
    blocks: Sequence[Block], is_eager: Any, changed: Callable[[], bool] | None, tick: Callable[[], int]
) -> Callable[[tuple[Any, ...]], Any]:
    """A function from a call's arguments to its result, or to `MISSED` where no block is for arguments like these."""
    environment = {"MISSED": MISSED, "is_eager": is_eager, "changed": changed, "tick": tick}
    stops = "is_eager.on" if changed is None else "is_eager.on or changed()"
    for _, names in blocks:
        environment |= names
    body = "".join(source for source, _ in blocks)
    return _defined(
        f"def quick(args):\n    if {stops}:\n        return MISSED\n{body}    return MISSED\n", "quick", environment
    )


def quick_function(
    values: tuple[Any, ...], largest: int, is_handed_on: Callable[[Any], bool], environment: dict[str, Any]
) -> Callable[..., Any] | None:
    """A function to call with arguments like these (see `runtime.quick`).

    None where they are not lists, tuples and dicts of at most ``largest`` leaves.

    Args:
      values: the arguments.
      largest: as said.
      is_handed_on: whether a leaf is told apart by its type and handed on, or by type and value and left out.
      environment: by name, what the function uses: ``entry``, ``run``, ``changed``, ``tick``, ``otherwise``,
        ``reported``, ``StateNeeded``, ``missing``, ``type``.
    """
    taken = _taken_apart([(value, f"value{k}") for k, value in enumerate(values)], "break", largest, starred=False)
    if taken is None:
        return None
    lines, sources = taken
    known: dict[str, Any] = {}
    names: dict[int, str] = {}

    def named(value: Any) -> str:
        name = names.setdefault(id(value), f"known{len(names)}")
        known[name] = value  # which also keeps the id its own
        return name

    tests: list[str] = []
    operands: list[str] = []
    for k, (value, source) in enumerate(zip(jax.tree_util.tree_leaves(values), sources, strict=True)):
        if not source.isidentifier():
            lines.append(f"leaf{k} = {source}")
            source = f"leaf{k}"
        tests.append(f"type({source}) is {named(type(value))}")
        if is_handed_on(value):
            operands.append(source)
        else:
            tests.append(f"{source} == {named(value)}")
    if any("'" in line for line in lines):
        lines = ["try:", *(f"    {line}" for line in lines), "except KeyError: break"]
    if tests:
        lines.append(f"if not ({' and '.join(tests)}): break")
    if environment["changed"] is not None:
        lines.append("if changed(): break")
    given = [f"value{k}" for k in range(len(values))]
    margin = "\n                "
    source = f"""
def make({", ".join([*environment, *known])}):
    def call({"".join(f"{name}=missing, " for name in given)}{"/, " if given else ""}*more, **keywords):
        try:
            while True:
                if more or keywords: break
                {margin.join(lines)}
                entry.used = tick()
                result = run({", ".join(operands)})
                return result if entry.direct is run else entry.program.finish(result)
            more = [{"".join(f"{name}, " for name in given)}*more]
            return otherwise(*[value for value in more if value is not missing], **keywords)
        except StateNeeded:  # a first call for other shapes touches Variables
            entry.direct = None
            return otherwise({", ".join(given)})
        except BaseException as error:
            cause = reported(error)
            if cause is None:
                raise
            raise cause from None
    return call
"""
    made: Callable[..., Any] = _defined(source, "make", {})(**environment, **known)
    return made


def _defined(source: str, name: str, environment: dict[str, Any]) -> Any:
    exec(compile(source, _FILE, "exec"), environment)
    return environment.pop(name)  # else the function and its globals would hold each other
