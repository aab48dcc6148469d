"""Samples, tests and estimates."""

from __future__ import annotations

import math

import numpy as np

from tests.programs import program


class Welford:
    """Mean and variance in one pass."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self._m2 = 0.0
        self.low = None
        self.high = None

    def add(self, x):
        self.n += 1
        delta = x - self.mean
        self.mean += delta / self.n
        self._m2 += delta * (x - self.mean)
        if self.low is None or x < self.low:
            self.low = x
        if self.high is None or x > self.high:
            self.high = x

    @property
    def variance(self):
        if self.n < 2:
            return 0.0
        return self._m2 / (self.n - 1)


@program(
    ([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 90.0],),
    ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],),
    bare="`high` and `low` are None at first",
)
def running_moments(data):
    everything, trimmed = Welford(), Welford()
    for x in data:
        everything.add(x)
    for x in data:
        if abs(x - everything.mean) <= 2 * math.sqrt(everything.variance):
            trimmed.add(x)
    spread = trimmed.high - trimmed.low
    return everything.mean, everything.variance, trimmed.n, trimmed.mean, spread


@program((np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]),), (np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0]),))
def five_numbers(data):
    ordered = sorted(data)

    def quantile(q):
        position = q * (len(ordered) - 1)
        low = int(position)
        fraction = position - low
        if low + 1 < len(ordered):
            return ordered[low] * (1 - fraction) + ordered[low + 1] * fraction
        return ordered[low]

    q1, median, q3 = quantile(0.25), quantile(0.5), quantile(0.75)
    fence = 1.5 * (q3 - q1)
    outliers = [x for x in ordered if x < q1 - fence or x > q3 + fence]
    return ordered[0], q1, median, q3, ordered[-1], len(outliers)


@program((np.array([1, 2, 2, 3, 3, 3, 4]),), (np.array([5, 5, 1, 1, 2, 3, 4]),), (np.array([1, 1, 1, 1, 1, 1, 1]),))
def mode_and_entropy(data):
    counts = [0] * 6
    for value in data:
        counts[value] += 1
    best = 0
    modes = 0
    for value in range(6):
        if counts[value] > counts[best]:
            best = value
            modes = 1
        elif counts[value] == counts[best] and counts[value] > 0:
            modes += 1
    entropy = 0.0
    for count in counts:
        if count:
            p = count / len(data)
            entropy -= p * math.log2(p)
    return best, modes, entropy


@program(
    ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.1, 5.9, 8.2, 9.8]),
    ([1.0, 2.0, 3.0, 4.0, 5.0], [5.0, 5.0, 5.0, 5.0, 5.5]),
    grad=True,
)
def line_fit(xs, ys):
    n = len(xs)
    sx = sy = sxx = sxy = 0.0
    for x, y in zip(xs, ys):
        sx += x
        sy += y
        sxx += x * x
        sxy += x * y
    denominator = n * sxx - sx * sx
    if denominator == 0:
        return None
    slope = (n * sxy - sx * sy) / denominator
    intercept = (sy - slope * sx) / n
    residuals = [y - (slope * x + intercept) for x, y in zip(xs, ys)]
    ss = sum(r * r for r in residuals)
    total = sum((y - sy / n) ** 2 for y in ys)
    r2 = 1 - ss / total if total > 0 else 0.0
    return slope, intercept, r2


@program(([1.1, 2.2, 3.3, 4.0], [0.5, 2.5, 2.9, 5.0]), ([10.0, 20.0, 30.0, 40.0], [1.0, 2.0, 3.0, 4.0]))
def rank_test(a, b):
    """Mann and Whitney's U, with ties shared."""
    pooled = [(x, 0) for x in a] + [(x, 1) for x in b]
    pooled.sort()
    ranks = [0.0] * len(pooled)
    i = 0
    while i < len(pooled):
        j = i
        while j + 1 < len(pooled) and pooled[j + 1][0] == pooled[i][0]:
            j += 1
        for k in range(i, j + 1):
            ranks[k] = (i + j) / 2 + 1
        i = j + 1
    r1 = sum(rank for rank, (_, group) in zip(ranks, pooled) if group == 0)
    u = r1 - len(a) * (len(a) + 1) / 2
    if u < 3:
        return u, "a is smaller"
    if u > len(a) * len(b) - 3:
        return u, "a is larger"
    return u, "no difference"


