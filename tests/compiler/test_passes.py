"""Each pass by itself: what it rewrites, and what it leaves alone."""

import inspect
import textwrap

import pytest

from autograph._passes import (
    PASSES,
    CheckDefined,
    LowerAssignments,
    LowerCalls,
    LowerComprehensions,
    LowerJumps,
    LowerLists,
    LowerLogic,
    LowerLookups,
    LowerMatch,
    LowerOperators,
    LowerRaises,
    LowerSlices,
    LowerTexts,
    OutlineControlFlow,
    TakeLoopOptions,
)
from autograph._passes.shown import rewritten


def text(source):
    return textwrap.dedent(source).strip("\n")


@pytest.mark.parametrize("lowering", PASSES, ids=lambda lowering: lowering.__name__)
def test_each_pass_says_in_one_sentence_what_goes_in_and_comes_out(lowering):
    first = (inspect.getdoc(inspect.getmodule(lowering)) or "").splitlines()[0]
    assert (
        first.startswith(f"`{lowering.__name__}`: ") and " in" in first and (" out" in first or first.endswith("in."))
    )


@pytest.mark.parametrize(
    "lowering", [each for each in PASSES if each is not LowerOperators], ids=lambda lowering: lowering.__name__
)
def test_each_pass_shows_code_before_and_after(lowering):
    assert f">>> print(rewritten({lowering.__name__}, " in (lowering.__doc__ or "")


# Each of these comes out as it went in.
LEFT_ALONE = {
    "loop without a directive": (TakeLoopOptions, "def f(x):\n    for v in x:\n        g(v)"),
    "directive that is not first": (
        TakeLoopOptions,
        "def f(x):\n    for v in x:\n        g(v)\n        set_loop_options(unroll=True)",
    ),
    "directive in a generator": (
        TakeLoopOptions,
        "def f(x):\n    for v in x:\n        set_loop_options(unroll=True)\n        yield v",
    ),
    "comprehension over a display": (LowerComprehensions, "def f(x):\n    return [v + 1 for v in (x, 2)]"),
    "comprehension with a static condition": (
        LowerComprehensions,
        "def f(x):\n    return [v for v in x if True]",
    ),
    "slice of what may be an array": (LowerLists, "def f(x):\n    y = x[1:]\n    return y + x[:-1]"),
    "match of structure": (
        LowerMatch,
        "def f(p):\n    match p:\n        case {'a': a}:\n            return a\n        case _:\n            return p",
    ),
    "variable that is bound on every path": (
        CheckDefined,
        "def f(x):\n    if x:\n        y = 1\n    else:\n        y = 2\n    y += 1\n    return lambda: y",
    ),
    "variable that is bound before a closure of it is made": (
        CheckDefined,
        "def f(x):\n    y = 0\n    if x:\n        y = 1\n    return [y for _ in x]",
    ),
    "bare raise": (LowerRaises, "def f(x):\n    raise"),
    "print of values": (LowerTexts, "def f(x):\n    print(x, 'text')"),
    "text of constants": (LowerTexts, "def f(x):\n    return f'{1} text'"),
    "return at the end": (LowerJumps, "def f(x):\n    y = x + 1\n    return y"),
    "raise in a branch": (LowerJumps, "def f(x):\n    if x:\n        raise ValueError\n    return x"),
    "assignment to names": (LowerAssignments, "def f(x):\n    y, z = x\n    y += z\n    return y"),
    "conditional on a static test": (
        OutlineControlFlow,
        "def f(x):\n    if not True:\n        x = 1\n    return x",
    ),
    "slice between constants": (LowerSlices, "def f(x):\n    return x[1:-2]"),
    "constant index": (LowerLookups, "def f(x):\n    return x[-1]"),
    "static operand": (LowerLogic, "def f(x, y):\n    return True and y"),
    "comparison": (LowerLogic, "def f(x, y):\n    return x < y"),
    "call of an operator": (LowerCalls, "def f(x):\n    return ag__.truth(x)"),
    "arithmetic without methods around": (LowerOperators, "def f(x, y):\n    return -x + y.total"),
}


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_left_alone(case):
    lowering, source = LEFT_ALONE[case]
    assert rewritten(lowering, source) == source


