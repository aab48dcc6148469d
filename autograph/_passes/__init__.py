"""The passes of the converter, in the order in which they run.

Each pass is one class in a file of its own: `Pass(context)(function_node) -> function_node`.

``applies_to`` names the node types that a pass has something to do with (None: any); it is left out for functions
without them. ``introduces`` names those that it makes and a later pass works on.
"""

from autograph._passes.calls import LowerCalls
from autograph._passes.comprehensions import LowerComprehensions
from autograph._passes.definedness import CheckDefined
from autograph._passes.directives import TakeLoopOptions
from autograph._passes.items import LowerAssignments
from autograph._passes.jumps import LowerJumps
from autograph._passes.lists import LowerLists
from autograph._passes.logic import LowerLogic
from autograph._passes.lookups import LowerLookups
from autograph._passes.managers import NestManagers
from autograph._passes.matches import LowerMatch
from autograph._passes.operators import LowerOperators
from autograph._passes.outline import OutlineControlFlow
from autograph._passes.raises import LowerRaises
from autograph._passes.shadowed import RenameShadowing
from autograph._passes.slices import LowerSlices
from autograph._passes.stops import StopAtRaises
from autograph._passes.texts import LowerTexts
from autograph._passes.unordered import AllowAnyOrder
from autograph._passes.unpacking import LowerUnpacking
from autograph._passes.yields import LowerYields

PASSES = (
    LowerYields,  # first: makes copies of functions, which the other passes know by their nodes
    TakeLoopOptions,  # before what changes bodies: the directive is the first statement of a body only in the program as it was written
    AllowAnyOrder,  # before comprehensions and jumps: asks what the statements of a body do in the program as it was written
    LowerComprehensions,  # before lists and all of control flow: makes such
    RenameShadowing,  # after comprehensions, before what makes functions of statements and operands
    LowerLists,  # any time before calls
    LowerMatch,  # before the rest: turns one kind of conditional into another
    NestManagers,  # before what asks which statements an exception may end early
    CheckDefined,  # before jumps: asks which reads are certain in the program as it was written
    LowerRaises,  # before jumps: it moves the bodies of `try` statements, jumps and all
    LowerTexts,  # after raises, whose texts are made in the same way
    StopAtRaises,  # before jumps: makes branches of what may hold some
    LowerJumps,  # before liveness is asked for: blocks must run to their ends
    LowerAssignments,  # before outlining: `x[i] = v` binds x, so x becomes state
    OutlineControlFlow,  # before expressions: a loop's test moves into a function with all that it evaluates
    LowerSlices,  # after outlining and assignments: the indices of writes are expressions by then
    LowerUnpacking,  # after comprehensions, of which these are left
    LowerLookups,  # after slices, which has turned what it works on into calls
    LowerLogic,  # after outlining: the flags that jumps left in tests are rewritten with the rest
    LowerOperators,  # after logic, which takes chains of comparisons apart
    LowerCalls,  # last: every call that is left in the tree is one that runs
)
