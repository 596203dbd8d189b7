"""The records of real segments of internal topics, and what Kafka's own DumpLogSegments printed of them."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import kwire_cli as kwire
from kwire_cli.records.gaps import Gap

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared"
SEGMENTS = SHARED / "real" / "own" / "segments"


@dataclass(frozen=True)
class Printed:
    topic: str
    where: str
    is_control: bool
    key: bytes | None
    value: bytes | None
    line: str


def records(path):
    """(control, key, value) of each record in a segment."""
    for item in kwire.read_records(path):
        for record in () if isinstance(item, Gap) else item.records():
            yield item.head.control, record.key, record.value


def captures():
    """The real captures but for the sweeps, whose messages are filled with text."""
    found = sorted((SHARED / "real" / "own" / "captures").glob("*/capture.pcap*"))
    return [path for path in found if not path.parent.name.startswith("sweep")]


@cache
def printed():
    """Every record of an internal topic with the line that Kafka printed of it; a record goes on over lines that are no
    record.
    """
    found = []
    for folder in sorted(SEGMENTS.glob("*/__*")):
        topic = re.sub(r"-\d+$", "", folder.name)
        for dump in sorted(folder.glob("*.dump.txt")):
            path = dump.with_name(dump.name.removesuffix(".dump.txt"))
            if path.suffix not in {".log", ".checkpoint"} or not path.exists():
                continue
            lines = [line for line in dump.read_text("utf-8").split("\n") if line.startswith("| ")]
            pairs = list(records(path))
            assert len(lines) == len(pairs), path
            found += [
                Printed(topic, f"{folder.parent.name}/{path.name}", *pair, line)
                for pair, line in zip(pairs, lines, strict=True)
            ]
    return tuple(found)


STATUSES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""The states of transactions by their number, as DumpLogSegments 4.4.0 names them."""


def json_after(line, label):
    """The JSON that a line shows after this label, if there is some. Before 4.4.0, states of transactions are
    numbers.
    """
    at = line.find(label + "{")
    if at < 0:
        return None
    printed = json.JSONDecoder().raw_decode(line[at + len(label) :])[0]
    data = printed.get("data")
    if isinstance(data, dict) and isinstance(data.get("transactionStatus"), int):
        data["transactionStatus"] = STATUSES[data["transactionStatus"]]
    return printed
