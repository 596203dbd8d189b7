"""Captures in an embedded Spark: what `kwire decode` says of them, whatever the parts, the tasks and their order."""

import gzip
import json
import random
import re
import shutil
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path

import packets as make
import pytest
from damage import packet_of

pytest.importorskip("numba")
pytest.importorskip("pyarrow")

import kwire_cli as kwire
from kwire_cli.analysis.costs.tallies import Tallies
from kwire_cli.message.redaction import Redaction
from kwire_cli.source.captures import Capture
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.model import Start
from kwire_cli.source.packets.segments import Segments

pytestmark = [pytest.mark.spark, pytest.mark.numba]

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "captures"
ALL = sorted(SAMPLES.iterdir())
TLS = SAMPLES.parent / "tls"
PYTHON = SAMPLES / "kafka-python-4.4.0.pcapng"
OWN = Path(__file__).resolve().parents[3] / "shared" / "real" / "own" / "captures"
CATALOG = kwire.catalog()
REDACTION = Redaction(CATALOG, raw_records=True)


def lines(path, key_logs=()):
    """The lines of a capture, by the packets that their connections began with."""
    starts = {event.connection: event.packet for event in Capture(path) if type(event) is Start}
    capture = Capture(path, key_logs=key_logs)
    for line in traffic(
        CATALOG, capture, waiting_since=capture.waiting_since, again=partial(Capture, path, key_logs=key_logs)
    ):
        yield starts[line.stream], line


def documents(path, key_logs=()):
    """Rows of the table `frames` as they have to be."""
    out = []
    for stream, line in lines(path, key_logs):
        document = line.to_json(records="decoded")
        names = (
            "time",
            "src",
            "dst",
            "kind",
            "size",
            "apiKey",
            "api",
            "apiVersion",
            "protocol",
        )
        own = {name: document.get(name) for name in names if line.kind != "gap" or name != "time"}
        own |= {
            "stream": stream,
            "correlationId": line.correlation_id,
            "clientId": line.client_id,
            "topics": line.topics,
            "software": line.software if line.is_frame else None,
        }
        own |= {
            "errors": [str(error) for error in line.errors],
            "codes": line.error_codes,
            "anomalies": line.anomalies,
        }
        own["packet"] = line.seen.packet if line.kind != "gap" else None
        own["request"] = line.request.seen.packet if line.request else None
        times = line.seen.time, line.request and line.request.seen.time
        own["latency"] = None if None in times else (times[0] - times[1] + 500) // 1000
        out.append(json.dumps(own, sort_keys=True))
    return sorted(out)


