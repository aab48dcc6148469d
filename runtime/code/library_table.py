"""`LibraryTable`: which packages, modules, classes and functions are converted, and which are pure.

Converted code asks it of everything that it calls. What is said of a longer prefix goes before what is said of a
shorter.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from autograph.runtime.code.array_facts import FUNCTIONS, METHODS, OPERATORS


@dataclass(frozen=True)
class Entry:
    """What is known of the functions under one name. None: what is said of a shorter prefix.

    Attributes:
      convert: whether calls of them run their rewritten source.
      pure: whether they write to nothing that was there before the call. Around a call of others, in a staged statement,
        all that it can reach is compared.
      repeatable: whether a call may run once instead of many: it depends on nothing but its arguments.
      calls: whether they may call functions that they are given, which are then handed over converted.
      plain: whether converted code may call them as they are, whatever the arguments: they take arrays.
      takes_tree: whether what they are given first is a pytree, which they do not call, though it may be callable.
    """

    convert: bool | None = None
    pure: bool | None = None
    repeatable: bool | None = None
    calls: bool | None = None
    plain: bool | None = None
    takes_tree: bool | None = None

    def over(self, other: Entry) -> Entry:
        """What this entry says, and what ``other`` says where this one says nothing."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return Entry(**{name: getattr(other, name) if said is None else said for name, said in own.items()})


_UNKNOWN = Entry(convert=True, pure=False, repeatable=False, calls=True, plain=False, takes_tree=False)
_STANDARD = Entry(convert=False, calls=False)
_PACKAGE = Entry(convert=False)
_FOR_JAX = Entry(convert=False, pure=True, repeatable=True)
_ARRAYS = Entry(plain=True)
_CALLING = Entry(calls=True, plain=False)
_PURE = Entry(pure=True)
_REPEATABLE = Entry(repeatable=True)
_OF_NUMBERS = Entry(plain=False)
_WRITING = Entry(pure=False, plain=False)
_ONCE = Entry(repeatable=False, plain=False)
_FROM_SOURCE = Entry(convert=True)
_OF_TREES = Entry(takes_tree=True)
_MAPPING = Entry(takes_tree=False)
_LOOKING = Entry(calls=False)  # at the frame that calls it, which is to be the user's


def _known() -> dict[str, Entry]:
    found: dict[str, Entry] = {}

    def say(entry: Entry, names: str, prefix: str = "") -> None:
        for name in names.split():
            found[prefix + name] = entry.over(found.get(prefix + name, Entry()))

    say(_STANDARD, " ".join(sys.stdlib_module_names))
    # Of the standard library, the modules that call the functions they are given. The others compare, copy, pickle or
    # inspect what they get, and get it as it is.
    say(
        _CALLING,
        "asyncio bisect collections concurrent contextlib contextvars heapq itertools multiprocessing queue random",
    )
    say(_CALLING, "sched statistics threading timeit _functools.reduce")
    say(
        _PURE,
        "math cmath operator _operator functools _functools itertools collections _collections contextlib types typing",
    )
    say(
        _PURE, "enum numbers abc fractions decimal _decimal string re time datetime textwrap struct statistics builtins"
    )
    for module in ("operator.", "_operator."):
        say(_WRITING, "setitem delitem iconcat methodcaller call", module)
        say(_WRITING, " ".join(OPERATORS), module)
    say(_WRITING, "UserDict UserList ChainMap", "collections.")
    say(_LOOKING, "namedtuple", "collections.")
    say(_WRITING, "exec eval", "builtins.")
    say(
        _REPEATABLE, "math cmath operator _operator functools itertools copy dataclasses collections _collections types"
    )
    say(_REPEATABLE, "typing enum numbers abc fractions contextlib string builtins heapq _heapq bisect _bisect")
    say(_ONCE, "open input exec eval breakpoint __import__", "builtins.")
    say(_ONCE, "_lru_cache_wrapper", "functools.")
    say(_FROM_SOURCE, "heappush heappop heapify heapreplace heappushpop _siftup _siftdown", "heapq.")
    say(_FROM_SOURCE, "_heapify_max _heappop_max _heapreplace_max _siftup_max _siftdown_max", "heapq.")
    say(_FROM_SOURCE, "_gt_from_lt _le_from_lt _ge_from_lt _ge_from_le _lt_from_le _gt_from_le", "functools.")
    say(_FROM_SOURCE, "_lt_from_gt _ge_from_gt _le_from_gt _le_from_ge _gt_from_ge _lt_from_ge", "functools.")
    say(_FROM_SOURCE, "insort_left insort_right bisect_left bisect_right", "bisect.")
    say(_FROM_SOURCE, "total copy subtract __add__ __sub__ __or__ __and__ __pos__ __neg__", "collections.Counter.")
    say(_FROM_SOURCE, "__iadd__ __isub__ __ior__ __iand__ __eq__ __le__ _keep_positive", "collections.Counter.")

    # Packages that are written for JAX as it is. Functions handed to them are converted, they themselves are not.
    say(_FOR_JAX, "jax jaxlib numpy scipy autograph equinox flax haiku optax chex jaxtyping diffrax optimistix lineax")
    say(_FOR_JAX, "ml_dtypes opt_einsum")
    say(_PACKAGE, "orbax tensorflow torch keras sklearn pandas matplotlib tqdm pytest hypothesis IPython gast")
    say(_LOOKING, "jax._src.debugger.core.breakpoint")
    say(_OF_TREES, "tree tree_util flatten_util api.device_put api.device_get api.block_until_ready", "jax._src.")
    say(_OF_TREES, "lax.lax.stop_gradient lax.lax.optimization_barrier lax.parallel", "jax._src.")
    say(_OF_TREES, "pjit.with_sharding_constraint ad_checkpoint.checkpoint_name", "jax._src.")
    say(_MAPPING, "map map_with_path reduce reduce_associative", "jax._src.tree.")
    say(_MAPPING, "tree_map tree_map_with_path tree_reduce tree_reduce_associative", "jax._src.tree_util.")
    # The demonstrations and the command line live in our package, and are users of it.
    say(_UNKNOWN, "autograph.tools")
    say(
        _ARRAYS, "jax.numpy jax.nn jax.random jax.scipy jax._src.numpy jax._src.nn jax._src.random jax._src.scipy numpy"
    )
    say(_ARRAYS, "math cmath")
    say(_OF_NUMBERS, "prod factorial perm comb", "math.")
    for arrays in ("numpy", "jax.numpy"):
        say(
            _CALLING,
            "vectorize piecewise apply_along_axis apply_over_axes frompyfunc fromfunction fromiter",
            f"{arrays}.",
        )
    say(_WRITING, " ".join(name for name, facts in FUNCTIONS.items() if facts.first and not facts.option))
    say(
        _WRITING,
        " ".join(name for name, facts in METHODS.items() if facts.first and not facts.option),
        "numpy.ndarray.",
    )
    say(_WRITING, "setflags", "numpy.ndarray.")
    say(_WRITING.over(_ONCE), "random", "numpy.")
    say(_ONCE, "ufunc.at", "numpy.")
    return found


