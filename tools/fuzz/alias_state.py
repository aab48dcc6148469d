"""Generate code in which several names and places lead to the same rows, Variables or arrays, of which conditions choose."""

from __future__ import annotations

from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.exception_state import ExceptionState
from autograph.tools.fuzz.expressions import INT
from autograph.tools.fuzz.long_loops import Form
from autograph.tools.fuzz.statements import Maker

PREAMBLE_OF_ROWS = """\
class Pair:
    def __init__(self, u, v):
        self.u, self.v = u, v


def either(one, other, test):
    if test:
        return one
    return other


"""

PREAMBLE_OF_VARIABLES = """\
weights = [ag.Variable(0), ag.Variable(0), ag.Variable(0)]


class Holder:
    def __init__(self, held):
        self.held = held

    def bump(self, amount):
        if amount > 1:
            self.held.assign_add(amount)
        return self.held


def either_of(one, other, test):
    if test:
        return one
    return other


def least_of(several):
    least = several[0]
    for each in several:
        if each < least:
            least = each
    return least


"""

PREAMBLE_OF_ARRAYS = """\
class Held:
    def __init__(self, held):
        self.held = held

    def part(self):
        return self.held


def cleared(a):
    a[a > 5] = 0
    return a


def stamped(a, k):
    a[k % 3] = 1


def either_part(m, a, test):
    if test:
        return m[1]
    return a


def first_over(m, limit):
    for row in m:
        if row[0] > limit:
            return row
    return np.full(3, limit)


def largest(m, a):
    found = a
    for k in range(len(m)):
        if m[k].sum() > found.sum():
            found = m[k]
    return found


"""

# By kind: how a row is made, and its two parts.
_ROWS = {
    "lists": ("[{}, {}]", "[0]", "[1]"),
    "dicts": ("{{'u': {}, 'v': {}}}", "['u']", "['v']"),
    "objects": ("Pair({}, {})", ".u", ".v"),
}
_HELD = ("[x#, y#, w#]", "[x#, y#, x#]", "[x#, y#, w#][:]", "[w#, *[x#, y#]]")


def _rows(make: str, first: str, second: str) -> tuple[Step, ...]:
    """Steps that bind, exchange, compare and write rows by the names and the places that lead to them."""
    places = ("0", "1", "2", "$ % 3", "& % 3", "$ % 2")
    read: tuple[Step, ...] = tuple(f"one# = rows#[{place}]" for place in places)
    exchanged: tuple[Step, ...] = tuple(
        f"rows#[{one}], rows#[{other}] = rows#[{other}], rows#[{one}]"
        for one, other in zip(places, places[2:] + places[:2], strict=True)
    )
    return (
        *read, *exchanged, "one#, two# = two#, one#", f"one#{first} += &", f"one#{second} = @ % 7", f"rows#[$ % 3]{second} -= &",
        f"rows#[& % 2]{first} += 1", "two# = one# if ? else w#", "two# = one# if ? else rows#[$ % 3]", "two# = x# if one# is y# else one#",
        "two# = y#", "one# = w#", f"x#{first} += 7", f"y#{second} += 7", f"w#{first} -= &", f"two#{first} = two#{first} * 2 % 31 + 1",
        ("if one# is two#:", "@ += 1"), ("if one# is not x#:", "@ += 2"), ("if rows#[$ % 3] is one#:", f"one#{second} += 5"),
        (f"if one#{first} > ^:", "one# = two#"), (f"if two#{first} > one#{first}:", "one#, two# = two#, one#"),
        "one# = either(one#, two#, ?)",
        "rows#[$ % 3] = one#", "rows#[0] = two# if ? else w#", "d#['a'] = one#", "two# = d#['b']", f"d#['b' if ? else 'a']{first} += 1",
        "d#['a'], d#['b'] = d#['b'], d#['a']", f"@ += g#[0]{first}", "g#.rotate(1)", f"g#[-1]{second} += &", "one# = g#[0]",
        f"for e# in rows#: e#{first} += 1", f"@ += sum(e{second} for e in rows#) % 19", f"@ += (one#{first} - two#{second}) % 11",
        f"w# = {make.format('&', '^')}", "one# = sorted(rows#, key=lambda e: e" + first + ")[0]",
        ("for e# in rows#:", f"if e#{first} > ^: one# = e#; break"),
        ("for e# in (x#, y#, w#):", f"if e#{second} > &: two# = e#; break", "else:", "two# = w#"),
        ("for k#, e# in enumerate(rows#):", f"if e#{second} > ^: e#{first} += 5; one# = e#; @ += k#; break"),
        f"two# = next((e for e in rows# if e{first} > ^), x#)", f"one# = max(rows#, key=lambda e: e{first} - ^)",
        ("try:", f"if one#{first} > &: raise KeyError(1)", "two# = one#", "except KeyError:", f"x#{second} += 1"),
        ("try:", "one# = y#", f"if two#{second} > ^: raise ValueError", "one# = two#", "except ValueError:", f"one#{first} += 1"),
        *(("one# = (? and x#) or two#",) if first == ".u" else ()),
    )  # fmt: skip


