"""Points, lines and shapes."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from tests.programs import program

Point = namedtuple("Point", ["x", "y"])


def cross(o, a, b):
    return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x)


@program(
    (np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 2.0]]),),
    (np.array([[0.0, 0.0], [4.0, 1.0], [5.0, 5.0], [1.0, 4.0], [2.0, 2.0]]),),
)
def convex_hull(coordinates):
    """Andrew's monotone chain; the area of what it encloses."""
    points = sorted((x, y) for x, y in coordinates)
    points = [Point(x, y) for x, y in points]
    lower = []
    for p in points:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(points):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    hull = lower[:-1] + upper[:-1]
    area = 0.0
    for k in range(len(hull)):
        a = hull[k]
        b = hull[(k + 1) % len(hull)]
        area += a.x * b.y - b.x * a.y
    return len(hull), area / 2


SQUARE = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (2.0, 1.0), (0.0, 3.0)]


@program((1.0, 1.0), (2.0, 2.0), (5.0, 1.0), (0.5, 2.0))
def inside_polygon(x, y):
    inside = False
    j = len(SQUARE) - 1
    nearest = float("inf")
    for i in range(len(SQUARE)):
        xi, yi = SQUARE[i]
        xj, yj = SQUARE[j]
        if (yi > y) != (yj > y):
            at = (xj - xi) * (y - yi) / (yj - yi) + xi
            if x < at:
                inside = not inside
        nearest = min(nearest, math.hypot(x - xi, y - yi))
        j = i
    return inside, nearest


class Vector:
    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k, self.z * k)

    __rmul__ = __mul__

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def length(self):
        return math.sqrt(self.dot(self))

    def unit(self):
        n = self.length()
        return self if n == 0 else self * (1 / n)


SPHERES = [(Vector(0.0, 0.0, 5.0), 1.0, 0.3), (Vector(1.5, 0.0, 6.0), 1.0, 0.9), (Vector(-1.0, 1.0, 4.0), 0.5, 0.6)]


@program((0.0, 0.0), (0.2, 0.0), (-0.2, 0.25), (1.0, 1.0))
def ray_tracer(u, v):
    origin = Vector(0.0, 0.0, 0.0)
    direction = Vector(u, v, 1.0).unit()
    light = Vector(1.0, 1.0, -1.0).unit()
    closest = math.inf
    shade = 0.0
    hit = -1
    for k, (centre, radius, colour) in enumerate(SPHERES):
        to = centre - origin
        along = to.dot(direction)
        d2 = to.dot(to) - along * along
        if along < 0 or d2 > radius * radius:
            continue
        t = along - math.sqrt(radius * radius - d2)
        if t < closest:
            closest = t
            hit = k
            normal = (origin + t * direction - centre).unit()
            shade = colour * max(0.1, normal.dot(light))
    return hit, shade


@program(
    (0.0, 0.0, 4.0, 4.0, 0.0, 4.0, 4.0, 0.0),
    (0.0, 0.0, 1.0, 1.0, 5.0, 0.0, 6.0, 0.0),
    (0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0),
)
def segments_meet(ax, ay, bx, by, cx, cy, dx, dy):
    """Where two segments cross; None where they do not."""
    rx, ry = bx - ax, by - ay
    sx, sy = dx - cx, dy - cy
    denominator = rx * sy - ry * sx
    if denominator == 0:
        return None
    t = ((cx - ax) * sy - (cy - ay) * sx) / denominator
    u = ((cx - ax) * ry - (cy - ay) * rx) / denominator
    if t < 0 or t > 1:
        return None
    if not (0 <= u <= 1):
        return None
    return ax + t * rx, ay + t * ry


@program(
    (np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 0.5], [4.5, 5.0], [9.0, 1.0]]),),
    (np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [3.1, 3.0]]),),
)
def closest_pair(points):
    best = None
    pair = (-1, -1)
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            d = np.sqrt(((points[i] - points[j]) ** 2).sum())
            if best is None or d < best:
                best = d
                pair = (i, j)
    first, second = pair
    middle = (points[first] + points[second]) / 2
    return best, pair, middle


@program(
    ([(0.0, 0.0, 2.0, 2.0), (1.0, 1.0, 3.0, 3.0), (5.0, 5.0, 6.0, 6.0)],),
    ([(0.0, 0.0, 1.0, 1.0), (1.0, 0.0, 2.0, 1.0), (0.0, 1.0, 1.0, 2.0)],),
)
def rectangles(boxes):
    """How many pairs overlap, the area that they share, and the box around all."""
    overlaps = 0
    shared = 0.0
    for k, (x0, y0, x1, y1) in enumerate(boxes):
        for u0, v0, u1, v1 in boxes[k + 1 :]:
            width = min(x1, u1) - max(x0, u0)
            height = min(y1, v1) - max(y0, v0)
            if width > 0 and height > 0:
                overlaps += 1
                shared += width * height
    around = (
        min(b[0] for b in boxes),
        min(b[1] for b in boxes),
        max(b[2] for b in boxes),
        max(b[3] for b in boxes),
    )
    return overlaps, shared, around


@program((3.0, 4.0, 5.0), (2.0, 2.0, 2.0), (1.0, 1.0, 5.0), (4.0, 4.0, 7.0), bare="no triangle")
def triangle(a, b, c):
    if a <= 0 or b <= 0 or c <= 0:
        raise ValueError("sides are positive")
    a, b, c = sorted([a, b, c])
    if a + b <= c:
        raise ValueError("no triangle")
    if a == b == c:
        kind = "equilateral"
    elif a == b or b == c:
        kind = "isosceles"
    else:
        kind = "scalene"
    corner = a * a + b * b - c * c
    if abs(corner) < 1e-9:
        angle = "right"
    elif corner > 0:
        angle = "acute"
    else:
        angle = "obtuse"
    s = (a + b + c) / 2
    return kind, angle, math.sqrt(s * (s - a) * (s - b) * (s - c))


@program(
    ([0.0, 1.0, 3.0, 4.0], [0.0, 2.0, 2.0, 0.0], 0.5), ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0], 0.25), grad=True
)
def bezier(xs, ys, t):
    """De Casteljau, and the length of the curve up to t by chords."""

    def at(t):
        points = list(zip(xs, ys))
        while len(points) > 1:
            points = [((1 - t) * x0 + t * x1, (1 - t) * y0 + t * y1) for (x0, y0), (x1, y1) in zip(points, points[1:])]
        return points[0]

    length = 0.0
    previous = at(0.0)
    for k in range(1, 9):
        current = at(t * k / 8)
        length += math.hypot(current[0] - previous[0], current[1] - previous[1])
        previous = current
    return previous[0], previous[1], length
