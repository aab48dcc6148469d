"""Areas under curves, and differential equations."""

from __future__ import annotations

import math

import numpy as np

from tests.programs import program


def simpson(f, a, b):
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def bump(x):
    return 1 / (1 + 25 * x * x)


@program((-1.0, 1.0, 1e-6), (0.0, 3.0, 1e-8), bare="the intervals that are left")
def adaptive_simpson_with_a_stack(a, b, tolerance):
    todo = [(a, b, tolerance)]
    total = 0.0
    pieces = 0
    while todo:
        lo, hi, tol = todo.pop()
        mid = (lo + hi) / 2
        whole = simpson(bump, lo, hi)
        left = simpson(bump, lo, mid)
        right = simpson(bump, mid, hi)
        error = abs(left + right - whole)
        if error < 15 * tol:
            total += left + right + (left + right - whole) / 15
            pieces += 1
        else:
            todo.append((lo, mid, tol / 2))
            todo.append((mid, hi, tol / 2))
    return total, pieces


def refine(f, a, b, fa, fm, fb, whole, eps):
    """Simpson's rule, calling itself where it is not good enough."""
    m = (a + b) / 2
    f_left, f_right = f((a + m) / 2), f((m + b) / 2)
    left = (m - a) / 6 * (fa + 4 * f_left + fm)
    right = (b - m) / 6 * (fm + 4 * f_right + fb)
    delta = left + right - whole
    if abs(delta) <= 15 * eps:
        return left + right + delta / 15
    return refine(f, a, m, fa, f_left, fm, left, eps / 2) + refine(f, m, b, fm, f_right, fb, right, eps / 2)


@program((0.0, 2.0), (-1.0, 0.5), bare="the depth of the recursion")
def adaptive_simpson_by_recursion(a, b):
    def f(x):
        return math.exp(-x * x) * math.sin(3 * x)

    fa, fb = f(a), f(b)
    fm = f((a + b) / 2)
    whole = (b - a) / 6 * (fa + 4 * fm + fb)
    result = refine(f, a, b, fa, fm, fb, whole, 1e-7)
    if result < 0:
        sign = "negative"
    elif result > 0:
        sign = "positive"
    else:
        sign = "zero"
    return result, sign


@program((0.0, 1.0), (1.0, 2.5))
def romberg(a, b):
    f = lambda x: math.exp(x) / (1 + x * x)
    levels = 6
    table = []
    h = b - a
    table.append([h / 2 * (f(a) + f(b))])
    answer = table[0][0]
    for n in range(1, levels):
        h = h / 2
        total = 0.0
        for k in range(1, 2**n, 2):
            total += f(a + k * h)
        row = [table[n - 1][0] / 2 + h * total]
        for m in range(1, n + 1):
            row.append(row[m - 1] + (row[m - 1] - table[n - 1][m - 1]) / (4**m - 1))
        table.append(row)
        if abs(row[-1] - table[n - 1][-1]) < 1e-9:
            answer = row[-1]
            break
        answer = row[-1]
    return answer


def pendulum(t, state):
    angle, speed = state
    return speed, -9.81 * math.sin(angle) - 0.1 * speed


def rk4_step(f, t, y, h):
    def shifted(y, k, by):
        return tuple(a + by * b for a, b in zip(y, k))

    k1 = f(t, y)
    k2 = f(t + h / 2, shifted(y, k1, h / 2))
    k3 = f(t + h / 2, shifted(y, k2, h / 2))
    k4 = f(t + h, shifted(y, k3, h))
    return tuple(yi + h / 6 * (a + 2 * b + 2 * c + d) for yi, a, b, c, d in zip(y, k1, k2, k3, k4))


