"""The folders of the repository and the modules in them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

# Folder: the package that it installs as, as in pyproject.toml.
ROOMS = {
    "autograph": "autograph",
    "runtime": "autograph.runtime",
    "backends": "autograph.backends",
    "tools": "autograph.tools",
}


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of the package by the name it is imported by."""
    found = {}
    for folder, package in ROOMS.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            if parts[-1] == "__init__":
                parts = parts[:-1]
            found[".".join((package, *parts))] = path
    return found
