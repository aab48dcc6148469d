"""k-means, as written by people who begin: with a dict of clusters, and with sums in lists of lists."""

from __future__ import annotations

from tests.programs import program

POINTS = [(0.0, 0.0), (1.0, 0.5), (0.25, 1.0), (5.0, 5.0), (6.0, 5.5), (5.5, 4.5), (9.0, 0.0)]
NEARER = [(0.25, 0.5), (0.75, 0.5), (0.5, 1.0), (3.0, 2.5), (3.0, 3.0), (2.5, 2.75), (4.5, 0.25)]
CENTERS = [(0.0, 1.0), (4.0, 4.0)]
FAR = [(0.0, 1.0), (40.0, 4.0)]  # to which no point is near
CALLS = (POINTS, CENTERS), (NEARER, CENTERS), (POINTS, FAR)


@program(*CALLS, bare="a key that may be missing")
def in_a_dict_of_clusters(points, centers):
    def closest(p, cs):
        return min(range(len(cs)), key=lambda k: (p[0] - cs[k][0]) ** 2 + (p[1] - cs[k][1]) ** 2)

    cs = [tuple(c) for c in centers]
    while True:
        clusters = {k: [] for k in range(len(cs))}
        for p in points:
            clusters[closest(p, cs)].append((p[0], p[1]))
        new = []
        for k in range(len(cs)):
            if clusters[k]:
                xs, ys = zip(*clusters[k])
                new.append((sum(xs) / len(xs), sum(ys) / len(ys)))
            else:
                new.append(cs[k])
        if all(abs(a[0] - b[0]) + abs(a[1] - b[1]) < 1e-6 for a, b in zip(cs, new)):
            return new, [len(c) for c in clusters.values()]
        cs = new


@program(*CALLS)
def with_running_sums(points, centers):
    sums = [[0.0, 0.0] for _ in centers]
    counts = [0] * len(centers)
    cs = [[c[0], c[1]] for c in centers]
    for _ in range(4):
        for k in range(len(cs)):
            sums[k] = [0.0, 0.0]
            counts[k] = 0
        for x, y in points:
            best = 0
            for k in range(1, len(cs)):
                if (x - cs[k][0]) ** 2 + (y - cs[k][1]) ** 2 < (x - cs[best][0]) ** 2 + (y - cs[best][1]) ** 2:
                    best = k
            sums[best][0] += x
            sums[best][1] += y
            counts[best] += 1
        for k in range(len(cs)):
            if counts[k] > 0:
                cs[k] = [sums[k][0] / counts[k], sums[k][1] / counts[k]]
    return cs, counts