@program((0.5, 0.0), (1.2, -1.0), grad=True)
def swings_of_a_pendulum(angle, speed):
    state = (angle, speed)
    t, h = 0.0, 0.05
    crossings = 0
    highest = abs(angle)
    while t < 3.0:
        before = state
        state = rk4_step(pendulum, t, state, h)
        if before[0] * state[0] < 0:
            crossings += 1
        highest = max(highest, abs(state[0]))
        t += h
    return state[0], state[1], highest, crossings


class Stepper:
    """Heun's method with a step that adapts."""

    def __init__(self, f, y, h=0.1, tol=1e-4):
        self.f, self.y, self.h, self.tol = f, y, h, tol
        self.t = 0.0
        self.accepted = self.rejected = 0

    def step(self, end):
        h = min(self.h, end - self.t)
        k1 = self.f(self.t, self.y)
        euler = self.y + h * k1
        heun = self.y + h / 2 * (k1 + self.f(self.t + h, euler))
        error = abs(heun - euler)
        if error <= self.tol:
            self.t += h
            self.y = heun
            self.accepted += 1
        else:
            self.rejected += 1
        factor = 2.0 if error == 0 else 0.9 * math.sqrt(self.tol / error)
        self.h = h * min(2.0, max(0.3, factor))


@program((1.0, 1.0), (0.2, 2.0))
def adaptive_heun(y0, end):
    stepper = Stepper(lambda t, y: y * (1 - y) + math.sin(t), y0)
    while stepper.t < end - 1e-12:
        stepper.step(end)
        if stepper.accepted + stepper.rejected > 1000:
            break
    return stepper.y, stepper.accepted, stepper.rejected


@program(
    ([0.0, 0.5, 1.0, 2.0, 3.0], [1.0, 2.0, 0.0, -1.0, 4.0]),
    ([0.0, 1.0, 1.0, 2.0, 4.0], [0.0, 1.0, 1.0, 3.0, 3.0]),
    grad=True,
)
def trapezoids_above_zero(xs, ys):
    """The area between the positive part of a broken line and the axis."""
    area = 0.0
    previous = None
    for x, y in zip(xs, ys):
        if previous is not None:
            x0, y0 = previous
            width = x - x0
            if y0 >= 0 and y >= 0:
                area += width * (y0 + y) / 2
            elif y0 < 0 and y < 0:
                pass
            elif y0 >= 0 > y:
                zero = width * y0 / (y0 - y)
                area += zero * y0 / 2
            else:
                zero = width * -y0 / (y - y0)
                area += (width - zero) * y / 2
        previous = x, y
    return area


def lcg(seed):
    """Numbers of a generator as in old C libraries."""
    while True:
        seed = (1103515245 * seed + 12345) % 2**31
        yield seed / 2**31


@program((7, 50), (123, 20))
def monte_carlo_pi(seed, throws):
    hits = 0
    count = 0
    x = None
    for u in lcg(seed):
        if x is None:
            x = u
            continue
        if x * x + u * u <= 1:
            hits += 1
        count += 1
        x = None
        if count == throws:
            break
    estimate = 4 * hits / throws
    if abs(estimate - math.pi) < 0.2:
        return estimate, True
    return estimate, False


@program((np.array([1.0, 0.0]), 0.3, 8), (np.array([0.8, 0.6]), 0.1, 12), static=("steps",), grad=False)
def leapfrog_orbit(position, v, steps):
    velocity = np.array([0.0, 1.0]) * (1 + v)
    dt = 0.1
    energies = []

    def acceleration(p):
        r = np.sqrt(np.sum(p**2))
        if r < 0.1:
            r = 0.1
        return -p / r**3

    half = velocity + acceleration(position) * dt / 2
    for i in range(steps):
        position = position + half * dt
        a = acceleration(position)
        velocity = half + a * dt / 2
        half = half + a * dt
        energies.append(0.5 * np.dot(velocity, velocity) - 1 / np.linalg.norm(position))
    drift = max(energies) - min(energies)
    if energies[-1] < 0:
        kind = "bound"
    else:
        kind = "free"
    return position, drift, kind
