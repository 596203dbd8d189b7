"""`kwire doctor`: the libraries that kwire and its extras need, and the versions that are installed.

Both come from the metadata of installed packages. No library is imported, so a broken one cannot stop the report.
"""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, distribution, version
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import click
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from kwire_cli.answer import Answer, Column, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Report
from kwire_cli.cli.typed_options import takes
from kwire_cli.errors import InputError
from kwire_cli.spark import session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kwire_cli.cli.environment import Environment

PURPOSES = {  # the purpose of each extra; `all` combines the others
    "lake": "kwire export, kwire query, machine code for many messages",
    "schemas": "keys and values by Avro, Protobuf and JSON Schema; metrics that clients push",
    "spark": "--master of kwire export and query",
    "stores": "s3:// URLs in place of paths; other URLs need one more library",
    "tls": "--tls-keylog, and pcapng files that hold secrets",
    "tui": "kwire tui",
}
EXAMPLES = (
    ("kwire doctor", "what is installed, what is missing, and what it is for"),
    ("kwire doctor --format markdown", "the same for a ticket"),
    ("kwire doctor --format jsonl", "the same for a program"),
)


class Requires(NamedTuple):
    """A library that kwire or an extra needs.

    `state` is `broken` if the version does not fit, or if the library is absent and every command needs it.
    """

    part: str
    name: str
    wanted: str
    installed: str
    state: str
    purpose: str


COLUMNS = (*map(Column, Requires._fields[:-1]), Column("purpose", title="needed by", keep=1))


class Options(Report):
    """Options of `kwire doctor`."""

    PIPED: ClassVar[str] = "table"


@click.command(name="doctor", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Show the libraries that kwire and its extras need, and which of them are installed.

    pip install 'kwire[tls]' installs the extra tls. Exits with 1 if a version does not fit, or if a library is absent
    that every command needs.
    """
    return emit(environment, answer_of(list(requires(environment.variables))), options)


def answer_of(rows: Sequence[Requires]) -> Answer:
    """Return the requirements as an answer."""
    broken = any(row.state == "broken" for row in rows)
    return Answer("What is installed", [Table("requires", COLUMNS, rows)], found=broken)


def requires(variables: Mapping[str, str]) -> Iterator[Requires]:
    """Yield the requirements in the metadata of the installed kwire, and Java if PySpark is installed."""
    try:
        kwire = distribution("kwire")
    except PackageNotFoundError:
        raise InputError("kwire is not installed, so there is no list of its libraries; try pip install .") from None
    yield _check_library("", "python", kwire.metadata["Requires-Python"], platform.python_version())
    for needed in map(Requirement, kwire.requires or ()):
        for extra in ("", *PURPOSES):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                yield _check_library(extra, needed.name, str(needed.specifier), _installed_version(needed.name))
                break
    if _installed_version("pyspark"):
        yield _check_library("spark", "java", f">={session.OLDEST}", _java_version(variables))


def _check_library(extra: str, name: str, wanted: str, installed: str) -> Requires:
    state = "ok"
    if not installed:
        state = "absent" if extra else "broken"
    elif not SpecifierSet(wanted).contains(installed, prereleases=True):
        state = "broken"
    part = f"kwire[{extra}]" if extra else "kwire"
    return Requires(part, name, wanted, installed, state, PURPOSES.get(extra, "every command"))


def _installed_version(name: str) -> str:
    try:
        return version(name) or ""  # an interrupted installation leaves metadata without a version
    except PackageNotFoundError:
        return ""


def _java_version(variables: Mapping[str, str]) -> str:
    try:
        return str(session.java_version(variables) or "")
    except InputError:
        return ""