_VARIABLES: tuple[Step, ...] = (
    "one# = two# if ? else w#[1]", "two# = w#[$ % 3]", "one# = w#[& % 3]", "one#, two# = two#, one#", "one#.assign(&)",
    "one#.assign_add(^)", "two# -= 1",
    "w#[& % 3].assign_add(1)", ("if one# is two#:", "@ += 1"), ("if one# is w#[0]:", "@ += 2"), "@ += int(one#) % 11",
    "@ += int(two# * 2) % 7",
    "d#['a'], d#['b'] = d#['b'], d#['a']", "d#['a'] = one#", "two# = d#['b']", "d#['b' if ? else 'a'].assign_add(2)", "o#.held = one#",
    "one# = o#.held", "@ += int(o#.bump(&)) % 9", "one# = either_of(one#, two#, ?)", "two# = least_of(w#)",
    "least_of([one#, two#]).assign_add(^)",
    ("for e# in w#:", "if e# > two#: two# = e#"), "one# = max(one#, two#)", "two# = min(w#)", "one#.assign(two# % 13)",
    "k# = None if ? else two#",
    ("if k# is not None:", "k#.assign_add(1)"), "m# = one# if ? else @ % 3", "@ += int(m#) % 5", "s#.append(one#)",
    ("if s#:", "s#[-1].assign_add(1)"), ("for e# in s#:", "@ += int(e#) % 3"), ("if len(s#) > 3:", "s#.pop(0)"), "g#.rotate(1)",
    "g#[0].assign_add(1)", "two# = g#[-1]", ("if two# > one#:", "one# = two#"), ("if one# == ^:", "one#.assign(2)"), "one# = w#[2]",
    ("for e# in w#:", "e#.assign_sub(1)"), "one# = sorted(w#, key=lambda e: -e)[1]", "o# = Holder(one#) if ? else Holder(two#)",
    "w#[$ % 3] = one#", "w#[0], w#[1] = w#[1], w#[0]", "two# = [one#, two#, w#[0]][$ % 3]",
)  # fmt: skip

_ARRAYS: tuple[Step, ...] = (
    "one#[$ % 3] = & % 7", "two#[0] += & % 5", "one# += 1", "x# += 2", "y# -= 1", "one# %= 11", "two# = one#", "one#, two# = two#, one#",
    "one# = x# if ? else y#", "two# = x#.copy()", "two# = y# + 1", "r#[$ % 3] = & % 9", "r# += 1", "m#[0, 1] += 1", "m#[& % 2, 2] = 3",
    "m#[1] = one#", "m#[0][$ % 3] = 4", "one# = m#[0]", "r# = m#[1]", "s#.append(one#)", "s#[0][1] += 2", "two# = s#[-1]",
    "d#['a'] = one#", "d#['a'][2] -= 1", "two# = d#['a']", "o#.held = one#", "o#.held[0] = & % 5", "one# = o#.held", "two# = o#.part()",
    "cleared(one#)", "two# = cleared(two#)", "cleared(m#)", "stamped(x#, &)", "stamped(m#[0], $)", "@ += int(one#.sum()) % 9",
    "@ += int(r#[1]) % 7", "@ += int(cleared(y#).sum()) % 5", ("if one#[0] > ^:", "one# = y#"), ("if two#[1] > one#[1]:", "two#[1] = 0"),
    ("for e# in m#:", "e#[0] += 1"), ("for e# in s#:", "e#[2] = 1"), "t# = x#[1:]", "t#[0] = & % 6", "@ += int(t#[-1]) % 3",
)  # fmt: skip

