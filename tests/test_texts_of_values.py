"""Texts of traced values: made when the program has run; read before that, they are refused in words."""

from __future__ import annotations

import reprlib
import string
import urllib.parse

import jax
import jax.numpy as jnp
import pytest

import autograph as ag
from tests import staged


def formatted(x):
    return f"{x:.2f}", "%d of %s" % (x, "k"), "{:>6.1f}|{}".format(x, 3), format(x, ".3f")  # noqa: UP031, UP032


def formatted_by_methods(x):
    form, named = "{:.2f}".format, {"a": x, "b": [x]}
    return (
        "{a:.1f}".format_map(named),
        form(x),
        [*map("<{:.0f}>".format, [x, 2 * x])],
        "{a:.1f}{b[0]:.0f}".format_map(named),
        str(object=x),
    )


def concatenated(x):
    return "a" + f"{x:.1f}" + "b", ["c" + f"{x:.0f}"]


def chosen_values(x):
    y = x * 2 if x > 1 else -x
    return {"text": f"{y:.3f}"}


def with_a_constant(x):
    mode = "low" if x < 0 else "high"
    return f"{mode}: {x:.1f}"


class Point:
    def __init__(self, x):
        self.x = x

    def __str__(self):
        return f"<{self.x:.1f}>"


def by_an_object(x):
    return str(Point(x))


def kept_and_raised(x):
    message = f"{x:.1f} is bad"
    if x > 0:
        raise ValueError(message)
    return message


@pytest.mark.parametrize("x", [2.0, -3.5])
@pytest.mark.parametrize(
    "program",
    [formatted, formatted_by_methods, concatenated, chosen_values, with_a_constant, by_an_object, kept_and_raised],
)
def test_a_function_returns_the_text(program, x):
    try:
        wanted = program(x)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            staged.function(program)(jnp.float32(x))
        return
    assert staged.function(program)(jnp.float32(x)) == wanted


def test_a_text_is_printed(capsys):
    @ag.function
    def f(x):
        message = f"x is {x:.1f}"
        print(message)
        return x

    f(jnp.float32(2.0))
    jax.effects_barrier()
    assert capsys.readouterr().out == "x is 2.0\n"


def test_out_of_jit_comes_what_shows_as_the_text():
    assert str(jax.jit(ag.convert(lambda x: f"{x:.2f}"))(2.0)) == "2.00"


@pytest.mark.parametrize(
    "use",
    [
        lambda x: str(x) == "2.0",
        lambda x: len(str(x)),
        lambda x: f"{x}".upper(),
        lambda x: list(f"{x}"),
        lambda x: {f"{x}": 1}["2.0"],
        lambda x: int(str(x)),
        lambda x: f"{x}" in ("1", "2"),
        lambda x: ",".join([f"{x}"]) == "2.0",
        lambda x: f"{x:.2f}"[0],
    ],
)
def test_a_text_that_is_read_is_refused(use):
    with pytest.raises(ag.StagingError, match=r"test_texts_of_values.py:\d+"):
        ag.function(use)(jnp.float32(2.0))


@pytest.mark.parametrize(
    "use",
    [
        lambda n: hash(n),
        lambda n: "ab".encode(n),
        lambda n: n.to_bytes(2, "big"),
        lambda n: bytes([n]),
    ],
)
def test_what_needs_a_python_value_is_refused_with_the_line(use):
    with pytest.raises(ag.StagingError, match=r"test_texts_of_values.py:\d+(.|\n)*\n  "):
        ag.function(use)(jnp.int32(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: string.Template("x is $x").substitute(x=x),
        lambda x: string.Formatter().format("{}", x),
        lambda x: reprlib.repr([x]),
        lambda x: urllib.parse.urlencode({"x": x}),
        lambda x: x.__str__(),
    ],
)
def test_a_text_that_unconverted_code_makes_of_a_tracer_is_refused(make):
    for form in (ag.function(make), jax.jit(ag.convert(make))):
        with pytest.raises(
            ag.StagingError, match=r"test_texts_of_values.py:\d+(.|\n)*, which is not converted, makes a string"
        ):
            form(jnp.float32(2.0))
    assert isinstance(ag.function(make)(2.0), str)


@pytest.mark.parametrize("n", [25, 35, 24, -25, 14, 0])
def test_rounding_to_tens(n):
    assert ag.function(lambda n: round(n, -1))(jnp.int32(n)) == round(n, -1)


