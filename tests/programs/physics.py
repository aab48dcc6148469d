"""Bodies, heat, light and circuits."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace

import numpy as np

from tests.programs import program

G = 9.81


@program((10.0, 0.8), (3.0, 0.5), (1.0, 0.99))
def bouncing_ball(height, restitution):
    position, velocity = height, 0.0
    dt = 0.01
    bounces = 0
    t = 0.0
    highest_after = 0.0
    while bounces < 3 and t < 10:
        velocity -= G * dt
        position += velocity * dt
        if position < 0:
            position = -position
            velocity = -velocity * restitution
            bounces += 1
            highest_after = 0.0
        if bounces > 0 and position > highest_after:
            highest_after = position
        t += dt
    return bounces, highest_after, t


@program((20.0, 0.7, 0.01), (30.0, 1.2, 0.05), grad=False)
def shot_with_drag(speed, angle, drag):
    """Where a ball hits the ground: the last step is cut in proportion."""
    x, y = 0.0, 1.5
    vx, vy = speed * math.cos(angle), speed * math.sin(angle)
    dt = 0.02
    apex = y
    while True:
        v = math.hypot(vx, vy)
        ax, ay = -drag * v * vx, -G - drag * v * vy
        x_new, y_new = x + vx * dt, y + vy * dt
        vx, vy = vx + ax * dt, vy + ay * dt
        if y_new > apex:
            apex = y_new
        if y_new <= 0:
            part = y / (y - y_new)
            x = x + part * (x_new - x)
            break
        x, y = x_new, y_new
    return x, apex


@dataclass(frozen=True)
class Body:
    x: float
    v: float
    mass: float

    def moved(self, dt):
        return replace(self, x=self.x + self.v * dt)


def collide(a, b):
    total = a.mass + b.mass
    va = (a.v * (a.mass - b.mass) + 2 * b.mass * b.v) / total
    vb = (b.v * (b.mass - a.mass) + 2 * a.mass * a.v) / total
    return replace(a, v=va), replace(b, v=vb)


@program((1.0, 4.0), (1.0, 1.0), (3.0, 10.0))
def two_blocks_and_a_wall(light, heavy):
    a = Body(x=1.0, v=0.0, mass=light)
    b = Body(x=2.0, v=-1.0, mass=heavy)
    collisions = 0
    for step in range(400):
        a, b = a.moved(0.01), b.moved(0.01)
        if a.x > b.x:
            a, b = collide(a, b)
            collisions += 1
        if a.x < 0 and a.v < 0:
            a = replace(a, v=-a.v)
            collisions += 1
    energy = 0.5 * a.mass * a.v**2 + 0.5 * b.mass * b.v**2
    return collisions, energy


@program((100.0, 0.0, 0.4), (20.0, 50.0, 0.6), (0.0, 0.0, 0.1))
def heat_in_a_rod(left, right, alpha):
    n = 12
    if alpha > 0.5:
        alpha = 0.5  # or it is unstable
    u = [20.0] * n
    u[0], u[-1] = left, right
    steps = 0
    while steps < 300:
        new = u[:]
        change = 0.0
        for k in range(1, n - 1):
            new[k] = u[k] + alpha * (u[k - 1] - 2 * u[k] + u[k + 1])
            change = max(change, abs(new[k] - u[k]))
        u = new
        steps += 1
        if change < 0.01:
            break
    hottest = u.index(max(u))
    return u[n // 2], hottest, steps


@program((1.0, 1.5, 0.5), (1.5, 1.0, 0.5), (1.5, 1.0, 0.9), grad=False)
def light_through_layers(n1, n2, angle):
    indices = [n1, n2, 1.3, 1.0]
    current = angle
    path = []
    reflected = False
    for above, below in zip(indices[:-1], indices[1:]):
        s = above / below * math.sin(current)
        if abs(s) > 1:
            reflected = True
            break
        current = math.asin(s)
        path.append(current)
    if reflected:
        return "total reflection", len(path), 0.0
    return "through", len(path), current


@program((50.0, 1e-3, 1e-6, 1000.0), (10.0, 0.1, 1e-5, 100.0), (0.5, 1e-2, 1e-4, 160.0))
def series_circuit(resistance, inductance, capacity, frequency):
    """The impedance of R, L and C in a row; where it resonates, by halving the range."""

    def impedance(f):
        w = 2 * math.pi * f
        return resistance + 1j * w * inductance + 1 / (1j * w * capacity)

    z = impedance(frequency)
    if z.imag > 0:
        kind = "inductive"
    else:
        kind = "capacitive"
    low, high = 1.0, 1e6
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        if impedance(middle).imag > 0:
            high = middle
        else:
            low = middle
    quality = math.sqrt(inductance / capacity) / resistance
    return abs(z), kind, low, quality > 1


@program(
    (np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]]), np.array([1.0, 2.0, 0.5])),
    (np.array([[0.0, 0.0], [3.0, 0.0], [-2.0, 1.5]]), np.array([5.0, 1.0, 1.0])),
)
def three_bodies(positions, masses):
    velocities = np.zeros((3, 2))
    closest = float("inf")
    dt = 0.05
    for _ in range(20):
        forces = np.zeros((3, 2))
        for i in range(3):
            for j in range(3):
                if i == j:
                    continue
                r = positions[j] - positions[i]
                d = np.sqrt(r[0] ** 2 + r[1] ** 2)
                if d < closest:
                    closest = d
                soft = d if d > 0.2 else 0.2
                forces[i] += masses[j] * r / soft**3
        velocities = velocities + forces * dt
        positions = positions + velocities * dt
    momentum = (masses[:, None] * velocities).sum(axis=0)
    return positions, closest, momentum


@program((2.0, 300.0), (12.0, 290.0), (0.1, 100.0))
def water(pressure, temperature):
    """The phase of a substance with made-up boundaries, warmed in steps until it boils."""

    def phase(p, t):
        if t < 273 - 0.5 * p:
            return "solid"
        if p > 10 and t > 600:
            return "supercritical"
        boiling = 373 + 20 * math.log(p)
        return "liquid" if t < boiling else "gas"

    first = phase(pressure, temperature)
    changes = 0
    current = first
    t = temperature
    while current != "gas" and current != "supercritical" and t < 1000:
        t += 10
        following = phase(pressure, t)
        if following != current:
            changes += 1
            current = following
    return first, current, changes, t


@program(
    (np.array([[1, 1, -1, 1], [-1, -1, 1, 1], [1, -1, 1, -1], [1, 1, 1, 1]]), 3, 1.5),
    (np.array([[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]), 11, 5.0),
)
def ising(spins, seed, temperature):
    n = 4
    spins = spins.copy()
    flips = 0
    for sweep in range(40):
        seed = (seed * 16807) % 2147483647
        i, j = (seed // 7) % n, (seed // 101) % n
        s = spins[i, j]
        around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
        cost = 2 * s * around
        seed = (seed * 16807) % 2147483647
        if cost <= 0 or seed / 2147483647 < math.exp(-cost / temperature):
            spins[i, j] = -s
            flips += 1
    return flips, int(np.sum(spins)), spins


@program((0.5 + 0.5j,), (-0.8 + 0.2j,), (2.0 + 0j,), batch="complex numbers that begin as real ones")
def newton_fractal(z):
    """Which root of z**3 - 1 Newton's method finds, and how soon."""
    roots = [1, cmath.exp(2j * math.pi / 3), cmath.exp(-2j * math.pi / 3)]
    for n in range(50):
        dz = 3 * z * z
        if abs(dz) < 1e-12:
            return -1, n
        z = z - (z**3 - 1) / dz
        for k, root in enumerate(roots):
            if abs(z - root) < 1e-6:
                return k, n
    return None, 50


