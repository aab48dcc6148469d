"""`Dataset`: what a loop over data runs through, in Python or on the device."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from autograph.runtime import streams
from autograph.runtime.data_loops import loop_over, loop_over_iterator
from autograph.runtime.errors import StagingError
from autograph.runtime.held import Epochs, HeldArrays
from autograph.runtime.iterators import DatasetIterator
from autograph.runtime.operators.locations import user_location
from autograph.runtime.pipeline import (
    Batch,
    Enumerate,
    Map,
    Node,
    Numbers,
    Reading,
    Repeat,
    Rows,
    Shuffle,
    Skip,
    Slices,
    Stream,
    Take,
    begin,
    is_endless,
    is_stream,
    odd_at,
    steps,
    with_source,
)
from autograph.runtime.processes import is_one_of_several
from autograph.runtime.recording import JOINT, is_recording
from autograph.runtime.tensor_spec import TensorSpec
from autograph.runtime.variables import outside_recordings

_ON_DEVICE_AT_MOST = 2**30  # bytes; a larger set of arrays stays in the host's memory


@jax.tree_util.register_pytree_node_class
class Dataset:
    """A sequence of elements: arrays, or tuples, dicts and other containers of them.

    ``for x, y in dataset`` gives arrays in Python. In a `Function`, or under ``jax.jit(autograph.convert(f))``, it is
    one loop on the device; its elements and their order are the same. Arrays that a dataset is made of are inputs of
    the `Function`'s program. Datasets are values: each method gives a new one.

    Args:
      source: an object with ``__len__`` and ``__getitem__``, whose items are alike in type and shape. A loop on the
        device asks it for an item at a time, in Python.

    >>> import autograph as ag, jax.numpy as jnp
    >>> data = ag.Dataset.from_tensor_slices((jnp.arange(5.0), jnp.arange(5))).batch(2)
    >>> for x, y in data:
    ...     print(x, y)
    [0. 1.] [0 1]
    [2. 3.] [2 3]
    [4.] [4]
    >>> @ag.function
    ... def total(data):
    ...     s = 0.0
    ...     for x, y in data:
    ...         s += (x * y).sum()
    ...     return s
    >>> float(total(data))
    30.0
    """

    def __init__(self, source: Any) -> None:
        if not hasattr(type(source), "__len__") or not hasattr(type(source), "__getitem__"):
            raise TypeError(f"a Dataset is made of an object with a length and items; got {type(source).__name__}")
        length = len(source)
        if not length:
            raise ValueError("a Dataset is made of an object with items; this one has none, so their type is not known")
        self._set(Rows(length, source.__getitem__, jax.tree_util.tree_map(_type_of, source[0])))

    def _set(self, node: Node) -> None:
        self._node = node
        self._compiled: Any = None

    @classmethod
    def _of(cls, node: Node) -> Dataset:
        made = cls.__new__(cls)
        made._set(node)
        return made

    # Sources.

    @classmethod
    def from_tensor_slices(cls, tensors: Any) -> Dataset:
        """The slices of arrays along their first axis.

        Arrays of up to 1 GiB in all are held on the device. Larger ones stay in the host's memory, from where a loop
        on the device takes a row or a batch at a time.

        Args:
          tensors: an array (a list is taken for one), or a tuple, dict or other container of arrays.

        Raises:
          ValueError: a scalar, or first axes of different lengths.
        """
        leaves, treedef = jax.tree_util.tree_flatten(tensors, is_leaf=lambda part: isinstance(part, list))
        arrays = [leaf if isinstance(leaf, jax.Array) else np.asarray(leaf) for leaf in leaves]
        lengths = {int(array.shape[0]) if array.ndim else -1 for array in arrays}
        if not arrays or -1 in lengths or len(lengths) > 1:
            raise ValueError(
                "from_tensor_slices takes arrays with first axes of one length; got shapes "
                f"{[array.shape for array in arrays]}"
            )
        length = lengths.pop()
        if sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) > _ON_DEVICE_AT_MOST:
            return cls._of(_rows_of([np.asarray(array) for array in arrays], treedef, length))
        with outside_recordings():
            placed = [array if isinstance(array, jax.Array) else jax.numpy.asarray(array) for array in arrays]
        return cls._of(Slices(length, treedef, HeldArrays(placed)))

    @classmethod
    def from_generator(cls, make: Callable[[], Any], spec: Any, length: int | None = None) -> Dataset:
        """What an iterator gives: ``make()``, called for each iteration anew.

        A loop on the device asks for one element, or one batch, at a time, so that memory does not grow.

        Args:
          make: gives an iterable: a generator function, say.
          spec: the type of an element: a dtype for a scalar, a `TensorSpec` or `jax.ShapeDtypeStruct`, or a tuple,
            dict or other container of those.
          length: how many elements there are, if that is known. A compiled program needs it for the last batch if
            that may be smaller than the others, and those hold more than 16 rows.

        >>> def squares():
        ...     for k in range(3):
        ...         yield k * k
        >>> [int(x) for x in Dataset.from_generator(squares, np.int32)]
        [0, 1, 4]
        """
        if not callable(make):
            raise TypeError(f"from_generator takes a function that makes an iterator; got {type(make).__name__}")
        types = jax.tree_util.tree_map(_announced, spec, is_leaf=lambda s: isinstance(s, TensorSpec))
        return cls._of(Stream(make, types, None if length is None else _count("length", length)))

    @classmethod
    def range(cls, *args: int) -> Dataset:
        """The numbers of Python's ``range``, as int32.

        >>> [int(k) for k in Dataset.range(2, 8, 3)]
        [2, 5]
        """
        return cls._of(Numbers(range(*args)))

    # Steps.

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """So many elements at a time, stacked. The last batch has what is left, unless that is dropped.

        >>> [x.tolist() for x in Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        width = _count("batch_size", batch_size, least=1)
        made, node = Batch(self._node, width, bool(drop_remainder)), self._node
        if node.has_odd and node.size is not None and (not node.odd_is_last or not _odd_stays_alone(node.size, made)):
            raise ValueError("batches of different sizes cannot be batched: give the first batch drop_remainder=True")
        return Dataset._of(made)

    def shuffle(
        self, buffer_size: int | None = None, *, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> Dataset:
        """The elements in a random order, which ``seed`` and the number of the iteration choose.

        The first iteration over this dataset, in Python or on the device, has the order 0 of the seed, the next the
        order 1, and so on; so has each repetition by `repeat`. The order is one of all elements; only of a generator
        the next is chosen among ``buffer_size`` that are held.

        Args:
          buffer_size: how many elements of a generator are held, among which the next is chosen. All other datasets are shuffled
            as a whole, whatever it is.
          seed: an int; by default one that differs from run to run. A job of several processes has to give one.
          reshuffle_each_iteration: False for one and the same order in each iteration.

        >>> data = Dataset.range(5).shuffle(seed=1, reshuffle_each_iteration=False)
        >>> sorted(int(k) for k in data)
        [0, 1, 2, 3, 4]
        >>> [int(k) for k in data] == [int(k) for k in data]
        True
        """
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise TypeError(f"seed is an int; got {seed!r}")
        buffer = None if buffer_size is None else _count("buffer_size", buffer_size, least=1)
        if seed is None and is_one_of_several():
            raise ValueError(
                "shuffle without a seed would choose another order in each process of this job: give it a seed, the same "
                "in all if they share the data"
            )
        if is_endless(self._node):
            raise ValueError(
                "a dataset that repeats without end has no order of all its elements: shuffle, then repeat"
            )
        if is_stream(self._node) and buffer is None:
            raise ValueError("shuffling what a generator gives needs a buffer_size: among how many to choose the next")
        chosen = secrets.randbits(32) if seed is None else int(seed)
        count = Epochs() if reshuffle_each_iteration else None
        return Dataset._of(Shuffle(self._node, chosen, buffer, count, is_seeded=seed is not None))

    def repeat(self, count: int | None = None) -> Dataset:
        """All elements ``count`` times over; without a number (or with -1) without end."""
        number = None if count is None or count == -1 else _count("count", count)
        return self if is_endless(self._node) and number is None else Dataset._of(Repeat(self._node, number))

    def take(self, count: int) -> Dataset:
        """The first ``count`` elements, or as many as there are."""
        return Dataset._of(Take(self._node, _count("count", count)))

    def skip(self, count: int) -> Dataset:
        """All but the first ``count`` elements."""
        return Dataset._of(Skip(self._node, _count("count", count)))

    def map(self, function: Callable[..., Any]) -> Dataset:
        """``function`` of each element; of a tuple, its parts are the arguments.

        The function is converted and staged, in Python's loops as well; it may use Variables, random numbers and
        `py_function`.

        >>> [int(x) for x in Dataset.range(4).map(lambda k: k * k)]
        [0, 1, 4, 9]
        """
        if not callable(function):
            raise TypeError(f"map takes a function; got {type(function).__name__}")
        return Dataset._of(Map(self._node, function))

    def enumerate(self, start: int = 0) -> Dataset:
        """Each element with its number: ``(number, element)``.

        >>> [(int(k), int(x)) for k, x in Dataset.from_tensor_slices([5, 6]).enumerate()]
        [(0, 5), (1, 6)]
        """
        if isinstance(start, bool) or not isinstance(start, int | np.integer):
            raise TypeError(f"start is an int; got {start!r}")
        return Dataset._of(Enumerate(self._node, int(start)))

    # Use.

    @property
    def node(self) -> Node:
        """The last step."""
        return self._node

    @property
    def element_spec(self) -> Any:
        """The type of an element: `TensorSpec`s, nested as elements are; None where sizes of batches differ."""
        full = JOINT.data.shapes(lambda: self._first(False))
        spec = jax.tree_util.tree_map(lambda s: TensorSpec(s.shape, s.dtype), full)
        if not self._node.has_odd or is_stream(self._node) and self._node.size is None:
            return _open(spec) if self._node.has_odd else spec
        return _open(spec)

    def __len__(self) -> int:
        """How many elements there are. ``TypeError`` where that is not known, or without end."""
        if self._node.size is None:
            what = "repeats without end" if is_endless(self._node) else "comes from a generator of unknown length"
            raise TypeError(f"this dataset {what}")
        return self._node.size

    def __iter__(self) -> Iterator[Any]:
        words = begin(self._node)
        if not is_recording():
            return DatasetIterator(self._node, words, self._element())
        if is_stream(self._node) or self._node.size is None:
            raise StagingError(
                f"{user_location()}\n  This dataset is iterated by something else than a `for` statement, while tracing: what it gives "
                "then would be part of the program, the same on each execution.\n  Write `for element in dataset:`; its "
                "elements are numbered by dataset.enumerate()."
            )
        return self._unrolled(words)

    def __repr__(self) -> str:
        chain = " → ".join(type(step).__name__.lower() for step in steps(self._node))
        return f"<ag.Dataset {chain}>"

    # In Python.

    def _element(self) -> Any:
        """A `Function` that gives an element: from its position, or of a stream, as it came."""
        if self._compiled is None:
            node = self._node

            def computed(raw: Any) -> Any:
                return streams.computed(node, JOINT.operators, raw)

            def at(position: Any, depths: Any, words: Any, odd: bool) -> Any:
                reading = Reading(node, dict(zip(depths, words, strict=True)))
                return node.rows(reading, position, 0, odd)

            self._compiled = JOINT.compiled(computed if is_stream(node) else at)
        return self._compiled

    def _unrolled(self, words: dict[int, Any]) -> Iterator[Any]:
        node, reading = self._node, Reading(self._node, words)
        for position in range(node.size or 0):
            odd = node.has_odd and odd_at(node, reading, np.int32(position))
            if isinstance(odd, jax.core.Tracer):
                raise StagingError(
                    f"{user_location()}\n  Which batch of this dataset is the smaller one is not known while tracing.\n"
                    "  Write `for element in dataset:`, or give batch(..., drop_remainder=True)."
                )
            yield node.rows(reading, np.int32(position), 0, bool(odd))

    def _first(self, odd: bool) -> Any:
        node = self._node
        words = {depth: np.int32(0) for depth, step in enumerate(steps(node)) if isinstance(step, Shuffle)}
        if is_stream(node):
            nothing = jax.tree_util.tree_map(lambda s: jax.numpy.zeros(s.shape, s.dtype), streams.spec_of(node))
            return streams.computed(node, JOINT.operators, nothing)
        return node.rows(Reading(node, words), np.int32(0), 0, odd)

    # As a container of its arrays, and as what a loop runs over.

    def tree_flatten(self) -> tuple[Sequence[Any], Any]:
        source = steps(self._node)[0]
        return (source.held.arrays if isinstance(source, Slices) else ()), self._node

    @classmethod
    def tree_unflatten(cls, node: Any, arrays: Any) -> Dataset:
        source = steps(node)[0]
        if isinstance(source, Slices):
            node = with_source(node, Slices(source.length, source.treedef, HeldArrays(list(arrays))))
        return cls._of(node)


def loop_of(iterable: Any) -> Callable[..., None] | None:
    """What stages a loop over a dataset, or over a source of data of the user's; None for anything else."""
    if isinstance(iterable, DatasetIterator):
        return lambda operators, loop: loop_over_iterator(operators, iterable, loop)
    if not isinstance(iterable, Dataset):
        if not _is_source(iterable):
            return None
        iterable = Dataset(iterable)
    node = iterable._node
    return lambda operators, loop: loop_over(operators, node, loop)


def _is_source(iterable: Any) -> bool:
    """Whether this is a sequence that only numbers lead into, and holds data of the host's."""
    kind = type(iterable)
    if hasattr(kind, "__iter__") or not hasattr(kind, "__getitem__") or not hasattr(kind, "__len__"):
        return False
    if not len(iterable):
        return False
    leaves = jax.tree_util.tree_leaves(iterable[0])
    return bool(leaves) and all(isinstance(leaf, np.ndarray | np.generic | int | float | complex) for leaf in leaves)


def _rows_of(arrays: list[Any], treedef: Any, length: int) -> Rows:
    spec = treedef.unflatten(
        [jax.ShapeDtypeStruct(a.shape[1:], jax.dtypes.canonicalize_dtype(a.dtype)) for a in arrays]
    )
    return Rows(length, lambda k: treedef.unflatten([array[k] for array in arrays]), spec)


def _type_of(leaf: Any) -> jax.ShapeDtypeStruct:
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufcV":
        raise TypeError(f"a Dataset holds arrays of numbers; got {leaf!r}")
    return jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))


def _announced(spec: Any) -> jax.ShapeDtypeStruct:
    if isinstance(spec, TensorSpec | jax.ShapeDtypeStruct):
        if spec.shape is None or not all(isinstance(size, int) for size in spec.shape):
            raise ValueError(f"elements of a generator need a known shape; got {spec}")
        return jax.ShapeDtypeStruct(tuple(spec.shape), jax.dtypes.canonicalize_dtype(spec.dtype))
    return jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(spec))


def _count(name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is an int; got {value!r}")
    if value < least:
        raise ValueError(f"{name} is {least} or more; got {value}")
    return int(value)


def _odd_stays_alone(size: int, batch: Batch) -> bool:
    """Whether the odd element, which is the last, ends up in a batch of its own, or is dropped."""
    return size % batch.width == 1 or (batch.drop and size % batch.width > 0)


def _open(spec: Any) -> Any:
    return jax.tree_util.tree_map(lambda s: TensorSpec((None, *s.shape[1:]), s.dtype), spec)
