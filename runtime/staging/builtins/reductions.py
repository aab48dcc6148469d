"""``sum``, ``max``, ``any`` and similar builtins of generator expressions, as loops, and of lists of traced length."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from autograph.backends.base import Backend
from autograph.runtime.containers.element_order import order_of
from autograph.runtime.containers.iterables import UNROLLED_AT_MOST, as_range, as_staged, is_for_loops
from autograph.runtime.containers.iterators import SequenceIterator
from autograph.runtime.containers.keyed_lists import KeyedList, without_order
from autograph.runtime.containers.orderings import error_of_empty, is_better, nan_never_better
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.searched_lists import EmptyListError
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.containers.unordered_lists import UnorderedList, UnorderedPairs
from autograph.runtime.heap.journal import Journal
from autograph.runtime.heap.reach import uses_constants_only
from autograph.runtime.layouts.optional import Optional, held_in, present_in, used
from autograph.runtime.layouts.statement_variables import value_of
from autograph.runtime.staging.builtins.any_order import NUMBERS, noting_keys
from autograph.runtime.staging.statements.conditionals import Conditionals
from autograph.runtime.staging.statements.generators import Generators
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.recording import effects_recorded


@jax.tree_util.register_pytree_node_class
class Total:
    """What has been added up. Before anything was (``value`` is None), it joins with others as the zeros of their type."""

    dynamic_size = False

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def tree_flatten(self) -> tuple[tuple[Any], None]:
        return (self.value,), None

    @classmethod
    def tree_unflatten(cls, _: None, children: tuple[Any]) -> Total:
        return cls(*children)

    def before_loop(self, *_: Any) -> Total:
        """Itself: as for a `TensorArray`, what is to be added is made room for when it is known."""
        return self

    def after_loop(self, _: int) -> Total:
        return self

    def room_in_loop(self, _: int) -> None:
        return None

    def added(self, value: Any) -> Total:
        """This and one value more."""
        return Total((0 if self.value is None else self.value) + used(value))


Shape = Any  # see `Reductions.parts`


@dataclass(frozen=True)
class Generator:
    """A generator expression in a trace, for a builtin to consume; Python's iteration over it is Python's.

    Attributes:
      element: makes an element, or the next clause's `Generator` if this ``is_nested``, of an item.
      items: what it runs over.
      condition: whether there is an element for an item.
      unpack: the shape of what an item is unpacked to (see `Reductions.parts`); None if it is the argument.
      is_nested: whether there is another clause.
      python_only: what in the element, if anything, needs each index as a Python int.
      operators: whose it is.
      has_own_keys: whether its items, of which the order is not known, are pairs with a key each that no other has.
    """

    element: Callable[..., Any]
    items: Any
    condition: Callable[..., Any] | None
    unpack: Shape
    is_nested: bool
    python_only: str | None
    operators: Reductions
    has_own_keys: bool = False

    def arguments(self, item: Any) -> tuple[Any, ...]:
        """What the functions take for an item."""
        return (item,) if self.unpack is None else tuple(self.operators.parts(item, self.unpack))

    def is_constant(self) -> bool:
        """Whether it is over a Python range, and makes its elements of constants only: then Python runs it, however long it is."""
        return type(self.items) is range and uses_constants_only(filter(None, (self.element, self.condition)))

    def in_any_order(self) -> Generator:
        """The same over a list of the elements of a set, for what does not depend on their order.

        Raises:
          StagingError: to make an element does something, of which the order could be seen.
        """
        return self._without_order() if _has_no_order(self.items) else self

    def _without_order(self) -> Generator:
        pure, condition, element = self.operators.without_effects, self.condition, self.element
        return dataclasses.replace(
            self,
            element=(lambda *item: element(*item)._without_order()) if self.is_nested else pure(element),
            items=self.items.members() if _has_no_order(self.items) else self.items,
            condition=None if condition is None else pure(condition),
            has_own_keys=getattr(self.items, "has_own_keys", False),
        )

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            arguments = self.arguments(item)
            if self.condition is None or self.operators.python_test(self.condition(*arguments), "comprehension"):
                value = self.element(*arguments)
                yield from value if self.is_nested else (value,)


def unpacked(item: Any, count: int) -> tuple[Any, ...]:
    """The parts of an item.

    Raises:
      TypeError, ValueError: it has none; there are more or fewer.
    """
    if not isinstance(item, Iterable) and not hasattr(type(item), "__getitem__"):
        raise TypeError(f"cannot unpack non-iterable {type(item).__name__} object")
    parts = tuple(itertools.islice(item, count + 1))
    if len(parts) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    if len(parts) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(parts)})")
    return parts


class Reductions:
    """Operators for generator expressions, and the loops that builtins make of them and of lists of traced length.

    Args:
      call: what to call in place of a function.
      python_test: of `PythonTests`.
      is_none: of `Nones`.
      for_stmt: of `Loops`.
      new_list: of `Lists`.
      unpacked: of `Lists`.
      in_list: `Absences.listed`.
      generators: which iterables are generators of converted code.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        call: Callable[[Any], Any],
        conditionals: Conditionals,
        python_test: Callable[[Any, str], Any],
        is_none: Callable[[Any], Any],
        for_stmt: Callable[..., Any],
        new_list: Callable[[list[Any]], list[Any]],
        unpacked: Callable[..., Any],
        in_list: Callable[[Any], Any],
        generators: Generators,
    ) -> None:
        self.backend = backend
        self.call = call
        self.conditionals, self.raising = conditionals, conditionals.raising
        self.python_test = python_test
        self.is_none = is_none
        self.for_stmt = for_stmt
        self.in_list = in_list
        self.new_list = new_list
        self.unpacked = unpacked
        self.generators = generators

    def parts(self, item: Any, shape: Shape) -> Iterator[Any]:
        """What the names in a target of this shape are bound to.

        A shape is the number of names, or the shapes of the parts: None for a name, ``"*"`` for one with a star.

        Raises:
          TypeError, ValueError: an item has no parts; there are more or fewer.
        """
        if isinstance(shape, int):
            yield from unpacked(item, shape)
        elif not isinstance(shape, tuple):
            yield item
        else:
            star = shape.index("*") if "*" in shape else None
            found = unpacked(item, len(shape)) if star is None else self.unpacked(item, star, len(shape) - star - 1)
            for part, inner in zip(found, shape, strict=True):
                yield from self.parts(part, inner)

    def generator(
        self,
        element: Callable[..., Any],
        items: Any,
        *,
        condition: Callable[..., Any] | None = None,
        unpack: Shape = None,
        is_nested: bool = False,
        python_only: str | None = None,
    ) -> Any:
        """A generator expression: one of Python's outside of transforms."""
        items = self.in_list(self.generators.iterated(items))
        found = Generator(element, items, condition, unpack, is_nested, python_only, self)
        return iter(found) if self.backend.is_eager() else found

    @property
    def journal(self) -> Journal:
        """What is written in the trace."""
        return self.raising.journal

    def without_effects(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that is refused where it does anything but return something."""

        def call(*args: Any) -> Any:
            if not self.journal.is_open:
                raise without_order("Something may be done here for each element, in")
            effects = effects_recorded()
            with self.journal.observed() as written:
                found = function(*args)
            if written or effects_recorded() != effects:
                raise without_order("Something is done here for each element, in")
            return found

        return call

    def list_of(
        self,
        element: Callable[..., Any],
        items: Any,
        *,
        condition: Callable[..., Any] | None = None,
        unpack: Shape = None,
        is_nested: bool = False,
        is_conditional: bool = False,
        python_only: str | None = None,
    ) -> list[Any]:
        """A list comprehension: a loop that appends, if it has conditions, is over a long range or a generator, or if its length
        is known only at run time. ``is_conditional``: a clause after the first has conditions."""
        items = as_range(self.in_list(self.generators.iterated(items)), may_be_left=False)
        found = Generator(element, items, condition, unpack, is_nested, python_only, self)
        if self.backend.is_eager():
            return list(found)
        if (unordered := found.in_any_order()) is not found:
            return self.in_no_order(unordered)
        if found.is_constant():
            return self.new_list(list(found))
        is_loop = is_conditional or condition is not None or self._is_advanced_by_loops(items)
        is_loop = is_loop or (
            self._is_long(items) if type(items) is range and not is_nested else self.has_traced_length(items)
        )
        if is_loop:
            return self.appended(found)
        if not is_nested:
            return self.new_list(list(found))
        kept = self.new_list([])
        self._append_each(found, kept)
        return kept

    def one_by_one(self, iterable: Any) -> Any:
        """What a list comprehension that is a loop of the program goes over: a list of the items of an array of known length, which
        Python goes over as that of `list_of`, and anything else as it is."""
        if self.backend.is_eager():
            return iterable
        items = self.in_list(self.generators.iterated(iterable))
        staged = None if self._is_advanced_by_loops(items) else as_staged(items, self.backend)
        is_short = staged is not None and isinstance(staged.length, int) and staged.length <= UNROLLED_AT_MOST
        return list(items) if is_short else items

    def in_no_order(self, generator: Generator) -> UnorderedList:
        """A list of the elements that are made of those of a set."""
        are_own: list[bool] = []
        kept = self.appended(noting_keys(generator, are_own))
        kind = UnorderedPairs if builtins.all(are_own) else UnorderedList
        return kind((), generator.items.checks).holding(
            kept.contents() if isinstance(kept, TracedList) else tuple(kept)
        )

    def _append_each(self, generator: Generator, kept: list[Any]) -> None:
        """Append the elements: Python goes over the items, and loops over those of clauses of traced length."""
        if self.has_traced_length(generator.items) or self._is_advanced_by_loops(generator.items):
            self.folded(generator, None, lambda _, value: self.call(kept.append)(value))
            return
        for item in generator.items:
            value = generator.element(*generator.arguments(item))
            if generator.is_nested:
                self._append_each(value, kept)
            else:
                kept.append(value)

    def listed(self, items: Any, element: Callable[[Any], Any] = lambda item: item) -> list[Any]:
        """The elements for the items, by a loop that appends."""
        return self.appended(Generator(element, items, None, None, False, None, self))

    def appended(self, generator: Generator) -> list[Any]:
        """The elements, by a loop that appends."""
        kept = self.new_list([])
        self.folded(generator, None, lambda _, value: self.call(kept.append)(value))
        return kept

    def each_of(self, iterable: Any, may_leave: bool = False) -> Any:
        """``iterable`` as a `Generator` to run a loop over, in place of what Python does with what it returns; None if there is
        no reason to. ``may_leave``: the loop may end before the iterable does."""
        if isinstance(iterable, Generator):
            return iterable if self._is_loop(iterable) else None
        is_source = self.generators.is_done_with if may_leave else self.generators.source_of
        if not is_source(iterable) and not is_for_loops(iterable):
            return None
        return self.each_element(iterable)

    def each_element(self, iterable: Any) -> Generator:
        """``(value for value in iterable)``."""
        return Generator(lambda value: value, iterable, None, None, False, None, self)

    def _is_loop(self, iterable: Generator) -> bool:
        if self._is_advanced_by_loops(iterable.items):
            return True
        is_staged = iterable.condition is not None or iterable.is_nested or self._is_long(iterable.items)
        return is_staged and not iterable.is_constant()

    def _is_advanced_by_loops(self, items: Any) -> bool:
        """Whether a loop goes on with this, which Python cannot advance."""
        is_open = isinstance(items, SequenceIterator) and items.is_open
        return is_open or is_for_loops(items) or self.generators.source_of(items) is not None

    def has_traced_length(self, items: Any) -> bool:
        """Whether a loop over this is staged, and runs so many times as only run time knows."""
        staged = as_staged(items, self.backend)
        return staged is not None and self.backend.is_traced(staged.length)

    def _is_long(self, items: Any) -> bool:
        """Whether a loop over this would be a staged one, and has more iterations than may well stand one by one."""
        if type(items) is range:
            return len(items) > UNROLLED_AT_MOST
        staged = as_staged(items, self.backend)
        return staged is not None and not (isinstance(staged.length, int) and staged.length <= UNROLLED_AT_MOST)

    def folded(
        self,
        generator: Generator,
        found: Any,
        join: Callable[[Any, Any], Any],
        go_on: Callable[[Any], Any] | None = None,
    ) -> Any:
        """``found`` joined with each element, as long as what comes of it lets it ``go_on``."""

        def run(generator: Generator) -> None:
            # By their own names: what a loop may write is looked for in what its body holds, and not in what is this package's.
            element, condition = generator.element, generator.condition

            def loop_body(item: Any) -> None:
                arguments = generator.arguments(item)

                def if_body() -> None:
                    nonlocal found
                    value = element(*arguments)
                    if generator.is_nested:
                        run(value)
                    else:
                        found = join(found, value)

                if condition is None:
                    if_body()
                else:
                    self.conditionals.if_stmt(condition(*arguments), if_body, None, ("found",))

            def loop_test() -> Any:
                assert go_on is not None
                return go_on(found)

            test = None if go_on is None else loop_test
            self.for_stmt(generator.items, loop_body, ("found",), test, python_only=generator.python_only)

        run(generator)
        return found

    def summed(self, generator: Generator, start: Any) -> Any:
        """What ``sum`` returns."""
        if not isinstance(value_of(start), NUMBERS):
            return self.folded(generator, start, functools.partial(LANGUAGE.operators.operate, "+"))
        total = self.folded(generator, Total(), Total.added)
        return start if total.value is None else start + total.value

    def decided(self, generator: Generator, function: Any) -> Any:
        """What ``any`` or ``all`` returns."""
        go_on = self.conditionals.not_ if function is builtins.any else self.conditionals.truth
        return self.folded(generator, function(()), lambda _, value: self.conditionals.truth(value), go_on)

    def extreme(self, generator: Generator, function: Any, *default: Any) -> Any:
        """What ``max`` or ``min`` returns."""
        return self.best_of(function, self.folded(generator, None, functools.partial(self._better, function)), *default)

    def _better(self, function: Any, best: Any, value: Any) -> Any:
        """The greater (for ``max``) of the best value yet, None if there is none, and another; the best if neither is."""
        value = used(value)
        if best is None:
            return value
        present, best = (present_in(best), held_in(best)) if isinstance(best, Optional) else (True, best)
        decided = is_better(value, best, operator.gt if function is builtins.max else operator.lt)
        if present is not True:
            decided = decided | ~present
        if not self.backend.is_traced(decided):
            return value if decided else best
        return jax.tree.map(lambda new, old: jnp.where(decided, new, old), value, best)

    def better_number(self, function: Any, best: Any, value: Any) -> Any:
        """The greater (for ``max``) of two numbers that may be ints which no array holds; the first if neither is."""
        compare = operator.gt if function is builtins.max else operator.lt
        better = LANGUAGE.operators.of_numbers(compare, value, best)
        better = compare(value, best) if better is NotImplemented else better
        return self.conditionals.if_exp(better, lambda: value, lambda: best)

    def summed_numbers(self, values: Sequence[Any], start: Any) -> Any:
        """The sum of numbers that may be ints which no array holds."""

        def added(one: Any, other: Any) -> Any:
            found = LANGUAGE.operators.of_numbers(operator.add, one, other)
            return one + other if found is NotImplemented else found

        return functools.reduce(added, values, start)

    def first(self, generator: Generator, *default: Any) -> Any:
        """What ``next`` returns."""
        found = self.folded(generator, None, lambda _, value: (used(value),), self.is_none)  # the value may be None
        if isinstance(found, Optional):
            found = Optional(present_in(found), held_in(found)[0])
        elif found is not None:
            return found[0]
        return self.best_of(builtins.next, found, *default)

    def best_of(self, function: Any, best: Any, *default: Any) -> Any:
        """What ``max``, ``min`` or ``next`` returns, once the value that it looks for, if there is one, is known.

        Raises:
          ValueError, StopIteration: there is none, and no default.
        """
        if best is None:
            return default[0] if default else function(iter(()))
        if not isinstance(best, Optional):
            return best
        if not default:
            error = error_of_empty(function)
            if self.raising.can_raise_later(type(error)):
                self.raising.raise_unless(present_in(best), error)
            return held_in(best)
        if default[0] is None:
            return best
        held = held_in(best)
        return self.conditionals.if_exp(present_in(best), lambda: held, lambda: default[0])

    def of_list(self, name: str, values: TracedList, key: Any = None, start: Any = 0, **default: Any) -> Any:
        """``sum``, ``max`` … of a list of traced length. ``default`` may hold their result for an empty one."""
        held: Padded = values.contents()
        if name in ("max", "min") and (key_at := values.checks.orderings.key_at(values, key)) is not None:
            return self._best_element(
                name, values, lambda: values.checks.orderings.best_by_calls(key_at, held, name), **default
            )
        if key is not None:
            return self.best_by_key(name, values, key, **default)
        is_array = held.kind.is_array or held.kind.is_place
        if name in ("any", "all"):
            beyond, function = (0, jnp.any) if name == "any" else (1, jnp.all)
            if not is_array:
                return self.decided(self.each_element(values), getattr(builtins, name))
            return function(held.stacked(beyond).astype(bool))
        if name == "sum":
            if not is_array:
                return self.summed(self.each_element(values), start)
            return start + held.number(held.stacked().sum(0))
        if not held.kind.is_array:
            return self._best_element(name, values, lambda: order_of(held, name == "max")[0], **default)
        self._check_not_empty(name, values, default)
        rows = held.stacked()
        if rows.ndim != 1:
            raise TypeError(f"{name} of arrays that are not scalars; apply it to the stacked array")
        first = rows[0] if held.capacity else None
        if first is None:
            if default:
                return default["default"]
            raise EmptyListError(*error_of_empty(getattr(builtins, name)).args)
        reduce = jnp.max if name == "max" else jnp.min
        found = held.number(reduce(nan_never_better(jnp.where(held.filled(), rows, first))))
        return jnp.where(held.length > 0, found, default["default"]) if default else found

    def _check_not_empty(self, name: str, values: Any, default: Any) -> None:
        """Raise where there is nothing to choose, and no default."""
        if not default and self.raising.can_raise_later(ValueError):
            self.raising.raise_unless(values.size() > 0, error_of_empty(getattr(builtins, name)))

    def _best_element(self, name: str, values: TracedList, place: Callable[[], Any], **default: Any) -> Any:
        """The element at the place where the best is, if there is any."""
        self._check_not_empty(name, values, default)
        best = values.element(place())
        is_there = values.contents().length > 0
        return self.conditionals.if_exp(is_there, lambda: best, lambda: default["default"]) if default else best

    def best_by_key(self, name: str, values: Any, key: Any, **default: Any) -> Any:
        """``max`` or ``min`` of a list, or a range, of traced length by a key, in a loop: as a user would write it."""
        compare = operator.gt if name == "max" else operator.lt
        best: Any = None
        best_key: Any = None

        def body(value: Any) -> None:
            nonlocal best, best_key
            its_key = self.call(key)(value)

            def keep() -> None:
                nonlocal best, best_key
                best, best_key = value, its_key

            is_first = self.is_none(best_key)
            wins = self.conditionals.or_(is_first, lambda: is_better(its_key, best_key, compare), is_test=True)
            self.conditionals.if_stmt(wins, keep, None, ("best", "best_key"))

        self._check_not_empty(name, values, default)
        self.for_stmt(values, body, ("best", "best_key"))
        if default:
            return self.conditionals.if_exp(self.is_none(best_key), lambda: default["default"], lambda: best)
        return held_in(best) if type(best) is Optional else best


def _has_no_order(items: Any) -> bool:
    return isinstance(items, KeyedList) and not items.has_order
