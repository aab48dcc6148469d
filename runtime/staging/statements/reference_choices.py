"""`ReferenceChoices`: reads and writes of the attributes of an object that is one of several references (see `layouts.references`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.base import Backend
from autograph.runtime.code.code_names import class_attribute
from autograph.runtime.containers.parts import parts_of
from autograph.runtime.errors import StagingError
from autograph.runtime.heap.in_trace import InTrace, Trace
from autograph.runtime.heap.places import AttributePlace
from autograph.runtime.heap.unknown import is_unknown
from autograph.runtime.layouts.one_of import IN_PLACE, OneOf, candidates_of, code_of, has_number_in, possible_candidates
from autograph.runtime.layouts.one_of import each as each_of
from autograph.runtime.layouts.perhaps import is_perhaps
from autograph.runtime.layouts.references import is_reference, is_variable
from autograph.runtime.layouts.statement_variables import NO_SNAPSHOT, UNBOUND, Snapshot, value_of
from autograph.runtime.staging.statements.conditionals import Kept
from autograph.runtime.staging.statements.selects import select
from autograph.runtime.state.chosen_arrays import ChosenArray, refuse_values
from autograph.runtime.state.chosen_variables import ChosenVariable
from autograph.runtime.state.given_arrays import is_given
from autograph.runtime.tracing.caller_arrays import will_write, writing_place
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import LOCAL


class ReferenceChoices(InTrace):
    """Selects among what the candidates hold, which is there already, and needs no branches.

    Args:
      staged_if: of `Conditionals`. set_attr: writes an attribute of one object.
    """

    def __init__(
        self,
        backend: Backend,
        trace: Callable[[], Trace],
        staged_if: Callable[..., Any],
        set_attr: Callable[[Any, str, Any], None],
    ) -> None:
        super().__init__(trace)
        self._backend = backend
        self._staged_if = staged_if
        self._set_attr = set_attr

    def read(self, value: OneOf, name: str) -> Any:
        """What an attribute of the candidate holds; `NotImplemented` where a candidate has to be asked by its class, or may have none."""
        held = self._held(value, name)
        if held is None or IN_PLACE in LOCAL.facts:
            return NotImplemented
        selections = self.trace().selections
        if (known := selections.find(code_of(value), held)) is not None:
            return known.value
        found = self.selected(value, held)
        selections.note(code_of(value), held, found)
        return found

    def write(self, value: OneOf, name: str, new: Any) -> bool:
        """Write an attribute of the candidate: to each, where it is that; whether it could be done so."""
        held = self._held(value, name)
        if held is None:
            return False
        for k, old in held.items():
            if old is not new:
                self._set_attr(candidates_of(value)[k], name, self._either(has_number_in(value, [k]), new, old))
        if (after := self._held(value, name)) is not None:
            self.trace().selections.note(code_of(value), after, new)
        return True

    def value(self, chosen: OneOf) -> Any:
        """What the Variable that this is holds now; a candidate that is a value itself."""
        held = {k: value_of(candidates_of(chosen)[k]) for k in possible_candidates(chosen)}
        if len({jnp.shape(each) for each in held.values()}) > 1:
            types = " or ".join(dict.fromkeys(str(self._backend.type_of(each)) for each in held.values()))
            raise StagingError(
                f"{user_location()}\n  The value that is read here is {types}: it is that of one of several Variables or arrays, selected "
                "at run time, and XLA needs one shape.\n  Read each in the branch that selects it."
            )
        return self.selected(chosen, held)

    def variable(self, chosen: OneOf) -> ChosenVariable | ChosenArray:
        """The Variable, or the array, that this is."""
        is_array = any(map(is_given, candidates_of(chosen)))
        return ChosenArray(chosen, self) if is_array else ChosenVariable(chosen, self)

    def become(self, chosen: OneOf, value: Any) -> None:
        """Let the array that this is hold another: a masked write to each."""
        possible = [(k, candidates_of(chosen)[k]) for k in possible_candidates(chosen)]
        if not all(is_given(one) for _, one in possible):
            refuse_values()
        for k, one in possible:
            one.become(self._either(has_number_in(chosen, [k]), one._fitted(value), one.value))

    def change(self, chosen: OneOf, new: Callable[[Any], Any]) -> None:
        """Assign to the Variable that this is what ``new`` returns for it: a masked write to each where all are of one type."""
        possible = [candidates_of(chosen)[k] for k in possible_candidates(chosen)]
        if not all(map(is_variable, possible)) or len({(each.shape, each.dtype) for each in possible}) > 1:
            each_of(chosen, lambda one: assigned(one, new))
            return
        for k in possible_candidates(chosen):
            test = has_number_in(chosen, [k])
            candidates_of(chosen)[k]._change(
                lambda one, test=test: self._either(test, one._fitted(new(one)), one.value)
            )

    def write_arrays(self, chosen: OneOf, new: Callable[[Any], Any]) -> OneOf:
        """What a choice among arrays is, of which some are written in place, after a write: to the one that it is."""
        candidates = list(candidates_of(chosen))
        for k in possible_candidates(chosen):
            one, test = candidates[k], has_number_in(chosen, [k])
            old = one.value if is_given(one) else jnp.asarray(value_of(one))
            if not is_given(one):
                will_write(one)
            with writing_place():
                written = new(old.copy() if isinstance(old, np.ndarray) else old)
            if is_given(one):
                one.become(self._either(test, written, old))
            else:
                candidates[k] = written
        return OneOf(candidates, code_of(chosen))

    def _held(self, value: OneOf, name: str) -> Mapping[int, Any] | None:
        """What the possible candidates hold, by their numbers; None if that is not all that there is to it."""
        found = {}
        for k in possible_candidates(value):
            candidate = candidates_of(value)[k]
            if not is_reference(candidate) or not _is_plain(type(candidate), name):
                return None
            found[k] = held = AttributePlace(candidate, name).get()
            if held is UNBOUND or is_perhaps(held) or is_unknown(held):
                return None
        return found

    def selected(self, value: OneOf, held: Mapping[int, Any]) -> Any:
        """Which of these, by the numbers of the candidates, is that of the candidate."""
        groups: list[tuple[Any, list[int]]] = []
        for k, each in held.items():
            numbers = next((numbers for other, numbers in groups if other is each), None)
            if numbers is None:
                groups.append((each, [k]))
            else:
                numbers.append(k)
        values = [each for each, _ in groups]
        if len(groups) == 1:
            return values[0]
        table = [0] * len(candidates_of(value))
        for group, (_, numbers) in enumerate(groups):
            for k in numbers:
                table[k] = group
        if len(groups) > 2:
            which = jnp.asarray(table, jnp.int32)[code_of(value)]
            if (found := select(self._backend, which, values)) is not NotImplemented:
                return found
        (found, _), *rest = groups
        for each, numbers in rest:
            found = self._either(has_number_in(value, numbers), each, found)
        return found

    def _either(self, test: Any, one: Any, other: Any) -> Any:
        if test is True:
            return one
        if (found := select(self._backend, test, [other, one])) is not NotImplemented:
            return found
        is_written_later = any(parts_of(each) for each in (one, other))  # through what is selected, perhaps
        snapshot = Snapshot((lambda: (one, other),), []) if is_written_later else NO_SNAPSHOT
        return self._staged_if(test, Kept(one), Kept(other), [], snapshot)


def assigned(one: Any, new: Callable[[Any], Any]) -> None:
    """Assign to a candidate, which may be a value: that has nothing that is assigned."""
    if not is_variable(one):
        kind = "jax.Array" if isinstance(one, jax.Array) else type(one).__name__
        raise AttributeError(f"{kind!r} object has no attribute 'assign'")
    one._change(new)


def _is_plain(kind: type, name: str) -> bool:
    """Whether an attribute of objects of this class is just held by them."""
    descriptor = class_attribute(kind, name)
    is_slot = type(descriptor).__name__ == "member_descriptor"
    if descriptor is not None and hasattr(type(descriptor), "__get__") and not is_slot:
        return False
    own: Any = kind
    return own.__setattr__ is object.__setattr__ and own.__getattribute__ is object.__getattribute__
