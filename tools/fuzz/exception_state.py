"""Generate loops in which exceptions of classes with their own ``__init__`` are raised, read, kept, handed on and swallowed."""

from __future__ import annotations

from autograph.tools.fuzz.container_state import Step
from autograph.tools.fuzz.long_loops import Form
from autograph.tools.fuzz.pattern_state import PatternState
from autograph.tools.fuzz.statements import Maker

PREAMBLE_OF_EXCEPTIONS = """\
class Failed(Exception):
    made = 0

    def __init__(self, value, *notes):
        super().__init__(value, *notes)
        Failed.made += 1
        self.value = value
        self.notes = list(notes)


class Late(Failed):
    def __init__(self, value):
        super().__init__(value + 1, value)
        self.is_late = value > 1

    def __str__(self):
        return "late" if self.is_late else "in time"


class Short(ValueError):
    def __init__(self, value, log):
        log.append(value)
        self.log = log


class Fault(OSError):
    def __init__(self, code, log):
        super().__init__(code, "fault")
        log.append(code)
        self.code = code


class Overdrawn(LookupError):
    def __init__(self, of):
        self.of = of
        of.held += 1


class Store:
    def __init__(self, held):
        self.held = held
        self.log = []

    def take(self, amount):
        if amount > self.held:
            raise Failed(amount - self.held, amount)
        self.held -= amount
        return self.held

    def put(self, amount):
        if amount > 2:
            raise Short(amount, self.log)
        if amount < 0:
            raise Overdrawn(self)
        self.held += amount

    def move(self, other, amount):
        before = self.held
        try:
            self.take(amount)
            other.put(amount)
        except ValueError as error:
            self.held = before
            self.log.append(len(error.log))
            raise
        finally:
            self.log.append(0)


class Guard:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.depth = 0
        self.seen = []

    def __enter__(self):
        self.depth += 1
        return self

    def __exit__(self, kind, error, trace):
        self.depth -= 1
        if isinstance(error, self.kinds):
            self.seen.append(error.value)
            return True
        return False


class Parser:
    def __init__(self, items):
        self.items = items
        self.at = 0

    def next(self):
        if self.at >= len(self.items):
            raise Failed(self.at)
        self.at += 1
        return self.items[self.at - 1]

    def pair(self):
        first = self.next()
        if first < 0:
            raise Late(first)
        return first - self.next()

    def total(self):
        found = 0
        while True:
            try:
                found += self.pair()
            except Late as error:
                found += error.notes[0]
            except Failed as error:
                return found + error.value


def checked(value, limit):
    if value > limit:
        raise Late(value)
    if value < 0:
        raise Short(value, [limit])
    return limit - value


def wrapped(value, limit):
    try:
        return checked(value, limit)
    except ValueError as error:
        raise Failed(value, limit, len(error.log)) from error


def tried(value, limit, log):
    try:
        if value == limit:
            return 1
        left = wrapped(value, limit)
    except Failed as error:
        log.append(error.value)
        return sum(error.notes)
    else:
        log.append(left)
    finally:
        log.append(0)
    return 2


def retried(value, times):
    tries = 0
    while True:
        try:
            return checked(value - tries, 1) + tries
        except Late as error:
            tries += 1
            if tries > times:
                return error.value
        except Short:
            return -1


def deep(left, value):
    if left <= 0:
        if value > 2:
            raise ValueError("deep")
        return value
    return deep(left - 1, value + left) + 1


def guarded(left, value):
    if left <= 0:
        return value
    try:
        if value > 3:
            raise KeyError("guarded")
        return guarded(left - 1, value + 1)
    except KeyError:
        return left - value


def until(values, limit):
    for value in values:
        if value > limit:
            raise Failed(value)
        yield value


def nested(values, limit, log):
    for value in values:
        try:
            try:
                if value == limit:
                    break
                if value < 0:
                    continue
                if value > limit:
                    return value
            finally:
                log.append(value)
            checked(value, 1)
        except Late as error:
            log.append(error.value)
        else:
            log.append(-1)
    else:
        return -2
    return len(log)


"""

