"""The command `kwire doctor`: libraries, programs and folders, and trials of them."""

from __future__ import annotations

import contextlib
import locale
import operator
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import click

from kwire_cli.answer import Answer, Column, Fact, Facts, Table
from kwire_cli.cli.command import Command
from kwire_cli.cli.emit import emit
from kwire_cli.cli.options import Report
from kwire_cli.cli.typed_options import flag, takes
from kwire_cli.engine import kernel
from kwire_cli.errors import InputError, KwireError
from kwire_cli.pipeline import session
from kwire_cli.spec import files
from kwire_cli.spec.catalog import catalog
from kwire_cli.spec.kafka import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kwire_cli.cli.environment import Environment


# What a look at one thing found.

State = Literal["ok", "absent", "broken"]
"""Broken is what is there, or has to be, and can't be used; absent what kwire does without."""


class Finding(NamedTuple):
    """One thing: a library, a program, a folder."""

    group: str
    """What it belongs to: `kwire`, `libraries`, an extra such as `kwire[tls]`, `programs` or `surroundings`."""
    name: str
    state: State
    found: str = ""
    """The version, or where it is."""
    purpose: str = ""
    """The commands or options that need it."""
    how: str = ""
    """How to get or mend it; of what is not ok."""


def one_line(text: object) -> str:
    """Return somebody else's text, such as an error, in one line."""
    return " ".join(str(text).split())


# Python libraries: what the installed kwire says that it needs, against what is installed. Nothing of them is
# imported.

PURPOSES = {
    "all": "everything: all other extras",
    "fast": "another name of kwire[lake]",
    "lake": "kwire export, kwire query, and machine code for many messages; part of kwire[spark]",
    "schemas": "keys and values by Avro, Protobuf and JSON Schema, and the metrics that clients push",
    "spark": "kwire scan; it also needs Java",
    "stores": "s3://, gs://, hdfs:// and other URLs in place of paths",
    "tls": "--tls-keylog, and pcapng files that hold secrets",
    "tui": "kwire tui",
}
"""The commands and options that need an extra. Which libraries it has is in the package's own metadata."""
UNIONS = frozenset({"all", "fast"})
"""Extras that are made of others, whose libraries are shown with these."""


_NEED = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*\(?(?P<ranges>[^;)]*)\)?\s*(?:;.*?extra == ['\"](?P<extra>[\w-]+)['\"].*)?$"
)
_RANGE = re.compile(r"(>=|<=|==|!=|~=|<|>)\s*([\w.*+!-]+)")
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}


class Need(NamedTuple):
    """A library of kwire's own, or of an extra."""

    name: str
    ranges: str
    extra: str | None = None


def needs() -> Iterator[Need]:
    """All that the metadata of the installed kwire names, in its order; PackageNotFoundError where kwire runs without
    being installed.
    """
    for line in distribution("kwire").requires or ():
        match = _NEED.match(line)
        if match and match["name"] != "kwire":  # its own extras are written out where it is built
            yield Need(match["name"], match["ranges"].strip(), match["extra"])


def libraries() -> Iterator[Finding]:
    """A finding for each library, and for each extra that the installed metadata does not know yet."""
    try:
        wanted = [*needs()]
    except PackageNotFoundError:
        yield Finding(
            "libraries",
            "kwire",
            "absent",
            "runs without being installed",
            how="pip install kwire, to learn what it needs",
        )
        return
    extras = {need.extra for need in wanted}
    shown: dict[str, list[Finding]] = {}
    for need in sorted(wanted, key=lambda need: (need.extra or "", need.name)):
        shown.setdefault(need.extra or "", []).append(_library(need))
    for extra, findings in shown.items():
        yield from [_union(extra, findings)] if extra in UNIONS else findings
    for extra in sorted(PURPOSES.keys() - extras):
        how = "the installed kwire has no such extra, or its metadata is older than its code: install it again"
        yield Finding(f"kwire[{extra}]", "(unknown)", "absent", "", PURPOSES[extra], how)


