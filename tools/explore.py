"""Make the page of a function: that of its program, or its source with the refusal at its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import autograph as ag
from autograph._api import refusal_page


class Refused(Exception):
    """The function is refused, and a page says why: where that is, and the first sentence of the reason."""


def write_page(
    function: ag.Function[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Write the page of a function for these arguments.

    Returns:
      What it shows, in short: the names of the operations, and the signature.

    Raises:
      Refused: the function cannot be converted or staged; the page shows that.
      OSError: the file cannot be written.
    """
    if path.is_dir() or not path.resolve().parent.is_dir():  # before minutes of compiling
        raise OSError(f"cannot write {path}: {'it is a directory' if path.is_dir() else 'no such directory'}")
    try:
        concrete = function.get_concrete_function(*args, **kwargs)
        page = concrete.graph.to_html()
    except (ag.StagingError, ag.ConversionError) as error:
        path.write_text(refusal_page(function, error), encoding="utf-8")
        said = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise Refused(f"{' '.join(said[:2])} ({path} shows it)") from error
    path.write_text(page, encoding="utf-8")
    operations = [operation.name for operation in concrete.graph.operations]
    return {
        "operations": len(operations),
        "bytes": len(page.encode()),
        "signature": concrete.pretty_printed_signature(),
    }
