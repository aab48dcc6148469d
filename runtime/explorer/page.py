"""Write the HTML page of a program, without external resources.

What belongs to one line of the user's bears one key (``data-k``) wherever it stands, and `page.js` marks all of it
when one is pointed at. Without scripts everything can still be read.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import linecache
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from autograph.backends.base import LeafType
from autograph.backends.described import Block, Position, TextLine
from autograph.runtime.errors import cell_of
from autograph.runtime.explorer.lines import (
    COND,
    Box,
    Line,
    LineFacts,
    Statement,
    boxes_of,
    every_operation,
    facts_by_line,
    is_conditional,
    line_of,
    statements_of,
)
from autograph.runtime.explorer.view import Listing, View
from autograph.runtime.tracing.statements import CarriedVariable, StagedLoop

_WORD = re.compile(r"[^\W\d]\w*")
_NOTHING = Block("program", "", (), "")
_NO_VIEW = View(tuple, lambda: 0, tuple, lambda lines: ())


@dataclass(frozen=True)
class Contents:
    """A program, as a backend describes it.

    Attributes:
      signature: of what it was traced for, as text.
      program: its operations.
      compiled: the compiled program's lines; None where there is none.
      cost: XLA's estimates for the whole; memory: XLA's account of its memory, if there is one.
    """

    signature: str
    program: Block
    compiled: Sequence[TextLine] | None
    cost: Mapping[str, float]
    memory: Any


@dataclass(frozen=True)
class Refusal:
    """Why there is no program: what was said, and the line that it was said of."""

    kind: str
    text: str
    line: Line | None


def program_page(name: str, contents: Contents, view: View) -> str:
    """The page of a program."""
    return _Page(name, contents, view, None).html()


def refusal_page(name: str, refusal: Refusal, listings: Sequence[Listing]) -> str:
    """The page of a function that was refused: its source, with the refusal at its line."""
    view = View(_NO_VIEW.records, _NO_VIEW.traces, _NO_VIEW.retraces, lambda lines: listings)
    return _Page(name, Contents("", _NOTHING, None, {}, None), view, refusal).html()


def in_frame(page: str, title: str) -> str:
    """A page within another, as in a notebook, neither of which sees the other's styles and scripts."""
    return (
        f'<iframe title="{escape(title)}" srcdoc="{escape(page)}" sandbox="allow-scripts" '
        'style="width:100%;height:46rem;border:1px solid #8888;border-radius:6px"></iframe>'
    )


class _Keys:
    """A number for each line of the user's."""

    def __init__(self) -> None:
        self._known: dict[Line, int] = {}

    def of(self, line: Line | None) -> str:
        """The attribute that says which line something comes from; empty for none."""
        return "" if line is None else f' data-k="{self._known.setdefault(line, len(self._known))}"'

    def __iter__(self) -> Iterator[Line]:
        yield from list(self._known)


