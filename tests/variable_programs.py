"""Programs that select Variables by traced conditions, indices, keys and loops, and read and assign what they have selected."""

from collections import deque

import jax
import jax.numpy as jnp

import autograph as ag


def conditional_expression(a, b, c, x):
    v = a if x > 0 else b
    a.assign(5.0)
    return v + 0


def assigned(a, b, c, x):
    v = a if x > 0 else b
    v.assign(x)
    return a.value * 10 + b.value


def statement(a, b, c, x):
    if x > 0:
        v = a
    else:
        v = b
    v.assign_add(x)
    return v * 2


def index(a, b, c, x):
    v = [a, b, c][jnp.where(x > 0, 0, 2)]
    a.assign(9.0)
    v.assign_sub(1.0)
    return v + 0


def index_of_pairs(a, b, c, x):
    v, n = [(a, 1), (b, 2), (c, 3)][jnp.where(x > 0, 1, 2)]
    v.assign(n * 10.0)
    return v + 0


def key(a, b, c, x):
    d = {"u": a, "v": b}
    k = "u" if x > 0 else "v"
    d[k].assign_add(2.0)
    d[k] = c
    d["u"].assign_add(10.0)
    return [v + 0 for v in d.values()]


def picked(a, b, x):
    if x > 0:
        return a
    return b


def result(a, b, c, x):
    v = picked(a, b, x)
    a.assign(7.0)
    picked(a, b, -x).assign_add(1.0)
    return v + 0


class Model:
    def __init__(self, w, n):
        self.w, self.n = w, n

    def pick(self, other, x):
        return self.w if x > 0 else other.w


def method(a, b, c, x):
    one, other = Model(a, 1), Model(b, 2)
    one.pick(other, x).assign(9.0)
    one.pick(other, -x).assign_add(1.0)
    return a * 10 + b


def of_selected_objects(a, b, c, x):
    one, other = Model(a, 1), Model(b, 2)
    m = one if x > 0 else other
    a.assign(50.0)
    m.w.assign_add(1.0)
    m.w = c
    m.w.assign_add(m.n)
    return one.w + 0, other.w + 0


def attribute(a, b, c, x):
    m = Model(a, 1)
    if x > 0:
        m.w = b
    a.assign(50.0)
    m.w.assign_add(1.0)
    return m.w + 1


class Layer(ag.Module):
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        self.w.assign_add(1.0)
        return self.w * x


def of_modules(a, b, c, x):
    layers = [Layer(a), Layer(b), Layer(c)]
    i = jnp.where(x > 0, 1, 2)
    y = layers[i](x)
    for k in range(i):
        y = y + layers[k](x)
    return y


def best_of_several(a, b, c, x):
    best = a
    for p in (a, b, c):
        if p * x > best * x:
            best = p
    best.assign(100.0)
    return best + 0


def best_from_none(a, b, c, x):
    best = None
    for p in (a, b, c):
        if best is None or p * x > best * x:
            best = p
    best.assign(100.0)
    return best + 0


def first_found(a, b, c, x):
    found = a
    for v in [a, b, c] * 20:
        if v * 2 > 3 + x:
            found = v
            break
    found.assign(0.0)
    return found + 0


def staged_loop(a, b, c, x):
    items = [a, b, c]
    for i in range(jnp.where(x > 0, 5, 2)):
        v = items[i % 3]
        v.assign_add(1.0)
    return v + 0


def carried(a, b, c, x):
    v = a
    while v < 10:
        if x > 0:
            v = b
        v.assign_add(1.0)
    return v + 0


def exchanged_in_a_loop(a, b, c, x):
    v, w = a, b
    for _ in range(jnp.where(x > 0, 3, 2)):
        v, w = w, v
        v.assign_add(1.0)
    return v * 10 + w


def by_identity_in_a_loop(a, b, c, x):
    v = a
    for _ in range(jnp.where(x > 0, 4, 3)):
        w = v
        v = b if v is a else a
        v.assign_add(w)
    return v + 0


def a_value_after_one_iteration(a, b, c, x):
    v = a
    for _ in range(jnp.where(x > 0, 3, 0)):
        a.assign_add(1.0)
        v = v + 1.0
    a.assign_add(10.0)
    return v + 0


def a_variable_or_a_value(a, b, c, x):
    v = a if x > 0 else 0.5
    a.assign(5.0)
    return v + 1


def a_variable_or_none(a, b, c, x):
    v = a if x > 0 else None
    if v is not None:
        v.assign(8.0)
    w = v or b
    w.assign_add(1.0)
    return w + 0


def a_variable_where_bound(a, b, c, x):
    if x > 0:
        v = a
    if x > 0:
        v.assign(8.0)
    return a + 0


def either(a, b, c, x):
    a.assign(jnp.maximum(x, 0.0))
    v = a or b
    a.assign(5.0)
    b.assign(6.0)
    return v + 1


def extremes(a, b, c, x):
    a.assign(x + 1.5)
    v, w, u = max(a, b), min([a, b, c]), max(a, b, c, key=lambda p: p * x)
    a.assign(50.0)
    w.assign_add(1.0)
    return v + 1, w + 1, u + 1