def test_a_printed_signature_shows_what_texts_are_made_of():
    def f(x):
        text = f"{x:.2f} of " + "%d" % x
        return text, "value " + text

    made = ag.function(f).get_concrete_function(jnp.float32(2.5))
    assert "of <1>" in made.pretty_printed_signature() and made(jnp.float32(2.5)) == ("2.50 of 2", "value 2.50 of 2")
    assert repr(ag.function(f)(jnp.float32(2.5))[0]) == "'2.50 of 2'"


def test_the_repr_of_a_number_is_that_of_python(capsys):
    def program(n, x):
        count = 0
        while count < n:
            count += 1
        print(f"{count=} {x!r}")
        return (
            repr(count),
            f"{count=}",
            f"{x!r}|{x!a}|{x=:.3f}",
            "%r %a" % (n, x),
            "{!r}".format(x),
            ascii(n),
            repr([n, x]),
        )  # noqa: UP032

    assert ag.function(program)(jnp.int32(3), jnp.float32(0.1)) == program(3, 0.1)
    texts = jax.jit(ag.convert(program))(jnp.int32(3), jnp.float32(0.1))
    assert tuple(text.resolve() for text in texts) == program(3, 0.1)
    jax.effects_barrier()
    assert set(capsys.readouterr().out.splitlines()) == {"count=3 0.1"}