_RAISED: tuple[Step, ...] = (
    ("try:", "if ?: raise Failed(&, $)", "@ += 1", "except Failed as e#:", "@ += e#.value + sum(e#.notes)"),
    ("try:", "if ?: raise Failed(&)", "except Failed as e#:", "e#.notes.append(^); @ += len(e#.notes); x#.append(e#.value)"),
    ("try:", "if ?: raise Failed(&, @ % 5)", "except Failed as e#:", "@ += e#.args[1] - e#.args[0]"),
    ("try:", "if ?: raise Late(&)", "if ?: raise Failed(^)", "except Late as e#:", "@ += len(str(e#))", "except Failed as e#:",
     "@ -= e#.value"), ("try:", "if ?: raise Late(&)", "if ?: raise Short(&, x#)", "except (Failed, Short) as e#:", "@ += e#.args[0]"),
    ("try:", "if ?: raise Short(&, x#)", "except ValueError as e#:", "e#.log.append(^); @ += len(e#.log)"),
    ("try:", "if ?: raise Fault(&, x#)", "except OSError as e#:", "@ += e#.code"),
    ("try:", "if ?: raise Fault(&, x#)", "except Fault:", "@ += len(x#)"), "@ += Failed.made", ("if len(x#) > 4:", "del x#[:2]"),
    ("try:", "if ?: raise Failed(&)", "@ += 2", "except Failed as e#:", "e#.value += ^; @ += e#.value", "else:", "@ -= 1", "finally:",
     "@ += 3"), ("try:", "if ?: raise Failed(x#.pop() if x# else ^)", "except Failed as e#:", "@ += e#.value"),
    ("try:", "    try:", "    if ?: raise Failed(&)", "    except Failed as e#:", "    e#.notes.append($); raise", "except Failed as e#:",
     "@ += sum(e#.notes)"),
    ("try:", "    try:", "    if ?: raise Failed(&)", "    except Failed as e#:", "    raise Late(^) from e#", "except Late as e#:",
     "@ += e#.value"),
    ("try:", "    try:", "    if ?: raise Short(&, x#)", "    finally:", "    x#.append(^)", "except Short:", "@ += 1"),
    ("try:", "if ?: raise Failed(1 // 0 if ? else 2)", "except ZeroDivisionError:", "@ += 5", "except Failed as e#:", "@ += e#.value"),
    ("try:", "if ?: raise Failed(&)", "if ?: continue", "except Failed:", "if ?: break", "finally:", "@ += 1"), "x#.append(&)",
    ("for k# in range(3):", "    try:", "    if k# > &: raise Late(k#)", "    if ?: break", "    except Late as e#:",
     "    @ += e#.value; continue", "@ += 1"),
    ("try:", "d# = Failed(&, ^) if ? else Late(&)", "raise d#", "except Late as e#:", "@ += e#.is_late", "except Failed as e#:",
     "@ += e#.notes[0]"),
    ("try:", "raise (Failed if ? else Late)(&)", "except Late as e#:", "@ += len(str(e#))", "except Failed as e#:", "@ -= e#.value"),
    ("try:", "if ?: raise Overdrawn(o#)", "if ?: raise Failed(o#.held)", "except Overdrawn as e#:", "@ += e#.of.held; e#.of.held -= ^",
     "except Failed as e#:", "o#.held = e#.value"), ("try:", "assert ?, &", "except AssertionError as e#:", "@ += e#.args[0]"),
)  # fmt: skip

_STORES: tuple[Step, ...] = (
    ("try:", "@ += a#.take(&)", "except Failed as e#:", "@ -= e#.value"), ("try:", "a#.put(&)", "except (Short, Overdrawn):", "@ += 1"),
    ("try:", "a#.move(b#, &)", "except Failed as e#:", "@ += sum(e#.notes)", "except ValueError as e#:", "@ -= 1",
     "except Overdrawn as e#:", "@ += e#.of.held"), ("try:", "b#.move(a#, &)", "except Exception:", "@ += 2", "else:", "@ -= 1"),
    "@ += len(a#.log)", ("if len(a#.log) > 4:", "a#.log.clear()"),
    ("try:", "a#.take(&); b#.put(^)", "except Failed:", "a#.held += 1", "finally:", "@ += b#.held"), "c# = a# if ? else b#",
    "a#, b# = b#, a#",
    ("try:", "c#.move(a#, ^)", "except (Failed, ValueError) as e#:", "@ += e#.args[0]", "except LookupError:", "@ += 3"),
    ("with g#:", "@ += a#.take(&)"), ("with g#:", "if ?: raise Late(&)", "@ += 1"), ("with g# as h#:", "h#.seen.append(^)", "b#.take(&)"),
    ("with contextlib.suppress(ValueError, LookupError):", "a#.put(&)", "@ += 1"), "@ += g#.depth",
    ("if len(g#.seen) > 4:", "g#.seen.pop(0)"),
    ("try:", "    with g#:", "    a#.put(&)", "except (Short, Overdrawn):", "@ += g#.depth + 1"),
    ("with g#:", "if ?: continue", "c#.take(&)", "if ?: break"),
    ("for k# in (a#, b#):", "    try:", "    k#.put(&)", "    except Short as e#:", "    e#.log.append(1); break",
     "    except Overdrawn:", "    continue"), ("with g#, contextlib.suppress(Exception):", "b#.move(c#, &)", "@ += 1"), "a#.held = &",
    "b# = Store(^)", "@ += b#.held - c#.held",
)  # fmt: skip

