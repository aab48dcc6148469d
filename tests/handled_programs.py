"""Programs whose exceptions are raised under conditions of their arguments, and caught: run as they are, and staged.

Each entry of `PROGRAMS` is a function and the arguments that it is tried on; each takes numbers or arrays, and returns numbers.
"""

# ruff: noqa: B904, BLE001, S110, SIM105, TRY

from __future__ import annotations

import jax.numpy as jnp

import autograph as ag


class BankError(Exception):
    pass


class Insufficient(BankError):
    def __init__(self, balance, amount):
        super().__init__(f"{amount - balance} short")
        self.balance, self.amount = balance, amount


class Frozen(BankError):
    pass


class Account:
    def __init__(self, balance, limit=100.0):
        self.balance, self.limit = balance, limit
        self.log = []

    def withdraw(self, amount):
        self.log.append(amount)
        if amount > self.limit:
            raise Frozen("over the limit")
        if amount > self.balance:
            raise Insufficient(self.balance, amount)
        self.balance -= amount

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError(f"cannot deposit {amount}")
        self.balance += amount


def checked_root(x):
    if x < 0:
        raise ValueError(f"negative: {x}", x)
    return jnp.sqrt(x)


def divided(a, b):
    if b == 0:
        raise ZeroDivisionError("division by zero")
    return a / b


def safe_division(a, b):
    try:
        return divided(a, b)
    except ZeroDivisionError:
        return 0.0


def safe_root(x):
    try:
        y = checked_root(x)
    except ValueError:
        y = -1.0
    return y


def root_of_root(x):
    try:
        inner = checked_root(x)
        outer = checked_root(inner - 1)
    except ValueError as e:
        outer = e.args[1] * 2
    return outer


def fallbacks(x):
    for k in range(3):
        try:
            return checked_root(x - k) + k
        except ValueError:
            x = x + 0.75
    return -7.0


def transfer(x, amount):
    one, other = Account(x), Account(0.0)
    status = 0
    try:
        one.withdraw(amount)
        other.deposit(amount)
    except Insufficient as e:
        status = e.amount - e.balance
    except BankError:
        status = -1.0
    except ValueError:
        one.deposit(1.0)
        status = -2.0
    else:
        other.log.append(amount)
    return one.balance, other.balance, status, len(one.log)


def transfers(amounts):
    one, other = Account(10.0), Account(0.0)
    failed = 0
    for amount in amounts:
        try:
            one.withdraw(amount)
            other.deposit(amount)
        except BankError:
            failed += 1
    return one.balance, other.balance, failed


def writes_before_are_kept(x):
    state = {"steps": 0, "value": 0.0}
    seen = [0.0, 0.0, 0.0]
    try:
        state["steps"] = 1
        seen[0] = x
        if x > 5:
            raise OverflowError("too much")
        state["steps"] = 2
        seen[1] = x * 2
        if x < 0:
            raise ValueError("too little")
        state["steps"] = 3
        seen[2] = x * 3
    except (OverflowError, ValueError):
        state["value"] = -1.0
    return state["steps"], state["value"], sum(seen)


def in_order(x):
    steps = 0
    try:
        steps = steps * 10 + 1
        if x < 0:
            raise ValueError("first")
        steps = steps * 10 + 2
    except ValueError:
        steps = steps * 10 + 3
    else:
        steps = steps * 10 + 4
    finally:
        steps = steps * 10 + 5
    return steps


def nested(x):
    r = 0
    try:
        r += 1
        try:
            r += 10
            if x > 5:
                raise KeyError("a")
            if x > 3:
                raise ValueError("b")
            if x > 2:
                raise IndexError("c")
            r += 100
        except KeyError:
            r += 1000
            if x > 7:
                raise IndexError("d")
        finally:
            r += 10000
        r += 100000
    except LookupError:
        r += 1000000
    except ValueError:
        r += 2000000
    return r


def reraised(x):
    r = 0
    try:
        try:
            if x > 1:
                raise KeyError(x)
            r += 1
        except KeyError:
            r += 10
            if x > 2:
                raise
            r += 100
    except LookupError as e:
        r += e.args[0]
    return r


def chained(x):
    r = 0.0
    try:
        try:
            checked_root(x)
        except ValueError as e:
            raise KeyError("no root") from e
    except KeyError as e:
        r = e.__cause__.args[1]
    return r


