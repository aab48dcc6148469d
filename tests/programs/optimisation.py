"""Smallest values, found step by step."""

from __future__ import annotations

import math

import numpy as np

from tests.programs import program

GOLDEN = (math.sqrt(5) - 1) / 2


@program((0.0, 4.0), (1.0, 2.0), (-2.0, 6.0))
def golden_section(a, b):
    f = lambda x: (x - 1.7) ** 2 + math.sin(x)
    c = b - GOLDEN * (b - a)
    d = a + GOLDEN * (b - a)
    fc, fd = f(c), f(d)
    evaluations = 2
    while b - a > 1e-5:
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - GOLDEN * (b - a)
            fc = f(c)
        else:
            a, c, fc = c, d, fd
            d = a + GOLDEN * (b - a)
            fd = f(d)
        evaluations += 1
    return (a + b) / 2, evaluations


def rosenbrock(p):
    x, y = p
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def rosenbrock_gradient(p):
    x, y = p
    return [-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)]


@program(([-1.2, 1.0],), ([0.5, 0.5],), ([1.0, 1.0],))
def descent_with_backtracking(start):
    p = start
    steps = 0
    halvings = 0
    while steps < 60:
        g = rosenbrock_gradient(p)
        norm = math.sqrt(sum(c * c for c in g))
        if norm < 1e-6:
            break
        size = 1.0
        value = rosenbrock(p)
        while True:
            trial = [a - size * b for a, b in zip(p, g)]
            if rosenbrock(trial) <= value - 1e-4 * size * norm**2:
                break
            size /= 2
            halvings += 1
            if size < 1e-12:
                break
        p = trial
        steps += 1
    return p, steps, halvings


@program((np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]]),), (np.array([[5.0, 5.0], [5.5, 5.0], [5.0, 5.5]]),))
def nelder_mead(simplex):
    def f(p):
        return (p[0] - 2) ** 2 + 3 * (p[1] + 1) ** 2 + p[0] * p[1] / 5

    points = [simplex[0], simplex[1], simplex[2]]
    values = [f(p) for p in points]
    for _ in range(25):
        order = sorted(range(3), key=lambda k: values[k])
        points = [points[k] for k in order]
        values = [values[k] for k in order]
        centre = (points[0] + points[1]) / 2
        reflected = centre + (centre - points[2])
        fr = f(reflected)
        if fr < values[0]:
            expanded = centre + 2 * (centre - points[2])
            if f(expanded) < fr:
                points[2], values[2] = expanded, f(expanded)
            else:
                points[2], values[2] = reflected, fr
        elif fr < values[1]:
            points[2], values[2] = reflected, fr
        else:
            inside = (centre + points[2]) / 2
            if f(inside) < values[2]:
                points[2], values[2] = inside, f(inside)
            else:
                for k in (1, 2):
                    points[k] = (points[0] + points[k]) / 2
                    values[k] = f(points[k])
    return min(values)


class Annealer:
    def __init__(self, seed, temperature):
        self.seed = seed
        self.temperature = temperature
        self.accepted = 0

    def random(self):
        self.seed = (self.seed * 48271) % 2147483647
        return self.seed / 2147483647

    def accepts(self, change):
        if change <= 0:
            return True
        return self.random() < math.exp(-change / self.temperature)


@program((42, 2.0), (7, 0.1))
def annealing(seed, temperature):
    energy = lambda x: x * x / 10 + math.cos(3 * x)
    annealer = Annealer(seed, temperature)
    x = 4.0
    best_x, best = x, energy(x)
    for _ in range(100):
        candidate = x + annealer.random() - 0.5
        change = energy(candidate) - energy(x)
        if annealer.accepts(change):
            x = candidate
            annealer.accepted += 1
            if energy(x) < best:
                best_x, best = x, energy(x)
        annealer.temperature *= 0.97
    return best_x, best, annealer.accepted