def in_order(a, b, c, x):
    a.assign(x + 1.5)
    low, middle, high = sorted([a, b, c])
    a.assign(9.0)
    sorted([a, b, c], key=lambda p: -p * x)[0].assign_add(1.0)
    return low * 100 + middle * 10 + high


def in_lists(a, b, c, x):
    xs = [a, 1.0] if x > 0 else [b, 2.0]
    a.assign(50.0)
    xs[0].assign_add(1.0)
    return xs[0] + xs[1]


def in_a_growing_list(a, b, c, x):
    xs = []
    n = jnp.where(x > 0, 3, 2)
    for i in range(n):
        xs.append(a if i % 2 == 0 else b)
    a.assign(50.0)
    xs[n - 1].assign_add(10.0)
    for v in xs:
        v.assign_add(1.0)
    return sum(xs), max(xs), min(xs), sorted(xs)[0] + 0, xs[-1] + 1, b in xs


def beside_values_in_a_growing_list(a, b, c, x):
    xs = []
    for i in range(jnp.where(x > 0, 3, 2)):
        xs.append(a if i % 2 == 0 else i * 1.0)
    a.assign(7.0)
    return sum(xs), max(xs), jnp.stack(xs).sum()


def in_a_deque(a, b, c, x):
    q = deque([a, b, c])
    for _ in range(jnp.where(x > 0, 4, 2)):
        q.rotate(1)
        q[0].assign_add(1.0)
    return q[0] + 0


def filtered(a, b, c, x):
    for v in [v for v in (a, b, c) if v * x > 1.5 or v * x < -1.5]:
        v.assign_add(1.0)
    first = next((v for v in (a, b, c) if v * x > -2.5 and v != 1), c)
    first.assign_add(9.0)
    return first + 0


def a_choice_of_choices(a, b, c, x):
    v = a if x > 0 else b
    w = v if x < 2 else c
    w.assign_add(5.0)
    v.assign_add(1.0)
    return w * 10 + v, w is v, w is a, isinstance(w, ag.Variable), w in (a, c)


def in_place(a, b, c, x):
    v = a if x > 0 else b
    v += 1.0
    v *= 3.0
    return v * 10 + a + b


def exchanged_values(a, b, c, x):
    v, w = (a, b) if x > 0 else (c, a)
    kept = v.value
    v.assign(w)
    w.assign(kept)
    return v + 0


def read_in_every_way(a, b, c, x):
    v = a if x > 0 else b
    a.assign(3.0)
    b.assign(4.0)
    doubled = jax.tree.map(lambda t: t * 2, {"p": v})["p"]
    return (
        jnp.sin(v) + v.value + v.read_value() + float(v.ndim) + abs(v) + (2.0 if v > 3.5 else 1.0) + v**2 - (-v),
        jnp.stack([v, v.value]).sum() + sum([v, v]) + max(v, 1.0) + jnp.where(x > 0, v, 1.0) + doubled,
        (v == 3.0, v.dtype == jnp.float32, len(v.name), len(v.shape), v.at[...].add(1.0), v.astype(jnp.int32)),
        jax.vmap(lambda t, u: t * u, in_axes=(0, None))(jnp.arange(3.0), v).sum(),
        jax.jit(lambda t: t["k"] + 1)({"k": v}),
    )


def raised(a, b, c, x):
    v = a
    try:
        v = b
        if x > 0:
            raise ValueError
        v = c
    except ValueError:
        v.assign(5.0)
    v.assign_add(1.0)
    return v + 0


def recursive(n, v, a, b):
    if n <= 0:
        return v
    return recursive(n - 1, b if v is a else a, a, b)


def recursion(a, b, c, x):
    v = recursive(jnp.where(x > 0, 3, 2), a, a, b)
    v.assign_add(1.0)
    return v + 0


def closures(a, b, c, x):
    v = a

    def swap():
        nonlocal v
        if x > 0:
            v = b

    swap()
    get = (lambda: v) if x > 0 else (lambda: c)
    get().assign_add(1.0)
    return v + 0


def bumped(v, x):
    v.assign_add(x)
    return v * x


@ag.do_not_convert
def bumped_as_it_is(v):
    return v.assign_add(2.0)


def calls(a, b, c, x):
    v = a if x > 0 else b
    found = ag.function(bumped)(v, x)
    bumped_as_it_is(v).assign_add(1.0)
    return found, v + 0


def derivatives(a, b, c, x):
    def loss(y):
        v = a if y > 0 else b
        b.assign(7.0)
        v.assign_add(1.0)
        return v * v * y

    v = a if x > 0 else b
    with ag.GradientTape() as tape:
        target = v * v * x
    slope = tape.gradient(target, v)
    v.assign_sub(0.5 * slope)
    return jax.grad(loss)(x), slope, target


def extremes_in_a_loop(a, b, c, x):
    v, w = a, b
    for i in ag.range(4):
        v = max(v, w)
        w = min([w, v, c], key=lambda p: p * x)
        if i > 1:
            v.assign_add(1.0)
    return v + 0, v is b, w is c


PROGRAMS = [
    each
    for name, each in list(globals().items())
    if getattr(each, "__code__", None) is not None and each.__code__.co_varnames[:4] == ("a", "b", "c", "x")
]
