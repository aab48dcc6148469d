"""`Site`: an exception that may be raised at run time, and how to construct it from run-time values."""

from __future__ import annotations

import functools
import operator
import re
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from autograph.runtime.code.library_table import is_library
from autograph.runtime.effects.as_python import as_number, as_python
from autograph.runtime.effects.snapshots import Snapshot
from autograph.runtime.effects.traced_texts import PLAIN, DeferredText, TracedText
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.layouts.constants import sort_of_constant
from autograph.runtime.layouts.list_room import OutOfRoom, Room
from autograph.runtime.layouts.objects import given_names, members_of_bases
from autograph.runtime.layouts.one_of import CODE, OneOf, candidates_of, is_one_of
from autograph.runtime.layouts.pytrees import tree_flatten, tree_leaves, tree_map
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

_TRACED = object()
_TRACER = re.compile(r"Tracer(?:[<(]|%28)")  # of which %28 is the parenthesis in a URL


def text_of_error(error: Any, made: Remade, show: Callable[[Any], str]) -> Any:
    """``show(error)``, which waits for the values that the exception is made of, if it is made of such."""
    return TracedText(show, (made,)) if made.values else show(error)


def shows_tracer(text: Any) -> bool:
    """Whether a text shows a tracer instead of a value."""
    return issubclass(type(text), str) and _TRACER.search(text) is not None


def refusing_tracers_shown(called: Any, made: Callable[..., Any]) -> Callable[..., Any]:
    """``made``, which is called in place of a function that is not converted: `StagingError` if its text shows tracers."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = made(*args, **kwargs)
        if shows_tracer(found):
            raise StagingError(
                f"{user_location()}\n  `{getattr(called, '__name__', None) or type(called).__name__}`, which is not converted, makes "
                "a string of traced values here. Their values are known only at run time.\n  Format the values by an f-string, return "
                "them and make the string outside, or call this through autograph.py_function."
            )
        return found

    return call


def arguments_of(kind: type[BaseException], values: Sequence[Any]) -> Any:
    """The arguments of an exception, of these values.

    The message is the `repr` of several arguments, of a `KeyError`'s one, and of what a container holds. Numbers in them are Python's,
    as in the text of a container.
    """
    is_shown = (
        len(values) > 1 or issubclass(kind, KeyError) or isinstance(values[0] if values else None, list | tuple | dict)
    )
    return as_python(values) if is_shown else values


def resolved(value: Any) -> Any:
    """``value`` with the texts in it put together, and the constants instead of what is one of several."""
    if not has_text(value):
        return value
    return tree_map(_as_text, value, is_leaf=_is_text)


def drafted(value: Any) -> Any:
    """``value`` with something instead of each text in it, for an exception that nobody sees."""
    if not has_text(value):
        return value
    return tree_map(lambda part: _draft(part) if _is_text(part) else part, value, is_leaf=_is_text)


def holding(error: BaseException, drafts: Sequence[Any], arguments: Sequence[Any]) -> BaseException:
    """An exception made of `drafted` arguments, with the arguments themselves for a handler to read."""
    if has_text(arguments) and len(error.args) == len(drafts) and all(map(operator.is_, error.args, drafts)):
        error.args = tuple(as_arguments(arguments))
    return error


def as_arguments(content: Any) -> Any:
    """``content`` as a handler, or the class of an exception, is given it: texts are texts of the trace, all else is what it is."""
    return tree_map(_as_argument, content, is_leaf=lambda part: _is_text(part) or not has_text(part))


def with_constants_numbered(result: Any) -> Any:
    """A result that JAX takes out of a trace, with what it does not take, the constants in texts, as the numbers of such."""
    if isinstance(result, jax.core.Tracer):
        return result
    if not any(isinstance(part, TracedText) for part in tree_leaves(result, is_leaf=_is_text)):
        return result
    return tree_map(
        lambda part: _with_numbers(part) if isinstance(part, TracedText) else part, result, is_leaf=_is_text
    )


def _with_numbers(text: TracedText) -> Any:
    def numbered(leaf: Any) -> Any:
        return leaf if sort_of_constant(leaf) is None else OneOf((leaf,), CODE.type(0))

    return tree_map(numbered, text)


def _draft(text: DeferredText | OneOf | Snapshot) -> Any:
    if isinstance(text, OneOf):
        return candidates_of(text)[0]
    if isinstance(text, Snapshot):
        return text.made_of(text.values)
    try:
        return str(text)
    except Exception:  # a format that asks for the value
        return "…"


def _as_argument(part: Any) -> Any:
    if isinstance(part, Snapshot):
        return part.made_of(part.values)
    return TracedText(part.make, part.values) if type(part) is DeferredText else part


def has_text(value: Any) -> bool:
    """Whether a text that only the run knows, or what is one of several, is in a value."""
    return any(map(_is_text, tree_leaves(value, is_leaf=_is_text)))


def _is_text(value: Any) -> bool:
    return issubclass(type(value), DeferredText | OneOf | Snapshot)


def _as_text(value: Any) -> Any:
    if is_one_of(value):
        return OneOf.resolve(value)
    if isinstance(value, Snapshot):
        return value.resolve()
    return str(value) if isinstance(value, DeferredText) else value


def unheard(where: str, name: str) -> str:
    """What is said of an exception that nothing checks for."""
    return (
        f"{where}\n  {name} is raised under a traced condition here, and nobody looks for it: a program that XLA runs by itself cannot "
        "raise.\n  Call the function through autograph.function."
    )


class Recipe:
    """How an exception is made: ``kind`` called, or a copy of an exception that was there.

    Attributes:
      kind: its class.
      content: what it is made from: arguments and keywords for a call; ``args`` and attributes of a copy.
      is_call: which of the two.
      is_check: whether a program that cannot raise does without.
    """

    def __init__(self, kind: type[BaseException], content: Any, is_call: bool) -> None:
        self.kind = kind
        self.content = content
        self.is_call = is_call
        self.is_check = False

    @classmethod
    def of(cls, error: BaseException) -> Recipe:
        """For an exception that is there."""
        kind = type(error)
        members = {name: held for name in members_of_bases(kind) if (held := getattr(error, name, None)) is not None}
        if kind.__module__ == "builtins":  # it may hold more than its arguments: the name of a file, say
            args = error.__reduce__()[1]
            held = members if isinstance(error, OSError | UnicodeError) else given_names(error)
            return cls(kind, (args, held | vars(error)), False)
        return cls(kind, (error.args, members | vars(error)), False)

    def make(self, content: Any) -> BaseException:
        first, second = resolved(content)
        return self.made_of((arguments_of(self.kind, first), second))

    def standing(self, content: Any) -> BaseException:
        """The exception that stands for it while tracing: of a class of the user's, by its converted `__init__`."""
        first, second = drafted(content)
        if not self.has_own_init:
            return holding(
                self.made_of((first, second if self.is_call else as_arguments(content[1]))), first, content[0]
            )
        error = self.kind.__new__(self.kind, *first)
        self.initialize(error, content)
        return error

    @property
    def has_own_init(self) -> bool:
        """Whether the class's `__init__` is the user's."""
        init = self.kind.__init__
        return self.is_call and isinstance(init, types.FunctionType) and not is_library(init)

    def initialize(self, error: BaseException, content: Any) -> None:
        """Call that `__init__`, of arguments that may be traced."""
        first, second = as_arguments(content)
        LANGUAGE.operators.call(self.kind.__init__)(error, *first, **second)

    def made_of(self, content: Any) -> BaseException:
        """The exception, made of this content as it is."""
        first, second = content
        if self.is_call:
            return self.kind(*first, **second)
        if self.kind.__module__ == "builtins":
            error = self.kind(*first)
        else:
            error = self.kind.__new__(self.kind, *first)
            error.args = tuple(first)
        members = members_of_bases(self.kind)
        for name, value in second.items():
            if name in members or self.kind.__module__ == "builtins":
                object.__setattr__(error, name, value)
            else:
                vars(error)[name] = value
        return error