_HANDED: tuple[Step, ...] = (
    ("try:", "@ += checked(&, ^)", "except Late as e#:", "@ -= e#.value", "except Short as e#:", "@ += e#.log[0]"),
    "@ += tried(&, ^, x#)", "@ += retried(&, ^)",
    ("try:", "@ += wrapped(&, ^)", "except Late as e#:", "@ += len(str(e#))", "except Failed as e#:", "@ += sum(e#.notes)"),
    "x#.append(&)", ("try:", "@ += deep(2, &)", "except ValueError:", "@ += 1"), "@ += guarded(3, &)", "@ += nested(x#, &, y#)",
    ("if len(y#) > 4:", "y#.clear()"), ("try:", "@ += sum(until(x#, &))", "except Failed as e#:", "@ -= e#.value"),
    ("try:", "x#.append(checked(&, ^))", "except Exception:", "x#.append(0)"),
    ("try:", "    for q# in until([&, ^, $], 2):", "    @ += q#", "except Failed as e#:", "@ += e#.value"),
    ("if len(x#) > 4:", "del x#[:2]"), ("try:", "y# = [checked(q, ^) for q in x#]", "except (Late, Short) as e#:", "y# = [e#.args[0]]"),
    "@ += tried(&, 1, y#)", "@ += Failed.made", ("try:", "y# = list(until(x#, &))", "except Failed:", "y#.append(^)"),
    ("try:", "@ += max(map(lambda q: checked(q, 2), x#), default=0)", "except Exception:", "@ += 1"),
    ("try:", "p#.at += checked(p#.at, &)", "except Late as e#:", "p#.at = 0", "except Short:", "p#.at = 1"), "p# = Parser([&, ^, $])",
    "@ += p#.total()", ("try:", "@ += p#.next()", "except Failed as e#:", "p#.at = e#.value - 1"),
    ("try:", "@ += p#.pair() + checked(&, ^)", "except Late as e#:", "@ += e#.value", "except Exception as e#:", "@ += e#.args[0]"),
    ("def work#(k):", "if k > ^: raise Failed(k)", "return k + 1", "try:", "@ += work#(&)", "except Failed as e#:", "@ += e#.value"),
    ("try:", "@ += guarded(2, checked(&, ^))", "except Exception:", "@ += 1"), "@ += Parser(x#).total()",
)  # fmt: skip

_KEPT: tuple[Step, ...] = (
    ("try:", "if ?: raise Failed(&, $)", "except Failed as error:", "e# = error"), ("if e# is not None:", "@ += e#.value"), "e# = None",
    ("try:", "if ?: raise Late(&)", "except Failed as error:", "e# = error"), ("if e# is not None:", "@ += len(e#.notes)"),
    ("try:", "if e# is not None: raise e#", "except Failed as error:", "@ += error.value"), ("if e# is not None:", "e#.notes.append(^)"),
    ("try:", "if ?: raise Failed(&)", "except Failed as error:", "l#.append(error)"), ("if l#:", "@ += l#[-1].value"),
    ("if len(l#) > 2:", "l#.pop(0)"), ("try:", "if l#: raise l#[0]", "except Failed as error:", "@ += error.args[0]; error.value += 1"),
    "@ += sum(q.value for q in l#)", "@ += len(l#)", ("if isinstance(e#, Late):", "@ += 1"), "d# = Failed(^, &)", "d#.value += 1",
    ("try:", "if ?: raise d#", "except Failed as error:", "@ += error.value"),
    ("try:", "if ?: raise d#", "except Failed as error:", "e# = error if ? else None"), ("if e# is d#:", "@ += 2"), "@ += Failed.made",
    "l#.append(d#)", ("try:", "wrapped(&, ^)", "except Failed as error:", "e# = error"), ("for q# in l#:", "@ += q#.value"), "e# = d#",
    ("try:", "if ?: raise Failed(&) from d#", "except Failed as error:", "@ += error.__cause__.value"),
)  # fmt: skip

_FORMS: dict[str, Form] = {
    "raised": (
        ("x# = ~", "o# = Store(1)"), _RAISED,
        ("Failed.made", "sum(e * k for k, e in enumerate(x#))", "len(x#)", "o#.held", "@"),
    ),
    "stores": (
        ("a# = Store(3)", "b# = Store(1)", "c# = a#", "g# = Guard(Failed)"), _STORES,
        ("a#.held", "b#.held", "c#.held", "sum(a#.log)", "len(b#.log)", "sum(g#.seen)", "g#.depth", "@"),
    ),
    "handed on": (
        ("x# = ~", "y# = ~", "p# = Parser([1, 2, 0])"), _HANDED,
        ("Failed.made", "sum(e * k for k, e in enumerate(x#))", "sum(y#)", "len(y#)", "p#.at", "@"),
    ),
    "kept": (
        ("e# = None", "l# = []", "d# = Failed(1)"), _KEPT,
        ("Failed.made", "(7 if e# is None else e#.value)", "sum(q.value for q in l#)", "len(l#)", "d#.value", "int(e# is d#)", "@"),
    ),
}  # fmt: skip


class ExceptionState(PatternState):
    """The part of the writer of programs that makes exceptions of the classes that `PREAMBLE_OF_EXCEPTIONS` defines."""

    def compound_statements(self, depth: int) -> list[tuple[int, Maker]]:
        makers = super().compound_statements(depth)
        return makers + [(14, lambda: self._of_form(_FORMS))] if "exceptions" in self.features else makers
