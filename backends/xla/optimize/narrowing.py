"""What a condition that holds says of the numbers it compares: after ``i < n`` with ``n`` at most 10, ``i`` is at most 9."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from autograph.backends.xla import jax_compat
from autograph.backends.xla.jax_compat import is_literal
from autograph.backends.xla.optimize.bounds import TRUTH, Bounds, bounds_of_type

_NEGATED: Mapping[str, str] = MappingProxyType({"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"})
_EXCHANGED: Mapping[str, str] = MappingProxyType(
    {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
)
_SAME_TRUTH = frozenset({"convert_element_type", "squeeze", "reshape", "broadcast_in_dim", "copy"})


def where_true(
    condition: Any, equations: Sequence[Any], bounds_of: Callable[[Any], Bounds | None]
) -> dict[Any, Bounds]:
    """The bounds of variables where a condition holds that these equations compute, those alone that it narrows.

    Args:
      bounds_of: the bounds of an atom, whatever the condition is.

    >>> import jax
    >>> program = jax.make_jaxpr(lambda i, is_done: (i < 10) & ~is_done)(3, False).jaxpr
    >>> found = where_true(program.outvars[0], program.eqns, lambda a: (10, 10) if is_literal(a) else bounds_of_type(a.aval))
    >>> [found[variable] for variable in program.invars]
    [(-2147483648, 9), (0, 0)]
    """
    makers = {variable: equation for equation in equations for variable in equation.outvars}
    found: dict[Any, Bounds] = {}

    def of(atom: Any) -> Bounds | None:
        return bounds_of(atom) if is_literal(atom) else found.get(atom) or bounds_of(atom)

    def narrow(atom: Any, name: str, other: Bounds | None) -> None:
        own = of(atom)
        if is_literal(atom) or own is None or other is None:
            return
        low, high = _within(own, name, other)
        if low <= high and (low, high) != own:  # where nothing is left the condition never holds
            found[atom] = low, high

    pending = [(condition, True)]
    while pending:
        atom, truth = pending.pop()
        if is_literal(atom):
            continue
        if bounds_of_type(atom.aval) != TRUTH:  # a number, which is true where it is not 0
            narrow(atom, "ne" if truth else "eq", (0, 0))
            continue
        narrow(atom, "eq", (int(truth), int(truth)))
        equation = makers.get(atom)
        if equation is None:
            continue
        name = jax_compat.name_of(equation)
        if name == ("and" if truth else "or") or name in _SAME_TRUTH:
            pending += [(operand, truth) for operand in equation.invars]
        elif name == "not":
            pending.append((equation.invars[0], not truth))
        elif name == "select_n" and len(equation.invars) == 3:  # ``a and b``, where ``b`` is computed only after ``a``
            predicate, *cases = equation.invars
            possible = [k for k, case in enumerate(cases) if of(case) != (int(not truth), int(not truth))]
            if len(possible) == 1:
                pending += [(predicate, possible[0] == 1), (cases[possible[0]], truth)]
        elif name in _NEGATED:
            one, other = equation.invars
            name = name if truth else _NEGATED[name]
            if one is not other and (one.aval.shape, other.aval.shape) == ((), ()):
                narrow(one, name, of(other))
                narrow(other, _EXCHANGED[name], of(one))
    return found


def _within(own: Bounds, name: str, other: Bounds) -> Bounds:
    """The bounds of what compares so with something within others."""
    low, high = own
    if name in ("lt", "le", "eq"):
        high = min(high, other[1] - (name == "lt"))
    if name in ("gt", "ge", "eq"):
        low = max(low, other[0] + (name == "gt"))
    if name == "ne" and other[0] == other[1]:
        low, high = low + (low == other[0]), high - (high == other[0])
    return low, high
