"""The source documents held against what kwire measures: a module for each, imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire_cli.analysis.papers.model import Paper
    from kwire_cli.spec.catalog import Catalog

PAPERS = {
    "kip482": "KIP-482: tagged fields and flexible versions",
    "kafka9927": "KAFKA-9927: varint encodings for ordinary fields",
    "kip82": "KIP-82, draft: record headers with integer keys",
    "kip98": "KIP-98, draft: a message set with its own header",
}
"""Each document's module in this package has its name, and a function `paper`."""


def paper(name: str, catalog: Catalog, *, times: bool | None = None) -> Paper:
    """One of PAPERS, with everything in it measured now.

    `times` are of what differs between machines: None for those that take a moment, True for all, which takes seconds,
    False for none.
    """
    document: Paper = importlib.import_module(f"kwire_cli.analysis.papers.{name}").paper(catalog, times=times)
    return document
