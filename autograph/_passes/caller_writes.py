"""Parameters that a function writes to for its caller: the array that it makes of one, when it writes, would be lost with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import FUNCTIONS, free_names, parameter_names, suspends_in, walk_scope
from autograph._passes.nodes import is_none

_MAKING = frozenset(
    {"len", "sum", "int", "float", "complex", "bool", "str", "abs", "round", "range", "list", "dict", "set"}
)
_READING = frozenset({"len", "sum", "max", "min", "enumerate", "zip", "abs", "any", "all"})


def only_written(function: gast.AST) -> frozenset[str]:
    """The parameters that this function writes to the items of, and from which nothing leads out of it but to its caller.

    No statement binds the parameter, hands it to what may keep or show it, or stores it, and the function returns nothing, or nothing
    in it reads what it writes last.
    """
    parts = walk_scope(function.body)
    written = {
        part.value.id
        for part in parts
        if isinstance(part, gast.Subscript) and isinstance(part.ctx, gast.Store) and isinstance(part.value, gast.Name)
    } & set(parameter_names(function.args))
    if not written or isinstance(function, gast.AsyncFunctionDef) or suspends_in(parts):
        return frozenset()
    if not _returns_nothing(parts):
        written = {name for name in written if [*_uses(function.body, name)][-1]}
    inner = [part for part in parts if isinstance(part, (*FUNCTIONS, gast.ClassDef))]
    read = {id(name): name.id for name in _names_of(parts)}
    for part in parts:
        for name in _read_in_place(part):
            read.pop(id(name), None)
    others = {*read.values(), *(name for part in inner for name in free_names(part))}
    return frozenset(written - others)


def only_augmented(function: gast.AST) -> frozenset[str]:
    """The parameters with an ``x += v`` after which nothing reads them, so that it is of use to the caller only.

    The function returns nothing, and no other statement binds the parameter.
    """
    parts = walk_scope(function.body)
    targets = [part.target for part in parts if isinstance(part, gast.AugAssign) and isinstance(part.target, gast.Name)]
    written = {target.id for target in targets} & set(parameter_names(function.args))
    if not written or isinstance(function, gast.AsyncFunctionDef) or suspends_in(parts) or not _returns_nothing(parts):
        return frozenset()
    known = set(map(id, targets))
    bound = {
        name.id
        for name in _names_of(parts)
        if not isinstance(name.ctx, gast.Load | gast.Param) and id(name) not in known
    }
    inner = [part for part in parts if isinstance(part, (*FUNCTIONS, gast.ClassDef))]
    bound |= {name for part in inner for name in free_names(part)}
    return frozenset(name for name in written - bound if not _is_read_after(function.body, name))


def may_be_callers(function: gast.AST) -> frozenset[str]:
    """The variables that are parameters, or are bound to what may be an array that there is already."""
    parts = walk_scope(function.body)
    found = set(parameter_names(function.args))
    for part in parts:
        if isinstance(part, gast.Assign) and not _makes_new(part.value):
            found |= {name.id for target in part.targets for name in _names_of([target])}
        elif isinstance(part, gast.For):
            found |= {name.id for name in _names_of([*walk(part.target)])}
    return frozenset(found)


def _makes_new(value: gast.AST) -> bool:
    is_call = isinstance(value, gast.Call) and isinstance(value.func, gast.Name) and value.func.id in _MAKING
    return is_call or isinstance(
        value, gast.Constant | gast.BinOp | gast.UnaryOp | gast.Compare | gast.JoinedStr | gast.List
    )


def _is_read_after(body: Sequence[gast.AST], name: str) -> bool:
    """Whether something reads a variable after an ``x += v`` of it, in the order of the text and, in a loop, in the next iteration."""
    is_written = False
    for is_write in _uses(body, name):
        if is_written and not is_write:
            return True
        is_written |= is_write
    return False


def _uses(node: gast.AST | Sequence[gast.AST], name: str) -> Iterator[bool]:
    """The places that use a variable, in order: True for an ``x += v``, which may read it, or a write to an item, and False for what
    reads more than its length."""
    if isinstance(node, Sequence):
        for part in node:
            yield from _uses(part, name)
        return
    is_augmented = isinstance(node, gast.AugAssign)
    if _is_written(node, name) or (is_augmented and (_is_name(node.target, name) or _is_written(node.target, name))):
        yield True
    elif isinstance(node, gast.Name):
        yield from [False] * _is_name(node, name)
    elif isinstance(node, gast.Assign):
        yield from _uses([node.value, *node.targets], name)
    elif not _is_length(node, name):
        for _ in range(2 if isinstance(node, gast.For | gast.While) else 1):
            yield from _uses([*gast.iter_child_nodes(node)], name)


def _is_name(node: gast.AST, name: str) -> bool:
    return isinstance(node, gast.Name) and bool(node.id == name)


def _is_written(node: gast.AST, name: str) -> bool:
    return isinstance(node, gast.Subscript) and isinstance(node.ctx, gast.Store) and _is_name(node.value, name)


def _is_length(node: gast.AST, name: str) -> bool:
    is_len = isinstance(node, gast.Call) and _is_name(node.func, "len") and len(node.args) == 1
    return is_len and _is_name(node.args[0], name)


def _names_of(parts: Sequence[gast.AST]) -> list[gast.AST]:
    return [part for part in parts if isinstance(part, gast.Name)]


def _read_in_place(node: gast.AST) -> list[gast.AST]:
    """The names in this part of which it needs items, attributes or values, which lead to no array itself."""
    if isinstance(node, gast.Subscript | gast.Attribute):
        return [node.value]
    if isinstance(node, gast.BinOp):
        return [node.left, node.right]
    if isinstance(node, gast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, gast.For):
        return [node.iter]
    if isinstance(node, gast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, gast.Call) and isinstance(node.func, gast.Name) and node.func.id in _READING:
        return [*node.args]
    return []


def _returns_nothing(parts: Sequence[gast.AST]) -> bool:
    """Whether all that a function returns is None, also by way of the variable that `LowerJumps` makes for it."""
    held = {
        target.id
        for part in parts
        if isinstance(part, gast.Assign) and not is_none(part.value)
        for target in _names_of([each for target in part.targets for each in walk(target)])
    }
    made = {target.id for part in parts if isinstance(part, gast.Assign) for target in _names_of(part.targets)} - held
    returned = [part.value for part in parts if isinstance(part, gast.Return)]
    return all(
        value is None or is_none(value) or (isinstance(value, gast.Name) and value.id in made) for value in returned
    )
