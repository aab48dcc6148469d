"""How an exception that holds traced values is made again at run time, of the values that they have there."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from autograph.runtime.code.library_table import is_library
from autograph.runtime.effects.raise_sites import Recipe, Remade, Site
from autograph.runtime.effects.raising import current, meets_handler
from autograph.runtime.effects.traced_texts import TracedText
from autograph.runtime.heap.places import MUTABLE_CONTAINERS
from autograph.runtime.layouts.describe import is_leaf
from autograph.runtime.layouts.objects import attributes_of, is_plain_kind, is_plain_object
from autograph.runtime.layouts.pytrees import tree_leaves
from autograph.runtime.tracing.locations import is_of_library, user_position, user_position_now


def site_of(recipe: Recipe, error: BaseException) -> tuple[Site, list[Any]]:
    """Where an exception is raised, and the values that it carries."""
    values = Site.values(recipe.content)
    related = [made_again(error.__cause__), made_again(error.__context__)]
    position = user_position(error.__traceback__, lambda code: not is_of_library(code.co_filename))
    site = Site(recipe, error, position or user_position_now(), related)
    return site, [*values, *(value for each in related if each is not None for value in each.values)]


def cause_of(given: Any) -> BaseException | None:
    """What Python takes as the cause in ``raise … from given``: an exception of a class, or the TypeError of this Python."""
    made = Exception()
    try:
        raise made from given
    except BaseException as error:
        if error is not made:
            raise
        return made.__cause__


def held_itself(error: BaseException) -> BaseException | None:
    """An exception that a handler is to be given itself: others may refer to it."""
    return error if is_plain_object(error) else None


def is_object_of(kind: type[BaseException], arguments: Iterable[Any]) -> bool:
    """Whether an exception that a ``raise`` makes of arguments is made, and held, as any object: its class has code of the user's for
    that, or a handler of the program's may write to what it holds."""
    if not is_plain_kind(kind):
        return False
    if any(
        isinstance(method, types.FunctionType) and not is_library(method) for method in (kind.__init__, kind.__new__)
    ):
        return True
    if not meets_handler(kind):
        return False
    parts = tree_leaves(tuple(arguments), is_leaf=lambda part: isinstance(part, MUTABLE_CONTAINERS))
    return any(isinstance(part, MUTABLE_CONTAINERS) or is_plain_object(part) for part in parts)


def is_new(error: BaseException) -> bool:
    """Whether an exception has been made by the ``raise`` that raises it, so that nothing else refers to it."""
    made = current().recipe
    return made is not None and made[0] is error


def note_handled(found: Iterable[tuple[BaseException, Remade]]) -> None:
    """Remember exceptions that handlers of the program are given."""
    current().handled += [(error, made, attributes_of(error)) for error, made in found]


def remade(error: Any) -> Remade | None:
    """How an exception that a handler of the program has been given is made when the program runs; None for any other."""
    for each, made, held in reversed(
        current().handled
    ):  # a handler around another may be given it again, with values of its trace
        if each is error:
            return _of_attributes(error) if is_plain_object(error) and _may_have_changed(error, held) else made
    return None


def made_again(error: Any) -> Remade | None:
    """How an exception of the program is made, or another one that holds traced values; None of anything else."""
    found = remade(error)
    if found is not None or not isinstance(error, Exception):
        return found
    recipe = Recipe.of(error)
    return Remade(*site_of(recipe, error)) if Site.values(recipe.content) else None


def carries_values(error: BaseException) -> bool:
    """Whether an exception is made of traced values."""
    made = current().recipe
    content = made[1].content if made is not None and is_new(error) else error.args
    return bool(Site.values(content))


def _of_attributes(error: BaseException) -> Remade:
    return Remade(*site_of(Recipe.of(error), error))


def _may_have_changed(error: BaseException, held: dict[str, Any]) -> bool:
    """Whether an exception may hold something else than these attributes held when it came to its handler."""
    now = attributes_of(error)
    if now.keys() != held.keys() or any(now[name] is not held[name] for name in now):
        return True
    return any(not _is_value(part) for part in now.values())


def _is_value(part: Any) -> bool:
    return (
        all(map(_is_value, part))
        if type(part) is tuple
        else is_leaf(part) or isinstance(part, BaseException | TracedText)
    )
