"""Messages about Variables that are used where they cannot be."""

from __future__ import annotations

from typing import Any

from autograph.backends.base import LeafType
from autograph.runtime.errors import StagingError, describe_location
from autograph.runtime.tracing.locations import user_location


class VariableErrors:
    """The exceptions of a Variable, made to be raised. Needs ``_name``, ``_position`` (where it was created) and ``_type``."""

    __slots__ = ()

    _name: str | None
    _position: tuple[str, int]
    _type: LeafType

    def _label(self, *, article: str = "The") -> str:
        return (
            f"Variable {self._name!r}" if self._name else f"{article} Variable of {describe_location(*self._position)}"
        )

    def _not_ours(self, done: str) -> StagingError:
        why = (
            "the compiled program would bake in its present value"
            if done == "read"
            else "the write would happen once, while tracing"
        )
        return StagingError(
            f"{user_location()}\n  {self._label()} is {done} inside a JAX trace that autograph does not own (jax.jit, lax.scan …): "
            f"{why}.\n  Wrap the outermost function in autograph.function instead of jax.jit, or pass the value in as an argument and "
            "return the new one."
        )

    def _out_of_order(self, done: str) -> StagingError:
        return StagingError(
            f"{user_location()}\n  {self._label()} is {done} inside jax.shard_map, or at trace time (jax.ensure_compile_time_eval), in a "
            "function that is being traced.\n  Read it before, `value = variable.value`, and let the inner function use that; assign what "
            "it returns after it."
        )

    def _mapped(self) -> StagingError:
        return StagingError(
            f"{user_location()}\n  {self._label()} is written inside jax.vmap (or shard_map), where every lane would write it.\n"
            "  Return the values from the mapped function and assign once, after it."
        )

    def _differentiated(self) -> StagingError:
        return StagingError(
            f"{user_location()}\n  {self._label()} is assigned a value that is being differentiated more than once, or in a staged "
            "loop or branch inside jax.grad (jvp, vjp …): the derivative would be lost.\n  Use autograph.value_and_grad, which "
            "carries it through Variables, or assign jax.lax.stop_gradient(value)."
        )

    def _unset(self) -> ValueError:
        return ValueError(
            f"{self._label()} has no value: the call that created it failed before it ran. Create it again."
        )

    def _no_array(self, value: Any, error: Exception) -> Exception:
        return type(error)(
            f"{user_location()}\n  {self._label()} holds {self._type}, and is assigned a {type(value).__name__} of which JAX makes no "
            f"array: {error}\n  Assign an array, a number or a nested list of numbers."
        )

    def _under_way(self) -> RuntimeError:
        return RuntimeError(
            f"{self._label()} is read in the middle of a call that uses its memory again (donate_variables=True), which has been "
            "interrupted for that: by a signal's handler, say. Read it after the call."
        )

    def _lost(self) -> RuntimeError:
        return RuntimeError(
            f"{self._label()} has lost its value: the call that was to use its memory again (donate_variables=True) failed after it "
            "had begun to.\n  Assign it a value, such as that of a checkpoint; without donate_variables a call that fails changes nothing."
        )

    def _created_too_late(self, function: str) -> ValueError:
        return ValueError(
            f"{user_location()}\n  {'Variable ' + repr(self._name) if self._name else 'A Variable'} is created on calls of "
            f"{function!r} after its first. A function may create Variables on its first call only, since "
            "every call runs the program traced then.\n  Create it outside, or keep it: "
            "`if self.v is None: self.v = autograph.Variable(...)`."
        )
