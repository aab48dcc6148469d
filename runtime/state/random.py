"""Stateful random numbers: each execution of a compiled function draws new ones.

The functions of `jax.random` take a key. A `Generator` stores its key in a Variable and splits it at each draw, so a
program that runs twice draws different numbers. The numbers depend on the seed and on the number of earlier draws, not
on how the program is compiled.

>>> import autograph as ag
>>> generator = ag.random.Generator.from_seed(0)
>>> draw = ag.function(lambda: generator.normal())
>>> float(draw()) == float(draw())
False
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from autograph.runtime.state.array_operators import plain
from autograph.runtime.state.module import Module
from autograph.runtime.state.processes import is_one_of_several
from autograph.runtime.state.variables import Variable, outside_recordings
from autograph.runtime.typing import ArrayLike, DTypeLike

_Shape = Sequence[int]


def _checked(shape: _Shape) -> _Shape:
    """The shape, which JAX does not check."""
    for size in shape if isinstance(shape, tuple | list) else ():
        if isinstance(size, int) and size < 0:
            raise ValueError(f"the shape of random numbers has no negative sizes; got {shape}")
    return shape


class Generator(Module):
    """A stream of random numbers whose state is a Variable.

    Each execution of a compiled function draws new numbers. `Generator.from_seed` creates one.

    Args:
      key: the JAX key that the stream starts from.

    Attributes:
      state: the Variable that holds the data of the key.

    >>> g = ag.random.Generator.from_seed(7)
    >>> [int(n) for n in g.permutation(3)] == [int(n) for n in ag.random.Generator.from_seed(7).permutation(3)]
    True
    """

    def __init__(self, key: jax.Array) -> None:
        """Start from a JAX key."""
        if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            key = jax.random.wrap_key_data(key)
        self._kind = str(jax.random.key_impl(key))
        self.state = Variable(jax.random.key_data(key), trainable=False, name="random generator")

    @classmethod
    def from_seed(cls, seed: int) -> Generator:
        """Return a generator whose numbers are determined by ``seed``.

        Args:
          seed: an int.

        Returns:
          A `Generator`.

        >>> ag.random.Generator.from_seed(7).normal((2, 3)).shape
        (2, 3)
        """
        return cls(jax.random.key(seed))

    @classmethod
    def of_state(cls, kind: str, state: Variable) -> Generator:
        """Return a generator whose state is an existing Variable.

        Args:
          kind: the name of the implementation of keys, such as ``"threefry2x32"``.
          state: the Variable that holds the data of a key of that kind.

        Returns:
          A `Generator`.

        >>> g = ag.random.Generator.from_seed(7)
        >>> again = ag.random.Generator.of_state(g.kind, g.state)
        >>> again.state is g.state
        True
        """
        made = cls.__new__(cls)
        made._kind, made.state = kind, state
        return made

    @property
    def kind(self) -> str:
        """The name of JAX's implementation of the key, such as ``"threefry2x32"``."""
        return self._kind

    def reset(self, seed: int) -> None:
        """Restart the stream.

        Args:
          seed: an int.

        >>> g = ag.random.Generator.from_seed(7)
        >>> first = float(g.normal())
        >>> g.reset(7)
        >>> float(g.normal()) == first
        True
        """
        self.state.assign(jax.random.key_data(jax.random.key(seed, impl=self._kind)))

    def key(self) -> jax.Array:
        """Return a new JAX key, for the functions of `jax.random`.

        Returns:
          A scalar key array.

        >>> ag.random.Generator.from_seed(7).key().shape
        ()
        """
        with self.state._lock:
            present = jax.random.wrap_key_data(self.state.value, impl=self._kind)
            following, drawn = jax.random.split(present)
            self.state.assign(jax.random.key_data(following))
        return drawn

    def split(self, count: int = 2) -> jax.Array:
        """Return new JAX keys.

        Args:
          count: the number of keys.

        Returns:
          A key array of shape ``(count,)``.

        Raises:
          ValueError: the number is negative.

        >>> ag.random.Generator.from_seed(7).split(3).shape
        (3,)
        """
        return jax.random.split(self.key(), *_checked((count,)))

    def normal(
        self, shape: _Shape = (), dtype: DTypeLike = float, mean: ArrayLike = 0.0, stddev: ArrayLike = 1.0
    ) -> jax.Array:
        """Draw normally distributed numbers.

        Args:
          shape: the shape of the result.
          dtype: a floating-point dtype.
          mean: the mean, which broadcasts to ``shape``.
          stddev: the standard deviation, which broadcasts to ``shape``.

        Returns:
          An array of shape ``shape``.

        >>> ag.random.Generator.from_seed(7).normal((2, 3), mean=10.0).shape
        (2, 3)
        """
        drawn = jax.random.normal(self.key(), _checked(shape), dtype)
        return drawn * jnp.asarray(plain(stddev), drawn.dtype) + jnp.asarray(plain(mean), drawn.dtype)

    def uniform(
        self, shape: _Shape = (), dtype: DTypeLike = float, minval: ArrayLike = 0, maxval: ArrayLike | None = None
    ) -> jax.Array:
        """Draw uniformly distributed numbers from the half-open interval ``[minval, maxval)``.

        Args:
          shape: the shape of the result.
          dtype: a floating-point or an integer dtype.
          minval: the lower bound.
          maxval: the upper bound; 1 by default. An integer dtype needs one.

        Returns:
          An array of shape ``shape``.

        Raises:
          ValueError: the dtype is an integer type, and ``maxval`` is None.

        >>> dice = ag.random.Generator.from_seed(7).uniform((100,), int, minval=1, maxval=7)
        >>> int(dice.min()), int(dice.max())
        (1, 6)
        """
        if jnp.issubdtype(dtype, jnp.integer):
            if maxval is None:
                raise ValueError("uniform integers need a maxval")
            return jax.random.randint(self.key(), _checked(shape), plain(minval), plain(maxval), dtype)
        return jax.random.uniform(
            self.key(), _checked(shape), dtype, plain(minval), 1.0 if maxval is None else plain(maxval)
        )

    def bernoulli(self, p: ArrayLike = 0.5, shape: _Shape | None = None) -> jax.Array:
        """Draw bools that are true with probability ``p``.

        Args:
          p: a number or an array.
          shape: the shape of the result; by default that of ``p``.

        Returns:
          A bool array of shape ``shape``.

        >>> ag.random.Generator.from_seed(7).bernoulli(0.5, (4,)).dtype
        dtype('bool')
        """
        return jax.random.bernoulli(self.key(), plain(p), shape)

    def categorical(self, logits: ArrayLike, axis: int = -1, shape: _Shape | None = None) -> jax.Array:
        """Draw indices along ``axis`` with the probabilities ``softmax(logits, axis)``.

        Args:
          logits: an array of unnormalized log probabilities.
          axis: the axis of the categories.
          shape: the shape of the result; by default that of ``logits`` without ``axis``.

        Returns:
          An int32 array of shape ``shape``.

        >>> int(ag.random.Generator.from_seed(7).categorical([0.0, 100.0]))
        1
        """
        return jax.random.categorical(self.key(), jnp.asarray(plain(logits)), axis, shape=shape)

    def permutation(self, x: ArrayLike, axis: int = 0) -> jax.Array:
        """Return ``x`` in random order along ``axis``.

        Args:
          x: an array; an int means ``range(x)``.
          axis: the axis to permute.

        Returns:
          An array of the shape and dtype of ``x``.

        >>> sorted(ag.random.Generator.from_seed(7).permutation(3).tolist())
        [0, 1, 2]
        """
        return jax.random.permutation(self.key(), plain(x), axis)


