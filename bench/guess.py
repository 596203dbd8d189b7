"""Block `guess`: how often the first guess is right when api and version of a response are hidden.

Two kinds of responses: golden vectors, which are spread evenly over all apis and versions and full of random values,
and what real brokers answered real clients, taken from the brokers' request logs.
"""

from __future__ import annotations

import gzip
import json
import random
from base64 import b64encode
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kwire_cli as kwire
from kwire_cli.message.guess import response_candidates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GOLDEN = Path(__file__).parent.parent / "samples" / "golden" / "messages.jsonl"
CORRELATION = bytes.fromhex("00000007")
SIZE_SUFFIX = "SizeInBytes"

Case = tuple[str, int, int, bytes]
"""What it is called in the table, api key, version, header and body."""


def block(golden: list[Path] | None, logs: Path | None) -> None:
    catalog = kwire.catalog()
    for path in golden or [GOLDEN]:
        if path.exists():
            print_table(f"golden vectors, {path.name}", judge(catalog, golden_cases(catalog, path)))
        else:
            print(f"  golden vectors: not here (no {path.name})")
    if not logs:
        print("\n  real responses: not here (--logs FOLDER)")
        return
    cases, left_out = log_cases(catalog, logs)
    print_table("real responses, each as often as it was sent", judge(catalog, cases))
    once = {case[1:]: case for case in cases}
    print_table("real responses, each different one once", judge(catalog, once.values()))
    print(
        f"    left out: {sum(left_out.values())} log lines "
        f"({', '.join(f'{n} {why}' for why, n in left_out.most_common())})"
    )


def golden_cases(catalog: Any, path: Path) -> Iterator[Case]:
    for row in rows(path):
        if row["type"] == "response":
            variant = row["variant"].partition("-")[0] if row["variant"].startswith("random") else row["variant"]
            yield (
                variant,
                row["apiKey"],
                row["version"],
                header(catalog, row["apiKey"], row["version"]) + bytes.fromhex(row["hex"]),
            )


def log_cases(catalog: Any, folder: Path) -> tuple[list[Case], Counter[str]]:
    """The responses in all request logs, encoded again. The log has the size of records only: as many random bytes
    stand for them.
    """
    found, left_out = [], Counter[str]()
    for path in sorted(folder.rglob("*request-log*.jsonl.gz")):
        for row in rows(path):
            key, version, value = (
                row["requestHeader"]["requestApiKey"],
                row["requestHeader"]["requestApiVersion"],
                row.get("response"),
            )
            if not isinstance(value, dict):
                left_out["without a response"] += 1
                continue
            try:
                body = kwire.encode(with_records(value), message=catalog.api(key).response, version=version)
            except kwire.KwireError:
                left_out["in a form that the version does not have"] += 1
                continue
            found.append((catalog.api(key).name, key, version, header(catalog, key, version) + body))
    return found, left_out


def with_records(value: Any) -> Any:
    if isinstance(value, list):
        return [with_records(v) for v in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, inner in value.items():
        if key.endswith(SIZE_SUFFIX) and isinstance(inner, int):
            out[key.removesuffix(SIZE_SUFFIX)] = b64encode(random.Random(inner).randbytes(max(inner, 0))).decode()
        else:
            out[key] = with_records(inner)
    return out


def header(catalog: Any, key: int, version: int) -> bytes:
    return CORRELATION + b"\0" * catalog.response_header_version(key, version)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            yield json.loads(line)


def judge(catalog: Any, cases: Iterable[Case]) -> dict[str, Counter[str]]:
    """Counts by kind of case."""
    seen: dict[tuple[int, int, bytes], list[str]] = {}
    table: dict[str, Counter[str]] = {}
    for name, *what in cases:
        key = tuple(what)
        if key not in seen:
            seen[key] = verdicts(catalog, *key)  # type: ignore[arg-type]
        table.setdefault(name, Counter()).update(["all", *seen[key]])
    return table


def verdicts(catalog: Any, key: int, version: int, data: bytes) -> list[str]:
    found = response_candidates(catalog, data, 0, len(data))
    right = next((c for c in found if (c.api.key, c.version) == (key, version)), None)
    if not right:
        return ["missing"]
    out = ["best score"] if right.bits == found[0].bits else []
    if found[0].api.key == key:
        out.append("api")
        if found[0].version == version:
            out.append("version")
    return out


COLUMNS = {
    "api": "api",
    "version": "api and version",
    "best score": "among the best",
    "missing": "missing",
}
"""The first guess has the api; and the version too; the right one has the best score, alone or with others; it is not
among the candidates at all."""
SHOWN = 16


def print_table(title: str, table: dict[str, Counter[str]]) -> None:
    print(f"\n  {title}\n    {'':<28}{'responses':>10}" + "".join(f"{column:>17}" for column in COLUMNS.values()))
    lines = sorted(table.items(), key=lambda item: -item[1]["all"])
    if rest := lines[SHOWN:]:
        lines = [*lines[:SHOWN], (f"{len(rest)} other apis", sum((counts for _, counts in rest), Counter()))]
    for name, counts in [*lines, ("all", sum(table.values(), Counter()))]:
        if counts["all"]:
            print(
                f"    {name:<28}{counts['all']:>10}"
                + "".join(f"{counts[column] / counts['all']:>17.1%}" for column in COLUMNS)
            )
