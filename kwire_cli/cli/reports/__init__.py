"""The reports of `kwire scan`: each says what the command for one machine says. A report is a module with `show`, and a
line here.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kwire_cli.cli.environment import Environment

REPORTS = {
    "advise": "which encodings and tags would have paid, as kwire advise",
    "clients": "who speaks to the brokers, as kwire clients",
    "errors": "the apis that answered with errors",
    "latency": "how long brokers took, by api and broker",
    "overhead": "where the bytes go, as kwire overhead",
    "stats": "by api, client, topic and broker, as kwire decode --stats",
    "topics": "what went to and from each topic",
    "upgrade": "whom a newer release would refuse, as kwire clients --upgrade-to",
    "verify": "what is wrong in log directories, as kwire dump --verify",
}
"""By name, what it is about; the modules are those of `MODULES`, else of the same name."""
MODULES = {"errors": "stats", "latency": "stats", "topics": "stats", "upgrade": "clients"}


@dataclass
class Summary:
    """Amounts that a report looked at: files, bytes, rows, and the number of faults.

    An amount is None if it was not counted or is said already. `faults` counts what could not be read.
    """

    files: int | None = None
    size: int | None = None
    rows: int | None = None
    faults: int = 0


@dataclass(frozen=True)
class Asked:
    """Request for a report: inputs, output format, and the options of the command.

    `summary` takes the amounts that the report looked at.
    """

    environment: Environment
    spark: SparkSession
    name: str
    paths: tuple[str, ...]
    fmt: str
    options: dict[str, Any]
    summary: Summary


def show(asked: Asked) -> int:
    """Print a report; an exit code."""
    module = importlib.import_module(f"kwire_cli.cli.reports.{MODULES.get(asked.name, asked.name)}")
    return int(module.show(asked))
