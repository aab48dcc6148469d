"""The rewriting, in order.

Each pass is one class in a file of its own: `Pass(context)(function_node) -> function_node`.

``applies_to`` names the node types that a pass has something to do with (None: any); it is left out for functions
without them. ``introduces`` names those that it makes and a later pass works on.
"""

from autograph._passes.calls import LowerCalls
from autograph._passes.definedness import CheckDefined
from autograph._passes.items import LowerAssignments
from autograph._passes.jumps import LowerJumps
from autograph._passes.logic import LowerLogic
from autograph._passes.matches import LowerMatch
from autograph._passes.outline import OutlineControlFlow
from autograph._passes.raises import LowerRaises

PASSES = (
    LowerMatch,  # first: turns one kind of conditional into another
    CheckDefined,  # before jumps: asks which reads are certain in the program as it was written
    LowerRaises,  # before jumps: it moves the bodies of `try` statements, jumps and all
    LowerJumps,  # before liveness is asked for: blocks must run to their ends
    LowerAssignments,  # before outlining: `x[i] = v` binds x, so x becomes state
    OutlineControlFlow,  # before expressions: a loop's test moves into a function with all that it evaluates
    LowerLogic,  # after outlining: the flags that jumps left in tests are rewritten with the rest
    LowerCalls,  # last: every call that is left in the tree is one that runs
)
