import csv

import pytest
from kit.messages import SHARED

import kwire_cli as kwire
from kwire_cli.message.encode import decode_header, header_spec, header_version
from kwire_cli.message.frames import Hints
from kwire_cli.message.reading import read_all

CATALOG = kwire.catalog()

REQUEST = bytes.fromhex("0003 000c 00000007 0002 6162 00")


@pytest.mark.parametrize(
    ("version", "size", "value"),
    [
        (0, 8, {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 7}),
        (1, 12, {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 7, "clientId": "ab"}),
        (2, 13, {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 7, "clientId": "ab"}),
    ],
)
def test_request_headers(version, size, value):
    header = decode_header(CATALOG, "request", version, REQUEST + b"body", start=0, stop=17)
    assert (header.value, header.size, header.anomalies) == (value, size, [])


@pytest.mark.parametrize(("version", "size"), [(0, 4), (1, 5)])
def test_response_headers(version, size):
    header = decode_header(CATALOG, "response", version, b"\0\0\0\7\0body", start=0, stop=9)
    assert (header.value, header.size, header.anomalies) == ({"correlationId": 7}, size, [])


def test_the_client_id_of_kip_482_is_compact():
    data = bytes.fromhex("0003 000c 00000007 03 6162 00")
    header = decode_header(CATALOG, "request", 2, data, start=0, stop=len(data), flavour="kip482")
    assert header.value["clientId"] == "ab"
    assert header.size == len(data)
    null = bytes.fromhex("0003 000c 00000007 00 00")
    assert (
        decode_header(CATALOG, "request", 2, null, start=0, stop=len(null), flavour="kip482").value["clientId"] is None
    )
    with pytest.raises(kwire.InputError, match="unknown header"):
        header_spec(CATALOG, "request", "kip1")


def test_the_header_has_tags_of_its_own():
    data = bytes.fromhex("0003 000c 00000007 ffff 01 05 01 ff")
    header = decode_header(CATALOG, "request", 2, data, start=0, stop=len(data))
    assert header.value["unknownTaggedFields"] == [{"tag": 5, "data": "/w=="}]
    assert header.value["clientId"] is None


def test_a_frame_with_the_header_of_kip_482():
    data = bytes.fromhex("0003 000c 00000007 03 6162 00 01 01 00 00")
    (frame,) = read_all(CATALOG, data, Hints(kind="request", header="kip482"))
    assert frame.header.value["clientId"] == "ab"
    assert frame.body.exact


@pytest.mark.shared
def test_headers_are_those_that_kafka_says():
    with (SHARED / "facts" / "header-versions.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert len(rows) > 600
    for row in rows:
        catalog = kwire.catalog(kafka="3.9") if row["kafka"].startswith("3.9") else CATALOG
        key, version = int(row["apiKey"]), int(row["version"])
        for kind in ("request", "response"):
            assert str(header_version(catalog, kind, key, version)) == row[f"{kind}HeaderVersion"], row
