"""Programs on arrays whose length is known only at run time, as a user of NumPy writes them; each with the arguments of some calls."""

from __future__ import annotations

import numpy as np

SIGNAL = np.array([0.5, -1.0, 2.5, 3.0, -0.5, 2.0, 7.0, 1.0, -3.0, 4.0, 4.0, 0.0])
FLAT = np.full(12, 2.0)
NEGATIVE = -np.arange(1.0, 13.0)
SIGNALS = ((SIGNAL,), (FLAT,), (np.abs(SIGNAL) + 0.1,))
COUNTS = np.array([1, 1, 1, 3, 3, 2, 2, 2, 2, 5, 1, 1])
COUNTED = ((COUNTS,), (np.full(12, 4),), (np.arange(12),))


# Statistics and data cleaning.


def trimmed_mean(x):
    low, high = np.quantile(x, 0.1), np.quantile(x, 0.9)
    kept = x[(x >= low) & (x <= high)]
    return kept.mean(), kept.std(), len(kept)


def outliers_removed(x):
    median = np.median(x)
    spread = np.median(np.abs(x - median)) + 1e-3
    good = np.abs(x - median) < 3 * spread
    clean = x[good]
    return clean, np.mean(clean), np.var(clean, ddof=1), x[~good]


def missing_filled(x):
    y = np.where(x < -0.7, np.nan, x)
    known = ~np.isnan(y)
    y[~known] = np.mean(y[known])
    return y, known.sum()


def standardized(x):
    z = x[x > 0.25]
    return (z - z.mean()) / (z.std() + 1e-6), np.percentile(z, [25, 50, 75])


def winsorized(x):
    y = x.copy()
    low, high = np.percentile(x, 20), np.percentile(x, 80)
    y[y < low] = low
    y[y > high] = high
    return y, y[y > low].sum()


def five_numbers(x):
    z = np.sort(x[x != 2.5])
    return z[0], z[-1], np.median(z), z[: len(z) // 2].sum(), np.ptp(z)


def weighted(x):
    m = x > 0.25
    values, weights = x[m], np.exp(-x[m])
    return np.average(values, weights=weights), np.dot(values, weights), (values * weights).sum() / weights.sum()


def correlated(x):
    m = x > -0.75
    a, b = x[m], np.cos(x[m]) + np.arange(len(x))[m]
    return np.corrcoef(a, b)[0, 1], np.cov(a, b)


def regressed(x):
    m = np.abs(x) < 6
    t = np.arange(len(x))[m] * 1.0
    y = x[m]
    slope = ((t - t.mean()) * (y - y.mean())).sum() / ((t - t.mean()) ** 2).sum()
    return slope, y.mean() - slope * t.mean(), np.abs(y - slope * t).max()


def least_squares(x):
    rows = np.stack([np.ones(len(x)), np.arange(len(x)) * 1.0, x], axis=1)
    kept = rows[x > -0.25]
    a, y = kept[:, :2], kept[:, 2]
    return a.T @ a, a.T @ y, np.linalg.solve(a.T @ a + 1e-3 * np.eye(2), a.T @ y)


def histogram_of_kept(x):
    counts, edges = np.histogram(x[x > -0.75], bins=4, range=(-1.0, 8.0))
    return counts, edges


# Signal processing.


def peaks(x):
    is_peak = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:])
    places = np.nonzero(is_peak)[0] + 1
    return places, x[places], np.sum(x[places])


def zero_crossings(x):
    signs = np.sign(x)
    places = np.flatnonzero(signs[1:] != signs[:-1])
    return places, len(places), np.diff(places)


def above_threshold(x):
    t = np.arange(len(x)) * 0.1
    m = x > 1.5
    return t[m], np.cumsum(x[m]), np.trapezoid(x[m], t[m]) if hasattr(np, "trapezoid") else np.trapz(x[m], t[m])


def leading_silence(x):
    start = np.argmax(x > 2.0)
    rest = x[start:]
    return rest, rest.max(), len(rest), x[:start]


def last_window(x):
    k = np.sum(x > 1.0)
    return x[-k:], x[-k:].mean(), x[: k + 1], x[1:k].sum()


def energy_by_segment(x):
    total = np.zeros(len(x))
    k = 0
    for place in np.flatnonzero(x > 1.5):
        total[k] = np.sum(x[: place + 1] ** 2)
        k += 1
    return total, k


def smoothed(x):
    z = x[x > -0.75]
    return np.convolve(z, np.ones(3) / 3, mode="valid"), np.convolve(z, np.array([1.0, -1.0]), mode="full")


# Run lengths, compaction, sets.


def run_lengths(c):
    starts = np.concatenate([np.array([0]), np.flatnonzero(c[1:] != c[:-1]) + 1])
    ends = np.append(starts[1:], len(c))
    return c[starts], ends - starts, (ends - starts).max()


def decoded(c):
    return np.repeat(np.arange(len(c)), c), np.repeat(c, 2)


