"""`Dataset`: what a loop over data runs through, in Python or on the device."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from autograph.runtime.data import streams
from autograph.runtime.data.cursor import same_types
from autograph.runtime.data.cursors import Elements
from autograph.runtime.data.data_loops import loop_over, loop_over_iterator
from autograph.runtime.data.iterators import CompiledElements, DatasetIterator, SequenceIterator
from autograph.runtime.data.pipeline import (
    Batch,
    Concatenate,
    Enumerate,
    Key,
    Map,
    Node,
    Numbers,
    Progression,
    Reading,
    Repeat,
    Rows,
    Shard,
    Shuffle,
    Skip,
    Slices,
    Stream,
    Take,
    Zip,
    all_arrays,
    begin,
    in_one_order,
    is_endless,
    odd_at,
    shuffles,
    steps,
    with_arrays,
)
from autograph.runtime.data.sequences import (
    Filter,
    Interleave,
    Limit,
    Scan,
    TakeWhile,
    Unbatch,
    Window,
    with_known_limits,
)
from autograph.runtime.errors import StagingError
from autograph.runtime.signatures.tensor_spec import TensorSpec
from autograph.runtime.state.held import Epochs, HeldArrays
from autograph.runtime.state.processes import is_one_of_several
from autograph.runtime.state.variables import current_frame, outside_recordings
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import JOINT, is_recording

_PROGRAMS_SHARED = 256  # of the last datasets, by their steps, whose elements Python asked for
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
    def from_iterable(cls, iterable: Any, length: int | None = None) -> Dataset:
        """The elements of an object that can be iterated again and again: a data loader, say.

        The types of elements are those of the first, for which the object is iterated once here. As of a generator, a loop
        on the device asks for one element, or one batch, at a time.

        Args:
          iterable: yields arrays, numbers, or containers of them, alike in type and shape.
          length: as of `from_generator`.

        Raises:
          TypeError: it is an iterator, which is used up by the first iteration, or its elements are not arrays.
          ValueError: it has no elements.

        >>> class Loader:
        ...     def __iter__(self):
        ...         return iter([{"x": 1.5}, {"x": 2.5}])
        >>> [float(element["x"]) for element in Dataset.from_iterable(Loader()).repeat(2)]
        [1.5, 2.5, 1.5, 2.5]
        """
        if not hasattr(type(iterable), "__iter__") or hasattr(type(iterable), "__next__"):
            raise TypeError(
                "from_iterable takes an object that can be iterated again and again, not an iterator; got "
                f"{type(iterable).__name__}. Give from_generator a function that makes iterators."
            )
        nothing = object()
        first = next(iter(iterable), nothing)
        if first is nothing:
            raise ValueError(
                "from_iterable takes an object with elements; this one has none, so their type is not known"
            )
        return cls.from_generator(lambda: iter(iterable), jax.tree_util.tree_map(_type_of, first), length)

    @classmethod
    def range(cls, *args: int) -> Dataset:
        """The numbers of Python's ``range``, as int32.

        >>> [int(k) for k in Dataset.range(2, 8, 3)]
        [2, 5]
        """
        if any(isinstance(arg, jax.core.Tracer) for arg in args):
            bounds = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
            start, stop, step = (jax.numpy.asarray(bound, np.int32) for bound in bounds)
            count = jax.numpy.maximum(-((start - stop) // step), 0)
            return cls._of(Limit(Progression(HeldArrays([start, step])), HeldArrays([count])))
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
        if not self._node.is_positional and buffer is None:
            raise ValueError(
                "shuffling what a generator gives, or a filter leaves, needs a buffer_size: among how many to choose the next"
            )
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
        return Dataset._of(Map(self._node, _function("map", function)))

    def enumerate(self, start: int = 0) -> Dataset:
        """Each element with its number: ``(number, element)``.

        >>> [(int(k), int(x)) for k, x in Dataset.from_tensor_slices([5, 6]).enumerate()]
        [(0, 5), (1, 6)]
        """
        if isinstance(start, bool) or not isinstance(start, int | np.integer):
            raise TypeError(f"start is an int; got {start!r}")
        return Dataset._of(Enumerate(self._node, int(start)))

    @staticmethod
    def zip(*datasets: Any) -> Dataset:
        """The elements of several datasets side by side, as many as the shortest has.

        Args:
          *datasets: datasets; or one tuple, dict or other container of datasets, as which elements come.

        >>> a, b = Dataset.range(3), Dataset.range(10, 20)
        >>> [(int(x), int(y)) for x, y in Dataset.zip(a, b)]
        [(0, 10), (1, 11), (2, 12)]
        >>> [int(both["a"] + both["b"]) for both in Dataset.zip({"a": a, "b": b})]
        [10, 12, 14]
        """
        given = datasets[0] if len(datasets) == 1 else datasets
        found, treedef = jax.tree_util.tree_flatten(given, is_leaf=lambda part: isinstance(part, Dataset))
        if not found or not all(isinstance(part, Dataset) for part in found):
            raise TypeError(f"zip takes datasets, or a container of datasets; got {given!r}")
        node = Zip(tuple(part.node for part in found), treedef)
        for part in node.parts:
            if part.has_odd and not (node.is_positional and (part.odd_is_last or part.size != node.size)):
                raise ValueError(
                    "batches of different sizes cannot be put side by side: zip, then batch, or give batch drop_remainder=True"
                )
        return Dataset._of(node)

    def concatenate(self, dataset: Dataset) -> Dataset:
        """The elements of this dataset, then those of another, which are alike in type and shape.

        >>> [int(k) for k in Dataset.range(2).concatenate(Dataset.range(7, 9))]
        [0, 1, 7, 8]
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"concatenate takes a Dataset; got {type(dataset).__name__}")
        one, other = (part._types()[0] for part in (self, dataset))
        if not same_types(one, other):
            raise TypeError(
                "concatenate takes a dataset with elements of the same type; got "
                f"{self.element_spec} and {dataset.element_spec}"
            )
        return Dataset._of(Concatenate((self._node, dataset._node)))

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements of which ``predicate`` is true; of a tuple, its parts are the arguments.

        The function is converted and staged, as that of `map`.

        >>> [int(k) for k in Dataset.range(10).filter(lambda k: k % 3 == 1)]
        [1, 4, 7]
        """
        return Dataset._of(Filter(self._node, _function("filter", predicate)))

    def take_while(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements before the first of which ``predicate`` is false.

        >>> [int(k) for k in Dataset.range(10).take_while(lambda k: k * k < 10)]
        [0, 1, 2, 3]
        """
        return Dataset._of(TakeWhile(self._node, _function("take_while", predicate)))

    def scan(self, initial_state: Any, scan_func: Callable[[Any, Any], Any]) -> Dataset:
        """What ``scan_func(state, element)`` makes of each element: it returns the next state, and the element in its place.

        Args:
          initial_state: the state at the beginning of each iteration: an array, or a container of arrays.
          scan_func: is converted and staged. A tuple is one argument.

        >>> [int(k) for k in Dataset.range(5).scan(0, lambda total, k: (total + k, total + k))]
        [0, 1, 3, 6, 10]
        """
        return Dataset._of(Scan(self._node, _function("scan", scan_func), initial_state))

    def flat_map(self, map_func: Callable[..., Any]) -> Dataset:
        """The elements of the datasets that ``map_func`` makes of each element, one dataset after the other.

        Args:
          map_func: returns a `Dataset`. It is staged, and called again for each element of that dataset: it may not print, draw
            random numbers, or write Variables.

        >>> data = Dataset.from_tensor_slices(np.arange(4).reshape(2, 2))
        >>> [int(k) for k in data.flat_map(Dataset.from_tensor_slices)]
        [0, 1, 2, 3]
        """
        return self.interleave(map_func, cycle_length=1, block_length=1)

    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: int = 4,
        block_length: int = 1,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """The elements of the datasets that ``map_func`` makes of each element, from several of them in turn.

        ``num_parallel_calls`` and ``deterministic`` are taken for programs that come from ``tf.data``, and change nothing.

        Args:
          map_func: as that of `flat_map`.
          cycle_length: from how many datasets elements come in turn.
          block_length: how many elements of each.

        >>> data = Dataset.range(1, 4).interleave(lambda k: Dataset.from_tensors(k).repeat(3), cycle_length=2, block_length=2)
        >>> [int(k) for k in data]
        [1, 1, 2, 2, 1, 2, 3, 3, 3]
        """
        cycle, block = _count("cycle_length", cycle_length, least=1), _count("block_length", block_length, least=1)
        return Dataset._of(Interleave(self._node, _function("interleave", map_func), cycle, block))

    def window(self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False) -> Dataset:
        """Datasets of ``size`` elements each; of tuples and other containers, a dataset for each array in them.

        Args:
          size: how many elements a window has.
          shift: how far each window is from the one before: ``size`` by default.
          stride: how far the elements of a window are from each other.
          drop_remainder: whether the windows in the end that have fewer elements are left out.

        >>> [[int(k) for k in window] for window in Dataset.range(7).window(3, shift=2)]
        [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]
        >>> batches = Dataset.range(7).window(3, shift=2, drop_remainder=True).flat_map(lambda window: window.batch(3))
        >>> [k.tolist() for k in batches]
        [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
        """
        width = _count("size", size, least=1)
        moved = width if shift is None else _count("shift", shift, least=1)
        if self._node.has_odd:
            raise ValueError(
                "window of batches of different sizes: give batch drop_remainder=True, or take the window before batch"
            )
        node = Window(self._node, width, moved, _count("stride", stride, least=1), bool(drop_remainder), Dataset._of)
        return Dataset._of(node)

    def unbatch(self) -> Dataset:
        """The rows of each element, along the first axes of its arrays.

        >>> [int(k) for k in Dataset.range(5).batch(2).unbatch()]
        [0, 1, 2, 3, 4]
        """
        node = self._node
        if isinstance(node, Batch):
            kept = node.parent.size
            if not node.drop:
                return Dataset._of(node.parent)
            if kept is not None:
                return Dataset._of(Take(node.parent, kept // node.width * node.width))
        return Dataset._of(Unbatch(node))

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
        known = self._known()._node.size
        if known is not None:
            return known
        return self.INFINITE_CARDINALITY if is_endless(self._node) else self.UNKNOWN_CARDINALITY

    def _refuse_endless(self, name: str) -> None:
        if is_endless(self._node):
            raise ValueError(
                f"{name} goes through all elements, and this dataset is infinite: pass a number to repeat(n)"
            )

    @property
    def node(self) -> Node:
        """The last step."""
        return self._node

    @property
    def element_spec(self) -> Any:
        """The type of an element: each array's `TensorSpec`, nested as elements are; None where sizes of batches differ.

        Of a window, which is a dataset itself, a `DatasetSpec`.
        """
        full, has_rows = self._types()
        leaves, treedef = jax.tree_util.tree_flatten(full, is_leaf=lambda part: isinstance(part, Dataset))
        if any(isinstance(leaf, Dataset) for leaf in leaves):
            return jax.tree_util.tree_unflatten(treedef, [_spec_of(leaf) for leaf in leaves])
        return jax.tree_util.tree_unflatten(
            treedef,
            [
                TensorSpec((None, *leaf.shape[1:]) if has else leaf.shape, leaf.dtype)
                for leaf, has in zip(leaves, has_rows, strict=True)
            ],
        )

    def _types(self) -> tuple[Any, list[bool]]:
        """The types of a full element, and of each array whether other elements have fewer rows."""
        node, found = self._node, None

        def ask() -> int:
            nonlocal found
            if node.is_positional or node.is_stream:
                full = JOINT.data.shapes(lambda: self._first(False))
                found = full, [node.has_odd for _ in jax.tree_util.tree_leaves(full)]
                return 0
            elements = Elements(node, {key: np.int32(0) for key, _ in shuffles(node)})
            full, odd = (
                JOINT.data.shapes(lambda rows=rows: elements.element(elements.cursor.nothing(), rows))
                for rows in (elements.width, (elements.sizes or [1 if elements.sizes is None else elements.width])[0])
            )
            leaves, smaller = map(jax.tree_util.tree_leaves, (full, odd))
            found = full, [one.shape != other.shape for one, other in zip(leaves, smaller, strict=True)]
            return 0

        if is_recording():
            ask()
        else:
            JOINT.compiled(ask).get_concrete_function()
        assert found is not None
        return found

    def __len__(self) -> int:
        """How many elements there are. ``TypeError`` where that is not known, or without end."""
        known = self._known()._node.size
        if known is None:
            what = "repeats without end"
            if not is_endless(self._node):
                what = (
                    "comes from a generator of unknown length"
                    if self._node.is_stream
                    else "has a length that its elements decide"
                )
            raise TypeError(f"this dataset {what}")
        return known

    def __iter__(self) -> Iterator[Any]:
        known = self._known()
        if known is not self:
            return iter(known)
        node, words = self._node, begin(self._node)
        if not is_recording() and not node.is_positional and not node.is_stream:
            return SequenceIterator(node, words, self._element())
        if not is_recording():
            return DatasetIterator(node, words, self._element())
        if not node.is_positional or node.size is None:
            raise StagingError(
                f"{user_location()}\n  This dataset is iterated while tracing by something other than a `for` "
                "statement: its elements would be baked into the program.\n  Write `for element in dataset:`; its "
                "elements are numbered by dataset.enumerate()."
            )
        return self._unrolled(words)

    def staged_iter(self) -> Iterator[Any]:
        """``iter(self)`` as an operation of the program that is recorded: each execution begins anew."""
        node = self._node
        if current_frame() is None or node.is_stream:
            return iter(self)
        kind = DatasetIterator if node.is_positional else SequenceIterator
        made = kind(node, begin(node), None)
        made.begin()
        return made

    def __repr__(self) -> str:
        chain = " → ".join(type(step).__name__.lower() for step in steps(self._node))
        return f"<ag.Dataset {chain}>"

    # In Python.

    def _known(self) -> Dataset:
        """This dataset, with steps whose number of elements run time has decided as steps that know it."""
        node = with_known_limits(self._node)
        return self if node is self._node else Dataset._of(node)

    def _element(self) -> Any:
        """A `Function` that gives an element: from its position, or of a stream, as it came."""
        if self._compiled is None:
            self._compiled = self._compile()
        return self._compiled

    def _compile(self) -> Any:
        node = self._node
        if not node.is_positional and not node.is_stream:
            return CompiledElements(node)
        if all(type(step) in _WITHOUT_FUNCTIONS for step in steps(node)):
            arrays, bare = self.tree_flatten()
            types = tuple((array.shape, array.dtype) for part in arrays for array in part)
            return functools.partial(_shared_element(bare, types), self)

        def computed(raw: Any) -> Any:
            return streams.computed(node, JOINT.operators, raw)

        return JOINT.compiled(computed if node.is_stream else functools.partial(_at, node))

    def _unrolled(self, words: dict[Key, Any]) -> Iterator[Any]:
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
        words = {key: np.int32(0) for key, _ in shuffles(node)}
        if node.is_stream:
            nothing = jax.tree_util.tree_map(lambda s: jax.numpy.zeros(s.shape, s.dtype), streams.spec_of(node))
            return streams.computed(node, JOINT.operators, nothing)
        return node.rows(Reading(node, words), np.int32(0), 0, odd)

    # As a container of its arrays, and as what a loop runs over.

    def tree_flatten(self) -> tuple[Sequence[Any], Any]:
        held = all_arrays(self._node)
        arrays = tuple(tuple(part.arrays) for part in held)
        return arrays, with_arrays(self._node, iter([type(part)([]) for part in held]))

    @classmethod
    def tree_unflatten(cls, node: Any, arrays: Any) -> Dataset:
        return cls._of(with_arrays(node, iter([HeldArrays(list(part)) for part in arrays])))


@dataclass(frozen=True)
class DatasetSpec:
    """The type of an element that is a dataset itself.

    Attributes:
      element_spec: the type of its elements.
    """

    element_spec: Any


_WITHOUT_FUNCTIONS = (Slices, Numbers, Take, Skip, Shard, Repeat, Batch, Enumerate)


def _at(node: Node, position: Any, depths: Any, words: Any, odd: bool) -> Any:
    return node.rows(Reading(node, dict(zip(depths, words, strict=True))), position, 0, odd)


@functools.lru_cache(maxsize=_PROGRAMS_SHARED)
def _shared_element(node: Node, types: tuple[Any, ...]) -> Any:
    """A `Function` for the elements of all datasets of these steps, over arrays of these types: windows over one dataset, say."""
    return JOINT.compiled(lambda data, *args: _at(data.node, *args))


def _spec_of(part: Any) -> Any:
    if not isinstance(part, Dataset):
        return TensorSpec(part.shape, part.dtype)
    arrays = jax.tree_util.tree_map(lambda s: jax.numpy.zeros(s.shape, s.dtype), part)
    return DatasetSpec(arrays.element_spec)


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


def _function(name: str, function: Any) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{name} takes a function; got {type(function).__name__}")
    return function


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
