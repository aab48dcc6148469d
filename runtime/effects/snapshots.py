"""`Snapshot`: an object whose class says how it is shown, as its attributes are where a text of it is made.

The text is made when their values are known: then the object is made again of them, and Python calls its `__str__`,
`__repr__` or `__format__`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from autograph.runtime.code.code_names import class_attribute, codes_in, names_of
from autograph.runtime.code.library_table import is_library
from autograph.runtime.containers.keyed_lists import without_order
from autograph.runtime.containers.unordered_dicts import UnorderedDict
from autograph.runtime.containers.unordered_lists import UnorderedList
from autograph.runtime.effects.as_python import as_python, resolved_values
from autograph.runtime.errors import StagingError
from autograph.runtime.layouts.dict_by_path import with_dicts_by_path
from autograph.runtime.layouts.objects import attributes_of, bare_instance, is_plain_object
from autograph.runtime.layouts.one_of import OneOf
from autograph.runtime.layouts.optional import Optional
from autograph.runtime.layouts.perhaps import is_perhaps
from autograph.runtime.layouts.pytrees import in_order, tree_leaves, tree_map
from autograph.runtime.layouts.statement_variables import has_contents
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

_SHOWN_BY = ("__str__", "__repr__", "__format__")
_READ_BY = ("__iter__", "__next__", "__len__", "__getitem__", "__contains__", "__bool__")
_CHOSEN = (Optional, OneOf)

_UNORDERED = (UnorderedList, UnorderedDict)


def is_shown_by_class(value: Any) -> bool:
    """Whether this is an object of the user's whose class defines its text; of a dataclass, say."""
    kind = type(value)
    return is_plain_object(value) and any(getattr(kind, name) is not getattr(object, name) for name in _SHOWN_BY)


def any_shown_by_class(value: Any) -> bool:
    """Whether this is such an object, or a list, tuple or dict with one in it."""
    if has_contents(value) and value.padded is not None:
        return False
    if isinstance(value, list | tuple):
        return any(map(any_shown_by_class, value))
    if isinstance(value, dict):
        return any(map(any_shown_by_class, value.values()))
    return is_shown_by_class(value)


def with_snapshots(value: Any) -> Any:
    """A value with snapshots in the places of the objects in it whose class defines their text, if there are no Variables in them.

    Raises:
      StagingError: the order of a set is to be shown.
    """

    def shown(part: Any) -> Any:
        if isinstance(part, _UNORDERED):
            raise without_order("A text has")
        return snapshot_of(part) or part if is_shown_by_class(part) else part

    return tree_map(shown, value, is_leaf=lambda part: isinstance(part, _UNORDERED) or is_shown_by_class(part))


def snapshot_of(value: Any) -> Snapshot | None:
    """A snapshot of an object of the user's; None of one with Variables, which its methods may ask for more than values."""
    made = Snapshot.of(value) if is_shown_by_class(value) else None
    if made is None or any(hasattr(type(leaf), "__autograph_value__") for leaf in tree_leaves(made)):
        return None
    return made


def write_as_shown(make: Callable[..., str], values: Sequence[Any], read: Callable[[], Any]) -> None:
    """Let the methods that show objects write what they write: by the text, which is made later, they would write to copies.

    ``read`` returns what the text is made of, as it is now.
    """
    if not any(map(any_shown_by_class, values)):
        return
    before = read()
    if is_chosen_in(before):  # code that is not converted goes by what is None, and by what is what
        writing = next(filter(_writes_when_shown, _kinds_in(before)), None)
        if writing is not None:
            raise StagingError(
                f"{user_location()}\n  A text of a {writing.__name__} is made here, which assigns attributes while it is shown, and "
                "whether a value is None, or which object it is, is known only at run time.\n  Make the text by a method that is called "
                "by its name: value.text()."
            )
        return
    before = tree_leaves(before)
    try:
        make(*values)
    except Exception:  # it asks for values
        now = tree_leaves(read())
        if len(before) != len(now) or not all(map(_is_same, before, now)):
            raise