class LibraryTable:
    """What is known by name, and what `register_library` adds."""

    def __init__(self, known: Mapping[str, Entry]) -> None:
        self._known = dict(known)
        self._found: dict[str, Entry] = {}
        self._of_modules: dict[str, Entry | None] = {}

    def register(self, prefix: str, entry: Entry) -> None:
        """Let what is said here go before what was said under this name."""
        self._known[prefix] = entry.over(self._known.get(prefix, Entry()))
        self._found, self._of_modules = {}, {}

    def named(self, name: str) -> Entry:
        """What is known of a dotted name."""
        entry = self._found.get(name)
        if entry is None:
            shorter, _, _ = name.rpartition(".")
            inherited = self.named(shorter) if shorter else _UNKNOWN
            own = self._known.get(name)
            entry = self._found[name] = inherited if own is None else own.over(inherited)
        return entry

    def of(self, called: Any) -> Entry:
        """What is known of a function, class or callable object."""
        if isinstance(called, types.FunctionType):
            return self._in_module(called.__globals__.get("__name__"), called)
        return self.named(full_name(called))

    def _in_module(self, module: Any, called: types.FunctionType) -> Entry:
        """As `of`, and quicker: mostly, all functions of a module are alike."""
        try:
            entry = self._of_modules[module]
        except KeyError:
            is_one = isinstance(module, str) and not any(name.startswith(f"{module}.") for name in self._known)
            entry = self._of_modules[module] = self.named(module) if is_one else None
        return entry or self.named(full_name(called))


TABLE = LibraryTable(_known())


