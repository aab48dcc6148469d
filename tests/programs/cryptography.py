"""Numbers and ciphers."""

from __future__ import annotations

import numpy as np

from tests.programs import program


def power_mod(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent >>= 1
    return result


@program((221,), (97,), (561,), (2,), (1,))
def miller_rabin(n):
    if n < 2:
        return "neither"
    for p in (2, 3, 5, 7):
        if n == p:
            return "prime"
        if n % p == 0:
            return "composite"
    d = n - 1
    s = 0
    while d % 2 == 0:
        d //= 2
        s += 1
    for a in (2, 3, 5):
        x = power_mod(a, d, n)
        if x == 1 or x == n - 1:
            continue
        witness = True
        for _ in range(10):
            if _ >= s - 1:
                break
            x = x * x % n
            if x == n - 1:
                witness = False
                break
        if witness:
            return "composite"
    return "prime"


def extended_gcd(a, b):
    if b == 0:
        return a, 1, 0
    g, x, y = extended_gcd(b, a % b)
    return g, y, x - (a // b) * y


@program((17, 3120), (6, 9), (3, 11), bare="the depth of the recursion")
def modular_inverse(a, m):
    g, x, _ = extended_gcd(a, m)
    if g != 1:
        return None
    inverse = x % m
    assert a * inverse % m == 1, "wrong"
    return inverse


@program((65, 61, 53, 17), (123, 47, 71, 79), bare="an assertion")
def rsa(message, p, q, e):
    n = p * q
    phi = (p - 1) * (q - 1)
    d, r = 0, 1
    old, new = phi, e
    while new != 0:
        quotient = old // new
        d, r = r, d - quotient * r
        old, new = new, old - quotient * new
    private = d % phi
    if d < 0:
        d += phi
    cipher = power_mod(message, e, n)
    plain = power_mod(cipher, d, n)
    assert plain == message
    return cipher, plain, private == d


@program((1001,), (97,), (360,), (1,), bare="the factors")
def factors(n):
    found = []
    d = 2
    while d * d <= n:
        count = 0
        while n % d == 0:
            n //= d
            count += 1
        if count > 0:
            found.append((d, count))
        d += 1 if d == 2 else 2
    if n > 1:
        found.append((n, 1))
    divisors = 1
    for _, exponent in found:
        divisors *= exponent + 1
    return len(found), divisors


@program(
    (np.array([72, 101, 108, 108, 111]), np.array([75, 69, 89])), (np.array([0, 0, 255, 16, 32]), np.array([1, 2, 3]))
)
def rc4(text, key):
    """The stream cipher, with a table of 32."""
    size = 32
    s = list(range(size))
    j = 0
    for i in range(size):
        j = (j + s[i] + key[i % len(key)]) % size
        s[i], s[j] = s[j], s[i]
    i = j = 0
    out = []
    for byte in text:
        i = (i + 1) % size
        j = (j + s[i]) % size
        s[i], s[j] = s[j], s[i]
        out.append(byte ^ s[(s[i] + s[j]) % size])
    return out


@program((np.array([7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 3]),), (np.array([4, 5, 3, 9, 1, 4, 8, 8, 0, 3, 4]),))
def luhn(digits):
    total = 0
    double = False
    for d in reversed(digits):
        if double:
            d = d * 2
            if d > 9:
                d -= 9
        total += d
        double = not double
    check = (10 - total % 10) % 10
    if total % 10 == 0:
        return True, 0
    return False, check


def mix(a, b, c):
    a = (a - b) & 0xFFFF
    a = a ^ (c >> 3)
    b = ((b - c) ^ (a << 2)) & 0xFFFF
    c = ((c - a) ^ (b >> 5)) & 0xFFFF
    return a, b, c


@program((np.array([1, 2, 3, 4, 5, 6]),), (np.array([104, 105, 106, 0, 0, 0]),))
def hash_of(data):
    a, b, c = 0x9E37, 0x79B9, 0x1234
    for start in range(0, len(data), 3):
        a = (a + data[start]) & 0xFFFF
        b = (b + data[start + 1]) & 0xFFFF
        c = (c + data[start + 2]) & 0xFFFF
        a, b, c = mix(a, b, c)
    collisions = 0
    seen = []
    for value in (a, b, c):
        slot = value % 4
        if slot in seen:
            collisions += 1
        seen.append(slot)
    return a ^ b ^ c, collisions


@program((48, 180), (17, 5), (1071, 462))
def euclid_three_ways(a, b):
    def by_remainders(a, b):
        while b:
            a, b = b, a % b
        return a

    def by_differences(a, b):
        if a == 0 or b == 0:
            return a + b
        while a != b:
            if a > b:
                a -= b
            else:
                b -= a
        return a

    def by_halves(a, b):
        if a == 0:
            return b
        if b == 0:
            return a
        shift = 0
        while (a | b) & 1 == 0:
            a >>= 1
            b >>= 1
            shift += 1
        while a & 1 == 0:
            a >>= 1
        while b != 0:
            while b & 1 == 0:
                b >>= 1
            if a > b:
                a, b = b, a
            b -= a
        return a << shift

    results = [by_remainders(a, b), by_differences(a, b), by_halves(a, b)]
    agreed = all(r == results[0] for r in results)
    lcm = a * b // results[0] if results[0] else 0
    return results[0], lcm, agreed


@program((np.array([2, 3, 2]), np.array([3, 5, 7])), (np.array([1, 1, 1]), np.array([2, 3, 5])))
def chinese_remainders(rests, moduli):
    x, step = rests[0], moduli[0]
    tries = 0
    for r, m in zip(rests[1:], moduli[1:]):
        while x % m != r:
            x += step
            tries += 1
            if tries > 1000:
                return -1, tries
        step *= m
    return x, tries
