"""`LowerLookups`: reads of items at computed indices in; operator calls that allow a traced index out."""

from __future__ import annotations

import gast

from autograph._analysis.children import walk
from autograph._passes.handled import handled_parts
from autograph._passes.lists import GROWING_METHODS
from autograph._passes.nodes import OF_NAMES_AND_CONSTANTS, Context, Rewriter, constant, placed


class LowerLookups(Rewriter):
    """Rewrites reads of items, for what cannot be read at a traced index: Python's own sequences and NumPy's arrays.

    Constant indices stay as they are, except texts, and others where dicts may have such keys on some paths only, where a
    handler may take the `KeyError`, and where a class around has its own ``__getitem__``.

    A method that writes to the item is called of that at each index that it may have:

        rows[state].append(v)  →  ag__.item_method(rows, state, 'append')(v)

    Attributes:
      written: names from outside whose writing methods are called: what they hold may not be known while tracing.
      handled: reads where a handler may take a `KeyError`.

    >>> from autograph._passes.shown import rewritten
    >>> print(rewritten(LowerLookups, '''
    ... def f(table, state):
    ...     return table[state], table[0]
    ... '''))
    def f(table, state):
        return (ag__.get_item(table, state), table[0])
    """

    applies_to: frozenset[type] | None = frozenset({gast.Subscript})
    introduces: frozenset[type] = frozenset()

    def __init__(self, context: Context) -> None:
        self.context = context
        self.written: set[str] = set()
        self.handled: set[gast.AST] = set()

    def __call__(self, node: gast.AST) -> gast.AST:
        parts = walk(node)
        self.handled = {
            part for part in handled_parts(self.context, parts, (KeyError,)) if isinstance(part, gast.Subscript)
        }
        for part in parts:
            if isinstance(part, gast.Attribute) and part.attr in GROWING_METHODS and isinstance(part.value, gast.Name):
                if not self.context.is_own_name(part.value.id):
                    self.written.add(part.value.id)
        return self.visit(node)

    def visit_FunctionDef(self, node: gast.AST) -> gast.AST:
        """Annotations are no reads."""
        node.body = [self.visit(part) for part in node.body]
        node.args.defaults = [self.visit(part) for part in node.args.defaults]
        node.args.kw_defaults = [part and self.visit(part) for part in node.args.kw_defaults]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: gast.AST) -> gast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        method = node.func
        is_written = isinstance(method, gast.Attribute) and method.attr in GROWING_METHODS
        if not is_written or not isinstance(method.value, gast.Subscript) or is_text(method.value.slice):
            return self.generic_visit(node)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        may_tell = any(not isinstance(part, OF_NAMES_AND_CONSTANTS) for each in given for part in walk(each))
        node = self.generic_visit(node)
        item = node.func.value
        if self.context.is_operator_call(item) and item.func.attr == "get_item":
            found = self.context.call("item_method", *item.args, constant(method.attr), constant(may_tell))
            node.func = placed(found, node.func)
        return node

    def visit_Subscript(self, node: gast.AST) -> gast.AST:
        is_read = isinstance(node.ctx, gast.Load) and not self.context.is_operator(node.value)
        wanted = is_read and (
            "__getitem__" in self.context.special_methods
            or (isinstance(node.value, gast.Name) and node.value.id in self.written)
            or not self._stays(node)
        )
        node = self.generic_visit(node)
        if not wanted:
            return node
        key = node.slice
        if isinstance(key, gast.Tuple) and any(isinstance(part, gast.Slice) for part in key.elts):
            key = gast.Subscript(self.context.operator("index"), key, gast.Load())
        return placed(self.context.call("get_item", node.value, key), node)

    def _stays(self, node: gast.AST) -> bool:
        """Whether the index is known, and no key that a dict may lack on some paths."""
        may_lack = self.context.partial_writes.keys or node in self.handled
        return _is_known(node.slice) and not (may_lack and _is_key(node.slice))


def _is_key(node: gast.AST) -> bool:
    """Whether an index that is known can be a key of a dict: no slice is."""
    return not any(isinstance(part, gast.Slice) for part in walk(node))


def _is_known(node: gast.AST) -> bool:
    """Whether an index is made of constants and slices, whose bounds another pass looks after.

    A text is none: it is the key of a dict, which may lack it on some paths.
    """
    if isinstance(node, gast.Tuple):
        return all(map(_is_known, node.elts))
    if isinstance(node, gast.UnaryOp):
        return _is_known(node.operand)
    return isinstance(node, gast.Constant | gast.Slice) and not is_text(node)


def is_text(node: gast.AST) -> bool:
    """Whether an expression is a text that is written out."""
    return isinstance(node, gast.JoinedStr) or (isinstance(node, gast.Constant) and isinstance(node.value, str))
