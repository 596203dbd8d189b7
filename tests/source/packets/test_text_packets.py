"""Packets printed as text against the captures that they were printed from."""

import io
import shutil
import subprocess

import pytest
from kit.captures import SAMPLES
from kit.commands import kwire

import kwire_cli
from kwire_cli.errors import InputError
from kwire_cli.source.captures import Capture
from kwire_cli.source.files import OPENING
from kwire_cli.source.kafka.traffic import traffic
from kwire_cli.source.kinds import Kind, begins_as, recognise
from kwire_cli.source.packets.files import packets
from kwire_cli.source.packets.text_packets import TextReader, is_packet_text

TEXTS = SAMPLES / "text" / "packets"
PRINTED = {
    "tcpdump-X": "ipv4.pcapng",
    "tcpdump-x": "ipv4.pcapng",
    "tcpdump-e-v-xx": "ipv6.pcap",
    "tcpdump-XX": "ipv6.pcap",
    "tshark-x": "ipv4.pcapng",
    "tshark-P-x": "ipv6.pcap",
    "tshark-V-x": "ipv6.pcap",
}
CAPTURES = [SAMPLES / "captures" / name for name in ("ipv6.pcap", "not-kafka.pcapng")]
TOOLS = {
    "tcpdump": [["-n", "-tttt", "-x"], ["-n", "-tt", "-X"], ["-tttt", "-xx"], ["-n", "-v", "-e", "-tttt", "-XX"]],
    "tshark": [["-x"], ["-V", "-x"], ["-P", "-x", "-t", "ud"]],
}
RUNS = [(tool, words) for tool, commands in TOOLS.items() if shutil.which(tool) for words in commands]
CATALOG = kwire_cli.catalog()


def lines(source):
    """What is said of each frame, without times. Lines of one packet come in any order: pieces of a text end elsewhere
    than those of a capture.
    """
    capture = Capture(source)
    found = []
    for line in traffic(CATALOG, capture, waiting_since=capture.waiting_since):
        request = line.request.seen.packet if line.request else 0
        seen = line.seen
        found.append((seen.packet, line.kind, line.stream, seen.size, line.src, line.dst, str(line.api), request))
    return sorted(found)


def sample(name):
    return (TEXTS / f"{name}.txt").read_bytes()


@pytest.mark.parametrize(("name", "capture"), PRINTED.items())
def test_a_dump_gives_what_its_capture_gives(name, capture):
    assert lines(str(TEXTS / f"{name}.txt")) == lines(str(TEXTS / capture))


@pytest.mark.slow
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize(("tool", "words"), RUNS, ids=lambda value: value if isinstance(value, str) else "".join(value))
def test_what_the_tools_print_gives_what_the_capture_gives(tool, words, capture):
    done = subprocess.run([tool, "-r", str(capture), *words], capture_output=True, check=True)
    whole = [*packets(str(capture))]
    found = [*packets(io.BytesIO(done.stdout))]
    assert len(found) == len(whole)
    assert all(ours.data.endswith(text.data) for ours, text in zip(whole, found, strict=True))
    assert lines(io.BytesIO(done.stdout)) == lines(str(capture))


def test_times_are_those_of_the_capture():
    whole = [packet.time for packet in packets(str(TEXTS / "ipv4.pcapng"))]
    assert [packet.time for packet in packets(io.BytesIO(sample("tcpdump-X")))] == [
        time // 1000 * 1000 for time in whole
    ]
    six = [packet.time for packet in packets(str(TEXTS / "ipv6.pcap"))]
    assert [packet.time for packet in packets(io.BytesIO(sample("tshark-V-x")))] == six
    assert [packet.time for packet in packets(io.BytesIO(sample("tcpdump-e-v-xx")))] == six
    assert {packet.time for packet in packets(io.BytesIO(sample("tcpdump-x")))} == {None}


@pytest.mark.parametrize(("name", "day"), [("tshark-P-x", 0), ("tcpdump-XX", 86_400_000_000_000)])
def test_times_without_a_date_say_so(name, day):
    capture = packets(io.BytesIO(sample(name)))
    times = [packet.time for packet in capture]
    six = [packet.time for packet in packets(str(TEXTS / "ipv6.pcap"))]
    assert [time - times[0] for time in times] == [time - six[0] for time in six]
    assert times[-1] < max(day, 1_000_000_000)
    assert "no date" in capture.remarks[0]
    assert "no date" in kwire("decode", "-f", "table", "-", stdin=sample(name)).err


