"""Python libraries: what the installed kwire says that it needs, against what is installed. Nothing of them is imported."""

from __future__ import annotations

import operator
import re
from importlib.metadata import PackageNotFoundError, distribution, version
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from kwire_cli.doctor.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PURPOSES = {
    "fast": "machine code of the library's API for many messages; part of kwire[spark]",
    "otlp": "the metrics that clients push (PushTelemetry), decoded",
    "spark": "kwire scan; it also needs Java",
    "stores": "s3://, gs://, hdfs:// and other URLs in place of paths",
    "tls": "--tls-keylog, and pcapng files that hold secrets",
    "tui": "kwire tui",
}
"""The commands and options that need an extra. Which libraries it has is in the package's own metadata."""

_NEED = re.compile(r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*\(?(?P<ranges>[^;)]*)\)?\s*(?:;.*?extra == ['\"](?P<extra>[\w-]+)['\"].*)?$")
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
    """All that the metadata of the installed kwire names, in its order; PackageNotFoundError where kwire runs without being installed."""
    for line in distribution("kwire").requires or ():
        match = _NEED.match(line)
        if match and match["name"] != "kwire":  # its own extras are written out where it is built
            yield Need(match["name"], match["ranges"].strip(), match["extra"])


def libraries() -> Iterator[Finding]:
    """A finding for each library, and for each extra that the installed metadata does not know yet."""
    try:
        wanted = [*needs()]
    except PackageNotFoundError:
        yield Finding("libraries", "kwire", "absent", "runs without being installed", how="pip install kwire, to learn what it needs")
        return
    known = {need.extra for need in wanted}
    for need in sorted(wanted, key=lambda need: (need.extra or "", need.name)):
        yield _library(need)
    for extra in sorted(PURPOSES.keys() - known):
        how = "the installed kwire has no such extra, or its metadata is older than its code: install it again"
        yield Finding(f"kwire[{extra}]", "(unknown)", "absent", "", PURPOSES[extra], how)


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
    """Whether a version is in ranges such as `>=44,<60`, by the numbers of its release alone (PEP 440)."""
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
