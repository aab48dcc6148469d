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
    Shard,
    Shuffle,
    Skip,
    Slices,
    Stream,
    Take,
    begin,
    in_one_order,
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

    INFINITE_CARDINALITY = -1
    UNKNOWN_CARDINALITY = -2

    # Sources.

    @classmethod
    def from_tensors(cls, tensors: Any) -> Dataset:
        """One element: the arrays themselves.

        Args:
          tensors: an array (a list is taken for one), or a tuple, dict or other container of arrays.

        >>> [x.tolist() for x in Dataset.from_tensors([1, 2]).repeat(2)]
        [[1, 2], [1, 2]]
        """
        leaves, treedef = jax.tree_util.tree_flatten(tensors, is_leaf=lambda part: isinstance(part, list))
        if not leaves:
            raise ValueError("from_tensors takes an array, or a container of arrays; got none")
        arrays = [leaf if isinstance(leaf, jax.Array) else np.asarray(leaf) for leaf in leaves]
        return cls.from_tensor_slices(jax.tree_util.tree_unflatten(treedef, [array[None] for array in arrays]))

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

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        *,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """So many elements at a time, stacked. The last batch has what is left, unless that is dropped.

        ``num_parallel_calls`` and ``deterministic`` are taken for programs that come from ``tf.data``, and change nothing:
        the rows of a batch are made at once, and in order.

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

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Every ``num_shards``-th element, from the one numbered ``index`` on: what one of several processes reads.

        >>> [int(k) for k in Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        number, first = _count("num_shards", num_shards, least=1), _count("index", index)
        if first >= number:
            raise ValueError(f"index is less than num_shards, {number}; got {first}")
        return Dataset._of(Shard(self._node, number, first))

    def cache(self) -> Dataset:
        """These elements, in one and the same order in each iteration.

        Nothing is kept. Arrays are on the device already, and a program makes an element faster than it would read one that was
        kept. A generator is asked again by each iteration, so that memory does not grow; if asking is slow and the elements
        fit, give `from_tensor_slices` what the generator yields. What a function of `map` computes is computed again too,
        random numbers and effects included.

        >>> data = Dataset.range(9).shuffle(9).cache()
        >>> [int(k) for k in data] == [int(k) for k in data]
        True
        """
        return Dataset._of(in_one_order(self._node))

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """This dataset.

        For programs that come from ``tf.data``, where the device waits for the host. Here elements are made by the program that
        uses them, and what Python makes is asked for when it is needed.
        """
        return self

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """``transformation_func(self)``, in a chain of calls.

        >>> [int(k) for k in Dataset.range(9).apply(lambda data: data.skip(1).take(2)).repeat(2)]
        [1, 2, 1, 2]
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"the function that apply takes returns a Dataset; got {type(made).__name__}")
        return made

    def map(
        self,
        function: Callable[..., Any],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """``function`` of each element; of a tuple, its parts are the arguments.

        The function is converted and staged, in Python's loops as well; it may use Variables, random numbers and
        `py_function`. ``num_parallel_calls`` and ``deterministic`` are taken for programs that come from ``tf.data``, and change
        nothing: the rows of a batch are computed at once, and in order.

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

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """The last of the states that ``reduce_func(state, element)`` returns, one for each element.

        Args:
          initial_state: the first state: an array, or a container of arrays.
          reduce_func: is converted and staged, in Python as well. A tuple is one argument.

        Returns:
          The state after the last element, or ``initial_state`` where there is none.

        >>> int(Dataset.range(5).reduce(0, lambda total, k: total + k))
        10
        """
        if not callable(reduce_func):
            raise TypeError(f"reduce takes a function of a state and an element; got {type(reduce_func).__name__}")
        self._refuse_endless("reduce")

        def reduced(state: Any) -> Any:
            called = JOINT.operators.call(reduce_func)

            def body(element: Any) -> None:
                nonlocal state
                state = called(state, element)

            JOINT.operators.for_stmt(self, body, ("state",))
            return state

        return reduced(initial_state) if is_recording() else JOINT.compiled(reduced)(initial_state)

    def get_single_element(self) -> Any:
        """The element of a dataset that has one.

        Raises:
          ValueError: it is known to have none, or more than one.

        >>> Dataset.range(4).batch(4).get_single_element().tolist()
        [0, 1, 2, 3]
        """
        if self._node.size is None and is_recording():
            raise StagingError(
                f"{user_location()}\n  How many elements this dataset has is not known while tracing, so its only one cannot be taken.\n"
                "  Write next(iter(dataset))."
            )
        found = list(self.take(2)) if self._node.size in (None, 1) else []
        count = self._node.size or len(found)
        if count != 1:
            raise ValueError(f"get_single_element takes a dataset of one element; this one has {count or 'none'}")
        return found[0]

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements with NumPy arrays in the places of arrays; scalars are NumPy's too.

        Raises:
          StagingError: in a function that is being traced, where elements have no values.

        >>> list(Dataset.range(2).batch(1).as_numpy_iterator())
        [array([0], dtype=int32), array([1], dtype=int32)]
        """
        if is_recording():
            raise StagingError(
                f"{user_location()}\n  as_numpy_iterator is asked for while tracing, where elements have no values.\n"
                "  Write `for element in dataset:`."
            )
        return (jax.tree_util.tree_map(lambda leaf: np.asarray(leaf)[()], element) for element in self)

    def cardinality(self) -> int:
        """How many elements there are; `INFINITE_CARDINALITY` without end, `UNKNOWN_CARDINALITY` where it is not known.

        >>> data = Dataset.range(5)
        >>> data.batch(2).cardinality(), data.repeat().cardinality() == Dataset.INFINITE_CARDINALITY
        (3, True)
        """
        if self._node.size is not None:
            return self._node.size
        return self.INFINITE_CARDINALITY if is_endless(self._node) else self.UNKNOWN_CARDINALITY

    def _refuse_endless(self, name: str) -> None:
        if is_endless(self._node):
            raise ValueError(
                f"{name} goes through all elements, and this dataset repeats without end: give repeat(n) a number"
            )

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
