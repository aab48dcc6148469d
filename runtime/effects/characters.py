"""`Characters`: a text whose characters the run knows, as the list of their code points, which has Python's methods of strings."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograph.backends.selected import STAGING
from autograph.runtime.containers.element_kinds import flatten_element, is_array_leaf
from autograph.runtime.containers.lengths import check
from autograph.runtime.containers.padded import Padded
from autograph.runtime.containers.traced_lists import TracedList
from autograph.runtime.effects.traced_texts import TextOfLists, TracedText, character, is_apart, is_text, joined_text
from autograph.runtime.errors import StagingError
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location

_SEVERAL = 1 << 30  # how far a character is that stands for several


def code_list(contents: Any) -> TracedList:
    """A list of code points: of a tuple of them, or of `Padded`."""
    return TracedList((), LANGUAGE.operators).holding(contents)


def codes_of_length(codes: Any, length: Any) -> TracedList:
    """The list of the first ``length`` of these code points, an array."""
    kind, _ = flatten_element(jnp.zeros((), codes.dtype), is_array_leaf)
    return code_list(Padded(length, [codes], kind, codes.shape[0]))


def _text(codes: Sequence[Any]) -> str:
    return "".join(map(character, codes))


@jax.tree_util.register_pytree_node_class
class Characters(TextOfLists):
    """A text by its code points, of which the run may know how many there are.

    Attributes:
      codes: the list of them.
    """

    def __init__(self, codes: Any) -> None:
        super().__init__(_text, (codes,))

    @classmethod
    def of(cls, text: str) -> Characters:
        """The characters of a string that is known."""
        return cls(code_list(tuple(map(ord, text))))

    @classmethod
    def of_items(cls, items: TracedList) -> Characters:
        """The text of a list of characters of traced length, as `items` makes it of a text."""
        items.note_read()
        held = items.contents().unreserved()
        kind, _ = flatten_element(jnp.zeros((), held.buffers[0].dtype), is_array_leaf)
        return cls(code_list(held.with_(kind=kind)))

    @property
    def codes(self) -> TracedList:
        found: TracedList = self.values[0]
        return found

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        return self.values, None

    @classmethod
    def tree_unflatten(cls, facts: Any, values: Any) -> Characters:
        del facts
        return cls(*values)

    def codes_as(self, number: Callable[[Any], Any]) -> TracedList:
        """The list of a number for each character, which is made of its code point."""
        self.codes.note_read()
        contents = self.codes.contents()
        if isinstance(contents, Padded):
            (codes,) = contents.buffers
            return code_list(contents.unreserved().with_(buffers=(number(codes),)))
        return code_list(tuple(map(number, contents)))

    @classmethod
    def has_codes(cls, facts: Any) -> bool:
        return True

    def lists(self) -> Iterator[Any]:
        return iter(self.values)

    def characters(self) -> Characters:
        return self

    def items(self) -> TracedList:
        """What a loop over it goes over: the list of its characters, each a text."""
        self.codes.note_read()
        contents = self.codes.contents()
        if not isinstance(contents, Padded):
            made = tuple(chr(code) if isinstance(code, int) else TracedText(character, (code,)) for code in contents)
            return code_list(made)
        contents = contents.unreserved()
        kind, _ = flatten_element(TracedText(character, (jnp.zeros((), contents.buffers[0].dtype),)), is_array_leaf)
        return code_list(contents.with_(kind=kind))

    # Python's operators. Another text is any value that stands for one.

    def size(self) -> Any:
        return STAGING.number(self.codes.size(), int)

    def __add__(self, other: Any) -> Any:
        return self._joined(self, other)

    def __radd__(self, other: Any) -> Any:
        return self._joined(other, self)

    def _joined(self, one: Any, other: Any) -> Any:
        if not is_text(other if one is self else one):
            return NotImplemented
        read = [LANGUAGE.operators.texts.characters_of(part) for part in (one, other)]
        return TracedText(joined_text, (one, other)) if None in read else joined(read)

    def __mul__(self, count: Any) -> Any:
        if type(count) is not bool and jnp.result_type(count) == np.bool_:  # the length of which has a bound
            codes, length = self.arrays()
            return Characters(codes_of_length(codes, length * count))
        return Characters(self.codes * count)

    __rmul__ = __mul__

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Characters(self.codes[key])
        size = self.size()
        if isinstance(size, int) and isinstance(key, int | np.integer) and not -size <= key < size:
            raise IndexError("string index out of range")
        check((key < size) & (key >= -size), IndexError("string index out of range"), is_needed=False)
        code = self.codes.as_list()[key]
        return chr(code) if isinstance(code, int) else TracedText(character, (code,))

    def equals(self, other: Any) -> Any:
        """``self == other``."""
        if self is other:
            return True
        return LANGUAGE.operators.operate("==", self.codes, _read(other).codes) if is_text(other) else False

    def differs(self, other: Any) -> Any:
        found = self.equals(other)
        return not found if isinstance(found, bool) else ~found

    def compared(self, symbol: str, other: Any) -> Any:
        """``self < other`` and others by order: as the code points are."""
        if not is_text(other):
            return NotImplemented
        return LANGUAGE.operators.operate(symbol, self.codes, _read(other).codes)

    def has(self, text: Any) -> Any:
        """``text in self``."""
        return jnp.any(self._matches(text))

    # Python's methods.

    def count(self, text: Any, *bounds: Any) -> Any:
        return STAGING.number(jnp.sum(self._apart(text, *bounds)), int)

    def find(self, text: Any, *bounds: Any) -> Any:
        found = self._matches(text, *bounds)
        return STAGING.number(jnp.where(jnp.any(found), jnp.argmax(found), -1), int)

    def rfind(self, text: Any, *bounds: Any) -> Any:
        found = self._matches(text, *bounds)
        return STAGING.number(jnp.where(jnp.any(found), found.shape[0] - 1 - jnp.argmax(found[::-1]), -1), int)

    def index(self, text: Any, *bounds: Any) -> Any:
        return self._surely(self.find(text, *bounds))

    def rindex(self, text: Any, *bounds: Any) -> Any:
        return self._surely(self.rfind(text, *bounds))

    @staticmethod
    def _surely(place: Any) -> Any:
        check(place >= 0, ValueError("substring not found"), is_needed=False)
        return place

    def startswith(self, text: Any, *bounds: Any) -> Any:
        return self._at_an_end(text, bounds, lambda part, one: part._matches(one)[0])

    def endswith(self, text: Any, *bounds: Any) -> Any:
        def ends(part: Characters, one: Any) -> Any:
            found, start = part._matches(one), part.size() - _read(one).size()
            return jnp.where(start >= 0, found[jnp.clip(start, 0)], False)

        return self._at_an_end(text, bounds, ends)

    def _at_an_end(self, text: Any, bounds: tuple[Any, ...], is_there: Callable[[Characters, Any], Any]) -> Any:
        """Whether a text, or one of a tuple of them, is there in what is between the bounds."""
        start, stop = (*bounds, None, None)[:2]
        part = self[start:stop] if bounds else self
        texts = text if isinstance(text, tuple) else (text,)
        return functools.reduce(operator.or_, (is_there(part, one) for one in texts), False)

    def removeprefix(self, text: Any) -> Any:
        return self[jnp.where(self.startswith(text), _read(text).size(), 0) :]

    def removesuffix(self, text: Any) -> Any:
        size = self.size()
        return self[: jnp.where(self.endswith(text), size - _read(text).size(), size)]

    def replace(self, old: Any, new: Any, count: Any = -1) -> Any:
        old, new = _read(old), _read(new)
        codes, length = self.arrays()
        (put, more), width = new.arrays(), old.size()
        if isinstance(width, int) and not width:
            raise self._refused("`replace` of an empty text")
        check(width > 0, ValueError("`replace` of an empty text is not supported for a string of traced values"))
        begins = self._apart(old)[: codes.shape[0]]
        if not (isinstance(count, int) and count < 0):
            begins = begins & ((jnp.cumsum(begins) <= count) | (count < 0))
        place = jnp.arange(codes.shape[0])
        last = jnp.maximum.accumulate(jnp.where(begins, place, -codes.shape[0] - 1))
        is_inside = place - last < width
        sizes = jnp.where(begins, more, jnp.where(is_inside, 0, 1)) * (place < length)
        ends = jnp.cumsum(sizes)
        shortest = width if isinstance(width, int) else 1
        room = max(codes.shape[0], -(-codes.shape[0] // shortest) * put.shape[0] + codes.shape[0] % shortest)
        at = jnp.arange(room)
        source = jnp.clip(jnp.searchsorted(ends, at, side="right"), 0, codes.shape[0] - 1)
        within = jnp.clip(at - (ends - sizes)[source], 0, put.shape[0] - 1)
        return Characters(codes_of_length(jnp.where(begins[source], put[within], codes[source]), ends[-1]))

    def strip(self, characters: Any = None) -> Any:
        return self.lstrip(characters).rstrip(characters)

    def lstrip(self, characters: Any = None) -> Any:
        kept = self._kept(characters)
        return self[jnp.where(jnp.any(kept), jnp.argmax(kept), self.size()) :]

    def rstrip(self, characters: Any = None) -> Any:
        kept = self._kept(characters)
        return self[: jnp.where(jnp.any(kept), kept.shape[0] - jnp.argmax(kept[::-1]), 0)]

    def _kept(self, characters: Any) -> Any:
        """Which characters `strip` does not take away."""
        codes, length = self.arrays()
        if characters is None:
            taken = self._asked(str.isspace)
        else:
            wanted, count = _read(characters).arrays()
            taken = jnp.any((codes[:, None] == wanted) & (jnp.arange(wanted.shape[0]) < count), 1)
        return ~taken & (jnp.arange(codes.shape[0]) < length)

    def partition(self, separator: Any) -> Any:
        return self._parts(self.find(separator), separator, self.size())

    def rpartition(self, separator: Any) -> Any:
        return self._parts(self.rfind(separator), separator, 0)

    def _parts(self, place: Any, separator: Any, otherwise: Any) -> Any:
        """What is before and after the separator, which begins at a place; or, if it is nowhere, before and after another place."""
        separator, is_there = _read(separator), place >= 0
        begin = jnp.where(is_there, place, otherwise)
        width = jnp.where(is_there, separator.size(), 0)
        return self[:begin], separator[:width], self[begin + width :]

    def rsplit(self, sep: Any = None, maxsplit: Any = -1) -> Any:
        if not (isinstance(maxsplit, int) and maxsplit < 0) and sep is not None and not is_apart(sep):
            raise self._refused("`rsplit` with a limit at what is traced, or may overlap with itself,")
        return self.split(sep, maxsplit, "rsplit")

    def split(self, sep: Any = None, maxsplit: Any = -1, name: str = "split") -> Any:
        codes, length = self.arrays()
        size = codes.shape[0] + 1
        has_limit = not (isinstance(maxsplit, int) and maxsplit < 0)
        if sep is None and has_limit:
            raise self._refused(f"`{name}` with a limit and without a separator")
        if sep is None:
            kept = jnp.pad(self._kept(None), 1)
            starts = jnp.nonzero(kept[1:] & ~kept[:-1], size=size, fill_value=0)[0]
            ends = jnp.nonzero(kept[:-1] & ~kept[1:], size=size, fill_value=0)[0]
            count = jnp.sum(kept[1:] & ~kept[:-1])
        else:
            width = _read(sep).size()
            check(width > 0, ValueError("empty separator"), is_needed=False)
            begins = self._apart(sep)
            if has_limit:
                counted = jnp.cumsum(begins) if name == "split" else jnp.cumsum(begins[::-1])[::-1]
                begins = begins & ((counted <= maxsplit) | (maxsplit < 0))
            ends = jnp.nonzero(begins, size=size, fill_value=length)[0]
            starts = jnp.concatenate([jnp.zeros(1, ends.dtype), ends[:-1] + width])
            count = jnp.sum(begins) + 1
        places = jnp.clip(starts[:, None] + jnp.arange(codes.shape[0]), 0, codes.shape[0] - 1)
        return _list_of_texts(codes[places], ends - starts, count)

    def upper(self) -> Any:
        return self._mapped(str.upper)

    def lower(self) -> Any:
        return self._mapped(str.lower)

    def casefold(self) -> Any:
        return self._mapped(str.casefold)

    def swapcase(self) -> Any:
        return self._mapped(str.swapcase)

    def capitalize(self) -> Any:
        first, rest = self[:1]._mapped(str.title), self[1:]._mapped(str.lower)
        return first + rest

    def title(self) -> Any:
        codes, _ = self.arrays()
        is_letter = self._asked(_has_case)
        begins = jnp.concatenate([jnp.ones(1, bool), ~is_letter[:-1]])
        upper, lower = (self._mapped(to).arrays()[0] for to in (str.title, str.lower))
        return Characters(codes_of_length(jnp.where(begins, upper, lower), self.size()))

    def isdigit(self) -> Any:
        return self._are_all(str.isdigit)

    def isdecimal(self) -> Any:
        return self._are_all(str.isdecimal)

    def isnumeric(self) -> Any:
        return self._are_all(str.isnumeric)

    def isalpha(self) -> Any:
        return self._are_all(str.isalpha)

    def isalnum(self) -> Any:
        return self._are_all(str.isalnum)

    def isspace(self) -> Any:
        return self._are_all(str.isspace)

    def isupper(self) -> Any:
        return self._are_cased(str.isupper)

    def islower(self) -> Any:
        return self._are_cased(str.islower)

    def zfill(self, width: Any) -> Any:
        first = jnp.any(jnp.stack([self.startswith(sign) for sign in "+-"])).astype(int)
        return self[:first] + self._filling("0", width) + self[first:]

    def ljust(self, width: Any, fill: Any = " ") -> Any:
        return self + self._filling(fill, width)

    def rjust(self, width: Any, fill: Any = " ") -> Any:
        return self._filling(fill, width) + self

    def center(self, width: Any, fill: Any = " ") -> Any:
        more = self._filling(fill, width)
        left = more.size() // 2 + (more.size() & width & 1)
        return more[:left] + self + more[left:]

    def _filling(self, fill: Any, width: Any) -> Characters:
        """As many of this character as the text is shorter than the width."""
        fill = _read(fill)
        if fill.size() != 1:
            raise TypeError("The fill character must be exactly one character long")
        missing = jnp.maximum(width - self.size(), 0)
        if not isinstance(width, int):
            return fill * missing
        return Characters(codes_of_length(jnp.full(max(width, 1), fill.codes[0]), missing))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(str, name):
            raise AttributeError(f"'str' object has no attribute {name!r}")
        raise self._refused(f"`{name}`")

    # What they are made of.

    def _refused(self, what: str) -> StagingError:
        return StagingError(
            f"{user_location()}\n  {what} is not supported for a string of traced values.\n  Loop over its characters, or compare it, or "
            "a slice of it, with what you look for."
        )

    def arrays(self) -> tuple[Any, Any]:
        """The code points, at least one, of which those beyond the length are arbitrary; and the length."""
        self.codes.note_read()
        held = self.codes.as_padded()
        if held is None or not held.capacity:
            return jnp.zeros(1, int), 0
        (codes,) = held.kind.leaves(held.buffers)
        return jnp.broadcast_to(codes, (held.capacity,)), held.length

    def _matches(self, text: Any, start: Any = None, stop: Any = None) -> Any:
        """At each place, one more than there are characters at most, whether this text begins there, and ends before ``stop``."""
        codes, length = self.arrays()
        wanted, count = _read(text).arrays()
        place, within = jnp.arange(codes.shape[0] + 1), jnp.arange(wanted.shape[0])
        there = codes[jnp.minimum(place[:, None] + within, codes.shape[0] - 1)]
        first = 0 if start is None else jnp.maximum(start + jnp.where(jnp.asarray(start) < 0, length, 0), 0)
        end = length if stop is None else jnp.minimum(stop + jnp.where(jnp.asarray(stop) < 0, length, 0), length)
        return jnp.all((there == wanted) | (within >= count), 1) & (place >= first) & (place + count <= end)

    def _apart(self, text: Any, *bounds: Any) -> Any:
        """At each place whether this text begins there, and none that begins earlier goes on there."""
        found, width = self._matches(text, *bounds), _read(text).size()
        if isinstance(width, int) and width <= 1:
            return found

        def following(free: Any, place: Any) -> Any:
            return jnp.where((place >= 0) & (place >= free), place + jnp.maximum(width, 1), free)

        places = jnp.where(found, jnp.arange(found.shape[0]), -1)
        free = jnp.frompyfunc(following, 2, 1).accumulate(jnp.concatenate([jnp.zeros(1, places.dtype), places]))
        return free[1:] != free[:-1]

    def _asked(self, question: Callable[[str], bool]) -> Any:
        """For each place what the answer for its character is."""
        codes, _ = self.arrays()
        return _looked_up(_runs(question), codes)

    def _mapped(self, to: Callable[[str], str]) -> Characters:
        """Each character as another.

        Raises:
          StagingError: one might become several, which only a program that can raise can tell.
        """
        codes, length = self.arrays()
        steps = _looked_up(_runs(_step_to(to)), codes)
        is_one = (steps != _SEVERAL) | (jnp.arange(codes.shape[0]) >= length)
        _check_single(jnp.all(is_one))
        return Characters(codes_of_length(codes + steps, self.size()))

    def _are_all(self, question: Callable[[str], bool]) -> Any:
        codes, length = self.arrays()
        return jnp.all(self._asked(question) | (jnp.arange(codes.shape[0]) >= length)) & (length > 0)

    def _are_cased(self, wanted: Callable[[str], bool]) -> Any:
        codes, length = self.arrays()
        is_wanted, is_there = self._asked(wanted), jnp.arange(codes.shape[0]) < length
        return jnp.any(is_wanted & is_there) & ~jnp.any(self._asked(_has_case) & ~is_wanted & is_there)


def _list_of_texts(codes: Any, lengths: Any, count: Any) -> TracedList:
    """The list of the first ``count`` texts: for each a row of code points, and how many of these are its own."""
    kind = Padded.of((Characters(codes_of_length(codes[0], lengths[0])),)).kind
    return code_list(Padded(count, [lengths, codes], kind, codes.shape[0]))


def joined_list(separator: Characters, texts: Padded) -> Characters:
    """The texts of a list, with a separator between them."""
    texts = texts.read(are_constant=True)
    (between, width), number = separator.arrays(), jnp.arange(texts.capacity)
    lengths, codes = _rows_of(texts)
    is_there = number < texts.length
    sizes = jnp.where(is_there, lengths, 0)
    whole = sizes + jnp.where(number + 1 < texts.length, width, 0)
    ends = jnp.cumsum(whole)
    room = codes.shape[0] * codes.shape[1] + max(codes.shape[0] - 1, 0) * between.shape[0]
    at = jnp.arange(max(room, 1))
    row = jnp.clip(jnp.searchsorted(ends, at, side="right"), 0, codes.shape[0] - 1)
    within = at - (ends - whole)[row]
    own = codes[row, jnp.clip(within, 0, codes.shape[1] - 1)]
    after = between[jnp.clip(within - sizes[row], 0, between.shape[0] - 1)]
    return Characters(codes_of_length(jnp.where(within < sizes[row], own, after), ends[-1]))


def _rows_of(texts: Padded) -> tuple[Any, Any]:
    """The lengths of the texts of a list, and their code points, a row for each text with room for at least one."""
    leaves = texts.kind.leaves(texts.buffers)
    if texts.kind.rows():
        lengths, codes = leaves
        (row,) = texts.kind.rows().values()
        return lengths, jnp.broadcast_to(codes, (texts.capacity, row.capacity))
    columns = [jnp.broadcast_to(leaf, (texts.capacity,)) for leaf in leaves]
    return len(columns), jnp.stack([*columns, jnp.zeros(texts.capacity, int)], 1)


def joined(texts: Sequence[Characters]) -> Characters:
    """The texts one after another."""
    codes = code_list(())
    for text in texts:
        codes.extend(text.codes.as_list())
    return Characters(codes)


def _has_case(one: str) -> bool:
    return one.isupper() or one.islower() or one.istitle()


@functools.cache
def _runs(answer: Callable[[str], Any]) -> tuple[np.ndarray, np.ndarray]:
    """The answers for all characters, as runs of equal ones: where each begins, and the answer."""
    answers = np.array([answer(chr(code)) for code in range(sys.maxunicode + 1)])
    starts = np.concatenate([[0], np.flatnonzero(answers[1:] != answers[:-1]) + 1])
    return starts.astype(np.int32), answers[starts].astype(bool if answers.dtype == bool else np.int32)


def _looked_up(runs: tuple[np.ndarray, np.ndarray], codes: Any) -> Any:
    starts, answers = runs
    place = jnp.sum(jnp.asarray(starts) <= jnp.asarray(codes)[..., None], -1)
    return jnp.asarray(answers)[jnp.clip(place - 1, 0)]


@functools.cache
def _step_to(to: Callable[[str], str]) -> Callable[[str], int]:
    """How far the character that another becomes is from it; `_SEVERAL` if it becomes several."""

    def step(one: str) -> int:
        text = to(one)
        return ord(text) - ord(one) if len(text) == 1 else _SEVERAL

    return step


def _check_single(condition: Any) -> None:
    """Raise where a condition is false when the program runs: a character becomes several.

    Raises:
      StagingError: the program cannot raise.
    """
    text = "A method of a string of traced values changes a character that becomes several"
    operators = LANGUAGE.operators
    if not isinstance(condition, jax.core.Tracer):
        if not condition:
            raise StagingError(f"{user_location()}\n  {text}.\n  Compare the characters with those that you look for.")
    elif operators.can_raise_later(UnicodeError):
        operators.raise_unless(condition, UnicodeError(text))
    else:
        raise StagingError(
            f"{user_location()}\n  A method of a string of traced values changes its characters. One that becomes several would be "
            "an error, which a program that cannot raise cannot tell.\n  Call the function through autograph.function, or compare the "
            "characters."
        )


def _read(text: Any) -> Characters:
    found: Characters = LANGUAGE.operators.texts.read(text)
    return found
