"""Random numbers with state: new ones at every execution of a compiled function.

`jax.random` is a function of a key. A `Generator` keeps the key in a Variable and splits it at each draw, so that a
program run twice draws twice; what is drawn depends on the seed and on how many draws came before, not on how the
program is compiled.

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
from typing import Any

import jax
import jax.numpy as jnp

from autograph.runtime.state.array_like import plain
from autograph.runtime.state.module import Module
from autograph.runtime.state.processes import is_one_of_several
from autograph.runtime.state.variables import Variable, outside_recordings

_Shape = Sequence[int]


class Generator(Module):
    """A stream of random numbers.

    Attributes:
      state: the Variable that holds the key's data.

    >>> g = Generator.from_seed(7)
    >>> [int(n) for n in g.permutation(3)] == [int(n) for n in Generator.from_seed(7).permutation(3)]
    True
    """

    def __init__(self, key: Any) -> None:
        """Start from a JAX key."""
        if not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            key = jax.random.wrap_key_data(key)
        self._kind = str(jax.random.key_impl(key))
        self.state = Variable(jax.random.key_data(key), trainable=False, name="random generator")

    @classmethod
    def from_seed(cls, seed: int) -> Generator:
        """A generator whose numbers are decided by ``seed``."""
        return cls(jax.random.key(seed))

    @classmethod
    def of_state(cls, kind: str, state: Variable) -> Generator:
        """A generator whose key's data, of this kind of keys, a Variable holds already."""
        made = cls.__new__(cls)
        made._kind, made.state = kind, state
        return made

    @property
    def kind(self) -> str:
        """The name of JAX's implementation of keys."""
        return self._kind

    def reset(self, seed: int) -> None:
        """Start again, from ``seed``."""
        self.state.assign(jax.random.key_data(jax.random.key(seed, impl=self._kind)))

    def key(self) -> Any:
        """A new JAX key, for the functions of `jax.random`."""
        with self.state._lock:
            present = jax.random.wrap_key_data(self.state.value, impl=self._kind)
            following, drawn = jax.random.split(present)
            self.state.assign(jax.random.key_data(following))
        return drawn

    def split(self, count: int = 2) -> Any:
        """An array of new JAX keys."""
        return jax.random.split(self.key(), count)

    def normal(self, shape: _Shape = (), dtype: Any = float, mean: Any = 0.0, stddev: Any = 1.0) -> Any:
        """Normally distributed numbers."""
        drawn = jax.random.normal(self.key(), shape, dtype)
        return drawn * jnp.asarray(plain(stddev), drawn.dtype) + jnp.asarray(plain(mean), drawn.dtype)

    def uniform(self, shape: _Shape = (), dtype: Any = float, minval: Any = 0, maxval: Any = None) -> Any:
        """Uniformly distributed numbers from ``minval`` up to, without, ``maxval`` (1 if it is not given).

        Integers by their dtype.
        """
        if jnp.issubdtype(dtype, jnp.integer):
            if maxval is None:
                raise ValueError("uniform integers need a maxval")
            return jax.random.randint(self.key(), shape, plain(minval), plain(maxval), dtype)
        return jax.random.uniform(self.key(), shape, dtype, plain(minval), 1.0 if maxval is None else plain(maxval))

    def bernoulli(self, p: Any = 0.5, shape: _Shape | None = None) -> Any:
        """Truth values, true with probability ``p``."""
        return jax.random.bernoulli(self.key(), plain(p), shape)

    def categorical(self, logits: Any, axis: int = -1, shape: _Shape | None = None) -> Any:
        """Indices along ``axis``, with probabilities ``softmax(logits)``."""
        return jax.random.categorical(self.key(), jnp.asarray(plain(logits)), axis, shape=shape)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        """The array ``x`` (or ``range(x)``) in random order along ``axis``."""
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
    """Decide the numbers that this module's functions draw from now on.

    >>> set_seed(1)
    >>> first = float(normal())
    >>> set_seed(1)
    >>> float(normal()) == first
    True
    """
    _DEFAULT.get(seed).reset(seed)


def get_global_generator() -> Generator:
    """The generator that this module's functions draw from."""
    return _DEFAULT.get()


def key() -> Any:
    """As `Generator.key`, of the global generator."""
    return _DEFAULT.get().key()


def split(count: int = 2) -> Any:
    """As `Generator.split`, of the global generator."""
    return _DEFAULT.get().split(count)


def normal(shape: _Shape = (), dtype: Any = float, mean: Any = 0.0, stddev: Any = 1.0) -> Any:
    """As `Generator.normal`, of the global generator."""
    return _DEFAULT.get().normal(shape, dtype, mean, stddev)


def uniform(shape: _Shape = (), dtype: Any = float, minval: Any = 0, maxval: Any = None) -> Any:
    """As `Generator.uniform`, of the global generator."""
    return _DEFAULT.get().uniform(shape, dtype, minval, maxval)


def bernoulli(p: Any = 0.5, shape: _Shape | None = None) -> Any:
    """As `Generator.bernoulli`, of the global generator."""
    return _DEFAULT.get().bernoulli(p, shape)


def categorical(logits: Any, axis: int = -1, shape: _Shape | None = None) -> Any:
    """As `Generator.categorical`, of the global generator."""
    return _DEFAULT.get().categorical(logits, axis, shape)


def permutation(x: Any, axis: int = 0) -> Any:
    """As `Generator.permutation`, of the global generator."""
    return _DEFAULT.get().permutation(x, axis)
