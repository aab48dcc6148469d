"""Parse the text of an optimized HLO module into lines with the user's source line of each instruction.

XLA hands out no other form of a compiled program that is open to Python. Its text names places in two ways, by
release: as an entry of tables at the top (``stack_frame_id``), or in the instruction itself (``source_file``,
``source_line``).
"""

from __future__ import annotations

import re

from autograph.backends.described import Position, TextLine

_FILE = re.compile(r'^(\d+) "(.*)"$')
_LOCATION = re.compile(r"^(\d+) \{file_name_id=(\d+) function_name_id=(\d+) line=(\d+).*? column=(\d+)")
_FRAME = re.compile(r"^(\d+) \{file_location_id=(\d+)")
_FRAME_OF = re.compile(r"stack_frame_id=(\d+)")
_FILE_OF = re.compile(r'source_file="([^"]*)" source_line=(\d+)')
_NOISE = re.compile(r", (?:metadata|backend_config|frontend_attributes)=\{.*$")
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def lines_of(text: str) -> tuple[TextLine, ...]:
    """The module's lines, without its tables of places and without what instructions say beside operands and attributes."""
    tables: dict[str, list[str]] = {name: [] for name in _TABLES}
    rest: list[str] = []
    table: list[str] | None = None
    for line in text.splitlines():
        if line in tables:
            table = tables[line]
        elif table is not None and line:
            table.append(line)
        else:
            if table is None and (line or (rest and rest[-1])):
                rest.append(line)
            table = None
    places = _places(tables)
    return tuple(TextLine(_NOISE.sub("", line), _place_in(line, places)) for line in rest)


def _places(tables: dict[str, list[str]]) -> dict[int, Position]:
    """The user's place for each stack frame."""
    files, functions = (
        {int(match[1]): match[2] for line in tables[name] if (match := _FILE.match(line))} for name in _TABLES[:2]
    )
    locations = {}
    for line in tables["FileLocations"]:
        if match := _LOCATION.match(line):
            key, file, function, number, column = map(int, match.groups())
            locations[key] = Position(files.get(file, ""), number, column, functions.get(function, ""))
    frames = (match for line in tables["StackFrames"] if (match := _FRAME.match(line)))
    return {int(match[1]): locations[int(match[2])] for match in frames if int(match[2]) in locations}


def _place_in(line: str, places: dict[int, Position]) -> Position | None:
    if match := _FRAME_OF.search(line):
        return places.get(int(match[1]))
    if match := _FILE_OF.search(line):
        return Position(match[1], int(match[2]), 0, "")
    return None
