import base64
import gzip
import subprocess
import sys

import pytest

from kwire_cli.errors import InputError
from kwire_cli.source.recognition import recognise
from kwire_cli.source.text import reading
from kwire_cli.source.text.model import Chunk
from kwire_cli.source.text.reading import TEXT_LIMIT, read_input, recognised_binary

FRAME = bytes.fromhex("0000002b0012000300000000000761646d696e2d3100126170616368652d6b61666b612d6a61766106332e332e3100")
HEX = FRAME.hex()


def data(text, form="auto"):
    return [chunk.data for chunk in read_input(text if isinstance(text, bytes) else text.encode(), form).chunks]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("hex", HEX.upper()),
        ("hex", f'"{HEX}"\n'),
        ("hex", f"0x{HEX}"),
        ("hex", FRAME.hex("-")),
        ("hex", ", ".join(f"0x{byte:x}" for byte in FRAME)),
        ("hex", f"0x0000002b 0x00120003 0x{HEX[16:]}"),
        ("hex", f"# size\n0000002b // four bytes\n\n0012 0003 00000000 # key, version, id\n{HEX[24:]}"),
        ("hex", "\ufeff" + HEX),
        ("hex", HEX.encode("utf-16")),
        ("hex", FRAME.hex(" ").replace(" ", "\u00a0")),
        ("literal", "[" + ", ".join(f"0x{byte:02x}u8" for byte in FRAME) + "]"),
        ("literal", 'b"\\0\\0\\0+\\0\\x12\\0\\x03\\0\\0\\0\\0\\0\\x07admin-1\\0\\x12apache-kafka-java\\x063.3.1\\0"'),
        ("literal", '{"value": {"type": "Buffer", "data": ' + str(list(FRAME)) + "}, }"),
        ("literal", "[0, -1, 127, -128]"),
        ("literal", f'byte[] frame = HexFormat.of().parseHex("{HEX}");'),
        ("literal", f"frame = {FRAME!r}  # one"),
        ("literal", f"bytes.fromhex('''\n{FRAME.hex(' ')}\n''')"),
        ("literal", f"frame: bytes = (\n    {FRAME[:9]!r}\n    {FRAME[9:]!r}\n)"),
        ("literal", f'Buffer.from("{HEX}", "hex")'),
        ("literal", "unsigned char frame[47] = {" + ", ".join(f"0x{byte:02x}" for byte in FRAME) + ",};"),
        ("hex", f"```text\n{HEX}\n```\n"),
        ("hex", f"\u201c{HEX}\u201d"),
        ("hex", f"{HEX[:40]}\u200b{HEX[40:]}"),
        ("literal", f"~~~\n{list(FRAME)}\n~~~"),
        ("base64", base64.encodebytes(FRAME)),
        ("wireshark", "0000   00 00 00 2b 00 12 00 03 00 00 00 00 00 07 61 64\n0010   6d 69\n"),
        ("tcpdump", "\t0x0000:  0000 002b 0012 0003 0000 0000 0007 6164  ...+..........ad\n\t0x0010:  6d69  mi\n"),
        ("xxd", "0000: 00 00 00 2b 00 12 00 03 00 00 00 00 00 07 61 64\n0010: 6d 69\n"),
    ],
)
def test_auto_recognises(form, text):
    found = read_input(text if isinstance(text, bytes) else text.encode())
    whole = FRAME[:18] if form in ("wireshark", "tcpdump", "xxd") else FRAME
    if text == "[0, -1, 127, -128]":
        whole = bytes((0, 255, 127, 128))
    assert (found.form, b"".join(chunk.data for chunk in found.chunks)) == (form, whole)
    assert len(found.chunks) == 1
    assert found.detail.startswith(f"{form}: {len(whole)} bytes; ")


