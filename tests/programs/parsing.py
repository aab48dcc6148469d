"""Texts as codes of characters or of tokens."""

from __future__ import annotations

import string

import numpy as np

from tests.programs import program


def codes(text):
    return np.array([ord(c) for c in text])


DIGITS = (ord("0"), ord("9"))
PLUS, MINUS, TIMES, OPEN, CLOSE = (ord(c) for c in "+-*()")


@program((codes("12+34-5"),), (codes("7-20+11"),), (codes("1000000"),))
def sums(text):
    total = 0
    number = 0
    sign = 1
    for c in text:
        if DIGITS[0] <= c <= DIGITS[1]:
            number = 10 * number + (c - DIGITS[0])
        else:
            total += sign * number
            number = 0
            if c == PLUS:
                sign = 1
            elif c == MINUS:
                sign = -1
    total += sign * number
    return total


@program((codes("2+3*(4-1)"),), (codes("(1+2)*3*3"),), (codes("9-(8-7)*6"),), bare="the stacks")
def shunting_yard(text):
    """Precedence by two stacks; each number has one digit."""
    values, operators = [], []

    def rank(op):
        return 2 if op == TIMES else 1

    def apply():
        op = operators.pop()
        b = values.pop()
        a = values.pop()
        if op == PLUS:
            values.append(a + b)
        elif op == MINUS:
            values.append(a - b)
        else:
            values.append(a * b)

    for c in text:
        if c >= DIGITS[0] and c <= DIGITS[1]:
            values.append(c - DIGITS[0])
        elif c == OPEN:
            operators.append(c)
        elif c == CLOSE:
            while operators[-1] != OPEN:
                apply()
            operators.pop()
        else:
            while operators and operators[-1] != OPEN and rank(operators[-1]) >= rank(c):
                apply()
            operators.append(c)
    while operators:
        apply()
    return values[0]


@program((codes("{[()]}"),), (codes("{[(])}"),), (codes("((((  "),), (codes("}     "),))
def balanced(text):
    pairs = {")": "(", "]": "[", "}": "{"}
    opening = [ord(c) for c in pairs.values()]
    stack = []
    for position, c in enumerate(text):
        if c in opening:
            stack.append(c)
            continue
        for close, open_ in pairs.items():
            if c == ord(close):
                if not stack:
                    return False, position
                if stack.pop() != ord(open_):
                    return False, position
    if len(stack) > 0:
        return False, len(text)
    return True, -1


class Tokens:
    """A cursor over characters, as recursive descent wants it."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def peek(self):
        if self.at < len(self.text):
            return self.text[self.at]
        return -1

    def take(self):
        c = self.peek()
        self.at += 1
        return c


@program((codes("3.25"),), (codes("-0.5"),), (codes("12.x"),), (codes("1234"),), bare="a bad character")
def read_float(text):
    tokens = Tokens(text)
    negative = False
    if tokens.peek() == MINUS:
        negative = True
        tokens.take()
    value = 0.0
    scale = None
    while tokens.at < len(text):
        c = tokens.take()
        if c == ord("."):
            scale = 1.0
        elif DIGITS[0] <= c <= DIGITS[1]:
            digit = c - DIGITS[0]
            if scale is None:
                value = 10 * value + digit
            else:
                scale /= 10
                value += digit * scale
        else:
            raise ValueError("not a number")
    return -value if negative else value


@program((codes("aaabccdddd"),), (codes("abababcccc"),), (codes("zzzzzzzzzz"),))
def run_lengths(text):
    runs = []
    previous = None
    count = 0
    for c in text:
        if previous is not None and c == previous:
            count += 1
        else:
            if previous is not None:
                runs.append((previous, count))
            previous = c
            count = 1
    runs.append((previous, count))
    longest = max(runs, key=lambda run: run[1])
    return len(runs), longest[0], longest[1]


@program((codes("the cat  sat "),), (codes("  spaced out!"),), (codes("xxxxxxxxxxxxx"),))
def words(text):
    """How many words, and the length of the longest, by a machine with two states."""
    state = "outside"
    count = 0
    length = longest = 0
    for c in text:
        is_letter = ord("a") <= c <= ord("z")
        if state == "outside" and is_letter:
            state = "inside"
            count += 1
            length = 1
        elif state == "inside" and is_letter:
            length += 1
        elif state == "inside":
            state = "outside"
        if length > longest:
            longest = length
    return count, longest, state


@program((codes("/* a */ b //c"),), (codes("no // comment"),), (codes("/*** / * **/ "),))
def strip_comments(text):
    mode = "code"
    kept = 0
    i = 0
    while i < len(text):
        c = text[i]
        following = text[i + 1] if i + 1 < len(text) else 0
        if mode == "code":
            if c == ord("/") and following == ord("*"):
                mode = "block"
                i += 1
            elif c == ord("/") and following == ord("/"):
                mode = "line"
                i += 1
            else:
                kept += 1
        elif mode == "block":
            if c == ord("*") and following == ord("/"):
                mode = "code"
                i += 1
        i += 1
    return kept, mode


ALPHABET = string.ascii_lowercase


@program((codes("hello"), 3), (codes("xyzzy"), 5), (codes("a b.c"), 25))
def caesar(text, shift):
    out = []
    frequencies = [0] * 26
    for c in text:
        if ord("a") <= c and c <= ord("z"):
            k = (c - ord("a") + shift) % 26
            frequencies[k] += 1
            out.append(ord("a") + k)
        else:
            out.append(c)
    most = frequencies.index(max(frequencies))
    return out, ALPHABET[most]


@program((codes("MCMXCIV"),), (codes("XLIIIII"),), (codes("MMXXVII"),))
def roman(text):
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    numbers = []
    for c in text:
        worth = 0
        for letter, value in values.items():
            if c == ord(letter):
                worth = value
        numbers.append(worth)
    total = 0
    for k in range(len(numbers)):
        if k + 1 < len(numbers) and numbers[k] < numbers[k + 1]:
            total -= numbers[k]
        else:
            total += numbers[k]
    return total


class Calculator:
    """A parser of sums of products, with one token of lookahead from an iterator."""

    def __init__(self, text):
        self.tokens = iter(text)
        self.token = None
        self.advance()

    def advance(self):
        taken, self.token = self.token, next(self.tokens, -1)
        return taken

    def number(self):
        value = 0
        while DIGITS[0] <= self.token and self.token <= DIGITS[1]:
            value = 10 * value + self.advance() - DIGITS[0]
        return value

    def product(self):
        value = self.number()
        while self.token == TIMES:
            self.advance()
            value *= self.number()
        return value

    def sum(self):
        value = self.product()
        while self.token == PLUS or self.token == MINUS:
            sign = 1 if self.advance() == PLUS else -1
            value += sign * self.product()
        return value


@program((codes("12*3+4*2-5"),), (codes("7-20*2+11"),), (codes("1000000000"),))
def calculator(text):
    parser = Calculator(text)
    return parser.sum(), parser.token


@program((codes("abxabyabz"), codes("ab")), (codes("aaaaaaaaa"), codes("aa")), (codes("abcdefghi"), codes("hi")))
def find_all(text, pattern):
    """Knuth, Morris and Pratt."""
    m = len(pattern)
    fail = [0] * m
    k = 0
    for i in range(1, m):
        while k > 0 and pattern[k] != pattern[i]:
            k = fail[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        fail[i] = k
    places = []
    k = 0
    for i, c in enumerate(text):
        while k > 0 and (k == m or pattern[k] != c):
            k = fail[k - 1]
        if pattern[k] == c:
            k += 1
        if k == m:
            places.append(i - m + 1)
    return places