def _union(extra: str, findings: Sequence[Finding]) -> Finding:
    """Return one finding for all libraries of an extra. A broken one is told where it is shown by itself."""
    there = sum(finding.state == "ok" for finding in findings)
    state: State = "ok" if there == len(findings) else "absent"
    how = "" if state == "ok" else f"pip install 'kwire[{extra}]'"
    found = f"{there} of {len(findings)}"
    return Finding(f"kwire[{extra}]", "libraries", state, found, PURPOSES[extra], how)


def _library(need: Need) -> Finding:
    group = f"kwire[{need.extra}]" if need.extra else "libraries"
    purpose = PURPOSES.get(need.extra, "") if need.extra else "every command"
    again = f"pip install '{group if need.extra else 'kwire'}'"
    try:
        there = version(need.name)
    except PackageNotFoundError:
        return Finding(group, need.name, "absent" if need.extra else "broken", "", purpose, again)
    if not there:  # what an interrupted installation leaves behind
        return Finding(group, need.name, "broken", "", purpose, f"pip install --force-reinstall {need.name}")
    if not meets(there, need.ranges):
        return Finding(group, need.name, "broken", there, purpose, f"kwire needs {need.ranges}: {again}")
    return Finding(group, need.name, "ok", there, purpose)


def meets(there: str, ranges: str) -> bool:
    """Return whether a version is in ranges such as `>=44,<60`, by its release numbers alone (PEP 440)."""
    return all(_holds(relation, _numbers(there), bound) for relation, bound in _RANGE.findall(ranges))


def _holds(relation: str, there: list[int], text: str) -> bool:
    bound = _numbers(text)
    if relation == "~=":
        return there >= bound and there[: len(bound) - 1] == bound[:-1]
    if text.endswith(".*"):
        there = there[: len(bound)]
    pairs = [*zip_longest(there, bound, fillvalue=0)]
    first = next(((a, b) for a, b in pairs if a != b), (0, 0))
    return _RELATIONS[relation](*first)


def _numbers(text: str) -> list[int]:
    """`2.10.70rc1` as [2, 10, 70]."""
    match = re.match(r"\d+(?:\.\d+)*", text.rpartition("!")[2])
    return [int(part) for part in match[0].split(".")] if match else []


# What is around kwire: the Python that runs it, programs that it starts or reads from, its files, the folder
# for machine code, the terminal.

OLDEST = (3, 11)


PROGRAMS = {
    "tcpdump": (
        "captures as they are made: tcpdump -U -w - | kwire decode -",
        "apt install tcpdump, or your system's package of this name",
    ),
    "dumpcap": (
        "the same, in pcapng: dumpcap -w - | kwire decode -",
        "apt install wireshark-common, or your system's package of Wireshark",
    ),
    "git": (
        "kwire breaking and diff with revisions (REVISION:PATH)",
        "apt install git, or your system's package of this name",
    ),
}


def itself() -> Iterator[Finding]:
    """kwire, Python, and the definitions that come with kwire."""
    yield Finding("kwire", "kwire", "ok", VERSION)
    python = (
        f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.machine()})"
    )
    wrong = sys.version_info < OLDEST
    yield Finding(
        "kwire",
        "python",
        "broken" if wrong else "ok",
        python,
        how=f"install Python {OLDEST[0]}.{OLDEST[1]} or newer" if wrong else "",
    )
    try:
        known = catalog()
        found = f"{len(known)} messages, {len(known.apis)} apis, in {files.specs_folder()}"
        missing = [entry.name for entry in known if not os.path.exists(os.path.join(files.specs_folder(), entry.file))]  # noqa: PTH110, PTH118 - few imports
    except KwireError as error:
        yield Finding("kwire", "definitions", "broken", one_line(error), "every command", "install kwire again")
        return
    if missing and os.path.isdir(files.specs_folder()):  # noqa: PTH112 - as above; of a zip it is none
        yield Finding(
            "kwire",
            "definitions",
            "broken",
            f"the file of {missing[0]} is missing",
            "every command",
            "install kwire again",
        )
        return
    yield Finding("kwire", "definitions", "ok", found)


