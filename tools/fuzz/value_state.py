"""Generate loops whose state is values that grow, or are of another kind, by path, are sorted, copied, ordered by use, or linked."""

from __future__ import annotations

from collections.abc import Sequence

from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.expressions import INT
from autograph.tools.fuzz.long_loops import Form, LongLoops
from autograph.tools.fuzz.statements import Maker

PREAMBLE_OF_VALUES = """\
import copy
import enum
from collections import Counter, OrderedDict


class Mood(enum.Enum):
    GLAD = 1
    SAD = 2


class Link:
    def __init__(self, value, following=None):
        self.value = value
        self.following = following


class Ball:
    bounces = 1
    place = (0, 2)
    held = None


class Shelf:
    def __init__(self, first):
        self.label = ""
        self.pair = (first, 0)
        self.items = [first]

    def put(self, item):
        if item > self.pair[0]:
            self.pair = (item, self.pair[0])
            self.label += "+"
        else:
            self.label = "-" + self.label[:2]
        self.items.append(item)
        return len(self.label)


def weighed(value):
    match value:
        case None:
            return 5
        case "none" | "a":
            return 1
        case str(text):
            return len(text)
        case (first, second):
            return first - second
        case [first, *others]:
            return first + len(others)
        case Link(value=held):
            return held
        case number:
            return number * 2


def parted(value, limit):
    if value > limit + 2:
        return [value, limit, 1]
    if value < limit:
        return "low"
    return value


def named(kept, value, limit):
    found = kept if value > limit else "none"
    kept.append(value % 5)
    if isinstance(found, list):
        found[0] += 1
    return len(found)


def summed(value, limit):
    found = {"n": value} if value > limit else 0 - limit
    if isinstance(found, dict):
        found["m"] = limit
        return sum(found.values())
    return found


"""

_TEXTS: tuple[Step, ...] = (
    "t# += 'a'", "t# += 'bc'", "t# = 'd' + t#", "@ += len(t#)", ("if 'a' in t#:", "@ += 1"), ("if t# == u#:", "@ += 2"),
    ("if t#.startswith('a'):", "@ += ^"), ("if t#.endswith('c'):", "t# = t#[:-1]"), ("if len(t#) > 3:", "t# = t#[1:]"),
    "u# = t#", "t#, u# = u#, t#", "t# = t#[-2:]", "@ += t#.count('a')", "t# = t#.upper()", "t# = t#.replace('a', 'e')",
    "t# = f\"{t#}{'x' if ? else 'y'}\"", ("if t# and t#[-1] == 'c':", "@ -= 1"), "t# = 'ab' if ? else t#",
    ("if t# in ('a', 'ab', 'da'):", "@ += 3"), ("for e# in t#:", "@ += 1 if e# == 'a' else 2"), "t# = ''.join([t#, 'a'])",
    ("if t# < u#:", "@ += 1"), ("if not t#:", "t# = 'ba'"), "m#['n'] += 'a'", ("if m#['n'].endswith('aa'):", "m#['n'] = ''"),
    "t# += chr(97 + $ % 3)", "t# += str(@ % 12)", "@ += sum(int(e) for e in str(abs(@) % 997))", "t# = ''.join(sorted(t#))",
    ("if str(@) == str(@)[::-1]:", "@ += 1"), "@ += len(t#.split('a'))", "@ += t#.find('b', $ % 2)", "u# = t#.strip('a')",
    "@ += ord(t#[-1]) % 5 if t# else ^", "@ += len(set(t#))", "@ += bin(abs(@) % 64).count('1')", "u# = t#.partition('b')[2]",
    "@ += 'abc'.find(t#[:1])", "u# = '-'.join([t#[:1], u#[:2]])", "@ += int(u#.zfill(2) == 'ab')",
    ("if t# == ''.join(reversed(t#)):", "@ += 2"), ("if ''.join([e for e in t# if e != 'a']) == u#:", "@ -= 1"),
    ("for k, e# in enumerate(reversed(t#)):", "@ += k if e# == 'a' else 1"), "@ += sum(a < b for a, b in zip(t#, u#))",
    "@ += len(m#['n'])", "u# = t# + u#[:1]", "m#['n'] = t#", "t# = t#[::-1]", "@ += {'a': 1, 'ab': 2}.get(t#, ^)",
)  # fmt: skip

