"""What a `raise` makes is an object: its `__init__` runs once, and its arguments and attributes are what they were."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import autograph as ag

INPUTS = (3, -2, 0, 7)


def sign(x):
    return "positive" if x > 0 else "negative"


class Keeping(Exception):
    def __init__(self, held, *rest):
        super().__init__(held, *rest)
        self.held = held


class Plain(Exception):
    pass


def a_class_that_counts(x):
    class Counted(Exception):
        made = 0

        def __init__(self, v):
            super().__init__(v)
            Counted.made += 1
            self.v = v

    total = 0
    for k in range(3):
        try:
            if x + k < 1:
                raise Counted(x)
            total += 1
        except Counted as e:
            total += e.v * 10
    return total, Counted.made


def a_log_of_what_is_raised(x):
    log = [0]

    class Logged(Exception):
        def __init__(self, v):
            log[0] += v

    try:
        if x < 1:
            raise Logged(5)
        if x > 5:
            raise Logged(7)
    except Logged:
        log[0] += 1
    return log[0]


def a_class_without_a_call(x):
    class Counted(Exception):
        made = 0

        def __init__(self):
            Counted.made += 1

    y = 0
    while y < 8:
        y += 1
        try:
            if x + y > 5:
                raise Counted
        except Counted:
            y += 2
    return y, Counted.made


def its_own_new(x):
    class Counted(Exception):
        made = 0

        def __new__(cls, *args):
            Counted.made += 1
            return super().__new__(cls, *args)

    try:
        if x < 1:
            raise Counted(x)
        y = x
    except Counted as e:
        y = e.args[0] - 1
    return y, Counted.made


def a_list_in_an_attribute(x):
    items = [1, 2]
    try:
        if x < 1:
            raise Keeping(items)
        items.append(x)
    except Keeping as e:
        e.held.append(9)
    return items, len(items)


def a_list_among_the_arguments(x):
    items = [1, 2]
    try:
        if x < 1:
            raise ValueError(items, x)
    except ValueError as e:
        e.args[0][0] = 9
        return items, e.args[0] is items, e.args[1]
    return items, False, 0


def a_dict_among_the_arguments(x):
    items = {"a": 1}
    try:
        if x < 1:
            raise Plain(items)
    except Plain as e:
        e.args[0]["a"] = 9
    return items


def a_list_beside_a_text(x):
    items = [1, 2]
    try:
        if x < 1:
            raise Keeping(items, f"{x} is low")
    except Keeping as e:
        e.held[1] += 5
        return items, e.args[1]
    return items, "none"


def an_object_that_is_one_of_two(x):
    class Account:
        def __init__(self, balance):
            self.balance = balance

    accounts = [Account(1), Account(2)]
    account = accounts[0] if x > 2 else accounts[1]
    try:
        if x != 7:
            raise Keeping(account)
        account.balance = 10
    except Keeping as e:
        e.held.balance += 5
        e.held = accounts[0]
        e.held.balance += 100
    return [account.balance for account in accounts]


def a_constant_by_path(x):
    try:
        if x < 2:
            raise Keeping(sign(x), x)
        return "none", "no", 0
    except Keeping as e:
        return e.held, str(e), e.args[1]


def a_constant_by_path_that_is_certain(x):
    e = Keeping(sign(x))
    return e.args[0], str(e), e.held


def a_constant_by_path_of_one_made_before(x):
    try:
        if x < 2:
            e = Plain(sign(x))
            raise e
        return "none", "no"
    except Plain as error:
        return error.args[0], str(error)


def arguments_set_again(x):
    e = ValueError()
    e.__init__(sign(x))
    if x > 2:
        ValueError.__init__(e, "large")
    return e.args[0]


def a_variable_of_the_branch_that_raises(x):
    name = "none"
    try:
        if x < 2:
            name = sign(x)
            raise Plain
    except Plain:
        return name
    return name


def a_cause_that_is_one_of_two(x):
    try:
        if x < 0:
            raise ValueError("low")
        raise KeyError("high")
    except (ValueError, KeyError) as e:
        last = e
    try:
        if x != 3:
            raise Keeping(x) from last
    except Keeping as e:
        return e.held, repr(e.__cause__)
    return 0, ""


class Fault(OSError):
    def __init__(self, code, log):
        super().__init__(code, "fault")
        log.append(code)
        self.code = code


class Missing(ImportError):
    def __init__(self, x):
        super().__init__("missing", name=sign(x))
        self.x = x


class Misplaced(SyntaxError):
    def __init__(self, line, log):
        super().__init__("misplaced")
        log.append(line)
        self.lineno = line


def an_os_error_that_is_read(x):
    log = []
    try:
        if x > 0:
            raise Fault(x, log)
    except OSError as e:
        e.errno += 1
        return e.code, e.errno, e.args, e.strerror, str(e), e.filename is None, log
    return 0, 0, (), "", "", True, log


def an_os_error_in_a_loop(x):
    log, total = [], 0
    for k in range(4):
        try:
            if x > k:
                raise Fault(x - k, log)
            total += 1
        except OSError as e:
            total += e.errno * 10
    return total, len(log), sum(log)


def an_os_error_that_is_kept(x):
    log, last = [], None
    for k in range(4):
        try:
            if x > k:
                raise Fault(x - k, log)
        except Fault as e:
            last = e
    return (0, "") if last is None else (last.errno, str(last)), len(log)


def an_os_error_that_is_made_before_its_raise(x):
    log = []
    error = Fault(x, log)
    error.filename = "a.txt"
    try:
        if x > 0:
            raise error
    except OSError as e:
        return e is error, str(e), log
    return False, "", log


def an_import_error(x):
    try:
        if x != 3:
            raise Missing(x)
    except ImportError as e:
        return e.x, e.name, e.msg, str(e)
    return 0, "", "", ""


def an_error_of_syntax(x):
    log = []
    for k in range(3):
        try:
            if x > k:
                raise Misplaced(x, log)
        except SyntaxError as e:
            log.append(e.lineno + k)
    return sum(log), len(log)


class Noted(Exception):
    def __init__(self, value):
        self.value = value
        self.notes = []


class NotedLater(Noted):
    pass


def a_kept_one_that_two_loops_write_to(x):
    last, total = None, 0
    for i in ag.range(3):
        for k in ag.range(1, 3):
            if last:
                last.notes.append(i)
                total += len(last.notes)
            try:
                if k:
                    raise NotedLater(k + x)
            except Noted as e:
                last = e
    return last.value, len(last.notes), total


PROGRAMS = [value for name, value in globals().items() if name.startswith(("a_", "its_", "an_", "arguments_"))]


def python(value):
    return jax.tree.map(lambda leaf: leaf.tolist() if hasattr(leaf, "tolist") else leaf, value)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_python(program):
    run = ag.function(program)
    for x in INPUTS + INPUTS:
        assert python(run(jnp.array(x))) == python(program(x)), x


def test_an_os_error_that_nothing_catches():
    @ag.function
    def f(x):
        if x > 0:
            raise Fault(x, [])
        return x

    assert f(jnp.array(-1)) == -1
    with pytest.raises(Fault, match=r"^\[Errno 3\] fault$") as raised:
        f(jnp.array(3))
    assert (raised.value.errno, raised.value.code, raised.value.filename) == (3, 3, None)


def test_what_is_outside_is_written_once_for_each_exception_that_is_made():
    def made():
        class Counted(Exception):
            made = 0

            def __init__(self, v):
                Counted.made += v

        def f(x):
            try:
                if x < 1:
                    raise Counted(1 - x)
                return x
            except Counted:
                return -x

        return f, Counted

    (plain, wanted), (staged, found) = made(), made()
    run = ag.function(staged)
    for x in INPUTS + INPUTS:
        assert run(jnp.array(x)) == plain(x)
        assert found.made == wanted.made, x


def test_a_list_outside_holds_no_tracer():
    log = []

    class Logged(Exception):
        def __init__(self, v):
            log.append(v)

    @ag.function
    def f(x):
        try:
            if x < 1:
                raise Logged(x)
        except Logged:
            x -= 1
        return x

    assert [int(f(jnp.array(x))) for x in (3, -2, 0)] == [3, -3, -1]
    assert list(map(int, log)) == [-2, 0]


def test_a_cause_by_path_of_one_that_others_may_refer_to_is_refused():
    @ag.function
    def f(x):
        last = None
        try:
            if x < 0:
                raise ValueError("low")
        except ValueError as e:
            last = e
        error = Plain("failed")
        try:
            raise error from last
        except Plain as e:
            return str(e), repr(e.__cause__)

    with pytest.raises(ag.StagingError, match=r"cause of this Plain, which was made before the `raise`.*") as refusal:
        f(jnp.array(1))
    assert "raise error from last" in str(refusal.value)