def test_languages_read_what_is_theirs():
    array = "byte[] frame = new byte[] {0, (byte) 0xff, 0x7f, '+', -8};"
    assert data(array) == [b"\0\xff\x7f+\xf8"]
    assert data(r"b'\q\?\a'") == [rb"\q\?" + b"\x07"]
    assert data(r"rb'\x00'") == [rb"\x00"]
    assert data(r'"\e\?\0"') == [b"\x1b?\0"]
    assert data(r'"\x00\x002b"') == [b"\0\x002b"]
    assert data("[10 20 30]") == [bytes((10, 20, 30))]
    assert data("[10, 20, 30]") == [bytes((10, 20, 30))]


def test_raw_is_what_is_no_text():
    assert read_input(FRAME).chunks == (Chunk(FRAME, 0, None),)
    assert read_input(b"\xff\xfe\x00").form == "raw"
    assert data("0000", "raw") == [b"0000"]


@pytest.mark.parametrize(
    ("start", "what"),
    [
        ("a1b2c3d4", "pcap"),
        ("d4c3b2a1", "pcap"),
        ("4d3cb2a1", "pcap"),
        ("0a0d0d0a", "pcapng"),
        ("28b52ffd", "zstd"),
        ("1f8b", "gzip"),
    ],
)
def test_captures_and_compressed_input_are_recognised(start, what):
    start = bytes.fromhex(start) + bytes(20)
    assert what in (recognised_binary(start) or "")
    with pytest.raises(InputError, match=f"{what}.*is not text"):
        read_input(start)
    assert data(start, "raw") == [start]
    assert recognised_binary(gzip.compress(FRAME)) == "compressed by gzip"
    assert recognised_binary(FRAME) is None


def test_labels_are_the_comment_above_or_the_name():
    assert read_input(b"# request\n00 2b").chunks == (Chunk(b"\x00\x2b", 2, "request"),)
    assert read_input(b"# far\n\n00 2b").chunks[0].label is None
    assert read_input(b"// request\nx = b'\\x00+'", "literal").chunks == (Chunk(b"\x00+", 2, "x"),)
    assert read_input(b"# request\n\n# reply\nb'\\x00+'", "literal").chunks == (Chunk(b"\x00+", 4, "reply"),)
    assert read_input(b"a = b'1'\nb'2'\nc = b'3' b'4'\n", "literal").chunks == (
        Chunk(b"12", 1, "a"),
        Chunk(b"34", 3, "c"),
    )
    assert read_input(b"char a[] = {1}, b[] = {2};", "literal").chunks == (Chunk(b"\1", 1, "a"), Chunk(b"\2", 1, "b"))
    assert read_input(b"# one\n00000000: 00\n# two\n00000000: 01").chunks == (
        Chunk(b"\0", 2, "one"),
        Chunk(b"\1", 4, "two"),
    )


def test_lines_that_are_frames_are_chunks():
    two = f"# a\n{HEX}\n# b\n{HEX}\n"
    assert [(chunk.line, chunk.label) for chunk in read_input(two.encode()).chunks] == [(2, "a"), (4, "b")]
    assert data(f"{HEX}\n{HEX}00\n") == [FRAME + FRAME + b"\0"]
    assert data(f"{HEX}\n{HEX}00\n", "hex-lines") == [FRAME, FRAME + b"\0"]
    line = base64.b64encode(FRAME) + b"\n"
    assert data(line * 2) == [FRAME] * 2
    assert data(line.replace(b"=", b"") * 2) == [FRAME] * 2
    assert data('"\\x01"\n"\\x02"', "literal") == [b"\1\2"]
    assert data('"\\x01", "\\x02"', "literal") == [b"\1", b"\2"]
    assert data("[[1, 2], [3]]\n[4]") == [b"\1\2", b"\3", b"\4"]