def every_base_class(x):
    r = 0
    try:
        if x > 3:
            raise Frozen("f")
        if x > 2:
            raise FloatingPointError("p")
        if x > 1:
            raise StopIteration(x)
    except ArithmeticError:
        r = 1
    except BankError:
        r = 2
    except Exception:
        r = 3
    return r


def bare_except(x):
    try:
        if x > 0:
            raise RuntimeError("positive")
        r = 1
    except:  # noqa: E722
        r = 2
    return r


def failed_assertions_raised_again_in_a_loop(x):
    failed = 0
    for _ in range(3):
        try:
            try:
                assert not isinstance(x, str) and failed is None, "failed"
            except AssertionError:
                x = x + 1
                if x > 1:
                    raise
        except AssertionError:
            failed += 1
    return x, failed


def list_that_only_a_loop_carries(x):
    """What one of two exceptions finds in a list is known, where the other brings it out of the loop."""
    items, rest = [2.0, 1.0], []
    try:
        for k in ag.range(2):
            try:
                if x * k > 3:
                    raise IndexError
            except IndexError:
                raise ValueError from None
            except KeyError:
                items[0] += x
        rest.pop()
    except Exception:
        x = x + items[0]
    return x, items


def skips_bad_values(xs):
    total, bad = 0.0, 0
    for x in xs:
        try:
            total += checked_root(x)
        except ValueError:
            bad += 1
            continue
        total += 1
    return total, bad


def stops_at_the_first(xs):
    total, where = 0.0, -1
    for i, x in enumerate(xs):
        try:
            total += checked_root(x)
        except ValueError:
            where = i
            break
    return total, where


def break_in_the_body(xs):
    total, ends = 0.0, 0
    for x in xs:
        try:
            if x > 8:
                break
            total += checked_root(x)
        except ValueError:
            total -= 1
        else:
            total += 0.5
        finally:
            ends += 1
    return total, ends


def returns_from_a_handler_in_a_loop(xs):
    total = 0.0
    for x in xs:
        try:
            total += checked_root(x)
        except ValueError as e:
            return total, e.args[1]
    return total, 0.0


def try_around_a_loop(xs):
    total, count = 0.0, 0
    try:
        for x in xs:
            count += 1
            total += checked_root(x)
    except ValueError as e:
        return total, count, e.args[1]
    return total, count, 0.0


def try_around_a_while(x):
    steps = 0
    try:
        while x > 1:
            steps += 1
            if steps > 6:
                raise RuntimeError("too many steps")
            x = x / 2 if x < 50 else x - 1
    except RuntimeError:
        steps = -steps
    return x, steps


def try_in_a_while(x):
    retries = 0
    done = False
    while not done:
        try:
            y = checked_root(x)
            done = True
        except ValueError:
            retries += 1
            x = x + 3
    return y, retries


def retry_with_a_limit(x):
    attempts = 0
    while True:
        attempts += 1
        try:
            value = checked_root(x)
            break
        except ValueError:
            if attempts >= 3:
                value = -1.0
                break
            x = x + 2
    return value, attempts


def bisect(f, low, high):
    if f(low) * f(high) > 0:
        raise ValueError("no change of sign")
    for _ in range(20):
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def bisection(c):
    try:
        root = bisect(lambda t: t * t - c, 0.0, 4.0)
    except ValueError:
        root = -1.0
    return root


def digit(code):
    if code < 48 or code > 57:
        raise ValueError("not a digit", code)
    return code - 48


def parse_number(codes):
    value, position = 0, 0
    try:
        for code in codes:
            value = value * 10 + digit(code)
            position += 1
    except ValueError as e:
        return value, position, e.args[1]
    return value, position, -1


def sum_of_digits_and_errors(codes):
    total, errors = 0, 0
    for code in codes:
        try:
            total += digit(code)
        except ValueError as e:
            errors += e.args[1]
    return total, errors


def validated(age, height):
    problems = 0
    try:
        if age < 0:
            raise ValueError("age")
    except ValueError:
        problems += 1
    try:
        if height <= 0 or height > 3:
            raise ValueError("height")
    except ValueError:
        problems += 2
    return problems


