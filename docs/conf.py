"""The site: docs/index.md as its front and the pages of docs/, in sections that a newcomer can follow. `make docs`
builds it; a warning is an error.
"""

from pathlib import Path

SECTIONS = {
    "Start here": ["/README", "cookbook", "commands", "input"],
    "Ask": ["findings", "groups", "stats"],
    "On the wire": ["captures", "filter", "output", "wireshark"],
    "On disk": ["dump", "schemas", "tables", "lake"],
    "Understand a message": ["model", "specs"],
    "Costs and changes": ["costs", "proposals", "diff", "changes"],
    "Share": ["secrets"],
    "From Python": ["library"],
    "Source documents": ["kip482", "kafka9927", "kip82", "kip98"],
    "How kwire is made": [
        "architecture",
        "evidence/speed",
        "evidence/conformance",
        "/CONTRIBUTING",
        "/CHANGELOG",
    ],
    "Samples": ["/samples/README", "/samples/text/README", "/samples/logs/README", "/samples/golden/README"],
}
"""Pages by section: names in docs/, or paths from the root. A page that is not there, or in no section, is an error."""

project = "kwire"
author = "the authors of kwire"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/*.md",
    "docs/**/*.md",
    "samples/README.md",
    "samples/**/README.md",
]
exclude_patterns = [".*", "build", "dist", "kwire_cli", "specs", "tests", "bench"]
nitpicky = True

myst_heading_anchors = 4
"""Anchors are those that GitHub makes, so that one link serves in both places; what a link or an anchor does not lead
to is a warning."""

html_theme = "furo"
html_title = "kwire"
html_copy_source = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "monokai"
highlight_language = "none"


def _sections(_app, page, source):
    """Append the sections to the front."""
    if page != root_doc:
        return
    for caption, names in SECTIONS.items():
        pages = [name if name.startswith("/") else f"/docs/{name}" for name in names]
        source[0] += "\n```{toctree}\n:hidden:\n:caption: " + caption + "\n" + "\n".join(pages) + "\n```\n"


def _front(app, error):
    """Lead from where a server looks for a front to the front."""
    if error is None and app.builder.name == "html":
        to = f'<!doctype html><meta http-equiv="refresh" content="0; url={root_doc}.html"><title>{project}</title>'
        (Path(app.outdir) / "index.html").write_text(to, "utf-8")


def setup(app):
    """Take part in the build."""
    app.connect("source-read", _sections)
    app.connect("build-finished", _front)
