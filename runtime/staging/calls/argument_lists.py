"""Calls with an argument list that is unpacked, ``f(*xs)``, of a list whose length is traced."""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

import jax
import numpy as np

from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.sizes import is_of_symbolic_size
from autograph.runtime.containers.traced_lists import TracedList, is_traced_list
from autograph.runtime.containers.traced_sets import is_set
from autograph.runtime.containers.traced_tuples import TracedTuple
from autograph.runtime.errors import StagingError
from autograph.runtime.staging.access.user_methods import user_method
from autograph.runtime.tracing.locations import user_location


@jax.tree_util.register_pytree_node_class
class Unpacked(TracedTuple):
    """The items of a list of traced length, in place of as many arguments. Only converted code is called with it."""

    __slots__ = ()


class ArgumentLists:
    """The operators for such calls.

    A function that has a parameter for each of the items gets them, and the program raises where there are more or fewer.
    The parameter ``*args`` of a converted function becomes a tuple of traced length, and so do the arguments of `print`, `max`
    and `min`.

    Args:
      operators: all of them.
      convert: makes the converted form of a function.
      is_converted: whether a function is one.
    """

    def __init__(
        self, operators: Any, convert: Callable[[Any], Any], is_converted: Callable[[types.FunctionType], bool]
    ) -> None:
        self._operators = operators
        self._convert = convert
        self._is_converted = is_converted

    def arguments(self, values: Any) -> Any:
        """What Python unpacks for ``*values``."""
        if is_of_symbolic_size(values, self._operators.backend):
            values = self._operators.call(list)(values)
        values = self._operators.items_of(values)
        return (Unpacked(values, values.checks),) if is_traced_list(values) else values

    def gathered(self, given: tuple[Any, ...]) -> tuple[Any, ...] | TracedTuple:
        """The value of the parameter ``*args`` of a function that is called with these."""
        if not any(map(_is_unpacked, given)):
            return given
        return self._operators.tuple_of_list(self._joined(given))

    def call_unpacking(self, called: Any, is_outside: bool = False) -> Any:
        """`call`, or `call_outside`, for a call in which some arguments are `arguments`."""
        made = (self._operators.call_outside if is_outside else self._operators.call)(called)
        if self._operators.backend.is_eager():
            return made
        if (method := user_method(type(called), "__call__")) is not None:
            called = types.MethodType(method, called)

        def call(*args: Any, **kwargs: Any) -> Any:
            if not any(map(_is_unpacked, args)):
                return made(*args, **kwargs)
            if not kwargs and (in_turn := self._in_turn(called)) is not None:
                return in_turn(self._joined(args))
            args, kwargs = self._matched(called, args, kwargs)
            return made(*args, **kwargs)

        return call

    def _matched(
        self, called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with which a function does what it does with those that are unpacked."""
        if called is builtins.print:
            return self._pieces(args, " " if kwargs.get("sep") is None else kwargs["sep"]), {**kwargs, "sep": ""}
        if called in (builtins.max, builtins.min):
            return (self._compared(called, args),), kwargs
        return self._by_parameter(called, args, kwargs), kwargs

    def _joined(self, args: Iterable[Any]) -> TracedList:
        made = self._operators.new_list([])
        for each in args:
            made.extend(each.as_list() if isinstance(each, Unpacked) else (each,))
        return made

    # The builtins that take any number of arguments.

    def _in_turn(self, called: Any) -> Callable[[TracedList], Any] | None:
        """What does with a list what a function does with its items as arguments, one after the other; None of other functions."""
        call = self._operators.call
        if called is itertools.chain:
            return call(itertools.chain.from_iterable)
        if (start := _FOLDED.get(called) if isinstance(called, types.BuiltinFunctionType) else None) is not None:
            return lambda items: call(functools.reduce)(called, items, start)
        name = getattr(called, "__name__", "")
        if name in _OF_SETS and getattr(called, "__objclass__", None) in (set, frozenset):
            return lambda items: self._of_first(called, items)
        owner: Any = getattr(called, "__self__", None)
        if name in _OF_SETS and is_set(owner):
            return lambda items: call(functools.reduce)(
                lambda found, item: call(getattr(found, name))(item), items, call(owner.copy)()
            )
        if name in _OF_SETS_IN_PLACE and is_set(owner):
            return lambda items: self._operators.for_stmt(items, call(called), ())
        return None

    def _of_first(self, method: Any, items: TracedList) -> Any:
        """``set.union(*items)`` …"""
        self._check_raises(method.__name__)
        self._raise_where(items.size() == 0, _error_of(method, ()))
        in_turn = self._in_turn(getattr(items[0], method.__name__))
        return items[0] if in_turn is None else in_turn(items[1:])

    def _pieces(self, args: Sequence[Any], separator: str) -> tuple[Any, ...]:
        """What `print` shows without separators: the texts of lists have them, as there is none around an empty list."""
        known = next((k for k, each in enumerate(args) if not isinstance(each, Unpacked)), None)
        if known is None:
            return (self._operators.text(functools.partial(_texts, separator), self._joined(args)),)
        pieces: list[Any] = []
        for k, each in enumerate(args):
            if isinstance(each, Unpacked):
                before, after = ("", separator) if k < known else (separator, "")
                pieces.append(self._operators.text(functools.partial(_framed, before, after), each.as_list()))
            else:
                pieces += [separator, each] if k > known else [each]
        return tuple(pieces)

    def _compared(self, called: Any, args: Sequence[Any]) -> TracedList:
        """The list of the arguments of `max` or `min`: one argument alone would be an iterable."""
        items = self._joined(args)
        is_certain = sum(not isinstance(each, Unpacked) for each in args) > 1
        if not is_certain:
            self._check_raises(called.__name__)
            self._raise_where(items.size() == 0, _error_of(called, ()))
        first = items[0]
        if not hasattr(first, "dtype") or first.ndim:
            self._refuse(
                called.__name__, "Its items may be iterables, which Python takes apart where there is one of them."
            )
        if not is_certain:
            self._raise_where(items.size() == 1, _error_of(called, (np.zeros((), first.dtype).item(),)))
        return items

    # Functions whose parameters are known.

    def _by_parameter(self, called: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        name = getattr(called, "__name__", type(called).__name__)
        parameters = _parameters(called)
        if parameters is None:
            self._refuse(name, "Its parameters are not known: it is no function or class of Python's.")
        free = [each for each in parameters if each.kind in _POSITIONAL and each.name not in kwargs]
        place = next(k for k, each in enumerate(args) if isinstance(each, Unpacked))
        takes_more = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
        if takes_more and not self._is_gathered(called):
            self._refuse(name, "It is not converted, or a lambda.")
        if takes_more and place >= len(free):
            return args
        defaults = [each.default for each in free[place:] if each.default is not inspect.Parameter.empty]
        if is_library(called) and not all(isinstance(default, int | float | complex) for default in defaults):
            self._refuse(name, f"Its parameter '{free[-1].name}' has a default, and it is not converted.")
        is_several = any(isinstance(each, Unpacked) for each in args[place + 1 :])
        if is_several or ((takes_more or defaults) and len(args) > place + 1):
            self._refuse(name, "More arguments follow, whose parameters depend on the number.")
        items = args[place].as_list()
        count = len(free) - place if takes_more else max(len(free) - len(args) + 1, 0)
        needed = count - len(defaults)
        if needed or not takes_more:
            self._check_raises(name)
        for fewer in range(needed):
            self._raise_where(items.size() == fewer, _error_of(called, [None] * (len(args) - 1 + fewer), kwargs))
        taken = [items[k] if k < needed else self._given_or(items, k, defaults[k - needed]) for k in range(count)]
        if takes_more:
            return (*args[:place], *taken, Unpacked(items[count:], self._operators))
        text = _error_of(called, [None] * (len(args) + count), kwargs).args[0]
        form, others = _with_number(text, count + 1)
        operators, given = self._operators, others + items.size()
        operators.raise_unless(
            items.size() <= count, lambda: operators.exception(TypeError, operators.text(form.format, given))
        )
        return (*args[:place], *taken, *args[place + 1 :])

    def _given_or(self, items: TracedList, k: int, default: Any) -> Any:
        """An argument for a parameter with a default: an item, if there are so many."""
        return self._operators.if_exp(items.size() > k, lambda: items[k], lambda: default)

    def _is_gathered(self, called: Any) -> bool:
        """Whether this is converted, so that its ``*args`` is `gathered`."""
        if not isinstance(called, types.FunctionType | types.MethodType) or called.__name__ == "<lambda>":
            return False
        converted = self._convert(called)
        return self._is_converted(getattr(converted, "__func__", converted))

    # Errors.

    def _raise_where(self, condition: Any, error: TypeError) -> None:
        self._operators.raise_unless(~condition, error)

    def _check_raises(self, name: str) -> None:
        if not self._operators.can_raise_later(TypeError):
            self._refuse(name, "A bare jax.jit around converted code cannot raise TypeError for another number.")

    def _refuse(self, name: str, why: str) -> NoReturn:
        raise StagingError(
            f"{user_location()}\n  `{name}` is called with the items of a list as its arguments, and their number is known only at run "
            f"time. {why}\n  Pass the list, or elements of it: {name}(items[0], items[1])."
        )


# What folds its arguments from a start, and methods of sets that take one set after the other.
_FOLDED = MappingProxyType({math.hypot: 0.0, math.gcd: 0, math.lcm: 1})
_OF_SETS = frozenset(["union", "intersection", "difference"])
_OF_SETS_IN_PLACE = frozenset(["update", "intersection_update", "difference_update"])
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _parameters(called: Any) -> list[inspect.Parameter] | None:
    """The parameters of a function of the user's; None of what may not have the signature that it shows."""
    if type(called) not in (types.FunctionType, types.MethodType, functools.partial, type):
        return None
    try:
        return list(inspect.signature(called, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return None


def _is_unpacked(value: Any) -> bool:
    return isinstance(value, Unpacked)


def _error_of(called: Any, args: Sequence[Any], kwargs: Mapping[str, Any] = MappingProxyType({})) -> TypeError:
    """What Python raises for a number of arguments that the function does not take: it does not run."""
    try:
        called(*args, **kwargs)
    except TypeError as error:
        return TypeError(*error.args)
    raise AssertionError("the function takes so many arguments")


def _with_number(text: str, number: int) -> tuple[str, int]:
    """A text of Python's that says how many arguments were given, as a format of that, and how many are not the ``number`` of items."""
    found = re.search(r"but (\d+) ", text)
    if found is None:
        return text.replace("{", "{{").replace("}", "}}"), 0
    return f"{text[: found.start(1)]}{{}}{text[found.end(1) :]}", int(found[1]) - number


def _texts(separator: str, items: Iterable[Any]) -> str:
    return separator.join(map(str, items))


def _framed(before: str, after: str, items: Iterable[Any]) -> str:
    return "".join(f"{before}{item}{after}" for item in items)