def is_chosen_in(read: Any) -> bool:
    """Whether paths differ in which object something is, or in whether it is None."""
    return any(isinstance(leaf, _CHOSEN) for leaf in tree_leaves(read, is_leaf=lambda part: isinstance(part, _CHOSEN)))


def _kinds_in(read: Any) -> set[type]:
    """The classes of the objects that are shown."""
    found = tree_leaves(read, is_leaf=lambda part: isinstance(part, Snapshot))
    return {kind for each in found if isinstance(each, Snapshot) for kind, _ in each.kinds}


def _writes_when_shown(kind: type) -> bool:
    """Whether what shows an object of a class may assign attributes or globals, as far as its code tells."""
    pending: list[Any] = [getattr(kind, name, None) for name in (*_SHOWN_BY, *_READ_BY)]
    seen = set[types.FunctionType]()
    while pending:
        function = pending.pop()
        if not isinstance(function, types.FunctionType) or function in seen or is_library(function):
            continue
        seen.add(function)
        for names in map(names_of, codes_in(function.__code__)):
            if names.attributes_stored or names.globals_stored:
                return True
            pending += [class_attribute(kind, name) for name in names.attributes_read]
            pending += [function.__globals__.get(name) for name in names.globals_read]
    return False


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (isinstance(one, _Reference) and one == other)


@dataclass(frozen=True)
class _Reference:
    """In the place of an object in an attribute: its number."""

    number: int


@jax.tree_util.register_pytree_node_class
class Snapshot:
    """An object and those that it refers to.

    Attributes:
      kinds: the class of each, and the names of its attributes; the object itself is the first.
      values: the values of these attributes, with `_Reference`s in the places of objects.
    """

    def __init__(self, kinds: Sequence[tuple[type, tuple[str, ...]]], values: Sequence[Any]) -> None:
        self.kinds = tuple(kinds)
        self.values = tuple(values)

    @classmethod
    def of(cls, value: Any) -> Snapshot:
        """Of an object of the user's."""
        objects = [value]
        numbers = {id(value): 0}

        def referred(part: Any) -> Any:
            if not is_plain_object(part):
                return part
            if id(part) not in numbers:
                numbers[id(part)] = len(objects)
                objects.append(part)
            return _Reference(numbers[id(part)])

        kinds: list[tuple[type, tuple[str, ...]]] = []
        values = []
        for each in objects:  # which grow
            attributes = attributes_of(each)
            kinds.append((type(each), tuple(attributes)))
            values.append(in_order(_mapped(referred, _with_keys(each, attributes))))
        return cls(kinds, values)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.values, self.kinds

    @classmethod
    def tree_unflatten(cls, kinds: Any, values: Any) -> Snapshot:
        return cls(kinds, values)

    def resolve(self) -> Any:
        """The object, of these values; itself where they are not known."""
        if any(isinstance(leaf, jax.core.Tracer) for leaf in tree_leaves(self.values)):
            return self
        return self.made_of(as_python(resolved_values(self.values)))

    def made_of(self, values: Sequence[Any]) -> Any:
        """The object, of these values."""
        made: list[Any] = [bare_instance(kind) for kind, _ in self.kinds]

        def object_of(part: Any) -> Any:
            return made[part.number] if isinstance(part, _Reference) else part

        for each, (_, names), held in zip(made, self.kinds, _mapped(object_of, tuple(values)), strict=True):
            for name, value in zip(names, held, strict=True):
                object.__setattr__(each, name, value)
        return made[0]

    def _refused(self, *_: Any) -> Any:
        raise TypeError("the object is not known yet")

    __str__ = __repr__ = __format__ = _refused


def _with_keys(owner: Any, attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values of attributes, as a text shows them.

    Raises:
      StagingError: an attribute may be absent.
    """
    if any(map(is_perhaps, attributes.values())):
        LANGUAGE.operators.absences.refuse_in("a text", [owner])
    return tuple(with_dicts_by_path(list(attributes.values()), shows_order=True))


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return tree_map(function, in_order(value, stays=False), is_leaf=is_plain_object)
