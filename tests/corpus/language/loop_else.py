"""`for … else` and `while … else`."""

from tests.corpus import floats, program


@program(examples=[(floats(1, 5, 9), 4.0), (floats(1, 5, 9), 10.0), (floats(), 1.0)])
def for_else_assigns(xs, limit):
    for x in xs:
        if x > limit:
            found = x
            break
    else:
        found = limit * 0 - 1
    return found


@program(examples=[(10.0, 3.0), (10.0, 100.0), (0.5, 3.0)])
def while_else(x, wanted):
    steps = 0
    while x > 1:
        if x < wanted:
            break
        x = x / 2
        steps += 1
    else:
        steps += 100
    return x, steps


@program(examples=[(7,), (8,), (2,)])
def for_else_returns(n):
    for d in range(2, n):
        if n % d == 0:
            return d
    else:
        return n


@program(examples=[(5, 3), (5, 100), (0, 3)])
def else_of_an_inner_loop(n, limit):
    complete = 0
    for i in range(n):
        for j in range(i):
            if i * j > limit:
                break
        else:
            complete += 1
            continue
        complete += 100
    return complete


@program(examples=[(4.0,), (-4.0,)])
def else_without_break(x):
    for _ in range(3):
        if x < 0:
            continue
        x = x / 2
    else:
        x = x + 10
    return x