class _Page:
    def __init__(self, name: str, contents: Contents, view: View, refusal: Refusal | None) -> None:
        self.name, self.contents, self.view, self.refusal = name, contents, view, refusal
        self.facts = facts_by_line(contents.program, view.records())
        if refusal is not None and refusal.line is not None:
            self.facts.setdefault(refusal.line, LineFacts())
        self.listings = list(view.listings(self.facts))
        self.names = {name for each in self.listings for text in each.source for name in _WORD.findall(text)}
        self.converted_names = {
            name for each in self.listings for text, _ in each.converted for name in _WORD.findall(text)
        }
        self.statements: dict[Line, Statement] = statements_of(self.listings)
        self.keys = _Keys()
        for line in sorted(self.facts):
            self.keys.of(line)
        self.most = max((facts.bytes for facts in self.facts.values()), default=0)

    def html(self) -> str:
        title, script = escape(self.name), _file("page.js")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
            f"<title>{title}</title><style>{_file('page.css')}</style></head>\n<body>"
            f"{self._header()}<main>{self._source()}{self._here()}{self._tabs()}</main>"
            f"<script>{script}</script></body></html>\n"
        )

    # What stands above.

    def _header(self) -> str:
        items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in self._totals())
        signature = self.contents.signature
        text = (
            f"<details><summary>signature</summary><pre class=signature>{escape(signature)}</pre></details>"
            if signature
            else ""
        )
        return f"<header><h1>{escape(self.name)}</h1>{self._refused()}<dl class=totals>{items}</dl>{text}</header>"

    def _refused(self) -> str:
        if self.refusal is None:
            return ""
        text = self.refusal.text  # the whole of it is at the line, if there is one
        if self.refusal.line is not None:
            text = " ".join(line.strip() for line in text.splitlines()[:2])
        key = self.keys.of(self.refusal.line)
        return f'<p class="refusal" role="alert"{key}><strong>{escape(self.refusal.kind)}</strong> {escape(text)}</p>'

    def _totals(self) -> Iterator[tuple[str, str]]:
        if self.refusal is not None:
            return
        yield "operations", f"{sum(1 for _ in every_operation(self.contents.program)):,}"
        yield "traces", f"{self.view.traces():,}"
        cost, memory = self.contents.cost, self.contents.memory
        if "flops" in cost:
            yield "flops (XLA)", _number(cost["flops"])
        if "bytes accessed" in cost:
            yield "bytes accessed (XLA)", _bytes(cost["bytes accessed"])
        for label, attribute in (
            ("arguments", "argument_size_in_bytes"),
            ("results", "output_size_in_bytes"),
            ("temporaries", "temp_size_in_bytes"),
        ):
            if (size := getattr(memory, attribute, None)) is not None:
                yield label, _bytes(size)

    # The source, and what is known of a line.

    def _source(self) -> str:
        listed: set[Line] = set()
        parts: list[str] = []
        for listing in self.listings:
            lines = [(listing.file, listing.first + k) for k in range(len(listing.source))]
            listed |= set(lines)
            rows = [self._source_line(line, text) for line, text in zip(lines, listing.source, strict=True)]
            parts.append(_rows(f"{listing.name} · {_short(listing.file)}", rows))
        others: dict[str, list[Line]] = {}
        for line in self.keys:
            if line not in listed:
                others.setdefault(line[0], []).append(line)
        for file, lines in sorted(others.items()):
            rows = [self._source_line(line, linecache.getline(*line).rstrip("\n")) for line in sorted(lines)]
            parts.append(_rows(_short(file), rows))
        body = "".join(parts) or "<p class=empty>There is no source to show.</p>"
        return f'<section class="source" aria-label="source"><h2>Source</h2>{_list("source", body)}</section>'

    def _source_line(self, line: Line, text: str) -> str:
        facts = self.facts.get(line)
        number = f"<span class=no>{line[1]}</span>"
        code = f"<span class=code>{escape(text) or ' '}</span>"
        if facts is None:
            return f"<div class=ln>{number}<span class=cost></span>{code}</div>"
        marks = "".join(f'<b class="{kind}">{label}</b>' for kind, label in self._marks(line, facts))
        marks = f"<span class=marks>{marks}</span>" if marks else ""
        share = "" if not self.most else f' style="--share:{100 * facts.bytes / self.most:.0f}%"'
        cost = f"<span class=cost{share}>{_cost(facts)}</span>"
        return f"<div class=ln{self.keys.of(line)}>{number}{cost}{code}{marks}</div>"

    def _marks(self, line: Line, facts: LineFacts) -> Iterator[tuple[str, str]]:
        if self.refusal is not None and line == self.refusal.line:
            yield "refused", "refused"
        if facts.loops:
            yield "loop", "loop"
        for kind in dict.fromkeys("cond" if form is COND else "select" for _, form in facts.branches):
            yield kind, kind
        if facts.remarks:
            yield "remark", "!"

    def _here(self) -> str:
        known = "".join(self._detail(line, facts) for line, facts in sorted(self.facts.items()))
        hint = "<p class=empty>Point at a marked line, or go through them with the arrow keys.</p>"
        return (
            '<section class="here" aria-label="at this line" aria-live="polite"><h2>At this line</h2>'
            f'<div class="details">{hint}{known}</div></section>'
        )

    def _detail(self, line: Line, facts: LineFacts) -> str:
        parts = [f"<h3>{escape(_short(line[0]))}:{line[1]}</h3>"]
        if self.refusal is not None and line == self.refusal.line:
            parts.append(f"<p class=refusal>{escape(self.refusal.text)}</p>")
        parts += [self._loop(record) for record, _ in facts.loops]
        known = self.statements.get(line)
        subject = "This conditional" if is_conditional(known) else "A conditional in an expression of this line"
        for record, form in facts.branches:
            results = "".join(f"<tr><td><code>{escape(n)}</code><td>{_types(t)}" for n, t in record.results)
            table = f"<table><tr><th>value<th>type{results}</table>" if results else ""
            parts.append(f"<p>{subject} is {escape(form)}.</p>{table}")
        parts += [f"<p class=remark>{escape(remark)}</p>" for remark in facts.remarks]
        if facts.operations:
            plural = "" if facts.operations == 1 else "s"
            per = " in each iteration" if facts.per_iteration else ""
            parts.append(
                f"<p class=cost>{facts.operations:,} operation{plural}{per}: {_number(facts.flops)} flops, "
                f"{_bytes(facts.bytes)} read and written, {_bytes(facts.results)} of results.</p>"
            )
        return f"<section class=detail{self.keys.of(line)}>{''.join(parts)}</section>"

    def _loop(self, record: StagedLoop) -> str:
        rows = "".join(map(self._carried, record.carried))
        table = f"<table><tr><th>carried<th>type<th>why{rows}</table>" if rows else "<p>It carries no variable.</p>"
        fixed = ", ".join(f"<code>{escape(name)}</code>" for name in record.fixed)
        kept = f"<p>Read, and the same in every iteration: {fixed}.</p>" if fixed else ""
        return f"<p>This loop is staged, and runs {escape(record.trips)}.</p>{table}{kept}"

    def _carried(self, carried: CarriedVariable) -> str:
        made = [] if self._is_users(carried) else ["The converter made it: see the converted source."]
        why = " ".join([*made, *carried.reasons])
        return f"<tr><td><code>{escape(carried.name)}</code><td>{_types(carried.types)}<td>{escape(why)}"

    def _is_users(self, carried: CarriedVariable) -> bool:
        """Whether it is no name that only the converted source has."""
        if not carried.name.isidentifier() or not self.names:
            return True
        return carried.name in self.names or carried.name not in self.converted_names

    # The other forms of the program.

    def _tabs(self) -> str:
        panels = [("converted", "Converted", self._converted())]
        if self.refusal is None:
            panels = [("structure", "Structure", self._structure()), *panels]
            panels += [
                ("jaxpr", "jaxpr", self._jaxpr()),
                ("hlo", "HLO", self._hlo()),
                ("traces", "Traces", self._traces()),
            ]
        buttons, bodies = [], []
        for k, (key, label, body) in enumerate(panels):
            chosen = "true" if k == 0 else "false"
            buttons.append(
                f'<button role="tab" id="tab-{key}" aria-controls="panel-{key}" aria-selected="{chosen}" '
                f'tabindex="{-1 if k else 0}">{label}</button>'
            )
            bodies.append(f'<div role="tabpanel" id="panel-{key}" aria-labelledby="tab-{key}">{body}</div>')
        return f'<section class="forms" aria-label="the program"><div role="tablist">{"".join(buttons)}</div>{"".join(bodies)}</section>'

    def _structure(self) -> str:
        boxes = boxes_of(self.contents.program, self.facts, self.statements)
        drawn = "".join(map(self._box, boxes)) or "<p class=empty>The program has no loop and no branch.</p>"
        return f'<div class="pane boxes">{drawn}</div>'

    def _box(self, box: Box) -> str:
        text = "" if box.line is None else linecache.getline(*box.line).strip()
        count = f" <i>× {box.count}</i>" if box.count > 1 else ""
        where = f"<code>{escape(text)}</code>" if text else f"<code>{escape(box.keyword)}</code>"
        form = f'<b class="{box.kind}">{box.kind}</b>'
        detail = f"<small>{escape(box.detail)}</small>" if box.detail else ""
        head = f'<button type="button"{self.keys.of(box.line)}>{form} {where}{count} {detail}</button>'
        inner = "".join(
            f"<div class=group>{f'<span>{escape(label)}</span>' if len(box.groups) > 1 else ''}{''.join(map(self._box, boxes))}</div>"
            for label, boxes in box.groups
            if boxes
        )
        return f'<div class="box {box.kind}">{head}{inner}</div>'

    def _converted(self) -> str:
        parts = []
        for listing in self.listings:
            rows = [
                self._text(
                    text, None if line is None or (listing.file, line) not in self.facts else (listing.file, line)
                )
                for text, line in listing.converted
            ]
            if rows:
                parts.append(_rows(listing.name, rows))
        return _list("converted source", "".join(parts) or "<p class=empty>Nothing was converted.</p>")

    def _jaxpr(self) -> str:
        return _list("jaxpr", "".join(self._block(self.contents.program, 0)))

    def _block(self, block: Block, depth: int) -> Iterator[str]:
        indent = "  " * depth
        yield self._text(f"{indent}{block.label} {{ {block.head}", None)
        for operation in block.operations:
            yield self._text(f"{indent}  {operation.text}", line_of(operation))
            for inner in operation.blocks:
                yield from self._block(inner, depth + 2)
        yield self._text(f"{indent}}} {block.tail}", None)

    def _hlo(self) -> str:
        if self.contents.compiled is None:
            return "<p class=empty>The program has symbolic dimensions: XLA compiles it for concrete sizes.</p>"
        return _list(
            "optimized HLO",
            "".join(self._text(each.text, self._known(each.position)) for each in self.contents.compiled),
        )

    def _known(self, position: Position | None) -> Line | None:
        line = None if position is None else (position.file, position.line)
        return line if line in self.facts else None

    def _traces(self) -> str:
        retraces = self.view.retraces()
        rows = "".join(
            f"<tr><td>{number}<td>{escape(each.what)}<td>{escape(each.before)}<td>{escape(each.after)}<td>{escape(each.advice)}"
            for number, differences in retraces
            for each in differences
        )
        if not rows:
            return "<div class=pane><p class=empty>The function was traced once: nothing was retraced.</p></div>"
        return f"<div class=pane><table><tr><th>trace<th>what differs<th>was<th>is<th>to avoid it{rows}</table></div>"

    def _text(self, text: str, line: Line | None) -> str:
        return f"<div class=ln{self.keys.of(line)}><span class=code>{escape(text) or ' '}</span></div>"


def _rows(title: str, rows: Iterable[str]) -> str:
    return f'<div role="group" aria-label="{escape(title)}"><h3>{escape(title)}</h3>{"".join(rows)}</div>'


def _list(label: str, body: str) -> str:
    return f'<div class="pane list" role="listbox" aria-label="{escape(label)}" tabindex="0">{body}</div>'


def _types(types: Sequence[LeafType]) -> str:
    shown = [str(type.strong()) for type in types[:6]] + (["…"] if len(types) > 6 else [])
    return "<br>".join(f"<code>{escape(type)}</code>" for type in shown)


def _cost(facts: LineFacts) -> str:
    if not facts.operations:
        return ""
    return f"{_bytes(facts.bytes)}{'/it' if facts.per_iteration else ''}"


def _number(value: float) -> str:
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f}"


def _bytes(value: float) -> str:
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def _short(file: str) -> str:
    return cell_of(file) or os.path.basename(file) or file


@functools.cache
def _file(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