class Site:
    """One ``raise`` that may happen. See `backends.base.RaiseSite`; ``values`` are those it carries.

    Args:
      related: its cause and its context, where they are exceptions of the program.
    """

    is_caught = False

    def __init__(
        self,
        recipe: Recipe,
        error: BaseException,
        position: tuple[str, int, str],
        related: Sequence[Remade | None],
    ) -> None:
        self._related = tuple(None if each is None else each.site for each in related)
        leaves, self._treedef = tree_flatten(recipe.content)
        traced = [isinstance(leaf, jax.core.Tracer) for leaf in leaves]
        self._statics = tuple(_TRACED if t else leaf for t, leaf in zip(traced, leaves, strict=True))
        self._recipe = recipe
        cause, context = related
        self._cause = error.__cause__ if cause is None else None
        self._context = error.__context__ if context is None else None
        self._hides_context = error.__suppress_context__
        self.position = position
        values = [leaf for t, leaf in zip(traced, leaves, strict=True) if t]
        values += [value for each in related if each is not None for value in each.values]
        self.types = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in values)
        recipe.content = None  # it holds tracers

    @staticmethod
    def values(content: Any) -> list[Any]:
        """The traced values in what an exception is made from."""
        return [leaf for leaf in tree_leaves(content) if isinstance(leaf, jax.core.Tracer)]

    @property
    def kind(self) -> type[BaseException]:
        """The exception's class."""
        return self._recipe.kind

    @property
    def name(self) -> str:
        return self._recipe.kind.__name__

    @property
    def is_check(self) -> bool:
        return self._recipe.is_check

    @property
    def where(self) -> str:
        return describe_location(*self.position[:2])

    @property
    def room(self) -> Room | None:
        """What has proved too small, of `OutOfRoom`."""
        return next((leaf for leaf in self._statics if isinstance(leaf, Room)), None)

    @property
    def refusal(self) -> str:
        """What is said where nothing checks for the exception."""
        if issubclass(self._recipe.kind, OutOfRoom):
            return next(leaf for leaf in self._statics if isinstance(leaf, str))
        return unheard(self.where, self.name)

    @property
    def is_text_of_tracers(self) -> bool:
        """Whether a text shows a traced value as JAX describes it, and not its value."""
        return any(shows_tracer(leaf) for leaf in self._statics)

    def __repr__(self) -> str:
        return f"{self.name} at line {self.position[1]}"

    def __hash__(self) -> int:
        return hash((self._recipe.kind, self.position))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and (
            self is other
            or (
                (self._recipe.kind, self._recipe.is_call, self.position, self.types, self._treedef)
                == (other._recipe.kind, other._recipe.is_call, other.position, other.types, other._treedef)
                and self._cause is other._cause
                and self._related == other._related
                and all(_is_same(a, b) for a, b in zip(self._statics, other._statics, strict=True))
            )
        )

    def raise_with(self, values: Sequence[Any]) -> None:
        """Raise it so that its traceback ends at the user's own line."""
        error = self.made(values)
        filename, line, function = self.position
        source = "\n" * (line - 1) + "raise error"
        code = compile(source, filename, "exec").replace(co_name=function, co_qualname=function)
        namespace = {"error": error}
        try:
            exec(code, namespace)
        finally:  # the error holds these frames: if they held it, what they refer to would wait for the garbage collector
            namespace.clear()
            del error

    def made(self, values: Sequence[Any]) -> BaseException:
        """The exception, of these values."""
        pending = iter(values)
        leaves = [next(pending) if static is _TRACED else static for static in self._statics]
        error = self._recipe.make(jax.tree_util.tree_unflatten(self._treedef, leaves))
        return self._with_related(error, pending)

    def _with_related(self, error: BaseException, pending: Iterator[Any]) -> BaseException:
        cause, context = (
            None if site is None else site.made([next(pending) for _ in site.types]) for site in self._related
        )
        error.__context__ = self._context if context is None else context
        error.__cause__ = self._cause if cause is None else cause
        error.__suppress_context__ = self._hides_context
        return error

    def defer_texts(self, error: BaseException, values: Sequence[Any]) -> None:
        """Let the texts in an exception that stands for this one while tracing wait for these values."""
        if any(map(_is_draft, error.args)):
            error.args = tuple(
                TracedText(functools.partial(_argument, self, k), tuple(values)) if _is_draft(arg) else arg
                for k, arg in enumerate(error.args)
            )

    def stand_ins(self, values: Sequence[Any]) -> list[tuple[BaseException, Remade]]:
        """The exception for what handles it while tracing, and those that it comes of, each with how it is made.

        Arguments are traced values, and texts that wait for such.
        """
        if not self.types:
            return [(self.made(()), Remade(self, ()))]
        pending = iter(values)
        leaves = [next(pending) if static is _TRACED else static for static in self._statics]
        error = self._recipe.standing(jax.tree_util.tree_unflatten(self._treedef, leaves))
        self.defer_texts(error, values)
        related = [
            None if site is None else site.stand_ins([next(pending) for _ in site.types]) for site in self._related
        ]
        cause, context = (None if found is None else found[0][0] for found in related)
        error.__context__ = self._context if context is None else context
        error.__cause__ = self._cause if cause is None else cause
        error.__suppress_context__ = self._hides_context
        return [(error, Remade(self, values)), *(each for found in related if found is not None for each in found)]


def _is_draft(argument: Any) -> bool:
    """Whether an exception's argument is a text that shows traced values as JAX describes them, or none yet."""
    return issubclass(type(argument), str) and (argument == "…" or _TRACER.search(argument) is not None)


def _argument(site: Site, k: int, *values: Any) -> str:
    return str(site.made(list(map(as_number, values))).args[k])


@jax.tree_util.register_pytree_node_class
class Remade:
    """An exception of the program, as its site and the values that it carries: shown as the exception is."""

    def __init__(self, site: Site, values: Sequence[Any]) -> None:
        self.site = site
        self.values = tuple(values)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Site]:
        return self.values, self.site

    @classmethod
    def tree_unflatten(cls, site: Site, values: Any) -> Remade:
        return cls(site, values)

    def __str__(self) -> str:
        return str(self._made())

    def __repr__(self) -> str:
        made = self._made()
        made.args = tuple(as_python(made.args))
        return repr(made)

    def __format__(self, specification: str) -> str:
        return format(self._made(), specification)

    def _made(self) -> BaseException:
        return self.site.made(list(map(as_number, self.values)))


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, PLAIN) and a == b and repr(a) == repr(b))
