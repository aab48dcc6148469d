"""What functions of NumPy's and of `operator`, and methods of NumPy's arrays, do with arrays: which they write to, and return views of.

Names only, so that the compiler, which imports nothing of the runtime's else, reads them too.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple


class Returns(Enum):
    """What is returned, of the array that is given first."""

    NEW = "no part of it"
    MOVED = "a view of its elements in other places, or a copy where there is none"
    LEADS = "itself, a view of it, or what holds one, perhaps"


class Facts(NamedTuple):
    """What a function does with the array that it is given first, or a method with that whose method it is.

    Attributes:
      first: the name of the parameter which it writes to in place, its first; "" if it writes to none.
      option: the name and the position of another parameter, and its value with which it does so; None: in any case.
      returns: what it returns.
      out: the position of the parameter ``out``, which it writes its result to; None if it has none.
    """

    first: str = ""
    option: tuple[str, int, bool] | None = None
    returns: Returns = Returns.NEW
    out: int | None = None

    def written(
        self, args: Sequence[Any], named: Mapping[str, Any], is_so: Callable[[Any, bool], Any] = operator.eq
    ) -> Iterator[Any]:
        """What a call writes to in place, among these arguments, of which a method's array is the first.

        Args:
          is_so: whether an argument has a value.
        """
        if self.first and self._is_chosen(args, named, is_so):
            yield from (args[0],) if args else (named[self.first],) if self.first in named else ()
        out = named.get("out", args[self.out] if self.out is not None and len(args) > self.out else None)
        if out is not None:
            yield out

    def _is_chosen(self, args: Sequence[Any], named: Mapping[str, Any], is_so: Callable[[Any, bool], Any]) -> Any:
        if self.option is None:
            return True
        name, position, value = self.option
        given = named.get(name, args[position] if len(args) > position else None)
        return given is not None and is_so(given, value)


NOTHING = Facts()
"""Those of a function that is not known: it does nothing with them."""

OPERATORS = (
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"),
    *("iand", "ior", "ixor", "ilshift", "irshift"),
)
"""The functions of `operator` for ``x += y`` and its like."""

_WRITING = """
    copyto:dst put:a place:arr putmask:a fill_diagonal:a put_along_axis:arr ufunc.at:a nan_to_num:x
    random.shuffle:x random.RandomState.shuffle:x random.Generator.shuffle:x
"""
_METHODS_WRITING = "fill itemset partition put resize setfield sort byteswap __setitem__"
_OPTIONS = types.MappingProxyType({"nan_to_num": ("copy", 1, False), "byteswap": ("inplace", 1, True)})
_MOVED = """
    ravel reshape transpose swapaxes moveaxis rollaxis squeeze expand_dims atleast_1d atleast_2d atleast_3d broadcast_to
    flip fliplr flipud rot90 diagonal diag split array_split hsplit vsplit dsplit matrix_transpose permute_dims unstack
"""
_LEADING = """
    asarray asanyarray ascontiguousarray asfortranarray require real imag real_if_close broadcast_arrays nditer ndenumerate
    nan_to_num trim_zeros as_strided sliding_window_view
"""
_METHODS_LEADING = "reshape ravel view transpose squeeze swapaxes diagonal byteswap getfield conj conjugate to_device"
_METHODS_NEW = """
    argpartition argsort astype copy dump dumps flatten item nonzero repeat searchsorted setflags tobytes tofile tolist
"""
# The positions that `out` has in functions, those which methods of the same name have too first.
_OUT = """
    all:2 any:2 argmax:2 argmin:2 choose:2 clip:3 compress:3 cumprod:3 cumsum:3 dot:2 max:2 mean:3 min:2 prod:3 round:2 std:3
    sum:3 take:3 trace:5 var:3
"""
_OUT_OF_FUNCTIONS = """
    amax:2 amin:2 around:2 concat:2 concatenate:2 fix:1 isneginf:1 isposinf:1 median:2 nanargmax:2 nanargmin:2 nancumprod:3
    nancumsum:3 nanmax:2 nanmean:3 nanmedian:2 nanmin:2 nanpercentile:3 nanprod:3 nanquantile:3 nanstd:3 nansum:3 nanvar:3
    outer:2 percentile:3 ptp:2 quantile:3 stack:2
"""


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for each in text.split():
        name, _, value = each.partition(":")
        yield name, value


def _functions() -> dict[str, Facts]:
    found = {
        f"numpy.{name}": Facts(returns=returns)
        for names, returns in ((_MOVED, Returns.MOVED), (_LEADING, Returns.LEADS))
        for name in names.split()
    }
    for name, first in _pairs(_WRITING):
        known = found.get(f"numpy.{name}", Facts())
        found[f"numpy.{name}"] = known._replace(first=first, option=_OPTIONS.get(name))
    for name, position in _pairs(_OUT + _OUT_OF_FUNCTIONS):
        found[f"numpy.{name}"] = Facts(out=int(position))
    return found | {f"operator.{name}": Facts("a", returns=Returns.LEADS) for name in OPERATORS}


def _methods() -> dict[str, Facts]:
    found = {name: Facts() for name in _METHODS_NEW.split()}
    found |= {name: Facts(out=int(position)) for name, position in _pairs(_OUT)}
    found |= {name: Facts(returns=Returns.LEADS) for name in _METHODS_LEADING.split()}
    for name in _METHODS_WRITING.split():
        found[name] = found.get(name, Facts())._replace(first="self", option=_OPTIONS.get(name))
    return found


FUNCTIONS: Mapping[str, Facts] = types.MappingProxyType(_functions())
"""Functions, by their dotted names; methods of other classes than arrays among them."""
METHODS: Mapping[str, Facts] = types.MappingProxyType(_methods())
"""Methods of NumPy's arrays."""
_OF_ARRAYS = "numpy.ndarray."


def facts_of(name: str) -> Facts:
    """What is known of a function or method by its dotted name."""
    if name.startswith(_OF_ARRAYS):
        return METHODS.get(name.removeprefix(_OF_ARRAYS), NOTHING)
    return FUNCTIONS.get(name, NOTHING)


BY_LAST_NAME: Mapping[str, Facts] = types.MappingProxyType(
    {name.rpartition(".")[2]: facts for name, facts in FUNCTIONS.items()}
)
"""The functions by the last part of their names, where that is all that is known."""
