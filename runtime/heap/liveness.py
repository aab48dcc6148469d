"""Find the variables that a running function may still read, from its bytecode."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator

_ENDS = frozenset(["RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD"])
_ENDS_TOO = frozenset(["JUMP_BACKWARD_NO_INTERRUPT"])
_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])
_STATEMENT_ENDS = ("STORE_", "POP_TOP", "DELETE_", "RETURN_")
_KILLS = ("STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL", "DELETE_FAST", "DELETE_DEREF")


@functools.lru_cache(512)
def read_from(code: types.CodeType, position: int) -> frozenset[str]:
    """The names that code may read once its instruction at ``position`` is done, or that this has been given."""
    instructions = list(dis.get_instructions(code))
    index = {each.offset: k for k, each in enumerate(instructions)}
    here = max((k for k, each in enumerate(instructions) if each.offset <= position), default=0)
    live = _live(code, instructions, index)
    found = set().union(*(live[k] for k in _successors(instructions, index, here)))
    for k in range(here - 1, -1, -1):  # what lies on the stack while the call runs
        if instructions[k].opname.startswith(_STATEMENT_ENDS):
            break
        found |= _reads(instructions[k])
    return frozenset(found)


@functools.lru_cache(512)
def read_anywhere(code: types.CodeType) -> frozenset[str]:
    """The names that code reads."""
    return frozenset().union(*(_reads(each) for each in dis.get_instructions(code)))


def _live(code: types.CodeType, instructions: list[dis.Instruction], index: dict[int, int]) -> list[set[str]]:
    """The names that may be read from each instruction on."""
    count = len(instructions)
    handlers = _handlers(code, instructions, index)
    following = [[*_successors(instructions, index, k), *handlers[k]] for k in range(count)]
    live: list[set[str]] = [set() for _ in range(count)]
    changes = True
    while changes:
        changes = False
        for k in range(count - 1, -1, -1):
            after = set().union(*(live[other] for other in following[k]))
            new = (after - _kills(instructions[k])) | _reads(instructions[k])
            if new != live[k]:
                live[k], changes = new, True
    return live


def _successors(instructions: list[dis.Instruction], index: dict[int, int], k: int) -> Iterator[int]:
    each = instructions[k]
    if each.opcode in _JUMPS and each.argval in index:
        yield index[each.argval]
    if each.opname not in _ENDS | _ENDS_TOO and k + 1 < len(instructions):
        yield k + 1


def _handlers(code: types.CodeType, instructions: list[dis.Instruction], index: dict[int, int]) -> list[list[int]]:
    """Where an exception in each instruction leads."""
    found: list[list[int]] = [[] for _ in instructions]
    if not code.co_exceptiontable:
        return found
    for entry in dis.Bytecode(code).exception_entries:  # type: ignore[attr-defined]
        for k, each in enumerate(instructions):
            if entry.start <= each.offset < entry.end and entry.target in index:
                found[k].append(index[entry.target])
    return found


def _names(each: dis.Instruction) -> set[str]:
    value = each.argval
    return {part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, str)}


def _reads(each: dis.Instruction) -> set[str]:
    """The names in an instruction, unless it does no more than write to one."""
    is_constant = each.opname in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES")
    if is_constant or each.opname in _KILLS or each.opcode in _JUMPS:
        return set()
    return _names(each)


def _kills(each: dis.Instruction) -> set[str]:
    return _names(each) if each.opname in _KILLS else set()
