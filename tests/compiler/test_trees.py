"""The translation of trees to gast's and back is that of gast, and leaves what it translates as it is."""

import ast
import pathlib

import gast
import pytest

from autograph._trees import to_ast, to_gast

HERE = pathlib.Path(__file__).parent.parent
KINDS = """
import a.b as c, d
from .e import *
global g
@h(1)
class C(B, metaclass=M):
    x: int = 1
    def m(self, a, /, b: int = 2, *c, d, e=(yield), **f) -> "text":
        nonlocal a
        return {**a, 1: [*b, *c]}, {1, 2}, a[1:2, ::3], f"{a!r:>{b}} {c}", ...
async def f():
    async with a as b, c: pass
    async for i in b: await i
    return [j async for j in i if j], {k: v for k, v in i}, {k for k in i}, (k for k in i)
try:
    x = y = (z := lambda a, *b: -a ** 2)
except (A, B) as e:
    raise C from e
except:
    del x[0], y.z
else:
    assert x, "no"
finally:
    x @= y
for i, *j in k:
    if 1 < i <= 2 is not None and not j or i in k: continue
    elif i: break
else: pass
while True: x = 1 if y else b"2"
match x:
    case [1, *rest] | {"k": v, **more} if rest: pass
    case C(a, b=None) as c: pass
    case _: pass
"""


def same(tree: ast.AST) -> None:
    before = ast.dump(tree, include_attributes=True)
    expected, found = gast.ast_to_gast(tree), to_gast(tree)
    assert gast.dump(found, include_attributes=True) == gast.dump(expected, include_attributes=True)
    back = to_ast(found)
    assert ast.dump(back, include_attributes=True) == ast.dump(gast.gast_to_ast(expected), include_attributes=True)
    assert ast.dump(tree, include_attributes=True) == before


def test_all_kinds_of_nodes_are_translated_as_gast_does():
    same(ast.parse(KINDS))


@pytest.mark.parametrize("name", ["programs/beginners.py", "programs/classes.py", "aliasing/held.py"])
def test_files_are_translated_as_gast_does(name):
    same(ast.parse((HERE / name).read_text(encoding="utf-8")))


def test_nodes_that_lack_what_may_be_left_out():
    same(ast.Expression(ast.Constant(1)))
    same(ast.Assign([ast.Name("x", ast.Store())], ast.Constant(None)))
