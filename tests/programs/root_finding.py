"""Where a function is zero."""

from __future__ import annotations

import math

from tests.programs import program


def cubic(x):
    return x**3 - 2 * x - 5


@program((2.0, 3.0, 1e-9), (0.0, 5.0, 1e-6), (4.0, 5.0, 1e-6), bare="`middle` is bound by the loop alone")
def bisection(a, b, tol):
    """Returns the root and a status, as numerical recipes do."""
    fa = cubic(a)
    fb = cubic(b)
    if fa * fb > 0:
        return None, "no sign change"
    iterations = 0
    found = False
    while not found and iterations < 100:
        middle = (a + b) / 2
        fm = cubic(middle)
        if fm == 0 or (b - a) / 2 < tol:
            found = True
        elif fa * fm < 0:
            b = middle
            fb = fm
        else:
            a, fa = middle, fm
        iterations += 1
    if not found:
        return None, "too many iterations"
    return middle, "ok"


def kepler(anomaly, mean, eccentricity):
    return anomaly - eccentricity * math.sin(anomaly) - mean


def kepler_slope(anomaly, eccentricity):
    return 1 - eccentricity * math.cos(anomaly)


@program((1.0, 0.3), (2.5, 0.9), (0.1, 0.0), grad=True)
def newton_for_kepler(mean, eccentricity):
    guess = mean if eccentricity < 0.8 else math.pi
    step = 1.0
    count = 0
    while abs(step) > 1e-12:
        slope = kepler_slope(guess, eccentricity)
        if slope == 0:
            break
        step = kepler(guess, mean, eccentricity) / slope
        guess -= step
        count += 1
        if count >= 50:
            break
    converged = count < 50
    if converged:
        quality = 1
    else:
        quality = 0
    return guess, quality


@program((0.5, 1.0), (2.0, 3.0), (5.0, 5.0))
def secant(x0, x1):
    history = []
    f0 = math.exp(-x0) - x0
    f1 = math.exp(-x1) - x1
    for n in range(20):
        if abs(f1 - f0) < 1e-14:
            break
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        history.append(x2)
        x0, f0 = x1, f1
        x1 = x2
        f1 = math.exp(-x1) - x1
        if abs(f1) < 1e-10:
            break
    else:
        return "did not converge", len(history), 0.0
    if len(history) == 0:
        return "stuck", 0, x1
    return "converged", len(history), history[-1]


class Bracket:
    """An interval that holds a root."""

    def __init__(self, f, low, high):
        self.f = f
        self.low, self.high = low, high
        self.f_low, self.f_high = f(low), f(high)
        self.side = 0

    def width(self):
        return abs(self.high - self.low)

    def shrink(self):
        # Illinois: halve the value of the end that stays twice
        x = (self.f_low * self.high - self.f_high * self.low) / (self.f_low - self.f_high)
        fx = self.f(x)
        if fx * self.f_high > 0:
            self.high, self.f_high = x, fx
            if self.side == -1:
                self.f_low /= 2
            self.side = -1
        elif fx * self.f_low > 0:
            self.low, self.f_low = x, fx
            if self.side == +1:
                self.f_high /= 2
            self.side = +1
        else:
            self.low = self.high = x
        return x


@program((0.0, 2.0), (0.5, 1.5), grad=False)
def regula_falsi(low, high):
    bracket = Bracket(lambda x: math.cos(x) - x**3, low, high)
    x = low
    for _ in range(40):
        if bracket.width() < 1e-10:
            break
        before = x
        x = bracket.shrink()
        if abs(x - before) < 1e-12:
            break
    return x


def swap_if(condition, a, b):
    if condition:
        return b, a
    return a, b


@program((-4.0, 4.0 / 3), (-5.0, 0.0), bare="`d` is None until the second iteration")
def brent(a, b):
    def f(x):
        return (x + 3) * (x - 1) ** 2

    fa, fb = f(a), f(b)
    if abs(fa) < abs(fb):
        a, b = b, a
        fa, fb = fb, fa
    c, fc = a, fa
    d = None
    bisected = True
    steps = 0
    while fb != 0 and abs(b - a) > 1e-9:
        if fa != fc and fb != fc:
            s = a * fb * fc / ((fa - fb) * (fa - fc))
            s += b * fa * fc / ((fb - fa) * (fb - fc))
            s += c * fa * fb / ((fc - fa) * (fc - fb))
        else:
            s = b - fb * (b - a) / (fb - fa)
        low, high = swap_if((3 * a + b) / 4 > b, (3 * a + b) / 4, b)
        outside = not (low < s < high)
        if bisected:
            slow = abs(s - b) >= abs(b - c) / 2
        else:
            slow = abs(s - b) >= abs(c - d) / 2
        if outside or slow:
            s = (a + b) / 2
            bisected = True
        else:
            bisected = False
        fs = f(s)
        d, c, fc = c, b, fb
        if fa * fs < 0:
            b, fb = s, fs
        else:
            a, fa = s, fs
        if abs(fa) < abs(fb):
            a, b = b, a
            fa, fb = fb, fa
        steps += 1
        if steps > 100:
            return None
    return b


@program(([1.0, -6.0, 11.0, -6.0], 0.9), ([1.0, 0.0, -2.0, 0.0], 5.0))
def polynomial_roots(coefficients, start):
    """Horner's scheme with deflation, one root after the other."""

    def horner(cs, x):
        value, slope = cs[0], 0.0
        for c in cs[1:]:
            slope = slope * x + value
            value = value * x + c
        return value, slope

    def divide(cs, root):
        result = [cs[0]]
        for c in cs[1:-1]:
            result.append(c + root * result[-1])
        return result

    roots = []
    remaining = list(coefficients)
    while len(remaining) > 1:
        x = start
        for _ in range(200):
            value, slope = horner(remaining, x)
            if abs(value) < 1e-12:
                break
            if slope == 0:
                x = x + 0.1
                continue
            x = x - value / slope
        roots.append(x)
        remaining = divide(remaining, x)
    return sorted(roots)


@program((0.3, 2.0, 0.05), (0.0, 1.0, 0.3), bare="brackets")
def scan_for_brackets(start, stop, step):
    """All sign changes of sin(5x) on a grid, each refined."""
    f = lambda x: math.sin(5 * x)
    brackets = []
    x = start
    while x < stop:
        if f(x) * f(x + step) < 0:
            brackets.append((x, x + step))
        x += step
    roots = []
    for low, high in brackets:
        while high - low > 1e-9:
            mid = 0.5 * (low + high)
            if f(low) * f(mid) <= 0:
                high = mid
            else:
                low = mid
        roots.append(round(low, 6))
    return roots


@program((30.0,), (0.5,), (1.0,), grad=False)
def lambert_w(z):
    """Halley's method, with a guess that depends on the region."""
    if z > math.e:
        w = math.log(z) - math.log(math.log(z))
    elif z > 1:
        w = 0.5
    else:
        w = z / (1 + z)
    trail = {"last": w, "steps": 0}
    while True:
        e = math.exp(w)
        residual = w * e - z
        trail["steps"] += 1
        if abs(residual) < 1e-12 or trail["steps"] > 30:
            break
        w = w - residual / (e * (w + 1) - (w + 2) * residual / (2 * w + 2))
        trail["last"] = w
    return trail
