"""What the real tools wrote (samples/text/README.md says how), read back."""

from pathlib import Path

import pytest

from kwire_cli.errors import InputError
from kwire_cli.source.kinds import Kind
from kwire_cli.source.recognition import recognise
from kwire_cli.source.text.reading import read_input

SAMPLES = Path(__file__).parents[2] / "samples" / "text"
FRAME, SQUEEZED, GUTTER = ((SAMPLES / f"{name}.bin").read_bytes() for name in ("frame", "squeezed", "gutter"))
PACKETS = ("tcpdump-x", "tcpdump-ascii", "tcpdump-xx", "tcpdump-x-ipv6", "tshark-x")
REFUSED = {
    "xxd-b": (1, 11, "bits"),
    "xxd-e": (1, 11, "little-endian"),
    "od-c": (1, 10, "od -t x1"),
    "od": (1, 9, "od -t x1"),
}
FORMS = {
    "base64": "base64",
    "hexdump-C": "hexdump",
    "hexdump-C-gutter": "hexdump",
    "hexdump-C-squeezed": "hexdump",
    "hexdump": "hexdump",
    "hexdump-squeezed": "hexdump",
    "hexdump-x": "hexdump",
    "node-buffer": "literal",
    "node-json": "literal",
    "node-uint8array": "literal",
    "od-A-n-t-x1": "hex",
    "od-A-x-t-x1z": "od",
    "od-A-x-t-x1z-gutter": "od",
    "od-t-x1": "od",
    "od-x": "od",
    "python-bytes": "literal",
    "xxd": "xxd",
    "xxd-a": "xxd",
    "xxd-c8-g1": "xxd",
    "xxd-g0": "xxd",
    "xxd-g4-u": "xxd",
    "xxd-gutter": "xxd",
    "xxd-i": "literal",
    "xxd-i-stdin": "hex",
    "xxd-p": "hex",
}


def sample(name):
    return (SAMPLES / f"{name}.txt").read_bytes()


def expected(name):
    if "squeezed" in name or name == "xxd-a":
        return SQUEEZED
    return GUTTER if "gutter" in name else FRAME


def test_every_sample_is_tested():
    assert {path.stem for path in SAMPLES.glob("*.txt")} == {
        *(*FORMS, *PACKETS, *REFUSED),
        *("tshark-follow", "node-buffer-cut"),
    }


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_auto_reads_what_the_tool_dumped(name, newline):
    found = read_input(sample(name).replace(b"\n", newline))
    assert (found.form, [chunk.data for chunk in found.chunks]) == (FORMS[name], [expected(name)])
    assert read_input(sample(name), found.form).chunks == found.chunks


@pytest.mark.parametrize("name", PACKETS)
def test_packets_are_chunks(name):
    found = read_input(sample(name))
    assert len(found.chunks) == 2
    assert (found.chunks[0].label or "IP").startswith("IP")
    assert all(chunk.data.endswith(FRAME) and len(chunk.data) > len(FRAME) for chunk in found.chunks)


def test_a_followed_stream_is_one_chunk_until_the_side_changes():
    text = sample("tshark-follow").decode()
    assert [chunk.data for chunk in read_input(text.encode()).chunks] == [FRAME * 2]
    rows = text.splitlines()[6:9]
    both = "\n".join([*rows, *(f"    {row}" for row in rows), *(row.replace("000000", "000001") for row in rows)])
    assert [(chunk.data, chunk.line) for chunk in read_input(both.encode()).chunks] == [
        (FRAME, 1),
        (FRAME, 4),
        (FRAME, 7),
    ]


def test_a_buffer_that_node_cut_is_read_as_far_as_it_goes():
    found = read_input(sample("node-buffer-cut"))
    assert (found.form, found.chunks[0].data[:-3]) == ("literal", FRAME)
    assert found.notes == (
        "line 1: Node printed only the first 50 bytes; 47 more bytes are missing; print buffer.toString('hex')",
    )


@pytest.mark.parametrize(("name", "place"), REFUSED.items())
def test_what_lost_its_bytes_is_refused(name, place):
    with pytest.raises(InputError) as caught:
        read_input(sample(name))
    assert (caught.value.line, caught.value.column) == place[:2]
    assert place[2] in str(caught.value)


@pytest.mark.parametrize("name", PACKETS)
def test_printed_packets_are_refused_unless_the_form_is_said(name):
    with pytest.raises(InputError, match="text2pcap"):
        recognise(sample(name))
    form = name.partition("-")[0].replace("tshark", "wireshark")
    assert recognise(sample(name), form=form).kind is Kind.FRAMES


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