def shown(frames):
    """The same of a table."""
    rows = [row.asDict() for row in frames.collect()]
    numbered = {(frozenset((row["src"], row["dst"])), row["frame"]): row for row in rows}
    assert len(numbered) == len(rows)
    out = []
    for row in rows:
        gap = row["kind"] == "gap"
        time = row["time"] and row["time"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        names = (
            "src",
            "dst",
            "kind",
            "size",
            "api",
            "protocol",
            "stream",
            "topics",
            "software",
            "errors",
            "anomalies",
        )
        own = {name: row[name] for name in names} | ({} if gap else {"time": time})
        own |= {
            "apiKey": row["api_key"],
            "apiVersion": row["api_version"],
            "correlationId": row["correlation_id"],
            "clientId": row["client_id"],
            "latency": row["latency_us"],
        }
        own |= {"codes": row["error_codes"], "packet": None if gap else row["packet"]}
        asked = numbered.get((frozenset((row["src"], row["dst"])), row["request_frame"]))
        own["request"] = asked["packet"] if asked else None
        out.append(json.dumps(own, sort_keys=True))
    return sorted(out)


@pytest.fixture
def captures(spark):
    from kwire_cli.pipeline.captures import Captures

    return lambda *paths, **options: Captures(spark, [*map(str, paths)], show_secrets=True, **options)


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_samples_are_what_one_machine_decodes(captures, path):
    assert shown(captures(path, part_size=9000, partitions=3).table("frames")) == documents(path)


@pytest.mark.parametrize(
    ("name", "key_logs"), [("broker.pcapng", ["broker.keys"]), ("broker.pcapng", []), ("cases.pcapng", [])]
)
def test_tls_is_what_one_machine_decrypts(captures, name, key_logs):
    path, keys = TLS / name, [str(TLS / each) for each in key_logs]
    expected = documents(path, keys)
    assert any('"kind": "request"' in row for row in expected) == (name == "cases.pcapng" or bool(keys))
    assert shown(captures(path, part_size=9000, partitions=3, key_logs=keys).table("frames")) == expected


def test_keys_in_a_packed_capture(captures, tmp_path):
    packed = tmp_path / "cases.pcapng.gz"
    packed.write_bytes(gzip.compress((TLS / "cases.pcapng").read_bytes()))
    assert shown(captures(packed).table("frames")) == documents(TLS / "cases.pcapng")


@pytest.mark.shared
@pytest.mark.parametrize("name", ["client-librdkafka", "client-franz-go", "java44-produce-consume"])
def test_own_captures(captures, name):
    path = OWN / name / "capture.pcapng"
    assert shown(captures(path, part_size=30_000).table("frames")) == documents(path)


def rotated(folder, seed):
    """A capture with packets repeated, swapped and lost, in one file and in many."""
    dice = random.Random(seed)
    out = []
    for segment in Segments()(packets(PYTHON)):
        chance = dice.random()
        out += [segment] * (0 if chance < 0.04 else 2 if chance < 0.15 else 1)
        if chance > 0.9 and len(out) > 1:
            out[-1], out[-2] = out[-2], out[-1]
    made = [
        packet_of(segment._replace(time=(1 << 60) + number * 1_000_000), number)
        for number, segment in enumerate(out, 1)
    ]
    one, many = folder / "one.pcap", folder / "many"
    one.write_bytes(make.pcap_file(made))
    many.mkdir()
    names = [f"{number:03}" for number in range(len(made) // 20 + 1)]
    dice.shuffle(names)  # the order is that of the times
    for number, name in enumerate(names):
        content = make.pcap_file(made[number * 20 : number * 20 + 20])
        packed = number % 3 == 2
        (many / f"{name}.pcap{'.gz' if packed else ''}").write_bytes(gzip.compress(content) if packed else content)
    return one, many


def test_rotated_files_are_one_capture_whatever_the_tasks(captures, tmp_path):
    one, many = rotated(tmp_path, 3)
    expected = documents(one)
    assert shown(captures(one).table("frames")) == expected

    def placeless(rows):
        """Packets of packed files are not counted beforehand."""
        return [
            {name: value for name, value in json.loads(row).items() if name not in {"packet", "stream", "request"}}
            for row in rows
        ]

    for options in ({"partitions": 1}, {"partitions": 5, "part_size": 600}, {"shuffle_payloads": True}):
        found = captures(many, **options).table("frames")
        assert sorted(map(repr, placeless(shown(found)))) == sorted(map(repr, placeless(expected)))
        places = {(row.file, row.packet) for row in found.where("kind = 'request'").collect()}
        assert len({file for file, _ in places}) > 3
        assert all(1 <= packet <= 20 for _, packet in places)


def test_columns_that_are_asked_for(captures):
    found = captures(PYTHON).table("frames", ["api", "size"])
    assert found.columns == ["api", "size"]
    assert found.count() == sum(1 for _ in lines(PYTHON))
    with pytest.raises(kwire.InputError, match="no column apis"):
        captures(PYTHON).table("frames", ["apis"])


def sums(path):
    """The bytes of a capture as `kwire overhead --by field` counts them, for each api, kind and version."""
    found = defaultdict(lambda: Tallies(CATALOG, ()))
    for _, line in lines(path):
        found[line.api, line.kind, line.api_version].add(line)
    out = {}
    for key, tallies in found.items():
        for row in tallies.ledger.rows(by_kinds=False):
            out[*key, row.path] = row.prefix_bytes, row.value_bytes, row.count
    return {key: row for key, row in out.items() if any(row[:2])}


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_costs_are_what_overhead_counts(captures, path):
    rows = captures(path, part_size=20_000).table("costs").collect()
    found = {
        (row.api, row.kind, row.api_version, row.path): (row.prefix_bytes, row.value_bytes, row["count"])
        for row in rows
    }
    assert {key: row for key, row in found.items() if any(row[:2])} == sums(path)
    assert sum(sum(row[:2]) for row in found.values()) == sum(line.seen.size for _, line in lines(path))


def test_fields_are_all_bytes(captures):
    found = captures(PYTHON).fields()
    total = found.selectExpr("sum(prefix_bytes + value_bytes)").first()[0]
    assert total == sum(line.seen.size for _, line in lines(PYTHON))
    names = {row.value for row in found.where("path = 'RequestHeader.clientId'").collect()}
    assert names == {line.client_id for _, line in lines(PYTHON) if line.is_frame}
    starts = {row.path: row.start for row in found.where("frame = 1").collect()}
    assert starts["size"] == 0
    assert starts["RequestHeader.requestApiKey"] == 4


@pytest.mark.shared
def test_secrets_are_not_shown(spark):
    from kwire_cli.pipeline.captures import Captures

    path = OWN / "sasl-plain-v0-v1" / "capture.pcapng"
    hidden, open_ones = Captures(spark, [str(path)]), Captures(spark, [str(path)], show_secrets=True)
    of_lines = [line.to_json(hidden=REDACTION.line(line)) for _, line in lines(path)]
    values = [row.value or "" for row in hidden.fields().collect()]
    assert sum(value.startswith("<redacted") for value in values) == str(of_lines).count("<redacted") > 0
    assert not any("<redacted" in (row.value or "") for row in open_ones.fields().collect())


def test_faults_of_files_that_are_cut_and_of_others(captures, tmp_path):
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(PYTHON.read_bytes()[:15_000])
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "none.pcap").write_bytes(b"not a capture")
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress((SAMPLES / "midstream.pcap").read_bytes())[:-3000])
    found = captures(tmp_path)
    rows = {
        Path(row.file).name: (row.code, row.detail) for row in found.table("faults").where("stream is null").collect()
    }
    assert rows["cut.pcapng"] == ("TRUNCATED", "the file ends in the middle of a block")
    assert rows["empty.pcap"] == ("UNREADABLE", "the input is empty")
    assert rows["none.pcap"][0] == "UNREADABLE"
    assert rows["packed.pcap.gz"][0] == "TRUNCATED"
    assert found.table("frames", ["api"]).count() == sum(1 for path in (cut, packed) for _ in lines(path))


def test_faults_of_lines(captures):
    found = captures(*ALL).table("faults").where("stream is not null").collect()
    expected = Counter(code for path in ALL for _, line in lines(path) for code in line.anomalies)
    assert Counter(row.code for row in found) == expected
    assert expected


def test_packets(spark):
    for path in ALL[:3]:
        found = (
            spark.read.format("kwire").options(table="packets", splitSize="20000", showSecrets="true").load(str(path))
        )
        rows = [
            (row.packet, row.time_ns, row.src, row.dst, row.sequence, row.flags, bytes(row.payload), row.missing)
            for row in found.collect()
        ]
        expected = [
            (
                each.packet,
                each.time,
                str(each.source),
                str(each.destination),
                each.sequence,
                each.flags,
                each.payload,
                each.missing,
            )
            for each in Segments()(packets(path))
        ]
        assert sorted(rows) == expected
        assert "payload" not in spark.read.format("kwire").option("table", "packets").load(str(path)).columns
        few = (
            spark.read.format("kwire").option("table", "packets").schema("position bigint, size bigint").load(str(path))
        )
        data = path.read_bytes()
        assert {data[row.position : row.position + row.size] for row in few.collect()} == {row[6] for row in expected}


@pytest.fixture
def views(spark):
    """The names of the views that there are: none to begin with, and none in the end."""

    def names():
        return {each.name for each in spark.catalog.listTables()}

    def drop():
        for name in names():
            spark.catalog.dropTempView(name)

    drop()
    yield names
    drop()


def test_tables_are_views(spark, views):
    from kwire_cli.pipeline import tables

    made = tables(spark, str(PYTHON))
    assert set(made) == {"batches", "records", "index", "packets", "frames", "fields", "costs", "names", "faults"}
    assert not views()
    made.create_views()
    assert views() == {"packets", "frames", "fields", "costs", "names", "faults"}  # of what there is: no segments
    expected = [line.seen.size for _, line in lines(PYTHON) if line.api == "Metadata"]
    for sql in (spark.sql, made.sql):
        (row,) = sql("select count(*), sum(size) from frames where api = 'Metadata'").collect()
        assert tuple(row) == (len(expected), sum(expected))


def test_tables_of_segments_and_of_all(spark, views, tmp_path):
    from kwire_cli.pipeline import tables

    folder = SAMPLES.parent / "segments" / "orders-zstd-0"
    made = tables(spark, folder)
    made.create_views()
    assert views() == {"batches", "records", "faults"}
    assert spark.table("batches").count() == made.table("batches", ["position"]).count() > 0
    shutil.copytree(folder, tmp_path / folder.name)
    shutil.copy(PYTHON, tmp_path)
    (tmp_path / folder.name / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    tables(spark, tmp_path).create_views()
    assert views() == set(made)


def test_the_page_asks_all_tables(spark, views, monkeypatch, capsys):
    monkeypatch.chdir(SAMPLES.parents[1])
    code = (
        (SAMPLES.parents[1] / "docs" / "pipeline.md")
        .read_text("utf-8")
        .split("\n## All tables at once")[1]
        .split("```")[1]
    )
    exec(compile(code.removeprefix("python"), "the page", "exec"), {"spark": spark})
    assert "|ApiVersions|" in capsys.readouterr().out.replace(" ", "")
    assert "costs" in views()


def test_documented_columns():
    from pyspark.sql.pandas.types import from_arrow_schema

    from kwire_cli.pipeline.line_walks import FIELDS
    from kwire_cli.pipeline.packet_table import PACKETS

    text = (
        (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md")
        .read_text("utf-8")
        .split("\n## Captures")[1]
        .split("\n## ")[0]
    )
    found = [
        re.findall(r"^\| `(\w+)` \| (\S+) \|", part, re.MULTILINE)
        for part in text.split("| column | type | what |")[1:]
    ]
    schemas = [PACKETS, FIELDS]
    assert found == [
        [(field.name, field.dataType.simpleString()) for field in from_arrow_schema(schema)] for schema in schemas
    ]
