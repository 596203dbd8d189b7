"""kwire overhead, as a user runs it; docs/costs.md says what it prints."""

import csv
import io
import re
from collections import Counter

import pytest
from kit.commands import ROOT, hold_page, json_of, kwire, lines_of

from kwire_cli.facts.costs.columns import DIMENSIONS
from kwire_cli.facts.costs.ledger import MEANING, Kind, class_of
from kwire_cli.facts.costs.limits import LIMITS

CAPTURE = ROOT / "samples" / "captures" / "kafka-python-4.4.0.pcapng"
PAGE = ROOT / "docs" / "costs.md"
FETCHED = ROOT / "samples" / "frames" / "fetch-v18-response.hex"


def between(name):
    return re.compile(rf"(?<=<!-- {name} -->\n).*(?=<!-- /{name} -->)", re.DOTALL)


def kinds_table():
    rows = ["| Kind | Class | |", "| --- | --- | --- |"]
    return "".join(
        f"{row}\n" for row in (*rows, *(f"| `{kind}` | {class_of(kind)} | {MEANING[kind]} |" for kind in Kind))
    )


def limits_table():
    rows = ["| Limit | Default | Counts |", "| --- | --- | --- |"]
    rows += [
        (
            f"| {', '.join(f'`{name}`' for name in each.names)} | {each.default}{'' if each.hard else ', soft'}"
            f" | {each.counts} |"
        )
        for each in LIMITS
    ]
    return "".join(f"{row}\n" for row in rows)


def with_tables(text):
    for name, made in (("kinds", kinds_table()), ("limits", limits_table())):
        text = between(name).sub(lambda _, made=made: made, text)
    return text


@pytest.mark.slow
def test_the_page_says_what_is(updating, monkeypatch):
    monkeypatch.chdir(ROOT)
    hold_page(PAGE, updating, with_tables)


def test_the_page_has_every_dimension():
    text = PAGE.read_text("utf-8")
    assert all(f"`{name}`" in text for name in DIMENSIONS)


def document(*arguments, **more):
    return json_of("overhead", *arguments, **more)


def test_the_page_has_every_key():
    text = PAGE.read_text("utf-8")
    found = document(CAPTURE)
    keys = {*found["facts"], *found["tables"], *found["tables"]["byApi"][0]} - {"api"}
    assert {key for key in keys if f"`{key}`" not in text} == set()
    assert "fileBytes" in keys


def test_a_person_is_told_how_many_rows_are_missing():
    command = ("overhead", "--by", "client,kind", "--records", "size", "--no-limits", CAPTURE)
    whole = [*csv.DictReader(io.StringIO(kwire(*command, "-f", "csv").out))]
    assert [*csv.DictReader(io.StringIO(kwire(*command, "--top", "2", "-f", "csv").out))] == whole[:2]
    shown = kwire(*command, "--top", "2", "-f", "table").out
    assert f"… and {len(whole) - 2} more" in shown
    assert re.search(r"^total +11912 ", shown, re.MULTILINE)


def test_record_sets_from_anywhere(tmp_path):
    segment = ROOT / "samples" / "segments" / "orders-zstd-0" / "00000000000000000000.log"
    other = tmp_path / "records.bin"
    other.write_bytes(segment.read_bytes())
    by = ("--by", "kind")
    found = [document(*by, segment), document(*by, other), document(*by, "-", stdin=segment.read_bytes())]
    found += [document(*by, "--record-format", "v2", "-", stdin=segment.read_bytes()), document(*by, segment.parent)]
    assert all(each["tables"]["byKind"] == found[0]["tables"]["byKind"] for each in found)
    assert found[0]["facts"]["bytes"] == segment.stat().st_size


def test_files_without_a_batch_are_counted_too(tmp_path):
    folder = tmp_path / "t-0"
    folder.mkdir()
    for number, data in enumerate((b"", b"\0" * 300, b"no batch is here")):
        (folder / f"{number:020d}.log").write_bytes(data)
    found = document("--by", "topic,partition", "--by", "kind", folder)
    assert [(row["kind"], row["bytes"]) for row in found["tables"]["byKind"]] == [("padding", 300), ("gap", 16)]
    assert found["facts"]["messages"] == 3
    assert "records in a batch" not in kwire("overhead", folder).out


def test_records_are_those_that_dump_shows():
    segments = ROOT / "samples" / "segments"
    items = lines_of("dump", "--deep", "--show-secrets", segments)
    batches = [item for item in items if "gap" not in item]
    records = [record for batch in batches for record in batch["records"]]
    tables = document(segments)["tables"]
    for name in ("batches", "byCodec", "byRecordsInBatch"):
        assert [sum(row[key] for row in tables[name]) for key in ("batches", "records", "bytes")] == [
            len(batches),
            len(records),
            sum(batch["size"] for batch in batches),
        ]
    assert {row["codec"]: row["batches"] for row in tables["byCodec"]} == Counter(
        batch["compression"] for batch in batches
    )
    assert {row["codec"]: row["records"] for row in tables["byCodec"]} == Counter(
        batch["compression"] for batch in batches for _ in batch["records"]
    )
    largest = next(limit for limit in tables["limits"] if limit["limit"] == "message.max.bytes")
    assert largest["largest"] == max(batch["size"] for batch in batches)


def test_several_inputs_are_added_up():
    segments = ROOT / "samples" / "segments"
    one, two = segments / "orders-zstd-0", segments / "txn-out-0"
    both = document("--by", "file", one, two, CAPTURE)
    alone = [document(path)["facts"]["bytes"] for path in (one, two, CAPTURE)]
    assert both["facts"]["bytes"] == sum(alone)
    assert sorted(row["bytes"] for row in both["tables"]["byFile"]) == sorted(alone)
    places = {
        row["limit"]: {
            key: row[key] for key in ("file", "frame", "topic", "partition", "position") if row[key] is not None
        }
        for row in both["tables"]["limits"]
    }
    assert places["socket.request.max.bytes"] == {"file": str(CAPTURE), "frame": 21}
    assert places["message.max.bytes"] == {"file": str(one / "00000000000000000000.log"), "position": 0}


@pytest.mark.parametrize(
    "options", [("--filter", "api == Fetch"), ("--filter", "frame <= 20"), ("--filter", "stream == 1")]
)
def test_frames_that_are_wanted(options):
    found = document(*options, CAPTURE)
    lines = lines_of("decode", *options, CAPTURE)
    assert found["facts"]["bytes"] == sum(line["size"] for line in lines) > 0


def test_the_metadata_log_has_its_name_without_a_capture(wire):
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1}
    asked = {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [partition]}
    frame = wire.request("Fetch", 13, 1, replicaId=1, maxWaitMs=1, minBytes=1, topics=[asked], forgottenTopicsData=[])
    assert [row["topic"] for row in document("--by", "topic", frame.hex())["tables"]["byTopic"]] == [
        "__cluster_metadata"
    ]