def roman(n):
    text = ""
    for value, symbol in [(10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]:
        while n >= value:
            text += symbol
            n -= value
    return text


def binary(n):
    digits = ""
    while n > 0:
        digits = str(n % 2) + digits
        n //= 2
    return digits, f"<{digits}>"


def described(n):
    words = ["none"] if n < 1 else ["even" if n % 2 == 0 else "odd"]
    text = "count:"
    for k in range(n):
        if k % 3 == 0:
            text += f" {k}x{n / 4:.2f}"
        elif k % 3 == 1:
            text = "(" + text + ")"
    if n > 3:
        text += "!"
    label = "many" if n > 9 else f"only {n}"
    return " ".join(words), text, label


class Report:
    def __init__(self):
        self.text = ""

    def add(self, v):
        self.text += f"[{v}]" if v > 9 else "."


def reported(n):
    report = Report()
    while n > 0:
        report.add(n)
        n -= 5
    return report.text


def drawn(n):
    lines = []
    for i in range(1, n + 1):
        line = ""
        for _ in range(i):
            line += "*"
        lines.append(line)
    return "\n".join(lines)


def hexadecimal(n):
    digits = "0123456789ABCDEF"
    before, after = "", ""
    while n > 0:
        before = digits[n % 16] + before
        after = after + digits[n % 16] + digits[n % 3]
        n //= 16
    return before, after


def squares(n):
    columns = "abcdefgh"
    row = columns[n % 8] + columns[n // 8 % 8]
    short = "xy"[n % 2] + "pqr"[n % 3]
    both = columns[n % 8] + columns[n % 8]
    return row, short, short == "yp", both, row + "." + both


def checked(v):
    if v > 100:
        raise OverflowError(f"{v} is too large")
    if v == 3:
        raise KeyError(v)
    if v == 14:
        raise ValueError("even", v)
    return v


def explained(n):
    message = "none"
    try:
        checked(n)
    except Exception as error:
        message = f"{type(error).__name__}: {error}" if n > 10 else str(error)
    return message


@pytest.mark.timeout(60)
@pytest.mark.parametrize("program", [roman, binary, described, reported, drawn, hexadecimal, squares, explained])
def test_texts_grow_in_loops_and_differ_by_path(program):
    staged = ag.function(program)
    for n in (0, 3, 14, 255):
        assert staged(jnp.int32(n)) == program(n)


@pytest.mark.timeout(60)
def test_a_text_of_many_parts():
    def bits(number):
        text = ""
        for _ in range(40):
            text += str(number % 2)
            number //= 2
        return text

    for number in (0, 2873):
        assert staged.function(bits)(jnp.int32(number)) == bits(number)


def test_a_growing_text_under_jit_is_resolved_outside():
    def signs(x):
        text = ""
        for v in x:
            text += "+" if v > 0 else "-"
        return text

    x = jnp.arange(40) - 20
    assert jax.jit(ag.convert(signs))(x).resolve() == signs(x)


def test_growing_texts_of_a_batch_are_resolved_row_by_row():
    def bars(n):
        text = ""
        while n > 0:
            text += "|"
            n -= 1
        return text

    found = ag.function(jax.vmap(ag.convert(bars)))(jnp.array([2, 0, 3]))
    assert str(found) == "<3 texts>"
    assert [jax.tree.map(lambda leaf, k=k: leaf[k], found).resolve() for k in range(3)] == ["||", "", "|||"]


@pytest.mark.parametrize(
    "text",
    [
        lambda n: f"{n:.1f}",
        lambda n: str(n),
        lambda n: chr(97 + n),
        lambda n: "x" + "".join([str(n), "ab"[n % 2]]),
        lambda n: "x" * n + "y",
        lambda n: "".join(chr(97 + n + k) for k in range(2))[::-1],
        lambda n: str([n, 2]) + "," + str(jnp.array([n, 2])),
    ],
)
def test_texts_of_a_batch_are_resolved_row_by_row(text):
    numbers = jnp.array([2, 0, 3])
    for compiled in (ag.function, jax.jit):
        found = compiled(jax.vmap(ag.convert(text)))(numbers)
        assert str(found) == "<3 texts>"
        rows = [jax.tree.map(lambda leaf, k=k: leaf[k], found).resolve() for k in range(3)]
        assert rows == list(map(text, numbers.tolist()))


def test_a_text_joined_of_constants_is_resolved_outside():
    def marks(x):
        found = []
        for v in x:
            if v != 0:
                found.append("+" if v > 0 else "-")
        return "".join(found), ["<" + ",".join(found) + ">"]

    x = jnp.arange(5) - 2
    text, [other] = jax.jit(ag.convert(marks))(x)
    assert (text.resolve(), [other.resolve()]) == ag.function(marks)(x) == marks(x)


@pytest.mark.parametrize(
    "text",
    [
        lambda x: "a" + f"{x:.1f}",
        lambda x: f"{x}" + "b" + str(x),
        lambda x: ", ".join(["a", str(x)]),
        lambda x: str(["a", x]),
        lambda x: "{} {}".format("a", x),  # noqa: UP032
    ],
)
def test_a_text_with_constants_is_resolved_outside(text):
    assert jax.jit(ag.convert(text))(jnp.float32(2.5)).resolve() == ag.function(text)(jnp.float32(2.5)) == text(2.5)


def banner(n):
    return "#" * n


def twice_repeated(n):
    return f"{n}-" * n + "." * 2 + 2 * ("=" * n)


def repeated_in_a_loop(n):
    text = ""
    while n > 0:
        text += "ab" * (n % 3) + "|"
        n -= 1
    return text


def repeated_by_path(n):
    return "<" + ("+" * n if n > 2 else "-" * (3 - n)) + ">"


@pytest.mark.parametrize("program", [banner, twice_repeated, repeated_in_a_loop, repeated_by_path])
def test_repeated_as_often_as_the_run_says(program):
    made = ag.function(program)
    for n in (0, 1, 3, 7):
        assert made(jnp.asarray(n)) == program(n)


def test_a_text_is_not_repeated_a_fraction_of_times():
    with pytest.raises(TypeError):
        ag.function(lambda x: "#" * x)(jnp.float32(2.0))


def shout(text):
    return text + "!"


def raised_by_path(x):
    if x < 5:
        raise ValueError("low" if x < 0 else f"{x} is middling")
    return x


def raised_of_parts(x):
    if x < 5:
        raise ValueError(("low" if x < 0 else f"{x} is middling") + f" of {x}", x or f"{x} is zero")
    return x


def raised_of_calls(x):
    if x < 5:
        raise ValueError(f"{shout(f'{x}')} is {'a' if x > 0 else f'b{x}'}")
    return x


@pytest.mark.parametrize("program", [raised_by_path, raised_of_parts, raised_of_calls])
def test_texts_of_parts_of_texts_in_errors(program):
    run = ag.function(program)
    for x in (3, -2, 0, 7):
        try:
            wanted = program(x)
        except Exception as error:
            with pytest.raises(type(error)) as found:
                run(jnp.array(x))
            assert str(found.value) == str(error)
        else:
            assert run(jnp.array(x)) == wanted


def test_texts_of_calls_on_texts_are_printed(capsys):
    @ag.function
    def f(x):
        print(f"{shout(f'{x}')} is {'a' if x > 0 else f'b{x}'}")

    for x in (3, -2):
        f(jnp.array(x))
    jax.effects_barrier()
    assert capsys.readouterr().out == "3! is a\n-2! is b-2\n"