class Machine:
    def __init__(self):
        self.state, self.count = "idle", 0

    def step(self, event):
        self.count += 1
        if self.state == "idle":
            if event != 0:
                raise RuntimeError("not started")
            self.state = "running"
        elif self.state == "running":
            if event == 0:
                raise RuntimeError("started twice")
            if event == 2:
                self.state = "idle"


def machine(events):
    m = Machine()
    errors = 0
    for event in events:
        try:
            m.step(event)
        except RuntimeError:
            errors += 1
            m.state = "idle"
    return errors, m.count, 1 if m.state == "running" else 0


def asserts(x):
    try:
        assert x > 0, f"{x} is not positive"
        r = x
    except AssertionError:
        r = -x
    return r


def python_errors_of_a_branch(x):
    table = {0: 5.0}
    try:
        y = table[1] if x > 3 else x
        if x > 2:
            y = [1.0][3]
    except KeyError:
        y = -1.0
    except IndexError:
        y = -2.0
    return y


def handler_that_raises(x):
    r = 0
    try:
        try:
            if x > 0:
                raise ValueError("a")
            r = 1
        except ValueError:
            if x > 1:
                raise KeyError("b")
            r = 2
    except KeyError:
        r = 3
    return r


def finally_that_raises(x):
    r = 0
    try:
        try:
            if x > 2:
                raise ValueError("a")
            r += 1
        finally:
            r += 10
            if x > 1:
                raise KeyError("b")
            r += 100
    except ValueError:
        r += 1000
    except KeyError:
        r += 2000
    return r


def finally_with_a_return_before(x):
    log = []
    r = returns_through_finally(x, log)
    return r, len(log), sum(log)


def returns_through_finally(x, log):
    try:
        log.append(1.0)
        if x > 2:
            return x * 10
        if x > 1:
            raise ValueError("b")
        log.append(2.0)
    except ValueError:
        return x * 100
    finally:
        log.append(4.0)
    return x


def finally_reads_what_the_body_was_to_change(x):
    y, found, count = x * 2, 0.0, 0
    try:
        if x < 0:
            raise ValueError("negative")
        y += 1
    except ValueError:
        count = 1
    finally:
        found = y or 5.0
    return found, count


def finally_in_a_loop_after_continue(x):
    total, y = 0.0, x
    for k in range(3):
        found = []
        try:
            found.append(y)
            if x > k:
                raise ValueError("large")
            found.append(x)
            y = y + 1
        except ValueError:
            x = x - 1
            continue
        finally:
            total += y + len(found) * 100
    return total, x


def binds_in_the_handler_only(x):
    try:
        if x > 0:
            raise ValueError
        message = 1
    except ValueError:
        message, extra = 2, 3
    return message + (extra if x > 0 else 0)


def different_types_by_path(x):
    y = None
    try:
        if x > 0:
            raise ValueError
        y = jnp.array([x, x])
    except ValueError:
        y = jnp.array([1.0, x])
    return y.sum()


def names_of_errors(x):
    try:
        if x > 2:
            raise KeyError("k")
        if x > 1:
            raise IndexError("i")
        kind = "none"
    except LookupError as e:
        kind = type(e).__name__
    return 1 if kind == "KeyError" else 2 if kind == "IndexError" else 3


def nonlocal_in_a_helper(x):
    count = 0

    def check(v):
        nonlocal count
        count += 1
        if v > 3:
            raise ValueError(v)
        count += 10
        return v

    try:
        y = check(x) + check(x + 1)
    except ValueError as e:
        y = -e.args[0]
    return y, count


def three_calls_deep(x):
    def low(v):
        if v > 3:
            raise ValueError("low")
        return v + 1

    def middle(v):
        w = low(v)
        return low(w)

    def high(v):
        try:
            return middle(v) + 100
        except KeyError:
            return -5.0

    try:
        return high(x)
    except ValueError:
        return -1.0


def lists_made_and_lengthened(x):
    out = [1.0]
    try:
        out.append(x)
        tail = [x + 1]
        if x > 2:
            raise ValueError
        out.append(tail[0])
        tail.append(3.0)
    except ValueError:
        out.append(-1.0)
    return len(out), sum(out), sum(tail)


def list_in_a_loop(xs):
    kept = []
    for x in xs:
        try:
            checked_root(x)
            kept.append(x)
        except ValueError:
            pass
    return len(kept), sum(kept)


