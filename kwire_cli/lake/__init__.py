"""The lake: tables of the contents of captures and logs, as files for SQL. Nothing here needs Spark."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from kwire_cli.errors import InputError, close_to, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

PACKAGES = ("numpy", "numba", "pyarrow", "duckdb", "deltalake")
BODIES = "bodies"
"""The name for all tables of bodies, `bodies_<api>_<kind>`."""
CHOICES = (
    "frames",
    "connections",
    "errors",
    "produce_batches",
    "set_fields",
    "costs",
    "names",
    "batches",
    "records",
    "index",
    "faults",
    BODIES,
)
"""The tables that can be chosen; `inputs` is always written."""
RARE = ("produce_batches", "set_fields", BODIES)
"""Tables that are not written by default. Bodies would be some hundred tables, and the others are read frame by frame.
All of them are needed to diagnose a lake."""
DEFAULT = tuple(name for name in CHOICES if name not in RARE)
"""The tables that are written by default."""
ALL = "all"
DELTA = "delta"
FORMATS = (DELTA, "parquet", "arrow", "csv", "jsonl")
"""Formats of tables. Delta creates a lake; the others are plain files in a new folder."""
_REPORTS = Path(__file__).parent / "sql"
"""The folder of the queries of reports. DuckDB and Spark SQL run the same text."""


def check() -> None:
    """Raise InputError with the names of missing libraries if the libraries of the lake are not all installed."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(f"this needs {', '.join(missing)}, which {verb} not installed: pip install 'kwire[lake]'")


def chosen(names: str | None) -> frozenset[str]:
    """Return the tables in a list of names; DEFAULT for None.

    Raises:
        InputError: A name is not the name of a table.

    """
    if names is None:
        return frozenset(DEFAULT)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted == [ALL]:
        return frozenset(CHOICES)
    for name in wanted:
        if name not in CHOICES:
            raise InputError(
                f"there is no table {name!r}{did_you_mean(close_to(name, CHOICES))}: tables are {', '.join(CHOICES)}"
            )
    if not wanted:
        raise InputError(f"no table is named: tables are {', '.join(CHOICES)}")
    return frozenset(wanted)


def report_names() -> list[str]:
    """Return the names of the reports, in order."""
    return sorted(path.stem for path in _REPORTS.glob("*.sql"))


def reports() -> Mapping[str, str]:
    """Return the reports by name, with the first line of the comment that each query begins with."""
    return {name: report_query(name).split("\n", 1)[0].removeprefix("--").strip() for name in report_names()}


def report_query(name: str) -> str:
    """Return the query of a report.

    Raises:
        InputError: There is no report of this name.

    """
    names = report_names()
    if name not in names:
        raise InputError(
            f"there is no report {name!r}{did_you_mean(close_to(name, names))}: reports are {', '.join(names)}"
        )
    return (_REPORTS / f"{name}.sql").read_text("utf-8")