_TUPLES: tuple[Step, ...] = (
    "p# += (&,)", "p# = (*p#, @ % 5)", "p# = p# + (^, &)", "@ += sum(p#)", "@ += len(p#)", ("if p#:", "@ += p#[-1]"),
    ("if len(p#) > 3:", "p# = p#[-2:]"), ("if p#:", "p# = p#[1:]"), ("for e# in p#:", "@ += e# - ^"), "q# = p#",
    "p#, q# = q#, p#", ("if p# == q#:", "@ += 1"), ("if & in p#:", "@ += 2"), "q# = (&, *p#[:2])", ("if p# < q#:", "@ -= 1"),
    "p# = p#[::-1]", ("if len(p#) == 2:", "@ += p#[0] - p#[1]"), "@ += max(p#, default=^)", "p# = tuple(sorted(p#))",
    "p# = tuple(e for e in p# if e > ^)", "p# = () if ? else p#", "q# = p# if len(p#) > len(q#) else q#",
    ("if p#:", "e#, *r# = p#", "@ += e# + len(r#)"), "@ += p#.count(&)", ("if p#:", "@ += p#[$ % len(p#)]"),
    "p# = p# * 2 if len(p#) < 2 else p#", "@ += sum(e * k for k, e in enumerate(p#))",
)  # fmt: skip

_SORTED: tuple[Step, ...] = (
    "r#.append((&, @ % 5))", "r#.append((@ % 3, $))", "r#.sort()", "r#.sort(key=lambda e: -e[1])", "r#.sort(reverse=True)",
    ("if r#:", "@ += max(r#)[0] - min(r#)[1]"), ("if r#:", "@ += max(r#, key=lambda e: e[1])[0]"), "r# = sorted(r#)[:3]",
    ("for e#, g# in sorted(r#, key=lambda e: (e[1], -e[0])):", "@ = (@ * 2 + e# - g#) % 17"), "@ += len(r#)",
    ("if r#:", "@ += min(r#, key=lambda e: (e[0], -e[1]))[1]"), "s# = sorted(e for e, _ in r#)", "@ += sum(s#[:2])",
    "s# = sorted({&, @ % 3, ^})", ("if len(r#) > 3:", "r#.pop(0)"), "r# = sorted(r#, key=lambda e: e[0] % 3)",
    "@ += sum(e * k for k, (e, _) in enumerate(sorted(r#, reverse=True)))", "s# = [e for e, g in r# if e > g]",
    ("if sorted(r#) == r#:", "@ += 1"), "@ += sorted([&, @, ^])[1]", "s# = sorted(s#, key=lambda e: -e) + [&]", "r#.reverse()",
)  # fmt: skip

_COPIES: tuple[Step, ...] = (
    "c# = copy.deepcopy(o#)", "c# = copy.copy(o#)", "o#.items.append(&)", "c#.items.append(^)", "@ += len(c#.items)",
    "@ += sum(o#.items) - c#.pair[0]", "@ += o#.put(&)", "@ += c#.put(@ % 4)", "o#.pair = (&, o#.pair[0])", "@ += c#.pair[1]",
    ("if c# is o#:", "@ += 1"), ("if c#.items == o#.items:", "@ += 2"), ("if c#.label == o#.label:", "@ += 3"), "c# = o#",
    "d#['xs'].append(&)", "e# = copy.deepcopy(d#)", "e# = dict(d#)", "e#['xs'].append(^)", "@ += len(d#['xs'])", "d#['n'] += &",
    "e#['n'] -= 1", "@ += sum(e#['xs']) + e#['n']", "d# = {**e#, 'n': &}", "x# = o#.items[:]", "x# = list(c#.items)",
    "x#.append(&)", "o#.items = x#", "@ += len(o#.label)", ("if o#.label.endswith('+'):", "@ += 1"), "x# = copy.copy(d#['xs'])",
    ("if len(o#.items) > 3:", "o#.items.pop(0)"), "o# = Shelf(&)", ("if o#.items is c#.items:", "@ += 1"),
)  # fmt: skip

_ORDERED: tuple[Step, ...] = (
    "d#[$ % 3] = &", "d#[@ % 3] = d#.get(@ % 3, 0) + 1", ("if $ % 3 in d#:", "d#.move_to_end($ % 3)"),
    ("if len(d#) > 2:", "@ += d#.popitem(last=False)[1]"), ("if d#:", "@ += d#.popitem()[0]"), "@ += len(d#)",
    ("for k#, v# in d#.items():", "@ = (@ * 3 + k# - v#) % 17"), ("if d#:", "@ += next(iter(d#))"), "@ += d#.pop(& % 3, ^)",
    ("if d#:", "@ += list(d#)[-1]"), ("if @ % 3 in d#:", "d#.move_to_end(@ % 3, last=False)"), "@ += sum(d#.values())",
    ("if $ % 3 in d#:", "@ += d#[$ % 3]", "else:", "d#[$ % 3] = &"), ("for k# in reversed(d#):", "@ = (@ * 2 + k#) % 19"),
    "d# = OrderedDict(sorted(d#.items()))", "d#.setdefault($ % 3, &)", ("if d# == {0: 1}:", "@ += 1"),
)  # fmt: skip