def list_grown_until_it_fails(xs):
    kept = []
    try:
        for x in xs:
            kept.append(x)
            checked_root(x)
    except ValueError:
        kept.append(100.0)
    return len(kept), sum(kept)


def counts_in_an_object_in_a_loop(xs):
    account = Account(5.0, 50.0)
    code = 0
    try:
        for x in xs:
            account.withdraw(x)
    except Insufficient:
        code = 1
    except Frozen:
        code = 2
    return account.balance, code


def loop_in_a_handler(x):
    try:
        checked_root(x)
        steps = 0
    except ValueError as e:
        steps, y = 0, e.args[1]
        while y < 0:
            y += 1.5
            steps += 1
    return steps


def try_in_both_branches(x):
    if x > 0:
        try:
            if x > 2:
                raise ValueError
            r = 1
        except ValueError:
            r = 2
    else:
        try:
            if x < -2:
                raise KeyError
            r = 3
        except KeyError:
            r = 4
    return r


def nothing_raises(x):
    try:
        y = x * 2
        if y > 3:
            y = y - 1
    except ValueError:
        y = 0.0
    finally:
        y = y + 1
    return y


def caught_further_out(x):
    def inner(v):
        try:
            return checked_root(v)
        finally:
            events.append(v)

    events = []
    try:
        r = inner(x)
    except ValueError:
        r = -1.0
    return r, len(events)


def after_the_call(x):
    log = []

    def note(v):
        log.append(v)
        return v

    try:
        r = checked_root(x) + note(1.0)
    except ValueError:
        r = note(2.0)
    return r, len(log), sum(log)


def adaptive(x):
    def step(y, h):
        if h * y > 1:
            raise OverflowError
        return y + h * y

    h, y, t = 1.0, x, 0.0
    for _ in range(12):
        try:
            y = step(y, h)
            t += h
        except OverflowError:
            h = h / 2
    return y, t, h


def suppressed_by_hand(x):
    done = 0
    for k in range(4):
        try:
            if x > k:
                raise ValueError(k)
            done += 1
        except ValueError:
            ...
    return done


def writes_in_one_expression(x):
    account = Account(10.0)

    def take(amount):
        account.balance -= amount
        checked_root(account.balance)
        return amount

    try:
        taken = take(x) + take(x + 1) * take(x + 2)
    except ValueError:
        taken = -1.0
    return taken, account.balance


def lists_at_an_index_in_a_loop(x):
    found = []
    try:
        for k in ag.range(1, 4):
            found.insert(1, k)
            found[0] = k * 2
            if x < k:
                raise IndexError("end")
    except LookupError:
        found.append(-1)
    return len(found), sum(found)


def a_list_with_two_names(xs):
    out = []
    alias = out
    try:
        for x in xs:
            out.append(x)
            checked_root(x)
    except ValueError:
        alias.append(100.0)
    return len(out), sum(out), len(alias), sum(alias)


SIGNS = [(4.0,), (-4.0,), (0.5,)]
STEPS = [(0.5,), (1.5,), (2.5,), (4.0,), (6.0,), (9.0,)]
ROWS = [([1.0, 4.0, 9.0],), ([1.0, -2.0, 3.0],), ([-1.0, 2.0, -3.0],)]
CODES = [([49, 50, 51],), ([49, 65, 51],), ([66, 67, 51],)]


def unreachable_after_a_return(x):
    seen = 0
    try:
        if x > 1:
            raise ValueError("large")
        seen += x
        return seen
        if x > 0:
            raise KeyError("never")
        seen += 10
        return seen
    except KeyError:
        seen += 100
    except ValueError:
        seen += 1000
    return seen


def unreachable_after_a_continue(xs):
    total = 0.0
    for x in xs:
        try:
            assert x < 5
            total += x
            continue
            total += 100
            raise ValueError("never")
        except AssertionError:
            total -= 1
            break
            total -= 1000
    return total


def an_attribute_written_in_a_loop_inside_a_loop(x):
    account = Account(10.0)
    for k in ag.range(3):
        try:
            if x > k + 1:
                raise ValueError("before the loop")
            while True:
                account.balance += x
                break
        except ValueError:
            account.balance += 100
    return account.balance


def a_list_that_may_be_undefined(x):
    try:
        assert x < 5, "before the list"
        if x > 1:
            found = [x]
        first = found[0]
    except (AssertionError, NameError):
        first = -1.0
    return first