@pytest.mark.parametrize(
    ("form", "text", "line", "column", "says"),
    [
        ("auto", "00 00 0g 2b", 1, 8, "this is not hex: expected a hex digit; give hex, base64"),
        (
            "auto",
            "Dear all,\nthe broker does not answer.",
            None,
            None,
            "no bytes were recognised in this text; give hex",
        ),
        ("auto", "<<0,0,256>>", 1, 7, "this is not literal: expected a number from -128 to 255"),
        ("auto", "", None, None, "empty"),
        ("auto", " \n ", None, None, "no bytes were recognised"),
        (
            "auto",
            "00000000: 0000 002b  ...+\n00000010: 00  .",
            2,
            1,
            "this is xxd: offset 00000010 does not follow 4 bytes",
        ),
        ("auto", "00000000: 0000 002b  ...+\n00000004: 0x  .", 2, 12, "xxd: expected hex digits"),
        ("auto", "00000000: 0000 002b  ...+\n0000000z: 00", 2, 8, "xxd: expected an offset"),
        ("auto", "*\n00000000  00 01\n00000002", 1, 1, "`*`"),
        ("auto", "00000000  00 01\n*\n", 2, 1, "`*`"),
        ("auto", "00000000  00 01\n*\n00000003\n", 3, 1, "does not follow"),
        ("auto", "00000000  00 01\n*\nfffffffe\n", 3, 1, "more than"),
        ("auto", "0000000 0000 0000 0000 0000 0000 0000 0000 0000\n*\n0000100\n", 2, 1, "hex as well as octal"),
        ("hex", "\\x00ab", 1, 5, "two hex digits"),
        ("auto", "b'\\x0'", 1, 3, "the escape \\x is not a byte"),
        ("literal", "<Buffer 00 0z>", 1, 9, "that holds bytes"),
        ("literal", "Uint8Array(200) [ 0, 0, ... 198 more items ]", 1, 22, "that holds bytes"),
        ("literal", '"\\400"', 1, 2, "exceeds a byte"),
        ("literal", "x = 3;", 1, 1, "that holds bytes"),
        ("literal", "b'é'", 1, 3, "no ascii"),
        ("literal", "bytes.fromhex('0q')", 1, 15, "that holds bytes"),
        ("base64", "AAAA\nA", 2, 1, "groups of four"),
        ("base64", "AAB", 1, 3, "spare bits"),
        ("xxd", "00 2b", 1, 3, "an offset and a colon"),
        ("od", "00000000: 0000", 1, 9, "an offset of six or seven digits"),
        ("hex", b"00\n0\xff", 2, 2, "not UTF-8"),
        ("hex", b"00\n\x00", 2, 1, "hex digit"),
        ("ebcdic", "00", None, None, "there is no input form"),
    ],
)
def test_errors_say_where_and_what(form, text, line, column, says):
    with pytest.raises(InputError) as caught:
        read_input(text if isinstance(text, bytes) else text.encode(), form, file="x.txt")
    assert (caught.value.line, caught.value.column, caught.value.file) == (line, column, "x.txt")
    assert says in str(caught.value)


def test_an_import_loads_no_form():
    code = (
        "import sys, kwire_cli.source.text.reading as t; t.read_input(b'00 2b', 'hex'); "
        "print(sorted(m.rpartition('.')[2] for m in sys.modules if 'source.text.' in m))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['digits', 'model', 'reading']"


@pytest.mark.parametrize("form", ["auto", "hex", "base64"])
def test_text_has_a_limit(form, monkeypatch, tmp_path):
    assert TEXT_LIMIT == 256 << 20
    monkeypatch.setattr(reading, "TEXT_LIMIT", len(HEX))
    (tmp_path / "x.txt").write_text(HEX * 3000)
    for given in (tmp_path / "x.txt", HEX.encode() + b"\n"):
        with pytest.raises(InputError, match="this text is larger than 0 MiB: give a part"):
            recognise(given, form=form)
    if form != "base64":
        assert recognise(HEX.encode(), form=form).text


def test_bytes_have_no_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "TEXT_LIMIT", 10)
    data = bytes(1 << 17)
    (tmp_path / "x").write_bytes(data)
    for given, form in ((tmp_path / "x", "auto"), (data, "auto"), (HEX.encode(), "raw")):
        assert recognise(given, form=form).text.form == "raw"