REWRITTEN = {
    "comprehension over what may be of traced length": (
        LowerComprehensions,
        "def f(x):\n    return [v + 1 for v in x]",
        "def f(x):\n    return ag__.list_of(lambda v: v + 1, x)",
    ),
    "operators with methods": (
        LowerOperators,
        "def f(a, b):\n    a += b\n    return -a + 1",
        "def f(a, b):\n    a = ag__.operate('+=', a, b)\n    return ag__.operate('+', -a, 1)",
    ),
    "continue": (
        LowerJumps,
        """
        def f(x):
            for v in x:
                if v < 0:
                    continue
                g(v)
        """,
        """
        def f(x):
            for v in x:
                if v < 0:
                    pass
                else:
                    g(v)
        """,
    ),
    "return out of a loop": (
        LowerJumps,
        """
        def f(x):
            for v in x:
                if v < 0:
                    return v
            return 0
        """,
        """
        def f(x):
            did_return = False
            for v in x:
                if v < 0:
                    return_value = v
                    did_return = True
            if did_return:
                return return_value
            else:
                return 0
        """,
    ),
    "else of a loop": (
        LowerJumps,
        """
        def f(x):
            for v in x:
                if v < 0:
                    break
            else:
                g(x)
        """,
        """
        def f(x):
            did_break = False
            for v in x:
                did_break = v < 0
            if not did_break:
                g(x)
        """,
    ),
    "nested target": (
        LowerAssignments,
        "def f(box, i):\n    box.rows[i] += 1",
        "def f(box, i):\n    ag__.put_back_attr(box, 'rows', ag__.update_item(box.rows, i, '+=', 1))",
    ),
    "exchange of items of an attribute": (
        LowerAssignments,
        "def f(box, i):\n    box.rows[i], box.rows[0] = box.rows[0], box.rows[i]",
        "def f(box, i):\n    ag__.put_back_attr(box, 'rows', ag__.exchange_items(box.rows, i, 0))",
    ),
    "exchange through a variable": (
        LowerAssignments,
        "def f(x, i):\n    t = x[i]\n    x[i] = x[0]\n    x[0] = t\n    return x",
        "def f(x, i):\n    t = x[i]\n    x = ag__.exchange_items(x, i, 0, t)\n    return x",
    ),
    "exchange through a variable that is an index": (
        LowerAssignments,
        "def f(x, i):\n    i = x[i]\n    x[i] = x[0]\n    x[0] = i\n    return x",
        "def f(x, i):\n    i = x[i]\n    x = ag__.set_item(x, i, x[0])\n    x = ag__.set_item(x, 0, i)\n    return x",
    ),
    "write that only the caller sees": (
        LowerAssignments,
        "def f(x, i):\n    for k in range(len(x)):\n        x[k] += x[i]",
        "def f(x, i):\n    for k in range(len(x)):\n        ag__.written_in_place(ag__.update_item(x, k, '+=', x[i]), x, 'x')",
    ),
    "write that the function may keep": (
        LowerAssignments,
        "def f(x, i, g):\n    x[0] = i\n    g(x)",
        "def f(x, i, g):\n    x = ag__.set_item(x, 0, i)\n    g(x)",
    ),
    "deletion of what one path binds": (
        CheckDefined,
        "def f(x):\n    if x:\n        y = 1\n    del y",
        "def f(x):\n    if x:\n        y = 1\n    ag__.bound(lambda: y)\n    del y",
    ),
    "closure of what one path binds": (
        CheckDefined,
        "def f(x):\n    if x:\n        y = 1\n    return lambda: y",
        "def f(x):\n    if x:\n        y = 1\n    return lambda: ag__.bound(lambda: y, is_free=True)",
    ),
    "variable that a bare annotation does not bind": (
        CheckDefined,
        "def f(x):\n    y: int\n    if x:\n        y = 1\n    return y",
        "def f(x):\n    y: int\n    if x:\n        y = 1\n    return ag__.bound(lambda: y)",
    ),
    "chain with a middle operand": (
        LowerLogic,
        "def f(x, g):\n    return 0 < g(x) < 1",
        "def f(x, g):\n    return ag__.and_(0 < (middle := g(x)), lambda: middle < 1)",
    ),
    "chain that binds a name": (
        LowerLogic,
        "def f(x):\n    return 0 < (y := x) < 5",
        "def f(x):\n    return ag__.and_(0 < (middle := (y := x)), lambda: middle < 5)",
    ),
    "operand that binds a name": (
        LowerLogic,
        "def f(x):\n    return x and (y := x)",
        """
        def f(x):
            y: object

            def operand():
                nonlocal y
                return (y := x)
            return ag__.and_(x, operand, names=('y',))
        """,
    ),
    "operands in a lambda that bind a name": (
        LowerLogic,
        "def f():\n    return lambda x: x > 0 and (y := x) and g(y)",
        "def f():\n    return lambda x: ag__.and_(x > 0, lambda: ag__.and_((y := x), lambda: g(y)))",
    ),
    "binding that is read elsewhere in its lambda": (
        LowerLogic,
        "def f():\n    return lambda x: (x > 0 and (y := x), y)",
        "def f():\n    return lambda x: (ag__.python_test(x > 0, 'walrus') and (y := x), y)",
    ),
    "operands of a negation": (
        LowerLogic,
        "def f(x, y):\n    return not (x and y)",
        "def f(x, y):\n    return ag__.not_(ag__.and_(x, lambda: y, is_test=True))",
    ),
    "operands of comparisons only": (
        LowerLogic,
        "def f(x, y):\n    return not (x > 0 and y > 0)",
        "def f(x, y):\n    return ag__.not_(ag__.and_(x > 0, lambda: y > 0))",
    ),
    "operand that suspends": (
        LowerLogic,
        "def f(x):\n    y = x and (yield x)",
        "def f(x):\n    y = ag__.python_test(x, 'yield') and (yield x)",
    ),
    "closure that a loop keeps": (
        OutlineControlFlow,
        "def f(x, made):\n    for v in x:\n        made.append(lambda: v)",
        """
        def f(x, made):
            v: object

            def loop_body(item):
                nonlocal v
                v = item
                made.append(lambda: v)
            ag__.for_stmt(x, loop_body, ('v',))
        """,
    ),
    "closure that a loop only calls": (
        OutlineControlFlow,
        "def f(x):\n    for v in x:\n        (lambda: v)()",
        """
        def f(x):
            v: object

            def loop_body(item):
                nonlocal v
                v = item
                (lambda: v)()
            ag__.for_stmt(x, loop_body, ())
        """,
    ),
    "temporary of a loop": (
        OutlineControlFlow,
        "def f(x, y):\n    while x:\n        t = x * 2\n        x = t - 3\n    return x",
        """
        def f(x, y):

            def loop_test():
                return x

            def loop_body():
                nonlocal x
                t = x * 2
                x = t - 3
            ag__.while_stmt(loop_test, loop_body, ('x',))
            return x
        """,
    ),
    "values among patterns": (
        LowerMatch,
        "def f(x):\n    match x:\n        case 1 | 2:\n            return 3\n        case _:\n            return x",
        """
        def f(x):
            subject = x
            match subject:
                case item:
                    case_matches = ag__.truth(item == 1 or item == 2)
            if case_matches:
                return 3
            else:
                return x
        """,
    ),
}


@pytest.mark.parametrize("case", REWRITTEN)
def test_rewritten(case):
    lowering, before, after = REWRITTEN[case]
    special = frozenset({"__add__"}) if lowering is LowerOperators else frozenset()
    assert rewritten(lowering, text(before), special_methods=special) == text(after)
