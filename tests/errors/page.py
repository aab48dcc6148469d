"""Programs that raise or warn, and the page that shows what they say: `python -m tests.errors.page` writes docs/errors.md.

It writes docs/messages.md, too: the texts of all errors and warnings (`tests.errors.messages`).

In `examples.txt` a program stands before ``->``, the fix in one sentence behind it, and the corrected program below. Lines
that begin with ``~`` are other texts to which the section applies, as `messages` collects them.
"""

from __future__ import annotations

import functools
import importlib
import linecache
import os
import re
import sys
import tempfile
import types
import warnings
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import autograph as ag
from tests.rooms import ROOT

DOCUMENT = ROOT / "docs" / "errors.md"

_HEAD = """# Error messages

Each section shows a program that causes an error or a warning, the complete message, and the corrected program. The tests
run both programs. A message states the line, what happened to which variable, the conflicting facts, and a remedy. Messages
that differ only in a detail share a section, which lists them.

`ConversionError` is raised while a function is converted, `StagingError` while it is traced. Exceptions of your program, such
as `ValueError` under a traced condition, are raised by the call, at run time. [All messages](messages.md)
lists the text of every message.

The programs begin with `import autograph as ag, jax, jax.numpy as jnp`, and are shown as the file `example.py`.
"""


@dataclass(frozen=True)
class Example:
    section: str
    title: str
    program: str
    fix: str
    mended: str
    others: tuple[str, ...]


def examples() -> list[Example]:
    """All programs of `examples.txt`, in order."""
    found = []
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    for part in re.split(r"^# ", text, flags=re.MULTILINE)[1:]:
        section, *rest = re.split(r"^## ", part, flags=re.MULTILINE)
        for one in rest:
            title, _, body = one.partition("\n")
            program, fix, mended = re.fullmatch(r"(.*)^-> (.*?)$\n(.*)", body, re.DOTALL | re.MULTILINE).groups()
            lines = mended.splitlines()
            others = tuple(line[2:] for line in lines if line.startswith("~ "))
            mended = "\n".join(line for line in lines if not line.startswith("~ "))
            found.append(Example(section.strip(), title, program.strip(), fix, mended.strip(), others))
    return found


@functools.cache
def says(program: str) -> str:
    """What a program's error or first warning says, as `Class: text`; an empty string if it has none."""
    name = f"<{program!r}>"  # for the corrected program another, though it begins with the same words
    source = program + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module = types.ModuleType("example")  # in which dataclasses look for their names
    scope = vars(module)
    scope |= {"ag": ag, "jax": jax, "jnp": jnp, "np": np}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        os.chdir(folder)
        importlib.invalidate_caches()  # of the folder that was the present one
        sys.modules["example"] = module
        try:
            exec(compile(source, name, "exec"), scope)
        except Exception as error:
            return f"{_public_name(type(error))}: {error}".replace(name, "example.py").replace(folder + os.sep, "")
        finally:
            os.chdir(before)
            del sys.modules["example"]
    found = [
        f"{one.category.__name__}: {one.message}" for one in caught if one.category.__module__.startswith("autograph")
    ]
    return found[0].replace(name, "example.py") if found else ""


def _public_name(kind: type[Exception]) -> str:
    return next(one.__name__ for one in kind.__mro__ if hasattr(ag, one.__name__) or one.__module__ == "builtins")


def shown(example: Example) -> str:
    """The part of docs/errors.md about an example, made by running it."""
    others = "".join(f"- {escaped(text)}\n" for text in example.others)
    return (
        f"### {example.title}\n\n```python\n{example.program}\n```\n\n```text\n{says(example.program)}\n```\n\n"
        f"{example.fix}\n\n```python\n{example.mended}\n```\n"
        + (f"\nOther texts of this kind:\n\n{others}" if others else "")
    )


def escaped(text: str) -> str:
    """Text as Markdown in which nothing but `code` is marked up."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([\\`*_\[\]<>|{}])", r"\\\1", text)
    return "`".join(part if k % 2 else re.sub(r"([\\*_\[\]<>|{}])", r"\\\1", part) for k, part in enumerate(parts))


def document() -> str:
    """The text of docs/errors.md."""
    parts, section = [_HEAD], ""
    for example in examples():
        if example.section != section:
            section = example.section
            parts.append(f"## {section}\n")
        parts.append(shown(example))
    return "\n".join(parts)


if __name__ == "__main__":
    from tests.errors import messages

    DOCUMENT.write_text(document(), encoding="utf-8")
    messages.DOCUMENT.write_text(messages.document(examples()), encoding="utf-8")
