"""`ChosenArguments`: the arguments that an option selects by number or name, as ``static_argnums`` does."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from autograph.runtime.layouts.static_values import StaticLeaf, WholeArgument, describe_static, static_leaf


@dataclass(frozen=True)
class ArgumentOptions:
    """What a `Function` is told of its arguments.

    Attributes:
      static_argnums, static_argnames: those that are part of the program, whatever they are.
      donate_argnums: those whose arrays a call may consume.
    """

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()

    @classmethod
    def of(cls, static_argnums: Any, static_argnames: Any, donate_argnums: Any) -> ArgumentOptions:
        """The options as a caller passes them.

        Raises:
          TypeError: one is neither a number or name, nor a sequence of them.
        """
        return cls(
            _numbers("static_argnums", static_argnums),
            _names("static_argnames", static_argnames),
            _numbers("donate_argnums", donate_argnums),
        )


@dataclass(frozen=True)
class ChosenArguments:
    """Some of a function's parameters.

    Attributes:
      names: of parameters, or of keywords that ``**kwargs`` takes.
      numbers: of what ``*args`` takes, counted from its first.
    """

    names: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.names or self.numbers)

    @classmethod
    def of(
        cls,
        option: str,
        signature: inspect.Signature,
        numbers: Sequence[int],
        names: Sequence[str] = (),
        skip_first: bool = False,
    ) -> ChosenArguments:
        """The arguments that an option names.

        Args:
          option: what the option is called.
          signature: of the function as it is written. A method's first parameter, its instance, has number 0.
          numbers: of arguments given by position; negative ones count from the last parameter.
          names: of parameters.
          skip_first: whether the function is bound to an instance, so that its first parameter is no argument.

        Raises:
          ValueError: there is no such argument.
        """
        parameters = list(signature.parameters.values())
        positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        takes_more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        takes_keywords = any(p.kind is p.VAR_KEYWORD for p in parameters)
        chosen, more = set(), set()
        for number in numbers:
            place = number + len(positional) if number < 0 else number
            if place < 0 or (place >= len(positional) and not takes_more):
                raise ValueError(
                    f"{option} names argument {number} of a function that takes {len(positional)} by position"
                )
            if place < len(positional):
                chosen.add(positional[place])
            else:
                more.add(place - len(positional))
        for name in names:
            if name not in known and not takes_keywords:
                raise ValueError(f"static_argnames names {name!r}; the function's parameters are {', '.join(known)}")
            chosen.add(name)
        if skip_first and positional:
            chosen.discard(positional[0])
        return cls(frozenset(chosen), frozenset(more))

    def places(self, names: Sequence[str], positional: int) -> Iterator[int]:
        """The places of the chosen among canonical values of these names, of which so many are parameters by position."""
        for place, name in enumerate(names):
            if name in self.names or place - positional in self.numbers:
                yield place


def refuse_both(static: ChosenArguments, donated: ChosenArguments) -> None:
    """Raise ``ValueError`` if an argument is static, so that it is no input of the program, and given away."""
    for name in sorted(static.names & donated.names) or sorted(map(str, static.numbers & donated.numbers)):
        raise ValueError(f"`{name}` is static and donated (donate_argnums): only arrays that are inputs can be donated")


class StaticArgument(WholeArgument):
    """Holds the value of an argument that is static as a whole."""

    __slots__ = ()

    def leaf(self) -> StaticLeaf:
        leaf = super().leaf()
        return dataclasses.replace(leaf, key=_key(self.value)) if type(self.value) is tuple else leaf


def _key(value: Any) -> Any:
    """A key for the items of tuples, where ``1``, ``1.0`` and ``True`` differ as they do by themselves."""
    return (tuple, *map(_key, value)) if type(value) is tuple else static_leaf(value).key


def given(value: Any) -> Any:
    """The value of an argument, static or not."""
    return value.value if type(value) is StaticArgument else value


def as_static(value: Any, function: str, name: str) -> StaticArgument:
    """An argument as a static one.

    Raises:
      ValueError: it has no hash.
    """
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"{function}(): the static argument `{name}` is not hashable: {describe_static(value)}. A static argument is "
            "compared by hash and equality: pass a tuple instead of a list, and pass arrays as arguments that are not static"
        ) from None
    return StaticArgument(value)


def _numbers(option: str, given: Any) -> tuple[int, ...]:
    try:
        return (operator.index(given),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(number) for number in given)
    except TypeError:
        raise TypeError(f"{option} must be an int or a sequence of ints; got {given!r}") from None


def _names(option: str, given: Any) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option} must be a string or a sequence of strings; got {given!r}")
    return names
