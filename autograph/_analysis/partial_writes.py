"""Which attributes objects, and whether dicts keys, may lack on some paths, as far as the text of a file tells."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from autograph._analysis.children import walk

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class PartialWrites:
    """What some paths of a file's functions may leave unset.

    Attributes: attributes (that objects may lack), keys (whether dicts may lack keys that are no texts).
    """

    attributes: frozenset[str] = frozenset()
    keys: bool = False

    @classmethod
    def of(cls, tree: ast.Module) -> PartialWrites:
        """Those of the file with this tree."""
        nodes = walk(tree)
        return cls(attributes_that_may_lack(nodes), keys_may_lack(nodes))


def attributes_that_may_lack(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """The attributes that some function sets on objects which, as far as can be seen, may lack them; and those that one deletes.

    What a method sets of its own object is sure to be there if the class sets it, in its body or its ``__init__``; what is set
    of another object, if all classes of the file do.

    >>> import ast
    >>> sorted(attributes_that_may_lack(list(ast.walk(ast.parse('''
    ... class Box:
    ...     size: int = 0
    ...     def __init__(self):
    ...         self.total = 0
    ...     def add(self, x):
    ...         self.total += x
    ...         self.last = x
    ...         del self.size
    ... ''')))))
    ['last', 'size']
    """
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    sure = _surely_set(classes)
    everywhere = frozenset.intersection(*sure.values()) if sure else frozenset()
    owners = {
        node: owner
        for owner in classes
        for method in owner.body
        if isinstance(method, _FUNCTIONS)
        for node in walk(method)
        if isinstance(node, ast.Attribute) and _is_named(node.value, *(each.arg for each in method.args.args[:1]))
    }
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            is_missed = node.attr not in (sure[owners[node]] if node in owners else everywhere)
            if isinstance(node.ctx, ast.Del) or (isinstance(node.ctx, ast.Store) and is_missed):
                found.add(node.attr)
        elif isinstance(node, ast.Call) and _is_named(node.func, "setattr", "delattr") and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                if _is_named(node.func, "delattr") or name.value not in everywhere:
                    found.add(name.value)
    return frozenset(found)


_CHANGING = frozenset(["pop", "setdefault", "update", "popitem"])
_DICTS = frozenset(["dict", "defaultdict", "Counter", "OrderedDict", "vars"])


def keys_may_lack(nodes: Sequence[ast.AST]) -> bool:
    """Whether dicts of a file may lack, on some paths, keys that are no texts: it makes dicts, and sets or deletes such keys.

    A read of a ``defaultdict`` sets the key, and a ``__missing__`` may.

    >>> import ast
    >>> texts = "d = {}; d[1] = 2", "d = {}; d['k'] = 2", "def f(x): x[1] = 2", "d = defaultdict(int); d[1]"
    >>> [keys_may_lack(list(ast.walk(ast.parse(text)))) for text in texts]
    [True, False, False, True]
    """
    makes = changes = False
    for node in nodes:
        name = _name_of(node)
        if name is None and (defined := getattr(node, "name", None)) is not None:
            if defined in ("defaultdict", "__missing__"):
                return True
        elif name == "defaultdict":
            return True
        makes = makes or name in _DICTS or isinstance(node, ast.Dict | ast.DictComp)
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changes = changes or not isinstance(node.slice, ast.Slice | ast.JoinedStr) and not _is_text(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            changes = changes or bool(node.args) and not _is_text(node.args[0])
        if makes and changes:
            return True
    return False


def _name_of(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _surely_set(classes: list[ast.ClassDef]) -> dict[ast.ClassDef, frozenset[str]]:
    """What the body of each class, the statements of its ``__init__``, or those of a class before that it extends, set on all paths."""
    found: dict[ast.ClassDef, frozenset[str]] = {}
    by_name: dict[str, frozenset[str]] = {}
    for node in classes:
        bases = [by_name.get(base.id, frozenset()) for base in node.bases if isinstance(base, ast.Name)]
        found[node] = by_name[node.name] = frozenset(_set_by(node)).union(*bases)
    return found


def _set_by(node: ast.ClassDef) -> set[str]:
    """What the body of a class, or the statements of its ``__init__``, set on all paths."""
    found: set[str] = set()
    for part in node.body:
        if isinstance(part, ast.Assign | ast.AnnAssign):
            found |= {each.id for each in _targets(part) if isinstance(each, ast.Name)}
        elif isinstance(part, _FUNCTIONS) and part.name == "__init__":
            for statement in part.body:
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    found |= {each.attr for each in _targets(statement) if isinstance(each, ast.Attribute)}
    return found


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.AST]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [part for target in targets for part in walk(target)]


def _is_named(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names
