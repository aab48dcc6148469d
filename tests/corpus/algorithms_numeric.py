"""Textbook numerical methods, as they are written in plain Python."""

import jax.numpy as jnp

from tests.corpus import floats, program


@program(examples=[(2.0, 1.0), (100.0, 1.0), (0.25, 0.5)], grad="forward")
def newton_square_root(a, x):
    for _ in range(100):
        dx = (x * x - a) / (2 * x)
        x = x - dx
        if abs(dx) < 1e-5:
            break
    return x


@program(examples=[(0.0, 2.0), (0.0, 1.4142), (1.5, 9.0), (-1.0, 1.0)])
def bisection(low, high):
    """The root of x**2 - 2, or NaN where the ends do not enclose one."""

    def f(x):
        return x * x - 2

    if f(low) * f(high) > 0:
        return jnp.nan * low
    while high - low > 1e-3:
        middle = (low + high) / 2
        if f(low) * f(middle) < 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@program(examples=[(-1.0, 3.0), (-1.0, 2.4), (5.0, 6.0), (-3.0, 1.5)])
def bisection_of_a_line(low, high):
    value = low - 1
    if value * (high - 1) > 0:
        return -1.0
    rounds = 0
    while rounds < 6:
        middle = (low + high) / 2
        value = middle - 1
        if value == 0:
            return middle
        if value < 0:
            low = middle
        else:
            high = middle
        rounds += 1
    return low


@program(examples=[(0.5, 1.0), (3.0, 5.0)], grad="forward")
def secant(x0, x1):
    f0, f1 = x0**3 - 2, x1**3 - 2
    for _ in range(50):
        if abs(f1 - f0) < 1e-6:
            break
        x2 = x1 - f1 * (x1 - x0) / (f1 - f0)
        x0, f0 = x1, f1
        x1, f1 = x2, x2**3 - 2
    return x1


@program(examples=[(1.0, 0.1, 10), (1.0, 0.1, 0)])
def euler_decay(y, step, n):
    t = 0.0
    for _ in range(n):
        y = y + step * (-2 * y + t)
        t += step
    return y, t


@program(examples=[(1.0, 0.3, 10), (0.0, 0.3, 10), (1.0, 0.3, 0)])
def runge_kutta(y, step, n):
    def slope(value):
        return value * (1 - value)

    for _ in range(n):
        k1 = slope(y)
        k2 = slope(y + step / 2 * k1)
        k3 = slope(y + step / 2 * k2)
        k4 = slope(y + step * k3)
        y = y + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(examples=[(1.0, 0.5), (4.0, 0.5), (0.1, 0.5)])
def adaptive_step(y, step):
    t = 0.0
    rejected = 0
    while t < 2.0 and rejected < 50:
        full = y + step * (-3 * y)
        half = y + step / 2 * (-3 * y)
        half = half + step / 2 * (-3 * half)
        error = abs(full - half)
        if error > 1e-2:
            step = step / 2
            rejected += 1
            continue
        y = half
        t += step
        if error < 1e-3:
            step = step * 1.5
    return y, rejected


@program(examples=[(floats([2, 1], [1, 3]),), (floats([4, 0], [0, 1]),)])
def power_iteration(matrix):
    v = jnp.ones(matrix.shape[0])
    value = 0.0
    for _ in range(60):
        w = matrix @ v
        w = w / jnp.sqrt(w @ w)
        update = w @ (matrix @ w)
        change = abs(update - value)
        v, value = w, update
        if change < 1e-6:
            break
    return value


@program(examples=[(0.0, 0.0), (2.0, 2.0), (-0.75, 0.1), (0.3, 0.5)])
def mandelbrot_point(real, imaginary):
    x = y = 0.0
    count = 0
    while x * x + y * y <= 4 and count < 40:
        x, y = x * x - y * y + real, 2 * x * y + imaginary
        count += 1
    return count


@program(examples=[(1.0,), (0.1,), (3.0,)])
def exponential_series(x):
    term = total = 1.0
    k = 0
    while True:
        k += 1
        term = term * x / k
        total += term
        if abs(term) < 1e-6:
            return total


@program(examples=[(3.0, -2.0), (0.5, 0.5)])
def gradient_descent(x, y):
    rate = 0.1
    for step in range(200):
        gx, gy = 2 * (x - 1), 4 * y
        x, y = x - rate * gx, y - rate * gy
        if gx * gx + gy * gy < 1e-4:
            break
    return x, y, step


@program(examples=[(0.0, 3.0), (1.0, 1.0), (2.0, 1.0)])
def trapezoid(a, b):
    n = 8
    total = (a * a + b * b) / 2
    for i in range(1, n):
        x = a + (b - a) * i / n
        total += x * x
    return total * (b - a) / n


@program(examples=[(floats([4, 1], [1, 3]), floats(1, 2)), (floats([1, 0], [0, 1]), floats(0, 0))])
def conjugate_gradient(matrix, b):
    x = jnp.zeros(2)
    residual = b - matrix @ x
    direction = residual
    square = residual @ residual
    steps = 0
    while square > 1e-8 and steps < 10:
        product = matrix @ direction
        alpha = square / (direction @ product)
        x = x + alpha * direction
        residual = residual - alpha * product
        fresh = residual @ residual
        direction = residual + fresh / square * direction
        square = fresh
        steps += 1
    return x


@program(examples=[(floats(3, 0.5, -0.2, 8),), (floats(0, 0, 0, 0),)])
def noise_gate(samples):
    """A state machine over samples: opens above one level, closes below another."""
    is_open = False
    total = 0.0
    switched = 0
    for sample in samples:
        level = abs(sample)
        if is_open:
            if level < 0.3:
                is_open = False
                switched += 1
        elif level > 1:
            is_open = True
            switched += 1
        if is_open:
            total += sample
    return total, switched


@program(examples=[(0.5,), (2.0,), (-1.0,)])
def fixed_point_of_cosine(x):
    previous = x + 1
    while abs(previous - x) > 1e-4:
        previous = x
        x = jnp.cos(x)
    return x


@program(examples=[(1.0, 0.5), (1.0, 0.0), (-1.0, 0.9)])
def kepler(mean_anomaly, eccentricity):
    anomaly = mean_anomaly
    for i in range(20):
        delta = (anomaly - eccentricity * jnp.sin(anomaly) - mean_anomaly) / (1 - eccentricity * jnp.cos(anomaly))
        anomaly -= delta
        if jnp.abs(delta) < 1e-5:
            break
    return anomaly
