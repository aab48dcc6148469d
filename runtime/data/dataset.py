"""`Dataset`: a sequence of elements for loops in Python and on the device."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from autograph.backends.selected import DATA
from autograph.runtime.data import streams
from autograph.runtime.data.cursor import same_types
from autograph.runtime.data.cursors import Elements
from autograph.runtime.data.data_loops import loop_over, loop_over_iterator
from autograph.runtime.data.iterators import CompiledElements, DatasetIterator, SequenceIterator
from autograph.runtime.data.padding import Filled, Padding
from autograph.runtime.data.pipeline import (
    Batch,
    Concatenate,
    Enumerate,
    Key,
    Map,
    Node,
    Numbers,
    PaddedBatch,
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
from autograph.runtime.data.sampling import DRAWS, Classified, Draw, fractions, is_kept, with_class
from autograph.runtime.data.sequences import (
    Choose,
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
from autograph.runtime.tracing.language import LANGUAGE
from autograph.runtime.tracing.locations import user_location
from autograph.runtime.tracing.recording import is_recording
from autograph.runtime.typing import ArrayLike, PyTree, RandomAccess, TensorLike

_PROGRAMS_SHARED = 256  # of the last datasets, by their steps, whose elements Python asked for
_ON_DEVICE_AT_MOST = 2**30  # bytes; a larger set of arrays stays in the host's memory


@jax.tree_util.register_pytree_node_class
class Dataset:
    """A sequence of elements, each an array or a tuple, dict or other container of arrays.

    ``for x, y in dataset`` iterates over arrays in Python. In a `Function`, or under
    ``jax.jit(autograph.convert(f))``, the loop runs on the device, over the same elements in the same order. The
    arrays of a dataset are inputs of the program of a `Function`. Datasets are immutable: each method returns a new
    one.

    Args:
      source: an object with ``__len__`` and ``__getitem__``, whose items have one structure, with the same shapes and
        dtypes. A loop on the device requests one item at a time from Python.

    Raises:
      TypeError: ``source`` has no length or no items.
      ValueError: ``source`` is empty, so that the type of an element is not known.

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

    def __init__(self, source: RandomAccess) -> None:
        if not hasattr(type(source), "__len__") or not hasattr(type(source), "__getitem__"):
            raise TypeError(f"a Dataset is made of an object with a length and items; got {type(source).__name__}")
        length = len(source)
        if not length:
            raise ValueError(
                "a Dataset is made of an object with items; this one is empty, so the type of an element is not known"
            )
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
    def from_tensors(cls, tensors: PyTree) -> Dataset:
        """Return a dataset of one element.

        Args:
          tensors: an array (a list is converted to one), or a tuple, dict or other container of arrays.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: there is no array in ``tensors``.

        >>> [x.tolist() for x in ag.Dataset.from_tensors([1, 2]).repeat(2)]
        [[1, 2], [1, 2]]
        """
        leaves, treedef = jax.tree_util.tree_flatten(tensors, is_leaf=lambda part: isinstance(part, list))
        if not leaves:
            raise ValueError("from_tensors takes an array, or a container of arrays; got none")
        arrays = [leaf if isinstance(leaf, jax.Array) else np.asarray(leaf) for leaf in leaves]
        return cls.from_tensor_slices(jax.tree_util.tree_unflatten(treedef, [array[None] for array in arrays]))

    @classmethod
    def from_tensor_slices(cls, tensors: PyTree) -> Dataset:
        """Return a dataset of the slices of arrays along their first axis.

        Arrays of up to 1 GiB in total are kept on the device. Larger ones stay in host memory, and a loop on the
        device requests a row or a batch at a time.

        Args:
          tensors: an array (a list is converted to one), or a tuple, dict or other container of arrays.

        Returns:
          A `Dataset`; an element has the structure of ``tensors``, without the first axes.

        Raises:
          TypeError: the elements of an array are neither numbers nor truth values.
          ValueError: an array is a scalar, or the first axes have different lengths.

        >>> [int(x) for x in ag.Dataset.from_tensor_slices([5, 6])]
        [5, 6]
        """
        leaves, treedef = jax.tree_util.tree_flatten(tensors, is_leaf=lambda part: isinstance(part, list))
        arrays = [leaf if isinstance(leaf, jax.Array) else np.asarray(leaf) for leaf in leaves]
        for array in arrays:
            if isinstance(array, np.ndarray) and array.dtype.kind in "OSUMm":
                raise TypeError(
                    f"from_tensor_slices takes arrays of numbers, in tuples or dicts; got one of dtype {array.dtype}. For records, pass a "
                    "dict of arrays; for texts, pass their numbers in a list that is kept outside"
                )
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
    def from_generator(
        cls,
        make: Callable[..., Iterable[PyTree]],
        spec: PyTree = None,
        length: int | None = None,
        *,
        args: Sequence[PyTree] = (),
        output_signature: PyTree = None,
    ) -> Dataset:
        """Return a dataset of the elements that ``make(*args)`` yields.

        ``make`` is called for each iteration. A loop on the device requests one element, or one batch, at a time, so
        memory does not grow.

        Args:
          make: a function that returns an iterable, such as a generator function.
          spec: the type of an element: a dtype for a scalar, a `TensorSpec` or `jax.ShapeDtypeStruct` for an array,
            or a tuple, dict or other container of those. A size that is None in a `TensorSpec` may differ from element
            to element: Python loops accept such elements, and programs accept them after `padded_batch`.
          length: the number of elements, if it is known. A compiled program needs it if the last batch may be smaller
            than the others and these have more than 16 rows.
          args: arguments of ``make``.
          output_signature: ``tf.data``'s name for ``spec``.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``make`` is not a function, or no type is given.
          ValueError: the rank of an array in ``spec`` is not known.

        >>> def squares():
        ...     for k in range(3):
        ...         yield k * k
        >>> [int(x) for x in ag.Dataset.from_generator(squares, np.int32)]
        [0, 1, 4]
        """
        if not callable(make):
            raise TypeError(f"from_generator takes a function that makes an iterator; got {type(make).__name__}")
        if (spec is None) == (output_signature is None):
            raise TypeError("from_generator takes the type of an element, as spec or as output_signature")
        spec = output_signature if spec is None else spec
        make = functools.partial(make, *args) if args else make
        types = jax.tree_util.tree_map(_announced, spec, is_leaf=lambda s: isinstance(s, TensorSpec))
        return cls._of(Stream(make, types, None if length is None else _count("length", length)))

    @classmethod
    def from_iterable(cls, iterable: Iterable[PyTree], length: int | None = None) -> Dataset:
        """Return a dataset of the elements of an object that can be iterated repeatedly, such as a data loader.

        The types of the elements are those of the first element, for which the object is iterated once. A loop on the
        device requests one element, or one batch, at a time.

        Args:
          iterable: yields arrays, numbers or containers of them, of one structure, with the same shapes and dtypes.
          length: as in `from_generator`.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``iterable`` is an iterator, which one iteration exhausts, or its elements are not arrays.
          ValueError: it has no elements.

        >>> class Loader:
        ...     def __iter__(self):
        ...         return iter([{"x": 1.5}, {"x": 2.5}])
        >>> [float(element["x"]) for element in ag.Dataset.from_iterable(Loader()).repeat(2)]
        [1.5, 2.5, 1.5, 2.5]
        """
        if not hasattr(type(iterable), "__iter__") or hasattr(type(iterable), "__next__"):
            raise TypeError(
                "from_iterable takes an object that can be iterated again and again, not an iterator; got "
                f"{type(iterable).__name__}. Pass a function that creates iterators to from_generator."
            )
        nothing = object()
        first = next(iter(iterable), nothing)
        if first is nothing:
            raise ValueError(
                "from_iterable takes an object with elements; this one is empty, so the type of an element is not known"
            )
        return cls.from_generator(lambda: iter(iterable), jax.tree_util.tree_map(_type_of, first), length)

    @classmethod
    def counter(cls, start: int = 0, step: int = 1) -> Dataset:
        """Return an infinite dataset of the numbers ``start``, ``start + step``, and so on.

        Args:
          start: an int.
          step: an int other than 0.

        Returns:
          A `Dataset` of int32 scalars.

        >>> [int(k) for k in ag.Dataset.counter(5, 2).take(3)]
        [5, 7, 9]
        """
        numbers = range(start, 2**31 if step > 0 else -(2**31) - 1, step)
        return cls._of(Repeat(Numbers(numbers[: 2**31 - 1]), None))

    @classmethod
    def choose_from_datasets(
        cls, datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Return elements of several datasets, in the order of a dataset of indices.

        Args:
          datasets: a list of datasets with elements of one type.
          choice_dataset: a `Dataset` of integers: the index in ``datasets`` from which to take each element.
          stop_on_empty_dataset: True to end when the chosen dataset has no element left; False to skip its index, and
            to end when no dataset has elements left.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: the datasets differ in the type of their elements, or ``choice_dataset`` has no integers.
          ValueError: a number is out of range; raised when the dataset is iterated.

        >>> a, b = ag.Dataset.range(3), ag.Dataset.range(10, 13)
        >>> [int(k) for k in ag.Dataset.choose_from_datasets([a, b], ag.Dataset.range(2).repeat())]
        [0, 10, 1, 11, 2, 12]
        """
        return cls._chosen("choose_from_datasets", datasets, choice_dataset, stop_on_empty_dataset, True)

    @classmethod
    def sample_from_datasets(
        cls,
        datasets: Sequence[Dataset],
        weights: TensorLike | None = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool = True,
    ) -> Dataset:
        """Return elements of several datasets, each from a dataset that is drawn at random.

        Args:
          datasets: a list of datasets with elements of one type.
          weights: the relative probability of each dataset: a list of numbers; equal by default.
          seed: as for `shuffle`.
          stop_on_empty_dataset: True to end when the drawn dataset has no element left; False to draw again, and to end
            when no dataset has elements left.
          rerandomize_each_iteration: False to draw the same datasets in each iteration.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: the datasets differ in the type of their elements.
          ValueError: ``weights`` are not as many numbers of 0 or more.

        >>> a, b = ag.Dataset.from_tensors(0).repeat(), ag.Dataset.from_tensors(1).repeat()
        >>> drawn = ag.Dataset.sample_from_datasets([a, b], weights=[0.25, 0.75], seed=1).take(1000)
        >>> abs(int(drawn.reduce(0, lambda total, k: total + k)) - 750) < 50
        True
        """
        parts = fractions("weights", [1.0] * len(datasets) if weights is None else weights, len(datasets))
        draws = cls.range(DRAWS).shuffle(seed=seed, reshuffle_each_iteration=rerandomize_each_iteration).repeat()
        choices = draws.map(Draw.of(parts))
        return cls._chosen("sample_from_datasets", datasets, choices, stop_on_empty_dataset, False)

    @classmethod
    def _chosen(cls, name: str, datasets: Sequence[Dataset], choice: Dataset, stops: bool, is_checked: bool) -> Dataset:
        found = list(datasets)
        if not found or not all(isinstance(part, Dataset) for part in (*found, choice)):
            raise TypeError(f"{name} takes a list of datasets; got {datasets!r}")
        numbers = choice._types()[0]
        if not same_types(numbers, jax.ShapeDtypeStruct((), getattr(numbers, "dtype", None))) or (
            np.dtype(numbers.dtype).kind not in "iu"
        ):
            raise TypeError(f"{name} is given integers for the numbers of datasets; got {choice.element_spec}")
        for other in found[1:]:
            found[0]._refuse_unlike(name, other)
        return cls._of(Choose((choice.node, *(part.node for part in found)), bool(stops), is_checked))

    @classmethod
    def range(cls, *args: int) -> Dataset:
        """Return a dataset of the numbers of Python's ``range``.

        Args:
          *args: ``stop``, or ``start, stop``, or ``start, stop, step``: integers, which may be traced.

        Returns:
          A `Dataset` of int32 scalars.

        >>> [int(k) for k in ag.Dataset.range(2, 8, 3)]
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
        """Return a dataset of batches: ``batch_size`` elements each, stacked along a new first axis.

        Args:
          batch_size: the number of elements in a batch.
          drop_remainder: whether a smaller last batch is dropped.
          num_parallel_calls: accepted for compatibility with ``tf.data``; it has no effect.
          deterministic: accepted for compatibility with ``tf.data``; it has no effect.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: the elements are themselves batches of different sizes.

        >>> [x.tolist() for x in ag.Dataset.range(5).batch(2)]
        [[0, 1], [2, 3], [4]]
        """
        width = _count("batch_size", batch_size, least=1)
        made, node = Batch(self._node, width, bool(drop_remainder)), self._node
        if node.has_odd and node.size is not None and (not node.odd_is_last or not _odd_stays_alone(node.size, made)):
            raise ValueError(
                "batches of different sizes cannot be batched: pass drop_remainder=True to the first batch"
            )
        return Dataset._of(made)

    def padded_batch(
        self, batch_size: int, padded_shapes: PyTree = None, padding_values: PyTree = None, drop_remainder: bool = False
    ) -> Dataset:
        """Return batches of elements that differ in shape, each array padded at its end.

        Args:
          batch_size: the number of elements in a batch.
          padded_shapes: the shape of each array after padding, in the structure of an element. A size of None or -1
            (the default) is that of the longest array in the batch: such batches differ in shape, and only Python
            loops accept them. A program needs a number for each size that differs.
          padding_values: the values to pad with: a number for all arrays, or numbers in the structure of an element;
            0 by default.
          drop_remainder: True to leave out a last batch that is smaller.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``padded_shapes`` or ``padding_values`` do not fit the structure or the dtypes of an element.
          ValueError: an element is larger than ``padded_shapes``; raised for a generator's when the element comes.

        >>> words = ag.Dataset.from_generator(lambda: iter([[1], [2, 3], [4, 5, 6]]), ag.TensorSpec([None], np.int32))
        >>> [batch.tolist() for batch in words.padded_batch(2)]
        [[[1, 0], [2, 3]], [[4, 5, 6]]]
        >>> [batch.tolist() for batch in words.padded_batch(3, padded_shapes=[4], padding_values=-1)]
        [[[1, -1, -1, -1], [2, 3, -1, -1], [4, 5, 6, -1]]]
        """
        width, node = _count("batch_size", batch_size, least=1), self._node
        if not streams.is_open(node):
            full, has_rows = self._types()
            if any(has_rows):
                raise ValueError(
                    "batches of different sizes cannot be padded: pass drop_remainder=True to the first batch"
                )
            filled = Filled(Padding.of(full, padded_shapes, padding_values), type(full) is tuple)
            return self.map(filled).batch(width, drop_remainder)
        if any(isinstance(step, Map) for step in steps(node)):
            raise ValueError(
                "elements that differ in shape are padded before a function computes with them: put padded_batch before map, or let the "
                "generator compute"
            )
        padding = Padding.of(streams.spec_of(node), padded_shapes, padding_values)
        return Dataset._of(PaddedBatch(node, width, bool(drop_remainder), padding))

    def rebatch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """Return the rows of these batches in batches of another size.

        Args:
          batch_size: the number of rows in a new batch.
          drop_remainder: True to leave out a last batch that is smaller.

        Returns:
          A `Dataset`.

        >>> [x.tolist() for x in ag.Dataset.range(5).batch(2).rebatch(3)]
        [[0, 1, 2], [3, 4]]
        """
        return self.unbatch().batch(batch_size, drop_remainder)

    def shuffle(
        self, buffer_size: int | None = None, *, seed: int | None = None, reshuffle_each_iteration: bool = True
    ) -> Dataset:
        """Return the elements in a random order.

        The order is determined by the seed and the number of the iteration, which counts the iterations over this
        dataset, in Python and on the device, and the repetitions by `repeat`. All elements are shuffled; for a
        generator, each element is drawn from a buffer.

        Args:
          buffer_size: the number of elements of a generator in the buffer. Other datasets ignore it.
          seed: an int; random by default. A job of several processes must pass one.
          reshuffle_each_iteration: whether each iteration has a new order.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``seed`` is not an int.
          ValueError: the dataset is infinite, or a job of several processes passes no seed.

        >>> data = ag.Dataset.range(5).shuffle(seed=1, reshuffle_each_iteration=False)
        >>> sorted(int(k) for k in data)
        [0, 1, 2, 3, 4]
        >>> [int(k) for k in data] == [int(k) for k in data]
        True
        """
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer)):
            raise TypeError(f"seed must be an int; got {seed!r}")
        buffer = None if buffer_size is None else _count("buffer_size", buffer_size, least=1)
        if seed is None and is_one_of_several():
            raise ValueError(
                "shuffle without a seed would use another order in each process of this job: pass a seed, the same "
                "in all processes if they share the data"
            )
        if is_endless(self._node):
            raise ValueError("an infinite dataset cannot be shuffled as a whole: call shuffle before repeat")
        if not self._node.is_positional and buffer is None:
            raise ValueError(
                "shuffle after a generator or a filter needs a buffer_size: the number of elements among which it chooses the next"
            )
        chosen = secrets.randbits(32) if seed is None else int(seed)
        count = Epochs() if reshuffle_each_iteration else None
        return Dataset._of(Shuffle(self._node, chosen, buffer, count, is_seeded=seed is not None))

    def repeat(self, count: int | None = None) -> Dataset:
        """Return the elements, repeated ``count`` times.

        Args:
          count: an int; None or -1 repeats forever.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(2).repeat(2)]
        [0, 1, 0, 1]
        """
        number = None if count is None or count == -1 else _count("count", count)
        return self if is_endless(self._node) and number is None else Dataset._of(Repeat(self._node, number))

    def take(self, count: int) -> Dataset:
        """Return the first ``count`` elements, or all if there are fewer.

        Args:
          count: an int of 0 or more; or -1 for all elements.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(5).take(2)]
        [0, 1]
        """
        return self if _is_all(count) else Dataset._of(Take(self._node, _count("count", count)))

    def skip(self, count: int) -> Dataset:
        """Return all elements but the first ``count``.

        Args:
          count: an int of 0 or more; or -1 for all elements.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(5).skip(3)]
        [3, 4]
        """
        return self.take(0) if _is_all(count) else Dataset._of(Skip(self._node, _count("count", count)))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Return every ``num_shards``-th element, starting with number ``index``.

        Each of several processes can read its own shard.

        Args:
          num_shards: the number of parts.
          index: the number of this part, from 0.

        Returns:
          A `Dataset`.

        Raises:
          ValueError: ``index`` is not less than ``num_shards``.

        >>> [int(k) for k in ag.Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        number, first = _count("num_shards", num_shards, least=1), _count("index", index)
        if first >= number:
            raise ValueError(f"index must be less than num_shards, {number}; got {first}")
        return Dataset._of(Shard(self._node, number, first))

    def cache(self) -> Dataset:
        """Return the elements in the same order in each iteration.

        No elements are stored: arrays are on the device already, and a program computes an element faster than it
        would read a stored one. A generator is called again for each iteration, so memory does not grow; if it is
        slow and its elements fit in memory, pass them to `from_tensor_slices`. Functions of `map` run again too, with
        their random numbers and effects.

        Returns:
          A `Dataset`.

        >>> data = ag.Dataset.range(9).shuffle(9).cache()
        >>> [int(k) for k in data] == [int(k) for k in data]
        True
        """
        return Dataset._of(in_one_order(self._node))

    def prefetch(self, buffer_size: int | None = None) -> Dataset:
        """Return this dataset.

        It exists for compatibility with ``tf.data``. The program that consumes the elements computes them.

        Args:
          buffer_size: accepted for compatibility with ``tf.data``; it has no effect.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(2).prefetch(1)]
        [0, 1]
        """
        return self

    def with_options(self, options: object) -> Dataset:
        """Return this dataset.

        It exists for compatibility with ``tf.data``, whose options configure the threads that compute elements. Here,
        the program that consumes the elements computes them.

        Args:
          options: any object; it has no effect.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(2).with_options(None)]
        [0, 1]
        """
        return self

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return ``transformation_func(self)``, for use in a chain of calls.

        Args:
          transformation_func: a function of a `Dataset` that returns a `Dataset`.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: the function returns something else.

        >>> [int(k) for k in ag.Dataset.range(9).apply(lambda data: data.skip(1).take(2)).repeat(2)]
        [1, 2, 1, 2]
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"the function that apply takes returns a Dataset; got {type(made).__name__}")
        return made

    def map(
        self,
        function: Callable[..., PyTree],
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """Return a dataset of ``function`` applied to each element.

        The function is converted and staged, in Python loops as well. It may use Variables, random numbers and
        `py_function`.

        Args:
          function: a function of an element; if an element is a tuple, of its items.
          num_parallel_calls: accepted for compatibility with ``tf.data``; it has no effect.
          deterministic: accepted for compatibility with ``tf.data``; it has no effect.

        Returns:
          A `Dataset`.

        >>> [int(x) for x in ag.Dataset.range(4).map(lambda k: k * k)]
        [0, 1, 4, 9]
        """
        return Dataset._of(Map(self._node, _function("map", function)))

    def enumerate(self, start: int = 0) -> Dataset:
        """Return a dataset of pairs ``(index, element)``.

        Args:
          start: the index of the first element.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``start`` is not an int.

        >>> [(int(k), int(x)) for k, x in ag.Dataset.from_tensor_slices([5, 6]).enumerate()]
        [(0, 5), (1, 6)]
        """
        if isinstance(start, bool) or not isinstance(start, int | np.integer):
            raise TypeError(f"start must be an int; got {start!r}")
        return Dataset._of(Enumerate(self._node, int(start)))

    @staticmethod
    def zip(*datasets: PyTree) -> Dataset:
        """Return a dataset that combines the elements of several datasets, and ends with the shortest.

        Args:
          *datasets: datasets, or one tuple, dict or other container of datasets, whose structure the elements have.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: an argument is not a dataset.
          ValueError: batches of different sizes would be combined.

        >>> a, b = ag.Dataset.range(3), ag.Dataset.range(10, 20)
        >>> [(int(x), int(y)) for x, y in ag.Dataset.zip(a, b)]
        [(0, 10), (1, 11), (2, 12)]
        >>> [int(both["a"] + both["b"]) for both in ag.Dataset.zip({"a": a, "b": b})]
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
                    "batches of different sizes cannot be zipped: zip before batch, or pass drop_remainder=True to batch"
                )
        return Dataset._of(node)

    def concatenate(self, dataset: Dataset) -> Dataset:
        """Return the elements of this dataset followed by those of another.

        Args:
          dataset: a `Dataset` whose elements have the same structure, shapes and dtypes.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``dataset`` is not a dataset, or its elements differ in type.

        >>> [int(k) for k in ag.Dataset.range(2).concatenate(ag.Dataset.range(7, 9))]
        [0, 1, 7, 8]
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"concatenate takes a Dataset; got {type(dataset).__name__}")
        self._refuse_unlike("concatenate", dataset)
        return Dataset._of(Concatenate((self._node, dataset._node)))

    def _refuse_unlike(self, name: str, dataset: Dataset) -> None:
        if not same_types(*(part._types()[0] for part in (self, dataset))):
            raise TypeError(
                f"{name} takes datasets with elements of the same type; got {self.element_spec} and {dataset.element_spec}"
            )

    def filter(self, predicate: Callable[..., ArrayLike]) -> Dataset:
        """Return the elements for which ``predicate`` is true.

        Args:
          predicate: a function as in `map` that returns a bool. It is converted and staged.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(10).filter(lambda k: k % 3 == 1)]
        [1, 4, 7]
        """
        return Dataset._of(Filter(self._node, _function("filter", predicate)))

    def take_while(self, predicate: Callable[..., ArrayLike]) -> Dataset:
        """Return the elements before the first one for which ``predicate`` is false.

        Args:
          predicate: a function as in `map` that returns a bool. It is converted and staged.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(10).take_while(lambda k: k * k < 10)]
        [0, 1, 2, 3]
        """
        return Dataset._of(TakeWhile(self._node, _function("take_while", predicate)))

    def scan(self, initial_state: PyTree, scan_func: Callable[[PyTree, PyTree], tuple[PyTree, PyTree]]) -> Dataset:
        """Return a dataset whose elements ``scan_func`` computes from a state and each element.

        Args:
          initial_state: the state at the start of each iteration: an array, or a container of arrays.
          scan_func: a function ``(state, element) -> (state, new_element)``. It is converted and staged. A tuple is
            one argument.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(5).scan(0, lambda total, k: (total + k, total + k))]
        [0, 1, 3, 6, 10]
        """
        return Dataset._of(Scan(self._node, _function("scan", scan_func), initial_state))

    def rejection_resample(
        self,
        class_func: Callable[..., ArrayLike],
        target_dist: TensorLike,
        initial_dist: TensorLike | None = None,
        seed: int | None = None,
    ) -> Dataset:
        """Return ``(class, element)`` pairs, dropping elements at random so that classes follow a distribution.

        Args:
          class_func: a function of an element that returns its class, an int from 0. A tuple is passed as separate
            arguments.
          target_dist: the desired relative frequency of each class: a list of numbers.
          initial_dist: the relative frequency of each class in this dataset: a list of numbers; by default estimated
            from the elements so far.
          seed: as for `shuffle`.

        Returns:
          A `Dataset`.

        Raises:
          TypeError: ``class_func`` is not a function.
          ValueError: the distributions are not lists of as many numbers of 0 or more.

        >>> numbers = ag.Dataset.range(10_000)
        >>> tens = numbers.rejection_resample(lambda k: (k % 10 == 0) * 1, [0.5, 0.5], [0.9, 0.1], seed=1)
        >>> kinds = [int(kind) for kind, k in tens]
        >>> kinds.count(1), abs(kinds.count(0) - 1000) < 100
        (1000, True)
        """
        target = fractions("target_dist", target_dist)
        initial = None if initial_dist is None else fractions("initial_dist", initial_dist, len(target))
        classified = Classified(_function("rejection_resample", class_func), target, initial)
        drawn = Dataset.zip(self, Dataset.range(DRAWS).shuffle(seed=seed).repeat())
        return drawn.scan(np.ones(len(target), np.float32), classified).filter(is_kept).map(with_class)

    def flat_map(self, map_func: Callable[..., Dataset]) -> Dataset:
        """Return the elements of the datasets that ``map_func`` returns, one dataset after the other.

        Args:
          map_func: a function as in `map` that returns a `Dataset`. It is staged, and is called again for each
            element of that dataset: it may not print, draw random numbers or assign Variables.

        Returns:
          A `Dataset`.

        >>> data = ag.Dataset.from_tensor_slices(np.arange(4).reshape(2, 2))
        >>> [int(k) for k in data.flat_map(ag.Dataset.from_tensor_slices)]
        [0, 1, 2, 3]
        """
        return self.interleave(map_func, cycle_length=1, block_length=1)

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: int = 4,
        block_length: int = 1,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
    ) -> Dataset:
        """Return the elements of the datasets that ``map_func`` returns, taking turns between several of them.

        Args:
          map_func: as in `flat_map`.
          cycle_length: the number of datasets that take turns.
          block_length: the number of consecutive elements from each.
          num_parallel_calls: accepted for compatibility with ``tf.data``; it has no effect.
          deterministic: accepted for compatibility with ``tf.data``; it has no effect.

        Returns:
          A `Dataset`.

        >>> data = ag.Dataset.range(1, 4).interleave(lambda k: ag.Dataset.from_tensors(k).repeat(3), cycle_length=2, block_length=2)
        >>> [int(k) for k in data]
        [1, 1, 2, 2, 1, 2, 3, 3, 3]
        """
        cycle, block = _count("cycle_length", cycle_length, least=1), _count("block_length", block_length, least=1)
        return Dataset._of(Interleave(self._node, _function("interleave", map_func), cycle, block))

    def window(self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False) -> Dataset:
        """Return a dataset of windows, each of which is a dataset.

        A window of tuples or of other containers has one dataset for each array.

        Args:
          size: the number of elements in a window.
          shift: the distance between the starts of consecutive windows; ``size`` by default.
          stride: the distance between consecutive elements of a window.
          drop_remainder: whether smaller windows at the end are dropped.

        Returns:
          A `Dataset` of datasets.

        Raises:
          ValueError: the length of the dataset is not known.

        >>> [[int(k) for k in window] for window in ag.Dataset.range(7).window(3, shift=2)]
        [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]
        >>> batches = ag.Dataset.range(7).window(3, shift=2, drop_remainder=True).flat_map(lambda window: window.batch(3))
        >>> [k.tolist() for k in batches]
        [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
        """
        width = _count("size", size, least=1)
        moved = width if shift is None else _count("shift", shift, least=1)
        if self._node.has_odd:
            raise ValueError(
                "window of batches of different sizes: pass drop_remainder=True to batch, or call window before batch"
            )
        node = Window(self._node, width, moved, _count("stride", stride, least=1), bool(drop_remainder), Dataset._of)
        return Dataset._of(node)

    def unbatch(self) -> Dataset:
        """Return the rows of the elements, along the first axes of their arrays.

        Returns:
          A `Dataset`.

        >>> [int(k) for k in ag.Dataset.range(5).batch(2).unbatch()]
        [0, 1, 2, 3, 4]
        """
        node = self._node
        if isinstance(node, Batch) and not isinstance(node, PaddedBatch):
            kept = node.parent.size
            if not node.drop:
                return Dataset._of(node.parent)
            if kept is not None:
                return Dataset._of(Take(node.parent, kept // node.width * node.width))
        return Dataset._of(Unbatch(node))

    # Use.

    def reduce(self, initial_state: PyTree, reduce_func: Callable[[PyTree, PyTree], PyTree]) -> PyTree:
        """Return the final state after ``reduce_func(state, element)`` has been applied to each element.

        Args:
          initial_state: an array, or a container of arrays.
          reduce_func: a function ``(state, element) -> state``. It is converted and staged, in Python as well. A
            tuple is one argument.

        Returns:
          The final state; ``initial_state`` if there are no elements.

        Raises:
          TypeError: ``reduce_func`` is not a function.
          ValueError: the dataset is infinite.

        >>> int(ag.Dataset.range(5).reduce(0, lambda total, k: total + k))
        10
        """
        if not callable(reduce_func):
            raise TypeError(f"reduce takes a function of a state and an element; got {type(reduce_func).__name__}")
        if is_endless(self._node):
            raise ValueError("reduce consumes all elements, and this dataset is infinite: pass a number to repeat(n)")

        def reduced(state: Any) -> Any:
            called = LANGUAGE.operators.call(reduce_func)
            state = jax.tree_util.tree_map(
                lambda leaf: leaf, state
            )  # containers of its own, which reduce_func may write to

            def body(element: Any) -> None:
                nonlocal state
                state = called(state, element)

            LANGUAGE.operators.for_stmt(self, body, ("state",))
            return state

        return reduced(initial_state) if is_recording() else LANGUAGE.compiled(reduced)(initial_state)

    def get_single_element(self) -> PyTree:
        """Return the element of a dataset that has exactly one.

        Returns:
          An array, or a container of arrays.

        Raises:
          ValueError: the dataset has no element, or more than one.
          StagingError: a function is being traced, and the number of elements is not known.

        >>> ag.Dataset.range(4).batch(4).get_single_element().tolist()
        [0, 1, 2, 3]
        """
        if self._node.size is None and is_recording():
            raise StagingError(
                f"{user_location()}\n  The number of elements of this dataset is not known while tracing, so it may not be one.\n"
                "  Write next(iter(dataset))."
            )
        found = list(self.take(2)) if self._node.size in (None, 1) else []
        count = self._node.size or len(found)
        if count != 1:
            raise ValueError(f"get_single_element takes a dataset of one element; this one has {count or 'none'}")
        return found[0]

    def as_numpy_iterator(self) -> Iterator[PyTree]:
        """Return an iterator over the elements as NumPy arrays and NumPy scalars.

        Returns:
          An iterator.

        Raises:
          StagingError: a function is being traced, so that elements have no values.

        >>> list(ag.Dataset.range(2).batch(1).as_numpy_iterator())
        [array([0], dtype=int32), array([1], dtype=int32)]
        """
        if is_recording():
            raise StagingError(
                f"{user_location()}\n  as_numpy_iterator is called while tracing, where elements have no values.\n"
                "  Write `for element in dataset:`."
            )
        return (jax.tree_util.tree_map(lambda leaf: np.asarray(leaf)[()], element) for element in self)

    def cardinality(self) -> int:
        """Return the number of elements.

        Returns:
          An int; `INFINITE_CARDINALITY` for an infinite dataset, `UNKNOWN_CARDINALITY` if the number is not known.

        >>> data = ag.Dataset.range(5)
        >>> data.batch(2).cardinality(), data.repeat().cardinality() == ag.Dataset.INFINITE_CARDINALITY
        (3, True)
        """
        known = self._known()._node.size
        if known is not None:
            return known
        return self.INFINITE_CARDINALITY if is_endless(self._node) else self.UNKNOWN_CARDINALITY

    @property
    def node(self) -> Node:
        """The last step of the pipeline."""
        return self._node

    @property
    def element_spec(self) -> PyTree:
        """The type of an element: a `TensorSpec` for each array, in the structure of an element.

        A size is None if it differs between batches. A window, which is a dataset itself, has a `DatasetSpec`.
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
        if streams.is_open(node):
            full = streams.open_types(node)
            return full, [node.has_odd for _ in jax.tree_util.tree_leaves(full)]

        def ask() -> int:
            nonlocal found
            if node.is_positional or node.is_stream:
                full = DATA.shapes(lambda: self._first())
                found = full, [node.has_odd for _ in jax.tree_util.tree_leaves(full)]
                return 0
            elements = Elements(node, {key: np.int32(0) for key, _ in shuffles(node)})
            full, odd = (
                DATA.shapes(lambda rows=rows: elements.element(elements.cursor.nothing(), rows))
                for rows in (elements.width, (elements.sizes or [1 if elements.sizes is None else elements.width])[0])
            )
            leaves, smaller = map(jax.tree_util.tree_leaves, (full, odd))
            found = full, [one.shape != other.shape for one, other in zip(leaves, smaller, strict=True)]
            return 0

        if is_recording():
            ask()
        else:
            LANGUAGE.compiled(ask).get_concrete_function()
        assert found is not None
        return found

    def __bool__(self) -> bool:
        """Return True: ``if dataset:`` asks whether a dataset is given, not whether it has elements."""
        return True

    def __len__(self) -> int:
        """How many elements there are. ``TypeError`` where that is not known, or without end."""
        known = self._known()._node.size
        if known is None:
            what = "repeats without end"
            if not is_endless(self._node):
                what = (
                    "comes from a generator of unknown length"
                    if self._node.is_stream
                    else "has a length that depends on its elements"
                )
            raise TypeError(f"this dataset {what}")
        return known

    def __iter__(self) -> Iterator[PyTree]:
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

    @property
    def is_for_loops(self) -> bool:
        """Whether, in a trace, only a loop of the program goes over it, which a list may come of: no stream of the host's."""
        node = self._known()._node
        return is_recording() and not node.is_stream and (not node.is_positional or node.size is None)

    def staged_iter(self) -> Iterator[PyTree]:
        """Return ``iter(self)`` as an operation of the program being recorded: each execution starts a new iteration."""
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
        """A `Function` that returns an element: from its position, or of a stream, as it came."""
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

        computed = functools.partial(_computed, node)  # in which it is found what the node's functions read

        if streams.is_open(node):  # a program for each shape would cost more than it saves
            return computed
        return LANGUAGE.compiled(computed if node.is_stream else functools.partial(_at, node))

    def _unrolled(self, words: dict[Key, Any]) -> Iterator[Any]:
        node, reading = self._node, Reading(self._node, words)
        for position in range(node.size or 0):
            odd = node.has_odd and odd_at(node, reading, np.int32(position))
            if isinstance(odd, jax.core.Tracer):
                raise StagingError(
                    f"{user_location()}\n  Which batch of this dataset is the smaller one is not known while tracing.\n"
                    "  Write `for element in dataset:`, or use batch(..., drop_remainder=True)."
                )
            yield node.rows(reading, np.int32(position), 0, bool(odd))

    def _first(self) -> Any:
        node = self._node
        words = {key: np.int32(0) for key, _ in shuffles(node)}
        if node.is_stream:
            nothing = jax.tree_util.tree_map(lambda s: jax.numpy.zeros(s.shape, s.dtype), streams.fixed_spec_of(node))
            return streams.computed(node, LANGUAGE.operators, nothing)
        return node.rows(Reading(node, words), np.int32(0), 0, False)

    # As a container of its arrays, and as what a loop runs over.

    def tree_flatten(self) -> tuple[Sequence[PyTree], Node]:
        held = all_arrays(self._node)
        arrays = tuple(tuple(part.arrays) for part in held)
        return arrays, with_arrays(self._node, iter([type(part)([]) for part in held]))

    @classmethod
    def tree_unflatten(cls, node: Node, arrays: Sequence[PyTree]) -> Dataset:
        return cls._of(with_arrays(node, iter([HeldArrays(list(part)) for part in arrays])))


@dataclass(frozen=True)
class DatasetSpec:
    """The type of an element that is itself a dataset.

    Attributes:
      element_spec: the type of its elements.
    """

    element_spec: Any


_WITHOUT_FUNCTIONS = (Slices, Numbers, Take, Skip, Shard, Repeat, Batch, Enumerate)


def _computed(node: Node, raw: Any) -> Any:
    """The element of a stream that came as ``raw``."""
    return streams.computed(node, LANGUAGE.operators, raw)


def _at(node: Node, position: Any, depths: Any, words: Any, odd: bool) -> Any:
    return node.rows(Reading(node, dict(zip(depths, words, strict=True))), position, 0, odd)


@functools.lru_cache(maxsize=_PROGRAMS_SHARED)
def _shared_element(node: Node, types: tuple[Any, ...]) -> Any:
    """A `Function` for the elements of all datasets of these steps, over arrays of these types: windows over one dataset, say."""
    return LANGUAGE.compiled(lambda data, *args: _at(data.node, *args))


def _spec_of(part: Any) -> Any:
    if not isinstance(part, Dataset):
        return TensorSpec(part.shape, part.dtype)
    arrays = jax.tree_util.tree_map(lambda s: jax.numpy.zeros(s.shape, s.dtype), part)
    return DatasetSpec(arrays.element_spec)


def loop_of(iterable: Any) -> Callable[..., None] | None:
    """Return the function that stages a loop over a dataset, or over an indexable data source; None for anything
    else.
    """
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


def _announced(spec: Any) -> Any:
    if isinstance(spec, TensorSpec | jax.ShapeDtypeStruct):
        if spec.shape is None:
            raise ValueError(f"the elements of a generator must have a known rank; got {spec}")
        shape = tuple(size if isinstance(size, int) else None for size in spec.shape)
        return streams.array_type(shape, jax.dtypes.canonicalize_dtype(spec.dtype))
    return jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(spec))


def _function(name: str, function: Any) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{name} takes a function; got {type(function).__name__}")
    return function


def _count(name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an int; got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be {least} or more; got {value}")
    return int(value)


def _is_all(count: Any) -> bool:
    return isinstance(count, int | np.integer) and count == -1


def _odd_stays_alone(size: int, batch: Batch) -> bool:
    """Whether the odd element, which is the last, ends up in a batch of its own, or is dropped."""
    return size % batch.width == 1 or (batch.drop and size % batch.width > 0)


def _open(spec: Any) -> Any:
    return jax.tree_util.tree_map(lambda s: TensorSpec((None, *s.shape[1:]), s.dtype), spec)
