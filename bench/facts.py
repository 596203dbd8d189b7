"""Compare what the tables of a lake hold with what the commands print: `python bench/facts.py FOLDER...`.

Every capture and segment below the folders is exported. Its frames, bytes by field, clients, batches and records are
compared with `kwire decode`, `overhead`, `clients` and `dump --deep`. The exit code is 1 if a row differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from kwire_cli.errors import InputError
from kwire_cli.pipeline.lake import report_query
from kwire_cli.pipeline.lake.query import Lake
from kwire_cli.pipeline.model import CAPTURES, SEGMENTS, found, of_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Rows = Counter[Any]


def kwire(*words: str) -> str:
    """Return what a command prints."""
    return subprocess.run(
        [sys.executable, "-m", "kwire_cli", *words], capture_output=True, text=True, check=False
    ).stdout


def lines(*words: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines that a command prints."""
    return map(json.loads, kwire(*words, "--format", "jsonl").splitlines())


def asked(lake: Lake, query: str) -> Rows:
    """Return the rows of a query, with how often each occurs."""
    return Counter(tuple(map(plain, row.values())) for row in lake.arrow(query).read_all().to_pylist())


def plain(value: Any) -> Any:
    """Return a value that can be counted."""
    return tuple(value) if isinstance(value, list) else value


# Captures.

FRAMES = """
select kind, src, dst, size, api_key, api_version, correlation_id, topics, anomalies,
       case when kind <> 'gap' then epoch_us(time) end as at
from frames
"""


def frames(path: str) -> Rows:
    """Return the rows that `frames` has to have."""
    out: Rows = Counter()
    for line in lines("decode", path):
        time = line.get("time")
        lost = line["kind"] == "gap"
        anomalies = [line["code"]] if lost else [each["code"] for each in line.get("anomalies", ())]
        at = None if lost or time is None else round(datetime.fromisoformat(time).timestamp() * 1_000_000)
        header = line.get("header") or {}
        numbers = line.get("apiKey"), line.get("apiVersion"), header.get("correlationId")
        topics = tuple(line.get("topics", ()))
        out[line["kind"], line["src"], line["dst"], line["size"], *numbers, topics, tuple(anomalies), at] += 1
    return out


COSTS = """
select path, sum(prefix_bytes + value_bytes)::bigint as bytes from costs group by path having bytes > 0
"""


def costs(path: str) -> Rows:
    """Return the bytes that `costs` has to have, by field."""
    document = json.loads(kwire("overhead", path, "--by", "field", "--top", "100000", "--format", "json") or "{}")
    rows = document.get("tables", {}).get("byField", ())
    return Counter((row["field"], row["bytes"]) for row in rows if row["bytes"])


CLIENTS = f"select client_id, software, sum(requests)::bigint from ({report_query('clients')}) group by all"


def clients(path: str) -> Rows:
    """Return how many requests there have to be of each client and software."""
    document = json.loads(kwire("clients", path, "--format", "json") or "{}")
    out: Rows = Counter()
    for row in document.get("tables", {}).get("clients", ()):
        out[row["clientId"], row["software"]] += row["requests"]
    return Counter((*who, requests) for who, requests in out.items())


# Segments.

BATCHES = "select position, size, base_offset, last_offset, crc_valid from batches"
RECORDS = 'select "offset", timestamp, key_size, value_size from records'


def batches(path: str) -> Rows:
    """Return the rows that `batches` has to have."""
    names = "position", "size", "baseOffset", "lastOffset", "crcValid"
    return Counter(tuple(map(line.get, names)) for line in lines("dump", path, "--deep") if "crcValid" in line)


def records(path: str) -> Rows:
    """Return the rows that `records` has to have."""
    names = "offset", "timestamp", "keySize", "valueSize"
    found_lines = lines("dump", path, "--deep")
    return Counter(tuple(map(each.get, names)) for line in found_lines for each in line.get("records", ()))


CHECKS: dict[Any, tuple[tuple[str, Callable[[str], Rows]], ...]] = {
    CAPTURES: ((FRAMES, frames), (COSTS, costs), (CLIENTS, clients)),
    SEGMENTS: ((BATCHES, batches), (RECORDS, records)),
}


def main(folders: list[str]) -> int:
    """Compare all files below folders; return the exit code."""
    right = wrong = 0
    for kind, checks in CHECKS.items():
        try:
            files = of_kind(found(folders, kind), kind)
        except InputError:  # there is nothing of this kind
            continue
        for path in files:
            with tempfile.TemporaryDirectory() as folder:
                kwire("export", path, "-o", folder)
                for query, expected in checks:
                    try:
                        with Lake(Path(folder)) as lake:
                            there = asked(lake, query)
                    except (InputError, duckdb.Error):
                        there = Counter()
                    rows = expected(path)
                    right += (rows & there).total()
                    if differs := (rows - there) + (there - rows):
                        wrong += differs.total()
                        print(
                            f"{path}: {expected.__name__}: {differs.total()} rows differ, such as {next(iter(differs))}"
                        )
    print(f"facts: {right:,} rows right, {wrong:,} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
