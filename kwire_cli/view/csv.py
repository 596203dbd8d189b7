"""Rows of csv (RFC 4180), for programs and for spreadsheets. Nothing else in kwire writes csv but Spark, which takes RUNS from here."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
RUNS = rf"^(?=[=+\-@\t\r])(?!{_NUMBER}(?:;{_NUMBER})*(?![\s\S]))"
"""A regular expression of Python and of Java that is found where a cell begins as a formula does, and is no number or numbers."""
HARMLESS = "'"
"""What stands before such a cell, so that spreadsheets take it for text."""

_END = "\r\n"  # Python quotes cells with ends of lines only where the writer has both characters in its own
_RUNS, _FIRST = re.compile(RUNS), frozenset("=+-@\t\r")


def csv_row(values: Sequence[Any], *, raw: bool = False) -> str:
    """Return one line of csv without its end.

    None is an empty cell, a list its items with semicolons between; structures are JSON.
    A cell that a spreadsheet would run has an apostrophe before it, unless `raw`.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator=_END).writerow([_cell(value, raw=raw) for value in values])
    return out.getvalue().removesuffix(_END)


def _cell(value: Any, *, raw: bool) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, list):
        value = ";".join([str(_cell(item, raw=True)) for item in value])
    return f"{HARMLESS}{value}" if not raw and isinstance(value, str) and value[:1] in _FIRST and _RUNS.match(value) else value
