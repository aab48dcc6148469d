"""Objects that converted code reads, not writes: methods, properties, `__call__`, operators, inheritance."""

import dataclasses

import jax.numpy as jnp

from tests.corpus import floats, program


class Spring:
    floor = -1.0

    def __init__(self, stiffness, damping):
        self.stiffness = stiffness
        self.damping = damping

    def force(self, position):
        if position > 0:
            return -self.stiffness * position
        return -2 * self.stiffness * position

    @property
    def overdamped(self):
        return self.damping > 2 * self.stiffness

    @staticmethod
    def limited(value):
        return value if value < 5 else 5 + 0 * value

    @classmethod
    def above_floor(cls, value):
        if value < cls.floor:
            return cls.floor + 0 * value
        return value

    def __call__(self, position, steps):
        velocity = position * 0
        for _ in range(steps):
            velocity = velocity + 0.1 * self.force(position)
            position = position + 0.1 * velocity
            if abs(velocity) > 10:
                break
        return position


class StiffSpring(Spring):
    def force(self, position):
        base = super().force(position)
        if base > 1:
            return base * 10
        return base


@dataclasses.dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def __add__(self, shift):
        return Interval(self.low + shift, self.high + shift)

    def clip(self, value):
        if value < self.low:
            return self.low
        elif value > self.high:
            return self.high
        return value


@program(examples=[(2.0,), (-2.0,)], grad="reverse")
def bound_method(x):
    spring = Spring(3.0, 0.1)
    return spring.force(x)


@program(examples=[(1.0, 4), (-1.0, 4), (1.0, 0), (1000.0, 4)])
def call_operator_with_a_loop(x, steps):
    return Spring(3.0, 0.1)(x, steps)


@program(examples=[(2.0,), (-2.0,), (-0.1,)])
def overridden_method_with_super(x):
    return StiffSpring(3.0, 0.1).force(x), Spring(3.0, 0.1).force(x)


@program(examples=[(7.0, 1.0), (1.0, 7.0), (-4.0, 1.0)])
def property_of_traced_fields(damping, stiffness):
    spring = Spring(stiffness, damping)
    if spring.overdamped:
        return damping
    return -damping


@program(examples=[(2.0,), (7.0,), (-3.0,)])
def static_and_class_methods(x):
    return Spring.limited(x), Spring.above_floor(x), StiffSpring.above_floor(x * 2)


@program(examples=[(0.5,), (-0.5,), (1.5,)])
def method_of_a_dataclass(x):
    interval = Interval(0 * x, 0 * x + 1)
    shifted = interval + 0.25
    return interval.clip(x), shifted.clip(x)


@program(examples=[(0.5, 3), (5.0, 3), (0.5, 0)])
def bound_method_kept_in_a_variable(x, n):
    force = Spring(1.0, 0.0).force
    for _ in range(n):
        x = x + force(x) / 2
    return x


@program(examples=[(floats(1, -1),), (floats(-1, 1),)])
def methods_of_arrays(x):
    if x.sum() >= 0 and x.argmax() == 0:
        return x.reshape(1, 2).mean(axis=0), x.max()
    return x.at[0].add(2.0), jnp.min(x)