def a_variable_of_a_call_in_one_branch_that_a_comprehension_binds(x):
    result = 0.0

    def scaled(h):
        h = h * x
        held = [(h := h + k) for k in range(3)]
        return h + held[1]

    try:
        if x > 1:
            result = scaled(x)
        if x < 0:
            raise ValueError
        result += 1
    except ValueError:
        result += 7
    return result


def a_variable_of_a_call_in_a_loop_that_a_closure_binds(x):
    result = 0.0

    def summed(h):
        def step():
            nonlocal h
            h = h + x

        for _ in ag.range(3):
            step()
        return h * 2

    try:
        for k in ag.range(3):
            result += summed(x + k)
            if result > 9:
                raise ValueError
    except ValueError:
        result += 7
    return result


PROGRAMS = [
    (safe_division, [(1.0, 2.0), (1.0, 0.0)]),
    (safe_root, SIGNS),
    (root_of_root, SIGNS),
    (fallbacks, [(4.0,), (-0.5,), (-9.0,)]),
    (transfer, [(10.0, 4.0), (10.0, 40.0), (10.0, 400.0), (10.0, -4.0)]),
    (transfers, [([3.0, 20.0, 4.0, 200.0],)]),
    (writes_before_are_kept, [(1.0,), (9.0,), (-9.0,)]),
    (in_order, SIGNS),
    (nested, STEPS),
    (reraised, STEPS),
    (chained, SIGNS),
    (every_base_class, STEPS),
    (bare_except, SIGNS),
    (failed_assertions_raised_again_in_a_loop, SIGNS),
    (list_that_only_a_loop_carries, SIGNS),
    (skips_bad_values, ROWS),
    (stops_at_the_first, ROWS),
    (break_in_the_body, ROWS),
    (returns_from_a_handler_in_a_loop, ROWS),
    (try_around_a_loop, ROWS),
    (try_around_a_while, [(0.5,), (9.0,), (99.0,)]),
    (try_in_a_while, SIGNS),
    (retry_with_a_limit, SIGNS),
    (bisection, [(2.0,), (-2.0,)]),
    (parse_number, CODES),
    (sum_of_digits_and_errors, CODES),
    (validated, [(1.0, 2.0), (-1.0, 2.0), (-1.0, 0.0)]),
    (machine, [([0, 1, 2, 0, 0, 1],), ([1, 0, 0, 2, 2, 0],)]),
    (asserts, SIGNS),
    (python_errors_of_a_branch, STEPS),
    (handler_that_raises, [(-1.0,), (0.5,), (1.5,)]),
    (finally_that_raises, STEPS),
    (finally_with_a_return_before, STEPS),
    (finally_reads_what_the_body_was_to_change, SIGNS),
    (finally_in_a_loop_after_continue, STEPS),
    (binds_in_the_handler_only, SIGNS),
    (different_types_by_path, SIGNS),
    (names_of_errors, STEPS),
    (nonlocal_in_a_helper, STEPS),
    (three_calls_deep, STEPS),
    (lists_made_and_lengthened, STEPS),
    (list_in_a_loop, ROWS),
    (list_grown_until_it_fails, ROWS),
    (counts_in_an_object_in_a_loop, [([1.0, 2.0, 1.0],), ([1.0, 9.0, 1.0],), ([1.0, 90.0, 1.0],)]),
    (loop_in_a_handler, SIGNS),
    (try_in_both_branches, [(1.0,), (3.0,), (-1.0,), (-3.0,)]),
    (nothing_raises, SIGNS),
    (caught_further_out, SIGNS),
    (after_the_call, SIGNS),
    (adaptive, [(0.5,), (3.0,)]),
    (suppressed_by_hand, STEPS),
    (writes_in_one_expression, STEPS),
    (lists_at_an_index_in_a_loop, STEPS),
    (a_list_with_two_names, ROWS),
    (unreachable_after_a_return, STEPS),
    (unreachable_after_a_continue, ROWS),
    (an_attribute_written_in_a_loop_inside_a_loop, STEPS),
    (a_list_that_may_be_undefined, STEPS),
    (a_variable_of_a_call_in_one_branch_that_a_comprehension_binds, STEPS),
    (a_variable_of_a_call_in_a_loop_that_a_closure_binds, STEPS),
]