def register_library(prefix: str, *, convert: bool | None = None, pure: bool | None = None) -> None:
    """Declare how converted code may call the functions of a package, a module or a class, or one function.

    When a staged statement calls a function that is not converted, everything that the function can reach is compared
    before and after the call, so that its writes become part of the statement: its arguments and what they refer to,
    its closure, and the globals of Python code. More than 100,000 reachable objects are refused.

    Args:
      prefix: a dotted name: ``"package"``, ``"package.module"`` or ``"package.module.function"``. The longest
        registered prefix of a name applies. It affects calls that are traced afterwards.
      convert: whether calls from converted code run the converted source of these functions. By default, all
        functions are converted except those of the standard library and of well-known packages.
      pure: whether these functions write to nothing that existed before the call, and depend on nothing but their
        arguments. If True, nothing is compared, and a loop that calls them may be staged as one loop.

    Raises:
      TypeError: ``prefix`` is not a string, or an option is not a bool.
      ValueError: ``prefix`` is not a dotted name.

    >>> import autograph as ag
    >>> ag.register_library("json.dumps", pure=True)
    """
    if not isinstance(prefix, str):
        raise TypeError(f"prefix must be a dotted name, a string; got {type(prefix).__name__}")
    if not all(part.isidentifier() for part in prefix.split(".")):
        raise ValueError(f"prefix must be a dotted name such as 'package.module'; got {prefix!r}")
    for name, option in (("convert", convert), ("pure", pure)):
        if option is not None and not isinstance(option, bool):
            raise TypeError(f"{name} must be True or False; got {type(option).__name__}")
    TABLE.register(prefix, Entry(convert=convert, pure=pure, repeatable=pure))


def is_library(called: Any) -> bool:
    """Whether this function, class or object belongs to a package that is not converted."""
    if isinstance(called, types.FunctionType | type):
        return not TABLE.of(called).convert
    module = module_of(called)
    if module is None:
        return isinstance(called, types.BuiltinFunctionType | types.BuiltinMethodType)
    return not TABLE.named(module).convert


def is_library_name(module: str) -> bool:
    """Whether a module of this name belongs to such a package."""
    return not TABLE.named(module).convert


def module_of(called: Any) -> str | None:
    """The name of the module that the code of a function, or the class of an object, is from."""
    # `functools.wraps` copies the module of what it wraps to the wrapper; where its code is from, its globals say.
    is_function = isinstance(called, types.FunctionType)
    module = called.__globals__.get("__name__") if is_function else getattr(called, "__module__", None)
    return module if isinstance(module, str) else None


def full_name(called: Any) -> str:
    """The dotted name under which the table knows a callable."""
    kind = type(called)
    if kind is types.MethodType and isinstance(called.__func__, types.FunctionType):
        return full_name(called.__func__)
    if kind is types.MethodType:  # written in Cython, say
        return f"{type(called.__self__).__module__}.{type(called.__self__).__qualname__}.{called.__name__}"
    if isinstance(called, types.BuiltinFunctionType):
        return _of_builtin(called)
    if issubclass(kind, types.FunctionType | type):
        return f"{module_of(called)}.{called.__qualname__}"
    if kind.__module__ == "nanobind":  # a function or method of JAX's that is written in C++
        return f"{called.__module__}.{called.__qualname__}"
    if kind in _DESCRIPTORS:
        return f"{called.__objclass__.__module__}.{called.__objclass__.__qualname__}.{called.__name__}"
    of_kind = f"{kind.__module__}.{kind.__qualname__}"
    if not TABLE.named(of_kind).convert:  # of a user's object nothing is asked: a proxy would answer for another
        module, name = getattr(called, "__module__", None), getattr(called, "__name__", None)
        if isinstance(module, str) and isinstance(name, str):
            if module.partition(".")[0] == kind.__module__.partition(".")[0]:
                return f"{module}.{name}"
    return of_kind


_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def _of_builtin(called: Any) -> str:
    owner = called.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return f"{called.__module__}.{called.__name__}"
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{kind.__module__}.{kind.__qualname__}.{called.__name__}"


_OF_PYTREES = frozenset(["optax", "chex", "equinox", "flax", "haiku", "diffrax", "optimistix", "lineax", "orbax"])


def is_of_pytrees(called: Any) -> bool:
    """Whether this is a function of a package that flattens by JAX what it is given."""
    return full_name(called).partition(".")[0] in _OF_PYTREES


def is_given_flat(called: Any) -> bool:
    """Whether JAX flattens what this is given: a function of JAX's, one that JAX has made of another, or `is_of_pytrees`."""
    where = called.__globals__.get("__name__", "") if type(called) is types.FunctionType else type(called).__module__
    return where.startswith(("jax.", "jaxlib.")) or is_of_pytrees(called)


_OVER_TREES = ("jax._src.tree.", "jax._src.tree_util.", "jax.tree_util.", "jax._src.flatten_util.")
_OF_LEAVES = frozenset(["unflatten", "tree_unflatten"])  # which are given what another has found


def goes_over_trees(called: Any) -> bool:
    """Whether this is a function that does something with the leaves of trees, or with their structure."""
    if type(called) is types.FunctionType and full_name(called).startswith(_OVER_TREES):
        return called.__name__ not in _OF_LEAVES
    return callable(called) and not isinstance(called, type) and hasattr(called, "__name__") and is_of_pytrees(called)
