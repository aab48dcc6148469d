"""Settings of Sphinx, which `make docs` runs with warnings as errors. The pages are Markdown, the reference is of docstrings."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pygments.lexers.python import PythonLexer
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import autograph

project = "autograph"
author = "the autograph authors"
project_copyright = author
version = release = autograph.__version__

# Modules are imported, not parsed: four folders of the repository install as one package.
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are
default_role = "code"  # `name` in docstrings
napoleon_google_docstring = True
napoleon_numpy_docstring = False
highlight_language = "python"
nitpicky = False
smartquotes = False  # quotes in the code of tables stay what they are

html_theme = "furo"  # fonts of the system; nothing is loaded from elsewhere
html_title = "autograph"
html_copy_source = False
exclude_patterns = ["static"]
html_css_files = ["site.css"]
html_static_path = ["static"]


class _Page(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key == "id" and value:
                self.anchors.add(value)
            if key in ("href", "src") and value:
                self.links.append(value)


def check_links(app: Sphinx, exception: Exception | None) -> None:
    """Fail if a link of a page leads to no file or no anchor of the site."""
    if exception is not None or app.builder.name != "html":
        return
    root = Path(app.outdir)
    pages = {path: _Page(path) for path in root.rglob("*.html")}
    dead = [
        f"{path.relative_to(root)}: {link}"
        for path, page in pages.items()
        for link in page.links
        if not _leads_somewhere(link, path, pages)
    ]
    if dead:
        raise ExtensionError("links that lead nowhere:\n  " + "\n  ".join(dead))


def _leads_somewhere(link: str, path: Path, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target in pages and parts.fragment:
        return unquote(parts.fragment) in pages[target].anchors
    return target.exists()


_LINK = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
_OF_THE_REPOSITORY = {"contributing": "CONTRIBUTING.md", "changelog": "CHANGELOG.md"}


def read_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Take two pages from the top of the repository, and lead links to files outside of `docs/` to what the site has of them."""
    folder = Path(app.srcdir, name).parent
    if name in _OF_THE_REPOSITORY:
        folder = Path(app.srcdir).parent
        source[0] = (folder / _OF_THE_REPOSITORY[name]).read_text(encoding="utf-8")

    def led(found: re.Match[str]) -> str:
        text, target, anchor = found[1], (folder / found[2]).resolve(), found[3] or ""
        pages = {(Path(app.srcdir).parent / file).resolve(): page for page, file in _OF_THE_REPOSITORY.items()}
        page = Path(app.srcdir, pages[target] + ".md") if target in pages else target
        if not page.is_relative_to(app.srcdir):
            return text
        return f"[{text}]({os.path.relpath(page, Path(app.srcdir, name).parent)}{anchor})"

    source[0] = _LINK.sub(led, source[0])


def setup(app: Sphinx) -> None:
    # The left sides of docs/from_*.md; their own names keep the tests from running them as programs for this package.
    for language in ("lax", "numba", "tensorflow", "ipython"):
        app.add_lexer(language, PythonLexer)
    app.connect("source-read", read_source)
    app.connect("build-finished", check_links)
