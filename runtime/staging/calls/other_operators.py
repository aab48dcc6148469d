"""`OtherOperators`: the parts of the operators to which the one for calls leaves calls that are of something of theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from autograph.runtime.containers.orderings import Orderings
from autograph.runtime.staging.access.absences import Absences
from autograph.runtime.staging.access.aliased_writes import AliasedWrites
from autograph.runtime.staging.access.bounds import Bounds
from autograph.runtime.staging.access.lookups import Lookups
from autograph.runtime.staging.access.outside_lists import OutsideLists
from autograph.runtime.staging.access.reported_writes import ReportedWrites
from autograph.runtime.staging.builtins.calling_functions import CallingFunctions
from autograph.runtime.staging.builtins.keys import Keys
from autograph.runtime.staging.builtins.library_functions import LibraryFunctions
from autograph.runtime.staging.builtins.lists import Lists
from autograph.runtime.staging.builtins.logs import Logs
from autograph.runtime.staging.builtins.python_builtins import Builtins
from autograph.runtime.staging.builtins.texts import Texts
from autograph.runtime.staging.builtins.tqdm_bars import TqdmBars
from autograph.runtime.staging.builtins.traced_lengths import TracedLengths
from autograph.runtime.staging.calls.array_methods import ArrayMethods
from autograph.runtime.staging.calls.class_calls import ClassCalls
from autograph.runtime.staging.calls.recursion import Recursion
from autograph.runtime.staging.calls.transformed import Transformed
from autograph.runtime.staging.calls.tree_functions import TreeFunctions
from autograph.runtime.staging.policy.opaque import OpaqueCalls
from autograph.runtime.staging.policy.wrappers import Wrappers
from autograph.runtime.staging.statements.constants import ConstantChoices
from autograph.runtime.staging.statements.loops import Loops


class OtherOperators(Protocol):
    """What is asked of `Operators`, which is made of all of them."""

    @property
    def converter(self) -> Any: ...

    @property
    def array_methods(self) -> ArrayMethods: ...

    @property
    def recursive(self) -> bool: ...

    @property
    def opaque(self) -> OpaqueCalls: ...

    @property
    def constants(self) -> ConstantChoices: ...

    @property
    def recursion(self) -> Recursion: ...

    @property
    def lengths(self) -> TracedLengths: ...

    @property
    def absences(self) -> Absences: ...

    @property
    def aliased(self) -> AliasedWrites: ...

    @property
    def wrappers(self) -> Wrappers: ...

    @property
    def writes(self) -> ReportedWrites: ...

    @property
    def logs(self) -> Logs: ...

    @property
    def bars(self) -> TqdmBars: ...

    @property
    def calling(self) -> CallingFunctions: ...

    @property
    def library(self) -> LibraryFunctions: ...

    @property
    def bounds(self) -> Bounds | None: ...

    @property
    def orderings(self) -> Orderings: ...

    @property
    def classes(self) -> ClassCalls: ...

    @property
    def transformed(self) -> Transformed: ...

    @property
    def trees(self) -> TreeFunctions: ...

    @property
    def keys(self) -> Keys: ...

    @property
    def lists(self) -> Lists: ...

    @property
    def lookups(self) -> Lookups: ...

    @property
    def outside(self) -> OutsideLists: ...

    @property
    def builtins(self) -> Builtins: ...

    @property
    def texts(self) -> Texts: ...

    @property
    def loops(self) -> Loops: ...

    @property
    def overloads(self) -> Mapping[Any, Callable[..., Any]]: ...