_FORMS_OF_ROWS: dict[str, Form] = {
    f"{kind} {number}": (
        (
            *(
                f"{name}# = {make.format(start, number)}"
                for name, start, number in zip("xyw", "013", "210", strict=True)
            ),
            f"rows# = {held}",
            "one#, two# = x#, rows#[1]",
            "d# = {'a': x#, 'b': w#}",
            "g# = deque(rows#)",
        ),
        _rows(make, first, second),
        (
            *(f"sum(e{part} * k for k, e in enumerate(rows#))" for part in (first, second)),
            *(f"sum(e{part} * k for k, e in enumerate((x#, y#, w#, one#, two#)))" for part in (first, second)),
            "int(one# is two#) + 2 * int(one# is x#)",
            f"g#[0]{first}",
            f"d#['b']{second}",
            "@",
        ),
    )
    for kind, (make, first, second) in _ROWS.items()
    for number, held in enumerate(_HELD)
}
_FORMS_OF_VARIABLES: dict[str, Form] = {
    "variables": (
        (
            "w# = [each.assign(k) for k, each in enumerate(weights)]",
            "one#, two#, k#, m# = w#[0], w#[1], None, 1",
            "d# = {'a': w#[0], 'b': w#[2]}",
            "o# = Holder(w#[1])",
            "s# = []",
            "g# = deque(w#)",
        ),
        _VARIABLES,
        (
            "int(one#) % 97", "int(two#) % 97", "sum(int(e) * k for k, e in enumerate(weights)) % 97",
            "int(one# is two#) + 2 * int(one# is w#[0])",
            "int(d#['a']) % 97", "int(o#.held) % 97", "sum(int(e) for e in s#) % 97", "int(g#[0]) % 97", "int(m#) % 97", "@",
        ),
    )
}  # fmt: skip


_FORMS_OF_ARRAYS: dict[str, Form] = {
    "arrays": (
        (
            "x#, y# = np.zeros(3, np.int32), np.arange(3, dtype=np.int32)",
            "m# = np.ones((2, 3), np.int32)",
            "one#, two#, r#, t# = x#, y#, m#[1], x#[1:]",
            "s#, d#, o# = [x#], {'a': y#}, Held(y#)",
        ),
        _ARRAYS,
        (
            *(f"int(({name}# * np.array([1, 2, 3])).sum()) % 97" for name in ("x", "y", "one", "two", "r")),
            "int(m#.sum()) % 97", "int(t#.sum()) % 97", "int(sum(e.sum() for e in s#)) % 97", "int(d#['a'].sum()) % 97",
            "int(o#.held.sum()) % 97", "@",
        ),
    )
}  # fmt: skip


class AliasState(ExceptionState):
    """The part of the writer of programs that binds several names to rows, Variables and arrays."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        own = {
            "rows by several names": _FORMS_OF_ROWS,
            "selected variables": _FORMS_OF_VARIABLES,
            "arrays by several names": _FORMS_OF_ARRAYS,
        }
        return makers + [
            (10, lambda forms=forms: self._by_several_names(forms))
            for name, forms in own.items()
            if name in self.features
        ]

    def _by_several_names(self, forms: dict[str, Form]) -> None:
        """Some steps of one of these forms, a loop of others, perhaps in a function, and further ones."""
        starts, steps, uses = forms[self.random.choice(tuple(forms))]
        number, total = self._begin(*map(self._start, starts))
        self._straight(number, total, steps)
        self._of_steps(number, total, starts, steps, may_be_long=False)
        self._straight(number, total, steps)
        self._end(number, total, uses)

    def _straight(self, number: str, total: str, steps: tuple[Step, ...]) -> None:
        for step in self.random.choices(steps, k=self.random.choice((0, 1, 2, 3))):
            names = {"#": number, "@": total, "$": self._operand(INT), "&": self._operand(INT)}
            self._step(step, names)
