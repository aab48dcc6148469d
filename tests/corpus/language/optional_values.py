"""Values that exist on some paths only, and None."""

from tests.corpus import floats, ints, program


@program(examples=[(floats(3, 1, 2),), (floats(1, 1, 1),)])
def none_before_the_loop(xs):
    best = None
    for x in xs:
        if best is None or x > best:
            best = x
    return best


@program(examples=[(3.0, 2.0), (-3.0, 2.0)], refused=("jit", "vmap"))
def set_and_read_on_the_same_path(x, y):
    if x > 0:
        scale = y * 2
    if x > 0:
        x = x * scale
    return x


@program(examples=[(3,), (5,)], refused=("jit", "vmap"))
def first_bound_in_the_loop(n):
    for i in range(n):
        square = i * i
    return square


@program(examples=[(5,), (1,), (0,)])
def bound_in_one_iteration_read_in_the_next(n):
    total = 0
    for i in range(n):
        if i > 0:
            total += previous  # noqa: F821
        previous = i * 10  # noqa: F841
    return total


@program(examples=[(3.0,), (-3.0,)])
def deleted_name(x):
    scratch = x * 2
    if x > 0:
        x = scratch
        del scratch
        return x
    return scratch - 1


@program(examples=[(ints(4, 9, 2), 9), (ints(4, 9, 2), 7)])
def none_replaced_before_use(xs, wanted):
    where = None
    for i in range(3):
        if xs[i] == wanted:
            where = i
            break
    if where is None:
        where = -1
    return where


@program(examples=[(5,), (1,)], refused=("jit", "vmap"))
def loop_variable_after_the_loop(n):
    for i in range(n):
        pass
    return i


@program(examples=[(4,), (1,)], refused=("jit", "vmap"))
def loop_variable_rebound_in_the_body(n):
    """Rebinding the loop variable does not change what comes next."""
    total = 0
    for i in range(n):
        i = i * 10
        total += i
    return total, i
