"""Interpreters: instructions as numbers, a tape, jumps."""

from __future__ import annotations

from tests.programs import program


@program(
    ([43, 43, 91, 62, 43, 43, 60, 45, 93],), ([43, 45, 45, 62, 60, 46, 46, 46, 46],), ([43, 46],), bare="what may raise"
)
def tape_machine(code):
    tape = [0] * 8
    ip = dp = 0
    jumps = {}
    stack = []
    for i, c in enumerate(code):
        if c == ord("["):
            stack.append(i)
        elif c == ord("]"):
            j = stack.pop()
            jumps[i] = j
            jumps[j] = i
    out = []
    while ip < len(code):
        c = program[ip]
        if c == ord(">"):
            dp += 1
        elif c == ord("<"):
            dp -= 1
        elif c == ord("+"):
            tape[dp] = (tape[dp] + 1) % 256
        elif c == ord("-"):
            tape[dp] = (tape[dp] - 1) % 256
        elif c == ord("."):
            out.append(tape[dp])
        elif c == ord("[") and tape[dp] == 0:
            ip = jumps[ip]
        elif c == ord("]") and tape[dp] != 0:
            ip = jumps[ip]
        ip += 1
    return tape, out, dp
