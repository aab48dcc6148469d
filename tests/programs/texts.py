"""Strings that are built, taken apart and counted, whose characters only the run knows."""

from __future__ import annotations

import numpy as np

from tests.programs import program


def codes(text):
    return np.array([ord(c) for c in text])


@program((codes("3+4*2-7"),), (codes("12*10+1"),))
def left_to_right(codes):
    # evaluate left to right a token string given as codes
    s = "".join(chr(c) for c in codes)
    total = 0
    op = "+"
    num = ""
    for c in s + "+":
        if c.isdigit():
            num += c
        else:
            v = int(num)
            if op == "+":
                total += v
            elif op == "-":
                total -= v
            else:
                total *= v
            op = c
            num = ""
    return total


@program((codes("{[()]}("),), (codes("{[()]()}"),), bare="the lookup")
def balanced(codes):
    pairs = {")": "(", "]": "[", "}": "{"}
    stack = []
    for code in codes:
        c = chr(code)
        if c in "([{":
            stack.append(c)
        elif c in pairs:
            if not stack or stack.pop() != pairs[c]:
                return False
    return not stack


@program((codes("the cat sat"),), (codes("a bb ccc dd"),), bare="the capitals")
def words_of_a_line(codes):
    text = "".join(map(chr, codes))
    ws = text.split(" ")
    return len(ws), [w.title() for w in ws], " ".join(reversed(ws)), max(ws, key=len), {w: len(w) for w in ws}


@program((codes("aabcccd"),), (codes("abbbbbb"),))
def run_lengths(codes):
    text = "".join([chr(c) for c in codes])
    out = []
    prev = text[0]
    n = 1
    for c in text[1:]:
        if c == prev:
            n += 1
        else:
            out.append((prev, n))
            prev = c
            n = 1
    out.append((prev, n))
    return out, "".join(f"{c}{n}" for c, n in out)


@program((codes("hello"), 3), (codes("xyzzy"), -2))
def vigenere(codes, k):
    key = "abc"
    out = ""
    for i, code in enumerate(codes):
        out += chr((code - 97 + ord(key[i % len(key)]) - 97 + k) % 26 + 97)
    return out


@program((2024,), (1900,))
def kinds_of_years(y):
    leap = "leap" if y % 4 == 0 and (y % 100 != 0 or y % 400 == 0) else "common"
    return f"{y}-{leap}", len(leap), leap[0].upper() + leap[1:], f"{y}".endswith("24")


@program((5,), (3,), bare="the rows")
def pyramid(n):
    rows = []
    for i in range(1, n + 1):
        rows.append(" " * (n - i) + "*" * (2 * i - 1))
    return rows


@program((29,), (30,), (7,))
def numbers_in_words(n):
    ones = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    tens = ["", "", "twenty", "thirty"]
    s = tens[n // 10]
    if n % 10:
        s += "-" + ones[n % 10]
    return s, len(s), s.count("e")


@program((6,), (1,), bare="the text")
def collatz_path(n):
    s = str(n)
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        s += "->" + str(n)
    return s, s.count("->"), s.split("->")[-1]


@program((codes("listen"), codes("silent")), (codes("aab"), codes("abb")))
def are_anagrams(a, b):
    x = "".join(chr(c) for c in a)
    y = "".join(chr(c) for c in b)
    return sorted(x) == sorted(y), set(x) == set(y), x < y


@program((12321,), (57,), (59,))
def palindromes_by_addition(n):
    k = 0
    while str(n) != str(n)[::-1] and k < 5:
        n += int(str(n)[::-1])
        k += 1
    return n, k


@program((255,), (0,), (4096,), bare="the text")
def hexadecimal(n):
    digits = "0123456789abcdef"
    out = ""
    while n > 0:
        out = digits[n % 16] + out
        n //= 16
    return out or "0", out == hex(255)[2:]


@program((7,), bare="the text")
def look_and_say(n):
    s = str(n)
    for _ in range(3):
        out = ""
        i = 0
        while i < len(s):
            j = i
            while j < len(s) and s[j] == s[i]:
                j += 1
            out += str(j - i) + s[i]
            i = j
        s = out
    return s


@program((3,), (1,), bare="the text")
def texts_in_a_dict(n):
    d = {"a": "", "b": ""}
    for i in range(n * 2):
        k = "a" if i % 2 == 0 else "b"
        d[k] += str(i)
    return d, len(d["a"]), d["a"][::-1]


@program((codes("3 + 14*(x1 - 2)"),), (codes("(a+b2)*10"),), bare="the lists of tokens")
def tokens_with_kinds(codes):
    tokens, kinds = [], []
    for c in "".join(chr(code) for code in codes):
        if c == " ":
            kinds.append("space")
        elif c in "+-*()":
            tokens.append(c)
            kinds.append("sign")
        elif kinds and kinds[-1] in ("name", "number"):
            tokens[-1] += c
        else:
            tokens.append(c)
            kinds.append("number" if c.isdigit() else "name")
    return tokens, [kind for kind in kinds if kind != "space"]


@program((codes("the quick brown fox jumps"), 9), (codes("a bb ccc dddd"), 6), bare="the list of lines")
def wrapped_lines(codes, width):
    words = [""]
    for c in "".join(chr(code) for code in codes):
        if c == " ":
            words.append("")
        else:
            words[-1] += c
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += " " + word if lines[-1] else word
    return lines, max(len(line) for line in lines)
