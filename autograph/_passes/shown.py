"""Return the source that one pass produces from a function, for docstring examples and tests."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import gast

from autograph._analysis.children import walk
from autograph._analysis.scopes import bound_anywhere, names_in
from autograph._passes.nodes import Context, Namer
from autograph._trees import to_ast


def rewritten(lowering: Any, source: str, *, special_methods: frozenset[str] = frozenset()) -> str:
    """The text of the function that ``source`` defines, as one pass leaves it.

    All that is known of it is its text: no call is known to be plain, and ``set_loop_options`` is the directive of that name.

    >>> from autograph._passes.texts import LowerTexts
    >>> print(rewritten(LowerTexts, "def f(x): print(f'{x}')"))
    def f(x):
        print(ag__.text(lambda value: f'{value}', x))
    """
    (node,) = gast.parse(textwrap.dedent(source)).body
    context = Context(
        "ag__",
        Namer(names_in(walk(node)) | {"ag__"}),
        is_plain_call=lambda called: False,
        is_own_name=bound_anywhere(walk(node)).__contains__,
        is_loop_directive=lambda called: getattr(called, "attr", getattr(called, "id", None)) == "set_loop_options",
        special_methods=special_methods,
    )
    return ast.unparse(to_ast(lowering(context)(node)))