def distinct(c):
    values, counts = np.unique(c, return_counts=True)
    return values, counts, values[np.argmax(counts)], len(values)


def sets(c):
    small, large = c[c < 3], c[c > 1]
    return np.intersect1d(small, large), np.union1d(small, large), np.setdiff1d(large, small), np.isin(c, small)


def compacted(x):
    out = np.zeros(len(x))
    kept = x[x > 0]
    out[: len(kept)] = kept
    return out, len(kept)


def partitioned(x):
    pivot = x[0]
    return np.concatenate([x[x < pivot], x[x == pivot], x[x > pivot]])


def ranked(x):
    z = x[x > -0.75]
    order = np.argsort(z, kind="stable")
    return z[order], z[np.argsort(-z, kind="stable")][:3], order


def merged(x):
    evens, odds = np.sort(x[x > 1]), np.sort(x[x <= 1])
    both = np.concatenate([evens, odds])
    return both, np.searchsorted(evens, 2.2), both[::-1]


# Loops.


def quickselect(x):
    k = len(x) // 2
    while len(x) > 1:
        pivot = x[0]
        below, same = x[x < pivot], x[x == pivot]
        if k < len(below):
            x = below
        elif k < len(below) + len(same):
            x = same[:1]
            k = 0
        else:
            k = k - len(below) - len(same)
            x = x[x > pivot]
    return x[0]


def sieve(c):
    n = c.max() + 20
    left = np.arange(2, n)
    found = 0
    while len(left) > 0:
        found = found + left[0]
        left = left[left % left[0] != 0]
    return found


def particle_filter(x):
    particles = np.linspace(-3.0, 3.0, 16)
    for v in x[:5]:
        weights = np.exp(-((particles - v / 4) ** 2))
        kept = particles[weights > 0.2]
        if len(kept) > 0:
            particles = kept * 0.9 + 0.1 * kept.mean()
    return particles, particles.mean()


def rejection(x):
    u = (np.sin(np.arange(40) * 12.9898) * 43758.5453) % 1.0
    v = (np.sin(np.arange(40) * 78.233) * 12543.123) % 1.0
    accepted = u[v < u * np.abs(x).mean() / 4]
    return len(accepted) >= 0, accepted[:5].sum() >= 0


def frontier(c):
    graph = (np.abs(np.arange(12)[:, None] - np.arange(12)[None, :]) == c[:, None]) | (
        np.arange(12)[:, None] == c[None, :]
    )
    seen = np.arange(12) == 0
    front = np.array([0])
    steps = 0
    while len(front) > 0:
        reached = graph[front].any(axis=0)
        front = np.flatnonzero(reached & ~seen)
        seen = seen | reached
        steps = steps + 1
    return seen, steps


def visited_in_order(c):
    out = []
    for v in np.unique(c):
        if v % 2 == 1:
            out.append(v * 10)
    return out, [v + 1 for v in c[c > 1]], {"odd": c[c % 2 == 1]}


def bracketed(x):
    z = np.sort(x[x > 0])
    low, high = 0, len(z) - 1
    while low < high:
        middle = (low + high) // 2
        if z[middle] < 2.2:
            low = middle + 1
        else:
            high = middle
    return z[low], z[low:], sorted(z)[0], max(z), 4.0 in z


def helped(x):
    def spread(v):
        return v.max() - v.min() if len(v) > 2 else v.sum()

    def kept(v, limit):
        return v[v > limit]

    return spread(kept(x, 0)), spread(kept(x, 2.2)), spread(kept(kept(x, 0), 1.5) * 2)


def at_local_maxima(x):
    places = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            places.append(i)
    return x[places], np.arange(len(x))[places].sum(), np.eye(len(x))[places, 0]


def written_at_places(x):
    y = np.array(x)
    places = [i for i in range(len(x)) if x[i] > 0]
    y[places] *= 2
    y[places] += np.array(places)
    y[[i for i in range(len(x)) if x[i] < -1]] = 0
    return y


PROGRAMS = [
    *[(program, *SIGNALS) for program in (at_local_maxima, written_at_places)],
    *[(program, *SIGNALS) for program in (trimmed_mean, outliers_removed, missing_filled, standardized, winsorized)],
    *[(program, *SIGNALS) for program in (five_numbers, weighted, regressed, least_squares)],
    (correlated, (SIGNAL,), (np.abs(SIGNAL) + 0.1,)),
    *[(program, *SIGNALS) for program in (histogram_of_kept, peaks, zero_crossings, above_threshold, leading_silence)],
    *[(program, *SIGNALS) for program in (last_window, energy_by_segment, smoothed, compacted, partitioned, ranked)],
    *[(program, *SIGNALS) for program in (merged, quickselect, particle_filter, rejection, bracketed, helped)],
    *[(program, *COUNTED) for program in (run_lengths, decoded, distinct, sets, sieve, frontier, visited_in_order)],
]