def swept(rows, diagonal, off):
    """Solve a tridiagonal system for each row, with two work arrays, by a sweep in each direction."""
    n = rows.shape[0]
    p = np.zeros((n, n), dtype=np.float32)
    q = np.zeros((n, n), dtype=np.float32)
    new = rows.copy()
    q[:, 0] = 1.0
    for j in range(1, n - 1):
        p[:, j] = -off / (off * p[:, j - 1] + diagonal)
        q[:, j] = (rows[:, j] - off * q[:, j - 1]) / (off * p[:, j - 1] + diagonal)
    for j in range(n - 2, 0, -1):
        new[:, j] = p[:, j] * new[:, j + 1] + q[:, j]
    for half in (p, q):
        half[:] = 0.0
    return new


@program((np.linspace(0, 1, 16, dtype=np.float32).reshape(4, 4),), (np.eye(4, dtype=np.float32),), grad=True)
def diffusion_by_alternating_directions(u):
    """Heat in a plate: the work arrays hold numbers that do not depend on the plate, and are used again."""
    weights = np.ones(4, dtype=np.float32)
    for step in range(2):
        u = swept(u, 2.0, -0.5)
        u = swept(u.T, 2.5, -0.75).T * weights
        weights *= 0.5
        weights[step] = 1.0
    hottest = 0.0
    for row in u:
        if row.sum() > hottest:
            hottest = row.sum()
    return u.sum() + hottest