class _Default:
    """The generator of this module's functions, made when it is first used.

    Seeded by the system unless `set_seed` did.
    """

    def __init__(self) -> None:
        self._generator: Generator | None = None
        self._lock = threading.Lock()

    def get(self, seed: int | None = None) -> Generator:
        with self._lock:
            if self._generator is None:
                if seed is None and is_one_of_several():
                    raise RuntimeError(
                        "autograph.random has no seed, and the numbers of this job's processes would differ. Call "
                        "autograph.random.set_seed(seed) first, in every process with the same number."
                    )
                with outside_recordings():
                    first = int.from_bytes(os.urandom(4), "big") if seed is None else seed
                    self._generator = Generator.from_seed(first)
            return self._generator


_DEFAULT = _Default()


def set_seed(seed: int) -> None:
    """Seed the global generator, which the functions of this module draw from.

    Args:
      seed: an int.

    >>> ag.random.set_seed(1)
    >>> first = float(ag.random.normal())
    >>> ag.random.set_seed(1)
    >>> float(ag.random.normal()) == first
    True
    """
    _DEFAULT.get(seed).reset(seed)


def get_global_generator() -> Generator:
    """Return the generator that the functions of this module draw from.

    Returns:
      A `Generator`.

    >>> type(ag.random.get_global_generator()).__name__
    'Generator'
    """
    return _DEFAULT.get()