@program((17, 0.5, 60), (99, 3.0, 60), static=("n",))
def metropolis(seed, width, n):
    """Samples of a bump with two humps."""

    def density(x):
        return math.exp(-((x - 2) ** 2)) + 0.5 * math.exp(-((x + 2) ** 2))

    def uniform():
        nonlocal seed
        seed = (seed * 16807) % 2147483647
        return seed / 2147483647

    x = 0.0
    accepted = 0
    total = 0.0
    left = 0
    for i in range(n):
        proposal = x + width * (2 * uniform() - 1)
        if uniform() < density(proposal) / density(x):
            x = proposal
            accepted += 1
        if i >= 10:
            total += x
            if x < 0:
                left += 1
    return accepted / n, total / (n - 10), left


@program(([1.0, 1.2, 0.8, 5.0, 5.3, 4.9], 0.0, 6.0), ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1.0, 1.5), grad=False)
def two_means(points, a, b):
    labels = [0] * len(points)
    rounds = 0
    while True:
        changed = False
        for k, p in enumerate(points):
            label = 0 if abs(p - a) <= abs(p - b) else 1
            if label != labels[k]:
                labels[k] = label
                changed = True
        rounds += 1
        if not changed and rounds > 1:
            break
        groups = {0: [0.0, 0], 1: [0.0, 0]}
        for p, label in zip(points, labels):
            if label == 0:
                groups[0][0] += p
                groups[0][1] += 1
            else:
                groups[1][0] += p
                groups[1][1] += 1
        if groups[0][1] > 0:
            a = groups[0][0] / groups[0][1]
        if groups[1][1] > 0:
            b = groups[1][0] / groups[1][1]
    return a, b, labels, rounds


@program((8, 10, 0.5), (2, 10, 0.5), (5, 10, 0.5))
def binomial_test(successes, trials, p):
    def choose(n, k):
        result = 1.0
        i = 1
        while i <= k:
            result = result * (n - k + i) / i
            i += 1
        return result

    observed = choose(trials, successes) * p**successes * (1 - p) ** (trials - successes)
    total = 0.0
    for k in range(0, 11):
        if k > trials:
            break
        chance = choose(trials, k) * p**k * (1 - p) ** (trials - k)
        if chance <= observed * (1 + 1e-9):
            total += chance
    if total < 0.05:
        verdict = "reject"
    else:
        verdict = "keep"
    return min(total, 1.0), verdict


@program(
    (np.array([0, 1, 1, 0, 1, 1, 1, 0]), np.array([0, 1, 0, 0, 1, 1, 0, 1])),
    (np.array([1, 1, 1, 1, 0, 0, 0, 0]), np.array([1, 1, 1, 1, 0, 0, 0, 0])),
    (np.array([1, 1, 1, 1, 1, 1, 1, 1]), np.array([0, 0, 0, 0, 0, 0, 0, 0])),
)
def confusion(truth, guess):
    table = {"tp": 0, "fp": 0, "tn": 0, "fn": 0}
    for t, g in zip(truth, guess):
        if t == 1 and g == 1:
            table["tp"] += 1
        elif t == 0 and g == 1:
            table["fp"] += 1
        elif t == 0 and g == 0:
            table["tn"] += 1
        else:
            table["fn"] += 1
    precision = table["tp"] / (table["tp"] + table["fp"]) if table["tp"] + table["fp"] > 0 else 0.0
    recall = table["tp"] / (table["tp"] + table["fn"]) if table["tp"] + table["fn"] > 0 else 0.0
    if precision + recall == 0:
        return table, 0.0
    return table, 2 * precision * recall / (precision + recall)


@program((np.array([5.0, 6.0, 7.0, 20.0, 6.0, 5.0]), 3.0), (np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 3.0))
def control_chart(samples, limit):
    alarms = []
    mean, spread = samples[0], 1.0
    in_control = True
    for k, x in enumerate(samples):
        if abs(x - mean) > limit * spread:
            alarms.append(k)
            in_control = False
            continue
        mean = 0.7 * mean + 0.3 * x
        spread = max(0.5, 0.8 * spread + 0.2 * abs(x - mean))
    first = alarms[0] if alarms else -1
    return mean, spread, first, in_control
