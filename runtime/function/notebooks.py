"""The cell magic ``%%autograph``, which shows the converted source of the functions in a cell."""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import Any

from autograph.runtime.errors import ConversionError, cell_of
from autograph.runtime.explorer.view import Listing

_NUMBER = re.compile(r"\d+")
_STYLE = """
#ID{display:flex;flex-wrap:wrap;gap:.75em;margin:.5em 0}
#ID section{flex:1 1 22em;min-width:0;border:1px solid #8886;border-radius:6px;overflow-x:auto}
#ID h4{margin:0;padding:.35em .75em;font:600 12px system-ui,sans-serif;border-bottom:1px solid #8886;background:#8881}
#ID pre{margin:0;padding:.4em 0;font:12px/1.5 ui-monospace,monospace;width:max-content;min-width:100%}
#ID span.l{display:block;padding-right:.75em;white-space:pre}
#ID span.n{display:inline-block;width:3em;margin-right:1em;text-align:right;opacity:.6;user-select:none}
#ID p{margin:0;padding:.5em .75em;white-space:pre-wrap;font:12px/1.5 ui-monospace,monospace;color:#c62828}
"""


class Beside:
    """A function's source and what it is rewritten to, or why it is not: shown beside each other in a notebook."""

    def __init__(self, listing: Listing, refusal: str | None) -> None:
        self.listing, self.refusal = listing, refusal

    def __repr__(self) -> str:
        converted = "\n".join(text for text, _ in self.listing.converted)
        return f"# {self.listing.name}\n{converted if self.refusal is None else self.refusal}"

    def _repr_html_(self) -> str:
        listing = self.listing
        source = list(zip(listing.source, range(listing.first, listing.first + len(listing.source)), strict=True))
        right = _code(listing.converted) if self.refusal is None else f"<p>{escape(self.refusal)}</p>"
        place = cell_of(listing.file) or listing.file
        body = (
            f"<section><h4>{escape(listing.name)} · {escape(place)}</h4>{_code(source)}</section>"
            f"<section><h4>converted</h4>{right}</section>"
        )
        # What comes from the line that is pointed at is marked on both sides, without a script.
        own = "ag" + hashlib.sha256(body.encode()).hexdigest()[:12]
        marks = "".join(
            f"#{own}:has([data-line='{line}']:hover) [data-line='{line}']{{background:#ffb30055}}" for _, line in source
        )
        return f"<style>{_STYLE.replace('ID', own)}{marks}</style><div id={own}>{body}</div>"


def _code(lines: Iterable[tuple[str, int | None]]) -> str:
    rows = "".join(
        f"<span class=l{'' if line is None else f' data-line={line}'}><span class=n>{line or ''}</span>{escape(text)}</span>"
        for text, line in lines
    )
    return f"<pre>{rows}</pre>"


def add_magic(
    ipython: Any,
    listings: Callable[[Any], Sequence[Listing]],
    convert: Callable[[Any], Any],
    show: Callable[[Any], None],
) -> None:
    """Add ``%%autograph`` to an IPython.

    Args:
      ipython: its shell.
      listings: the source of a function, and what it is rewritten to.
      convert: rewrites a function, or raises `ConversionError`.
      show: displays an object in the output of a cell.
    """

    def autograph(line: str, cell: str) -> None:
        __tracebackhide__ = True  # IPython leaves this frame out
        source = ipython.transform_cell(
            f"# %%autograph {line}\n{cell}"
        )  # its lines have the numbers that they have in the cell
        file = ipython.compile.cache(source, _number_of_cell(ipython), raw_code=source)
        try:
            _run(ipython, ipython.compile.ast_parse(source, filename=file), file)
        finally:
            wanted = line.split()
            for function in _functions_in(ipython.user_ns, source, file, wanted):
                for listing in listings(function):
                    show(Beside(listing, _refusal(function, convert)))
            for name in wanted:
                if not any(_functions_in(ipython.user_ns, source, file, [name])):
                    print(f"%%autograph {name}: the cell defines no function of this name", file=sys.stderr)

    ipython.register_magic_function(autograph, magic_kind="cell", magic_name="autograph")


def _number_of_cell(ipython: Any) -> int:
    """The number of the cell that is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is ipython.user_ns and (cell := cell_of(frame.f_code.co_filename)) is not None:
            return int(_NUMBER.findall(cell)[-1])
        frame = frame.f_back
    return int(ipython.execution_count)


def _run(ipython: Any, tree: ast.Module, file: str) -> None:
    """Run a cell's statements; the value of an expression at its end is shown."""
    __tracebackhide__ = True
    shown = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
    exec(ipython.compile(tree, file, "exec"), ipython.user_ns)
    exec(ipython.compile(ast.Interactive(shown), file, "single"), ipython.user_ns)


def _functions_in(names: dict[str, Any], source: str, file: str, wanted: Sequence[str]) -> Iterator[Any]:
    """The functions that a cell has defined, in its order; of classes, their methods. ``wanted``: by name, none for all."""
    lines = source.splitlines(keepends=True)
    found: dict[int, Any] = {}
    for name, value in list(names.items()):
        if wanted and name not in wanted:
            continue
        for each in vars(value).values() if isinstance(value, type) else [value]:
            written = inspect.unwrap(getattr(each, "python_function", getattr(each, "__func__", each)))
            code = getattr(written, "__code__", None)
            if code is not None and code.co_filename == file and linecache.getlines(file) == lines:
                found.setdefault(code.co_firstlineno, written)
    for _, function in sorted(found.items()):
        yield function


def _refusal(function: Any, convert: Callable[[Any], Any]) -> str | None:
    """Why a function is not rewritten; None where it is."""
    try:
        convert(function)
    except ConversionError as error:
        return str(error)
    return None
