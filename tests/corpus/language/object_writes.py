"""Writes to objects: attributes, `nonlocal`, `global`, nested items."""

from tests.corpus import floats, program

calls = 0


class Counter:
    def __init__(self, start):
        self.value = start
        self.history = {"last": start}

    def bump(self, amount):
        self.value = self.value + amount
        self.history["last"] = amount

    @property
    def doubled(self):
        return self.value * 2

    @doubled.setter
    def doubled(self, new):
        self.value = new / 2


@program(examples=[(0.0, 3), (0.0, 0)])
def attribute_written_in_a_loop(start, n):
    counter = Counter(start)
    for _ in range(n):
        counter.value = counter.value + 2
    return counter.value


@program(examples=[(0.0, 3), (0.0, 0)])
def attribute_written_by_a_method(start, n):
    counter = Counter(start)
    for i in range(n):
        if i != 1:
            counter.bump(i * 1.5)
    return counter.value, counter.history["last"]


@program(examples=[(3.0,), (-3.0,)])
def property_setter_in_a_branch(x):
    counter = Counter(x)
    if x > 0:
        counter.doubled = x * 10
    return counter.value, counter.doubled


@program(examples=[(1.0, 4), (1.0, 0)])
def nonlocal_written_by_an_inner_function(x, n):
    total = x

    def add(amount):
        nonlocal total
        if total < 5:
            total = total + amount

    for i in range(n):
        add(i)
    return total


@program(examples=[(1.0,), (-1.0,)], refused=("jit", "vmap", "lower"))
def global_written_in_a_branch(x):
    global calls
    calls = 0
    if x > 0:
        calls = calls + 1
    return x + calls


@program(examples=[(1.0, 3), (1.0, 0)])
def items_of_an_attribute(x, n):
    counter = Counter(x)
    items = [counter, Counter(x * 2)]
    for _ in range(n):
        items[1].value += items[0].value
        items[0].history["last"] *= 2
    return items[1].value, counter.history


@program(examples=[(floats(1, 2, 3),), (floats(1, 200, 300),)])
def write_in_the_branch_not_taken(xs):
    counter = Counter(xs[0] * 0)
    for x in xs:
        if x > 100:
            counter.bump(x)
    return counter.value


@program(examples=[(2.0, "a"), (2.0, "b"), (-2.0, "a")], static=("key",))
def item_with_a_python_key(x, key):
    table = {"a": x * 0, "b": x * 0}
    if x > 0:
        table[key] += x
    return table