@pytest.mark.parametrize("name", PRINTED)
def test_pieces_of_any_size_give_the_same_packets(name):
    data = sample(name)
    whole = TextReader()
    expected = whole.feed(data) + whole.close()
    for size in (1, 7, 4096):
        reader, found = TextReader(), []
        for at in range(0, len(data), size):
            found += reader.feed(data[at : at + size])
        assert found + reader.close() == expected
    assert not whole.notices


def test_other_encodings_and_line_ends_give_the_same_packets():
    plain = [*packets(io.BytesIO(sample("tshark-x")))]
    text = sample("tshark-x").decode()
    for data in (text.encode("utf-16"), text.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + text.encode()):
        assert [*packets(io.BytesIO(data))] == plain
        assert begins_as(io.BytesIO(data)) is Kind.CAPTURE


def test_a_dump_that_lacks_bytes_has_cut_packets():
    rows = sample("tcpdump-X").splitlines(keepends=True)
    cut = b"".join(line for line in rows if not line.startswith(b"\t") or int(line[1:7], 16) < 0x50)
    found = [*packets(io.BytesIO(cut))]
    assert len(found) == 24
    assert max(len(packet.data) for packet in found) == 0x50
    gaps = {line.kind for line in traffic(CATALOG, Capture(io.BytesIO(cut)))}
    assert "gap" in gaps
    done = kwire("decode", "-f", "jsonl", "-", stdin=cut)
    assert "TRUNCATED" in done.out


def test_a_broken_row_ends_its_packet_and_is_named():
    rows = sample("tcpdump-X").splitlines(keepends=True)
    broken = [row.replace(b"0x0010:  ", b"0x0010:  zz") if number == 2 else row for number, row in enumerate(rows)]
    capture = packets(io.BytesIO(b"".join(broken)))
    assert len([*capture]) == 24
    assert [notice.text.partition(":")[0] for notice in capture.notices] == ["line 3"]
    missing = packets(io.BytesIO(b"".join(rows[:2] + rows[3:])))
    assert len([*missing]) == 24
    assert "offset 0020 does not follow" in missing.notices[0].text


def test_the_library_and_followers_read_dumps():
    text, capture = str(TEXTS / "tcpdump-X.txt"), str(TEXTS / "ipv4.pcapng")
    assert len([*kwire_cli.read_frames(text)]) == len([*kwire_cli.read_frames(capture)])
    followed = ("decode", "--follow", "--fields", "api,size", "-f", "csv")
    assert kwire(*followed, "-", stdin=sample("tcpdump-X")).out == kwire(*followed[:1], *followed[2:], capture).out


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"hello there\n",
        b"0000002b0012000300000000000761646d696e2d3100126170616368652d6b61666b612d6a61766106332e332e3100\n",
        b"0000   00 00 00 2b 00 12 00 03 00 00 00 00 00 07 61 64\n0010   6d 69\n",
        b"00000000: 0000 002b 0012 0003 0000 0000 0007 6164\n",
        b"0000  " + b"ff " * 15 + b"ff\n",
        b'[{"_source": {"layers": {\n"frame_raw": [\n"45000028",\n0,\n',
    ],
)
def test_other_texts_are_no_dumps(text):
    assert is_packet_text(text, whole=True) is False
    assert begins_as(io.BytesIO(text)) is not Kind.CAPTURE
    with pytest.raises(InputError):
        [*packets(io.BytesIO(text))]


@pytest.mark.parametrize(
    "text",
    [
        b'<?xml version="1.0" encoding="utf-8"?>\n<pdml version="0" creator="wireshark/4.0.17">\n<packet>\n',
        b'[\n  {\n    "_source": {\n      "layers": {\n        "frame": {\n',
        b'{"index":{"_index":"packets-2026-11-21","_type":"doc"}}\n{"timestamp":"1","layers":{"frame_raw":"00"}}\n',
    ],
)
def test_exports_without_whole_packets_are_refused(text):
    with pytest.raises(InputError, match="tshark -r CAPTURE -w"):
        recognise(text)


def test_the_opening_decides():
    assert is_packet_text(b"hello\n", whole=False) is None
    assert is_packet_text(b"hello\n" * OPENING, whole=False) is False
    assert is_packet_text(bytes(20), whole=False) is False


def test_printed_packets_are_a_capture_whatever_is_said_of_messages():
    done = kwire("decode", "--api", "Metadata", str(TEXTS / "tcpdump-X.txt"))
    assert (done.code, "--api is for requests and responses without a capture" in done.err) == (2, True)
