"""`LowerOperators`: operators and attributes that may lead to a user's method with control flow in; operator calls out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

import gast

from autograph._analysis.children import walk
from autograph._analysis.truths import HOLDING
from autograph._passes.certain import CertainValues
from autograph._passes.handled import handled_parts
from autograph._passes.nodes import Context, EvaluatedParts, bindings_of, constant, is_none, load, placed, store
from autograph._passes.stops import RAISING_BUILTINS, may_raise_for_numbers

_BINARY: Mapping[type, tuple[str, str]] = MappingProxyType(
    {
        gast.Add: ("+", "add"),
        gast.Sub: ("-", "sub"),
        gast.Mult: ("*", "mul"),
        gast.MatMult: ("@", "matmul"),
        gast.Div: ("/", "truediv"),
        gast.FloorDiv: ("//", "floordiv"),
        gast.Mod: ("%", "mod"),
        gast.Pow: ("**", "pow"),
        gast.LShift: ("<<", "lshift"),
        gast.RShift: (">>", "rshift"),
        gast.BitAnd: ("&", "and"),
        gast.BitOr: ("|", "or"),
        gast.BitXor: ("^", "xor"),
    }
)
_COMPARISONS: Mapping[type, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        gast.Lt: ("<", ("lt", "gt")),
        gast.LtE: ("<=", ("le", "ge")),
        gast.Gt: (">", ("lt", "gt")),
        gast.GtE: (">=", ("le", "ge")),
        gast.Eq: ("==", ("eq",)),
        gast.NotEq: ("!=", ("ne", "eq")),
    }
)
_UNARY: Mapping[type, tuple[str, str]] = MappingProxyType(
    {gast.USub: ("-", "neg"), gast.UAdd: ("+", "pos"), gast.Invert: ("~", "invert")}
)
OF_NUMBERS = frozenset(["bit_length", "bit_count", "is_integer", "numerator", "denominator"])
"""What Python's numbers have, and arrays have not."""
OPERATORS = OF_NUMBERS | frozenset(
    f"__{name}__"
    for names in [
        *((name, f"r{name}", f"i{name}") for _, name in _BINARY.values()),
        *(names for _, names in _COMPARISONS.values()),
        *((name,) for _, name in _UNARY.values()),
    ]
    for name in names
)
"""The names of all methods that an operator may lead to, and of what only numbers have."""
_OF_BITS = (gast.BitAnd, gast.BitOr, gast.BitXor, gast.MatMult)  # of truth values they are truth values in Python, too
_RAISED = (ZeroDivisionError, OverflowError, ValueError)
# What returns a truth value, in the user's code and in what the passes before this have made of it.
_TRUTHS = frozenset(
    [
        "bool",
        "any",
        "all",
        "isinstance",
        "issubclass",
        "hasattr",
        "callable",
        "and_",
        "or_",
        "not_",
        "is_",
        "is_none",
        "is_bool",
        "contains",
        "equals",
    ]
)
_HELD = frozenset(
    ["get_item", "get_attr", "from_end", "list_of", "new_list", "positional", "temporary"]
)  # returns what its first argument is, or holds
# Of those that work in place, what lists, deques, sets and dicts have.
_OF_CONTAINERS = (gast.Add, gast.Mult, gast.BitOr, gast.BitAnd, gast.Sub, gast.BitXor)


_OPERATIONS = frozenset({gast.BinOp, gast.UnaryOp, gast.Compare, gast.AugAssign, gast.Attribute, gast.Call})


