"""Block `guess`: how often the first guess is right when api and version of a response are hidden.

Then what decode makes of golden responses, and of those in captures (--logs FOLDER), with random correlation ids, and
of random bytes and text.

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
from kwire_cli.message.frames import Hints
from kwire_cli.message.guess import response_candidates
from kwire_cli.message.reading import read_all
from kwire_cli.message.redaction import Redaction
from kwire_cli.message.roles import can_hold_secrets
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic

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
    title = "".join(f"{column:>12}" for column in OUTCOMES.values())
    print(f"\n  responses as bytes alone\n    {'':<28}{'ids':<10}{'number':>8}{title}")
    print_outcomes(catalog, responses_of(catalog, [path for path in golden or [GOLDEN] if path.exists()], logs))
    print_controls(catalog)
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
OUTCOMES = {"first": "api first", "named": "api named", "other kind": "a request", "hidden": "hidden"}


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


def responses_of(catalog: Any, golden: Iterable[Path], captures: Path | None) -> dict[str, list[tuple[int, bytes]]]:
    """The api key, and the bytes after the correlation id, of golden responses and of each response in captures."""
    found = {"golden": [(case[1], case[3][4:]) for path in golden for case in golden_cases(catalog, path)]}
    if captures:
        real: dict[tuple[int, bytes], None] = {}
        for path in sorted(captures.rglob("*.pcap*")):
            for line in traffic(catalog, Capture(path)):
                if line.kind == "response" and not line.seen.missing and not line.guess and line.api:
                    real[line.api_key or 0, bytes(line.seen.data[8:])] = None
        found["real"] = list(real)
    return found


def with_ids(cases: list[tuple[int, bytes]], limit: int) -> Iterator[tuple[int, bytes]]:
    """The api key and the frame of each response, with random correlation ids below a limit."""
    dice = random.Random(7)
    for key, rest in cases:
        yield key, (4 + len(rest)).to_bytes(4, "big") + dice.randrange(limit).to_bytes(4, "big") + rest


def outcomes(catalog: Any, cases: Iterable[tuple[int, bytes]]) -> dict[str, Counter[str]]:
    """How often decode names the api, takes a frame for a request, and hides values, by whether the api has secrets."""
    table: dict[str, Counter[str]] = {"without secrets": Counter(), "with secrets": Counter()}
    redaction = Redaction(catalog)
    for key, data in cases:
        [frame] = read_all(catalog, data, Hints(), framed=True)
        api = catalog.api_by_key(key)
        is_response = frame.kind == "response"
        named = {each.api.key for each in frame.candidates if each.kind == "response"}
        tags = {span for span, node in spans_of(frame) if node == "unknown-tag"}
        counts = ["all"]
        counts += ["first"] if is_response and frame.api_key == key else []
        counts += ["named"] if key in named else []
        counts += ["other kind"] if frame.kind == "request" else []
        counts += ["hidden"] if redaction.frame(frame).get("body", frozenset()) - tags else []
        table["with secrets" if can_hold_secrets(api.response) else "without secrets"].update(counts)
    return table


def spans_of(frame: Any) -> Iterator[tuple[int, str]]:
    """The number and kind of each leaf of a frame's body."""
    raw = frame.body.raw if frame.body else None
    for span, node in enumerate(raw.node if raw else ()):
        yield span, raw.program.leaves[node].kind


def print_outcomes(catalog: Any, responses: dict[str, list[tuple[int, bytes]]]) -> None:
    for source, cases in responses.items():
        for ids, limit in (("random", 1 << 31), ("0 to 20", 21)):
            for name, counts in outcomes(catalog, with_ids(cases, limit)).items():
                shares = "".join(f"{counts[column] / max(counts['all'], 1):>12.1%}" for column in OUTCOMES)
                print(f"    {source + ', ' + name:<28}{ids:<10}{counts['all']:>8}{shares}")


def print_controls(catalog: Any) -> None:
    """Random bytes and text: how many are taken for a message, and of how many a value is shown."""
    dice = random.Random(5)
    redaction = Redaction(catalog)
    for name, alphabet in (("random bytes", range(256)), ("random text", range(32, 127))):
        counts: Counter[str] = Counter()
        for size in [size for size in range(6, 60) for _ in range(60)]:
            data = bytes(dice.choice(alphabet) for _ in range(size))
            [frame] = read_all(catalog, len(data).to_bytes(4, "big") + data, Hints(), framed=True)
            shown = frame.kind != "unknown" and not redaction.frame(frame).get("body") and frame.body
            counts.update(["all", *(["guessed"] if frame.kind != "unknown" else []), *(["shown"] if shown else [])])
        print(f"    {name:<28}{counts['all']:>10} {counts['guessed']:>8} guessed {counts['shown']:>8} shown")
