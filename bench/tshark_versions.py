"""How many versions of requests and responses tshark dissects: each golden message in a connection of its own.

Usage: tshark_versions.py GOLDEN.jsonl[.gz]...

A version counts as dissected if tshark calls no message of it malformed or unsupported. The port is named
(`-d tcp.port==9092,kafka`), so that only the dissector counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from make_captures import Capture

import kwire_cli as kwire
from kwire_cli.structs.network import ACK, PSH, SYN

SERVER = (bytes([10, 0, 0, 2]), 9092)
FIELDS = ("tcp.stream", "kafka.unsupported_api_version", "kafka.unknown_api_key", "_ws.malformed")
Row = dict[str, Any]
Message = tuple[str, int, int]
"""A type (request or response), an api key and a version."""


def rows_of(files: list[Path]) -> list[Row]:
    """Return the requests and responses of golden files, without those that carry unknown tags."""
    rows = []
    for file in files:
        text = (gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()).decode()
        rows += [json.loads(line) for line in text.split("\n") if line]
    kinds, strangers = {"request", "response"}, {"unknown-tags", "unknown_tags"}
    return [row for row in rows if row["type"] in kinds and row["variant"] not in strangers]


def frame(row: Row) -> bytes:
    """Return the message with its header and size prefix."""
    key, version, body = row["apiKey"], row["version"], bytes.fromhex(row["hex"])
    catalog = kwire.catalog()
    if row["type"] == "request":
        number = catalog.request_header_version(key, version)
        value = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 7}
        value |= {"clientId": "c"} if number else {}
        header = kwire.encode(value, message="RequestHeader", version=number)
    else:
        number = catalog.response_header_version(key, version)
        header = kwire.encode({"correlationId": 7}, message="ResponseHeader", version=number)
    return len(header + body).to_bytes(4, "big") + header + body


def write(capture: Capture, client_port: int, request: bytes, response: bytes) -> None:
    """Write a connection with one request and, unless it is empty, its response."""
    there = (bytes([10, 0, 0, 1]), client_port, *SERVER)
    back = (*SERVER, bytes([10, 0, 0, 1]), client_port)
    capture.packet(there, 999, 0, SYN)
    capture.packet(back, 1999, 1000, SYN | ACK)
    for ends, start, other, data in ((there, 1000, 2000, request), (back, 2000, 1000 + len(request), response)):
        for at in range(0, len(data), 60000):
            capture.packet(ends, start + at, other, ACK | PSH, data[at : at + 60000])


def dissected(rows: list[Row]) -> dict[Message, bool]:
    """Return whether tshark dissects all given messages of a version."""
    requests: dict[tuple[int, int], Row] = {}
    for row in rows:
        if row["type"] == "request":
            requests.setdefault((row["apiKey"], row["version"]), row)
    pairs = [(row, requests.get((row["apiKey"], row["version"]))) for row in rows]
    pairs = [(row, request) for row, request in pairs if request]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "all.pcap"
        capture = Capture(file)
        for number, (row, request) in enumerate(pairs):
            if row["type"] == "request":
                write(capture, 10000 + number, frame(row), b"")
            else:
                write(capture, 10000 + number, frame(request), frame(row))
        capture.file.close()
        command = ["tshark", "-n", "-r", str(file), "-d", "tcp.port==9092,kafka", "-Y", "kafka", "-T", "fields"]
        command += [part for field in FIELDS for part in ("-e", field)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    streams = [line.split("\t") for line in done.stdout.splitlines()]
    shown = {int(stream) for stream, *_ in streams}
    faulty = {int(stream) for stream, *faults in streams if any(faults)}
    verdicts: dict[Message, bool] = {}
    for stream, (row, _) in enumerate(pairs):
        message = (row["type"], row["apiKey"], row["version"])
        verdicts[message] = verdicts.get(message, True) and stream in shown and stream not in faulty
    return verdicts


def decoded(rows: list[Row]) -> dict[Message, bool]:
    """Return whether kwire decodes all given messages of a version to their last byte."""
    verdicts: dict[Message, bool] = {}
    for row in rows:
        body = kwire.decode(bytes.fromhex(row["hex"]), message=row["spec"], version=row["version"])
        message = (row["type"], row["apiKey"], row["version"])
        verdicts[message] = verdicts.get(message, True) and body.complete and body.exact
    return verdicts


def main() -> None:
    """Print how many versions and apis each of the two reads."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("golden", nargs="+", type=Path)
    rows = rows_of(arguments.parse_args().golden)
    for name, verdicts in (("tshark", dissected(rows)), ("kwire", decoded(rows))):
        for kind in ("request", "response"):
            good = {(key, version): ok for (of, key, version), ok in verdicts.items() if of == kind}
            apis = dict(sorted(good))
            some = {key for (key, _), ok in good.items() if ok}
            latest = sum(good[message] for message in apis.items())
            print(
                f"{name}: {kind}s: {sum(good.values())} of {len(good)} versions; {len(some)} of {len(apis)} apis in "
                f"at least one version, {latest} in the newest one"
            )


if __name__ == "__main__":
    main()
