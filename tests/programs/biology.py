"""Populations, genes and epidemics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.programs import program

BASES = "ACGT"


def dna(text):
    return np.array([BASES.index(base) for base in text])


@program((0.3, 0.1, 0.99), (0.1, 0.2, 0.9), (0.9, 0.05, 0.999))
def epidemic(beta, gamma, susceptible):
    s, i, r = susceptible, 1 - susceptible, 0.0
    day = 0
    peak = i
    peak_day = 0
    history = {"infected": [], "day": []}
    while i > 0.001 and day < 200:
        new_infections = beta * s * i
        recoveries = gamma * i
        s -= new_infections
        i += new_infections - recoveries
        r += recoveries
        day += 1
        if i > peak:
            peak = i
            peak_day = day
    if peak_day == 0:
        kind = "dies out"
    elif peak > 0.3:
        kind = "severe"
    else:
        kind = "mild"
    history["infected"].append(i)
    history["day"].append(day)
    return s, r, peak, peak_day, kind, history


@program((dna("ATGGCATAAGGC"),), (dna("GGGATGTTTTGA"),), (dna("CCCCCCCCCCCC"),))
def open_reading_frame(sequence):
    """Where the first ATG is, and how many codons follow it up to a stop."""
    A, C, G, T = range(4)
    stops = [(T, A, A), (T, A, G), (T, G, A)]
    start = -1
    for k in range(len(sequence) - 2):
        if sequence[k] == A and sequence[k + 1] == T and sequence[k + 2] == G:
            start = k
            break
    if start == -1:
        return -1, 0, False
    codons = 0
    k = start
    stopped = False
    while k + 2 < len(sequence) and not stopped:
        codon = (sequence[k], sequence[k + 1], sequence[k + 2])
        for stop in stops:
            if codon[0] == stop[0] and codon[1] == stop[1] and codon[2] == stop[2]:
                stopped = True
        if not stopped:
            codons += 1
        k += 3
    return start, codons, stopped


def score(a, b):
    if a == b:
        return 2
    return -1


@program((dna("GATTACA"), dna("GCATGCT")), (dna("AAAAAAA"), dna("CCCCCCC")), (dna("ACGTACG"), dna("TACGTAC")))
def smith_waterman(a, b):
    gap = -2
    rows, columns = len(a) + 1, len(b) + 1
    H = [[0] * columns for _ in range(rows)]
    best, where = 0, (0, 0)
    for i in range(1, rows):
        for j in range(1, columns):
            options = [0, H[i - 1][j - 1] + score(a[i - 1], b[j - 1]), H[i - 1][j] + gap, H[i][j - 1] + gap]
            H[i][j] = max(options)
            if H[i][j] > best:
                best = H[i][j]
                where = (i, j)
    i, j = where
    length = 0
    while i > 0 and j > 0 and H[i][j] > 0:
        if H[i][j] == H[i - 1][j - 1] + score(a[i - 1], b[j - 1]):
            i, j = i - 1, j - 1
        elif H[i][j] == H[i - 1][j] + gap:
            i -= 1
        else:
            j -= 1
        length += 1
    return best, length, (i, j)


@program((10.0, 5.0), (4.0, 2.0), (1.0, 3.0), grad=True)
def lotka_volterra(prey, predators):
    a, b, c, d = 1.1, 0.4, 0.4, 0.1
    dt = 0.02
    maxima = 0
    rising = True
    previous = prey
    for _ in range(150):
        dprey = a * prey - b * prey * predators
        dpred = d * prey * predators - c * predators
        prey += dprey * dt
        predators += dpred * dt
        if prey < 0:
            prey = 0.0
        if prey < previous and rising:
            maxima += 1
            rising = False
        elif prey > previous and not rising:
            rising = True
        previous = prey
    return prey, predators, maxima


@dataclass
class Cell:
    energy: float
    age: int = 0
    alive: bool = True

    def live(self, food):
        if not self.alive:
            return
        self.age += 1
        self.energy += food - 1.0
        if self.energy <= 0:
            self.alive = False
            self.energy = 0.0


@program(
    ([0.5, 1.5, 0.0, 0.2, 2.0, 0.1],),
    ([0.0, 0.0, 0.0, 0.0, 5.0, 5.0],),
    ([2.0, 2.0, 2.0, 2.0, 2.0, 2.0],),
)
def cells(food):
    colony = [Cell(1.0), Cell(2.0), Cell(0.5)]
    born = 0
    for portion in food:
        for cell in colony:
            cell.live(portion)
            if cell.alive and cell.energy > 4:
                cell.energy /= 2
                born += 1
    alive = [cell for cell in colony if cell.alive]
    oldest = max(cell.age for cell in colony)
    return len(alive), sum(cell.energy for cell in colony), oldest, born


@program((np.array([0, 1, 1, 2, 0, 1]), 40), (np.array([2, 2, 2, 2, 2, 2]), 5), (np.array([0, 0, 0, 0, 0, 1]), 100))
def hardy_weinberg(genotypes, seed):
    """Random mating of 0 = AA, 1 = Aa, 2 = aa until one allele is fixed."""
    people = list(genotypes)
    generation = 0
    while generation < 60:
        total = sum(people)
        if total == 0 or total == 2 * len(people):
            break
        children = []
        for _ in range(len(people)):
            alleles = 0
            for parent in range(2):
                seed = (seed * 1309 + 13849) % 65536
                who = (seed // 16) % len(people)
                seed = (seed * 1309 + 13849) % 65536
                if people[who] == 2:
                    alleles += 1
                elif people[who] == 1 and seed % 32 >= 16:
                    alleles += 1
            children.append(alleles)
        people = children
        generation += 1
    total = sum(people)
    return generation, "lost" if total == 0 else ("fixed" if total == 2 * len(people) else "both")


def rule(number, left, middle, right):
    pattern = 4 * left + 2 * middle + right
    return (number >> pattern) & 1


@program((90, 8), (30, 3), (0, 1))
def cellular_automaton(number, seed_cell):
    width = 17
    row = [0] * width
    row[seed_cell] = 1
    generations = [row]
    dead_after = None
    for g in range(8):
        old = generations[-1]
        new = []
        for k in range(width):
            left = old[k - 1] if k > 0 else 0
            right = old[k + 1] if k < width - 1 else 0
            new.append(rule(number, left, old[k], right))
        generations.append(new)
        if sum(new) == 0 and dead_after is None:
            dead_after = g
    alive = sum(map(sum, generations))
    if dead_after is None:
        dead_after = -1
    return alive, generations[-1], dead_after


@program(
    (np.array([[0, 5.0, 9.0, 9.0], [5.0, 0, 10.0, 10.0], [9.0, 10.0, 0, 8.0], [9.0, 10.0, 8.0, 0]]),),
    (np.array([[0, 2.0, 6.0, 1.0], [2.0, 0, 4.0, 3.0], [6.0, 4.0, 0, 7.0], [1.0, 3.0, 7.0, 0]]),),
)
def upgma(distances):
    """Joins the closest two clusters until one is left; the heights of the joints."""
    n = len(distances)
    d = distances.copy()
    active = [True] * n
    size = [1] * n
    heights = []
    for _ in range(n - 1):
        best, a, b = float("inf"), -1, -1
        for i in range(n):
            for j in range(i + 1, n):
                if active[i] and active[j] and d[i, j] < best:
                    best, a, b = d[i, j], i, j
        heights.append(best / 2)
        for k in range(n):
            if k != a and k != b and active[k]:
                merged = (size[a] * d[a, k] + size[b] * d[b, k]) / (size[a] + size[b])
                d[a, k] = merged
                d[k, a] = merged
        size[a] += size[b]
        active[b] = False
    return heights, size[0]


@program((0.2, 3.2), (0.5, 2.5), (0.3, 3.5), (0.4, 0.5))
def logistic_map(x, r):
    """The period that a population settles into; 0 where there is none up to 8."""
    for _ in range(400):
        x = r * x * (1 - x)
        if x < 1e-9:
            return "extinct", 0
    orbit = [x]
    period = 0
    for k in range(1, 9):
        x = r * x * (1 - x)
        if abs(x - orbit[0]) < 1e-6:
            period = k
            break
        orbit.append(x)
    if period == 0:
        return "irregular", 0
    if period == 1:
        return "fixed", 1
    return "cycle", period


@program((np.array([0, 3, 2, 3, 3, 3, 3, 0, 0]),), (np.array([2, 2, 2, 3, 0, 0, 2, 2, 2]),))
def protein(rna):
    amino_acids = []
    for k in range(0, len(rna) - 2, 3):
        index = rna[k] * 16 + rna[k + 1] * 4 + rna[k + 2]
        if index == 14:
            amino = "M"
        elif index == 63:
            amino = "F"
        elif index == 48:
            amino = "*"
        elif index == 42:
            amino = "G"
        else:
            amino = "?"
        if amino == "*":
            break
        amino_acids.append(amino)
    gc = 0.0
    for base in rna:
        if base in (1, 2):
            gc += 1
    return "".join(amino_acids), len(amino_acids), gc / len(rna)