_SLICES: tuple[Step, ...] = (
    "@ += sum(x#[::$ % 2 + 1])", "@ += sum(x#[$ % 3::2])", "x#[:$ % 3] = [&]", "del x#[:$ % 2]", "x#[1:1] = [&, ^]",
    "@ += sum(x#[::-1][:2])", "x# = x#[::-($ % 2 + 1)]", "x#[::2] = [e + 1 for e in x#[::2]]", "x#.append(&)", "@ += len(x#)",
    ("if len(x#) > 3:", "del x#[::2]"), "x#[len(x#):] = [@ % 5]", "x#[-1:] = [&, &]", "@ += sum(x#[-($ % 3):])", "y# = x#[:]",
    "y# = x#[$ % 2:-1]", "@ += sum(y#[:@ % 3])", "y#.append(^)", "x#[:] = y#", "x# += y#[:2]", ("if y#:", "y#[-1] = &"),
    ("if x#[:2] == y#[:2]:", "@ += 1"), "x#[:2], y#[:1] = y#[:1], x#[:2]", ("if len(y#) > 4:", "y#.clear()"),
)  # fmt: skip

_MESSAGES: tuple[Step, ...] = (
    ("try:", "@ += d#['ab'[$ % 2]]", "except KeyError as e#:", "t# = str(e#)"), "@ += len(t#)", ("if t# == 'big':", "@ += 1"),
    ("try:", "if & > 1: raise ValueError('big')", "except ValueError as e#:", "t# = str(e#); @ += 1"),
    ("try:", "if @ % 2: raise KeyError($ % 3)", "except KeyError as e#:", "@ += e#.args[0]"), ("if 'b' in t#:", "@ += 2"),
    ("try:", "if & < 0: raise ValueError('low', &)", "except ValueError as e#:", "@ += len(e#.args)"), "t# = ''", "l#.append(t#)",
    ("try:", "if ?: raise IndexError('far')", "@ += 1", "except LookupError as e#:", "t# += e#.args[0]", "finally:", "@ -= 1"),
    ("try:", "@ += 6 // int(@ % 3)", "except ZeroDivisionError as e#:", "t# = type(e#).__name__"), "@ += l#.count('big')",
    ("try:", "assert &, 'none'", "except AssertionError as e#:", "l#.append(str(e#))"), "@ += len(l#)", "d#['b'] = &",
)  # fmt: skip

_LINKS: tuple[Step, ...] = (
    "h# = Link(&, h#)", ("if h# is not None:", "@ += h#.value"), ("if h# is not None:", "h# = h#.following"), "e# = h#",
    ("e# = h#", "while e# is not None:", "@ += e#.value; e# = e#.following"), ("if h# is not None:", "h#.value += &"),
    ("if h# is None:", "h# = Link(&)", "else:", "h#.following = Link(^)"), ("if e# is h#:", "@ += 1"), "h# = None",
    ("if h# is not None and h#.following is not None:", "h#.following = h#.following.following"), "h# = Link(@ % 5)",
    ("if h# is not None and h#.following is None:", "h#.following = Link(&)"), ("if e# is not None:", "e#.value = ^"),
    ("g# = None", "while h# is not None:", "h#.following, g#, h# = g#, h#, h#.following", "else:", "h# = g#"),
    ("if e# is not None:", "h# = e#"),
)  # fmt: skip

