import csv

import pytest
from kit.messages import SHARED

import kwire_cli as kwire
from kwire_cli.message.encode import decode_header, header_spec

CATALOG = kwire.catalog()


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


@pytest.mark.shared
def test_headers_are_those_that_kafka_says():
    with (SHARED / "facts" / "header-versions.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    assert len(rows) > 600
    for row in rows:
        catalog = kwire.catalog("3.9") if row["kafka"].startswith("3.9") else CATALOG
        key, version = int(row["apiKey"]), int(row["version"])
        for kind in ("request", "response"):
            assert str(catalog.header_version(kind, key, version)) == row[f"{kind}HeaderVersion"], row
