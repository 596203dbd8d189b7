"""Packets that tcpdump and tshark printed as text: tables have the rows that the captures give that were printed."""

import gzip
import shutil

import pytest
from command_line import ROOT

pytest.importorskip("pyspark")
pytest.importorskip("numba")

from kwire_cli.pipeline import tables
from kwire_cli.source.packets.files import captures_of

pytestmark = pytest.mark.numba
TEXTS = ROOT / "samples" / "text" / "packets"
PRINTED = {
    "tcpdump-X": "ipv4.pcapng",
    "tshark-x": "ipv4.pcapng",
    "tcpdump-e-v-xx": "ipv6.pcap",
    "tshark-V-x": "ipv6.pcap",
}
SAME = [
    "stream",
    "packet",
    "kind",
    "size",
    "src",
    "dst",
    "api_key",
    "api",
    "api_version",
    "correlation_id",
    "client_id",
    "topics",
    "errors",
]


def rows(spark, path):
    return sorted(map(str, tables(spark, [str(path)]).table("frames", SAME).collect()))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "capture"), PRINTED.items())
def test_a_dump_gives_the_rows_of_its_capture(spark, tmp_path, name, capture):
    text, packed = tmp_path / f"{name}.txt", tmp_path / "packed" / f"{name}.txt.gz"
    packed.parent.mkdir()
    shutil.copy(TEXTS / text.name, text)
    packed.write_bytes(gzip.compress(text.read_bytes()))
    expected = rows(spark, TEXTS / capture)
    assert expected
    assert captures_of([str(tmp_path)]) == [str(packed), str(text)]
    assert rows(spark, text) == expected
    assert rows(spark, packed.parent) == expected
    faults = tables(spark, [str(text)])["faults"].collect()
    assert not [row for row in faults if "neither pcap" in (row.detail or "")]


def test_the_table_of_packets_reads_a_dump(spark):
    names = ["packet", "src", "dst", "sequence", "acknowledgment", "flags"]
    found = [
        tables(spark, [str(TEXTS / name)]).table("packets", names).collect()
        for name in ("tcpdump-X.txt", "ipv4.pcapng")
    ]
    assert sorted(found[0]) == sorted(found[1])


def test_a_text_without_packets_is_no_capture(tmp_path):
    for name in ("a.txt", "b.txt.gz"):
        text = b"0000  no packet\nREADME of a capture: tcpdump -X\n" * 9000
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    (tmp_path / "a.pcap").write_bytes((TEXTS / "ipv6.pcap").read_bytes())
    assert captures_of([str(tmp_path)]) == [str(tmp_path / "a.pcap")]