_KINDS: tuple[Step, ...] = (
    "v# = @ % 7", "v# = 'a'", "v# = (&, @ % 3)", "v# = None", "v# = 'bc' if ? else 'none'", "v# = & if ? else 'none'", "w# = v#",
    "v#, w# = w#, v#", ("if isinstance(v#, str):", "@ += len(v#)"), ("if v# == 'none':", "@ += 1", "else:", "w# = 'none'"),
    ("if isinstance(v#, tuple):", "a#, b# = v#", "@ += a# - b#"), ("if v# is None:", "@ -= 1"), "@ += weighed(v#) % 11",
    ("try:", "@ += v# + 1", "except TypeError:", "@ -= 2"), ("if v# == w#:", "@ += 1"), ("if v# in ('a', 'none'):", "@ += 2"),
    "w# = weighed(w#) % 5 if ? else w#", "x#.append('a' if ? else &)", "x#.append((&, 1) if ? else 'none')", "@ += x#.count('a')",
    ("for e# in x#:", "@ += 1 if isinstance(e#, str) else 2"), ("if x# and x#[-1] == 'a':", "@ += 3"), ("if len(x#) > 3:", "x#.pop(0)"),
    "x# = [e for e in x# if not isinstance(e, tuple)]", "d#['k'] = v#", "w# = d#['k']", "@ += sum(weighed(e) for e in x#) % 13",
    ("if not isinstance(v#, str) and not isinstance(v#, tuple) and v# is not None:", "v# = v# - 1 if v# > 0 else 'none'"),
    "v# = Link(&) if ? else &", ("if isinstance(v#, Link):", "v#.value += 1", "@ += v#.value"), "w# = (@ % 3, v# == 'a')",
    "@ += weighed(parted(&, ^)) % 11", "@ += named(y#, &, ^)", "@ += summed(@ % 7, ^)", ("if len(y#) > 4:", "del y#[1:]"),
    ("g# = [&, ^] if ? else 'none'", "if isinstance(g#, list):", "g#.append(@ % 3); @ += len(g#) + g#[0]"),
    ("g# = y# if ? else 'none'; y#.append(&)", "if g# != 'none':", "g#[0] -= 1"),
)  # fmt: skip

_MOODS: tuple[Step, ...] = (
    "d#[Mood.GLAD] += &", "d#[None] = @ % 7", ("if ?:", "d#['n'] += ^"), "c#[Mood.SAD] += 1", "m# = Mood.SAD if ? else Mood.GLAD",
    "c#[m#] += &", "@ += sum(d#.values()) % 11", ("for k#, v# in d#.items():", "@ = (@ * 3 + v#) % 17"), "@ += len(d#)",
    ("if m# is Mood.SAD:", "@ += c#[m#]"), "d# = {**d#, 'n': &}", "@ += d#[m#]", "d#[m#] -= ^", "e# = dict(d#)", "@ += e#[None]",
    "e#[Mood.SAD] = &", ("if d# == e#:", "@ += 1"), "@ += {Mood.GLAD: &, 'n': ^}[Mood.GLAD]", "d#['n'], d#[None] = d#[None], d#['n']",
    "@ += c#.get(Mood.GLAD, ^)", ("if Mood.GLAD in c#:", "@ += 2"), "d#.update({Mood.SAD: &})", "@ += sum(k is m# for k in d#)",
)  # fmt: skip

_COUNTS: tuple[Step, ...] = (
    "c#['ab'[$ % 2]] += &", "c# = c# + e#", "c# -= e#", "e# = Counter(a=&, c=1)", "e# = Counter(['b', 'a', 'b'])", "c# |= e#",
    "c# = (c# | e#) - e#", "@ += sum(c#.values()) % 11", "@ += c#['a'] % 7", "e# = +c#", ("if len(c#) < 5:", "c#.update(e#)"),
    "c#.subtract({'a': ^})", "c# = e#.copy()", ("if c# == e#:", "@ += 1"), "@ += sum((c# - e#).values()) % 5", "@ += len(c# - e#)",
    "@ += sum(1 for _ in e#.elements()) % 7", ("if c#:", "@ += c#.most_common(1)[0][1] % 5"), ("if not c# - e#:", "@ -= 1"),
    ("if ?:", "c#['d'] += 1"), ("if c#['a'] > 20:", "c# = Counter(a=2)"), "@ += len(c#)", "@ += max(c#.values(), default=^) % 5",
)  # fmt: skip

_DEFAULTS: tuple[Step, ...] = (
    "o# = Ball()", "p# = o#", ("if ?:", "o#.bounces = &"), "o#.bounces += ^", "@ += o#.bounces % 7", "@ += p#.place[0]", "o#.held = &",
    "p# = Ball() if ? else o#", "o#.place = (& % 5, p#.place[0])", "o# = copy.copy(p#)", ("if o#.held is not None:", "@ += o#.held % 3"),
    "o#.held = None", "p#.bounces = @ % 5", "o#, p# = p#, o#", "@ += getattr(p#, 'bounces', 9) % 5", ("if p# is o#:", "@ += 1"),
    "o# = max([o#, p#], key=lambda e: e.bounces)", "@ += [o#, p#][$ % 2].bounces % 5", "@ += Ball.bounces",
)  # fmt: skip

