"""`match`: values, guards, sequences, mappings, classes."""

import collections

from tests.corpus import program

Circle = collections.namedtuple("Circle", ["radius"])
Box = collections.namedtuple("Box", ["width", "height"])


@program(examples=[(0, 5.0), (1, 5.0), (2, 5.0), (7, 5.0)])
def match_values(code, x):
    match code:
        case 0:
            return x
        case 1 | 2:
            x = x * 2
        case _:
            x = -x
    return x + 1


@program(examples=[(3.0,), (-3.0,), (0.0,)])
def match_with_guards(x):
    match x:
        case value if value > 0:
            result = value * 2
        case value if value < 0:
            result = -value
        case _:
            result = x + 100
    return result


@program(examples=[((1.0, 2.0),), ((0.0, 2.0),)])
def match_a_sequence(pair):
    match pair:
        case (0, y):
            return y
        case (x, y):
            return x + y


@program(examples=[({"kind": 1.0, "x": 2.0},), ({"x": -2.0},)])
def match_a_mapping(config):
    match config:
        case {"kind": scale, "x": x}:
            return scale * x
        case {"x": x}:
            return x if x > 0 else -x


@program(examples=[(Circle(2.0),), (Box(2.0, 3.0),)], vmap=False)
def match_a_class(shape):
    match shape:
        case Circle(radius=r):
            return r * r * 3
        case Box(width=w, height=h):
            return w * h if w > h else h * h
