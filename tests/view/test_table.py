import re

import pytest
from command_line import kwire
from packets import Talk, ethernet, ipv4, packet, pcap_file, tcp

import kwire_cli
from kwire_cli.message.encode import encode_document
from kwire_cli.view import widths
from kwire_cli.view.tables import bar, csv_row, text_of

SECRET = b"\0alice\0wonderland"


def capture(*said):
    """A capture file in which a client (0) and a broker (1) say this."""
    talk, out = Talk(), []
    for side, data in said:
        each = talk.segment(side, data)
        ports = (
            {"source_port": 50000, "destination_port": 9092}
            if side == 0
            else {"source_port": 9092, "destination_port": 50000}
        )
        ends = {} if side == 0 else {"source": bytes([10, 0, 0, 2]), "destination": bytes([10, 0, 0, 1])}
        out.append(
            packet(
                ethernet(ipv4(tcp(data, each.sequence, each.acknowledgment, each.flags, **ports), **ends)), each.packet
            )
        )
    return pcap_file(out)


def authenticate():
    import base64

    body = {"authBytes": base64.b64encode(SECRET).decode()}
    document = {
        "kind": "request",
        "api": "SaslAuthenticate",
        "apiVersion": 0,
        "header": {"correlationId": 2, "clientId": "c"},
        "body": body,
    }
    return encode_document(kwire_cli.catalog(), document)


@pytest.mark.parametrize("fmt", ["table", "csv", "json", "jsonl", "tree", "hex"])
@pytest.mark.parametrize("fields", [(), ("--fields", "frame,authBytes,body.authBytes"), ("--pairs",)])
def test_secrets_are_in_no_format(fmt, fields):
    data = capture((0, authenticate()))
    shown = kwire("decode", "--format", fmt, *fields, "-", stdin=data)
    refused = fmt in {"tree", "hex"} and fields[:1] == ("--fields",)
    assert shown.code == (2 if refused else 0)
    for secret in (b"wonderland", b"d29uZGVybGFuZA", b"AGFsaWNlAHdvbmRlcmxhbmQ", b"77 6f 6e 64"):
        assert secret not in shown.raw
    if fields[:1] == ("--fields",) and not refused:
        assert b"<redacted 17 bytes>" in shown.raw
        assert (
            b"AGFsaWNlAHdvbmRlcmxhbmQ"
            in kwire("decode", "--format", fmt, "--show-secrets", *fields, "-", stdin=data).raw
        )


def test_cells_move_no_cursor():
    assert "\x1b" not in text_of("a\x1b[2Jb\n")
    assert text_of(["a", None, True, 3]) == "a,,true,3"


def test_csv_is_quoted_where_it_must_be():
    assert csv_row(["a,b", 'c"d', None, [1, 2], 0.5]) == '"a,b","c""d",,1;2,0.5'


def starts(line, words):
    return [line.index(word) for word in words]


def test_columns_that_were_asked_for_are_as_wide_as_their_cells():
    asked = ("decode", "--format", "table", "--fields", "api,clientSoftwareVersion,clientSoftwareName,client")
    capture_file = "samples/captures/kafka-python-4.4.0.pcapng"
    head, first, *_ = kwire(*asked, "--filter", "has clientSoftwareName", capture_file).out.splitlines()
    assert starts(head, ("clientSoftwareVersion", "clientSoftwareName")) == starts(first, ("3.0.12", "kafka-python"))
    wide = kwire(
        "decode",
        "--format",
        "table",
        "--fields",
        "body.groupId,kind,frame",
        "--filter",
        "kind == request",
        capture_file,
    ).out.splitlines()
    assert {len(line) for line in wide} == {len(wide[0])}
    assert any(line.startswith("kp-group-t-kafka-python  request ") for line in wide)


def test_the_rows_behind_the_first_have_their_columns(monkeypatch):
    monkeypatch.setattr(widths, "HELD", 50)
    lines = kwire(
        "decode", "--format", "table", "--fields", "client,kind,frame", "samples/captures/ipv6.pcap"
    ).out.splitlines()
    assert len(lines) > 52
    assert {len(line) for line in lines} == {len(lines[0])}
    coloured = kwire(
        "decode",
        "--format",
        "table",
        "--color",
        "always",
        "--fields",
        "client,kind,frame",
        "samples/captures/ipv6.pcap",
    )
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured.out.splitlines()] == lines


@pytest.mark.parametrize(("value", "length"), [(0, 0), (-1, 0), (1e-9, 1), (50, 12), (100, 24), (200, 24)])
def test_a_bar_is_as_long_as_its_share(value, length):
    assert len(bar(value, 100)) == length