_FORMS: dict[str, Form] = {
    "texts": (
        ("t# = ''", "u# = 'a'", "m# = {'n': 'a'}"), _TEXTS,
        ("len(t#)", "t#.count('a')", "int(t# == u#)", "len(m#['n'])", "int(t# < 'b')", "int(u#.endswith('a'))", "@"),
    ),
    "tuples": (
        ("p# = ()", "q# = (1, 2)"), _TUPLES,
        ("len(p#)", "sum(p#)", "sum(e * k for k, e in enumerate(q#))", "int(p# == q#)", "(p#[0] if p# else 7)", "@"),
    ),
    "sorted": (
        ("r# = []", "s# = []"), _SORTED,
        ("len(r#)", "sum(e * k - g for k, (e, g) in enumerate(r#))", "sum(s#)", "len(s#)", "@"),
    ),
    "copies": (
        ("o# = Shelf(1)", "c# = o#", "d# = {'n': 0, 'xs': [1]}", "e# = d#", "x# = []"), _COPIES,
        ("len(o#.items)", "sum(c#.items)", "o#.pair[0]", "len(c#.label)", "e#['n']", "sum(d#['xs'])", "len(x#)", "@"),
    ),
    "ordered": (
        ("d# = OrderedDict()",), _ORDERED,
        ("len(d#)", "sum(d#.values())", "sum(k * e for k, e in enumerate(d#))", "@"),
    ),
    "slices": (("x# = ~", "y# = ~"), _SLICES, ("len(x#)", "sum(e * k for k, e in enumerate(x#))", "sum(y#)", "len(y#)", "@")),
    "messages": (
        ("t# = ''", "l# = []", "d# = {'a': 1}"), _MESSAGES,
        ("len(t#)", "len(l#)", "int(t# == 'big')", "l#.count('none')", "d#.get('b', 5)", "@"),
    ),
    "kinds": (
        ("v# = 'none'", "w# = 3", "x# = ['a']", "d# = {'k': 1}", "y# = [1]"), _KINDS,
        ("weighed(v#)", "weighed(w#)", "sum(y#)", "len(y#)", "len(x#)", "sum(weighed(e) for e in x#)", "int(v# == w#)",
         "weighed(d#['k'])", "@"),
    ),
    "moods": (
        ("d# = {Mood.GLAD: 1, 'n': 2, None: 3, Mood.SAD: 4}", "e# = dict(d#)", "c# = Counter()", "m# = Mood.GLAD"), _MOODS,
        ("sum(d#.values())", "len(d#)", "c#[Mood.SAD]", "int(m# is Mood.SAD)", "sum(v * k for k, v in enumerate(e#.values()))", "@"),
    ),
    "counts": (
        ("c# = Counter(a=1)", "e# = Counter('ab')"), _COUNTS,
        ("sum(c#.values())", "len(c#)", "c#['a']", "e#['b']", "int(c# == e#)", "@"),
    ),
    "defaults": (
        ("o# = Ball()", "p# = Ball()"), _DEFAULTS,
        ("o#.bounces", "p#.bounces", "sum(p#.place)", "(7 if o#.held is None else o#.held)", "int(o# is p#)", "@"),
    ),
    "links": (
        ("h# = None", "e# = None", "g# = None"), _LINKS,
        ("(6 if h# is None else h#.value)", "(0 if h# is None or h#.following is None else h#.following.value)", "int(e# is h#)", "@"),
    ),
}  # fmt: skip


class ValueState(LongLoops):
    """The part of the writer of programs that makes state of what `PREAMBLE_OF_VALUES` defines, of texts and of tuples."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        return makers + [(12, lambda: self._of_form(_FORMS))] if "values" in self.features else makers

    def _of_form(self, forms: dict[str, Form]) -> None:
        """A loop, perhaps in a function, or a long one, of the steps of one of these forms."""
        starts, steps, uses = forms[self.random.choice(tuple(forms))]
        number, total = self._begin(*map(self._start, starts))
        self._of_steps(number, total, starts, steps)
        self._end(number, total, uses)

    def _of_steps(
        self, number: str, total: str, starts: Sequence[str], steps: Sequence[Step], may_be_long: bool = True
    ) -> None:
        """A loop of some of these steps, perhaps in a function that is given what they start with, or a long one."""
        steps = (*steps, *self._leaving())
        if self.chance(0.2):
            inside = (*steps, self._RETURNS)
            self._in_function(number, total, starts, lambda: self._loop(number, total, inside, has_others=False))
        elif may_be_long and self.chance(0.15):
            self.line(f"{total} = {self._operand(INT)}")
            self._loop_of_many(number, total, steps)
        else:
            self._loop(number, total, steps)
