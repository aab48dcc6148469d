"""Texts that are read when the program runs: their characters, methods, order, and what is built of them."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import autograph as ag
from tests import staged

# Each is given a text whose characters, and perhaps length, only the run knows, and an int.
READ = {
    "lengths": lambda t, n: (len(t), bool(t), not t, t or "none", 1 if t else 2),
    "items": lambda t, n: (t[::-1], t[1:3], t[-2:], t[n:], t[:n], t[n:] + t[:n], [*t], list(t), tuple(t)),
    "order": lambda t, n: (t == "abaab", t != "ab", t < "ab", t <= "abaab", t > "b", t >= t[::-1], min(t, "b"), "aaaab" < t),
    "found": lambda t, n: ("ab" in t, "a" not in t, "" in t, t.find("ab"), t.rfind("a"), t.find("q"), t.index("") + n, t.find("")),
    "bounds": lambda t, n: (t.find("a", 1), t.find("a", n), t.rfind("a", 0, n), t.count("a", 1, -1), t.startswith("a", 1), t.find("", n)),
    "limits": lambda t, n: (t.replace("a", "b", n), t.split("a", 1), t.split("a", n), t.endswith("a", 0, 2), t.index("", n - n)),
    "constants": lambda t, n: ("abaabz".find(t), "ab".startswith(t), "aabaab".count(t, n - n), "a,b,c".split(",", n), "ab".center(n + 4)),
    "counted": lambda t, n: (t.count("a"), t.count("aa"), t.count("aba"), t.count(""), t.count("a") == len(t)),
    "ends": lambda t, n: (t.startswith("ab"), t.startswith(("b", "ab")), t.endswith("b"), t.endswith(("aa", "5"))),
    "cut": lambda t, n: (t.removeprefix("ab"), t.removesuffix("ab"), t.strip("a"), t.lstrip("ab"), t.rstrip("b"), t.strip()),
    "replaced": lambda t, n: (t.replace("a", "xy"), t.replace("ab", ""), t.replace("aa", "b"), t.replace("a", "b", 1), t.replace("b", t)),
    "split": lambda t, n: (t.split("b"), t.split(), t.split("ab"), t.partition("b"), t.rpartition("a"), "-".join(t.split("b"))),
    "split by keywords": lambda t, n: (t.split(sep="b"), t.split(sep="a", maxsplit=1), t.split("b", maxsplit=n), t.split(sep=None)),
    "rsplit": lambda t, n: (t.rsplit("b", 1), t.rsplit("a", n), t.rsplit(), t.rsplit("ab"), t.rsplit("ab", 1), t.rsplit(sep="b")),
    "words": lambda t, n: (sorted(t.split("b")), [w[::-1] for w in t.split("a")], "a" in t.split("b"), max(t.split("b"), key=len)),
    "joined": lambda t, n: ("-".join([c + c for c in t]), "".join(w.capitalize() for w in t.split("b")), ", ".join(t)),
    "joined again": lambda t, n: (
        "".join([c for c in t]) == t, t == "".join(reversed(t)), "".join(list(t))[:1], "".join(c for c in t if c != "a") in t,
        [c for c in "".join(reversed(t))], "".join(sorted(t)) < t, "".join(map(str.upper, t)) != t.upper(), "".join(t) == t,
    ),
    "cases": lambda t, n: (t.upper(), t.lower(), t.title(), t.capitalize(), t.swapcase(), t.casefold()),
    "kinds": lambda t, n: (t.isalpha(), t.isdigit(), t.isalnum(), t.isspace(), t.isupper(), t.islower(), t.isdecimal()),
    "padded": lambda t, n: (t.zfill(8), t.ljust(7, "."), t.rjust(7), t.center(8, "*"), t.center(3), t.zfill(2)),
    "built": lambda t, n: (
        t * 2, 2 * t, "<" + t + ">", f"[{t}|{n}]", t + str(n),
        (t + str(n))[::-1], "".join(reversed(t)), "-".join([t, "z", t]),
    ),
    "looped": lambda t, n: (
        sum(ord(c) for c in t), [c for c in t if c != "a"],
        [i for i, c in enumerate(t) if c == "b"], any(c == "b" for c in t),
    ),
    "sorted": lambda t, n: (sorted(t), sorted(t, reverse=True), "".join(sorted(t)), sorted(set(t)), max(t), min(t), sorted([t, "aa", "b"])),
    "pairs": lambda t, n: (
        list(zip(t, t[1:], strict=False)), list(enumerate(t, 1)),
        list(map(ord, t)), all(a <= b for a, b in zip(t, t[1:], strict=False)),
    ),
    "containers": lambda t, n: (
        t in ("ab", "abaab"), [t, "b"] == ["abaab", "b"], (t, 1) == ("aaaaa", 1),
        "a" in list(t), list(t).count("a"), set(t) == {"a", "b"},
    ),
    "keys": lambda t, n: ({"abaab": 1, "": 2}.get(t, 3), t in {"aaaaa": 0}, [{"a": 5}.get(c, n) for c in t], len(set(t)), Counter(t)),
    "iterators": lambda t, n: (
        [(c, len(list(group))) for c, group in itertools.groupby(t)], [a + b for a, b in itertools.pairwise(t)],
        [a + b for a, b in itertools.product(t, "xy")], list(itertools.chain("z", t)), list(itertools.islice(t, 1, 3)),
        [a + b for a, b in itertools.combinations(t, 2)], functools.reduce(lambda a, c: a + (c == "a"), t, 0),
        list(itertools.takewhile(lambda c: c != "b", t)),
    ),
    "unbound": lambda t, n: (
        str.upper(t), str.count(t, "a"), [*map(str.swapcase, t)], len([*filter(str.isalpha, t)]),
        str.join("-", [t, "z"]), sorted([t, "C"], key=str.lower),
    ),
    "chosen": lambda t, n: (
        "Fizz" * (n % 3 == 0) + "Buzz" * (n % 5 == 0) or str(n), len(t * (n > 0)), ["ab" * (n + k > 1) + t for k in range(3)],
    ),
    "classes": lambda t, n: (isinstance(t, str), type(t) is str, isinstance(t, int | list), t is not None),
}  # fmt: skip
TEXTS = ("abaab", "aaaaa", "Ab a ", "12-3b", "bbaba", "  aB5")


def built(read):
    """A function of code points and an int, which builds the text first."""

    def program(codes, n):
        text = ""
        for code in codes:
            text += chr(code)
        return read(text, n)

    return program


def same(found, wanted):
    assert jax.tree.structure(found) == jax.tree.structure(wanted), (found, wanted)
    for left, right in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert left == right, (found, wanted)


def codes_of(text):
    return np.array([ord(c) for c in text], np.int32)


@pytest.mark.parametrize("what", READ)
def test_a_text_of_traced_characters_reads_as_in_python(what):
    program = built(READ[what])
    for number, text in enumerate(TEXTS):
        n = number % 4 - 1
        same(staged.function(program)(codes_of(text), jnp.int32(n)), program([int(c) for c in codes_of(text)], n))


@pytest.mark.parametrize("what", [what for what in READ if what not in ("sorted", "classes")])
def test_a_text_of_traced_length_reads_as_in_python(what):
    def program(codes, size, n):
        text = ""
        for k in range(size):
            text += chr(codes[k])
        return READ[what](text, n)

    for text in ("", "a", "aba", "Ab 5-b"):
        codes = np.zeros(6, np.int32)
        codes[: len(text)] = codes_of(text)
        same(
            staged.function(program)(codes, jnp.int32(len(text)), jnp.int32(2)),
            program([int(c) for c in codes], len(text), 2),
        )


def digits(n):
    return len(str(n)), sum(int(d) for d in str(abs(n))), str(n)[::-1], str(n) == str(n)[::-1], f"{n}!"[0], max(str(n))


def bases(n):
    return bin(n), hex(n), oct(n), bin(n).count("1"), f"{n:b}"[-1], f"{n:x}", int(f"{n:o}")


def armstrong(n):
    text = str(abs(n))
    return sum(int(d) ** len(text) for d in text) == n


def reversed_number(n):
    return int(str(abs(n))[::-1]), int(f" {n} "), int(f"+{abs(n)}")


def luhn(n):
    total = 0
    for i, d in enumerate(reversed(str(abs(n)))):
        x = int(d)
        if i % 2:
            x *= 2
            if x > 9:
                x -= 9
        total += x
    return total, total % 10 == 0


def two_pointers(n):
    text = str(n)
    i, j = 0, len(text) - 1
    while i < j:
        if text[i] != text[j]:
            return False
        i += 1
        j -= 1
    return True


def run_lengths(n):
    text, out, i = str(n), "", 0
    while i < len(text):
        k = 1
        while i + k < len(text) and text[i + k] == text[i]:
            k += 1
        out += f"{k}{text[i]}"
        i += k
    return out, len(out)


def tallies(n):
    counts, seen = {}, set()
    for d in str(n):
        if d in counts:
            counts[d] += 1
        else:
            counts[d] = 1
        seen.add(d)
    return counts, len(seen), "7" in seen


def matched(n):
    score = 0
    for c in str(n):
        match c:
            case "1":
                score += 1
            case "2" | "3":
                score += 10
            case "-":
                score -= 5
            case _:
                score += 100
    return score


def grown_by_path(n):
    word = longest = ""
    for k in range(8):
        if n >> k & 1:
            word += "a" if k % 2 else "bc"
        else:
            word = ""
        if len(word) > len(longest):
            longest = word
    return longest, len(longest), longest.startswith("bc"), longest[-1:] == "a"


def to_binary(n):
    text, n = "", abs(n)
    while n > 0:
        text = str(n % 2) + text
        n //= 2
    return text, text == text[::-1], text.zfill(12)


def of_one_of(n):
    name = "apple" if n > 100 else "fig"
    vowels = 0
    for c in name:
        if c in "aeiou":
            vowels += 1
    return vowels, len(name), name[0], name[::-1], [c for c in name if c > "f"]


def over_one_of(n):
    """What makes iterators of a text that is one of several, of different lengths."""
    name = "a1b22c3" if n > 100 else "x5x"
    found = (
        [k for k, c in enumerate(name) if c.isdigit()],
        {c: k for k, c in enumerate(name)},
        len(list(zip(name, range(4)))),
    )
    pairs = (
        sum(1 for a, b in zip(name, name[1:], strict=False) if a < b),
        sum(1 for a, b in itertools.pairwise(name) if a == b),
    )
    back = ""
    for c in reversed(name):
        back += c
    following = iter(name)
    first = next(following), next(following), "".join(following)
    total = sum(map(int, filter(str.isdigit, name)))
    for k, c in enumerate(name, 1):
        if c == "x" and k > 1:
            return found, pairs, back, first, total, k
    return found, pairs, back, first, total, -1


def words_in_a_line(n):
    count, longest, word = 0, "", ""
    for c in "ab cd " + str(n) + " ":
        if c == " ":
            count += 1
            longest = word if len(word) > len(longest) else longest
            word = ""
        else:
            word += c
    return count, longest, len(longest)


class Log:
    def __init__(self):
        self.text = ""
        self.lines = []

    def note(self, value):
        self.text += "+" if value > 0 else "--"
        if self.text.endswith("--+"):
            self.lines.append(len(self.text))
            self.text = self.text[:-3]


def in_an_object(n):
    log = Log()
    for k in range(6):
        log.note(n + k - 3)
    return log.text, len(log.text), log.lines


NUMBERS = (0, 7, 121, -305, 1331, 99871)
PROGRAMS = [
    digits, bases, armstrong, reversed_number, luhn, two_pointers, run_lengths, tallies, matched, grown_by_path, to_binary,
    of_one_of, over_one_of, words_in_a_line, in_an_object,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_that_read_texts(program):
    for n in NUMBERS:
        same(staged.function(program)(jnp.int32(n)), program(n))


@pytest.mark.parametrize("program", [armstrong, luhn, two_pointers, matched])
def test_in_a_batch_and_under_jit(program):
    wanted = [program(n) for n in NUMBERS]
    found = staged.mapped(program)(jnp.array(NUMBERS, jnp.int32))
    for k, n in enumerate(NUMBERS):
        same(jax.tree.map(lambda leaf, k=k: leaf[k], found), wanted[k])
        same(staged.jitted(program)(jnp.int32(n)), wanted[k])


def test_numbers_have_gradients_where_texts_choose():
    def priced(x, n):
        total = 0.0
        for d in str(n):
            total += x * x if d in "24680" else x
        return total

    x, n = jnp.float32(3.0), jnp.int32(1234)
    assert ag.function(priced)(x, n) == priced(3.0, 1234) == 24.0
    assert jax.grad(ag.function(priced))(x, n) == 2 * (2 * 3.0) + 2


def test_least_and_greatest_numbers_have_their_digits():
    for n in (2**31 - 1, -(2**31), 10**9, -1, 10, 9):
        assert staged.function(lambda n: str(n)[::-1])(jnp.int32(n)) == str(n)[::-1]
    assert ag.function(lambda n: hex(n)[2:])(jnp.uint32(2**32 - 1)) == "ffffffff"


@pytest.mark.parametrize(
    ("text", "message"),
    [("1a", "invalid literal for int"), ("", "invalid literal"), ("-", "invalid literal"), ("1-2", "invalid literal")],
)
def test_a_text_that_is_no_number_raises(text, message):
    program = built(lambda t, n: int(t) + n)
    for one in (program, staged.function(program)):
        with pytest.raises(ValueError, match=message):
            one(codes_of(text), jnp.int32(1))


LITERALS = [
    "101",
    "z1_",
    "z1q",
    "0xf",
    "-0x",
    "017",
    "-00",
    "0_1",
    "0b1",
    "-b1",
    "0o7",
    "_01",
    "+AF",
    " 01",
    "1  ",
    "00_",
    "0_0",
]


FLOATS = "12.5 -.5e1 +1_0. 1E-2 Infinity -inf nan 1e9999 -1e-9999 16777216".split()
NO_FLOATS = [*". 1.2.3 e5 1e 1e+ 1e5.0 --1 1__0 _1 1_ 1_.5 in infx 0x1".split(), "", "1 2"]


def test_a_text_is_read_as_a_float():
    program = built(lambda t, n: float(t))
    for transformed in (ag.function(program), jax.jit(ag.convert(program))):
        for text in FLOATS:
            found = float(transformed(codes_of(text.center(10)), jnp.int32(1)))
            np.testing.assert_allclose(found, float(text), rtol=1e-6)
            assert np.signbit(found) == np.signbit(float(text))


def test_a_text_that_is_no_float_raises():
    def read(text):
        try:
            return float(text)
        except ValueError:
            return -1.0

    compiled = ag.function(built(lambda t, n: read(t)))
    for text in NO_FLOATS:
        assert compiled(codes_of(text.ljust(5)), jnp.int32(1)) == -1.0, text
    with pytest.raises(ValueError, match="could not convert string to float: '1e'"):
        jax.block_until_ready(ag.function(built(lambda t, n: float(t)))(codes_of("1e"), jnp.int32(1)))


def outcome(call):
    try:
        return int(call())
    except ValueError as error:
        return str(error)


def test_a_text_is_read_in_a_base():
    program = built(lambda t, base: int(t, base))
    compiled = ag.function(program)
    for base in (2, 8, 10, 16, 36, 0, 1, 37):
        for text in LITERALS:
            given = codes_of(text), jnp.int32(base)
            wanted = outcome(lambda text=text, base=base: int(text, base))
            assert outcome(lambda given=given: compiled(*given)) == wanted, (text, base)


def test_texts_in_a_base_that_is_known_or_that_are_constants():
    def program(n):
        bits = "".join(str(n >> k & 1) for k in (3, 2, 1, 0))
        text = "0x1f" if n > 5 else "101"
        return (
            int(bits, 2),
            int(bits, base=8),
            int("0x" + bits, 16),
            int("ff", n + 16),
            int(text, 0),
            int("11", base=n + 2),
        )

    compiled = ag.function(program)
    assert [compiled(jnp.int32(n)) for n in (0, 9)] == [program(0), program(9)]


def test_what_raises_in_python_raises():
    with pytest.raises(ValueError, match="substring not found"):
        ag.function(lambda n: str(n).index("7"))(jnp.int32(123))
    with pytest.raises(IndexError, match="string index out of range"):
        ag.function(lambda n: str(n)[n])(jnp.int32(5))
    with pytest.raises(KeyError):
        ag.function(lambda n: {"1": 2}[str(n)])(jnp.int32(5))
    with pytest.raises(ValueError, match=r"chr\(\) arg not in range"):
        ag.function(lambda n: chr(n))(jnp.int32(-5))  # noqa: PLW0108 (the call is converted)
    with pytest.raises(TypeError, match="expected a character"):
        ag.function(lambda n: ord(str(n)))(jnp.int32(55))


@pytest.mark.parametrize(
    "use", [lambda n: str(n).encode(), lambda n: str(n).splitlines(), lambda n: str(n).translate({})]
)
def test_a_method_that_is_not_known_is_refused_with_the_line(use):
    with pytest.raises(
        ag.StagingError, match=r"test_characters_of_texts.py:\d+(.|\n)*is not supported for a string of traced"
    ):
        ag.function(use)(jnp.int32(123))


def test_a_character_that_becomes_several_raises():
    upper = ag.function(built(lambda t, n: t.upper()))
    assert upper(codes_of("é"), jnp.int32(0)) == "É"
    assert upper(codes_of("жǆ"), jnp.int32(0)) == "ЖǄ"
    with pytest.raises(UnicodeError, match="becomes several"):
        upper(codes_of("ß"), jnp.int32(0))
    with pytest.raises(ag.StagingError, match=r"Call the function through autograph.function"):
        jax.jit(ag.convert(built(lambda t, n: t.upper())))(codes_of("a"), 0)


def test_a_text_that_a_bare_jit_returns_reads_as_the_string():
    def labels(n, x):
        return f"{n} of 9", f"{x:.2f}", chr(n + 94)

    def used(label, number, letter):
        counts = {label: 1}
        return (
            label == "3 of 9", "of" in label, len(label), label[2:], [*number], float(number) > 1, letter.upper(),
            bool(letter), counts["3 of 9"], label < number, sorted([number, letter]), int(label[0]), label.split(" of "),
        )  # fmt: skip

    assert used(*jax.jit(ag.convert(labels))(jnp.int32(3), jnp.float32(2.5))) == used(*labels(3, 2.5))


def test_a_text_with_characters_and_floats_is_returned():
    def f(x, n):
        line = ""
        for k in range(n):
            line += "x" if k % 2 else f"{x:.1f},"
        return line

    assert ag.function(f)(jnp.float32(1.5), jnp.int32(3)) == f(1.5, 3) == "1.5,x1.5,"


def indexed(x, k):
    s = "ca" if x > 0 else "a.b"
    try:
        found = s[k]
    except IndexError:
        found = "none"
    return found, s[-k], s[0], {"a": 1, ".": 2, "b": 3, "none": 4, "c": 5}[found]


def indexed_in_a_loop(x, k):
    s, found, i = "ca" if x > 0 else "a.b", 0, 0
    while i < len(s):
        found += s[i] == "a"
        i += 1
    return found, (b"ca" if x > 0 else b"ab")[k % 2], b"fig"[k]


@pytest.mark.parametrize("program", [indexed, indexed_in_a_loop], ids=lambda program: program.__name__)
def test_a_text_that_is_one_of_several_is_indexed_by_a_traced_number(program):
    for x, k in ((1, 1), (0, 1), (0, 2), (1, 2), (1, 0)):
        found = staged.function(program)(jnp.int32(x), jnp.int32(k))
        assert found == program(x, k), (found, program(x, k))


def test_an_index_beyond_the_text_that_a_condition_selects_raises():
    with pytest.raises(IndexError, match="string index out of range"):
        ag.function(lambda x, k: ("ca" if x > 0 else "a.b")[k])(jnp.int32(1), jnp.int32(2))