class LowerOperators(EvaluatedParts):
    """Rewrites the operators and attributes that the classes around the function give a meaning with control flow in it.

        a + b         →   ag__.operate('+', a, b)
        a += b        →   a = ag__.operate('+=', a, b)
        box.total     →   ag__.get_attr(box, 'total')

    Only those: where no class has a ``__mul__`` with control flow, ``a * b`` stays. So are comparisons with tuples and lists that
    are written out, ``(row, column) == (0, 0)``, whose items may be traced. An augmented assignment to what may be
    a list that is known elsewhere too writes to that list:

        def extend(items, more):      →   def extend(items, more):
            items += more                     items = ag__.operate('+=', items, more)

    A value that may be one of several functions is asked for the name of each:

        step.__name__     →   ag__.get_attr(step, '__name__')

    What surely is a truth value of Python's has a number as its inverse, where that of an array is its negation:

        ~bool(a)      →   ~ag__.operate('+', bool(a))

    Attributes: shared (names that may be bound to such a list), inverted (such inversions), displays (names that are bound
    to tuples and lists that are written out), has_items (whether such are items of lists, which names may be bound to), items
    (names that are bound to items of lists that another function of the file may have filled so), nones (names that are bound
    to None), called (what is called).
    """

    applies_to: frozenset[type] | None = _OPERATIONS
    introduces: frozenset[type] = frozenset({gast.Call})

    def __init__(self, context: Context) -> None:
        self.context = context
        self.shared: set[str] = set()
        self.displays: set[str] = set()
        self.nones: set[str] = set()
        self.has_items = False
        self.items: set[str] = set()
        self.truths: set[str] = set()
        self.handled: set[gast.AST] = set()
        self.called: set[gast.AST] = set()
        self.inverted: set[gast.AST] = set()

    def __call__(self, node: gast.AST) -> gast.AST:
        parts = list(walk(node))
        augmented = [part for part in parts if isinstance(part, gast.AugAssign) and _may_extend(part)]
        names = {part.target.id for part in augmented}
        self.shared = names - _numbers(parts, names, self.context.is_plain_call) if names else set()
        bindings = [pair for part in parts if isinstance(part, gast.Assign) for pair in bindings_of(part)]
        self.displays = {
            target.id for target, value in bindings if isinstance(target, gast.Name) and _is_display(value)
        }
        self.has_items = any(self._has_display_as_item(part) for part in parts)
        self.items = {target.id for target, value in bindings if isinstance(target, gast.Name) and self._is_item(value)}
        self.nones = {target.id for target, value in bindings if isinstance(target, gast.Name) and is_none(value)}
        self.truths = self._bound_to_truths(bindings)
        self.handled = set(filter(may_raise_for_numbers, handled_parts(self.context, parts, _RAISED)))
        self.handled |= set(filter(_reads_attribute, handled_parts(self.context, parts, (AttributeError,))))
        self.called = {part.func for part in parts if isinstance(part, gast.Call)}
        self.handled -= self.called
        lacking = self.context.partial_writes.attributes
        lacks = lacking and any(isinstance(part, gast.Attribute) and part.attr in lacking for part in parts)
        inverted = [part for part in parts if isinstance(part, gast.UnaryOp) and isinstance(part.op, gast.Invert)]
        certain = CertainValues(self.context, parts) if inverted else None
        self.inverted = {part for part in inverted if certain is not None and certain.is_truth(part.operand)}
        asked = (self._may_be_of_containers, self._counts_truths, self._is_special)
        operations = [part for part in parts if type(part) in _OPERATIONS]
        is_known = lacks or self.context.special_methods or self.handled or self.inverted
        if is_known or any(ask(part) for part in operations for ask in asked):
            return self.visit(node)
        for part in parts if self.shared else ():
            self._rewrite_augmented(part)
        return node

    def _rewrite_augmented(self, part: gast.AST) -> None:
        """Rewrite those of a block's statements that may write to a list."""
        for field in ("body", "orelse", "finalbody"):
            block = getattr(part, field, None)
            if isinstance(block, list):
                block[:] = [self._augmented(each) if isinstance(each, gast.AugAssign) else each for each in block]

    def visit_BinOp(self, node: gast.AST) -> gast.AST:
        counts = self._counts_truths(node) or node in self.handled
        self.generic_visit(node)
        symbol, name = _BINARY[type(node.op)]
        if not counts and not self._has(name, f"r{name}"):
            return node
        return self._operation(symbol, node, node.left, node.right)

    def visit_Compare(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARISONS:
            return node
        symbol, names = _COMPARISONS[type(node.ops[0])]
        is_operation = self._has(*names) or self._may_be_of_containers(node)
        return self._operation(symbol, node, node.left, *node.comparators) if is_operation else node

    def visit_UnaryOp(self, node: gast.AST) -> gast.AST:
        counts, is_inverted = self._counts_truths(node), node in self.inverted
        self.generic_visit(node)
        if type(node.op) not in _UNARY:
            return node
        if is_inverted:
            node.operand = self._operation("+", node.operand, node.operand)
            return node
        symbol, name = _UNARY[type(node.op)]
        return self._operation(symbol, node, node.operand) if counts or self._has(name) else node

    def visit_Call(self, node: gast.AST) -> gast.AST:
        is_handled, counts = node in self.handled, self._counts_truths(node)
        self.generic_visit(node)
        if counts:
            return self._operation("abs", node, *node.args)
        return self._operation(RAISING_BUILTINS[node.func.id], node, *node.args) if is_handled else node

    def visit_AugAssign(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        return self._augmented(node)

    def _augmented(self, node: gast.AST) -> gast.AST:
        symbol, name = _BINARY[type(node.op)]
        if not isinstance(node.target, gast.Name):
            return node
        extends = (node.target.id in self.shared and _may_extend(node)) or self._counts_truths(node)
        extends = extends or node in self.handled
        if not extends and not self._has(name, f"r{name}", f"i{name}"):
            return node
        new = self._operation(f"{symbol}=", node.value, load(node.target.id), node.value)
        return placed(gast.Assign([store(node.target.id)], new, None), node)

    def visit_Attribute(self, node: gast.AST) -> gast.AST:
        self.generic_visit(node)
        is_computed = (
            node.attr in self.context.special_methods
            or ("__getattr__" in self.context.special_methods and node not in self.called)
            or self._is_special(node)
            or node.attr in self.context.partial_writes.attributes
        )
        is_read = isinstance(node.ctx, gast.Load) and (is_computed or node in self.handled)
        if not is_read or (isinstance(node.value, gast.Name) and node.value.id == self.context.operators):
            return node
        if self.context.is_plain_call(node):  # a function of a module's that has the name of a property
            return node
        return placed(self.context.call("get_attr", node.value, constant(node.attr)), node)

    def _is_special(self, node: gast.AST) -> bool:
        """Whether this asks a value, which may be one of several, for its class, its name or its documentation."""
        if not isinstance(node, gast.Attribute) or not (node.attr.startswith("__") and node.attr.endswith("__")):
            return False
        return node.attr == "__class__" or node not in self.called

    def _may_be_of_containers(self, node: gast.AST) -> bool:
        """Whether this may compare tuples or lists, of whose items Python asks the truth.

        One side is written out, or a name for what is, or no side is seen to be a number and it asks for equality, or both may
        be items of a list of tuples.
        """
        if not _compares(node):
            return False
        sides = (node.left, *node.comparators)
        if isinstance(node.ops[0], gast.Eq | gast.NotEq):
            if isinstance(sides[1], gast.Name) and sides[1].id in self.nones and not _is_display(sides[0]):
                return True  # an array on the left would ask what may be None for its value
            return not any(_is_number(side, self.context.is_plain_call) for side in sides)
        if all(map(self._may_be_item, sides)) and (self.has_items or any(map(self._is_item, sides))):
            return True
        return any(_is_display(side) or (isinstance(side, gast.Name) and side.id in self.displays) for side in sides)

    def _may_be_item(self, node: gast.AST) -> bool:
        return isinstance(node, gast.Name | gast.Attribute) or self._reads_item(node)

    def _is_item(self, node: gast.AST) -> bool:
        """Whether this may be an item of a list of tuples of the file's, which another function may have made."""
        if isinstance(node, gast.Name):
            return node.id in self.items
        return self.context.has_tuple_items and self._reads_item(node)

    def _reads_item(self, node: gast.AST) -> bool:
        return isinstance(node, gast.Subscript) or (
            self.context.is_operator_call(node) and node.func.attr == "get_item"
        )

    def _has_display_as_item(self, node: gast.AST) -> bool:
        """Whether a tuple or list that is written out is an item here, or is given to a function that may make it one."""
        if isinstance(node, gast.List):
            return any(map(_is_display, node.elts))
        if isinstance(node, gast.Lambda):
            return _is_display(node.body)
        return (
            isinstance(node, gast.Call) and not self.context.is_operator_call(node) and any(map(_is_display, node.args))
        )

    def _counts_truths(self, node: gast.AST) -> bool:
        """Whether this may be arithmetic with nothing but truth values."""
        if isinstance(node, gast.UnaryOp):
            return isinstance(node.op, gast.USub | gast.UAdd) and self._may_be_truth(node.operand)
        if isinstance(node, gast.AugAssign):
            sides = [node.target, node.value]
        elif isinstance(node, gast.BinOp):
            sides = [node.left, node.right]
        else:
            return _is_magnitude(node) and self._may_be_truth(node.args[0])
        return not isinstance(node.op, _OF_BITS) and all(map(self._may_be_truth, sides))

    def _may_be_truth(self, node: gast.AST) -> bool:
        if isinstance(node, gast.Call):
            return self._call_may_be_truth(node)
        if isinstance(node, gast.Name):
            return node.id in self.truths or node.id in self.context.truths.names
        if isinstance(node, gast.Attribute):
            return node.attr in self.context.truths.attributes or node.attr in self.context.truths.functions
        if isinstance(node, gast.Subscript):
            return self._may_be_truth(node.value)
        if isinstance(node, gast.BinOp):
            return isinstance(node.op, _OF_BITS) and self._may_be_truth(node.left) and self._may_be_truth(node.right)
        is_not = isinstance(node, gast.UnaryOp) and isinstance(node.op, gast.Not)
        return is_not or isinstance(node, gast.Compare | gast.BoolOp) or _is_truth_constant(node)

    def _call_may_be_truth(self, node: gast.AST) -> bool:
        called = node.func
        if self.context.is_operator(called):
            if called.attr in _HELD:
                return self._may_be_truth(node.args[0])
            return called.attr in _TRUTHS or (called.attr == "if_exp" and any(map(self._gives_truth, node.args[1:])))
        if isinstance(called, gast.Call) and len(called.args) == 1:  # `ag__.call(bool)(…)`
            called = called.args[0]
        if isinstance(called, gast.Name) and called.id in ("min", "max"):
            return any(map(self._may_be_truth, node.args))
        name = getattr(called, "id", getattr(called, "attr", None))
        if isinstance(called, gast.Name) and name in _TRUTHS:
            return True
        if isinstance(called, gast.Attribute) and name in HOLDING and self._may_be_truth(called.value):
            return True
        return name in self.context.truths.functions or self.context.gives_truth(called)

    def _gives_truth(self, node: gast.AST) -> bool:
        return isinstance(node, gast.Lambda) and self._may_be_truth(node.body)

    def _bound_to_truths(self, bindings: Collection[tuple[gast.AST, gast.AST]]) -> set[str]:
        """The names that may be bound to truth values, as far as expressions tell."""
        self.truths = set()
        while True:
            found = {
                target.id for target, value in bindings if isinstance(target, gast.Name) and self._may_be_truth(value)
            }
            if found == self.truths:
                return found
            self.truths = found

    def _has(self, *names: str) -> bool:
        return any(f"__{name}__" in self.context.special_methods for name in names)

    def _operation(self, symbol: str, like: gast.AST, *operands: gast.AST) -> gast.AST:
        if all(isinstance(operand, gast.Constant) for operand in operands):
            return like
        return placed(self.context.call("operate", constant(symbol), *operands), like)


def _reads_attribute(node: gast.AST) -> bool:
    """Whether this reads an attribute, which an object may lack."""
    return isinstance(node, gast.Attribute) and isinstance(node.ctx, gast.Load)


def _is_magnitude(node: gast.AST) -> bool:
    """Whether this is ``abs(x)``."""
    return (
        isinstance(node, gast.Call)
        and isinstance(node.func, gast.Name)
        and node.func.id == "abs"
        and len(node.args) == 1
        and not node.keywords
    )


def _is_truth_constant(node: gast.AST) -> bool:
    return isinstance(node, gast.Constant) and isinstance(node.value, bool)


def _compares(node: gast.AST) -> bool:
    """Whether this is one comparison, with one of the operators that classes may define."""
    return isinstance(node, gast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS


def _is_display(node: gast.AST) -> bool:
    """Whether this is a tuple or list that is written out."""
    node = _in_new_list(node)
    return isinstance(node, gast.Tuple | gast.List) and bool(node.elts)


def _in_new_list(node: gast.AST) -> gast.AST:
    """The display or comprehension of ``ag__.new_list(…)``; anything else as it is."""
    is_made = isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute) and node.func.attr == "new_list"
    return node.args[0] if is_made else node


def _may_extend(node: gast.AST) -> bool:
    """Whether an augmented assignment may be one that writes to a list, deque, set or dict."""
    if not isinstance(node.target, gast.Name):
        return False
    if isinstance(node.value, gast.Constant) and not isinstance(node.value.value, str | bytes):
        return isinstance(node.op, gast.Mult) and isinstance(node.value.value, int)
    return isinstance(node.op, _OF_CONTAINERS)


def _numbers(
    parts: Collection[gast.AST], names: Collection[str], is_plain_call: Callable[[gast.AST], bool]
) -> set[str]:
    """Those of the names that are bound to numbers, arrays and texts only, as far as expressions tell."""
    told: dict[str, bool] = {}
    targets: set[int] = set()

    def bind(target: gast.AST, value: gast.AST | None) -> None:
        if isinstance(target, gast.Name) and target.id in names:
            targets.add(id(target))
            is_number = value is None or _is_number(value, is_plain_call)
            told[target.id] = told.get(target.id, True) and is_number

    for part in parts:
        if isinstance(part, gast.Assign):
            for each, value in bindings_of(part):
                bind(each, value)
        elif isinstance(part, gast.AnnAssign | gast.NamedExpr):
            bind(part.target, part.value)
        elif isinstance(part, gast.AugAssign):
            targets.add(id(part.target))
    for part in parts:  # what loops, parameters, `with`, unpacking and similar forms bind
        if isinstance(part, gast.Name) and part.id in names and not isinstance(part.ctx, gast.Load):
            if id(part) not in targets:
                told[part.id] = False
    return {name for name, is_number in told.items() if is_number}


def _is_number(node: gast.AST, is_plain_call: Callable[[gast.AST], bool]) -> bool:
    if isinstance(node, gast.BinOp):
        return not any(isinstance(_in_new_list(side), gast.List | gast.ListComp) for side in (node.left, node.right))
    if isinstance(node, gast.Call):
        return is_plain_call(node.func)
    return isinstance(node, gast.Constant | gast.UnaryOp | gast.Compare | gast.JoinedStr)