@program(
    (np.array([[2.0, 1.0, 1.0, 0.0, 8.0], [1.0, 3.0, 0.0, 1.0, 9.0], [-3.0, -2.0, 0.0, 0.0, 0.0]]),),
    (np.array([[1.0, 1.0, 1.0, 0.0, 4.0], [1.0, -1.0, 0.0, 1.0, 2.0], [-1.0, 1.0, 0.0, 0.0, 0.0]]),),
    (np.array([[-1.0, 1.0, 1.0, 0.0, 1.0], [-1.0, -1.0, 0.0, 1.0, 2.0], [-1.0, -1.0, 0.0, 0.0, 0.0]]),),
)
def simplex(tableau):
    t = tableau.copy()
    rows, columns = t.shape
    pivots = 0
    status = "optimal"
    while pivots < 20:
        column = -1
        lowest = -1e-9
        for j in range(columns - 1):
            if t[rows - 1, j] < lowest:
                lowest = t[rows - 1, j]
                column = j
        if column == -1:
            break
        row = -1
        ratio = float("inf")
        for i in range(rows - 1):
            if t[i, column] > 1e-9:
                r = t[i, columns - 1] / t[i, column]
                if r < ratio:
                    ratio, row = r, i
        if row == -1:
            status = "unbounded"
            break
        t[row] = t[row] / t[row, column]
        for i in range(rows):
            if i != row:
                t[i] = t[i] - t[i, column] * t[row]
        pivots += 1
    return status, t[-1, -1], pivots


@program(([3.0, -2.0, 5.0], 1.0), ([0.1, 0.2, -0.3], 0.5), ([0.0, 0.0, 0.0], 2.0))
def project_onto_simplex(v, total):
    """The nearest point with parts that are not negative and have this sum."""
    u = sorted(v, reverse=True)
    cumulative = 0.0
    theta = 0.0
    count = 0
    for k, value in enumerate(u):
        cumulative += value
        candidate = (cumulative - total) / (k + 1)
        if value - candidate > 0:
            theta = candidate
            count = k + 1
    result = []
    for value in v:
        if value > theta:
            result.append(value - theta)
        else:
            result.append(0.0)
    return result, count


@program((np.array([4.0, 1.0, 3.0]), 0.5), (np.array([0.2, -0.1, 0.0]), 1.0), grad=True)
def lasso_by_coordinates(b, penalty):
    A = [[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]]
    w = [0.0, 0.0, 0.0]
    sweeps = 0
    while True:
        largest = 0.0
        for k in range(3):
            rest = b[k]
            for j in range(3):
                if j != k:
                    rest -= A[k][j] * w[j]
            if rest > penalty:
                new = (rest - penalty) / A[k][k]
            elif rest < -penalty:
                new = (rest + penalty) / A[k][k]
            else:
                new = 0.0
            largest = max(largest, abs(new - w[k]))
            w[k] = new
        sweeps += 1
        if largest < 1e-10 or sweeps >= 100:
            break
    zeros = sum(1 for value in w if value == 0)
    return w, zeros


@program((11, 0.2), (5, 0.02))
def genetic(seed, mutation):
    """Strings of eight bits that are to have alternate bits."""
    state = {"seed": seed}

    def rand(n):
        state["seed"] = (state["seed"] * 75 + 74) % 65537
        return state["seed"] % n

    def fitness(bits):
        good = 0
        for a, b in zip(bits, bits[1:]):
            if a != b:
                good += 1
        return good

    population = [[rand(2) for _ in range(8)] for _ in range(4)]
    generation = 0
    for generation in range(6):
        scores = [fitness(p) for p in population]
        order = sorted(range(4), key=lambda k: -scores[k])
        parents = [population[k] for k in order[:2]]
        cut = 1 + rand(7)
        child = [parents[0][k] if k < cut else parents[1][k] for k in range(8)]
        for k in range(8):
            if rand(1000) < 1000 * mutation:
                child[k] = 1 - child[k]
        worst = order[-1]
        population[worst] = child
    return max(fitness(p) for p in population)


@program((1.0, 1.0), (3.0, 0.5), (-2.0, 2.0))
def constrained(x, y):
    """A quadratic penalty that grows until the point is on the circle."""
    penalty = 1.0
    outer = 0
    while abs(x * x + y * y - 1) > 1e-3 and outer < 12:
        for _ in range(50):
            violation = x * x + y * y - 1
            gx = 1 + penalty * 4 * violation * x
            gy = 2 + penalty * 4 * violation * y
            step = 0.05 / penalty
            x -= max(-1.0, min(1.0, step * gx))
            y -= max(-1.0, min(1.0, step * gy))
        penalty *= 2
        outer += 1
    return x, y, outer
