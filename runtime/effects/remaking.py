"""How an exception that holds traced values is made again at run time, of the values that they have there."""

from __future__ import annotations

from typing import Any

from autograph.runtime.effects.raise_sites import Recipe, Remade, Site
from autograph.runtime.effects.raising import current, remade
from autograph.runtime.tracing.locations import user_position, user_position_now


def site_of(recipe: Recipe, error: BaseException) -> tuple[Site, list[Any]]:
    """Where an exception is raised, and the values that it carries."""
    values = Site.values(recipe.content)
    related = [made_again(error.__cause__), made_again(error.__context__)]
    site = Site(recipe, error, user_position(error.__traceback__) or user_position_now(), related)
    return site, [*values, *(value for each in related if each is not None for value in each.values)]


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
    content = made[1].content if made is not None and made[0] is error else error.args
    return bool(Site.values(content))