def programs(variables: Mapping[str, str]) -> Iterator[Finding]:
    """Java, and programs on PATH."""
    purpose = "kwire scan"
    try:
        release = session.java_version(variables)
    except InputError as error:
        state: State = (
            "broken" if variables.get("JAVA_HOME") or shutil.which("java", path=variables.get("PATH")) else "absent"
        )
        yield Finding("programs", "java", state, "" if state == "absent" else one_line(error), purpose, session.HOW)
    else:
        old = release is not None and release < session.OLDEST
        said = "of an unknown version" if release is None else str(release)
        yield Finding("programs", "java", "broken" if old else "ok", said, purpose, session.HOW if old else "")
    for name, (needed, how) in PROGRAMS.items():
        path = shutil.which(name, path=variables.get("PATH"))
        yield Finding("programs", name, "ok" if path else "absent", path or "", needed, "" if path else how)


def places(variables: Mapping[str, str], *, to_terminal: bool, in_colour: bool) -> Iterator[Finding]:
    """The folder in which machine code is kept, and what results are written to."""
    yield _machine_code()
    size = shutil.get_terminal_size()
    text = locale.getpreferredencoding(do_setlocale=False)
    colours = "colours" if in_colour else "no colours"
    console = (
        f"{variables.get('TERM') or 'TERM is not set'}, {size.columns} columns, {colours}"
        if to_terminal
        else f"no terminal, {colours}"
    )
    utf8 = text.lower().replace("-", "") == "utf8"
    how = "" if utf8 else f"kwire writes UTF-8, and this system says {text}: set LC_ALL=C.UTF-8"
    yield Finding(
        "surroundings", "output", "ok" if utf8 else "absent", console, "tree, table and other formats for eyes", how
    )


def _machine_code() -> Finding:
    from kwire_cli.engine.numba_loops import cache_folder

    purpose = "kwire scan starts quickly"
    if find_spec("numba") is None:
        return Finding(
            "surroundings",
            "cache",
            "absent",
            "",
            purpose,
            "pip install 'kwire[lake]' or 'kwire[spark]': without numba there is no machine code to keep",
        )
    folder = cache_folder(kernel.run)
    if folder is None:
        how = (
            "set XDG_CACHE_HOME to a folder that only you can write to: until then each process compiles for "
            "some seconds"
        )
        return Finding("surroundings", "cache", "absent", "no folder that can be written to", purpose, how)
    kept = sum(1 for _ in folder.rglob("*.nbc"))
    return Finding(
        "surroundings",
        "cache",
        "ok",
        f"{folder}, {f'{kept} functions kept' if kept else 'nothing kept yet: the first scan compiles'}",
        purpose,
    )


# Whether what is installed does its work: each library is imported by a process of its own, and what matters
# most is tried.

SECONDS = 180
"""The seconds that one trial may take. The first start of Spark on a busy machine takes half a minute."""


MODULES = {
    "cryptography": "cryptography.hazmat.primitives.ciphers.aead",
    "google-re2": "re2",
    "grpcio-tools": "grpc_tools.protoc",
    "protobuf": "google.protobuf.message",
    "opentelemetry-proto": "opentelemetry.proto.metrics.v1.metrics_pb2",
}
"""Modules to import of distributions that are named otherwise, or that load their main part only on use."""


class Trial(NamedTuple):
    """A function of `trials`, run by a process of its own."""

    name: str
    function: str
    wants: tuple[str, ...] = ()
    """Distributions without which it is not tried; `java` is a program."""
    purpose: str = ""