def key() -> jax.Array:
    """Return a new JAX key from the global generator. See `Generator.key`.

    Returns:
      A scalar key array.

    >>> ag.random.key().shape
    ()
    """
    return _DEFAULT.get().key()


def split(count: int = 2) -> jax.Array:
    """Return new JAX keys from the global generator. See `Generator.split`.

    Args:
      count: the number of keys.

    Returns:
      A key array of shape ``(count,)``.

    >>> ag.random.split(3).shape
    (3,)
    """
    return _DEFAULT.get().split(count)


def normal(shape: _Shape = (), dtype: DTypeLike = float, mean: ArrayLike = 0.0, stddev: ArrayLike = 1.0) -> jax.Array:
    """Draw normally distributed numbers from the global generator. See `Generator.normal`.

    Args:
      shape: the shape of the result.
      dtype: a floating-point dtype.
      mean: the mean.
      stddev: the standard deviation.

    Returns:
      An array of shape ``shape``.

    >>> ag.random.normal((2, 3)).shape
    (2, 3)
    """
    return _DEFAULT.get().normal(shape, dtype, mean, stddev)


def uniform(
    shape: _Shape = (), dtype: DTypeLike = float, minval: ArrayLike = 0, maxval: ArrayLike | None = None
) -> jax.Array:
    """Draw uniformly distributed numbers from the global generator. See `Generator.uniform`.

    Args:
      shape: the shape of the result.
      dtype: a floating-point or an integer dtype.
      minval: the lower bound.
      maxval: the upper bound, exclusive; 1 by default.

    Returns:
      An array of shape ``shape``.

    Raises:
      ValueError: the dtype is an integer type, and ``maxval`` is None.

    >>> bool(ag.random.uniform(minval=2.0, maxval=3.0) < 3)
    True
    """
    return _DEFAULT.get().uniform(shape, dtype, minval, maxval)


def bernoulli(p: ArrayLike = 0.5, shape: _Shape | None = None) -> jax.Array:
    """Draw bools from the global generator. See `Generator.bernoulli`.

    Args:
      p: the probability of True.
      shape: the shape of the result; by default that of ``p``.

    Returns:
      A bool array of shape ``shape``.

    >>> ag.random.bernoulli(0.5, (4,)).dtype
    dtype('bool')
    """
    return _DEFAULT.get().bernoulli(p, shape)


def categorical(logits: ArrayLike, axis: int = -1, shape: _Shape | None = None) -> jax.Array:
    """Draw indices from the global generator. See `Generator.categorical`.

    Args:
      logits: an array of unnormalized log probabilities.
      axis: the axis of the categories.
      shape: the shape of the result; by default that of ``logits`` without ``axis``.

    Returns:
      An int32 array of shape ``shape``.

    >>> import jax.numpy as jnp
    >>> ag.random.categorical(jnp.zeros((5, 3))).shape
    (5,)
    """
    return _DEFAULT.get().categorical(logits, axis, shape)


def permutation(x: ArrayLike, axis: int = 0) -> jax.Array:
    """Return ``x`` in random order, drawn from the global generator. See `Generator.permutation`.

    Args:
      x: an array; an int means ``range(x)``.
      axis: the axis to permute.

    Returns:
      An array of the shape and dtype of ``x``.

    >>> sorted(ag.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    return _DEFAULT.get().permutation(x, axis)
