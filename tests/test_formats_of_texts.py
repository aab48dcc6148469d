"""Texts of traced integers, and of other texts, in a format: read when the program runs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged

NUMBERS = [0, -7, 99, 123456, -1234567]

# Each makes a text of a number.
FORMATS = {
    "zeros": lambda n: f"{n:05d}",
    "zeros without a kind": lambda n: f"{n:03}",
    "right": lambda n: f"{n:5}|{n:>7d}|{n:0>4}",
    "left": lambda n: f"{n:<6}|{n:<05d}|{n:x<4}",
    "middle": lambda n: f"{n:^6}|{n:^7d}|{n:*^8}",
    "after the sign": lambda n: f"{n:=5}|{n:*=+8}|{n:-3d}",
    "signs": lambda n: f"{n:+d}|{n: d}|{n:+05d}|{n: 05d}",
    "bases": lambda n: f"{n:08b}|{n:o}|{n:x}|{n:X}|{n:04X}",
    "prefixes": lambda n: f"{n:#x}|{n:#06x}|{n:#b}|{n:#o}|{n:#X}|{n:#d}",
    "groups": lambda n: f"{n:,}|{n:_}|{n:12,}|{n:_b}|{n:_x}|{n:<,}",
    "str": lambda n: f"{str(n):<6}|{n!s:>6}|{n!r:^7}|{repr(n):.2}",
    "of str.format": lambda n: "{0:04d}|{0:>5}|{0!s:<4}|{0}".format(n),  # noqa: UP032
    "format": lambda n: format(n, "06d") + format(str(n), "*^9"),
    "texts in texts": lambda n: f"{f'{n}-{n}':>9}|{chr(97 + n % 26) * 3:^6}|{str(n).zfill(4):<6}",
    "a text of two": lambda n: (
        f"{'ab' if n > 5 else 'cdefghi':>5}|{'x' if n > 5 else 'yz':^4}|{'abc' if n > 5 else 'd':.2s}"
    ),
}


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_a_text_in_a_format_is_read(make):
    def program(n):
        text = make(n)
        return text, len(text), text[1:], text == text[::-1], [c for c in text if c != "0"], text + "."

    compiled = staged.function(program)
    assert [compiled(jnp.int32(n)) for n in NUMBERS] == list(map(program, NUMBERS))


def clock(minutes):
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    hours, rest = text.split(":")
    return text == "07:05", text < "12:00", int(hours) * 60 + int(rest), {"07:05": 1}.get(text, 0)


def rows(n):
    lines = []
    for i in range(n):
        lines.append("|".join(f"{i * j:>3}" for j in range(1, 4)))
    return "\n".join(lines), sum(len(line.strip()) for line in lines), max(lines, default="")


def bits(n):
    ones = 0
    for c in f"{n:b}":
        ones += c == "1"
    digits = [int(c) for c in f"{n:04b}"]
    return ones, f"{n:08b}".count("1"), f"{n:08b}"[::-1], digits, [c for c in f"{n}-"], {c: 1 for c in f"{n}-"}


@pytest.mark.parametrize("program", [clock, rows, bits])
def test_a_program_reads_texts_in_formats(program):
    compiled = staged.function(program)
    assert [compiled(jnp.int32(n)) for n in (0, 3, 425)] == list(map(program, (0, 3, 425)))


def test_texts_in_formats_under_transforms():
    count = ag.convert(lambda n: f"{n:06b}".count("1") + len(f"{n:>9}".strip()))
    numbers = [0, 5, 37]
    assert list(map(int, jax.vmap(count)(jnp.array(numbers)))) == [f"{n:06b}".count("1") + len(str(n)) for n in numbers]
    assert int(jax.jit(count)(37)) == 5


PERCENT = {
    "integers": lambda n: "%d,%i,%u" % (n, n + 1, n),  # noqa: UP031
    "width": lambda n: "%5d|%-5d|%05d|%+d|% d" % (n, n, n, n, n),  # noqa: UP031
    "bases": lambda n: "%x %#X %o %#06x" % (n, n, n, n),  # noqa: UP031
    "texts": lambda n: "%5s|%-5s|%.2s|%4.1s|%r|%s" % (n, n, n, n, n, n > 1),  # noqa: UP031
    "names": lambda n: "%(a)d of %(b)s, %(a)03d%%" % {"a": n, "b": "ten"},  # noqa: UP031
    "characters": lambda n: "%c%c" % (n % 26 + 65, 66),  # noqa: UP031
    "beside constants": lambda n: "%d %5.1f %s %%" % (n, 2.0, None),  # noqa: UP031
    "a tuple": lambda n: "%02d:%02d" % divmod(abs(n), 60),
    "of each other": lambda n: "%6s" % ("%03d" % n),  # noqa: UP031
}


@pytest.mark.parametrize("make", PERCENT.values(), ids=PERCENT)
def test_percent_formats_are_read(make):
    compiled = staged.function(lambda n: (make(n), make(n)[::-1], len(make(n))))
    for n in (0, 7, -12, 4567):
        assert compiled(jnp.int32(n)) == (make(n), make(n)[::-1], len(make(n)))


def test_percent_formats_raise_as_python_does():
    with pytest.raises(TypeError, match="not enough arguments"):
        ag.function(lambda n: "%d %d" % (n,))(jnp.int32(1))  # noqa: F507
    with pytest.raises(TypeError, match="not all arguments"):
        ag.function(lambda n: "%d" % (n, n))(jnp.int32(1))  # noqa: F507


NAMES = [f"month {k}" * (k % 3 + 1) for k in range(16)]


@pytest.mark.parametrize(
    "make",
    [
        lambda name, n: (f"{name} {n:02d}", f"{name:>9}|{n}"[2:]),
        lambda name, n: "%s %d" % (name, n),  # noqa: UP031
        lambda name, n: f"{name}: {n / 2:.1f}",
    ],
    ids=["read", "percent", "floats"],
)
def test_a_number_beside_one_of_many_constants(make):
    """A branch for each constant, each traced again to find room for its characters, would take a trace for each of their subsets."""

    def date(n):
        for name in NAMES:  # noqa: B007
            if n <= 3:
                break
            n -= 3
        return make(name, n)

    compiled = ag.function(date)
    for n in (0, 5, 48):
        assert compiled(jnp.int32(n)) == date(n)


CUT = {
    "of a list": lambda n: f"{[n]!s:>5}",
}


@pytest.mark.parametrize("make", CUT.values(), ids=CUT)
def test_what_python_pads_or_cuts_is_refused_where_it_is_read(make):
    """The text that stands for the number while tracing has another length than the number's."""
    assert staged.function(make)(jnp.int32(123)) == make(123)
    with pytest.raises(ag.StagingError, match="in a format"):
        ag.function(lambda n: make(n)[1:])(jnp.int32(123))