TRIALS = (
    Trial("all definitions are read", "definitions", (), "every command"),
    Trial("each compression is packed and unpacked", "compression", (), "records"),
    Trial("a function is compiled", "machine_code", ("numba", "numpy"), "kwire scan"),
    Trial(
        "Spark runs a job of three rows",
        "spark",
        ("pyspark", "pyarrow", "pandas", "numba", "numpy", "java"),
        "kwire scan",
    ),
)


def tried(unusable: frozenset[str], told: Callable[[str], None], trials: Sequence[Trial] = TRIALS) -> Iterator[Finding]:
    """A finding for each library that is installed, and for each trial of which nothing is `unusable`; `told` is called
    before each.
    """
    for name in sorted({need.name for need in _needs()} - unusable):
        module = MODULES.get(name, name)
        told(f"import {module}")
        yield _run(f"import {module}", f"import {module}", f"all that needs {name}")
    for trial in trials:
        if unusable.isdisjoint(trial.wants):
            told(trial.name)
            yield _run(
                trial.name,
                f"from kwire_cli.cli import doctor_trials as trials; trials.{trial.function}()",
                trial.purpose,
            )


def _needs() -> list[Need]:
    with contextlib.suppress(PackageNotFoundError):
        return [*needs()]
    return []


def _run(name: str, code: str, purpose: str) -> Finding:
    command = [sys.executable, "-P", "-c", code]  # without -P, it would import from the current folder
    try:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=SECONDS)  # noqa: S603 - our own code
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(
            "trials",
            name,
            "broken",
            one_line(error),
            purpose,
            "see whether this Python can be run, and whether the machine is busy",
        )
    if done.returncode == 0:
        return Finding("trials", name, "ok", "", purpose)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = said[-1] if said else f"its process ended with {done.returncode}"
    return Finding("trials", name, "broken", one_line(last)[:300], purpose, "install again what it names")


# `kwire doctor`: what is installed, what is missing and how to get it, and on request whether it works.

COLUMNS = (
    Column("group"),
    Column("name"),
    Column("state"),
    Column("found"),
    Column("purpose", title="needed by", keep=1),
    Column("how", title="what to do"),
)


EXAMPLES = (
    ("kwire doctor", "what is there, what is missing, and how to get it"),
    ("kwire doctor --format jsonl", "the same for a program"),
    ("kwire doctor --trials", "whether what is there works"),
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options(Report):
    """Options of `kwire doctor`."""

    PIPED: ClassVar[str] = "table"

    trials: bool = flag(
        "--trials",
        former=("--deep",),
        help="Also import each library, compile a function, and run a Spark job.",
    )


@click.command(name="doctor", cls=Command, examples=EXAMPLES)
@takes(Options)
def command(environment: Environment, options: Options) -> int:
    """Show what is installed, what is missing, how to get it, and which commands need it.

    Exits with 1 if something is broken: installed but unusable, or required by every command. An extra that is
    not installed is no error.
    """
    return emit(environment, answer_of([*_found(environment, with_trials=options.trials)]), options)


def answer_of(findings: Sequence[Finding]) -> Answer:
    """Return what was found as an answer, and whether all of it works."""
    broken = any(finding.state == "broken" for finding in findings)
    facts = Facts([Fact("healthy", not broken, "flag", level="error" if broken else "")])
    return Answer("What is installed", [Table("findings", COLUMNS, findings), facts], found=broken)


def _found(environment: Environment, *, with_trials: bool) -> Iterator[Finding]:
    findings = []
    for looking in (
        itself(),
        libraries(),
        programs(environment.variables),
        places(environment.variables, to_terminal=environment.to_terminal, in_colour=environment.in_colour),
    ):
        for finding in looking:
            findings.append(finding)
            yield finding
    if with_trials:
        talk = environment.stderr.isatty()
        unusable = frozenset(finding.name for finding in findings if finding.state != "ok")
        yield from tried(unusable, lambda name: environment.note(f"trying: {name}") if talk else None)
